#include "exporter/governor/decide/experiment.h"

#include <math.h>
#include <stdio.h>

#define SECOND UINT64_C(1000000000)
#define HOUR (3600 * SECOND)
#define LONGEST (300 * SECOND)

/* Suspicions from here on are tried. */
static const double least_probability = 0.5;
/* Who uses less is throttled for less than two thirds of a period, and too many bursts of a slot
 * would fall in the rest. */
static const double takes_two_thirds = 3;
static const double least_effect = 0.03, sure_t = 4.5, sure_errors = 3;
static const double most_evidence = 6.6, least_evidence = -3;
/* Half a microsecond for rounding. */
static const double most_before_slot = (EXPERIMENT_MOST_MS - EXPERIMENT_SLOT_MS) * 1e-3 + 5e-7;

const char *const experiment_verdict_names[EXPERIMENT_VERDICTS] = {
    "running", "confirmed", "refuted", "undecided", "abandoned"};

void experiment_init(struct experiment *experiment, uint64_t now_ns)
{
    *experiment = (struct experiment){.ended_ns = now_ns, .random = now_ns};
}

/* ---- its course ---- */

bool experiment_may_begin(const struct experiment *experiment, uint64_t now_ns)
{
    return !experiment->now.owner && !experiment->held_since_ns &&
           now_ns - experiment->ended_ns >= HOUR;
}

void experiment_begin(struct experiment *experiment, const char *container, uint64_t owner,
                      double prior, size_t containers, double cpus, uint64_t now_ns)
{
    experiment->now = (struct experiment_result){.owner = owner,
                                                 .containers = containers,
                                                 .effect = NAN,
                                                 .error = NAN,
                                                 .prior = prior,
                                                 .probability = prior};
    snprintf(experiment->now.container, sizeof experiment->now.container, "%s", container);
    experiment->mean = experiment->squares = 0;
    experiment->cpus = cpus;
    experiment->tries = 0;
    experiment->began_ns = now_ns;
}

bool experiment_may_hold(const struct experiment *experiment, uint64_t now_ns)
{
    return experiment->now.held_seconds <= most_before_slot &&
           now_ns - experiment->began_ns < LONGEST;
}

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
}

bool experiment_next_pair(struct experiment *experiment, uint64_t now_ns)
{
    experiment->pair_ns = now_ns;
    experiment->held_first =
        experiment->tries++ % 2 ? !experiment->held_first : draw(&experiment->random) >> 63;
    return experiment->held_first;
}

/* ---- the test ---- */

static double evidence_of(const struct experiment_result *result)
{
    bool refuted = result->verdict == EXPERIMENT_REFUTED;
    double t = (refuted ? result->effect - least_effect : result->effect) / result->error;
    double evidence = copysign(t * t / 2, t);
    return isnan(evidence) ? 0 : fmax(fmin(evidence, most_evidence), least_evidence);
}

static enum experiment_verdict judge(const struct experiment_result *result)
{
    bool small = result->effect + sure_errors * result->error < least_effect;
    if (small && result->pairs >= EXPERIMENT_LEAST_REFUTED)
        return EXPERIMENT_REFUTED;
    if (!small && result->pairs >= EXPERIMENT_LEAST && result->effect >= sure_t * result->error)
        return EXPERIMENT_CONFIRMED;
    return EXPERIMENT_RUNNING;
}

enum experiment_verdict experiment_add(struct experiment *experiment, double held, double free_)
{
    struct experiment_result *now = &experiment->now;
    double d = log(free_) - log(held), off = d - experiment->mean;
    now->pairs++;
    experiment->mean += off / now->pairs;
    experiment->squares += off * (d - experiment->mean);
    if (now->pairs < 2)
        return EXPERIMENT_RUNNING;
    now->effect = experiment->mean;
    now->error = sqrt(experiment->squares / (now->pairs - 1) / now->pairs);
    now->verdict = judge(now);
    double odds = log(now->prior / (1 - now->prior)) + evidence_of(now);
    now->probability = 1 / (1 + exp(-odds));
    return now->verdict;
}

/* ---- results ---- */

/* Its owner's last one, or the oldest. */
static struct experiment_result *result_of(struct experiment *experiment, uint64_t owner)
{
    struct experiment_result *results = experiment->results, *oldest = results;
    for (size_t i = 0; i < EXPERIMENT_RESULTS; i++) {
        if (results[i].owner == owner)
            return &results[i];
        if (results[i].ended_ns < oldest->ended_ns)
            oldest = &results[i];
    }
    return oldest;
}

