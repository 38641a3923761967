/* The models of `reproduce slowdown`, from the totals around a quantum. */
#include <math.h>

#include "collectors/formulas/placement.h"
#include "collectors/formulas/shadow.h"
#include "collectors/formulas/slowdown.h"
#include "tests/research/slowdown.h"

const char *const slow_model_names[SLOW_MODELS] = {
    [SLOW_ASM] = "ASM",
    [SLOW_ASM_SAMPLED] = "ASM, 64 sets",
    [SLOW_MISE] = "MISE",
    [SLOW_FST] = "FST",
    [SLOW_PTCA] = "PTCA",
    [SLOW_PTCA_SAMPLED] = "PTCA, 64 sets",
    [SLOW_PASSIVE] = "passive",
    [SLOW_ONE] = "always 1.0",
    [SLOW_SHADOW] = "shadow",
    [SLOW_SHADOW_SAMPLED] = "shadow, 64 sets",
    [SLOW_SHADOW_PLAIN] = "shadow, 64 sets, no epochs",
    [SLOW_PASSIVE_SERIAL] = "memory by serial reads",
    [SLOW_PASSIVE_ALL_SERIAL] = "cache, too",
    [SLOW_SHADOW_CACHE] = "only the cache",
    [SLOW_SHADOW_FIXED] = "fixed memory latency",
    [SLOW_SHADOW_NO_WRITES] = "no writes",
    [SLOW_SHADOW_TENTH_OFF] = "controller a tenth off",
    [SLOW_TRUE_COUNTS] = "true counts",
    [SLOW_TRUE_EXCESS] = "true excess",
    [SLOW_TRUE_QUEUEING] = "true queueing",
    [SLOW_TRUE_CYCLES] = "both true",
};

static struct slowdown_asm_counts asm_counts(const uint64_t d[SLOW_VALUES], unsigned epoch_cycles,
                                             bool sampled)
{
    return (struct slowdown_asm_counts){
        .quantum_cycles = d[V_QUANTUM_CYCLES],
        .accesses = d[V_ACCESSES],
        .epoch_count = d[V_EPOCHS],
        .epoch_length = epoch_cycles,
        .hits = d[V_HITS],
        .misses = d[V_MISSES],
        .hit_time = d[V_HIT_TIME],
        .miss_time = d[V_MISS_TIME],
        .ats_hits = d[sampled ? V_SAMPLED_HITS : V_ATS_HITS],
        .ats_misses = d[sampled ? V_SAMPLED_MISSES : V_ATS_MISSES],
        .queueing_cycles = d[V_QUEUEING],
    };
}

static double estimate_asm(const uint64_t d[SLOW_VALUES], unsigned epoch_cycles, bool sampled)
{
    const struct slowdown_asm_counts counts = asm_counts(d, epoch_cycles, sampled);
    struct slowdown_asm result;

    return slowdown_asm(&counts, &result) == SLOWDOWN_OK ? result.raw : NAN;
}

/*
 * Subramanian et al. 2013, section 4: request service rates, alone from the epochs without the
 * cycles spent behind others, and the share of time stalled on memory:
 * slowdown = 1 - alpha + alpha * ARSR / SRSR.
 */
static double estimate_mise(const uint64_t d[SLOW_VALUES], unsigned epoch_cycles)
{
    double alone_cycles = (double)d[V_EPOCHS] * epoch_cycles - (double)d[V_QUEUEING];
    double shared = (double)d[V_TOTAL_MISSES] / (double)d[V_QUANTUM_CYCLES];
    double alpha = fmin(1, (double)d[V_STALLS] / (double)d[V_CYCLES]);

    if (!(alone_cycles > 0) || !(shared > 0))
        return NAN;
    return 1 - alpha + alpha * (double)d[V_MISSES] / alone_cycles / shared;
}

static double estimate_excess(const uint64_t d[SLOW_VALUES], int column)
{
    double left = (double)d[V_CYCLES] - (double)d[column];

    return left > 0 ? (double)d[V_CYCLES] / left : NAN;
}

/* Exposed cycles of a hit in the last-level cache. */
enum { HIT_CYCLES = 20 };

