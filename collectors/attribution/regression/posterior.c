#include "collectors/attribution/regression/posterior.h"

#include <math.h>
#include <string.h>

#include "collectors/attribution/regression/solve.h"

static const double tolerance = 1e-6;

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
    solve_nonnegative(s->full, s->right, n, tolerance, s->beta);
    for (unsigned i = 0; i < n; i++)
        d->beta[s->column[i]] = s->beta[i];
    store_variance(d, s, n);
    d->solved_at = d->readings;
}
