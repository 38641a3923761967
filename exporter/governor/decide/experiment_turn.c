#include "exporter/governor/decide/experiment_turn.h"

#include <math.h>
#include <stdio.h>

#define SECOND UINT64_C(1000000000)
#define LONGEST (300 * SECOND) /* pairs that cannot be made are waited for so long */

static const double least_probability = 0.5;
static const double takes_a_third = 1.5; /* times its least it uses */

/* ---- who ---- */

static const struct governed *find(const struct experiment_turn *turn)
{
    for (size_t i = 0; i < turn->n; i++)
        if (turn->governed[i].container->cgroup_id == turn->experiment->now.cgroup_id &&
            turn->governed[i].holdings[KNOB_CPU])
            return &turn->governed[i];
    return NULL;
}

/* Only best effort that may be restricted has holdings. */
static bool can_be_held(const struct experiment_turn *turn, const struct governed *governed)
{
    const struct holding *holding = governed->holdings[KNOB_CPU];
    return holding && holding->known && !holding->claim.id &&
           governed->container->cpus >= takes_a_third * holding->claim.least &&
           enforcer_would(turn->enforcer, holding) == GUARD_PASS;
}

static bool is_settled(const struct experiment_turn *turn, uint64_t cgroup_id, uint64_t now_ns)
{
    const struct experiment_result *last = experiment_last_of(turn->experiment, cgroup_id, now_ns);
    return last && (last->verdict == EXPERIMENT_CONFIRMED || last->verdict == EXPERIMENT_REFUTED);
}

static const struct governed *find_suspect(const struct experiment_turn *turn, uint64_t now_ns)
{
    const struct governed *suspect = NULL;
    for (size_t i = 0; i < turn->n; i++) {
        const struct governed *governed = &turn->governed[i];
        const struct view_container *container = governed->container;
        if (container->cgroup_id && container->probability >= least_probability &&
            container->probability < turn->sure && can_be_held(turn, governed) &&
            !is_settled(turn, container->cgroup_id, now_ns) &&
            (!suspect || container->probability > suspect->container->probability))
            suspect = governed;
    }
    return suspect;
}

static void begin(const struct experiment_turn *turn, const struct governed *suspect,
                  uint64_t now_ns)
{
    const char *name = suspect->holdings[KNOB_CPU]->claim.container;
    const struct view_container *container = suspect->container;
    experiment_begin(turn->experiment, name, container->cgroup_id, container->probability,
                     container->cpus, now_ns);
    log_info(turn->log, "experiment", "begins: container=%s probability=%.3f", name,
             container->probability);
}

static void end(const struct experiment_turn *turn, enum experiment_verdict verdict,
                uint64_t now_ns)
{
    const struct experiment_result *result =
        experiment_end(turn->experiment, verdict, now_ns, turn->wall_ns);
    log_info(turn->log, "experiment",
             "%s: container=%s effect=%.4f error=%.4f pairs=%u held=%.1f probability=%.3f "
             "before=%.3f",
             experiment_verdict_name(verdict), result->container, result->effect, result->error,
             result->pairs, result->held_seconds, result->probability, result->prior);
}

void experiment_abandon(const struct experiment_turn *turn, uint64_t now_ns)
{
    if (turn->experiment->now.cgroup_id && !turn->experiment->held_since_ns)
        end(turn, EXPERIMENT_ABANDONED, now_ns);
}

/* ---- slots ---- */

void experiment_give_back(const struct experiment_turn *turn, uint64_t now_ns)
{
    struct experiment *experiment = turn->experiment;
    const struct governed *governed = experiment->held_since_ns ? find(turn) : NULL;
    struct holding *holding = governed ? governed->holdings[KNOB_CPU] : NULL;
    if (holding)
        enforcer_let_go(turn->enforcer, holding, RELEASE_EXPERIMENT, NULL);
    if (!experiment->held_since_ns || (holding && holding->claim.id))
        return;
    experiment->now.held_seconds += (double)(now_ns - experiment->held_since_ns) * 1e-9;
    experiment->held_since_ns = 0;
}

/* NaN: it could not be held, or not measured. */
static double measure_held(const struct experiment_turn *turn, const struct experiment_meter *meter)
{
    static const struct because because = {.why = "experiment", .period_seconds = 1};
    double latency = NAN;
    uint64_t now_ns = meter->now_ns(meter->context);
    turn->see(turn->context, now_ns);
    const struct governed *governed = find(turn);
    if (!governed || !can_be_held(turn, governed))
        return NAN;
    struct holding *holding = governed->holdings[KNOB_CPU];
    turn->experiment->held_since_ns = now_ns;
    enforcer_want(holding, holding->claim.least, &because);
    enforcer_commit(turn->enforcer);
    if (holding->claim.id && !holding->unsure && holding->claim.value <= holding->claim.least)
        latency = meter->slot(meter->context);
    experiment_give_back(turn, meter->now_ns(meter->context));
    return latency;
}

static enum experiment_verdict run_pair(const struct experiment_turn *turn,
                                        const struct experiment_meter *meter, uint64_t now_ns)
{
    bool held_first = experiment_next_pair(turn->experiment, now_ns);
    double free_ = held_first ? NAN : meter->slot(meter->context);
    double held = measure_held(turn, meter);
    if (held_first && held > 0 && !turn->experiment->held_since_ns)
        free_ = meter->slot(meter->context);
    return held > 0 && free_ > 0 ? experiment_add(turn->experiment, held, free_)
                                 : EXPERIMENT_RUNNING;
}

/* It does what it did, and nobody else is held. */
static bool goes_on(const struct experiment_turn *turn, uint64_t now_ns)
{
    const struct experiment *experiment = turn->experiment;
    const struct governed *governed = find(turn);
    return governed && can_be_held(turn, governed) &&
           governed->container->cpus >= experiment->cpus / 2 &&
           now_ns - experiment->began_ns < LONGEST;
}

void experiment_turn(const struct experiment_turn *turn, const struct experiment_meter *meter)
{
    struct experiment *experiment = turn->experiment;
    uint64_t now_ns = meter->now_ns(meter->context);
    const struct governed *suspect = NULL;
    bool any_held = enforcer_open(turn->enforcer) > 0;
    if (experiment->held_since_ns)
        return;
    if (!any_held && experiment_may_begin(experiment, now_ns))
        suspect = find_suspect(turn, now_ns);
    if (suspect)
        begin(turn, suspect, now_ns);
    else if (experiment->now.cgroup_id && (any_held || !goes_on(turn, now_ns)))
        experiment_abandon(turn, now_ns);
    if (!experiment->now.cgroup_id || now_ns - experiment->pair_ns < SECOND)
        return;
    enum experiment_verdict verdict = run_pair(turn, meter, now_ns);
    now_ns = meter->now_ns(meter->context);
    if (experiment->held_since_ns)
        return;
    if (verdict == EXPERIMENT_RUNNING && !experiment_may_hold(experiment))
        verdict = EXPERIMENT_UNDECIDED;
    if (verdict != EXPERIMENT_RUNNING)
        end(turn, verdict, now_ns);
}
