/*
 * A whole exporter on a fake machine: its files, and a kernel that counts by its event numbers.
 * What it shows then is held against a committed page.
 */
#ifndef IE_TESTS_WHOLE_MACHINE_H
#define IE_TESTS_WHOLE_MACHINE_H

#include "tests/unit/support/perf_fixture.h"

/*
 * Runs two ticks with a container in kubepods, without the probe, which would run on this CPU, and
 * compares collectors, their reasons in words, and which series there are (of quotients the values,
 * too: ratios are exact, how long things ran is not) with tests/machines/NAME.txt.
 * WRITE_MACHINES=1 in the environment writes it anew. 'times' are the hits' that the probe would
 * have measured, for --events.file: its object "machine".
 */
void whole_machine_check(struct perf_fixture *fixture, const char *name, const char *times);

#endif