static enum slowdown_status passive(const uint64_t d[SLOW_VALUES], const struct slow_alone *alone,
                                    struct slowdown_passive *out)
{
    const struct slowdown_passive_counts counts = {.cycles = d[V_CYCLES],
                                                   .accesses = d[V_LLC_READS],
                                                   .misses = d[V_READ_MISSES],
                                                   .occupancy = d[V_OCCUPANCY],
                                                   .active = d[V_ACTIVE]};
    const struct slowdown_passive_alone known = {.latency_cycles = alone->latency_cycles,
                                                 .miss_ratio = alone->miss_ratio,
                                                 .hit_cycles = HIT_CYCLES};

    return slowdown_passive(&counts, &known, out);
}

static double estimate_passive(const uint64_t d[SLOW_VALUES], const struct slow_alone *alone)
{
    struct slowdown_passive result;

    return passive(d, alone, &result) == SLOWDOWN_OK ? result.ratio : NAN;
}

/*
 * The same, but memory's part is what placement.h would make of it: N (lat - lat0), with serial
 * reads N in place of active / lat. 'cache_too': so is what a contention miss costs.
 */
static double estimate_serial(const uint64_t d[SLOW_VALUES], const struct slow_alone *alone,
                              bool cache_too)
{
    struct slowdown_passive own;
    struct placement_reads reads;
    const struct placement_counts counts = {.reads = (double)d[V_READ_MISSES],
                                            .occupancy = (double)d[V_OCCUPANCY],
                                            .active = (double)d[V_ACTIVE],
                                            .cache = alone->cache_cycles,
                                            .cpu = (double)d[V_CYCLES]};

    if (passive(d, alone, &own) != SLOWDOWN_OK ||
        placement_serial_reads(&counts, &reads) != PLACEMENT_OK)
        return NAN;

    double unloaded = fmin(reads.latency, alone->latency_cycles);
    double memory = reads.serial * (reads.latency - unloaded), cache = own.cache_excess;

    if (cache_too)
        cache = fmax(0, counts.reads - alone->miss_ratio * (double)d[V_LLC_READS]) *
                fmax(0, reads.serial / counts.reads * unloaded - HIT_CYCLES);

    double left = counts.cpu - memory - cache;

    return left > 0 ? counts.cpu / left : NAN;
}

static double estimate_shadow(const uint64_t d[SLOW_VALUES], enum shadow_kind kind)
{
    struct slowdown_shadow result;
    uint64_t shadow = d[V_PROGRESS + PROGRESS_SHADOW + (int)kind];
    const struct slowdown_shadow_counts counts = {
        .cycles = d[V_CYCLES], .shadow_cycles = shadow, .shadow_cache_cycles = shadow};

    return slowdown_shadow(&counts, &result) == SLOWDOWN_OK ? result.raw : NAN;
}

/*
 * ASM's terms against the truth, in the application's own epochs of the quantum. The time that
 * their instructions take alone is known; the shadow clock that undoes evictions only says how much
 * of the difference is the cache's, the rest is the memory's.
 */
static void compare_terms(const uint64_t d[SLOW_VALUES], unsigned epoch_cycles, double alone_cycles,
                          double alone_misses, const struct slow_alone *alone,
                          struct slow_quantum *out)
{
    const uint64_t *in = &d[V_EPOCH_PROGRESS];
    const struct slowdown_asm_counts c = asm_counts(d, epoch_cycles, false);
    double epochs = (double)d[V_EPOCHS] * epoch_cycles;
    double hits = (double)d[V_HITS], misses = (double)d[V_MISSES], accesses = hits + misses;
    double part = (double)in[PROGRESS_INSTRUCTIONS] / (double)d[V_INSTRUCTIONS];
    double true_cycles = alone_cycles * part, true_misses = alone_misses * part;
    double delay = (double)c.queueing_cycles / misses;
    double exposed = (double)c.miss_time / misses - (hits > 0 ? (double)c.hit_time / hits : 0);
    double excess = fmax(0, misses - (double)d[V_ATS_MISSES]) * exposed;
    double queueing = (double)d[V_ATS_MISSES] * delay;
    double true_excess =
        (double)in[PROGRESS_SHADOW + SHADOW_MEMORY] - (double)in[PROGRESS_SHADOW + SHADOW_ALL_TAGS];
    double true_queueing = epochs - true_excess - true_cycles;
    double shared_rate = (double)c.accesses / (double)c.quantum_cycles;
    const double left[] = {
        epochs - fmax(0, misses - true_misses) * exposed - fmin(true_misses, misses) * delay,
        epochs - true_excess - queueing,
        epochs - excess - true_queueing,
        true_cycles,
    };

