/*
 * What the readings so far say of the coefficients: beta, raw, V and P of a domain. With the linear
 * algebra of that: dense symmetric positive definite matrices, at most ATTRIBUTION_COLUMNS wide, of
 * which only columns <= row are read.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_REGRESSION_POSTERIOR_H
#define IE_COLLECTORS_ATTRIBUTION_REGRESSION_POSTERIOR_H

#include "collectors/attribution/regression/domain.h"

/*
 * Where the matrix cannot be inverted (activities that nearly depend on each other, and by far more
 * than a machine has CPUs), the readings count for less until it can: less is then known, never
 * more. Takes some tens of microseconds with 64 candidates.
 */
void posterior_solve(struct attribution_domain *domain, struct attribution_scratch *scratch);

/* Nothing is known of this column any more. */
void posterior_clear(struct attribution_domain *domain, unsigned column);

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
