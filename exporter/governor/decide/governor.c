#include "exporter/governor/decide/governor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/governor/decide/policies/calibration.h"
#include "exporter/governor/decide/policies/policy.h"
#include "exporter/governor/see/exemptions.h"

struct governor {
    struct governor_setup setup;
    struct actuator_env env;
    struct actuators actuators;
    struct exemptions exemptions;
    struct journal journal;
    struct restore_counts restored; /* at the start */
    struct enforcer *enforcer;
    struct policies policies;
    struct experiment experiment;
    struct governed *governed;     /* VIEW_CONTAINERS_MAX */
    const struct writers *writers; /* of the view that is taken; NULL: not known */
    struct liveness_config liveness_config;
    struct liveness liveness;
    uint64_t ticks, dead_man[DEAD_REASONS];
    uint64_t now_ns;             /* of the last take */
    struct policy_counts before; /* of policies that were replaced */
    bool paused, letting_go;
    bool acted;              /* in the last take */
    enum release_reason why; /* while letting_go */
    bool said_false;         /* that what is said of a cgroup cannot be */
    bool said_left;          /* what an earlier governor may have left, at the start */
};

/* ---- who may be restricted ---- */

/* What of it may be turned down, and is some policy's. */
static void see_knobs(struct governor *governor, struct governed *governed)
{
    const struct config *config = governor->setup.config;
    const struct view_container *container = governed->container;
    char name[CLAIM_NAME_MAX];
    view_name(container, name);
    for (int knob = 0; knob < KNOB_COUNT; knob++) {
        const struct subject subject = {.container_id = container->container_id,
                                        .name = name,
                                        .path = container->path,
                                        .floor =
                                            config_floor(config, governed->class, (enum knob)knob),
                                        .policy = config->owners[governed->class][knob]};
        if (knob == KNOB_AFFINITY)
            governed->threads = subject.policy; /* it is for their policy to say which */
        else if (subject.policy != POLICY_NONE)
            governed->holdings[knob] = enforcer_see(governor->enforcer, (enum knob)knob, &subject);
    }
}

/* Said once, until nothing of the kind is said any more: by a defect, or by somebody who lies. */
static void tell_false(struct governor *governor, const struct view *view)
{
    const struct view_container *first = NULL;
    for (size_t i = 0; i < view->n && !first; i++)
        if (view->containers[i].namespace_[0] && view->containers[i].path[0] &&
            !exemptions_is_its_own(&governor->exemptions, &view->containers[i], false))
            first = &view->containers[i];
    if (first && !governor->said_false)
        log_warn(governor->setup.log, "governor",
                 "%s/%s/%s cannot be in %s, by that path: it is left alone, whatever is said of it",
                 first->namespace_, first->pod, first->container, first->path);
    governor->said_false = first != NULL;
}

static void classify(struct governor *governor, const struct view_container *container,
                     const struct programs *programs, struct governed *out)
{
    const struct config *config = governor->setup.config;
    bool literal = false;
    *out = (struct governed){.container = container, .threads = POLICY_NONE};
    out->class = config_class_of(config, container->namespace_, container->pod,
                                 container->container, container->qos_class, &literal);
    out->why_exempt = exemptions_why(&governor->exemptions, container, programs, literal);
    out->exempt = out->why_exempt != NULL;
    out->owner = config->threshold.experiment ? view_owner(container) : 0;
    const struct experiment_result *tried =
        experiment_last_of(&governor->experiment, out->owner, governor->now_ns);
    out->confirmed = tried && tried->verdict == EXPERIMENT_CONFIRMED;
    if (out->class != CLASS_NONE && !config_is_protected(config, out->class) && !out->exempt &&
        exemptions_same_cgroup(&governor->exemptions, container))
        see_knobs(governor, out);
}

static void classify_all(struct governor *governor, const struct view *view)
{
    const struct programs programs = exemptions_programs(&governor->exemptions, view);
    for (size_t i = 0; i < view->n; i++)
        classify(governor, &view->containers[i], &programs, &governor->governed[i]);
    tell_false(governor, view);
    if (!governor->said_left)
        enforcer_tell_left(governor->enforcer, governor->setup.log);
    governor->said_left = true;
}

/* The container is there, and no policy has that knob of it any more. The exporter goes on to list
 * for a while who has ended. */
static bool is_unmanaged(const struct governor *governor, const struct view *view,
                         const struct holding *holding)
{
    for (size_t i = 0; i < view->n; i++) {
        const struct governed *governed = &governor->governed[i];
        if (strcmp(governed->container->path, holding->claim.path) == 0)
            return exemptions_same_cgroup(&governor->exemptions, governed->container) &&
                   (!holding->claim.tid || governed->threads == POLICY_NONE);
    }
    return false;
}

