#include "collectors/attribution/page/board.h"
#include "collectors/attribution/ledger/readings.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int attribution_board_new(struct board **out)
{
    return board_new(sizeof(struct attribution_board_list), out);
}

/* ---- the writer ---- */

static void add_row(struct attribution_board_list *list, size_t domain,
                    const struct container *container, const struct attribution_finding *finding,
                    double share)
{
    if (list->n_rows == ATTRIBUTION_BOARD_ROWS) {
        list->cut = true;
        return;
    }
    struct attribution_board_row *row = &list->rows[list->n_rows++];
    row->domain = (uint32_t)domain;
    row->state = finding->state;
    row->group = finding->group - 1;
    board_text(row->namespace_, sizeof row->namespace_, container->namespace_);
    board_text(row->pod, sizeof row->pod, container->pod);
    board_text(row->name, sizeof row->name, container->name);
    board_text(row->short_id, sizeof row->short_id, container->short_id);
    row->probability = finding->probability;
    row->caused_ns = finding->caused_ns * share;
    row->sd_ns = finding->sd_ns * share;
    row->score = finding->score;
    row->support = finding->support;
    row->activity = finding->activity * share;
    row->lowest = finding->lowest * share;
}

static void add_rows(struct attribution_board_list *list, size_t domain,
                     const struct attribution_node *node, const struct lanes *lanes)
{
    for (size_t i = 0; i < lanes->n && i < node->n_seats; i++) {
        const struct attribution_column *column = attribution_node_column(node, i);
        double share = i < node->n_seats ? node->seats[i].share : 0;
        const struct attribution_lane *lane = share > 0 ? lanes_at(lanes, i) : NULL;
        if (lane && column && lane->container->named &&
            column->finding.state != ATTRIBUTION_UNKNOWN)
            add_row(list, domain, lane->container, &column->finding, share);
    }
}

static unsigned add_parties(struct attribution_board_list *list, const struct waits *waits,
                            const struct waits_top *top, const struct lanes *lanes)
{
    unsigned n = 0;
    for (unsigned i = 0; i < top->n; i++) {
        size_t slot = top->at[i].slot;
        const struct attribution_lane *lane = slot < lanes->n ? lanes_at(lanes, slot) : NULL;
        if (!lane || !lane->container->named)
            continue;
        const struct container *container = lane->container;
        struct attribution_board_party *party = &list->parties[list->n_parties++];
        board_text(party->namespace_, sizeof party->namespace_, container->namespace_);
        board_text(party->pod, sizeof party->pod, container->pod);
        board_text(party->name, sizeof party->name, container->name);
        board_text(party->short_id, sizeof party->short_id, container->short_id);
        party->slot = slot;
        party->traffic = waits->all[slot];
        n++;
    }
    return n;
}

static void add_waits(struct attribution_board_list *list, const struct waits *waits,
                      const struct lanes *lanes)
{
    struct attribution_board_domain *to = &list->domains[list->n_domains - 1];
    to->waits = waits->state;
    if (waits->state != WAITS_KNOWN)
        return;
    to->victims = waits->victims;
    to->learning = waits->learning;
    to->wait_seconds = waits->seconds;
    to->host_wait_seconds = waits->host_seconds;
    to->sums = waits->sums;
    to->first_party = list->n_parties;
    to->n_aggressors = add_parties(list, waits, &waits->aggressors, lanes);
    to->n_burdened = add_parties(list, waits, &waits->burdened, lanes);
}

static void add_domain(struct attribution_board_list *list, const struct attribution_node *node)
{
    struct attribution_board_domain *to = &list->domains[list->n_domains++];
    *to = (struct attribution_board_domain){
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

void attribution_board_write(struct board *board, const struct attribution_context *collector,
                             const struct lanes *lanes, const struct tick *tick)
{
    struct attribution_board_list *list = board_hidden(board);
    list->n_domains = list->n_rows = list->n_parties = 0;
    list->cut = false;
    list->wall_ns = tick->wall_ns;
    for (size_t i = 0; i < collector->nodes.n; i++) {
        add_domain(list, collector->node[i]);
        add_waits(list, &collector->node[i]->waits, lanes);
        if (collector->node[i]->known)
            add_rows(list, i, collector->node[i], lanes);
    }
    board_show(board);
}

/* ---- readers ---- */

/* Only what is in use: the list is large, and mostly empty. */
struct attribution_board_list *attribution_board_copy(struct board *board)
{
    struct attribution_board_list *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    const struct attribution_board_list *shown = board_lock(board);
    memcpy(copy, shown, offsetof(struct attribution_board_list, domains));
    memcpy(copy->domains, shown->domains, shown->n_domains * sizeof *shown->domains);
    memcpy(copy->rows, shown->rows, shown->n_rows * sizeof *shown->rows);
    memcpy(copy->parties, shown->parties, shown->n_parties * sizeof *shown->parties);
    board_unlock(board);
    if (copy->wall_ns > 0)
        return copy;
    free(copy);
    return NULL;
}
