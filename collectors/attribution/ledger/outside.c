#include "collectors/attribution/ledger/outside.h"

#include <math.h>
#include <string.h>

#include "collectors/attribution/ledger/episodes.h"
#include "collectors/attribution/ledger/readings.h"

/* A step is looked for in the middle of a minute. */
enum { HALF = 30, NEAR = 7, EVERY = 15, NEAR_EPISODE = 6 };
static const double certain = 2; /* ln */

/* See outside_doubt. */
static const double falls_back = 2, unmatched = 0.2, falls_range = 0.25;
static const double error = 0.2, most_errors = 2;
static const double least_effect = 0.02, undone = 0.4;

/* Whether it is the largest of those near it, and a step that nobody's start explains. */
static bool is_outside_step(const struct ledger *ledger, struct onset_window *window)
{
    onset_window_steps(window, HALF, HALF + 1);
    double here = window->step[HALF];
    if (here + log(ledger_lambda(ledger)) <= certain)
        return false;
    onset_window_steps(window, HALF - NEAR, HALF + NEAR + 1);
    for (unsigned u = HALF - NEAR; u <= HALF + NEAR; u++)
        if (window->step[u] > here)
            return false;
    return true;
}

/* ---- what steps from outside say of those who were blamed ---- */

static void note_rise(struct ledger *ledger, double step)
{
    if (ledger->n_rises == LEDGER_RISES) {
        ledger->n_rises--;
        memmove(ledger->rise, ledger->rise + 1, ledger->n_rises * sizeof *ledger->rise);
    }
    ledger->rise[ledger->n_rises++] = (float)step;
}

static bool fits(double effect, double fall)
{
    return effect >= least_effect && fabs(effect - fall) <= most_errors * error * effect;
}

/* A rise of that size is known to have come from outside: now it has ended. */
static bool ends_a_rise(struct ledger *ledger, double fall)
{
    unsigned best = 0;
    for (unsigned i = 1; i < ledger->n_rises; i++)
        if (fabs((double)ledger->rise[i] - fall) <= fabs((double)ledger->rise[best] - fall))
            best = i;
    if (ledger->n_rises == 0 || !fits((double)ledger->rise[best], fall))
        return false;
    ledger->n_rises--;
    memmove(ledger->rise + best, ledger->rise + best + 1,
            (ledger->n_rises - best) * sizeof *ledger->rise);
    return true;
}

double outside_doubt(const struct ledger *ledger, double effect, double fall)
{
    if (!fits(effect, fall))
        return 0;
    double sd = error * effect, z = (fall - effect) / sd;
    double size = log(falls_range / (sd * sqrt(2 * 3.14159265358979))) - z * z / 2;
    return fmax(0, log(falls_back / (unmatched * 3600 * ledger_lambda(ledger))) + size);
}

/* The latency is about what it was before that effect began. */
static bool is_undone(const struct ledger *ledger, uint32_t workload, float level, float effect)
{
    double now = ledger_mean_y(ledger, ledger->readings + 1 - HALF, HALF, workload);
    return level == 0 || now - (double)level < undone * (double)effect;
}

static void doubt_by_fall(struct ledger *ledger, double fall)
{
    for (uint32_t i = LEDGER_FIRST; i < ledger->n; i++) {
        struct ledger_workload *w = &ledger->at[i];
        if (w->evidence > 0 && is_undone(ledger, i, w->level, w->effect))
            w->evidence =
                (float)fmax(least_evidence,
                            (double)w->evidence - outside_doubt(ledger, (double)w->effect, fall));
    }
    for (unsigned i = 0; i < ledger->n_groups; i++) {
        struct ledger_group *g = &ledger->group[i];
        if (fits((double)g->effect_now, fall) &&
            is_undone(ledger, LEDGER_HOST, g->level, g->effect_now))
            g->n = 0; /* goes with the next answers */
    }
}

static void note_step(struct ledger *ledger, double step)
{
    if (step > 0)
        note_rise(ledger, step);
    else if (!ends_a_rise(ledger, -step))
        doubt_by_fall(ledger, -step);
}

double ledger_risen(const struct ledger *ledger)
{
    double sum = 0;
    for (unsigned i = 0; i < ledger->n_rises; i++)
        sum += (double)ledger->rise[i];
    return sum;
}

/* Steps are counted half a minute later, when episodes near them have been judged. */
void outside_watch(struct ledger *ledger)
{
    uint64_t t = ledger->readings;
    if (ledger_first(ledger, 2 * HALF) + 2 * HALF > t + 1)
        return;
    ledger->watched++;
    if (ledger->watched >
        LEDGER_DAY) { /* of a machine that has moved, the past says less and less */
        ledger->watched /= 2;
        ledger->outside /= 2;
    }
    struct onset_window window;
    uint64_t first = t + 1 - 2 * HALF, middle = first + HALF;
    ledger_window(ledger, first, LEDGER_HOST, &window);
    if (middle < ledger->last_outside + EVERY || !is_outside_step(ledger, &window) ||
        episodes_explain(ledger, middle, NEAR_EPISODE))
        return;
    ledger->last_outside = middle;
    ledger->outside++;
    ledger->steps_outside++;
    note_step(ledger, onset_fit_step(&window, HALF).coefficient);
}