/* All others that were not seen have ended. */
static void let_go_unmanaged(struct governor *governor, const struct view *view)
{
    struct holding *holding = NULL;
    while ((holding = enforcer_unseen(governor->enforcer, holding)))
        if (is_unmanaged(governor, view, holding))
            enforcer_let_go(governor->enforcer, holding, RELEASE_UNMANAGED, NULL);
}

/* ---- experiments ---- */

static struct experiment_turn turn_of(struct governor *governor, size_t n, uint64_t now_ns,
                                      uint64_t wall_ns)
{
    struct policy_report report = {.tries = false};
    policies_report(&governor->policies, &report);
    return (struct experiment_turn){.experiment = &governor->experiment,
                                    .enforcer = governor->enforcer,
                                    .governed = governor->governed,
                                    .n = n,
                                    .sure = governor->setup.config->threshold.sure,
                                    .waiting = report.tries,
                                    .log = governor->setup.log,
                                    .now_ns = now_ns,
                                    .wall_ns = wall_ns};
}

void governor_experiment(struct governor *governor, const struct view *view,
                         const struct experiment_meter *meter, uint64_t wall_ns)
{
    bool acts = governor->acted && view;
    const struct experiment_turn turn =
        turn_of(governor, acts ? view->n : 0, meter->now_ns(meter->context), wall_ns);
    experiment_give_back(&turn, turn.now_ns); /* what could not be at once, view or none */
    if (governor->paused || governor->letting_go || governor->liveness.dead) {
        experiment_abandon(&turn);
    } else if (acts && governor->setup.enforce && governor->setup.config->threshold.experiment &&
               view_is_counted(view)) {
        experiment_turn(&turn, meter);
    } else if (acts) {
        experiment_abandon(&turn);
    }
}

/* ---- ticks ---- */

static void act(struct governor *governor, const struct view *view, uint64_t now_ns,
                uint64_t wall_ns)
{
    struct policy_report report = {.tries = false};
    governor->ticks++;
    enforcer_begin(governor->enforcer, view->tick, now_ns, wall_ns);
    classify_all(governor, view);
    const struct experiment_turn turn = turn_of(governor, view->n, now_ns, wall_ns);
    experiment_give_back(&turn, now_ns);
    const struct policy_tick tick = {.enforcer = governor->enforcer,
                                     .governed = governor->governed,
                                     .n = view->n,
                                     .now = (double)view->monotonic_ns * 1e-9,
                                     .interval = (double)view->interval_ns * 1e-9,
                                     .base_hz = view->base_hz,
                                     .writers = governor->writers};
    policies_decide(&governor->policies, &tick);
    policies_report(&governor->policies, &report);
    calibration_tell(report.calibrations, report.n_calibrations, governor->setup.log);
    policies_tell(&governor->policies, governor->setup.log);
    let_go_unmanaged(governor, view);
    enforcer_commit(governor->enforcer);
}

const struct governed *governor_list(struct governor *governor, const struct view *view)
{
    enforcer_begin(governor->enforcer, view->tick, 0, 0);
    classify_all(governor, view);
    return governor->governed;
}

/* Again and again until it has worked. */
static void let_go(struct governor *governor, uint64_t wall_ns)
{
    if (governor->letting_go)
        governor->letting_go =
            enforcer_release_all(governor->enforcer, governor->why, governor->now_ns, wall_ns) != 0;
}

static void start_letting_go(struct governor *governor, enum release_reason why, uint64_t wall_ns)
{
    governor->letting_go = true;
    governor->why = why;
    let_go(governor, wall_ns);
}

void governor_take(struct governor *governor, const struct view *view, uint64_t now_ns,
                   uint64_t wall_ns)
{
    governor->now_ns = now_ns;
    let_go(governor, wall_ns);
    enum liveness_verdict verdict =
        liveness_judge(&governor->liveness, &governor->liveness_config, view, now_ns);
    if (verdict == LIVENESS_DIED) {
        enum dead_reason reason = governor->liveness.reason;
        governor->dead_man[reason]++;
        log_warn(governor->setup.log, "governor",
                 "everything is let go: the exporter's data is not to be acted on (%s)",
                 dead_reason_names[reason]);
        start_letting_go(governor, RELEASE_DEAD_MAN, wall_ns);
    }
    governor->acted = verdict == LIVENESS_ACT && !governor->paused && !governor->letting_go;
    if (governor->acted)
        act(governor, view, now_ns, wall_ns);
    governor->writers = NULL;
}

void governor_take_writers(struct governor *governor, const struct writers *writers)
{
    governor->writers = writers;
}

