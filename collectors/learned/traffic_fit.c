#include "collectors/learned/traffic_fit.h"

#include <math.h>
#include <string.h>

static const uint64_t minute_ns = 60ull * 1000000000ull;

/* A relative standard error above this is no answer. */
static const double max_error = 0.05;
/* The way from the lowest traffic seen down to none is at most this share of what was seen: latency
 * bends, so that a line through a narrow range points anywhere. */
static const double max_reach = 0.5;
/* In the middle third of its range lies at least this share of the minutes: a fifth would, if the
 * traffic swung as a sine does. */
static const double min_between = 0.1;
/* Huber's constant: 95 % efficient where errors are normal. */
static const double huber = 1.345;
static const double mad_to_sigma = 1.4826;

enum { ROUNDS = 8, UNKNOWNS = 3 };

struct points {
    int n;
    double mean;                             /* of y */
    double y[TRAFFIC_FIT_MINUTES];           /* latency or share */
    double x[TRAFFIC_FIT_MINUTES][UNKNOWNS]; /* 1, co-runners' traffic, own traffic; scaled */
    double weight[TRAFFIC_FIT_MINUTES];
    double residual[TRAFFIC_FIT_MINUTES];
};

struct solution {
    double coefficient[UNKNOWNS];
    double inverse[UNKNOWNS][UNKNOWNS]; /* of X'WX */
};

bool traffic_fit_measured_by(struct traffic_fit *fit, enum traffic_measure measure)
{
    if (fit->measure == measure)
        return false;
    *fit = (struct traffic_fit){.measure = measure};
    return true;
}

bool traffic_fit_add(struct traffic_fit *fit, uint64_t mono_ns, double value, double corunner_rate,
                     double own_rate)
{
    if (!(value >= 0) || !isfinite(value + corunner_rate + own_rate))
        return false;
    uint64_t minute = mono_ns / minute_ns + 1;
    bool completed = fit->windows > 0 && minute > fit->minute;
    if (completed) {
        double n = fit->windows;
        fit->at[fit->minute % TRAFFIC_FIT_MINUTES] = (struct traffic_minute){
            .minute = (uint32_t)fit->minute,
            .value = (float)(fit->value / n),
            .corunner_rate = (float)(fit->corunner_rate / n),
            .own_rate = (float)(fit->own_rate / n),
        };
        fit->windows = 0;
    }
    if (fit->windows == 0) {
        fit->minute = minute;
        fit->value = fit->corunner_rate = fit->own_rate = 0;
    }
    fit->windows++;
    fit->value += value;
    fit->corunner_rate += corunner_rate;
    fit->own_rate += own_rate;
    return completed;
}

/* Nearest rank. By quickselect: this runs for every container once a minute. */
static double percentile(const double *values, int n, double share)
{
    double at[TRAFFIC_FIT_MINUTES];
    memcpy(at, values, (size_t)n * sizeof *values);
    int wanted = (int)(share * (n - 1) + 0.5), first = 0, last = n - 1;
    while (first < last) {
        double pivot = at[(first + last) / 2];
        int i = first, k = last;
        while (i <= k) {
            while (at[i] < pivot)
                i++;
            while (at[k] > pivot)
                k--;
            if (i <= k) {
                double swapped = at[i];
                at[i++] = at[k];
                at[k--] = swapped;
            }
        }
        if (wanted <= k)
            last = k;
        else if (wanted >= i)
            first = i;
        else
            break;
    }
    return at[wanted];
}

/* Traffic that went from one level to another only. */
static bool is_two_crowds(const double *corunners, int n, double low, double high)
{
    double third = (high - low) / 3;
    int between = 0;
    for (int i = 0; i < n; i++)
        between += corunners[i] > low + third && corunners[i] < high - third;
    return between < min_between * n;
}

/* The minutes in order: the answer's y, and both rates. Their number. */
static int unroll(const struct traffic_fit *fit, uint64_t mono_ns, double *y, double *corunners,
                  double *own)
{
    uint64_t now = mono_ns / minute_ns + 1;
    uint64_t first = now > TRAFFIC_FIT_MINUTES ? now - TRAFFIC_FIT_MINUTES : 1;
    int n = 0;
    for (uint64_t minute = first; minute < now; minute++) {
        const struct traffic_minute *at = &fit->at[minute % TRAFFIC_FIT_MINUTES];
        if (at->minute != (uint32_t)minute)
            continue;
        y[n] = (double)at->value;
        corunners[n] = (double)at->corunner_rate;
        own[n++] = (double)at->own_rate;
    }
    return n;
}

