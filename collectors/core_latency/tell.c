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
        !window_by_numa_node(&window, role, machine, out->by_node, READ_LATENCY_NODES))
        memset(out->by_node, 0, sizeof out->by_node);
}

void tell_collectors(const struct core_latency_collector *self, const struct lane *lane,
                     const struct tick *tick)
{
    const struct collector_env *env = &self->env;
    const struct container *container = lane->core.base.container;
    struct read_latency *out = read_latencies_entry(&env->facts->reads, container->slot);
    if (!out)
        return;
    enum basis basis = lane->limits.basis[LIMIT_BASELINE];
    bool own = basis != BASES && basis != BASIS_MACHINE;
    out->tick = tick->number;
    out->latency_seconds = lane->estimate.latency_seconds;
    out->baseline_seconds = own ? lane->limits.seconds[LIMIT_BASELINE] : NAN;
    out->reads = (double)lane->count[C_READS];
    divide_reads(env, &lane->core, out);
}

_Static_assert((int)LIVE_SOCKETS == (int)MACHINE_SOCKETS,
               "shares of sockets are shown as they are");

/* Rates of the window just read. */
static void live_rates(const struct core_latency_collector *self, const struct lane *lane)
{
    struct live *live = self->env.live;
    const struct container *c = lane->core.base.container;
    double seconds = lane->core.window_seconds;
    double base_hz = self->env.facts->machine.base_frequency_hz;
    uint64_t cycles = lane->count[C_CYCLES], instructions = lane->count[C_INSTRUCTIONS];
    if (!lane->window || !(seconds > 0))
        return;
    if (lane->counted >> C_READS & 1)
        live_put(live, c, LIVE_READS_PER_SECOND, (double)lane->count[C_READS] / seconds);
    if (lane->counted >> C_LLC_READS & 1)
        live_put(live, c, LIVE_LLC_READS_PER_SECOND, (double)lane->count[C_LLC_READS] / seconds);
    if (lane->core.divided)
        live_sockets(live, c, lane->core.share);
    if ((lane->counted >> C_INSTRUCTIONS & 1) && instructions > 0)
        live_put(live, c, LIVE_CYCLES_PER_INSTRUCTION, (double)cycles / (double)instructions);
    if ((lane->counted >> C_REF_CYCLES & 1) && base_hz > 0)
        live_put(live, c, LIVE_CPUS, (double)lane->count[C_REF_CYCLES] / base_hz / seconds);
}

void tell_people(const struct core_latency_collector *self, const struct lane *lane)
{
    struct live *live = self->env.live;
    const struct container *c = lane->core.base.container;
    const struct limits *limits = &lane->limits;
    live_rates(self, lane);
    if (self->group == GROUP_MISSES)
        return;
    if (lane->latency)
        live_put(live, c, LIVE_READ_SECONDS, lane->estimate.latency_seconds);
    if (limits->basis[LIMIT_BASELINE] != BASES) {
        live_put(live, c, LIVE_NORMAL_SECONDS, limits->seconds[LIMIT_BASELINE]);
        live_normal_basis(live, c, basis_name(limits->basis[LIMIT_BASELINE]), limits->since_ns);
    }
    if (lane->busy && limits_judge(limits))
        live_put(live, c, LIVE_LIMIT_SECONDS, limits->seconds[LIMIT_THRESHOLD]);
    live_lacks_normal(live, c, limits->lack == LACK_NONE ? NULL : lack_name(limits->lack));
}
