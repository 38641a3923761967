#include "collectors/attribution/regression/estimator.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "collectors/attribution/regression/gate.h"
#include "collectors/attribution/regression/posterior.h"
#include "collectors/formulas/attribution.h"

static const double level_gain = 1.0 / 30;  /* k */
static const double lambda = 1 - 1.0 / 900; /* forgetting */
static const double noise_gain = 1.0 / 300; /* a_s */
static const double present_gain = 0.2;     /* of e and f */
static const double lowest_gain = 1.0 / 1800;
static const double came_gain = 1.0 / 300;
static const double first_sd = 0.03, min_sd = 0.004;
static const double outlier = 3; /* sds */
static const double negligible = 1e-12;
static const double min_variance = 0.01 * 0.01; /* act_min^2 */
static const double evict_ratio = 2;

enum { SOLVE_EACH_UNTIL = 9 };

struct attribution_config attribution_config_cpu_time(void)
{
    return (struct attribution_config){
        .slots = ATTRIBUTION_SLOTS,
        .learning = ATTRIBUTION_LEARNING,
        .solve_every = 5,
        .tau = 0.3,
        .tau_rest = 0.02,
        .growth = 2, /* twice what waiting can do: a service's own load varies besides */
    };
}

struct attribution_config attribution_config_pooled(void)
{
    struct attribution_config config = attribution_config_cpu_time();
    config.slots = 1;
    config.tau = 3;
    config.growth = 0; /* traffic does not grow by waiting */
    return config;
}

static bool positive(double value)
{
    return isfinite(value) && value > 1e-6 && value < 1e6;
}

int attribution_init(struct attribution_domain *d, const struct attribution_config *config)
{
    if (config->slots < 1 || config->slots > ATTRIBUTION_SLOTS || config->solve_every < 1 ||
        !positive(config->tau) || !positive(config->tau_rest) ||
        !(config->mu0 == 0 || positive(config->mu0)) ||
        !(config->growth == 0 || positive(config->growth)))
        return -EINVAL;
    memset(d, 0, sizeof *d);
    d->config = *config;
    d->inflation = 1;
    for (unsigned i = 0; i < ATTRIBUTION_COLUMNS; i++)
        posterior_clear(d, i);
    return 0;
}

void attribution_set_prior(struct attribution_domain *d, double slope, bool rest)
{
    const struct attribution_config config = attribution_config_cpu_time();
    bool known = positive(slope);
    d->config.mu0 = known ? slope : config.mu0;
    d->config.tau = known ? slope : config.tau;
    d->config.tau_rest = known && rest ? slope : config.tau_rest;
}

void attribution_member_rescale(struct attribution_member *m, double factor)
{
    m->mean *= factor;
    m->smoothed *= factor;
    m->lowest *= factor;
    m->ground *= factor;
    m->variance *= factor * factor;
}

void attribution_rescale(struct attribution_domain *d, double factor,
                         struct attribution_scratch *scratch)
{
    for (unsigned i = 0; i < d->config.slots; i++) {
        struct attribution_slot *s = &d->slots[i];
        s->activity_variance *= factor * factor;
        s->ground *= factor;
        s->excursion *= factor;
        s->sum *= factor;
        s->square *= factor * factor;
        s->named_activity *= (float)factor;
    }
    for (unsigned i = 0; i < ATTRIBUTION_COLUMNS; i++) {
        for (unsigned j = 0; j <= i; j++)
            d->g[i][j] *= factor * factor;
        d->b[i] *= factor;
        d->beta[i] /= factor;
    }
    d->host_mean *= factor;
    d->host_activity *= factor;
    d->rest_lowest *= factor;
    if (d->readings > 0)
        posterior_solve(d, scratch);
}

/* ---- who has a slot: those whose activity varies most, whether the latency follows or not ---- */

/* Nothing is known of the slot any more, and it is nobody's. */
static void candidates_clear(struct attribution_domain *d, unsigned slot)
{
    d->slots[slot] = (struct attribution_slot){0};
    d->z[slot] = d->above[slot] = 0;
    posterior_clear(d, slot);
}

/* A tick of a retired slot, which is free when what it did is forgotten. */
static void candidates_fade(struct attribution_domain *d, unsigned slot)
{
    d->slots[slot].activity_variance *= lambda;
    if (d->slots[slot].activity_variance < min_variance)
        candidates_clear(d, slot);
}

