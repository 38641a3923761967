#include "collectors/slowdown/series.h"

#include "collectors/parts/named_series.h"

static const char *const model_names[MODELS] = {"asm", "passive", "shadow"};
static const char *const gap_names[GAPS] = {
    [GAP_NONE] = "",
    [GAP_IDLE] = "idle",
    [GAP_NOT_COUNTED] = "not_counted",
    [GAP_NO_FREQUENCY] = "no_frequency",
    [GAP_LEARNING] = "learning",
    [GAP_NEVER_CALM] = "never_calm",
    [GAP_NO_UNLOADED_LATENCY] = "no_unloaded_latency",
    [GAP_NO_HIT_CYCLES] = "no_hit_cycles",
    [GAP_NO_MISS_RATIO] = "no_miss_ratio",
    [GAP_NO_ACCESSES] = "no_accesses",
    [GAP_NO_MISSES] = "no_misses",
    [GAP_DENOMINATOR] = "denominator",
};

const char *slowdown_gap_name(enum slowdown_gap gap)
{
    return gap_names[gap];
}

static const char *const alone_names[ALONES] = {"latency", "miss_ratio"};

#define CONTAINER(n) "interference_container_" n
static const struct metric_desc descs[SLOWDOWN_METRICS] = {
    [M_RATIO] =
        METRIC(GAUGE, DOUBLE, CONTAINER("slowdown_ratio"), "container, model",
               "Estimate of how many times longer the container's work took in the last window "
               "than it would have taken alone; absent without one, and /api/v1/containers says "
               "why. 1: memory and cache cost it no more than when left alone, which is known "
               "from calm windows or extrapolated to no traffic of others; high: they cost more. "
               "Models: passive uses the core's counters; asm and shadow need counters that only "
               "recordings of simulated hardware have today."),
    [M_OBSERVED] = METRIC(COUNTER, U64, CONTAINER("slowdown_observed_cycles"), "container, model",
                          "Cycles of the container in windows that have an estimate. A rate near "
                          "that of cpu_cycles: nearly every window has one. interference_cycles "
                          "divided by this is the share of cycles lost."),
    [M_INTERFERENCE] =
        METRIC(COUNTER, U64, CONTAINER("interference_cycles"), "container, model, resource",
               "Estimated cycles that the container would not have needed alone, by contended "
               "resource: cache (more misses than when left alone) or memory (longer reads; "
               "on Arm all that reads stall more, for either). Only "
               "windows that have an estimate; never negative, so noise alone adds 1 or 2 % of the "
               "cycles. Rising fast: contention for that resource, by neighbours as a rule."),
    [M_ALONE_RATE] =
        METRIC(GAUGE, DOUBLE, CONTAINER("alone_llc_access_rate_hertz"), "container, model",
               "Estimated rate at which the container would access the last-level "
               "cache if it ran alone, per second of its running time; only with "
               "--collector.slowdown.alone-rate. High: it depends on that cache."),
    [M_CALM_WINDOWS] = METRIC(NOTE, U64, "slowdown_calm_windows", "container",
                              "Calm windows from which the model passive has learned. High: its "
                              "estimate rests on much data."),
    [M_GAP] = METRIC(NOTE, U64, "slowdown_no_estimate", "container, model, reason",
                     "1 with the reason why this model has no estimate at the moment."),
    [M_BASIS] = METRIC(NOTE, U64, "slowdown_basis", "container, quantity, basis",
                       "1 with what the model passive knows of the container left alone, and from "
                       "what: its memory latency and its share of cache accesses that miss, from "
                       "calm windows, extrapolated to no traffic of others, or (latency only) "
                       "from the probe."),
};

const struct metric_desc *const slowdown_metrics[] = {
    &descs[M_RATIO],        &descs[M_OBSERVED], &descs[M_INTERFERENCE], &descs[M_ALONE_RATE],
    &descs[M_CALM_WINDOWS], &descs[M_GAP],      &descs[M_BASIS],        NULL};

static const struct {
    enum slowdown_metric metric;
    enum slowdown_model model;
    const char *resource;
} series_defs[S_GAPS] = {
    [S_RATIO] = {M_RATIO, MODEL_PASSIVE, NULL},
    [S_OBSERVED] = {M_OBSERVED, MODEL_PASSIVE, NULL},
    [S_MEMORY] = {M_INTERFERENCE, MODEL_PASSIVE, "memory"},
    [S_CACHE] = {M_INTERFERENCE, MODEL_PASSIVE, "cache"},
    [S_ALONE_RATE] = {M_ALONE_RATE, MODEL_PASSIVE, NULL},
    [S_CALM_WINDOWS] = {M_CALM_WINDOWS, MODELS, NULL},
    [S_ASM_RATIO] = {M_RATIO, MODEL_ASM, NULL},
    [S_ASM_OBSERVED] = {M_OBSERVED, MODEL_ASM, NULL},
    [S_ASM_ALONE_RATE] = {M_ALONE_RATE, MODEL_ASM, NULL},
    [S_SHADOW_RATIO] = {M_RATIO, MODEL_SHADOW, NULL},
    [S_SHADOW_OBSERVED] = {M_OBSERVED, MODEL_SHADOW, NULL},
    [S_SHADOW_MEMORY] = {M_INTERFERENCE, MODEL_SHADOW, "memory"},
    [S_SHADOW_CACHE] = {M_INTERFERENCE, MODEL_SHADOW, "cache"},
};

