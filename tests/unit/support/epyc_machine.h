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
 * Of a CPU, per microsecond: 2400 cycles and ticks of aperf, 2800 of the TSC and of mperf, 1200
 * instructions; fills of the L1: 8 from the L2, 4 from the L3, 2 from memory, of
 * them 1 from near DRAM and 1 from another complex; 1056 misses in
 * flight. With 10 and 46 cycles for a hit, one from memory is in flight for (1056 - 80 - 184) / 2 =
 * 396 cycles. A memory controller: 30 reads and 10 writes.
 */
extern const struct epyc_machine epyc_rome, epyc_milan, epyc_genoa, epyc_siena, epyc_turin;

/* What sysfs lists. Two memory controllers. */
enum epyc_pmus {
    EPYC_CORE = 1 << 0,
    EPYC_MSR = 1 << 1,
    EPYC_L3 = 1 << 2,
    EPYC_UMC = 1 << 3,
    EPYC_METAL = EPYC_CORE | EPYC_MSR | EPYC_L3 | EPYC_UMC,
};

/* Makes the fixture this machine: its files, CPUs, event table (as its cpuinfo says) and L3s. */
void epyc_machine_install(const struct epyc_machine *machine, unsigned pmus,
                          struct perf_fixture *fixture);

#endif
