/*
 * Alone runs: how long a container's instructions take when nothing else runs on the machine.
 *
 * A run is made once per (workload, placement, machine), as far as it is needed, and kept; in a
 * folder too, where one is given, for later processes.
 */
#ifndef IE_SIMNODE_MODEL_ALONE_H
#define IE_SIMNODE_MODEL_ALONE_H

#include <stddef.h>
#include <stdint.h>

#include "tests/simnode/scenario/scenario.h"

struct alone_runs;

/* The folder is borrowed; NULL: nothing is kept on disk. Runs of several scenarios may share it;
 * the scenarios must live as long. */
int alone_runs_new(const char *folder, struct alone_runs **out);
/* Writes what is new to the folder (a failure there only costs time later). */
void alone_runs_free(struct alone_runs *runs);

/*
 * Nominal core cycles from the start until that many instructions have retired, summed over the
 * container's threads. 0, -ENOMEM, or -ETIME when it does not get there in 10^12 cycles.
 */
int alone_cycles(struct alone_runs *runs, const struct scenario *scenario, size_t container,
                 uint64_t instructions, double *cycles);

#endif