const struct experiment_result *experiment_end(struct experiment *experiment,
                                               enum experiment_verdict verdict, uint64_t now_ns,
                                               uint64_t wall_ns)
{
    struct experiment_result *kept = result_of(experiment, experiment->now.owner);
    *kept = experiment->now;
    kept->verdict = verdict;
    kept->ended_ns = now_ns;
    kept->ended_wall_ns = wall_ns;
    if (kept->held_seconds > 0)
        experiment->ended_ns = now_ns;
    experiment->now.owner = 0;
    return kept;
}

const struct experiment_result *experiment_last_of(const struct experiment *experiment,
                                                   uint64_t owner, uint64_t now_ns)
{
    for (size_t i = 0; i < EXPERIMENT_RESULTS && owner; i++)
        if (experiment->results[i].owner == owner)
            return now_ns - experiment->results[i].ended_ns < 24 * HOUR ? &experiment->results[i]
                                                                        : NULL;
    return NULL;
}

static uint64_t wall_at(const struct experiment_turn *turn, uint64_t now_ns)
{
    return turn->wall_ns + (now_ns - turn->now_ns);
}

/* ---- a turn: who ---- */

/* An owner's containers. */
struct suspect {
    const struct governed *first; /* NULL: there is none */
    size_t n;                     /* that can be held now, for all that their own past says */
    double cpus, left;            /* that all use, and the most of it while these are held */
    uint64_t tried_ns;            /* when it was tried last; 0: not in a day */
};

/* NULL: it cannot be held now. Only best effort that may be restricted has holdings. */
static struct holding *holding_of(const struct experiment_turn *turn,
                                  const struct governed *governed)
{
    struct holding *holding = NULL;
    if (governed->holdings[KNOB_CPU] && governed->container->cpus > 0)
        holding = enforcer_find(turn->enforcer, KNOB_CPU, governed->container->path);
    if (!holding || !holding->known || holding->claim.id ||
        enforcer_would(turn->enforcer, holding) != GUARD_PASS)
        return NULL;
    return holding;
}

static struct suspect look_at(const struct experiment_turn *turn, uint64_t owner)
{
    struct suspect suspect = {0};
    for (size_t i = 0; i < turn->n; i++) {
        const struct governed *governed = &turn->governed[i];
        double cpus = governed->container->cpus;
        if (governed->owner != owner || !(cpus > 0))
            continue;
        const struct holding *holding = holding_of(turn, governed);
        suspect.n += holding != NULL;
        suspect.cpus += cpus;
        suspect.left += holding ? fmin(cpus, holding->claim.least) : cpus;
    }
    return suspect;
}

/* All of them at once. */
static bool can_be_held(const struct experiment_turn *turn, const struct suspect *suspect)
{
    struct room room = enforcer_room(turn->enforcer);
    return suspect->n > 0 && suspect->n <= room.claims && suspect->n <= room.writes;
}

static bool is_suspected(const struct experiment_turn *turn, const struct view_container *container)
{
    return container->in_group ||
           (container->probability >= least_probability && container->probability < turn->sure);
}

/* Of an owner's the most probable stands for all, and the first of equal ones. */
static bool stands_for_others(const struct experiment_turn *turn, size_t i)
{
    const struct governed *self = &turn->governed[i];
    double probability = fmax(self->container->probability, 0);
    for (size_t j = 0; j < turn->n; j++) {
        const struct governed *other = &turn->governed[j];
        double others = fmax(other->container->probability, 0);
        if (other->owner == self->owner && j != i && is_suspected(turn, other->container) &&
            (others > probability || (j < i && others >= probability)))
            return false;
    }
    return true;
}

static bool is_settled(const struct experiment_result *last)
{
    return last && (last->verdict == EXPERIMENT_CONFIRMED || last->verdict == EXPERIMENT_REFUTED);
}

static bool comes_before(const struct suspect *a, const struct suspect *b)
{
    if (a->tried_ns != b->tried_ns)
        return a->tried_ns < b->tried_ns;
    return a->first->container->probability > fmax(b->first->container->probability, 0);
}

static struct suspect find_suspect(const struct experiment_turn *turn)
{
    struct suspect found = {0};
    for (size_t i = 0; i < turn->n; i++) {
        const struct governed *governed = &turn->governed[i];
        const struct experiment_result *last =
            experiment_last_of(turn->experiment, governed->owner, turn->now_ns);
        if (!is_suspected(turn, governed->container) || is_settled(last) ||
            !stands_for_others(turn, i))
            continue;
        struct suspect suspect = look_at(turn, governed->owner);
        suspect.first = governed;
        suspect.tried_ns = last ? last->ended_ns : 0;
        if (can_be_held(turn, &suspect) && suspect.cpus >= takes_two_thirds * suspect.left &&
            (!found.first || comes_before(&suspect, &found)))
            found = suspect;
    }
    return found;
}

