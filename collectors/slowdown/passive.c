#include "collectors/slowdown/passive.h"

#include <math.h>

#include "collectors/formulas/core_latency.h"
#include "collectors/parts/window_read.h"

void passive_init(struct passive *passive)
{
    *passive = (struct passive){.gap = GAP_IDLE, .cache_known = true};
    for (int i = 0; i < ALONES; i++)
        passive->basis[i] = BASES;
}

void passive_begin(struct passive *passive)
{
    passive->window = passive->counted = false;
    passive->counts = (struct passive_counts){0};
}

void passive_take(struct passive *passive, enum group group, const struct window_sum *sum,
                  enum window_status status)
{
    bool stalls = group == GROUP_MISSES;
    enum role active = stalls ? ROLE_MEMORY_STALLS : ROLE_L3_MISS_READ_ACTIVE;
    enum role occupancy = stalls ? ROLE_MEMORY_STALLS : ROLE_L3_MISS_READ_OCCUPANCY;
    struct passive_counts *c = &passive->counts;
    if (status != WINDOW_OK && status != WINDOW_IDLE)
        return;
    passive->window = true;
    passive->enabled_ns = sum->enabled_ns;
    if (status != WINDOW_OK)
        return;
    passive->stalls = stalls;
    window_count(sum, group, ROLE_CYCLES, &c->cycles);
    window_count(sum, group, ROLE_REF_CYCLES, &c->ref_cycles);
    window_count(sum, group, ROLE_L3_MISS_READS, &c->misses);
    c->reference_occupancy = sum->reference[group_index(group, occupancy)];
    passive->counted = window_count(sum, group, ROLE_LLC_READS, &c->accesses) &&
                       window_count(sum, group, active, &c->active);
}

/* What waits: misses, or whatever left the core. */
static uint64_t waiting(const struct passive *passive)
{
    return passive->stalls ? passive->counts.accesses : passive->counts.misses;
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

/* lat0, and its basis. */
static double unloaded_seconds(struct passive *passive, const struct facts *facts,
                               double frequency_hz)
{
    enum basis basis = unloaded_latency_basis(&passive->unloaded);
    double seconds = unloaded_latency_seconds(&passive->unloaded);
    /* The probe reads local memory. Where there is one NUMA node, so does everyone. It is no
     * container's mix and runs beside them all: only where they are known to be alone at times. */
    if (basis == BASES && !passive->stalls && facts->machine.numa_nodes == 1 &&
        passive->basis[ALONE_MISS_RATIO] != BASES)
        seconds = slowdown_probe_latency(facts->probe_calm_seconds, core_cache_of(&facts->machine),
                                         frequency_hz);
    passive->basis[ALONE_LATENCY] = basis == BASES && seconds > 0 ? BASIS_MACHINE : basis;
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
                                                   .misses = waiting(passive),
                                                   .occupancy = (uint64_t)llround(occupancy),
                                                   .active = c->active};
    passive->basis[ALONE_MISS_RATIO] = unloaded_ratio_basis(&passive->unloaded);
    const struct slowdown_passive_alone alone = {
        .latency_cycles = unloaded_seconds(passive, facts, frequency_hz) * frequency_hz,
        .miss_ratio = unloaded_miss_ratio(&passive->unloaded),
        .hit_cycles = passive->stalls ? 0 : hit_cycles(facts, frequency_hz),
    };
    switch (slowdown_passive(&counts, &alone, &passive->estimate)) {
    case SLOWDOWN_OK:
        if (!isnan(passive->estimate.ratio))
            return GAP_NONE;
        return isnan(alone.hit_cycles) ? GAP_NO_HIT_CYCLES : GAP_NO_MISS_RATIO;
    case SLOWDOWN_NO_ACCESSES:
        return GAP_NO_ACCESSES;
    case SLOWDOWN_NO_MISSES:
        return GAP_NO_MISSES;
    case SLOWDOWN_DENOMINATOR:
        return GAP_DENOMINATOR;
    default:
        break;
    }
    if (!isnan(alone.miss_ratio))
        return GAP_NO_UNLOADED_LATENCY;
    return unloaded_never_calm(&passive->unloaded) ? GAP_NEVER_CALM : GAP_LEARNING;
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
    passive->cache_known = passive->gap == GAP_NONE;
    if (passive->cache_known)
        passive->cache_cycles += passive->estimate.cache_excess;
}

static void learn(struct passive *passive, const struct passive_tick *tick, bool clocked,
                  const struct facts *facts)
{
    const struct passive_counts *c = &passive->counts;
    struct unloaded_window window = {
        .calm = tick->calm,
        .misses = waiting(passive),
        .mono_ns = tick->mono_ns,
        .length_seconds = tick->length_seconds,
        .corunners_known = tick->corunners_known,
        .measure = tick->measure,
        .corunner_rate = tick->corunner_rate,
    };
    if (clocked) {
        window.accesses = passive->counted ? c->accesses : 0;
        window.wait_seconds = wait_seconds(passive, facts);
        window.cpu_seconds = (double)c->ref_cycles / facts->machine.base_frequency_hz;
    }
    unloaded_learn(&passive->unloaded, &window);
}

/* Of a window: what it teaches, and then what can be said of it. */
static enum slowdown_gap judge(struct passive *passive, const struct passive_tick *tick,
                               const struct facts *facts, struct collector_status *status)
{
    const struct passive_counts *c = &passive->counts;
    double base_hz = facts->machine.base_frequency_hz, frequency_hz = 0;
    bool clocked = core_frequency_hz(c->cycles, c->ref_cycles, base_hz, &frequency_hz) == 0;
    learn(passive, tick, clocked, facts);
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

void passive_estimate(struct passive *passive, bool opened, const struct passive_tick *tick,
                      const struct facts *facts, struct collector_status *status)
{
    passive->estimate = (struct slowdown_passive){0};
    if (passive->window)
        passive->gap = judge(passive, tick, facts, status);
    else
        passive->gap = opened ? GAP_IDLE : GAP_NOT_COUNTED;
    if (passive->gap == GAP_NONE || passive->gap == GAP_NO_HIT_CYCLES ||
        passive->gap == GAP_NO_MISS_RATIO)
        add_to_totals(passive);
}

/* ---- showing ---- */

void passive_show(const struct passive *passive, struct slowdown_set *set, bool possible,
                  bool knows_hits)
{
    slowdown_set_count(set, S_OBSERVED, possible, passive->observed_cycles);
    slowdown_set_count(set, S_MEMORY, possible, (uint64_t)passive->memory_cycles);
    slowdown_set_count(set, S_CACHE, possible && knows_hits && passive->cache_known,
                       (uint64_t)passive->cache_cycles);
    slowdown_set_count(set, S_CALM_WINDOWS, true, passive->unloaded.calm_windows);
    slowdown_set_gap(set, passive->gap);
    for (int i = 0; i < ALONES; i++)
        slowdown_set_basis(set, (enum slowdown_alone)i, passive->basis[i]);
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
