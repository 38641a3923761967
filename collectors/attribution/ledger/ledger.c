#include "collectors/attribution/ledger/ledger.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/attribution/ledger/episodes.h"
#include "collectors/attribution/ledger/one_of.h"
#include "collectors/attribution/ledger/outside.h"
#include "collectors/attribution/ledger/readings.h"

static const double first_sigma = 0.03, least_sigma = 0.008, most_sigma = 0.1;
static const double outlier = 3; /* sigmas */
/* Of one that has been here for long one coincidence is worth a little less. */
static const double name_known_probability = 0.965;
static const double name_probability = 0.95, keep_probability = 0.8;
static const double name_effect = 0.03, keep_effect = 0.02;

/* The spread of D, the mean of ten readings less that of the thirty before. */
enum { SHORT = 10, LONG = 30, SIGMA_EVERY = 60 };
/* So that the buckets of hour_percentile, made for latencies, hold 0.001 to 1. */
static const double spread_unit = 1e-5;
static const double normal_mad = 1.4826;

static uint16_t packed(double x)
{
    float value = (float)x;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff) >> 16);
}

void ledger_init(struct ledger *ledger, double least_jump, bool waiting_grows)
{
    *ledger = (struct ledger){
        .least_jump = least_jump, .waiting_grows = waiting_grows, .sigma = first_sigma};
}

void ledger_release(struct ledger *ledger)
{
    free(ledger->at);
    ledger->at = NULL;
    ledger->n = 0;
}

int ledger_reserve(struct ledger *ledger, size_t n)
{
    if (n <= ledger->n)
        return 0;
    struct ledger_workload *at = realloc(ledger->at, n * sizeof *at);
    if (!at)
        return -ENOMEM;
    memset(at + ledger->n, 0, (n - ledger->n) * sizeof *at);
    ledger->at = at;
    ledger->n = n;
    return 0;
}

void ledger_forget(struct ledger *ledger, size_t workload)
{
    if (workload >= ledger->n)
        return;
    episodes_forget(ledger, (uint32_t)workload);
    for (unsigned i = ledger->n_told; i-- > 0;)
        if (ledger->told[i].workload == workload)
            ledger->told[i] = ledger->told[--ledger->n_told];
    ledger->at[workload] = (struct ledger_workload){0};
}

void ledger_lose(struct ledger *ledger, size_t workload)
{
    struct ledger_workload *w = &ledger->at[workload];
    episodes_lose(ledger, (uint32_t)workload);
    w->known = w->named = false;
    w->probability = w->effect = 0;
    w->now = 0;
}

void ledger_refute(struct ledger *ledger, size_t workload)
{
    ledger->at[workload].evidence = 0;
    for (unsigned i = 0; i < ledger->n_episodes; i++)
        if (ledger->episode[i].workload == workload)
            ledger->episode[i].factor = 0;
}

void ledger_rescale(struct ledger *ledger, double factor)
{
    float f = (float)factor;
    for (size_t i = 0; i < ledger->n; i++) {
        struct ledger_workload *w = &ledger->at[i];
        for (unsigned k = 0; k < ONSET_WINDOW; k++)
            w->x[k] = packed(factor * ledger_x(w, k));
        w->now *= factor;
        w->summed = 0;
        w->scale *= f;
        w->largest *= f;
        w->before *= f;
        w->slope /= f;
        w->slope_now /= f;
        w->slope_se /= f;
        w->slope_weight *= f * f;
    }
    for (unsigned k = 0; k < ONSET_WINDOW; k++)
        ledger->all[k] *= f;
    for (unsigned i = 0; i < ledger->n_told; i++) {
        ledger->told[i].slope /= factor;
        ledger->told[i].before *= factor;
    }
    for (unsigned i = 0; i < ledger->n_episodes; i++) {
        ledger->episode[i].before *= f;
        ledger->episode[i].size *= f;
    }
    for (unsigned i = 0; i < ledger->n_groups; i++)
        for (unsigned k = 0; k < ledger->group[i].n; k++)
            ledger->group[i].active[k] *= f;
}

/* Who comes after the first readings did nothing before; of who was there, or was not read for a
 * while, nobody knows. */
void ledger_set(struct ledger *ledger, size_t workload, double activity)
{
    struct ledger_workload *w = &ledger->at[workload];
    w->now = activity;
    if (w->known)
        return;
    bool new = ledger->readings >= SHORT && !w->met;
    uint16_t before = packed(new ? 0 : activity);
    w->known = w->met = true;
    w->since = ledger->readings;
    w->summed = 0;
    for (unsigned i = 0; i < ONSET_WINDOW; i++)
        w->x[i] = before;
}

/* ---- across a restart ---- */

static const double most_steps = 1e6;
static const float most_level = 100;
static const float most_activity = 1e7F, most_slope = 1e9F, most_weight = 1e30F;

void ledger_serialise(struct ledger *ledger, struct state_fields *fields)
{
    state_double(fields, &ledger->sigma, least_sigma, most_sigma);
    state_double(fields, &ledger->outside, 0, most_steps);
    state_double(fields, &ledger->watched, 0, LEDGER_DAY);
    if (state_reading(fields))
        ledger->restored = true;
}

