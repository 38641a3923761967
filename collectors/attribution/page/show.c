#include "collectors/attribution/page/show.h"

#include <math.h>

#include "collectors/attribution/ledger/outside.h"
#include "collectors/attribution/ledger/readings.h"

static void show_container(const struct attribution_context *self,
                           const struct attribution_node *node, const struct container *container,
                           const struct attribution_finding *finding, double share)
{
    static const enum live_suspicion suspicions[] = {
        [ATTRIBUTION_UNKNOWN] = LIVE_UNSUSPECTED, [ATTRIBUTION_SUSPECTED] = LIVE_SUSPECTED,
        [ATTRIBUTION_NAMED] = LIVE_NAMED,         [ATTRIBUTION_IN_GROUP] = LIVE_IN_GROUP,
        [ATTRIBUTION_DOUBTED] = LIVE_DOUBTED,
    };
    if (suspicions[finding->state] != LIVE_UNSUSPECTED)
        live_suspect(self->env.live, container, node->number, suspicions[finding->state],
                     finding->caused_ns * share * 1e-9, finding->sd_ns * share * 1e-9,
                     finding->probability);
}

/* Of a machine that is nobody's guest, nothing is outside that slows memory. */
static double from_outside(const struct attribution_context *self,
                           const struct attribution_node *node)
{
    if (!self->env.facts->machine.guest || !node->known)
        return NAN;
    double risen_ns = node->calm_ns * (exp(ledger_risen(&node->ledger)) - 1);
    return fmin(risen_ns, node->by_ns[BY_UNKNOWN]) * 1e-9;
}

static void show_node(const struct attribution_context *self, const struct attribution_node *node,
                      const struct lanes *lanes)
{
    static const enum live_cause causes[GATE_STATES] = {
        [GATE_LEARNING] = LIVE_CAUSE_LEARNING,   [GATE_NAMED] = LIVE_CAUSE_NAMED,
        [GATE_GROUP] = LIVE_CAUSE_GROUP,         [GATE_CALM] = LIVE_CAUSE_CALM,
        [GATE_SUSPECTED] = LIVE_CAUSE_SUSPECTED, [GATE_UNKNOWN] = LIVE_CAUSE_UNKNOWN,
    };
    live_outside(self->env.live, node->number, from_outside(self, node));
    if (!node->known) {
        live_explain(self->env.live, node->number, LIVE_CAUSE_LEARNING, NAN, NAN, NAN);
        return;
    }
    const struct attribution_findings *found = &node->findings;
    bool one_of =
        node->state == GATE_GROUP && found->n_groups == 1 && found->groups[0].kind == GROUP_ONE_OF;
    live_explain(self->env.live, node->number, one_of ? LIVE_CAUSE_ONE_OF : causes[node->state],
                 node->calm_ns * 1e-9, node->by_ns[BY_HOST] * 1e-9,
                 3600 * ledger_lambda(&node->ledger));
    for (size_t i = 0; i < lanes->n && i < node->n_seats; i++) {
        const struct attribution_column *column = attribution_node_column(node, i);
        double share = node->seats[i].share;
        const struct attribution_lane *lane = share > 0 ? lanes_at(lanes, i) : NULL;
        if (lane && column)
            show_container(self, node, lane->container, &column->finding, share);
    }
}

void attribution_show(const struct attribution_context *self, const struct lanes *lanes)
{
    if (!self->env.live)
        return;
    for (size_t i = 0; i < lanes->n && attribution_has_clocks(self); i++) {
        const struct attribution_lane *lane = lanes_at(lanes, i);
        if (lane && lane->read)
            live_put(self->env.live, lane->container, LIVE_CPUS, lane->usage.all);
    }
    for (size_t i = 0; i < self->nodes.n; i++)
        show_node(self, self->node[i], lanes);
}
