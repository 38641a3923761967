/*
 * Parts of the reproduction for AMD (FORMULAS.md section 1, "AMD"): the exporter's formula for the
 * latency of memory from misses of the L1 in flight, on a machine modelled on an EPYC.
 *
 *   amd.c          the page; hits in the caches, idle and loaded memory
 *   amd_effects.c  what the method cannot see, one by one and together; buffers that run out
 *   amd_mixes.c    containers most of whose misses the caches serve
 *   amd_run.c      one experiment as a scenario, window by window
 */
#ifndef IE_RESEARCH_AMD_H
#define IE_RESEARCH_AMD_H

#include "collectors/formulas/fill_latency.h"
#include "tests/research/reproduce.h"

enum {
    AMD_TICK_CYCLES = 925000, /* a quarter of a millisecond */
    AMD_WARM_UP = 6,
    AMD_WINDOWS = 10,
    AMD_REDUCED_TICK_CYCLES = 370000,
    AMD_REDUCED_WARM_UP = 3,
    AMD_REDUCED_WINDOWS = 3,
    AMD_MAX_WINDOWS = 16,
};

/* Who else runs, as bits. */
enum amd_load {
    AMD_LOAD_MEMORY = 1,  /* the other two complexes stream through memory, but for a core */
    AMD_LOAD_COMPLEX = 2, /* the same complex's other cores stream through memory */
    AMD_LOAD_L3 = 4,      /* the same complex's other cores hit its L3 */
};

struct amd_experiment {
    const char *machine;   /* further keys of the machine, each followed by a comma */
    const char *effects;   /* inside of "effects" */
    const char *workloads; /* beside the chase and the loads; each preceded by a comma */
    const char *target;    /* the measured container, without braces; NULL: the chase */
    unsigned load;
    unsigned warm_up;        /* ticks; 0: AMD_WARM_UP. The load begins two ticks before its end. */
    int tick_cycles;         /* 0: AMD_TICK_CYCLES */
    struct fill_times times; /* for the estimate; not known: the machine's true ones */
};

struct amd_window {
    int err;            /* of the production code: 0, -ENODATA, -ERANGE */
    double truth_ns;    /* of loads that memory served; NaN: there was none */
    double own_ns;      /* of those that joined no prefetch on its way */
    double estimate_ns; /* NaN unless err is 0 */
    double unruled_ns;  /* by the formula alone, whatever the caches' share */
    double cache_share; /* of A: (n2 t2 + n3 t3) / A */
    double l2_fills, l3_fills, memory_fills, in_flight, cycles, loads;
};

struct amd_measurement {
    size_t n;
    struct amd_window windows[AMD_MAX_WINDOWS];
    unsigned unknown, implausible; /* windows without estimate, by error */
    /* Means over the windows that have an estimate, of truth, too; NaN: none has. */
    double truth_ns, own_ns, estimate_ns;
    /* Over all windows. */
    double unruled_ns, all_truth_ns, cache_share;
    double buffers;                                /* that were taken, on average */
    double l2_per_memory_fill, l3_per_memory_fill; /* fills */
};

unsigned amd_windows(const struct reproduction *reproduction);
int amd_run(const struct reproduction *reproduction, const struct amd_experiment *experiment,
            struct amd_measurement *out);

/* t1, as the event table has it. */
double amd_l1_cycles(void);
/* Chases through lines of the L2 and of the L3, as the probe's, under the experiment's machine,
 * effects and load; the second shortest of eight, as the probe takes it. */
int amd_measure_times(const struct reproduction *reproduction,
                      const struct amd_experiment *experiment, struct fill_times *out);

double amd_error_percent(double estimate, double truth);
/* "+1.23 %", or "-" without both. Returns 'out'. */
const char *amd_error_text(double estimate, double truth, char *out, size_t size);

/* An L3 whose ports neighbours can keep busy. */
#define AMD_FEW_PORTS "\"llc\":{\"ports\":2,\"port_cycles\":4},"

/* Sections of the page: 0 or -errno. */
int amd_limitations(struct reproduction *reproduction, struct fill_times times);
int amd_buffers(struct reproduction *reproduction, struct fill_times times);
int amd_mixes(struct reproduction *reproduction, struct fill_times times);

#endif
