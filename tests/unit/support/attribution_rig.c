#include "tests/unit/support/attribution_rig.h"

#include <math.h>
#include <stdlib.h>

#include "collectors/formulas/attribution.h"

struct attribution_rig *attribution_rig_new(const struct attribution_config *config)
{
    struct attribution_rig *rig = calloc(1, sizeof *rig);
    struct attribution_config cpu_time = attribution_config_cpu_time();
    if (!rig || attribution_init(&rig->domain, config ? config : &cpu_time) != 0)
        abort();
    return rig;
}

void attribution_rig_tick(struct attribution_rig *rig, double latency_ns, const double *activity,
                          unsigned n, double host)
{
    if (attribution_begin(&rig->domain, latency_ns) != 0)
        return;
    for (unsigned i = 0; i < n; i++)
        attribution_add(&rig->domain, &rig->member[i], activity[i]);
    attribution_rest(&rig->domain, host);
    attribution_end(&rig->domain, &rig->scratch);
}

enum attribution_state attribution_rig_state(const struct attribution_rig *rig, unsigned container)
{
    const struct attribution_slot *slot =
        attribution_candidate(&rig->domain, &rig->member[container]);
    return slot ? slot->state : ATTRIBUTION_UNKNOWN;
}

double attribution_rig_beta(const struct attribution_rig *rig, unsigned container)
{
    const struct attribution_member *m = &rig->member[container];
    return attribution_candidate(&rig->domain, m) ? rig->domain.beta[m->slot] : 0;
}

double rig_uniform(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return (double)((*seed * 2685821657736338717ull) >> 11) / 9007199254740992.0;
}

double rig_normal(uint64_t *seed)
{
    double radius = sqrt(-2 * log(1 - rig_uniform(seed)));
    return radius * cos(2 * 3.14159265358979323846 * rig_uniform(seed));
}

double synthetic_node_truth(const struct synthetic_node *node)
{
    double sum = 0;
    for (unsigned i = 0; i < node->hogs; i++)
        sum += node->effect * node->activity[i];
    return sum;
}

/* On and off, for some tens of seconds each. */
static bool switches(struct synthetic_node *node, unsigned i)
{
    if (node->second >= node->until[i]) {
        node->on[i] = node->second > 0 && !node->on[i];
        node->until[i] = node->second + 15 + (unsigned)(60 * rig_uniform(&node->seed));
    }
    return node->on[i];
}

/* The work is given; how long it takes follows the latency. The activities of hogs are known. */
static double waiter(struct synthetic_node *node, unsigned i)
{
    double rise = exp(node->outside + synthetic_node_truth(node)) - 1;
    node->own_load[i] +=
        0.02 * (10 * node->load_varies * rig_normal(&node->seed) - node->own_load[i]);
    return 2 * (1 + 0.8 * rise) * exp(node->own_load[i]) * (1 + 0.03 * rig_normal(&node->seed));
}

static double bystander(struct synthetic_node *node, unsigned i)
{
    unsigned first_waiter = node->hogs + node->decoys;
    if (i >= first_waiter && i < first_waiter + node->waiters)
        return waiter(node, i);
    double s = node->strength[i], jitter = 1 + 0.05 * rig_normal(&node->seed);
    if (i < node->hogs + node->decoys) {
        if (rig_uniform(&node->seed) < 0.02) /* once in a while it does as it likes */
            node->on[i] = rig_uniform(&node->seed) < 0.15;
        return (node->on[0] != node->on[i] ? 1 : 0) * jitter;
    }
    if (i % 3 == 0)
        return s * node->load * jitter;
    if (i % 3 == 1)
        return switches(node, i) ? s * jitter : 0;
    return s * jitter;
}

static double hog(struct synthetic_node *node, unsigned i)
{
    double jitter = 1 + 0.05 * rig_normal(&node->seed);
    bool on = node->together && i > 0 ? node->on[0] : switches(node, i);
    return on || node->always_on ? jitter : 0;
}

double synthetic_node_next(struct synthetic_node *node)
{
    if (node->second == 0) {
        node->level = log(150);
        node->load = 0.5;
        for (unsigned i = 0; i < node->containers; i++)
            node->strength[i] = 0.1 + 0.9 * rig_uniform(&node->seed);
    }
    node->level += 0.001 * rig_normal(&node->seed);
    node->load = fmax(0, node->load + 0.02 * (0.5 - node->load) + 0.04 * rig_normal(&node->seed));
    if (node->steps && node->second % node->steps == node->steps - 1)
        node->outside = node->outside > 0 ? 0 : 0.05 + 0.25 * rig_uniform(&node->seed);
    for (unsigned i = 0; i < node->containers; i++)
        node->activity[i] = fmax(0, i < node->hogs ? hog(node, i) : bystander(node, i));
    node->second++;
    return exp(node->level + node->outside + synthetic_node_truth(node) +
               node->noise * rig_normal(&node->seed));
}

static bool hurts(const struct synthetic_node *node, unsigned i)
{
    return i < node->hogs && node->effect * node->activity[i] >= 0.05;
}

static void count(const struct attribution_rig *rig, const struct synthetic_node *node,
                  struct synthetic_tally *tally)
{
    bool hurting = false, named = false, grouped = false, wrong = false;
    bool explained[ATTRIBUTION_GROUPS + 1] = {false};
    double best = 0, total = synthetic_node_truth(node);
    unsigned top = RIG_CONTAINERS;
    for (unsigned i = 0; i < node->containers; i++) {
        const struct attribution_slot *slot = attribution_candidate(&rig->domain, &rig->member[i]);
        bool hog_hurts = hurts(node, i);
        hurting |= hog_hurts;
        if (!slot)
            continue;
        if (slot->score > best) {
            best = slot->score;
            top = i;
        }
        wrong |= slot->state == ATTRIBUTION_NAMED && i >= node->hogs;
        explained[slot->group] |= i < node->hogs;
        grouped |= hog_hurts && slot->group > 0;
        if (!hog_hurts || slot->state != ATTRIBUTION_NAMED)
            continue;
        named = true;
        tally->caused_ns += slot->caused_ns;
        tally->true_ns += node->effect * node->activity[i] *
                          attribution_per_effect(exp(node->level + node->outside + total), total);
    }
    for (unsigned g = 1; g <= rig->domain.n_groups; g++)
        wrong |= !explained[g];
    tally->ticks++;
    tally->hurting += hurting;
    tally->named += named;
    tally->grouped += named || grouped;
    tally->top += hurting && hurts(node, top);
    tally->wrong += wrong;
}

void synthetic_run(struct attribution_rig *rig, struct synthetic_node *node, unsigned seconds,
                   struct synthetic_tally *tally)
{
    for (unsigned i = 0; i < seconds; i++) {
        double latency_ns = synthetic_node_next(node);
        attribution_rig_tick(rig, latency_ns, node->activity, node->containers, NAN);
        if (i >= ATTRIBUTION_LEARNING)
            count(rig, node, tally);
    }
}
