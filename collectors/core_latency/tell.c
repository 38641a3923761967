#include "collectors/core_latency/tell.h"

#include <math.h>
#include <string.h>

static void divide_reads(const struct collector_env *env, const struct core_lane *lane,
                         struct read_latency *out)
{
    const struct machine *machine = &env->facts->machine;
    enum role role = core_group_reads(lane->base.group);
    struct group_window window;
    if (machine->numa_nodes <= 1 ||
        source_set_read(env->sources, lane->base.handle, &window) != 0 ||
        !places_divide_by_node(&window, role, machine, out->by_node, READ_LATENCY_NODES))
        memset(out->by_node, 0, sizeof out->by_node);
}

void tell_reads(const struct collector_env *env, const struct core_lane *lane,
                const struct limits *limits, const struct core_latency *estimate, uint64_t reads,
                const struct tick *tick)
{
    struct read_latency *out = read_latencies_entry(&env->facts->reads, lane->base.container->slot);
    if (!out)
        return;
    enum basis basis = limits->basis[LIMIT_BASELINE];
    bool own = basis != BASES && basis != BASIS_MACHINE;
    out->tick = tick->number;
    out->latency_seconds = estimate->latency_seconds;
    out->baseline_seconds = own ? limits->seconds[LIMIT_BASELINE] : NAN;
    out->reads = (double)reads;
    divide_reads(env, lane, out);
}

void tell_gone(const struct collector_env *env, const struct core_lane *lane)
{
    struct read_latency *out = read_latencies_entry(&env->facts->reads, lane->base.container->slot);
    if (out)
        *out = (struct read_latency){.tick = 0};
}