static void begin(const struct experiment_turn *turn, const struct suspect *suspect)
{
    const struct view_container *container = suspect->first->container;
    char name[CLAIM_NAME_MAX];
    view_name(container, name);
    experiment_begin(turn->experiment, name, suspect->first->owner, container->probability,
                     suspect->n, suspect->cpus, turn->now_ns);
    log_info(turn->log, "experiment", "begins: container=%s containers=%zu probability=%.3f", name,
             suspect->n, container->probability);
}

static void end(const struct experiment_turn *turn, enum experiment_verdict verdict,
                uint64_t now_ns)
{
    const struct experiment_result *result =
        experiment_end(turn->experiment, verdict, now_ns, wall_at(turn, now_ns));
    log_info(turn->log, "experiment",
             "%s: container=%s containers=%zu effect=%.4f error=%.4f pairs=%u held=%.1f "
             "probability=%.3f before=%.3f",
             experiment_verdict_names[verdict], result->container, result->containers,
             result->effect, result->error, result->pairs, result->held_seconds,
             result->probability, result->prior);
}

void experiment_abandon(const struct experiment_turn *turn)
{
    if (turn->experiment->now.owner && !turn->experiment->held_since_ns)
        end(turn, EXPERIMENT_ABANDONED, turn->now_ns);
}

/* ---- slots ---- */

void experiment_give_back(const struct experiment_turn *turn, uint64_t now_ns)
{
    struct experiment *experiment = turn->experiment;
    if (!experiment->held_since_ns ||
        enforcer_end_tries(turn->enforcer, now_ns, wall_at(turn, now_ns)))
        return;
    experiment->now.held_seconds += (double)(now_ns - experiment->held_since_ns) * 1e-9;
    experiment->held_since_ns = 0;
}

/* NaN: they could not be held, or not measured. */
static double measure_held(const struct experiment_turn *turn, const struct experiment_meter *meter)
{
    const struct experiment_result *now = &turn->experiment->now;
    double latency = NAN;
    size_t held = 0;
    bool any = false;
    uint64_t now_ns = meter->now_ns(meter->context);
    turn->experiment->held_since_ns = now_ns;
    for (size_t i = 0; i < turn->n; i++) {
        const struct governed *governed = &turn->governed[i];
        struct holding *holding = governed->owner == now->owner ? holding_of(turn, governed) : NULL;
        if (holding && enforcer_try(turn->enforcer, holding, now_ns, wall_at(turn, now_ns)))
            held++;
        any |= holding && holding->tried;
    }
    if (!any)
        turn->experiment->held_since_ns = 0;
    if (held >= now->containers)
        latency = meter->slot(meter->context);
    experiment_give_back(turn, meter->now_ns(meter->context));
    return latency;
}

static enum experiment_verdict run_pair(const struct experiment_turn *turn,
                                        const struct experiment_meter *meter)
{
    bool held_first = experiment_next_pair(turn->experiment, turn->now_ns);
    double free_ = held_first ? NAN : meter->slot(meter->context), held = NAN;
    if (held_first || free_ > 0)
        held = measure_held(turn, meter);
    if (held_first && held > 0 && !turn->experiment->held_since_ns)
        free_ = meter->slot(meter->context);
    bool whole = held > 0 && free_ > 0 && !turn->experiment->held_since_ns;
    return whole ? experiment_add(turn->experiment, held, free_) : EXPERIMENT_RUNNING;
}

void experiment_turn(const struct experiment_turn *turn, const struct experiment_meter *meter)
{
    struct experiment *experiment = turn->experiment;
    bool others = turn->waiting || enforcer_open(turn->enforcer) > 0;
    if (experiment->held_since_ns)
        return;
    if (!others && experiment_may_begin(experiment, turn->now_ns)) {
        const struct suspect found = find_suspect(turn);
        if (found.first)
            begin(turn, &found);
    }
    if (!experiment->now.owner)
        return;
    const struct suspect suspect = look_at(turn, experiment->now.owner);
    if (others) {
        experiment_abandon(turn);
    } else if (!experiment_may_hold(experiment, turn->now_ns)) {
        end(turn, EXPERIMENT_UNDECIDED, turn->now_ns);
    } else if (turn->now_ns - experiment->pair_ns < SECOND) {
        return; /* and what it used was while it was held */
    } else if (suspect.cpus < experiment->cpus / 2) {
        experiment_abandon(turn);
    } else if (can_be_held(turn, &suspect) && suspect.n >= experiment->now.containers) {
        enum experiment_verdict verdict = run_pair(turn, meter);
        if (verdict != EXPERIMENT_RUNNING && !experiment->held_since_ns)
            end(turn, verdict, meter->now_ns(meter->context));
    }
}
