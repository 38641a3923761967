/*
 * Slowdowns by measuring (control/control_billing.h, control_epoch_slowdown): now and then all of
 * best effort is held at its least ways and bandwidth for two ticks, the first to warm up, and
 * in the second one protected container is read, in turn. "Alone" is: alone among those that are
 * never held, the protected ones among them.
 *
 * Nobody is held for nothing: an epoch does not begin while somebody of best effort could not be
 * held, or not all of them at once within the node's limits. All are held in the same tick, for
 * the next one is the warm-up.
 *
 * No estimate: somebody was not held after all, another policy changed something meanwhile, the
 * cache was still being filled, or the formula says so. Shown is the median of the last five.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/governor/decide/control/control_billing.h"
#include "exporter/governor/decide/policies/policy.h"

enum {
    EPOCH_TICKS = 2,
    ESTIMATES = 5,
    STALE_ROUNDS = 4, /* without an estimate: what is shown is too old */
    SURVEY_OBSTACLE_MAX = 512
};

/* Between two epochs of a container, in seconds and cuts: the guard allows so many cuts in ten
 * minutes, and an epoch is one. */
static const double cut_seconds = 800;

struct counters {
    double reads, cycles, reference_cycles, seconds;
    double misses; /* of the reads; NaN: not known */
};

static const struct counters no_counters = {NAN, NAN, NAN, NAN, NAN};

/* A protected container. */
struct app {
    char path[CLAIM_PATH_MAX];
    char name[CLAIM_NAME_MAX]; /* namespace/pod/container */
    bool seen;
    struct counters now;                    /* as counted; seconds is the tick's */
    struct counters window, warm;           /* since the last tick, and the one before it */
    struct counters shared;                 /* outside of epochs, since its last one */
    double estimates[ESTIMATES], estimated; /* when, seconds */
    unsigned n_estimates;
    struct policy_slowdown shown;
};

enum phase {
    PHASE_SHARED, /* nobody is held */
    PHASE_WARM,   /* held since the last tick */
    PHASE_ALONE   /* the window that ends now is the epoch's */
};

struct epochs_policy {
    const struct config *config;
    struct app *apps; /* CLAIMS_MAX */
    struct policy_slowdown *shown;
    size_t n, n_shown, turn;
    enum phase phase;
    char target[CLAIM_PATH_MAX];
    char target_name[CLAIM_NAME_MAX]; /* wishes point at it */
    double next, period;              /* seconds */
    uint64_t changes;                 /* of other policies, when the epoch began */
    unsigned knobs;                   /* that were held then: one bit for each */
    bool active;
    char obstacle[SURVEY_OBSTACLE_MAX]; /* to an epoch; "": none */
};

static void release(void *self)
{
    struct epochs_policy *policy = self;
    free(policy->apps);
    free(policy->shown);
    free(policy);
}

static int init(const struct config *config, void **self)
{
    struct epochs_policy *policy = calloc(1, sizeof *policy);
    if (!policy)
        return -ENOMEM;
    policy->config = config;
    policy->apps = calloc(CLAIMS_MAX, sizeof *policy->apps);
    policy->shown = calloc(CLAIMS_MAX, sizeof *policy->shown);
    if (policy->apps && policy->shown) {
        *self = policy;
        return 0;
    }
    release(policy);
    return -ENOMEM;
}

/* ---- protected containers ---- */

static struct app *app_of(struct epochs_policy *policy, const struct view_container *container)
{
    for (size_t i = 0; i < policy->n; i++)
        if (strcmp(policy->apps[i].path, container->path) == 0)
            return &policy->apps[i];
    if (policy->n == CLAIMS_MAX || strlen(container->path) >= CLAIM_PATH_MAX)
        return NULL;
    struct app *app = &policy->apps[policy->n++];
    *app = (struct app){.now = no_counters};
    strcpy(app->path, container->path);
    view_name(container, app->name);
    snprintf(app->shown.namespace_, sizeof app->shown.namespace_, "%s", container->namespace_);
    snprintf(app->shown.pod, sizeof app->shown.pod, "%s", container->pod);
    snprintf(app->shown.container, sizeof app->shown.container, "%s", container->container);
    snprintf(app->shown.container_id, sizeof app->shown.container_id, "%s",
             container->container_id);
    return app;
}

/* What one of them had before, or NaN where a counter is not known or began anew, is no window. */
static struct counters since(const struct counters *before, const struct counters *now)
{
    bool whole = now->reads >= before->reads && now->cycles >= before->cycles &&
                 now->reference_cycles >= before->reference_cycles;
    return whole ? (struct counters){now->reads - before->reads, now->cycles - before->cycles,
                                     now->reference_cycles - before->reference_cycles,
                                     now->seconds - before->seconds,
                                     view_grown(before->misses, now->misses)}
                 : no_counters;
}

