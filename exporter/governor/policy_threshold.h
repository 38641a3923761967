/*
 * The policy threshold: best-effort containers get CPU as long as no protected container's memory
 * latency is above its theta (formulas/control_threshold.h, once for each best-effort container).
 *
 * Theta is the exporter's baseline times a factor. Any protected container over its theta counts;
 * cut are those best-effort containers that read a share of what all of them read. What the signal
 * cannot see: stores, the TLB, full queues of the caches.
 *
 * No I/O and no clock; nothing is allocated after new. One thread.
 */
#ifndef IE_GOVERNOR_POLICY_THRESHOLD_H
#define IE_GOVERNOR_POLICY_THRESHOLD_H

#include "exporter/governor/config.h"
#include "exporter/governor/enforcer.h"
#include "exporter/governor/view.h"

struct threshold_policy;

/* 'config' is borrowed. 0 or -ENOMEM. */
int threshold_policy_new(const struct config *config, struct threshold_policy **out);
void threshold_policy_free(struct threshold_policy *policy);

/* A container of the view as the policy gets it. */
struct governed {
    const struct view_container *container;
    int class;               /* in the configuration */
    struct holding *holding; /* of best effort that may be restricted; NULL otherwise */
};

/*
 * One fresh tick: wishes and releases go to the enforcer, between its begin and its commit. 'now'
 * in seconds, of the tick.
 */
void threshold_policy_decide(struct threshold_policy *policy, struct enforcer *enforcer,
                             const struct governed *governed, size_t n, double now);

/* So far: how often cutting did not help and was given up. */
uint64_t threshold_policy_futile(const struct threshold_policy *policy);
/* Whether a protected container has a theta now. */
bool threshold_policy_active(const struct threshold_policy *policy);

#endif