/* With rates scaled to about 1. False where there is nothing to fit. */
static bool gather(const struct traffic_fit *fit, uint64_t mono_ns, struct points *out)
{
    double corunners[TRAFFIC_FIT_MINUTES], own[TRAFFIC_FIT_MINUTES];
    int n = out->n = unroll(fit, mono_ns, out->y, corunners, own);
    if (n < TRAFFIC_FIT_MIN_MINUTES)
        return false;
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += out->y[i];
    out->mean = sum / n;
    double high = percentile(corunners, n, 0.95), low = percentile(corunners, n, 0.05);
    if (!(high > 0) || low > max_reach * (high - low) || is_two_crowds(corunners, n, low, high))
        return false;
    double typical = percentile(own, n, 0.5);
    double own_scale = typical > 0 ? typical : 1;
    for (int i = 0; i < n; i++) {
        out->x[i][0] = 1;
        out->x[i][1] = corunners[i] / high;
        out->x[i][2] = (own[i] - typical) / own_scale;
        out->weight[i] = 1;
    }
    return true;
}

/* Gauss-Jordan with pivots on the diagonal of a positive definite matrix. */
static bool invert(double a[UNKNOWNS][UNKNOWNS], double out[UNKNOWNS][UNKNOWNS])
{
    double scale[UNKNOWNS];
    for (int i = 0; i < UNKNOWNS; i++) {
        scale[i] = a[i][i];
        for (int j = 0; j < UNKNOWNS; j++)
            out[i][j] = i == j;
    }
    for (int i = 0; i < UNKNOWNS; i++) {
        if (!(a[i][i] > 1e-9 * scale[i]) || !(scale[i] > 0))
            return false;
        double pivot = a[i][i];
        for (int j = 0; j < UNKNOWNS; j++) {
            a[i][j] /= pivot;
            out[i][j] /= pivot;
        }
        for (int k = 0; k < UNKNOWNS; k++) {
            if (k == i)
                continue;
            double factor = a[k][i];
            for (int j = 0; j < UNKNOWNS; j++) {
                a[k][j] -= factor * a[i][j];
                out[k][j] -= factor * out[i][j];
            }
        }
    }
    return true;
}

static bool solve(struct points *p, struct solution *out)
{
    double xx[UNKNOWNS][UNKNOWNS] = {{0}}, xy[UNKNOWNS] = {0};
    for (int i = 0; i < p->n; i++) {
        for (int j = 0; j < UNKNOWNS; j++) {
            double weighted = p->weight[i] * p->x[i][j];
            xy[j] += weighted * p->y[i];
            for (int k = 0; k <= j; k++)
                xx[j][k] += weighted * p->x[i][k];
        }
    }
    for (int j = 0; j < UNKNOWNS; j++)
        for (int k = j + 1; k < UNKNOWNS; k++)
            xx[j][k] = xx[k][j];
    /* Own traffic that never varies explains nothing; this keeps the matrix invertible and its
     * coefficient 0. */
    xx[2][2] += 1e-6 * p->n;
    if (!invert(xx, out->inverse))
        return false;
    for (int j = 0; j < UNKNOWNS; j++) {
        out->coefficient[j] = 0;
        for (int k = 0; k < UNKNOWNS; k++)
            out->coefficient[j] += out->inverse[j][k] * xy[k];
    }
    for (int i = 0; i < p->n; i++) {
        p->residual[i] = p->y[i];
        for (int j = 0; j < UNKNOWNS; j++)
            p->residual[i] -= out->coefficient[j] * p->x[i][j];
    }
    return true;
}

/*
 * One's own traffic cannot make memory faster. Where it seems to, it is the other way round: who
 * waits longer reads less. Such a rate tells the latency by itself, and would be the explanation of
 * all that the co-runners do; so the line is drawn without it.
 */
static bool solve_for_cause(struct points *p, struct solution *out)
{
    if (!solve(p, out))
        return false;
    if (out->coefficient[2] >= 0)
        return true;
    for (int i = 0; i < p->n; i++)
        p->x[i][2] = 0;
    return solve(p, out);
}

