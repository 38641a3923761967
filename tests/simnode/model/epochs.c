/*
 * Epochs: in each, one application's requests have the highest priority at every controller, and
 * what the Application Slowdown Model needs is counted for it (FORMULAS.md section 3).
 *
 * Hit and miss times are cycles with at least one such access outstanding, from its lookup on. A
 * queueing cycle is one in which a read of the epoch's application is at a controller whose last
 * command was another application's; with several channels, one of them suffices.
 */
#include <string.h>

#include "tests/simnode/model/sim.h"

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

void epochs_progress(struct simnode *node, int index, uint64_t out[SIMNODE_PROGRESS])
{
    const struct app *app = &node->apps[index];

    memset(out, 0, SIMNODE_PROGRESS * sizeof(*out));
    for (size_t i = 0; i < node->n_cores; i++) {
        struct core *core = &node->cores[i];

        if ((int)core->container != index)
            continue;
        out[PROGRESS_INSTRUCTIONS] += core_retired(core);
        for (int s = 0; s < core->n_shadows; s++)
            out[PROGRESS_SHADOW + s] += shadow_cycles(core, s);
        out[PROGRESS_STALLS] += core->stall_slots / (uint64_t)core->width;
        out[PROGRESS_CONTENTION_STALLS] += core->contention_stall_slots / (uint64_t)core->width;
    }
    out[PROGRESS_MEMORY_TIME] = app->extra.memory_fs / node->period_fs;
    out[PROGRESS_MEMORY_READS] = app->extra.memory_reads;
    out[PROGRESS_PREFETCHES] = app->extra.prefetches;
}

static void add_progress(struct simnode *node)
{
    struct app *app = app_of(node, node->epoch_app);
    uint64_t now[SIMNODE_PROGRESS];

    if (!app)
        return;
    epochs_progress(node, node->epoch_app, now);
    for (int i = 0; i < SIMNODE_PROGRESS; i++) {
        app->extra.progress_in_epochs[i] += now[i] - app->at_epoch[i];
        app->at_epoch[i] = now[i];
    }
}

void epochs_flush(struct simnode *node)
{
    struct app *app = app_of(node, node->epoch_app);
    uint64_t hit_fs = node->epoch_hit_fs, miss_fs = node->epoch_miss_fs;
    uint64_t queueing_fs = node->epoch_queueing_fs;

    if (!app)
        return;
    snapshot(node);
    add_progress(node);
    app->hit_fs += node->epoch_hit_fs - hit_fs;
    app->miss_fs += node->epoch_miss_fs - miss_fs;
    app->queueing_fs += node->epoch_queueing_fs - queueing_fs;
}

/* Draws by the weights that were set. */
static int choose_by_weight(struct simnode *node)
{
    double sum = 0, at;

    for (size_t i = 0; i < node->n_apps; i++)
        sum += node->apps[i].running ? node->apps[i].epoch_weight : 0;
    at = (double)(rng_next(&node->rng) >> 11) * 0x1p-53 * sum;
    for (size_t i = 0; i < node->n_apps; i++) {
        if (!node->apps[i].running || node->apps[i].epoch_weight <= 0)
            continue;
        if (at < node->apps[i].epoch_weight)
            return (int)i;
        at -= node->apps[i].epoch_weight;
    }
    return -1;
}

static int choose(struct simnode *node)
{
    size_t running = 0;

    if (node->epochs_by_weight)
        return choose_by_weight(node);

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
    memory_prioritise(node, next);
    node->epoch_app = next;
    node->epoch_start_fs = node->now_fs;
    if (next >= 0) {
        node->apps[next].epoch_count++;
        epochs_progress(node, next, node->apps[next].at_epoch);
    }
    snapshot(node);
}
