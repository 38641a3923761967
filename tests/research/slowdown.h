/*
 * The parts of `reproduce slowdown`: applications, runs, per-request accounting, models.
 */
#ifndef IE_RESEARCH_SLOWDOWN_H
#define IE_RESEARCH_SLOWDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/simnode/model/simnode.h"

/* --- applications: slowdown_apps.c --- */

enum intensity { INTENSITY_LOW, INTENSITY_MEDIUM, INTENSITY_HIGH, INTENSITIES };
enum sensitivity { SENSITIVITY_LOW, SENSITIVITY_HIGH, SENSITIVITIES };

struct slow_app {
    const char *name;
    enum intensity intensity;     /* last-level cache misses per 1000 instructions, alone */
    enum sensitivity sensitivity; /* time with a quarter of the cache over time with all of it */
    const char *workload;         /* JSON; of a burst */
    const char *quiet;            /* JSON, between bursts; NULL: the same all the time */
    unsigned burst_instructions, quiet_instructions;
};

/* First those that are the same all the time, then those with bursts. */
extern const struct slow_app slow_apps[];
extern const size_t slow_n_apps;

/* 0 where there is none of this name. */
size_t slow_app_named(const char *name);

/* The applications that a machine's workloads are drawn from: from first on, n of them. */
struct slow_variant;
struct slow_range {
    size_t first, n;
};
struct slow_range slow_range_of(const struct slow_variant *variant);

/* The bounds of the classes. */
#define MPKI_MEDIUM 3.0
#define MPKI_HIGH 12.0
#define SENSITIVE 1.10

/* Applications of workload 'index', all different: index % (cores + 1) of high intensity, or as
 * many as there are. */
enum { SLOW_MAX_CORES = 16 };
void slow_draw(uint64_t seed, unsigned index, const struct slow_variant *variant,
               size_t apps[SLOW_MAX_CORES]);

/* --- runs: slowdown_run.c --- */

struct slow_variant {
    unsigned cores, channels, llc_mib;
    unsigned idle_cores;   /* more of them, on which nothing runs */
    unsigned epoch_cycles; /* 0: no epochs, as on any machine of today */
    bool prefetch;
    bool bursts;          /* applications with bursts, lightly loaded */
    bool parts;           /* also shadow clocks with parts missing; no other machine */
    bool closed_rows;     /* the controller closes a row when it is not used at once */
    bool yielding;        /* what the epoch's application cannot use, others get */
    bool after_rows;      /* and rows that are open are finished first */
    unsigned batch_cap;   /* reads are served in batches; 0: FR-FCFS */
    unsigned window;      /* instructions; 0: the machine's 128 */
    unsigned mega_cycles; /* length of a shared run */
};

/* The scenario of these applications, one a core; row by row, without a length. */
struct textbuf;
int slow_shared_text(const struct slow_variant *variant, const size_t *apps, struct textbuf *text);
/* Totals of one application at the end of a row of SLOW_ROW_CYCLES. */
enum {
    V_QUANTUM_CYCLES, /* asm_epochs */
    V_ACCESSES,
    V_EPOCHS,
    V_HITS,
    V_MISSES,
    V_HIT_TIME,
    V_MISS_TIME,
    V_QUEUEING,
    V_ATS_HITS, /* in epochs, all sets */
    V_ATS_MISSES,
    V_SAMPLED_HITS, /* in epochs, 64 sets */
    V_SAMPLED_MISSES,
    V_TOTAL_MISSES, /* in the whole quantum */
    V_CYCLES,       /* core */
    V_LLC_READS,
    V_READ_MISSES,
    V_OCCUPANCY,
    V_ACTIVE,
    V_STALLS,
    V_INSTRUCTIONS, /* truth */
    V_FST,          /* cycles */
    V_PTCA,
    V_PTCA_SAMPLED,
    V_PROGRESS, /* SIMNODE_PROGRESS of them, in the whole quantum ... */
    V_EPOCH_PROGRESS = V_PROGRESS + SIMNODE_PROGRESS, /* ... and in epochs */
    SLOW_LAST = V_EPOCH_PROGRESS + SIMNODE_PROGRESS - 1,
    SLOW_VALUES
};
enum { SLOW_ROW_CYCLES = 1000000 };

struct slow_run {
    unsigned cores, rows;
    uint64_t (*values)[SLOW_VALUES]; /* rows x cores */
};

