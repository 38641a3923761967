/*
 * Arm's servers, as sysfs shows them and as their cores count. Two CPUs.
 *
 * What an event means stands here a second time, by the numbers of Arm's documents.
 */
#ifndef IE_TESTS_ARM_MACHINE_H
#define IE_TESTS_ARM_MACHINE_H

#include "tests/unit/support/perf_fixture.h"

struct arm_machine {
    uint64_t midr;
    bool in_flight, stalls, last_level; /* which events count; the others open and stay 0 */
    bool basic;                         /* of these, too, only cycles and instructions */
};

/*
 * Per microsecond: 2600 cycles, 1300 instructions; 300 loads, of which 10 miss the L1, 7 leave the
 * core's caches and 5 the last-level cache, too, and 3087 loads in flight: with hits of 4, 11 and
 * 60 cycles, one from memory takes (3087 - 290 * 4 - 3 * 11 - 2 * 60) / 5 = 354.8 cycles. 520
 * cycles stalled for memory: 104 for each read, 40 ns.
 */
void arm_machine_install(const struct arm_machine *machine, struct perf_fixture *fixture);

/* The hits' times of the above, as --events.file's "machine". */
#define ARM_MACHINE_TIMES "{\"l2_fill_cycles\":11,\"l3_fill_cycles\":60}"

#endif