static bool is_taken(const struct attribution_slot *slot)
{
    return slot->ticket && !slot->retired;
}

static bool gives_way(const struct attribution_slot *slot, const struct attribution_slot *other)
{
    if (is_taken(slot) != is_taken(other))
        return is_taken(other);
    return slot->activity_variance < other->activity_variance;
}

/* A free slot, else a retired one, else that of the candidate that varies least. */
static unsigned least_slot(const struct attribution_domain *d)
{
    unsigned least = 0;
    for (unsigned i = 0; i < d->config.slots; i++) {
        if (d->slots[i].ticket == 0)
            return i;
        if (gives_way(&d->slots[i], &d->slots[least]))
            least = i;
    }
    return least;
}

/* Before a tick's members: sets how much one without a slot must vary to be considered, bar. */
static void candidates_begin(struct attribution_domain *d)
{
    d->n_contenders = 0;
    d->bar = min_variance;
    /* A candidate's variance can shrink by this much at most in the tick that begins. */
    const struct attribution_slot *least = &d->slots[least_slot(d)];
    if (is_taken(least))
        d->bar = fmax(d->bar, evict_ratio * (1 - d->spread_gain) * least->activity_variance);
}

/* A member without a slot that varies this much, after its update in this tick.
 * The bound is the number of slots: whom 64 others surpass cannot be admitted. */
static void candidates_consider(struct attribution_domain *d, struct attribution_member *member,
                                double deviation, double activity)
{
    if (!(member->variance > min_variance))
        return;
    struct attribution_contender found = {member, deviation, activity};
    if (d->n_contenders < ATTRIBUTION_SLOTS) {
        d->contenders[d->n_contenders++] = found;
        return;
    }
    struct attribution_contender *least = d->contenders;
    for (unsigned i = 1; i < d->n_contenders; i++)
        if (d->contenders[i].member->variance < least->member->variance)
            least = &d->contenders[i];
    if (member->variance > least->member->variance)
        *least = found;
    else
        d->bar = least->member->variance;
}

static void seat(struct attribution_domain *d, unsigned slot, const struct attribution_contender *c)
{
    struct attribution_slot *s = &d->slots[slot];
    if (s->ticket && s->present) {
        d->rest_deviation += d->z[slot];
        d->rest_sum += s->activity;
        d->rest_lowest += s->activity;
    }
    candidates_clear(d, slot);
    s->ticket = c->member->ticket = ++d->tickets;
    c->member->slot = slot;
    s->present = true;
    s->activity = c->activity;
    s->activity_variance = c->member->variance;
    s->ground = c->member->ground;
    d->z[slot] = c->deviation;
    d->above[slot] = fmax(0, c->activity - c->member->lowest);
    d->rest_deviation -= c->deviation;
    d->rest_sum -= c->activity;
}

/* Gives slots to those considered, and takes them from those that vary less than half as much. */
static void candidates_admit(struct attribution_domain *d)
{
    while (d->n_contenders > 0) {
        unsigned best = 0;
        for (unsigned i = 1; i < d->n_contenders; i++)
            if (d->contenders[i].member->variance > d->contenders[best].member->variance)
                best = i;
        struct attribution_contender c = d->contenders[best];
        unsigned slot = least_slot(d);
        if (is_taken(&d->slots[slot]) &&
            c.member->variance < evict_ratio * d->slots[slot].activity_variance)
            return;
        seat(d, slot, &c);
        d->contenders[best] = d->contenders[--d->n_contenders];
    }
}

/* ---- a tick ---- */

int attribution_begin(struct attribution_domain *d, double latency_ns)
{
    if (!(latency_ns >= ATTRIBUTION_LATENCY_MIN_NS) || latency_ns > ATTRIBUTION_LATENCY_MAX_NS)
        return -EINVAL;
    double y = log(latency_ns);
    if (d->readings == 0) {
        d->level = y;
        d->present = d->present != 0 ? d->present : y; /* it may be known from before */
        d->noise = first_sd * first_sd;
    }
    d->readings++;
    d->gain = fmax(level_gain, 1 / ((double)d->readings + 1));
    d->spread_gain = fmax(1 - lambda, 1 / (double)d->readings);
    d->present += present_gain * (y - d->present);
    d->deviation = y - d->level;
    for (unsigned i = 0; i < d->config.slots; i++) {
        d->slots[i].present = false;
        if (d->slots[i].retired)
            candidates_fade(d, i);
        d->slots[i].activity = d->z[i] = d->above[i] = 0;
    }
    d->rest_deviation = d->rest_sum = 0;
    d->in_tick = true;
    candidates_begin(d);
    return 0;
}