static inline const uint64_t *slow_values(const struct slow_run *run, unsigned row, unsigned core)
{
    return run->values[row * run->cores + core];
}

/* From the folder if it is there, else simulated and written. 0 or -errno. */
int slow_run_get(const char *folder, const struct slow_variant *variant, uint64_t seed,
                 unsigned index, struct slow_run *out);
void slow_run_release(struct slow_run *run);

/* One application alone on the variant's machine, by steps of SLOW_STEP_CYCLES. */
enum { SLOW_STEP_CYCLES = 20000 };
struct slow_alone {
    size_t n;
    uint64_t *instructions;                  /* after (i + 1) steps */
    uint64_t *misses;                        /* likewise */
    double mpki, latency_cycles, miss_ratio; /* of the whole run; NaN: no misses, no accesses */
    double cache_cycles;                     /* of the machine: one look through the caches */
};
/* 'ways': of the cache's 16 that it may use. */
int slow_alone_get(const char *folder, const struct slow_variant *variant, size_t app,
                   unsigned ways, struct slow_alone *out);
void slow_alone_release(struct slow_alone *alone);
/* Cycles, misses until that many instructions have retired; NaN beyond the run's end. */
double slow_alone_cycles(const struct slow_alone *alone, uint64_t instructions);
double slow_alone_misses(const struct slow_alone *alone, uint64_t instructions);

/* --- interference by request: slowdown_delays.c --- */

struct delays;
int delays_new(const struct scenario *scenario, struct delays **out);
void delays_free(struct delays *delays);
simnode_observer delays_observe;
/* Totals since the start, in core cycles: excess by FST, by PTCA with all tags, with 64 sets. */
void delays_read(const struct delays *delays, size_t app, uint64_t out[3]);

/* --- models: slowdown_models.c --- */

enum slow_model {
    SLOW_ASM,
    SLOW_ASM_SAMPLED,
    SLOW_MISE,
    SLOW_FST,
    SLOW_PTCA,
    SLOW_PTCA_SAMPLED,
    SLOW_PASSIVE,
    SLOW_ONE, /* always 1.0 */
    SLOW_PAPER_MODELS,
    /* Beyond the paper: shadow clocks, ... */
    SLOW_SHADOW = SLOW_PAPER_MODELS,
    SLOW_SHADOW_SAMPLED,
    SLOW_SHADOW_PLAIN,   /* 64 sets; on runs without epochs, like the next two */
    SLOW_PASSIVE_SERIAL, /* passive, but memory's part by serial reads */
    SLOW_PASSIVE_ALL_SERIAL,
    SLOW_SHADOW_CACHE, /* ... with parts missing, all tags, ... */
    SLOW_SHADOW_FIXED,
    SLOW_SHADOW_NO_WRITES,
    SLOW_SHADOW_TENTH_OFF,
    SLOW_TRUE_COUNTS, /* ... and ASM with terms that are true */
    SLOW_TRUE_EXCESS,
    SLOW_TRUE_QUEUEING,
    SLOW_TRUE_CYCLES,
    SLOW_MODELS
};
extern const char *const slow_model_names[SLOW_MODELS];

/* What ASM's terms are and should be, in an application's own epochs. */
enum slow_term {
    TERM_EXCESS,            /* share of the epochs' cycles: ASM's, ... */
    TERM_TRUE_EXCESS,       /* ... by the shadow clock that knows contention in the cache only */
    TERM_QUEUEING,          /* the same: ASM's, ... */
    TERM_TRUE_QUEUEING,     /* ... what is left to the true time alone */
    TERM_MISS_CYCLES,       /* a miss that is none of contention: in epochs, ... */
    TERM_ALONE_MISS_CYCLES, /* ... alone */
    TERM_ACCESSES,          /* per instruction: in epochs over in the whole quantum */
    TERM_PREFETCHES,        /* served by memory, per demand miss */
    SLOW_TERMS
};

/* One quantum of one application. Unclamped estimates; NaN: no estimate. */
struct slow_quantum {
    double actual;
    double estimate[SLOW_MODELS];
    double terms[SLOW_TERMS]; /* NaN: not known */
};
void slow_estimate(const uint64_t before[SLOW_VALUES], const uint64_t after[SLOW_VALUES],
                   unsigned epoch_cycles, const struct slow_alone *alone, struct slow_quantum *out);

#endif
