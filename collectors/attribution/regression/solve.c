#include "collectors/attribution/regression/solve.h"

#include <math.h>

static const double least_pivot = 1e-12;

enum { ROUNDS = 100 };

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
