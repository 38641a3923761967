/*
 * Who gets no CPU for a while.
 *
 *     the scenario's pauses   its threads start no access; if asleep, time and cycles stand still
 *     the caller, the quota   its threads have no CPU: they are halted, and time stands still
 *
 * A quota is what the kernel's is: in each period, a tenth of a tick, a container's threads may use
 * so many CPUs' worth of time together. As all of them run, each runs for its share of it from the
 * period's start.
 */
#include <errno.h>
#include <math.h>

#include "tests/simnode/model/sim.h"

enum { STOPPED_BY_CALLER = 1, STOPPED_BY_QUOTA = 2, PERIODS_OF_A_TICK = 10 };

/* Time and cycles stand still for it, or go on. */
static void sleep_or_wake(struct simnode *node, size_t index, bool asleep)
{
    struct app *app = &node->apps[index];

    if (app->asleep == asleep)
        return;
    app->asleep = asleep;
    if (!asleep)
        app->slept_fs += node->now_fs - app->asleep_fs;
    app->asleep_fs = node->now_fs;
    for (size_t i = 0; i < node->n_cores; i++) {
        struct core *core = &node->cores[i];

        if (core->container != index)
            continue;
        if (!asleep)
            core->slept_cycles += core_cycle_now(core) - core->asleep_cycle;
        core->asleep_cycle = core_cycle_now(core);
    }
}

static size_t index_of(const struct simnode *node, const struct app *app)
{
    return (size_t)(app - node->apps);
}

static void halt_or_continue(struct simnode *node, size_t index)
{
    struct app *app = &node->apps[index];

    sleep_or_wake(node, index, app->stopped_by || app->sleeps_by_scenario);
    for (size_t i = 0; i < node->n_cores; i++) {
        struct core *core = &node->cores[i];

        if (core->container != index || core->halted == (app->stopped_by != 0))
            continue;
        if (app->stopped_by)
            core_halt(core);
        else
            core_continue(core);
    }
}

static void stop_or_go(struct simnode *node, struct app *app, unsigned by, bool stop)
{
    unsigned before = app->stopped_by;

    app->stopped_by = stop ? before | by : before & ~by;
    if (app->running && before != app->stopped_by)
        halt_or_continue(node, index_of(node, app));
}

/* --- the scenario's pauses --- */

void stops_begin_tick(struct simnode *node, size_t index, int64_t tick)
{
    const struct container_spec *container = &node->scenario->containers[index];
    const struct pause_spec *spec = container_pause(container, tick);
    struct app *app = &node->apps[index];
    bool pause = spec != NULL;

    if (!container->n_pauses)
        return;
    app->sleeps_by_scenario = pause && spec->asleep;
    sleep_or_wake(node, index, app->stopped_by || app->sleeps_by_scenario);
    for (size_t i = 0; i < node->n_cores; i++) {
        struct core *core = &node->cores[i];

        if (core->container != index || core->paused == pause)
            continue;
        if (pause)
            core_pause(core);
        else
            core_resume(core);
    }
}

/* --- quotas --- */

/* The first period that begins now or later. */
static uint64_t next_period_fs(const struct simnode *node, uint64_t from_fs)
{
    uint64_t tick_fs = (uint64_t)node->scenario->tick_cycles * node->period_fs;
    uint64_t start_fs = from_fs / tick_fs * tick_fs;

    for (uint64_t n = 0; n < PERIODS_OF_A_TICK; n++) {
        uint64_t at_fs = start_fs + (uint64_t)((unsigned __int128)tick_fs * n / PERIODS_OF_A_TICK);

        if (at_fs >= from_fs)
            return at_fs;
    }
    return start_fs + tick_fs;
}

static double share_of(const struct app *app)
{
    return app->quota_cores / (double)app->spec->n_cpus;
}

static void expect_period(struct simnode *node, struct app *app, uint64_t from_fs)
{
    if (app->quota_period_fs != SIM_NEVER)
        return;
    app->quota_period_fs = next_period_fs(node, from_fs);
    sim_schedule(node, app->quota_period_fs, EVENT_QUOTA_PERIOD, app);
}

void stops_quota_period(struct simnode *node, struct app *app)
{
    double share = share_of(app);

    if (node->now_fs != app->quota_period_fs)
        return; /* of an earlier start */
    app->quota_period_fs = app->quota_spent_fs = SIM_NEVER;
    if (!app->running)
        return;
    stop_or_go(node, app, STOPPED_BY_QUOTA, false);
    if (share >= 1)
        return;
    expect_period(node, app, node->now_fs + 1);
    app->quota_spent_fs =
        node->now_fs + (uint64_t)(share * (double)(app->quota_period_fs - node->now_fs));
    sim_schedule(node, app->quota_spent_fs, EVENT_QUOTA_SPENT, app);
}

void stops_quota_spent(struct simnode *node, struct app *app)
{
    if (node->now_fs == app->quota_spent_fs)
        stop_or_go(node, app, STOPPED_BY_QUOTA, true);
}

int simnode_set_quota(struct simnode *node, size_t container, double cores)
{
    struct app *app = &node->apps[container];

    /* Shadow clocks would take the time without a CPU for a delay by neighbours. */
    if (!(cores > 0) || app->ats.ways)
        return -EINVAL;
    app->quota_cores = cores;
    if (app->running && (share_of(app) < 1 || app->stopped_by & STOPPED_BY_QUOTA))
        expect_period(node, app, node->now_fs);
    return node->failed;
}

int simnode_set_paused(struct simnode *node, size_t container, bool paused)
{
    if (node->apps[container].ats.ways)
        return -EINVAL;
    stop_or_go(node, &node->apps[container], STOPPED_BY_CALLER, paused);
    return node->failed;
}

/* --- its life --- */

void stops_start(struct simnode *node, size_t index)
{
    struct app *app = &node->apps[index];

    if (app->stopped_by)
        halt_or_continue(node, index);
    if (share_of(app) < 1)
        expect_period(node, app, node->now_fs);
}

/* What it retired stays; time went on until now only if it was awake. */
void stops_finish(struct simnode *node, size_t index)
{
    sleep_or_wake(node, index, false);
}