static bool is_activity(double x)
{
    return x >= 0 && x <= ATTRIBUTION_ACTIVITY_MAX;
}

/* How far x is from the mean, which follows it. */
static double high_pass(double *mean, double x, double gain)
{
    double deviation = x - *mean;
    if (fabs(deviation) < negligible) {
        *mean = x;
        return 0;
    }
    *mean += gain * deviation;
    return deviation;
}

/* A start is no evidence for long: who waits has started once as well. */
static void update_ground(struct attribution_member *m)
{
    if (m->smoothed < m->ground) {
        m->ground = m->smoothed;
        m->came = false;
    } else if (m->mean > m->ground) {
        m->ground += (m->mean - m->ground) * (m->came ? came_gain : lowest_gain);
    }
}

static double member_update(struct attribution_member *m, double x, double gain, double spread_gain)
{
    if (!m->seen) {
        m->mean = m->smoothed = m->lowest = m->ground = x;
        m->variance = 0;
        m->seen = true;
    }
    double deviation = high_pass(&m->mean, x, gain);
    m->variance += spread_gain * (deviation * deviation - m->variance);
    if (m->variance < negligible * negligible)
        m->variance = 0;
    high_pass(&m->smoothed, x, present_gain);
    if (m->smoothed < m->lowest)
        m->lowest = m->smoothed;
    else if (m->mean > m->lowest)
        m->lowest += (m->mean - m->lowest) * lowest_gain;
    update_ground(m);
    return deviation;
}

/* A container that comes did nothing before; at first nobody knows who has just come. */
static bool has_come(const struct attribution_domain *d)
{
    return d->readings > 1 && d->readings > d->config.learning;
}

int attribution_add(struct attribution_domain *d, struct attribution_member *member, double x)
{
    if (!d->in_tick || !is_activity(x))
        return -EINVAL;
    if (!member->seen && has_come(d))
        *member = (struct attribution_member){.seen = true, .came = true};
    double deviation = member_update(member, x, d->gain, d->spread_gain);
    if (attribution_has_slot(d, member)) {
        struct attribution_slot *slot = &d->slots[member->slot];
        slot->present = true;
        slot->activity = x;
        slot->activity_variance = member->variance;
        slot->ground = member->ground;
        d->z[member->slot] = deviation;
        d->above[member->slot] = x > member->lowest ? x - member->lowest : 0;
        return 0;
    }
    d->rest_deviation += deviation;
    d->rest_sum += x;
    if (member->variance >= d->bar)
        candidates_consider(d, member, deviation, x);
    return 0;
}

void attribution_rest(struct attribution_domain *d, double x)
{
    if (!d->in_tick || !is_activity(x))
        return;
    if (!d->host_seen)
        d->host_mean = x;
    d->host_seen = true;
    d->host_activity = x;
    d->rest_deviation += high_pass(&d->host_mean, x, d->gain);
}

/* Outliers count as three sds, unless the one before says that it is a step. */
static double clipped(const struct attribution_domain *d, double r)
{
    double most = outlier * sqrt(d->noise);
    bool step = r * d->residual > 0 && fabs(d->residual) >= fabs(r) / 2;
    return fabs(r) <= most || step ? r : copysign(most, r);
}

static void update_noise(struct attribution_domain *d, double rc)
{
    double gain = fmax(noise_gain, 1 / ((double)d->readings + 5));
    d->noise = fmax(min_sd * min_sd, d->noise + gain * (1.03 * rc * rc - d->noise));
    double sum = 0;
    for (unsigned h = 0; h < ATTRIBUTION_LAGS; h++) {
        d->rho[h] += gain * (rc * d->recent[h] - d->rho[h]);
        double weight = 1 - (h + 1) / (ATTRIBUTION_LAGS + 1.0);
        sum += weight * fmin(1, fmax(-0.3, d->rho[h] / d->noise));
    }
    d->inflation = fmax(1, 1 + 2 * sum);
    memmove(d->recent + 1, d->recent, sizeof d->recent - sizeof *d->recent);
    d->recent[0] = rc;
}