    for (int i = 0; i < 4; i++)
        out->estimate[SLOW_TRUE_COUNTS + i] =
            left[i] > 0 && misses > 0 ? accesses / left[i] / shared_rate : NAN;
    out->terms[TERM_EXCESS] = excess / epochs;
    out->terms[TERM_TRUE_EXCESS] = true_excess / epochs;
    out->terms[TERM_QUEUEING] = queueing / epochs;
    out->terms[TERM_TRUE_QUEUEING] = true_queueing / epochs;
    out->terms[TERM_MISS_CYCLES] =
        (double)in[PROGRESS_MEMORY_TIME] / (double)in[PROGRESS_MEMORY_READS];
    out->terms[TERM_ALONE_MISS_CYCLES] = alone->latency_cycles;
    out->terms[TERM_ACCESSES] = accesses / (double)c.accesses / part;
    out->terms[TERM_PREFETCHES] = (double)in[PROGRESS_PREFETCHES] / misses;
}

void slow_estimate(const uint64_t before[SLOW_VALUES], const uint64_t after[SLOW_VALUES],
                   unsigned epoch_cycles, const struct slow_alone *alone, struct slow_quantum *out)
{
    uint64_t d[SLOW_VALUES];

    for (int i = 0; i < SLOW_VALUES; i++)
        d[i] = after[i] - before[i];

    double alone_cycles = slow_alone_cycles(alone, after[V_INSTRUCTIONS]) -
                          slow_alone_cycles(alone, before[V_INSTRUCTIONS]);
    double alone_misses = slow_alone_misses(alone, after[V_INSTRUCTIONS]) -
                          slow_alone_misses(alone, before[V_INSTRUCTIONS]);

    out->actual = (double)d[V_CYCLES] / alone_cycles;
    compare_terms(d, epoch_cycles, alone_cycles, alone_misses, alone, out);
    out->estimate[SLOW_SHADOW] = estimate_shadow(d, SHADOW_ALL_TAGS);
    out->estimate[SLOW_SHADOW_SAMPLED] = estimate_shadow(d, SHADOW_SAMPLED_TAGS);
    out->estimate[SLOW_SHADOW_PLAIN] = estimate_shadow(d, SHADOW_SAMPLED_TAGS);
    out->estimate[SLOW_SHADOW_CACHE] = estimate_shadow(d, SHADOW_CACHE);
    out->estimate[SLOW_SHADOW_FIXED] = estimate_shadow(d, SHADOW_FIXED);
    out->estimate[SLOW_SHADOW_NO_WRITES] = estimate_shadow(d, SHADOW_NO_WRITES);
    out->estimate[SLOW_SHADOW_TENTH_OFF] = estimate_shadow(d, SHADOW_TENTH_OFF);
    out->estimate[SLOW_ASM] = estimate_asm(d, epoch_cycles, false);
    out->estimate[SLOW_ASM_SAMPLED] = estimate_asm(d, epoch_cycles, true);
    out->estimate[SLOW_MISE] = estimate_mise(d, epoch_cycles);
    out->estimate[SLOW_FST] = estimate_excess(d, V_FST);
    out->estimate[SLOW_PTCA] = estimate_excess(d, V_PTCA);
    out->estimate[SLOW_PTCA_SAMPLED] = estimate_excess(d, V_PTCA_SAMPLED);
    out->estimate[SLOW_PASSIVE] = estimate_passive(d, alone);
    out->estimate[SLOW_PASSIVE_SERIAL] = estimate_serial(d, alone, false);
    out->estimate[SLOW_PASSIVE_ALL_SERIAL] = estimate_serial(d, alone, true);
    out->estimate[SLOW_ONE] = 1;
}
