/* The models of `reproduce slowdown`, from the totals around a quantum. */
#include <math.h>

#include "collectors/formulas/slowdown.h"
#include "tests/simnode/reproduce_slowdown.h"

const char *const slow_model_names[SLOW_MODELS] = {
    [SLOW_ASM] = "ASM",         [SLOW_ASM_SAMPLED] = "ASM, 64 sets",
    [SLOW_MISE] = "MISE",       [SLOW_FST] = "FST",
    [SLOW_PTCA] = "PTCA",       [SLOW_PTCA_SAMPLED] = "PTCA, 64 sets",
    [SLOW_PASSIVE] = "passive", [SLOW_ONE] = "always 1.0",
};

static double estimate_asm(const uint64_t d[SLOW_VALUES], unsigned epoch_cycles, bool sampled)
{
    struct slowdown_asm result;
    struct slowdown_asm_counts counts = {
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

static double estimate_passive(const uint64_t d[SLOW_VALUES], const struct slow_alone *alone)
{
    struct slowdown_passive result;
    const struct slowdown_passive_counts counts = {.cycles = d[V_CYCLES],
                                                   .accesses = d[V_LLC_READS],
                                                   .misses = d[V_READ_MISSES],
                                                   .occupancy = d[V_OCCUPANCY],
                                                   .active = d[V_ACTIVE]};
    const struct slowdown_passive_alone known = {
        .latency_cycles = alone->latency_cycles, .miss_ratio = alone->miss_ratio, .hit_cycles = 20};

    return slowdown_passive(&counts, &known, &result) == SLOWDOWN_OK ? result.ratio : NAN;
}

void slow_estimate(const uint64_t before[SLOW_VALUES], const uint64_t after[SLOW_VALUES],
                   unsigned epoch_cycles, const struct slow_alone *alone, struct slow_quantum *out)
{
    uint64_t d[SLOW_VALUES];

    for (int i = 0; i < SLOW_VALUES; i++)
        d[i] = after[i] - before[i];
    out->actual = (double)d[V_CYCLES] / (slow_alone_cycles(alone, after[V_INSTRUCTIONS]) -
                                         slow_alone_cycles(alone, before[V_INSTRUCTIONS]));
    out->estimate[SLOW_ASM] = estimate_asm(d, epoch_cycles, false);
    out->estimate[SLOW_ASM_SAMPLED] = estimate_asm(d, epoch_cycles, true);
    out->estimate[SLOW_MISE] = estimate_mise(d, epoch_cycles);
    out->estimate[SLOW_FST] = estimate_excess(d, V_FST);
    out->estimate[SLOW_PTCA] = estimate_excess(d, V_PTCA);
    out->estimate[SLOW_PTCA_SAMPLED] = estimate_excess(d, V_PTCA_SAMPLED);
    out->estimate[SLOW_PASSIVE] = estimate_passive(d, alone);
    out->estimate[SLOW_ONE] = 1;
}
