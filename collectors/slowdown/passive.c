#include "collectors/slowdown/passive.h"

#include <math.h>

#include "collectors/formulas/core_latency.h"
#include "collectors/parts/window_read.h"

void passive_begin(struct passive *passive)
{
    passive->window = passive->counted = false;
    passive->counts = (struct passive_counts){0};
}

void passive_take(struct passive *passive, const struct window_sum *sum, enum window_status status)
{
    struct passive_counts *c = &passive->counts;
    if (status != WINDOW_OK && status != WINDOW_IDLE)
        return;
    passive->window = true;
    passive->enabled_ns = sum->enabled_ns;
    if (status != WINDOW_OK)
        return;
    window_count(sum, GROUP_CORE, ROLE_CYCLES, &c->cycles);
    window_count(sum, GROUP_CORE, ROLE_REF_CYCLES, &c->ref_cycles);
    window_count(sum, GROUP_CORE, ROLE_L3_MISS_READS, &c->misses);
    c->reference_occupancy = sum->reference[group_index(GROUP_CORE, ROLE_L3_MISS_READ_OCCUPANCY)];
    passive->counted = window_count(sum, GROUP_CORE, ROLE_LLC_READS, &c->accesses) &&
                       window_count(sum, GROUP_CORE, ROLE_L3_MISS_READ_ACTIVE, &c->active);
}

/* ---- estimating ---- */

bool passive_knows_hits(const struct facts *facts)
{
    return facts->machine.llc_hit_cycles > 0 ||
           (facts->llc_hit_seconds > 0 && facts->machine.cache_cycles > 0);
}

/* NaN when not known. */
static double hit_cycles(const struct facts *facts, double frequency_hz)
{
    if (facts->machine.llc_hit_cycles > 0)
        return facts->machine.llc_hit_cycles;
    return slowdown_hit_cycles(facts->llc_hit_seconds, core_cache_of(&facts->machine),
                               frequency_hz);
}

static double unloaded_seconds(const struct passive *passive, const struct facts *facts,
                               double frequency_hz)
{
    double seconds = unloaded_latency_seconds(&passive->unloaded);
    /* The probe reads local memory. Where there is one NUMA node, so does everyone. */
    if (isnan(seconds) && facts->machine.numa_nodes == 1)
        seconds = slowdown_probe_latency(facts->probe_calm_seconds, core_cache_of(&facts->machine),
                                         frequency_hz);
    return seconds;
}

/* The sum of its misses' time beyond the caches. */
static double wait_seconds(const struct passive *passive, const struct facts *facts)
{
    return passive->counts.reference_occupancy / facts->machine.base_frequency_hz;
}

static enum slowdown_gap estimate(struct passive *passive, const struct facts *facts,
                                  double frequency_hz)
{
    const struct passive_counts *c = &passive->counts;
    double occupancy = wait_seconds(passive, facts) * frequency_hz;
    const struct slowdown_passive_counts counts = {.cycles = c->cycles,
                                                   .accesses = c->accesses,
                                                   .misses = c->misses,
                                                   .occupancy = (uint64_t)llround(occupancy),
                                                   .active = c->active};
    const struct slowdown_passive_alone alone = {
        .latency_cycles = unloaded_seconds(passive, facts, frequency_hz) * frequency_hz,
        .miss_ratio = unloaded_miss_ratio(&passive->unloaded),
        .hit_cycles = hit_cycles(facts, frequency_hz),
    };
    switch (slowdown_passive(&counts, &alone, &passive->estimate)) {
    case SLOWDOWN_OK:
        return isnan(passive->estimate.ratio) ? GAP_NO_HIT_CYCLES : GAP_NONE;
    case SLOWDOWN_NO_ACCESSES:
        return GAP_NO_ACCESSES;
    case SLOWDOWN_NO_MISSES:
        return GAP_NO_MISSES;
    case SLOWDOWN_DENOMINATOR:
        return GAP_DENOMINATOR;
    default:
        break;
    }
    if (unloaded_never_calm(&passive->unloaded))
        return GAP_NEVER_CALM;
    return isnan(alone.miss_ratio) ? GAP_LEARNING : GAP_NO_UNLOADED_LATENCY;
}

