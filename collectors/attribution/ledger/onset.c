#include "collectors/attribution/ledger/onset.h"

#include <math.h>

static const double prior_sd = 0.25; /* of what a cause adds to log latency */
static const double least_square = 1e-9;
static const double of_sudden = 0.5, of_warming = 0.25; /* see onset.h */
static const double left_after_reading[] = {0.78, 0.92};
enum { WARMINGS = sizeof left_after_reading / sizeof *left_after_reading };

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

/* Of the m readings from u on, the k-th behind it: a^m and the sum of a^(k+1) (y - mean). */
struct warming {
    double left, faded;
};

/* One reading earlier. */
static void warming_extend(struct warming *warming, const struct onset_window *w, unsigned u,
                           double a)
{
    warming->left *= a;
    warming->faded = a * (w->y[u] - w->mean + warming->faded);
}

static struct onset_fit fit_warming(const struct onset_window *w, unsigned u,
                                    const struct warming *warming, double a)
{
    double m = w->n - u, left = warming->left;
    double sum_a = a * (1 - left) / (1 - a), sum_aa = a * a * (1 - left * left) / (1 - a * a);
    double sum = m - sum_a, square = m - 2 * sum_a + sum_aa;
    return fit(w, square - sum * sum / w->n, -w->below[u] - warming->faded);
}

struct onset_fit onset_fit_step(const struct onset_window *w, unsigned u)
{
    struct onset_fit best = fit_step(w, u);
    double most = best.two_sided + log(of_sudden / of_warming);
    for (unsigned i = 0; i < WARMINGS; i++) {
        struct warming warming = {1, 0};
        for (unsigned k = w->n; k-- > u;)
            warming_extend(&warming, w, k, left_after_reading[i]);
        struct onset_fit warm = fit_warming(w, u, &warming, left_after_reading[i]);
        if (warm.two_sided <= most)
            continue;
        most = warm.two_sided;
        best = warm;
    }
    return with_side(best);
}

void onset_window_steps(struct onset_window *w, unsigned from, unsigned to)
{
    struct warming warming[WARMINGS] = {{1, 0}, {1, 0}};
    for (unsigned u = w->n; u-- > from;) {
        for (unsigned i = 0; i < WARMINGS; i++)
            warming_extend(&warming[i], w, u, left_after_reading[i]);
        if (u >= to)
            continue;
        double sudden = fit_step(w, u).two_sided, warm[WARMINGS], most = sudden;
        for (unsigned i = 0; i < WARMINGS; i++) {
            warm[i] = fit_warming(w, u, &warming[i], left_after_reading[i]).two_sided;
            most = fmax(most, warm[i]);
        }
        double sum = of_sudden * exp(sudden - most);
        for (unsigned i = 0; i < WARMINGS; i++)
            sum += of_warming * exp(warm[i] - most);
        w->step[u] = most + log(sum);
    }
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
