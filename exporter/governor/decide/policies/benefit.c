#include "exporter/governor/decide/policies/benefit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "exporter/governor/decide/control/control_response.h"
#include "exporter/governor/terms/claim.h"

enum {
    PAIRS_MAX = 256,
    TRIAL_LEAST = 3,     /* windows */
    TRIAL_MOST = 40,     /* ... */
    PROOF_WINDOWS = 10,  /* after it */
    LINE_LEAST = 30,     /* that say, without a trial, that it does not help */
    RECENT_WINDOWS = 30, /* so many are remembered in short ... */
    LONG_WINDOWS = 1800  /* ... and in long */
};
static const double gain_least = 0.05; /* of the latency: less is no help */
static const double deviations = 2;    /* beyond doubt */
static const double spread_least = 2;  /* Sxx of the long line: four windows here, four there */
static const double bar_first = 600, bar_longest = 3600, forgive = 600;
static const double broken_off_for = 60, doubtful_for = 600, proven_for = 3600;

struct pair {
    uint64_t victim, owner;
    struct control_response recent, long_;
    double heard, accused; /* when last */
    double x;              /* in the last window; NaN: not known */
    double known_until;    /* that it helps */
    double barred_until, bar_seconds;
    unsigned trial; /* windows of it so far */
    double tried_at, tried_x, ended_at;
    /* After a trial that has found that it helps: held again, the latency must fall. */
    unsigned unproven; /* windows until that is looked at; 0: it has been */
    double trial_x, trial_y;
    bool on_trial, in_part, acquitted;
};

struct heard {
    uint64_t key;
    double latency;
};

struct seen {
    uint64_t key;
    double value, least, most; /* of all its containers together */
};

struct benefit {
    double now;
    struct pair *pairs;  /* PAIRS_MAX */
    struct heard *heard; /* CLAIMS_MAX */
    struct seen *seen;   /* CLAIMS_MAX */
    size_t n_pairs, n_heard, n_seen;
    uint64_t bars;
};

int benefit_new(struct benefit **out)
{
    struct benefit *benefit = calloc(1, sizeof *benefit);
    if (!benefit)
        return -ENOMEM;
    benefit->pairs = calloc(PAIRS_MAX, sizeof *benefit->pairs);
    benefit->heard = calloc(CLAIMS_MAX, sizeof *benefit->heard);
    benefit->seen = calloc(CLAIMS_MAX, sizeof *benefit->seen);
    if (!benefit->pairs || !benefit->heard || !benefit->seen) {
        benefit_free(benefit);
        return -ENOMEM;
    }
    *out = benefit;
    return 0;
}

void benefit_free(struct benefit *benefit)
{
    if (!benefit)
        return;
    free(benefit->pairs);
    free(benefit->heard);
    free(benefit->seen);
    free(benefit);
}

void benefit_inherit(struct benefit *benefit, struct benefit *before)
{
    struct benefit empty = *benefit;
    empty.bars = before->bars; /* which have been */
    *benefit = *before;
    benefit->bars = 0;
    *before = empty;
}

/* ---- pairs ---- */

static struct pair *find(const struct benefit *benefit, uint64_t victim, uint64_t owner)
{
    for (size_t i = 0; i < benefit->n_pairs; i++)
        if (benefit->pairs[i].victim == victim && benefit->pairs[i].owner == owner)
            return &benefit->pairs[i];
    return NULL;
}

static struct pair *make(struct benefit *benefit, uint64_t victim, uint64_t owner)
{
    struct pair *pair = &benefit->pairs[0];
    for (size_t i = 1; i < benefit->n_pairs; i++)
        if (benefit->pairs[i].heard <= pair->heard)
            pair = &benefit->pairs[i];
    if (benefit->n_pairs < PAIRS_MAX)
        pair = &benefit->pairs[benefit->n_pairs++];
    *pair = (struct pair){.victim = victim,
                          .owner = owner,
                          .heard = benefit->now,
                          .x = NAN,
                          .ended_at = -INFINITY,
                          .known_until = -INFINITY,
                          .barred_until = -INFINITY};
    return pair;
}

static bool helps_surely(const struct control_response *response)
{
    return control_response_slope(response) - deviations * control_response_deviation(response) >
           gain_least;
}

static bool helps_surely_not(const struct control_response *response)
{
    return control_response_slope(response) + deviations * control_response_deviation(response) <
           gain_least;
}

static bool is_long(const struct pair *pair)
{
    return pair->long_.n >= LINE_LEAST && pair->long_.sxx >= spread_least;
}

static void bar(struct benefit *benefit, struct pair *pair)
{
    bool again = benefit->now - pair->barred_until < pair->bar_seconds + forgive;
    pair->bar_seconds =
        again && pair->bar_seconds > 0 ? fmin(2 * pair->bar_seconds, bar_longest) : bar_first;
    pair->barred_until = benefit->now + pair->bar_seconds;
    benefit->bars++;
}