static void accumulate(struct attribution_domain *d, double target)
{
    for (unsigned i = 0; i < d->config.slots; i++) {
        struct attribution_slot *s = &d->slots[i];
        s->latency_square = lambda * s->latency_square + (s->present ? target * target : 0);
        if (s->latency_square < negligible * negligible)
            s->latency_square = 0;
    }
    for (unsigned i = 0; i < ATTRIBUTION_COLUMNS; i++) {
        double z = d->z[i];
        for (unsigned j = 0; j <= i; j++)
            d->g[i][j] = lambda * d->g[i][j] + z * d->z[j];
        d->b[i] = lambda * d->b[i] + z * target;
    }
}

/* How many independent times the latency moved with a candidate, in agreement. */
static void count_excursions(struct attribution_domain *d, double rc)
{
    for (unsigned i = 0; i < d->config.slots; i++) {
        struct attribution_slot *s = &d->slots[i];
        if (!s->ticket)
            continue;
        double z = d->z[i];
        int sign = (z > 0) - (z < 0);
        s->excursion *= lambda;
        s->sum *= lambda;
        s->square *= lambda * lambda;
        if (sign && sign != s->sign) {
            s->sum += s->excursion;
            s->square += s->excursion * s->excursion;
            s->excursion = 0;
            s->sign = (int8_t)sign;
        }
        s->excursion += z * (rc + d->beta[i] * z);
        double sum = s->sum + s->excursion;
        double square = s->square + s->excursion * s->excursion;
        if (square < negligible * negligible) /* forgotten, and soon denormal */
            s->excursion = s->sum = s->square = square = 0;
        s->support = sum > 0 && square > 0 ? sum * sum / square : 0;
    }
}

static void update_rest(struct attribution_domain *d)
{
    double x = fmax(0, d->rest_sum + d->host_activity);
    if (!d->rest_seen || x < d->rest_lowest)
        d->rest_lowest = x;
    else
        d->rest_lowest += (x - d->rest_lowest) * lowest_gain;
    d->rest_seen = true;
    d->rest_activity = x;
    d->above[ATTRIBUTION_REST] = fmax(0, x - d->rest_lowest);
}

static void share_out(struct attribution_domain *d)
{
    d->effect = 0;
    for (unsigned i = 0; i < ATTRIBUTION_COLUMNS; i++)
        d->effect += d->beta[i] * d->above[i];
    d->latency_ns = exp(d->present);
    d->per_effect = attribution_per_effect(d->latency_ns, d->effect);
    for (unsigned i = 0; i < d->config.slots; i++)
        d->slots[i].caused_ns = d->beta[i] * d->above[i] * d->per_effect;
    d->rest_caused_ns = d->beta[ATTRIBUTION_REST] * d->above[ATTRIBUTION_REST] * d->per_effect;
}

void attribution_end(struct attribution_domain *d, struct attribution_scratch *scratch)
{
    if (!d->in_tick)
        return;
    d->in_tick = false;
    candidates_admit(d);
    d->z[ATTRIBUTION_REST] = d->rest_deviation;
    double predicted = 0;
    for (unsigned i = 0; i < ATTRIBUTION_COLUMNS; i++)
        predicted += d->beta[i] * d->z[i];
    double r = d->deviation - predicted, rc = clipped(d, r);
    d->residual = r;
    d->level += d->gain * (predicted + rc);
    update_noise(d, rc);
    accumulate(d, predicted + rc);
    count_excursions(d, rc);
    if (d->readings <= SOLVE_EACH_UNTIL || d->readings % d->config.solve_every == 0)
        posterior_solve(d, scratch);
    update_rest(d);
    share_out(d);
    gate_judge(d);
}

void attribution_forget(struct attribution_domain *d, struct attribution_member *member)
{
    if (attribution_has_slot(d, member)) {
        struct attribution_slot *slot = &d->slots[member->slot];
        slot->ticket = ++d->tickets;
        slot->retired = true;
        slot->state = ATTRIBUTION_UNKNOWN;
    }
    *member = (struct attribution_member){0};
}

const struct attribution_slot *attribution_candidate(const struct attribution_domain *d,
                                                     const struct attribution_member *member)
{
    return attribution_has_slot(d, member) ? &d->slots[member->slot] : NULL;
}

unsigned attribution_candidates(const struct attribution_domain *d)
{
    unsigned n = 0;
    for (unsigned i = 0; i < d->config.slots; i++)
        n += d->slots[i].ticket && !d->slots[i].retired;
    return n;
}
