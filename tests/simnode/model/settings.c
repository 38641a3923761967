/* What is changed while the node runs: by the caller, and by the scenario's actions. */
#include <errno.h>
#include <math.h>

#include "tests/simnode/model/sim.h"

/* A class may use its percentage of what a socket's channels move at most. */
uint64_t settings_mba_gap_fs(const struct machine_spec *machine, double percent)
{
    double line_seconds = (double)machine->dram.timing.burst / machine->dram.clock_hz;

    if (percent >= 100)
        return 0;
    return (uint64_t)(line_seconds / (double)machine->channels / (percent / 100) *
                      (double)FS_PER_SECOND);
}

int simnode_set_ways(struct simnode *node, size_t container, uint32_t mask)
{
    if (mask == 0 || mask >> (node->machine->llc.ways - 1) >> 1)
        return -EINVAL;
    node->apps[container].llc_ways = mask;
    return 0;
}

int simnode_set_mba(struct simnode *node, size_t container, double percent)
{
    struct app *app = &node->apps[container];

    if (!(percent > 0) || percent > 100)
        return -EINVAL;
    app->mba_gap_fs = settings_mba_gap_fs(node->machine, percent);
    app->class_index = node->scenario->n_classes + 1 + container;
    return 0;
}

int simnode_set_epoch_weight(struct simnode *node, size_t container, double weight)
{
    if (!(weight >= 0) || !isfinite(weight) || !node->scenario->epoch_cycles)
        return -EINVAL;
    node->apps[container].epoch_weight = weight;
    node->epochs_by_weight = true;
    return 0;
}

static int apply(struct simnode *node, const struct action_spec *action)
{
    switch (action->kind) {
    case ACTION_LLC_WAYS:
        return simnode_set_ways(node, action->container, action->ways);
    case ACTION_MBA_PERCENT:
        return simnode_set_mba(node, action->container, action->value);
    case ACTION_QUOTA_CORES:
        return simnode_set_quota(node, action->container, action->value);
    case ACTION_EPOCH_WEIGHT:
        return simnode_set_epoch_weight(node, action->container, action->value);
    }
    return -EINVAL;
}

void settings_begin_tick(struct simnode *node, int64_t tick)
{
    const struct scenario *scenario = node->scenario;

    for (size_t i = 0; i < scenario->n_actions; i++) {
        int err = scenario->actions[i].tick == tick ? apply(node, &scenario->actions[i]) : 0;

        if (err && !node->failed)
            node->failed = err;
    }
}
