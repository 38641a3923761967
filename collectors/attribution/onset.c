#include "collectors/attribution/onset.h"

#include <math.h>

static const double prior_sd = 0.25; /* of what a cause adds to log latency */
static const double least_square = 1e-9;

void onset_window_begin(struct onset_window *w)
{
    double sum = 0;
    for (unsigned i = 0; i < w->n; i++)
        sum += w->y[i];
    w->mean = w->n ? sum / w->n : 0;
    w->below[0] = 0;
    for (unsigned i = 0; i < w->n; i++)
        w->below[i + 1] = w->below[i] + w->y[i] - w->mean;
}

/* `product` is sum of q y, which is b ss. Without the one-sided ratio. */
static struct onset_fit fit(const struct onset_window *w, double ss, double product)
{
    if (!(ss > least_square))
        return (struct onset_fit){.se = prior_sd};
    double variance0 = w->sigma * w->sigma / ss;
    double variance = 1 / (1 / variance0 + 1 / (prior_sd * prior_sd));
    double m = variance * (product / ss) / variance0;
    struct onset_fit out = {.coefficient = m, .se = sqrt(variance)};
    out.two_sided = (log(variance / (prior_sd * prior_sd)) + m * m / variance) / 2;
    return out;
}

static struct onset_fit with_side(struct onset_fit fit)
{
    fit.one_sided = fit.two_sided + log(erfc(-fit.coefficient / (fit.se * sqrt(2)))); /* 2 Phi */
    return fit;
}

static struct onset_fit fit_step(const struct onset_window *w, unsigned u)
{
    double before = u, after = w->n - u;
    return fit(w, before * after / w->n, -w->below[u]);
}

struct onset_fit onset_fit_step(const struct onset_window *w, unsigned u)
{
    return with_side(fit_step(w, u));
}

void onset_window_steps(struct onset_window *w, unsigned from, unsigned to)
{
    for (unsigned u = from; u < to; u++)
        w->step[u] = fit_step(w, u).two_sided;
}

struct onset_fit onset_fit_shape(const struct onset_window *w, const double *q)
{
    double mean = 0, ss = 0, product = 0;
    for (unsigned i = 0; i < w->n; i++)
        mean += q[i];
    mean /= w->n ? w->n : 1;
    for (unsigned i = 0; i < w->n; i++) {
        ss += (q[i] - mean) * (q[i] - mean);
        product += (q[i] - mean) * (w->y[i] - w->mean);
    }
    return with_side(fit(w, ss, product));
}
