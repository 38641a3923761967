#include "collectors/attribution/lanes/rates.h"

#include <math.h>

/* Of what the machine did: what is only taken to have been done. */
static const double carried_share = 0.1;

static void seat_all(const struct attribution_context *self, size_t slot,
                     const struct attribution_lane *lane)
{
    for (size_t i = 0; i < self->nodes.n; i++) {
        if (slot >= self->node[i]->n_seats)
            continue;
        struct attribution_seat *seat = &self->node[i]->seats[slot];
        seat->rate = lane && lane->read ? lane->usage.on[i] : NAN;
        seat->workload = lane ? lane->workload : -1;
        /* Also where its descriptors were called in: it has not ended. */
        seat->counted =
            lane && (attribution_lane_is_open(lane) || (lane->read_once && !lane->ending));
    }
}

/* What is not a number stays none. */
static void take_from(const struct attribution_context *self, size_t slot,
                      const struct attribution_lane *inner)
{
    for (size_t i = 0; i < self->nodes.n; i++)
        if (slot < self->node[i]->n_seats)
            self->node[i]->seats[slot].rate -= inner->read ? inner->usage.on[i] : NAN;
}

/* Readings of the two are not of the same instant. */
static void lift(const struct attribution_context *self, size_t slot)
{
    for (size_t i = 0; i < self->nodes.n; i++)
        if (slot < self->node[i]->n_seats && self->node[i]->seats[slot].rate < 0)
            self->node[i]->seats[slot].rate = 0;
}

void rates_share(const struct attribution_context *self, const struct lanes *lanes)
{
    const struct attribution_lane *lane, *outer;
    for (size_t i = 0; i < lanes->n; i++)
        seat_all(self, i, lanes_at(lanes, i));
    for (size_t i = 0; (lane = lanes_next(lanes, &i));)
        if (attribution_lane_is_open(lane) && (outer = attribution_lane_outer(lanes, lane)))
            take_from(self, outer->container->slot, lane);
    for (size_t i = 0; i < lanes->n; i++)
        lift(self, i);
}

void rates_reads(const struct attribution_context *self, const struct tick *tick)
{
    const struct read_latencies *reads = &self->env.facts->reads;
    bool all = reads->tick == tick->number && self->env.facts->containers_unseen == 0;
    for (size_t i = 0; i < self->nodes.n; i++)
        for (size_t slot = 0; slot < self->node[i]->n_seats; slot++) {
            const struct read_latency *latency = read_latencies_find(reads, slot, tick->number);
            self->node[i]->seats[slot].reads = latency ? latency->reads : all ? 0 : NAN;
        }
}

/* Gone before its last time was read, or never read. */
static bool is_hosts(const struct attribution_lane *lane)
{
    return !lane->read && (lane->ending || !lane->read_once);
}

bool rates_host(const struct attribution_context *self, const struct lanes *lanes,
                const struct activity *machine, double out[ATTRIBUTION_NODES])
{
    const struct attribution_lane *lane;
    struct activity left = *machine;
    double carried = 0;
    for (size_t k = 0; (lane = lanes_next(lanes, &k));) {
        if (!attribution_lane_is_open(lane) || attribution_lane_outer(lanes, lane) ||
            is_hosts(lane))
            continue;
        if (!lane->read)
            carried += lane->usage.all;
        left.placed &= lane->usage.placed;
        left.all -= lane->usage.all;
        for (size_t i = 0; i < self->nodes.n; i++)
            left.on[i] -= lane->usage.on[i];
    }
    /* Sums without a CPU can only be taken from sums. */
    for (size_t i = 0; i < self->nodes.n; i++)
        out[i] = fmax(0, left.placed ? left.on[i] : left.all);
    return carried <= carried_share * machine->all;
}

static int cpus_of(const struct machine *machine, int numa_node)
{
    int n = 0;
    for (int cpu = 0; cpu < MACHINE_CPUS; cpu++)
        n += machine_numa_node_of(machine, cpu) == numa_node;
    return n;
}

/* As activity_add counts it: without CPUs, or on a machine with one node, it is of all of them. */
double rates_busy_share(const struct attribution_context *self, const struct activity *machine,
                        size_t node)
{
    const struct activity_nodes *nodes = &self->nodes;
    bool all = nodes->machine->numa_nodes == 1 || !machine->placed;
    int cpus = all ? nodes->machine->cpus : cpus_of(nodes->machine, nodes->at[node].numa_node);
    if (machine->placed && nodes->at[node].probe_cpu >= 0)
        cpus--;
    return cpus > 0 ? machine->on[node] / cpus : NAN;
}
