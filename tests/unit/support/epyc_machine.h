/*
 * AMD's servers on bare metal, as sysfs shows them and as their L3s count. Eight CPUs, two to a
 * core complex, two complexes to a socket: the L3s 0, 1 and 8, 9 are opened on CPUs 0, 2, 4, 6.
 *
 * What an event means stands here a second time, by the numbers of AMD's documents.
 */
#ifndef IE_TESTS_EPYC_MACHINE_H
#define IE_TESTS_EPYC_MACHINE_H

#include "tests/unit/support/perf_fixture.h"

enum { EPYC_CPUS = 8, EPYC_L3S = 4, EPYC_MSR_TYPE = 11, EPYC_L3_TYPE = FAKE_PMU_UNCORE_TYPE };

struct epyc_machine {
    const char *name; /* of its event table; NULL: it has none */
    int family, model;
    int l3_kib;
    bool sampled; /* Zen 4 and later */
};

/*
 * Rates of the L3 on CPU c, per microsecond; unit masks add up:
 *
 *     sampled:  near DRAM   reads 10, wait 10 * (12 + c)
 *               far DRAM    reads 4,  wait 80
 *               other CCX   reads 2 near, 3 far, wait 60 each
 *               CXL         reads 1 near, 1 far, wait 30 each
 *     else:     reads 16 (by each bit of the unit mask 2), wait 16 * (10 + c)
 *
 * A CPU's aperf ticks 6 times in a nanosecond, and its mperf 7 times.
 */
extern const struct epyc_machine epyc_rome, epyc_milan, epyc_genoa, epyc_siena, epyc_turin;

/* Makes the fixture this machine: its files, CPUs, event table (as its cpuinfo says) and L3s. */
void epyc_machine_install(const struct epyc_machine *machine, struct perf_fixture *fixture);

/* Only the files below the tree, for a machine whose L3s need not count. */
void epyc_machine_files(const struct epyc_machine *machine, struct fixture *tree);

#endif
