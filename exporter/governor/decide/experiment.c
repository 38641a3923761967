#include "exporter/governor/decide/experiment.h"

#include <math.h>
#include <stdio.h>

#define SECOND UINT64_C(1000000000)
#define HOUR (3600 * SECOND)

static const double least_effect = 0.03, sure_t = 4.5, sure_errors = 2.5;
static const double most_evidence = 6.6, least_evidence = -3;
static const double slot_seconds = EXPERIMENT_SLOT_MS * 1e-3;
static const double most_held_seconds = EXPERIMENT_MOST * EXPERIMENT_SLOT_MS * 1e-3;

const char *experiment_verdict_name(enum experiment_verdict verdict)
{
    static const char *const names[EXPERIMENT_VERDICTS] = {"running", "confirmed", "refuted",
                                                           "undecided", "abandoned"};
    return names[verdict];
}

void experiment_init(struct experiment *experiment, uint64_t now_ns)
{
    *experiment = (struct experiment){.ended_ns = now_ns, .random = now_ns};
}

/* ---- its course ---- */

bool experiment_may_begin(const struct experiment *experiment, uint64_t now_ns)
{
    return !experiment->now.cgroup_id && !experiment->held_since_ns &&
           now_ns - experiment->ended_ns >= HOUR;
}

void experiment_begin(struct experiment *experiment, const char *container, uint64_t cgroup_id,
                      double prior, double cpus, uint64_t now_ns)
{
    experiment->now = (struct experiment_result){
        .cgroup_id = cgroup_id, .effect = NAN, .error = NAN, .prior = prior, .probability = prior};
    snprintf(experiment->now.container, sizeof experiment->now.container, "%s", container);
    experiment->mean = experiment->squares = 0;
    experiment->cpus = cpus;
    experiment->tries = 0;
    experiment->began_ns = now_ns;
}

bool experiment_may_hold(const struct experiment *experiment)
{
    /* Half a microsecond for rounding. */
    return experiment->now.held_seconds + slot_seconds <= most_held_seconds + 5e-7;
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
    if (result->pairs < EXPERIMENT_LEAST)
        return EXPERIMENT_RUNNING;
    if (result->effect + sure_errors * result->error < least_effect)
        return EXPERIMENT_REFUTED;
    if (result->effect >= sure_t * result->error)
        return EXPERIMENT_CONFIRMED;
    return result->pairs == EXPERIMENT_MOST ? EXPERIMENT_UNDECIDED : EXPERIMENT_RUNNING;
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

const struct experiment_result *experiment_end(struct experiment *experiment,
                                               enum experiment_verdict verdict, uint64_t now_ns,
                                               uint64_t wall_ns)
{
    struct experiment_result *kept =
        &experiment->results[experiment->n_results++ % EXPERIMENT_RESULTS];
    *kept = experiment->now;
    kept->verdict = verdict;
    kept->ended_ns = now_ns;
    kept->ended_wall_ns = wall_ns;
    experiment->ended_ns = now_ns;
    experiment->now.cgroup_id = 0;
    return kept;
}

const struct experiment_result *experiment_last_of(const struct experiment *experiment,
                                                   uint64_t cgroup_id, uint64_t now_ns)
{
    const struct experiment_result *last = NULL;
    for (size_t i = 0; i < EXPERIMENT_RESULTS; i++) {
        const struct experiment_result *result = &experiment->results[i];
        if (cgroup_id && result->cgroup_id == cgroup_id && now_ns - result->ended_ns < 24 * HOUR &&
            (!last || result->ended_ns > last->ended_ns))
            last = result;
    }
    return last;
}
