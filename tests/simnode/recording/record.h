/* Writes a simulated run as a recording, version 1 (DESIGN.md), with truth lines. */
#ifndef IE_SIMNODE_RECORDING_RECORD_H
#define IE_SIMNODE_RECORDING_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/simnode/model/alone.h"
#include "tests/simnode/model/simnode.h"

/* Runs the whole scenario. 0 or -errno (of the simulation, or of writing). 'runs' may be NULL where
 * the scenario asks for no true slowdowns. */
int record_run(const struct scenario *scenario, struct alone_runs *runs, FILE *out);

/* Who acts on the node while its recording is read. */
struct record_follower {
    /* A tick is about to be simulated; all of the ones before it can be read. 0, or -errno, which
     * ends the run. */
    int (*begin)(void *context, struct simnode *node, int64_t tick);
    void *context;
};

/* The same, for a reader that takes a tick as whole when the next one begins: the line that begins
 * a tick is written before it is simulated. No true slowdowns. */
int record_follow(const struct scenario *scenario, const struct record_follower *follower,
                  FILE *out);

/* Path of a container's cgroup, as recordings have it. */
void record_cgroup(const struct scenario *scenario, size_t container, char *out, size_t size);

#endif