/* ---- trials ---- */

static void end_trial(struct pair *pair, double now)
{
    pair->on_trial = false;
    pair->trial = 0;
    pair->ended_at = now;
}

static bool is_decided(const struct pair *pair)
{
    return pair->trial >= TRIAL_MOST ||
           (pair->trial >= TRIAL_LEAST &&
            (helps_surely(&pair->recent) || helps_surely_not(&pair->recent)));
}

/* What a single step beside the trial may have done is in the longer line. */
static void judge(struct benefit *benefit, struct pair *pair)
{
    bool sure = helps_surely(&pair->recent);
    bool helped = control_response_slope(&pair->recent) >= gain_least;
    bool helps = is_long(pair) && control_response_slope(&pair->long_) >= 2 * gain_least;
    end_trial(pair, benefit->now);
    if (!sure && !helped && !helps) {
        pair->acquitted = true;
        bar(benefit, pair);
    } else {
        pair->known_until = benefit->now + (sure ? proven_for : doubtful_for);
        pair->unproven = PROOF_WINDOWS;
        pair->trial_x = pair->x;
        pair->trial_y = pair->recent.mean_y +
                        control_response_slope(&pair->recent) * (pair->x - pair->recent.mean_x);
    }
}

/* All pairs of an owner end together: when one of them is found to help, or all are decided. */
static void judge_owner(struct benefit *benefit, uint64_t owner)
{
    bool helps = false, open = false;
    for (size_t i = 0; i < benefit->n_pairs; i++) {
        struct pair *pair = &benefit->pairs[i];
        if (pair->owner != owner || !pair->on_trial)
            continue;
        helps |= pair->trial >= TRIAL_LEAST && helps_surely(&pair->recent);
        open |= !is_decided(pair);
    }
    for (size_t i = 0; i < benefit->n_pairs && (helps || !open); i++) {
        struct pair *pair = &benefit->pairs[i];
        if (pair->owner != owner || !pair->on_trial)
            continue;
        if (is_decided(pair))
            judge(benefit, pair);
        else
            end_trial(pair, benefit->now);
    }
}

/* ---- a window ---- */

void benefit_begin(struct benefit *benefit, double now)
{
    benefit->now = now;
    benefit->n_heard = benefit->n_seen = 0;
}

void benefit_hear(struct benefit *benefit, uint64_t victim, double latency)
{
    if (benefit->n_heard < CLAIMS_MAX && latency > 0)
        benefit->heard[benefit->n_heard++] = (struct heard){victim, latency};
}

void benefit_see(struct benefit *benefit, uint64_t owner, double value, double least, double most)
{
    size_t i = 0;
    while (i < benefit->n_seen && benefit->seen[i].key != owner)
        i++;
    if (i == CLAIMS_MAX)
        return;
    if (i == benefit->n_seen)
        benefit->seen[benefit->n_seen++] = (struct seen){.key = owner};
    struct seen *seen = &benefit->seen[i];
    seen->value += value;
    seen->least += least;
    seen->most += most;
}

static double latency_of(const struct benefit *benefit, uint64_t victim)
{
    for (size_t i = 0; i < benefit->n_heard; i++)
        if (benefit->heard[i].key == victim)
            return benefit->heard[i].latency;
    return NAN;
}

/* NaN: he is not there, or has nothing to lose. */
static double part_of(const struct benefit *benefit, uint64_t owner)
{
    for (size_t i = 0; i < benefit->n_seen; i++) {
        const struct seen *seen = &benefit->seen[i];
        if (seen->key == owner)
            return seen->most > seen->least
                       ? (seen->value - seen->least) / (seen->most - seen->least)
                       : NAN;
    }
    return NAN;
}

/* What began to wait by chance while he was tried goes on to wait when he is held again. */
static void prove(const struct benefit *benefit, struct pair *pair)
{
    if (pair->unproven == 0 || --pair->unproven > 0)
        return;
    double fell = pair->trial_y - pair->recent.mean_y;
    if (!(fell > gain_least * (pair->trial_x - pair->x)))
        pair->known_until = benefit->now;
}

/* The window of a change has some of both. */
static void learn(const struct benefit *benefit, struct pair *pair)
{
    double latency = latency_of(benefit, pair->victim), x = part_of(benefit, pair->owner);
    bool steady = fabs(x - pair->x) < 1e-6;
    pair->x = x;
    if (isnan(latency) || isnan(x))
        return;
    pair->heard = benefit->now;
    if (!steady && !pair->on_trial)
        pair->recent = (struct control_response){0};
    if (!steady)
        return;
    double y = log(latency);
    control_response_add(&pair->recent, x, y, pair->on_trial ? 0 : 1.0 / RECENT_WINDOWS);
    control_response_add(&pair->long_, x, y, 1.0 / LONG_WINDOWS);
    pair->trial += pair->on_trial && x > pair->tried_x + 0.01;
    prove(benefit, pair);
}

