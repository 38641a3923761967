/*
 * One tick of the attribution of a domain's latency to containers (ATTRIBUTION.md section 2).
 *
 *     if (attribution_begin(domain, latency_ns) == 0) {
 *         for every container whose activity was read: attribution_add(domain, member, activity);
 *         attribution_rest(domain, host_activity);
 *         attribution_end(domain, scratch);
 *     }
 *
 * A tick without a reading of the latency is not made at all: then nothing changes.
 *
 * Where the text is silent:
 * - Containers are admitted at the end of a tick, those whose activity varies most first, so that
 *   the order of adding does not matter. What an evicted one did in this tick belongs to the rest.
 * - A container whose activity was not read is absent in this tick: its z and w are 0 and its own
 *   state does not change. The same holds for the host.
 * - The lowest activity of the rest rises with who joins it by eviction: that is no activity that
 *   was not seen before.
 * - A container that is added for the first time after learning was at 0 before: its start is an
 *   edge like any other. Within learning it starts where it is, as all do in the first tick.
 * - An activity that is exactly constant leaves z at 0 once it is below 1e-12: numbers without a
 *   meaning must not become denormal ones, which are slow.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_REGRESSION_ESTIMATOR_H
#define IE_COLLECTORS_ATTRIBUTION_REGRESSION_ESTIMATOR_H

#include "collectors/attribution/regression/domain.h"

/* What is beyond these is an error of the caller's source, not a reading. */
#define ATTRIBUTION_ACTIVITY_MAX 1e6
#define ATTRIBUTION_LATENCY_MIN_NS 1e-3
#define ATTRIBUTION_LATENCY_MAX_NS 1e12

/* One candidate per container: 64 slots, tau 0.3 per CPU. */
struct attribution_config attribution_config_cpu_time(void);

/* With a PMU: one column, the sum of all traffic over its peak, tau 3. */
struct attribution_config attribution_config_pooled(void);

/* -EINVAL: the configuration is not usable. */
int attribution_init(struct attribution_domain *domain, const struct attribution_config *config);

/* With a PMU: what a container's coefficient is before anything is known of it, from the pooled
 * slope: mu0 = tau = beta; where that is no positive number, what it is of CPU time. With 'rest' so
 * far from 0 may the rest's be, too: that of traffic which is counted is as large as anybody's,
 * while the default keeps CPU time small. Holds from the next solve on. */
void attribution_set_prior(struct attribution_domain *domain, double slope, bool rest);

/* From now on activities are in another unit: all that is known is converted as if earlier ones had
 * been `factor` (> 0) times what they were. Between ticks; with it each of the domain's members. */
void attribution_rescale(struct attribution_domain *domain, double factor,
                         struct attribution_scratch *scratch);
void attribution_member_rescale(struct attribution_member *member, double factor);

/* -EINVAL, and nothing changed: not a latency. */
int attribution_begin(struct attribution_domain *domain, double latency_ns);

/* Each member once a tick. -EINVAL, as if it had not been called: not an activity. */
int attribution_add(struct attribution_domain *domain, struct attribution_member *member,
                    double activity);

/* What the host's own processes do; NaN: not known. Leave it out where there is no host. */
void attribution_rest(struct attribution_domain *domain, double activity);

void attribution_end(struct attribution_domain *domain, struct attribution_scratch *scratch);

/* The container has ended; between ticks. The member may be used for a new one. What the ended one
 * did is kept until its slot is needed: without that column its effect, of which the others'
 * columns still know, would look like theirs. */
void attribution_forget(struct attribution_domain *domain, struct attribution_member *member);

/* NULL: the container is no candidate. */
const struct attribution_slot *attribution_candidate(const struct attribution_domain *domain,
                                                     const struct attribution_member *member);

/* Those that have not ended. */
unsigned attribution_candidates(const struct attribution_domain *domain);

#endif