int slowdown_families_register(struct slowdown_families *families, struct store *store,
                               const char *owner)
{
    int err = 0;
    for (int i = 0; i < SLOWDOWN_METRICS && !err; i++)
        err = store_family(store, &descs[i], owner, &families->at[i]);
    return err;
}

/* usual is not a container left alone; nobody gives a file of such values. */
static bool basis_may_be(enum slowdown_alone alone, enum basis basis)
{
    return basis == BASIS_CALM || basis == BASIS_EXTRAPOLATED ||
           (basis == BASIS_MACHINE && alone == ALONE_LATENCY);
}

static bool wanted(const struct slowdown_families *families, int i)
{
    if (i >= S_BASES)
        return basis_may_be((i - S_BASES) / BASES, (i - S_BASES) % BASES);
    if (i >= S_GAPS)
        return i > S_GAPS + GAP_NONE;
    if (series_defs[i].metric == M_ALONE_RATE && !families->alone_rate)
        return false;
    return families->epochs ||
           (series_defs[i].model != MODEL_ASM && series_defs[i].model != MODEL_SHADOW);
}

static int make_one(const struct slowdown_families *families, struct labelset *labels, int i,
                    struct series **out)
{
    struct label own[2] = {{"model", model_names[MODEL_PASSIVE]}};
    if (i >= S_BASES) {
        own[0] = (struct label){"quantity", alone_names[(i - S_BASES) / BASES]};
        own[1] = (struct label){"basis", basis_name((i - S_BASES) % BASES)};
        return series_new(families->at[M_BASIS], labels, own, 2, out);
    }
    if (i >= S_GAPS) {
        own[1] = (struct label){"reason", gap_names[i - S_GAPS]};
        return series_new(families->at[M_GAP], labels, own, 2, out);
    }
    size_t n = 0;
    if (series_defs[i].model != MODELS)
        own[n++].value = model_names[series_defs[i].model];
    if (series_defs[i].resource)
        own[n++] = (struct label){"resource", series_defs[i].resource};
    return series_new(families->at[series_defs[i].metric], labels, own, n, out);
}

int slowdown_set_make(struct slowdown_set *set, const struct slowdown_families *families,
                      struct labelset *labels)
{
    for (int i = 0; i < SLOWDOWN_SERIES; i++) {
        int err = wanted(families, i) ? make_one(families, labels, i, &set->at[i]) : 0;
        if (err) {
            slowdown_set_release(set);
            return err;
        }
    }
    set->made = true;
    set->gap = GAP_NONE;
    for (int i = 0; i < ALONES; i++)
        set->basis[i] = BASES;
    return 0;
}

void slowdown_set_relabel(struct slowdown_set *set, struct labelset *labels)
{
    set->made = set->made && named_series_relabel(set->at, SLOWDOWN_SERIES, labels);
}

void slowdown_set_release(struct slowdown_set *set)
{
    named_series_release(set->at, SLOWDOWN_SERIES);
    set->made = false;
}

void slowdown_set_gauge(struct slowdown_set *set, enum slowdown_series series, bool present,
                        double value)
{
    if (set->at[series])
        series_show(set->at[series], present, value);
}

void slowdown_set_count(struct slowdown_set *set, enum slowdown_series series, bool present,
                        uint64_t value)
{
    if (set->at[series])
        series_show_u64(set->at[series], present, value);
}

void slowdown_set_gap(struct slowdown_set *set, enum slowdown_gap gap)
{
    if (!set->made || gap == set->gap)
        return;
    if (set->gap != GAP_NONE)
        series_clear(set->at[S_GAPS + set->gap]);
    if (gap != GAP_NONE)
        series_set_u64(set->at[S_GAPS + gap], 1);
    set->gap = gap;
}

void slowdown_set_basis(struct slowdown_set *set, enum slowdown_alone alone, enum basis basis)
{
    if (!set->made || basis == set->basis[alone])
        return;
    int first = S_BASES + alone * BASES;
    if (set->basis[alone] != BASES)
        series_clear(set->at[first + set->basis[alone]]);
    if (basis != BASES)
        series_set_u64(set->at[first + basis], 1);
    set->basis[alone] = basis;
}