void benefit_end(struct benefit *benefit)
{
    for (size_t i = 0; i < benefit->n_pairs; i++) {
        struct pair *pair = &benefit->pairs[i];
        pair->acquitted = false;
        learn(benefit, pair);
    }
    for (size_t i = 0; i < benefit->n_pairs; i++) {
        const struct pair *pair = &benefit->pairs[i];
        if (pair->on_trial && benefit->now - pair->tried_at > doubtful_for)
            benefit_break_off(benefit, pair->owner); /* nobody says how it goes */
        else if (pair->on_trial)
            judge_owner(benefit, pair->owner);
    }
}

/* ---- what is asked ---- */

void benefit_accuse(struct benefit *benefit, uint64_t victim, uint64_t owner)
{
    struct pair *pair = find(benefit, victim, owner);
    if (!pair)
        pair = make(benefit, victim, owner);
    pair->accused = benefit->now;
    if (isnan(pair->x))
        pair->x = part_of(benefit, owner);
}

/* Somebody is better off while he is held. */
static bool helps_anybody(const struct benefit *benefit, uint64_t owner)
{
    bool helps = false;
    for (size_t i = 0; i < benefit->n_pairs; i++) {
        const struct pair *pair = &benefit->pairs[i];
        helps |= pair->owner == owner && (pair->known_until > benefit->now ||
                                          (is_long(pair) && helps_surely(&pair->long_)));
    }
    return helps;
}

static void start_trial(struct benefit *benefit, uint64_t owner, bool in_part)
{
    for (size_t i = 0; i < benefit->n_pairs; i++) {
        struct pair *pair = &benefit->pairs[i];
        if (pair->owner != owner || pair->accused < benefit->now || pair->on_trial)
            continue;
        pair->on_trial = true;
        pair->in_part = in_part;
        pair->tried_at = benefit->now;
        pair->tried_x = pair->x;
    }
}

bool benefit_try(struct benefit *benefit, uint64_t victim, uint64_t owner, bool at_least_for_long)
{
    struct pair *pair = find(benefit, victim, owner);
    if (!pair || pair->on_trial || pair->known_until > benefit->now)
        return false;
    bool useless = is_long(pair) && helps_surely_not(&pair->long_);
    bool useful = is_long(pair) && helps_surely(&pair->long_);
    if (useful || !(useless || at_least_for_long))
        return false;
    bool in_part = helps_anybody(benefit, owner);
    if (useless && in_part) {
        bar(benefit, pair);
        return false;
    }
    start_trial(benefit, owner, in_part);
    return true;
}

bool benefit_is_barred(const struct benefit *benefit, uint64_t victim, uint64_t owner)
{
    const struct pair *pair = find(benefit, victim, owner);
    return pair && pair->barred_until > benefit->now;
}

bool benefit_bars_anybody(const struct benefit *benefit)
{
    for (size_t i = 0; i < benefit->n_pairs; i++)
        if (benefit->pairs[i].barred_until > benefit->now || benefit->pairs[i].on_trial)
            return true;
    return false;
}

bool benefit_tries(const struct benefit *benefit, uint64_t victim, uint64_t owner)
{
    const struct pair *pair = find(benefit, victim, owner);
    return pair && pair->on_trial;
}

enum benefit_trial benefit_on_trial(const struct benefit *benefit, uint64_t owner)
{
    for (size_t i = 0; i < benefit->n_pairs; i++) {
        const struct pair *pair = &benefit->pairs[i];
        if (pair->owner == owner && pair->on_trial)
            return pair->in_part ? BENEFIT_PART_BACK : BENEFIT_ALL_BACK;
    }
    return BENEFIT_NO_TRIAL;
}

void benefit_break_off(struct benefit *benefit, uint64_t owner)
{
    for (size_t i = 0; i < benefit->n_pairs; i++) {
        struct pair *pair = &benefit->pairs[i];
        if (pair->owner != owner || !pair->on_trial)
            continue;
        end_trial(pair, benefit->now);
        pair->known_until = benefit->now + broken_off_for;
    }
}

bool benefit_is_acquitted(const struct benefit *benefit, uint64_t owner)
{
    bool any = false, all = true;
    for (size_t i = 0; i < benefit->n_pairs; i++) {
        const struct pair *pair = &benefit->pairs[i];
        if (pair->owner != owner || pair->ended_at < benefit->now)
            continue;
        any = true;
        all &= pair->acquitted;
    }
    return any && all;
}

uint64_t benefit_bars(const struct benefit *benefit)
{
    return benefit->bars;
}