static void count_gap(struct collector_status *status, enum slowdown_gap gap)
{
    static const int discards[GAPS] = {
        [GAP_LEARNING] = DISCARD_LEARNING,     [GAP_NO_UNLOADED_LATENCY] = DISCARD_LEARNING,
        [GAP_NEVER_CALM] = DISCARD_NEVER_CALM, [GAP_NO_ACCESSES] = DISCARD_NO_MISSES,
        [GAP_NO_MISSES] = DISCARD_NO_MISSES,   [GAP_DENOMINATOR] = DISCARD_DENOMINATOR,
    };
    if (discards[gap] > 0)
        status->discarded[discards[gap]]++;
}

static void add_to_totals(struct passive *passive)
{
    passive->observed_cycles += passive->counts.cycles;
    passive->memory_cycles += passive->estimate.memory_excess;
    if (passive->gap == GAP_NONE)
        passive->cache_cycles += passive->estimate.cache_excess;
}

static void learn(struct passive *passive, bool calm, bool clocked, const struct facts *facts)
{
    const struct passive_counts *c = &passive->counts;
    const struct unloaded_window window = {
        .calm = calm,
        .accesses = clocked && passive->counted ? c->accesses : 0,
        .misses = c->misses,
        .wait_seconds = clocked ? wait_seconds(passive, facts) : 0,
    };
    unloaded_learn(&passive->unloaded, &window);
}

/* Of a window: what it teaches, and then what can be said of it. */
static enum slowdown_gap judge(struct passive *passive, bool calm, const struct facts *facts,
                               struct collector_status *status)
{
    const struct passive_counts *c = &passive->counts;
    double base_hz = facts->machine.base_frequency_hz, frequency_hz = 0;
    bool clocked = core_frequency_hz(c->cycles, c->ref_cycles, base_hz, &frequency_hz) == 0;
    learn(passive, calm, clocked, facts);
    if (c->cycles == 0 && c->misses == 0)
        return GAP_IDLE;
    if (!passive->counted)
        return GAP_NOT_COUNTED;
    if (!clocked && base_hz > 0) {
        status->discarded[DISCARD_IMPLAUSIBLE]++;
        return GAP_IDLE;
    }
    if (!clocked)
        return GAP_NO_FREQUENCY;
    enum slowdown_gap gap = estimate(passive, facts, frequency_hz);
    count_gap(status, gap);
    return gap;
}

void passive_estimate(struct passive *passive, bool opened, bool calm, const struct facts *facts,
                      struct collector_status *status)
{
    passive->estimate = (struct slowdown_passive){0};
    if (passive->window)
        passive->gap = judge(passive, calm, facts, status);
    else
        passive->gap = opened ? GAP_IDLE : GAP_NOT_COUNTED;
    if (passive->gap == GAP_NONE || passive->gap == GAP_NO_HIT_CYCLES)
        add_to_totals(passive);
}

/* ---- showing ---- */

void passive_show(const struct passive *passive, struct slowdown_set *set, bool possible,
                  bool knows_hits)
{
    slowdown_set_count(set, S_OBSERVED, possible, passive->observed_cycles);
    slowdown_set_count(set, S_MEMORY, possible, (uint64_t)passive->memory_cycles);
    slowdown_set_count(set, S_CACHE, possible && knows_hits, (uint64_t)passive->cache_cycles);
    slowdown_set_count(set, S_CALM_WINDOWS, true, passive->unloaded.calm_windows);
    slowdown_set_gap(set, passive->gap);
}

void passive_publish(const struct passive *passive, struct slowdown_set *set, bool ending)
{
    bool present = passive->gap == GAP_NONE && !ending;
    double ratio = passive->estimate.ratio;
    double accesses = (double)passive->counts.accesses;
    slowdown_set_gauge(set, S_RATIO, present, ratio);
    slowdown_set_gauge(set, S_ALONE_RATE, present,
                       slowdown_alone_rate_hz(accesses, passive->enabled_ns, ratio));
}
