#include "exporter/governor/decide/experiment.h"

#include <math.h>
#include <stdio.h>

#define SECOND UINT64_C(1000000000)
#define HOUR (3600 * SECOND)
#define LONGEST (300 * SECOND)

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
static struct experiment_result *place_of(struct experiment *experiment, uint64_t owner)
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
    struct experiment_result *kept = place_of(experiment, experiment->now.owner);
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
