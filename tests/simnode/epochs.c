/*
 * Epochs: in each, one application's requests have the highest priority at every controller, and
 * what the Application Slowdown Model needs is counted for it (FORMULAS.md section 3).
 *
 * Hit and miss times are cycles with at least one such access outstanding, from its lookup on. A
 * queueing cycle is one in which a read of the epoch's application is at a controller whose last
 * command was another application's; with several channels, one of them suffices.
 */
#include "tests/simnode/sim.h"

static void snapshot(struct simnode *node)
{
    struct app *app = app_of(node, node->epoch_app);

    if (!app)
        return;
    integral_sync(&app->hits_out, node->now_fs);
    integral_sync(&app->misses_out, node->now_fs);
    integral_sync(&node->queueing, node->now_fs);
    node->epoch_hit_fs = app->hits_out.active_fs;
    node->epoch_miss_fs = app->misses_out.active_fs;
    node->epoch_queueing_fs = node->queueing.active_fs;
}

void epochs_flush(struct simnode *node)
{
    struct app *app = app_of(node, node->epoch_app);
    uint64_t hit_fs = node->epoch_hit_fs, miss_fs = node->epoch_miss_fs;
    uint64_t queueing_fs = node->epoch_queueing_fs;

    if (!app)
        return;
    snapshot(node);
    app->hit_fs += node->epoch_hit_fs - hit_fs;
    app->miss_fs += node->epoch_miss_fs - miss_fs;
    app->queueing_fs += node->epoch_queueing_fs - queueing_fs;
}

static uint64_t instructions_of(struct simnode *node, int app)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < node->n_cores; i++)
        if ((int)node->cores[i].container == app)
            sum += core_retired(&node->cores[i]);
    return sum;
}

static int choose(struct simnode *node)
{
    size_t running = 0;

    for (size_t i = 0; i < node->n_apps; i++)
        running += node->apps[i].running;
    if (running == 0)
        return -1;

    size_t nth = node->scenario->epoch_order == EPOCHS_RANDOM ? rng_below(&node->rng, running)
                                                              : node->epoch_turn++ % running;

    for (size_t i = 0; i < node->n_apps; i++)
        if (node->apps[i].running && nth-- == 0)
            return (int)i;
    return -1;
}

void epochs_begin(struct simnode *node)
{
    int next = choose(node);

    epochs_flush(node);
    if (node->epoch_app >= 0) {
        struct app *app = &node->apps[node->epoch_app];

        app->extra.instructions_in_epochs +=
            instructions_of(node, node->epoch_app) - app->instructions_at_epoch;
    }
    memory_prioritise(node, next);
    node->epoch_app = next;
    if (next >= 0) {
        node->apps[next].epoch_count++;
        node->apps[next].instructions_at_epoch = instructions_of(node, next);
    }
    snapshot(node);
}