static void count(struct app *app, const struct view_container *container, double now, bool outside)
{
    const struct counters counted = {container->llc_reads, container->cycles,
                                     container->reference_cycles, now, container->memory_reads};
    app->seen = true;
    app->warm = app->window;
    app->window = since(&app->now, &counted);
    app->now = counted;
    if (!outside || isnan(app->window.reads))
        return;
    app->shared.reads += app->window.reads;
    app->shared.cycles += app->window.cycles;
    app->shared.reference_cycles += app->window.reference_cycles;
    app->shared.seconds += app->window.seconds;
    app->shared.misses += app->window.misses;
}

static void look(struct epochs_policy *policy, const struct policy_tick *tick)
{
    for (size_t i = 0; i < policy->n; i++)
        policy->apps[i].seen = false;
    for (size_t i = 0; i < tick->n; i++) {
        const struct governed *governed = &tick->governed[i];
        struct app *app = config_is_protected(policy->config, governed->class)
                              ? app_of(policy, governed->container)
                              : NULL;
        if (app)
            count(app, governed->container, tick->now, policy->phase == PHASE_SHARED);
    }
    for (size_t i = policy->n; i-- > 0;)
        if (!policy->apps[i].seen)
            policy->apps[i] = policy->apps[--policy->n];
}

static double median(const double *values, size_t n)
{
    double sorted[ESTIMATES];
    for (size_t i = 0; i < n; i++) {
        size_t j = i;
        for (; j > 0 && sorted[j - 1] > values[i]; j--)
            sorted[j] = sorted[j - 1];
        sorted[j] = values[i];
    }
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* The epoch's window is over. */
static void estimate(struct app *app, double now)
{
    const struct counters *alone = &app->window, *shared = &app->shared, *warm = &app->warm;
    const struct control_epoch epoch = {.alone_reads = alone->reads,
                                        .alone_cycles = alone->cycles,
                                        .shared_reads = shared->reads,
                                        .shared_cycles = shared->cycles,
                                        .alone_cpus = alone->reference_cycles / alone->seconds,
                                        .shared_cpus = shared->reference_cycles / shared->seconds,
                                        .alone_misses = alone->misses,
                                        .shared_misses = shared->misses,
                                        .warm_reads = warm->reads,
                                        .warm_misses = warm->misses};
    double slowdown;
    if (control_epoch_slowdown(&epoch, &slowdown) && !control_epoch_refills(&epoch)) {
        app->estimates[app->n_estimates++ % ESTIMATES] = slowdown;
        app->estimated = now;
        size_t n = app->n_estimates < ESTIMATES ? app->n_estimates : ESTIMATES;
        app->shown.slowdown = median(app->estimates, n);
    }
    app->shared = (struct counters){.reads = 0};
}

/* ---- best effort ---- */

/* Of the settings that are this policy's. */
struct survey {
    size_t n_held, n_free; /* at their least, and not */
    unsigned knobs;        /* of both: one bit for each */
    /* One that cannot be turned down now, or of which nobody knows what it is; NULL: none. */
    const struct holding *stuck;
    const char *why; /* that is so */
};

static bool has_nothing(const struct holding *holding, unsigned knobs)
{
    return holding->why == -ERANGE || holding->why == -ENOENT ||
           (holding->why == -ENODEV && !(knobs >> holding->claim.knob & 1));
}

static void look_at(struct survey *survey, const struct enforcer *enforcer,
                    const struct holding *holding)
{
    survey->knobs |= 1u << holding->claim.knob;
    if (holding->claim.value == holding->claim.least && !holding->unsure) {
        survey->n_held++;
        return;
    }
    survey->n_free++;
    enum guard_verdict verdict = enforcer_would(enforcer, holding);
    if (verdict == GUARD_PASS)
        return;
    survey->stuck = holding;
    survey->why = guard_verdict_names[verdict];
}

/*
 * What has nothing to take, or nobody in it, is not counted; nor is what this machine has not: it
 * is stuck only if it was among 'knobs', which were held before.
 */
static void survey_take(struct survey *survey, const struct policy_tick *tick, unsigned knobs)
{
    *survey = (struct survey){.n_held = 0};
    for (size_t i = 0; i < tick->n; i++)
        for (int knob = 0; knob < KNOB_COUNT; knob++) {
            const struct holding *holding = tick->governed[i].holdings[knob];
            if (!holding || holding->policy != POLICY_EPOCHS)
                continue;
            if (holding->known) {
                look_at(survey, tick->enforcer, holding);
            } else if (!has_nothing(holding, knobs)) {
                survey->stuck = holding;
                survey->why = strerror(-holding->why);
            }
        }
}

/* Why not all can be held in one tick; "": they can, as far as that is known. */
static void survey_obstacle(const struct survey *survey, const struct room *room,
                            char out[SURVEY_OBSTACLE_MAX])
{
    out[0] = '\0';
    if (survey->stuck)
        snprintf(out, SURVEY_OBSTACLE_MAX, "the %s of %s cannot be held: %s",
                 knob_name(survey->stuck->claim.knob), survey->stuck->claim.container, survey->why);
    else if (survey->n_free > room->claims || survey->n_free > room->most_writes)
        snprintf(out, SURVEY_OBSTACLE_MAX,
                 "%zu settings are to be held in one tick: limits.claims leaves %zu, "
                 "limits.writes_per_second %zu",
                 survey->n_free, room->claims, room->most_writes);
}

static struct holding *holding_of(const struct governed *governed, enum knob knob)
{
    struct holding *holding = governed->holdings[knob];
    return holding && holding->policy == POLICY_EPOCHS && holding->known ? holding : NULL;
}

static void hold(const struct epochs_policy *policy, const struct policy_tick *tick)
{
    const struct because because = {.cause = policy->target_name, .measured = NAN, .limit = NAN};
    for (size_t i = 0; i < tick->n; i++)
        for (int knob = 0; knob < KNOB_COUNT; knob++) {
            struct holding *holding = holding_of(&tick->governed[i], (enum knob)knob);
            if (holding)
                enforcer_want(holding, holding->claim.least, &because);
        }
}

static void let_go(const struct policy_tick *tick)
{
    for (size_t i = 0; i < tick->n; i++)
        for (int knob = 0; knob < KNOB_COUNT; knob++) {
            struct holding *holding = holding_of(&tick->governed[i], (enum knob)knob);
            if (holding)
                enforcer_let_go(tick->enforcer, holding, RELEASE_CALM, NULL);
        }
}

/* Changes that other policies have made. */
static uint64_t other_changes(const struct policy_tick *tick)
{
    const struct enforcer_counts *counts = enforcer_counts(tick->enforcer);
    uint64_t n = 0;
    for (int policy = 0; policy < POLICY_KINDS; policy++)
        for (int action = 0; action < ACTIONS && policy != POLICY_EPOCHS; action++)
            n += counts->decisions[policy][action][OUTCOME_APPLIED] +
                 counts->decisions[policy][action][OUTCOME_DRY_RUN];
    return n;
}

/* ---- the whole ---- */

static void put_off(struct epochs_policy *policy, const struct policy_tick *tick)
{
    policy->period = fmax(EPOCH_TICKS * tick->interval / policy->config->epochs.share,
                          cut_seconds / policy->config->limits.cuts_per_10m);
    policy->next = tick->now + policy->period;
}

static void begin(struct epochs_policy *policy, const struct policy_tick *tick, unsigned knobs)
{
    put_off(policy, tick);
    policy->phase = PHASE_WARM;
    policy->knobs = knobs;
    policy->changes = other_changes(tick);
    const struct app *app = &policy->apps[policy->turn++ % policy->n];
    strcpy(policy->target, app->path);
    strcpy(policy->target_name, app->name);
    hold(policy, tick);
}

static void end(struct epochs_policy *policy, const struct policy_tick *tick, bool valid)
{
    for (size_t i = 0; i < policy->n && valid; i++)
        if (strcmp(policy->apps[i].path, policy->target) == 0)
            estimate(&policy->apps[i], tick->now);
    policy->phase = PHASE_SHARED;
    policy->knobs = 0;
    let_go(tick);
}

static void show(struct epochs_policy *policy, double now)
{
    double stale = STALE_ROUNDS * policy->period * (double)policy->n;
    policy->n_shown = 0;
    for (size_t i = 0; i < policy->n; i++) {
        const struct app *app = &policy->apps[i];
        if (app->n_estimates > 0 && now - app->estimated <= stale)
            policy->shown[policy->n_shown++] = app->shown;
    }
}

/* Nobody is held; what could not be let go before is. */
static void wait_for_turn(struct epochs_policy *policy, const struct policy_tick *tick,
                          const struct survey *found)
{
    const struct room room = enforcer_room(tick->enforcer);
    survey_obstacle(found, &room, policy->obstacle);
    bool any = policy->n > 0 && found->n_held + found->n_free > 0;
    policy->active = any && !policy->obstacle[0];
    if (policy->active && policy->period == 0) /* the first one has something to compare with */
        put_off(policy, tick);
    if (policy->active && tick->now >= policy->next && found->n_free <= room.writes)
        begin(policy, tick, found->knobs);
    else
        let_go(tick);
}

static void decide(void *self, const struct policy_tick *tick)
{
    struct epochs_policy *policy = self;
    struct survey found;
    survey_take(&found, tick, policy->knobs);
    look(policy, tick);
    bool valid = policy->n > 0 && found.n_held > 0 && found.n_free == 0 && !found.stuck &&
                 other_changes(tick) == policy->changes;
    if (policy->phase == PHASE_SHARED) {
        wait_for_turn(policy, tick, &found);
    } else if (policy->phase == PHASE_WARM && valid) {
        policy->phase = PHASE_ALONE;
        hold(policy, tick);
    } else {
        end(policy, tick, valid);
    }
    show(policy, tick->now);
}

static void report(const void *self, struct policy_report *out)
{
    const struct epochs_policy *policy = self;
    out->active[POLICY_EPOCHS] = policy->active;
    out->obstacle[POLICY_EPOCHS] = policy->obstacle;
    out->slowdowns = policy->shown;
    out->n_slowdowns = policy->n_shown;
}

const struct policy_ops epochs_policy = {
    .init = init,
    .decide = decide,
    .report = report,
    .free = release,
};