/* Their spread, by the median of what they are off: outliers do not widen it. */
static double spread(const struct points *p)
{
    double off[TRAFFIC_FIT_MINUTES];
    for (int i = 0; i < p->n; i++)
        off[i] = fabs(p->residual[i]);
    return mad_to_sigma * percentile(off, p->n, 0.5);
}

/* How many independent minutes these are worth: n (1 - r) / (1 + r), r between neighbours. */
static double independent(const struct points *p)
{
    double product = 0, square = 0;
    for (int i = 0; i < p->n; i++) {
        double e = p->weight[i] * p->residual[i];
        square += e * e;
        if (i > 0)
            product += e * p->weight[i - 1] * p->residual[i - 1];
    }
    double r = square > 0 ? fmin(fmax(product / square, 0), 0.95) : 0;
    return p->n * (1 - r) / (1 + r);
}

/* Whether the line also holds where the traffic is lowest, which is nearest to the answer. */
static bool holds_at_low_end(const struct points *p, double tolerance)
{
    double traffic[TRAFFIC_FIT_MINUTES] = {0}, low[TRAFFIC_FIT_MINUTES];
    for (int i = 0; i < p->n; i++)
        traffic[i] = p->x[i][1];
    double limit = percentile(traffic, p->n, 0.25);
    int n = 0;
    for (int i = 0; i < p->n; i++)
        if (traffic[i] <= limit)
            low[n++] = p->residual[i];
    return fabs(percentile(low, n, 0.5)) <= tolerance;
}

/* 0, and where the line ends without co-runners, or -1. */
static int draw(struct points *p, double *alone, double *error)
{
    struct solution s;
    if (!solve_for_cause(p, &s))
        return -1;
    double sigma = 0, before = NAN;
    /* Until another round makes no difference. */
    for (int i = 0; i < ROUNDS && !(fabs(s.coefficient[0] - before) < 1e-4 * p->mean); i++) {
        before = s.coefficient[0];
        /* Points on a line have no spread to judge outliers by. */
        sigma = fmax(spread(p), 1e-4 * p->mean);
        for (int k = 0; k < p->n; k++) {
            double off = fabs(p->residual[k]);
            p->weight[k] = off > huber * sigma ? huber * sigma / off : 1;
        }
        if (!solve_for_cause(p, &s))
            return -1;
    }
    double degrees = independent(p) - UNKNOWNS;
    if (degrees < 1)
        return -1;
    double widening = sigma * sqrt(p->n / degrees);
    /* More traffic cannot make memory faster, or let lines stay: where it seems to, and not by
     * chance, something else moved them. */
    if (s.coefficient[1] < -3 * widening * sqrt(s.inverse[1][1]))
        return -1;
    *alone = s.coefficient[0];
    *error = widening * sqrt(s.inverse[0][0]);
    return 0;
}

double traffic_fit_alone_seconds(const struct traffic_fit *fit, uint64_t mono_ns)
{
    struct points p;
    double alone, error;
    if (!gather(fit, mono_ns, &p) || draw(&p, &alone, &error) || !(alone > 0))
        return NAN;
    double tolerance = max_error * alone;
    return error <= tolerance && holds_at_low_end(&p, tolerance) ? alone : NAN;
}

double traffic_fit_calmest_seconds(const struct traffic_fit *fit, uint64_t mono_ns)
{
    double y[TRAFFIC_FIT_MINUTES], corunners[TRAFFIC_FIT_MINUTES], own[TRAFFIC_FIT_MINUTES];
    double calm[TRAFFIC_FIT_MINUTES];
    int n = unroll(fit, mono_ns, y, corunners, own), calmest = 0;
    if (n < TRAFFIC_FIT_MIN_MINUTES)
        return NAN;
    double limit = percentile(corunners, n, fmax(0.1, 2.0 / (n - 1)));
    for (int i = 0; i < n; i++)
        if (corunners[i] <= limit)
            calm[calmest++] = y[i];
    return percentile(calm, calmest, 0.5);
}

double traffic_fit_alone_share(const struct traffic_fit *fit, uint64_t mono_ns)
{
    struct points p;
    double alone, error;
    if (!gather(fit, mono_ns, &p) || draw(&p, &alone, &error))
        return NAN;
    double tolerance = max_error * p.mean;
    if (alone < -tolerance || error > tolerance || !holds_at_low_end(&p, tolerance))
        return NAN;
    return fmax(alone, 0);
}