void governor_pause(struct governor *governor, bool paused, uint64_t wall_ns)
{
    if (paused == governor->paused)
        return;
    governor->paused = paused;
    log_info(governor->setup.log, "governor", "%s", paused ? "paused" : "goes on");
    if (paused)
        start_letting_go(governor, RELEASE_PAUSED, wall_ns);
}

int governor_stop(struct governor *governor, uint64_t wall_ns)
{
    return enforcer_release_all(governor->enforcer, RELEASE_STOP, governor->now_ns, wall_ns);
}

/* ---- making ---- */

/* What threads are kept on. */
static const cpu_set_t *cpus_of(const struct config *config)
{
    return config->enabled[POLICY_NVMM_CORES] ? &config->nvmm.cpus : NULL;
}

int governor_reload(struct governor *governor, const struct config *config, char *error,
                    size_t error_size)
{
    const struct config *before = governor->setup.config;
    struct policies policies;
    struct policy_report report = {.counts = governor->before};
    if (config->enforce != before->enforce ||
        strcmp(config->state_directory, before->state_directory) != 0) {
        snprintf(error, error_size, "mode and state_directory need a restart");
        return -EINVAL;
    }
    if (config->enabled[POLICY_NVMM_CORES] && !before->enabled[POLICY_NVMM_CORES]) {
        snprintf(error, error_size, "to enable nvmm_cores needs a restart");
        return -EINVAL;
    }
    int err = policies_init(&policies, config);
    if (err) {
        snprintf(error, error_size, "out of memory");
        return err;
    }
    policies_inherit(&policies, &governor->policies);
    policies_report(&governor->policies, &report);
    governor->before = report.counts;
    policies_release(&governor->policies);
    governor->policies = policies;
    governor->setup.config = config;
    governor->env.cpus = cpus_of(config);
    governor->env.period_us = config->quota_period_ms * 1000ull;
    governor->liveness_config.stale_ns = config->stale_ns;
    governor->liveness_config.dead_ns = config->dead_ns;
    enforcer_set_limits(governor->enforcer, &config->limits);
    return 0;
}

static int restore_open(struct journal *journal, const struct governor_setup *setup,
                        struct restore_counts *counts)
{
    struct actuators actuators;
    const struct actuator_env env = {
        .fs = setup->fs, .write = setup->write, .open = &journal->open};
    if (journal->incomplete)
        log_warn(setup->log, "governor",
                 "the journal is empty, or its last line is cut: what it told of beyond that stays "
                 "as it is. Look for quotas that nobody has asked for");
    if (setup->actuators) {
        restore_all(journal, setup->actuators, setup->log, counts);
    } else {
        actuators_open(&actuators, &env, setup->log);
        restore_all(journal, &actuators, setup->log, counts);
        actuators_close(&actuators);
    }
    return journal_compact(journal);
}

int governor_restore(const char *state_directory, const struct governor_setup *setup,
                     struct restore_counts *counts, char *error, size_t error_size)
{
    struct journal journal;
    int err =
        journal_open(&journal, state_directory, false, setup->write, setup->fs, error, error_size);
    if (err)
        return err;
    err = restore_open(&journal, setup, counts);
    if (err)
        snprintf(error, error_size, "%s/journal: %s", state_directory, strerror(-err));
    journal_close(&journal);
    return err;
}

int governor_open_journal(const char *state_directory, const struct governor_setup *setup,
                          struct journal *journal, struct restore_counts *counts, char *error,
                          size_t error_size)
{
    int err =
        journal_open(journal, state_directory, true, setup->write, setup->fs, error, error_size);
    if (err)
        return err;
    err = restore_open(journal, setup, counts);
    if (!err && !counts->failed)
        return 0;
    journal_close(journal);
    snprintf(error, error_size, "%s: what an earlier governor left could not be put back%s%s",
             state_directory, err ? ": " : "", err ? strerror(-err) : "");
    return err ? err : -EAGAIN;
}

/* The journal with what was open put back; of a dry run none, and a writer's has been seen to. */
static int open_journal(struct governor *governor, char *error, size_t error_size)
{
    struct governor_setup setup = governor->setup;
    const char *directory = setup.config->state_directory;
    struct restore_counts *counts = &governor->restored;
    if (setup.writer) {
        *counts = *setup.restored;
        if (setup.enforce)
            journal_open_remote(&governor->journal, setup.writer);
        return 0;
    }
    if (!setup.enforce) {
        int err =
            setup.look_only ? 0 : governor_restore(directory, &setup, counts, error, error_size);
        return err == -ENOENT ? 0 : err;
    }
    setup.actuators = &governor->actuators;
    return governor_open_journal(directory, &setup, &governor->journal, counts, error, error_size);
}