void ledger_workload_serialise(struct ledger *ledger, size_t workload, struct state_fields *fields)
{
    struct ledger_workload *w = &ledger->at[workload];
    state_float(fields, &w->scale, 0, most_activity);
    state_float(fields, &w->largest, 0, most_activity);
    state_float(fields, &w->before, 0, most_activity);
    state_float(fields, &w->evidence, (float)least_evidence, (float)most_evidence);
    state_float(fields, &w->moved, (float)least_evidence, -(float)least_evidence);
    state_float(fields, &w->slope, 0, most_slope);
    state_float(fields, &w->slope_weight, 0, most_weight);
    state_float(fields, &w->slope_se, 0, most_slope);
    state_u32(fields, &w->episodes, UINT32_MAX);
    state_u32(fields, &w->agreed, UINT32_MAX);
    state_bool(fields, &w->started);
    state_float(fields, &w->level, -most_level, most_level);
    if (!state_reading(fields))
        return;
    w->slope_now = w->slope;
    w->agreed = w->agreed > 0; /* with whom is not kept, so it is not known to have been alone */
}

/* ---- latency ---- */

void ledger_tell_nobody(struct ledger *ledger)
{
    ledger->n_told = 0;
}

void ledger_tell(struct ledger *ledger, size_t workload, double slope, double before)
{
    const struct ledger_workload *w = &ledger->at[workload];
    bool lately = w->last_jump && ledger->readings - w->last_jump < ONSET_WINDOW;
    if (lately &&
        ledger_probability(w, ledger_past_evidence(ledger, (uint32_t)workload)) < keep_probability)
        return;
    if (ledger->n_told < LEDGER_TOLD)
        ledger->told[ledger->n_told++] = (struct ledger_told){(uint32_t)workload, slope, before};
}

static double median_of_three(const double *v)
{
    return fmax(fmin(v[0], v[1]), fmin(fmax(v[0], v[1]), v[2]));
}

static void take_latency(struct ledger *ledger, double y)
{
    uint64_t t = ++ledger->readings;
    ledger->raw[t % 3] = y;
    if (t < ledger->from + 3) {
        ledger->raw[(t + 1) % 3] = ledger->raw[(t + 2) % 3] = y;
    } else {
        double middle = median_of_three(ledger->raw), most = outlier * ledger->sigma;
        y = fmin(fmax(y, middle - most), middle + most);
    }
    ledger->y[t % ONSET_WINDOW] = (float)y;
}

/* Of a reading as far as a mean of them goes: drift and autocorrelation are in it, steps are not,
 * which come too seldom to move a median. */
static void update_sigma(struct ledger *ledger)
{
    uint64_t t = ledger->readings;
    uint64_t middle = t + 1 - SHORT, first = middle - LONG;
    if (t < SHORT + LONG || first < ledger->from)
        return;
    double d = ledger_mean_y(ledger, middle, SHORT, LEDGER_HOST) -
               ledger_mean_y(ledger, first, LONG, LEDGER_HOST);
    hour_percentile_add(&ledger->spread, t * UINT64_C(1000000000),
                        fmax(fabs(d), 1e-9) * spread_unit);
    if (t % SIGMA_EVERY != 0)
        return;
    double median = hour_percentile_seconds(&ledger->spread, 0.5) / spread_unit;
    double sigma = normal_mad * median / sqrt(1.0 / SHORT + 1.0 / LONG);
    ledger->sigma = fmin(most_sigma, fmax(least_sigma, sigma));
}

void ledger_gap(struct ledger *ledger)
{
    episodes_cut(ledger);
    ledger->from = ledger->readings + 1;
}

/* ---- the answer ---- */

static void answer(struct ledger *ledger, struct ledger_workload *w)
{
    bool judged = ledger_knows(ledger) && (w->episodes > 0 || w->provisional != 0);
    double probability =
        judged ? ledger_probability(w, (double)w->evidence + (double)w->provisional) : 0;
    double effect = (double)w->slope_now * fmax(0, w->now - (double)w->before);
    double least = w->started || w->agreed > 1 ? name_probability : name_known_probability;
    bool certain = probability >= least && effect >= name_effect;
    bool kept = w->named && probability >= keep_probability && effect >= keep_effect;
    if (!ledger_shows(ledger, w, effect))
        certain = kept = false;
    w->probability = (float)probability;
    w->effect = (float)effect;
    w->named = w != &ledger->at[LEDGER_HOST] && (certain || kept);
}

void ledger_take(struct ledger *ledger, double log_latency)
{
    take_latency(ledger, log_latency);
    uint64_t t = ledger->readings;
    double all = 0;
    for (size_t i = 0; i < ledger->n; i++) {
        ledger->at[i].x[t % ONSET_WINDOW] = packed(ledger->at[i].now);
        all += ledger->at[i].now;
    }
    ledger->all[t % ONSET_WINDOW] = (float)all;
    update_sigma(ledger);
    episodes_find(ledger);
    episodes_judge(ledger);
    outside_watch(ledger);
    for (size_t i = 0; i < ledger->n; i++)
        if (ledger->at[i].known)
            answer(ledger, &ledger->at[i]);
    one_of_answer(ledger);
}
