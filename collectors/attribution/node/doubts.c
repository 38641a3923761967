#include "collectors/attribution/node/doubts.h"

#include <math.h>

#include "collectors/attribution/node/node.h"

/* A whole CPU, within 10 %, by far the most of the time. */
static const double whole_cpu = 0.9, constant = 0.1;
enum { OUTLIER_COSTS = 30, CONSTANT_FROM = 60, BEFORE = 30, FORGOTTEN = 900 };
static const double mean_gain = 1.0 / 30;
/* Correlation of reads with the latency from which on they follow it. */
static const double following = 0.3;
static const double forgetting = 1 - 1.0 / 900;
/* The host moves with it, and about as much. */
static const double alike = 0.8, comparable = 0.3;

void doubts_watch_host(struct attribution_node *node, double host)
{
    const struct attribution_domain *d = &node->domain;
    double z = host >= 0 && d->host_seen ? host - d->host_mean : 0;
    node->host_square = forgetting * node->host_square + z * z;
    for (size_t i = 0; i < node->n_columns; i++) {
        struct attribution_column *c = &node->columns[i];
        double own = c->activity - c->member.mean;
        if (!c->used || c->unread)
            continue;
        c->square = forgetting * c->square + own * own;
        c->with_host = forgetting * c->with_host + own * z;
    }
}

void doubts_watch(struct attribution_column *c, uint64_t reading)
{
    double mean = c->member.mean;
    if (mean >= whole_cpu && fabs(c->activity - mean) <= constant * mean) {
        c->constant++;
        return;
    }
    c->constant = c->constant > OUTLIER_COSTS ? c->constant - OUTLIER_COSTS : 0;
    if (c->constant == 0)
        c->constant_since = reading;
}

void doubts_watch_reads(struct attribution_node *node)
{
    double y = node->domain.deviation;
    node->latency_square = forgetting * node->latency_square + y * y;
    for (size_t i = 0; i < node->n_columns; i++) {
        struct attribution_column *c = &node->columns[i];
        if (!c->used || isnan(c->reads))
            continue;
        c->reads_mean +=
            fmax(mean_gain, 1 / (double)(c->reads_known + 1)) * (c->reads - c->reads_mean);
        c->reads_known++;
        double z = c->reads - c->reads_mean;
        c->reads_square = forgetting * c->reads_square + z * z;
        c->reads_with_latency = forgetting * c->reads_with_latency + z * y;
    }
}

static bool is_cleared(const struct attribution_node *node, const struct attribution_column *c)
{
    return c->reads_known >= CONSTANT_FROM &&
           c->reads_with_latency <= following * sqrt(c->reads_square * node->latency_square);
}

static bool may_be_it(const struct attribution_node *node, const struct attribution_column *c)
{
    return c->used && c->finding.state != ATTRIBUTION_NAMED && c->constant >= CONSTANT_FROM &&
           !is_cleared(node, c);
}

static bool moves_with_host(const struct attribution_node *node, const struct attribution_column *c)
{
    double own = c->square, host = node->host_square, both = c->with_host;
    return both > 0 && both * both > alike * alike * own * host &&
           host > comparable * comparable * own;
}

static bool may_play(const struct attribution_node *node, const struct attribution_column *c,
                     const struct attribution_column *named)
{
    return c != named && may_be_it(node, c) && c->constant_since + BEFORE <= named->named_since;
}

/* Its first time, and it came with it. */
static bool is_first_start(const struct ledger_workload *w)
{
    return w->named && w->agreed <= 1 && w->started && w->episodes <= 2;
}

static bool may_be_framed(const struct attribution_node *node, size_t i)
{
    if (is_first_start(&node->ledger.at[LEDGER_FIRST + i]))
        return false;
    for (size_t k = 0; k < node->n_columns; k++)
        if (may_play(node, &node->columns[k], &node->columns[i]))
            return true;
    return false;
}

static unsigned group_of(struct attribution_findings *all, enum attribution_group_kind kind)
{
    for (unsigned i = 0; i < all->n_groups; i++)
        if (all->groups[i].kind == kind)
            return i;
    all->groups[all->n_groups] = (struct attribution_found_group){.kind = kind};
    return all->n_groups++;
}

static void join(struct attribution_findings *all, struct attribution_finding *f,
                 enum attribution_group_kind kind)
{
    unsigned i = group_of(all, kind);
    struct attribution_found_group *g = &all->groups[i];
    f->state = ATTRIBUTION_IN_GROUP;
    f->group = i + 1;
    g->members++;
    g->effect += f->effect;
    g->se = hypot(g->se, f->se);
    g->score = fmax(g->score, f->score);
}

static void date_names(struct attribution_node *node)
{
    uint64_t now = node->domain.readings;
    for (size_t i = 0; i < node->n_columns; i++) {
        struct attribution_column *c = &node->columns[i];
        if (c->finding.state != ATTRIBUTION_NAMED)
            continue;
        if (c->named_since == 0 || now > c->named_last + FORGOTTEN)
            c->named_since = now;
        c->named_last = now;
    }
}

void doubts_raise(struct attribution_node *node)
{
    struct attribution_findings *all = &node->findings;
    bool framed = false;
    date_names(node);
    for (size_t i = 0; i < node->n_columns && !node->pooled; i++) {
        struct attribution_column *c = &node->columns[i];
        if (c->finding.state != ATTRIBUTION_NAMED)
            continue;
        c->doubted = moves_with_host(node, c) ? GROUP_WITH_HOST
                     : may_be_framed(node, i) ? GROUP_WITH_CONSTANT
                                              : GROUP_KINDS;
    }
    for (size_t i = 0; i < node->n_columns && !node->pooled; i++) {
        struct attribution_column *c = &node->columns[i];
        if (c->finding.state != ATTRIBUTION_NAMED || c->doubted == GROUP_KINDS)
            continue;
        framed |= c->doubted == GROUP_WITH_CONSTANT;
        join(all, &c->finding, c->doubted);
    }
    for (size_t i = 0; framed && i < node->n_columns; i++) {
        struct attribution_column *c = &node->columns[i];
        if (may_be_it(node, c) && c->finding.group == 0) {
            c->finding.effect = c->finding.se = 0;
            join(all, &c->finding, GROUP_WITH_CONSTANT);
        }
    }
}