static int make_parts(struct governor *governor, char *error, size_t error_size)
{
    const struct governor_setup *setup = &governor->setup;
    struct enforcer_config config = {.dry = !setup->enforce,
                                     .limits = setup->config->limits,
                                     .log = setup->log,
                                     .decided = setup->decided,
                                     .context = setup->context};
    int err = enforcer_new(&config, &governor->journal, &governor->actuators, &governor->enforcer);
    if (!err)
        enforcer_count_restores(governor->enforcer, &governor->restored);
    if (!err)
        err = policies_init(&governor->policies, setup->config);
    governor->governed = calloc(VIEW_CONTAINERS_MAX, sizeof *governor->governed);
    if (!governor->governed)
        err = -ENOMEM;
    if (err)
        snprintf(error, error_size, "%s", strerror(-err));
    return err;
}

static bool is_wanted(const struct config *config, enum knob knob)
{
    bool wanted = false;
    for (size_t i = 0; i < config->n_classes; i++)
        wanted |= config->owners[i][knob] != POLICY_NONE;
    return wanted;
}

/* Of the knobs that policies have, or of all when none has any; what cannot work is said. */
static bool can_do_something(const struct governor *governor)
{
    const struct config *config = governor->setup.config;
    bool any_wanted = false, wanted_works = false, any_works = false;
    for (int knob = 0; knob < KNOB_COUNT; knob++) {
        const struct actuator *actuator = &governor->actuators.of[knob];
        bool wanted = is_wanted(config, (enum knob)knob);
        struct verdict why;
        verdict_clear(&why);
        bool works = actuator->ops &&
                     (!actuator->ops->probe || actuator->ops->probe(actuator->self, &why) == 0);
        if (wanted && why.words[0])
            log_warn(governor->setup.log, "governor", "no actuator %s: %s",
                     knob_name((enum knob)knob), why.words);
        any_wanted |= wanted;
        any_works |= works;
        wanted_works |= wanted && works;
    }
    return any_wanted ? wanted_works : any_works;
}

static int open_actuators(struct governor *governor, char *error, size_t error_size)
{
    const struct governor_setup *setup = &governor->setup;
    if (setup->actuators) {
        governor->actuators = *setup->actuators;
        return 0;
    }
    actuators_open(&governor->actuators, &governor->env, setup->log);
    if (can_do_something(governor))
        return 0;
    snprintf(error, error_size, "no actuator can work here");
    return -ENODEV;
}

int governor_new(const struct governor_setup *setup, uint64_t now_ns, struct governor **out,
                 char *error, size_t error_size)
{
    struct governor *governor = calloc(1, sizeof *governor);
    if (!governor) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    governor->setup = *setup;
    governor->env = (struct actuator_env){.fs = setup->fs,
                                          .write = setup->write,
                                          .open = &governor->journal.open,
                                          .cpus = cpus_of(setup->config),
                                          .period_us = setup->config->quota_period_ms * 1000ull};
    governor->liveness_config =
        (struct liveness_config){.stale_ns = setup->config->stale_ns,
                                 .dead_ns = setup->config->dead_ns,
                                 .allow_replay = setup->allow_replay || setup->recorded};
    liveness_init(&governor->liveness, now_ns);
    experiment_init(&governor->experiment, now_ns);
    journal_open_nowhere(&governor->journal);
    int err = setup->recorded ? 0
                              : exemptions_init(&governor->exemptions, setup->fs,
                                                setup->allow_replay, error, error_size);
    governor->exemptions.recorded = setup->recorded;
    if (!err)
        err = open_actuators(governor, error, error_size);
    if (!err)
        err = open_journal(governor, error, error_size);
    if (!err)
        err = make_parts(governor, error, error_size);
    if (err)
        governor_free(governor);
    else
        *out = governor;
    return err;
}

void governor_free(struct governor *governor)
{
    if (!governor)
        return;
    policies_release(&governor->policies);
    enforcer_free(governor->enforcer);
    journal_close(&governor->journal);
    if (!governor->setup.actuators)
        actuators_close(&governor->actuators);
    free(governor->governed);
    free(governor);
}

void governor_look(const struct governor *governor, struct governor_state *out)
{
    *out = (struct governor_state){
        .enforce = governor->setup.enforce,
        .paused = governor->paused,
        .liveness = &governor->liveness,
        .ticks = governor->ticks,
        .policies.counts = governor->before,
        .journal_errors = governor->journal.errors,
        .open = enforcer_open(governor->enforcer),
        /* Observing, it has no journal of its own, and leaves an earlier one's as it is. */
        .journal_open =
            governor->setup.enforce ? governor->journal.open.n : governor->restored.failed,
        .enforcer = governor->enforcer,
        .experiment = &governor->experiment,
    };
    memcpy(out->dead_man, governor->dead_man, sizeof out->dead_man);
    policies_report(&governor->policies, &out->policies);
}
