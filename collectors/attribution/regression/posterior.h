/* What the readings so far say of the coefficients: beta, raw, V and P of a domain. */
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

#endif
