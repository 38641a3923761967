#include "collectors/attribution/regression/posterior.h"

#include <math.h>
#include <string.h>

static const double converged = 1e-6, least_pivot = 1e-12;

enum { ROUNDS = 100 };

/* ---- linear algebra ---- */

static bool scale_to_ones(solve_matrix a, unsigned n, double *scale)
{
    for (unsigned i = 0; i < n; i++) {
        if (!(a[i][i] > 0) || !isfinite(a[i][i]))
            return false;
        scale[i] = 1 / sqrt(a[i][i]);
    }
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j <= i; j++)
            a[i][j] *= scale[i] * scale[j];
    return true;
}

/* Takes column k over to the other side: after all columns, a is minus its inverse. */
static bool sweep(solve_matrix a, unsigned n, unsigned k)
{
    double pivot = a[k][k], column[ATTRIBUTION_COLUMNS];
    if (!(pivot > least_pivot))
        return false;
    for (unsigned i = 0; i < k; i++)
        column[i] = a[k][i];
    column[k] = 0; /* leaves row and column k alone */
    for (unsigned i = k + 1; i < n; i++)
        column[i] = a[i][k];
    for (unsigned i = 0; i < n; i++) {
        double factor = column[i] / pivot;
        if (factor == 0)
            continue;
        double *row = a[i];
        for (unsigned j = 0; j <= i; j++)
            row[j] -= factor * column[j];
    }
    for (unsigned i = 0; i < k; i++)
        a[k][i] = column[i] / pivot;
    for (unsigned i = k + 1; i < n; i++)
        a[i][k] = column[i] / pivot;
    a[k][k] = -1 / pivot;
    return true;
}

bool solve_invert(solve_matrix a, unsigned n)
{
    double scale[ATTRIBUTION_COLUMNS];
    if (!scale_to_ones(a, n, scale))
        return false;
    for (unsigned k = 0; k < n; k++)
        if (!sweep(a, n, k))
            return false;
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j <= i; j++)
            a[i][j] *= -scale[i] * scale[j];
    return true;
}

void solve_nonnegative(const solve_matrix a, double *c, unsigned n, double tolerance, double *x)
{
    double *slope = c; /* c - A x, kept up to date */
    for (unsigned j = 0; j < n; j++) {
        if (x[j] == 0)
            continue;
        for (unsigned i = 0; i < n; i++)
            slope[i] -= a[j][i] * x[j];
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        double moved = 0;
        for (unsigned j = 0; j < n; j++) {
            double to = x[j] + slope[j] / a[j][j], by = (to > 0 ? to : 0) - x[j];
            if (by == 0)
                continue;
            x[j] = to > 0 ? to : 0;
            for (unsigned i = 0; i < n; i++)
                slope[i] -= a[j][i] * by;
            moved = fmax(moved, fabs(by));
        }
        if (moved < tolerance)
            return;
    }
}

/* ---- coefficients ---- */

static double prior_sd(const struct attribution_domain *d, unsigned column)
{
    return column == ATTRIBUTION_REST ? d->config.tau_rest : d->config.tau;
}

void posterior_clear(struct attribution_domain *d, unsigned column)
{
    for (unsigned i = 0; i < column; i++)
        d->g[column][i] = d->p[column][i] = 0;
    for (unsigned i = column; i < ATTRIBUTION_COLUMNS; i++)
        d->g[i][column] = d->p[i][column] = 0;
    d->b[column] = d->beta[column] = d->raw[column] = 0;
    d->p[column][column] = d->variance[column] = prior_sd(d, column) * prior_sd(d, column);
}

/* The columns in use, the rest last. */
static unsigned columns(const struct attribution_domain *d, unsigned *out)
{
    unsigned n = 0;
    for (unsigned i = 0; i < d->config.slots; i++)
        if (d->slots[i].ticket)
            out[n++] = i;
    out[n++] = ATTRIBUTION_REST;
    return n;
}

/* A = G / noise + prior, in full. */
static void assemble(const struct attribution_domain *d, struct attribution_scratch *s, unsigned n,
                     double noise)
{
    for (unsigned i = 0; i < n; i++) {
        double sd = prior_sd(d, s->column[i]);
        for (unsigned j = 0; j <= i; j++)
            s->full[i][j] = s->full[j][i] = d->g[s->column[i]][s->column[j]] / noise;
        s->full[i][i] += 1 / (sd * sd);
    }
}

static void store_p(struct attribution_domain *d, const struct attribution_scratch *s, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j <= i; j++)
            d->p[s->column[i]][s->column[j]] = s->inverse[i][j];
}

static void store_raw(struct attribution_domain *d, const struct attribution_scratch *s, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        double sum = 0;
        for (unsigned j = 0; j < n; j++)
            sum += s->right[j] * (j <= i ? s->inverse[i][j] : s->inverse[j][i]);
        d->raw[s->column[i]] = sum;
    }
}

/* V: of those above 0, given that the others are 0. A part of what was inverted before, so it can
 * be inverted; should rounding say otherwise, P is the larger of the two. */
static void store_variance(struct attribution_domain *d, struct attribution_scratch *s, unsigned n)
{
    unsigned above[ATTRIBUTION_COLUMNS], m = 0;
    for (unsigned i = 0; i < n; i++) {
        d->variance[s->column[i]] = d->p[s->column[i]][s->column[i]];
        if (s->beta[i] > 0)
            above[m++] = i;
    }
    if (m == n)
        return;
    for (unsigned i = 0; i < m; i++)
        for (unsigned j = 0; j <= i; j++)
            s->inverse[i][j] = s->full[above[i]][above[j]];
    if (!solve_invert(s->inverse, m))
        return;
    for (unsigned i = 0; i < m; i++)
        d->variance[s->column[above[i]]] = s->inverse[i][i];
}

/* Rows of what has not moved for hours: they decay, and must not become denormal. */
static void drop_forgotten(struct attribution_domain *d)
{
    for (unsigned i = 0; i < ATTRIBUTION_COLUMNS; i++) {
        if (d->g[i][i] == 0 || d->g[i][i] > 1e-20)
            continue;
        for (unsigned j = 0; j <= i; j++)
            d->g[i][j] = 0;
        for (unsigned j = i; j < ATTRIBUTION_COLUMNS; j++)
            d->g[j][i] = 0;
        d->b[i] = 0;
    }
}

void posterior_solve(struct attribution_domain *d, struct attribution_scratch *s)
{
    drop_forgotten(d);
    unsigned n = columns(d, s->column);
    double noise = d->noise * d->inflation;
    for (;; noise *= 100) {
        assemble(d, s, n, noise);
        memcpy(s->inverse, s->full, sizeof s->inverse);
        if (solve_invert(s->inverse, n))
            break;
    }
    for (unsigned i = 0; i < n; i++) {
        unsigned column = s->column[i];
        s->right[i] = d->b[column] / noise;
        if (column != ATTRIBUTION_REST)
            s->right[i] += d->config.mu0 / (d->config.tau * d->config.tau);
        s->beta[i] = d->beta[column];
    }
    store_p(d, s, n);
    store_raw(d, s, n);
    solve_nonnegative(s->full, s->right, n, converged, s->beta);
    for (unsigned i = 0; i < n; i++)
        d->beta[s->column[i]] = s->beta[i];
    store_variance(d, s, n);
    d->solved_at = d->readings;
}
