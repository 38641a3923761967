/*
 * The series of the slowdown collector: what each container shows, by which model.
 *
 * One set per container; made at once or not at all. Loop thread.
 */
#ifndef IE_COLLECTORS_SLOWDOWN_SERIES_H
#define IE_COLLECTORS_SLOWDOWN_SERIES_H

#include "collectors/learned/normal.h"
#include "exporter/store/store.h"

enum slowdown_model { MODEL_ASM, MODEL_PASSIVE, MODEL_SHADOW, MODELS };

/* Why a container has no estimate by model passive at the moment; the label of the note. */
enum slowdown_gap {
    GAP_NONE,
    GAP_IDLE,                /* nothing ran in the window, or it was discarded */
    GAP_NOT_COUNTED,         /* llc_reads or l3_miss_read_active are missing */
    GAP_NO_FREQUENCY,        /* base frequency unknown */
    GAP_LEARNING,            /* too few calm windows so far */
    GAP_NEVER_CALM,          /* no calm window at all */
    GAP_NO_UNLOADED_LATENCY, /* calm windows without reads, and no probe that may stand in */
    GAP_NO_HIT_CYCLES,       /* llc_hit_cycles unknown: only the memory's part is estimated */
    GAP_NO_MISS_RATIO,       /* what share misses when left alone is unknown: likewise */
    GAP_NO_ACCESSES,
    GAP_NO_MISSES,
    GAP_DENOMINATOR,
    GAPS
};

/* As in the label of the note. */
const char *slowdown_gap_name(enum slowdown_gap gap);

/* What model passive has to know of a container left alone, from some basis (learned/normal.h). */
enum slowdown_alone { ALONE_LATENCY, ALONE_MISS_RATIO, ALONES };

enum slowdown_metric {
    M_RATIO,
    M_OBSERVED,
    M_INTERFERENCE,
    M_ALONE_RATE,
    M_CALM_WINDOWS,
    M_GAP,
    M_BASIS,
    SLOWDOWN_METRICS
};
/* For the ops: ended by NULL. */
extern const struct metric_desc *const slowdown_metrics[];

/* A container's series. The unmarked ones are model passive's. */
enum slowdown_series {
    S_RATIO,
    S_OBSERVED,
    S_MEMORY,
    S_CACHE,
    S_ALONE_RATE, /* NULL unless wanted */
    S_CALM_WINDOWS,
    S_ASM_RATIO, /* NULL where the source has no epochs, as the next ones */
    S_ASM_OBSERVED,
    S_ASM_ALONE_RATE, /* NULL unless wanted */
    S_SHADOW_RATIO,
    S_SHADOW_OBSERVED,
    S_SHADOW_MEMORY,
    S_SHADOW_CACHE,
    S_GAPS,                  /* one per reason; GAP_NONE's is never made */
    S_BASES = S_GAPS + GAPS, /* for each of ALONES one per basis; most are never made */
    SLOWDOWN_SERIES = S_BASES + ALONES * BASES
};

struct slowdown_families {
    struct family *at[SLOWDOWN_METRICS];
    bool alone_rate, epochs; /* which series are wanted */
};

struct slowdown_set {
    bool made;
    enum slowdown_gap gap;    /* whose note is shown */
    enum basis basis[ALONES]; /* likewise; BASES: none */
    struct series *at[SLOWDOWN_SERIES];
};

int slowdown_families_register(struct slowdown_families *families, struct store *store,
                               const char *owner);

/* 0, or -errno with nothing made. */
int slowdown_set_make(struct slowdown_set *set, const struct slowdown_families *families,
                      struct labelset *labels);
/* The same numbers under new labels; NULL, or a failure, drops them. */
void slowdown_set_relabel(struct slowdown_set *set, struct labelset *labels);
void slowdown_set_release(struct slowdown_set *set);

/* Present or absent. A series that is not wanted, or a set that is not made, is left alone. */
void slowdown_set_gauge(struct slowdown_set *set, enum slowdown_series series, bool present,
                        double value);
void slowdown_set_count(struct slowdown_set *set, enum slowdown_series series, bool present,
                        uint64_t value);
/* Shows the note of this reason, and no other. */
void slowdown_set_gap(struct slowdown_set *set, enum slowdown_gap gap);
/* Likewise; BASES: none. */
void slowdown_set_basis(struct slowdown_set *set, enum slowdown_alone alone, enum basis basis);

#endif
