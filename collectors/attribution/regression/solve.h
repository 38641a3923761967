/*
 * The linear algebra of a small dense problem, at most ATTRIBUTION_COLUMNS wide: symmetric positive
 * definite matrices of which only columns <= row are read.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_REGRESSION_SOLVE_H
#define IE_COLLECTORS_ATTRIBUTION_REGRESSION_SOLVE_H

#include <stdbool.h>

#include "collectors/attribution/regression/domain.h"

typedef double solve_matrix[ATTRIBUTION_COLUMNS][ATTRIBUTION_COLUMNS];

/*
 * In place, by the sweep operator (Goodnight 1979), whose pivots are those of Cholesky's method.
 * The matrix is scaled to a diagonal of ones first. False where a pivot is below 1e-12: of what is
 * that nearly dependent no digit of the variance would be right. The matrix is then destroyed.
 */
bool solve_invert(solve_matrix a, unsigned n);

/*
 * argmin of x'Ax/2 - c'x under x >= 0, by coordinate descent from x (which is >= 0) until no
 * coordinate moves by more than `tolerance`, or 100 rounds. `a` is read in full, `c` is destroyed.
 */
void solve_nonnegative(const solve_matrix a, double *c, unsigned n, double tolerance, double *x);

#endif
