/* Writes a simulated run as a recording, version 1 (DESIGN.md), with truth lines. */
#ifndef IE_SIMNODE_RECORDING_RECORD_H
#define IE_SIMNODE_RECORDING_RECORD_H

#include <stdio.h>

#include "tests/simnode/model/alone.h"
#include "tests/simnode/model/simnode.h"

/* Runs the whole scenario. 0 or -errno (of the simulation, or of writing). 'runs' may be NULL where
 * the scenario asks for no true slowdowns. */
int record_run(const struct scenario *scenario, struct alone_runs *runs, FILE *out);

#endif
