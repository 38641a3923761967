#include "collectors/attribution/page/list.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/attribution/ledger/outside.h"
#include "collectors/attribution/ledger/readings.h"
#include "exporter/live/words.h"

/* ---- the writer ---- */

static void name(struct attribution_list_names *to, const struct container *container)
{
    clip_text(to->namespace_, sizeof to->namespace_, container->namespace_);
    clip_text(to->pod, sizeof to->pod, container->pod);
    clip_text(to->name, sizeof to->name, container->name);
    clip_text(to->short_id, sizeof to->short_id, container->short_id);
}

static void add_row(struct attribution_list *list, size_t domain, const struct container *container,
                    const struct attribution_finding *part)
{
    if (list->n_rows == ATTRIBUTION_LIST_ROWS) {
        list->cut = true;
        return;
    }
    struct attribution_list_row *row = &list->rows[list->n_rows++];
    row->domain = (uint32_t)domain;
    name(&row->who, container);
    row->finding = *part;
}

/* Of what its workload does. */
static struct attribution_finding part_of(struct attribution_finding finding, double share)
{
    finding.caused_ns *= share;
    finding.sd_ns *= share;
    finding.activity *= share;
    finding.lowest *= share;
    return finding;
}

static void add_containers(struct attribution_list *list, const struct attribution_context *self,
                           size_t k, const struct lanes *lanes)
{
    static const enum live_suspicion suspicions[] = {
        [ATTRIBUTION_SUSPECTED] = LIVE_SUSPECTED,
        [ATTRIBUTION_NAMED] = LIVE_NAMED,
        [ATTRIBUTION_IN_GROUP] = LIVE_IN_GROUP,
        [ATTRIBUTION_DOUBTED] = LIVE_DOUBTED,
    };
    const struct attribution_node *node = self->node[k];
    for (size_t i = 0; i < lanes->n && i < node->n_seats; i++) {
        const struct attribution_column *column = attribution_node_column(node, i);
        double share = node->seats[i].share;
        const struct attribution_lane *lane = share > 0 ? lanes_at(lanes, i) : NULL;
        if (!lane || !column || column->finding.state == ATTRIBUTION_UNKNOWN)
            continue;
        struct attribution_finding part = part_of(column->finding, share);
        live_suspect(self->env.live, lane->container, node->number, suspicions[part.state],
                     part.caused_ns * 1e-9, part.sd_ns * 1e-9, part.probability);
        if (lane->container->named)
            add_row(list, k, lane->container, &part);
    }
}

static unsigned add_parties(struct attribution_list *list, const struct waits *waits,
                            const struct waits_top *top, const struct lanes *lanes)
{
    unsigned n = 0;
    for (unsigned i = 0; i < top->n; i++) {
        size_t slot = top->at[i].slot;
        const struct attribution_lane *lane = slot < lanes->n ? lanes_at(lanes, slot) : NULL;
        if (!lane || !lane->container->named)
            continue;
        struct attribution_list_party *party = &list->parties[list->n_parties++];
        name(&party->who, lane->container);
        party->slot = slot;
        party->traffic = waits->all[slot];
        n++;
    }
    return n;
}

static void add_waits(struct attribution_list *list, const struct waits *waits,
                      const struct lanes *lanes)
{
    struct attribution_list_domain *to = &list->domains[list->n_domains - 1];
    to->waits = *waits;
    to->waits.all = NULL;
    if (waits->state != WAITS_KNOWN)
        return;
    to->first_party = list->n_parties;
    to->n_aggressors = add_parties(list, waits, &waits->aggressors, lanes);
    to->n_burdened = add_parties(list, waits, &waits->burdened, lanes);
}

static void add_domain(struct attribution_list *list, const struct attribution_node *node)
{
    struct attribution_list_domain *to = &list->domains[list->n_domains++];
    *to = (struct attribution_list_domain){
        .numa_node = node->number,
        .traffic = node->pooled != NULL,
        .total = node->total,
        .known = node->known,
        .state = node->state,
        .latency_ns = node->domain.latency_ns,
        .calm_ns = node->calm_ns,
        .excess_ns = node->excess_ns,
        .noise_ratio = sqrt(node->domain.noise),
        .inflation_ratio = node->domain.inflation,
        .candidates = attribution_candidates(&node->domain),
        .readings = node->domain.readings,
        .steps_per_hour = 3600 * ledger_lambda(&node->ledger),
        .n_groups = node->known ? node->findings.n_groups : 0,
    };
    memcpy(to->by_ns, node->by_ns, sizeof to->by_ns);
    memcpy(to->groups, node->findings.groups, to->n_groups * sizeof *to->groups);
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

static void explain(const struct attribution_context *self, const struct attribution_node *node)
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
}

void attribution_list_write(struct double_buffer *lists,
                            const struct attribution_context *collector, const struct lanes *lanes,
                            const struct tick *tick)
{
    struct attribution_list *list = double_buffer_back(lists);
    list->n_domains = list->n_rows = list->n_parties = 0;
    list->cut = false;
    list->wall_ns = tick->wall_ns;
    for (size_t i = 0; i < collector->nodes.n; i++) {
        add_domain(list, collector->node[i]);
        add_waits(list, &collector->node[i]->waits, lanes);
        explain(collector, collector->node[i]);
        if (collector->node[i]->known)
            add_containers(list, collector, i, lanes);
    }
    double_buffer_swap(lists);
}

/* ---- readers ---- */

/* Only what is in use: the list is large, and mostly empty. */
struct attribution_list *attribution_list_copy(struct double_buffer *lists)
{
    struct attribution_list *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    const struct attribution_list *shown = double_buffer_lock(lists);
    memcpy(copy, shown, offsetof(struct attribution_list, domains));
    memcpy(copy->domains, shown->domains, shown->n_domains * sizeof *shown->domains);
    memcpy(copy->rows, shown->rows, shown->n_rows * sizeof *shown->rows);
    memcpy(copy->parties, shown->parties, shown->n_parties * sizeof *shown->parties);
    double_buffer_unlock(lists);
    if (copy->wall_ns > 0)
        return copy;
    free(copy);
    return NULL;
}
