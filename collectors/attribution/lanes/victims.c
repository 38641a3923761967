#include "collectors/attribution/lanes/victims.h"

#include <math.h>

/* ---- the containers of a node ---- */

static double slope_of(const struct attribution_node *node, const struct attribution_column *column,
                       double pooled)
{
    const struct attribution_domain *domain = &node->domain;
    const struct attribution_member *member = column ? &column->member : NULL;
    bool solved = member && attribution_has_slot(domain, member) && domain->raw[member->slot] != 0;
    return solved ? domain->beta[member->slot] : pooled;
}

static double reads_at(const struct attribution_context *self, size_t node,
                       const struct read_latency *latency)
{
    unsigned number = (unsigned)self->nodes.at[node].numa_node;
    if (self->nodes.machine->numa_nodes <= 1)
        return latency->reads;
    return number < READ_LATENCY_NODES ? latency->by_node[number] : 0;
}

/* Slots that have a lane, a seat and a place in 'all': not the last ones where memory ran out. */
static size_t slots_of(const struct attribution_node *node, const struct lanes *lanes)
{
    size_t n = lanes->n < node->n_seats ? lanes->n : node->n_seats;
    return n < node->waits.n ? n : node->waits.n;
}

static void weigh(const struct attribution_node *node, struct waits *waits)
{
    double pooled = pooled_slope(node->pooled);
    for (size_t i = 0; i < waits->n; i++) {
        double weight = 0;
        if (i < node->n_seats)
            weight = slope_of(node, attribution_node_column(node, i), pooled) *
                     attribution_seat_traffic(node, i) / node->pooled->unit;
        waits->all[i] = (struct attribution_traffic){.weight = weight};
    }
    /* Nothing is learned of it alone before it is known: what it does hurts as all traffic does. */
    double host = isnan(node->total.host) ? 0 : node->total.host;
    waits->host = (struct attribution_traffic){.weight = pooled * host / node->pooled->unit};
}

static bool traffic_is_known(const struct attribution_node *node, size_t slot)
{
    const struct attribution_seat *seat = &node->seats[slot];
    return seat->usual > 0 || !isnan(seat->rate);
}

static void look_for_victims(const struct attribution_context *self, size_t k,
                             const struct lanes *lanes, const struct tick *tick)
{
    const struct attribution_node *node = self->node[k];
    struct waits *waits = &self->node[k]->waits;
    waits->victims = waits->learning = 0;
    for (size_t i = 0; i < slots_of(node, lanes); i++) {
        const struct attribution_lane *lane = lanes_at(lanes, i);
        const struct read_latency *latency =
            read_latencies_find(&self->env.facts->reads, i, tick->number);
        if (!lane || lane->has_inner || !latency || !traffic_is_known(node, i) ||
            !(reads_at(self, k, latency) > 0))
            continue;
        bool known = !isnan(latency->baseline_seconds);
        *(known ? &waits->victims : &waits->learning) += 1;
        if (!known)
            continue;
        waits->all[i].reads = reads_at(self, k, latency);
        waits->all[i].excess_seconds =
            fmax(0, latency->latency_seconds - latency->baseline_seconds);
    }
}

/* ---- a tick ---- */

static enum waits_state state_of(const struct attribution_context *self, size_t k,
                                 const struct lanes *lanes, const struct tick *tick)
{
    const struct attribution_node *node = self->node[k];
    if (!node->pooled)
        return WAITS_BY_CPU_TIME;
    if (self->env.facts->reads.tick != tick->number)
        return WAITS_NO_LATENCY;
    bool unseen = self->env.facts->containers_unseen > 0 || lanes->unopened > 0;
    if (unseen && isnan(node->total.host))
        return WAITS_UNSEEN;
    if (!node->known || node->domain.readings <= node->domain.config.learning ||
        !(pooled_slope(node->pooled) > 0))
        return WAITS_NO_SLOPE;
    return isnan(attribution_node_traffic(node)) ? WAITS_MISSING : WAITS_KNOWN;
}

static bool take_node(const struct attribution_context *self, size_t k, const struct lanes *lanes,
                      const struct tick *tick)
{
    const struct attribution_node *node = self->node[k];
    struct waits *waits = &self->node[k]->waits;
    waits->state = state_of(self, k, lanes, tick);
    bool first = false;
    if (waits->state != WAITS_KNOWN)
        return false;
    weigh(node, waits);
    look_for_victims(self, k, lanes, tick);
    waits_share(waits);
    for (size_t i = 0; i < slots_of(node, lanes); i++) {
        struct attribution_lane *lane = lanes_at(lanes, i);
        if (!lane || !traffic_is_known(node, i))
            continue;
        first |= !lane->waits_known;
        lane->waits_known = true;
        lane->wait_seconds += attribution_wait_seconds(&waits->sums, &waits->all[i]);
    }
    return first;
}

static void find_outer(const struct lanes *lanes)
{
    struct attribution_lane *lane, *outer;
    for (size_t i = 0; (lane = lanes_next(lanes, &i));)
        lane->has_inner = false;
    for (size_t i = 0; (lane = lanes_next(lanes, &i));)
        if (attribution_lane_is_open(lane) && (outer = attribution_lane_parent(lanes, lane)))
            outer->has_inner = true;
}

void victims_take(struct attribution_context *self, const struct lanes *lanes,
                  const struct tick *tick)
{
    struct attribution_lane *lane;
    if (!self->traffic)
        return;
    find_outer(lanes);
    for (size_t k = 0; k < self->nodes.n; k++)
        self->status->wants_reconcile |= take_node(self, k, lanes, tick);
    for (size_t i = 0; (lane = lanes_next(lanes, &i));) {
        if (lane->wait_series)
            series_add(lane->wait_series, lane->wait_seconds);
        lane->wait_seconds = 0;
    }
}

void victims_make_series(struct attribution_context *self, const struct lanes *lanes)
{
    struct attribution_lane *lane;
    for (size_t i = 0; (lane = lanes_next(lanes, &i));) {
        if (!lane->waits_known || lane->wait_series)
            continue;
        struct labelset *labels = container_labels_get(self->env.labels, lane->container);
        int err = labels ? series_new(self->families.at[A_CAUSED_WAIT], labels, NULL, 0,
                                      &lane->wait_series)
                         : 0;
        if (err)
            log_warn(self->env.log, "attribution", "no series for %s: error %d",
                     lane->container->path, -err);
    }
}
