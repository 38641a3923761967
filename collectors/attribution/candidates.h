/* Who has a slot: those whose activity varies most, whether or not the latency follows it. */
#ifndef IE_COLLECTORS_ATTRIBUTION_CANDIDATES_H
#define IE_COLLECTORS_ATTRIBUTION_CANDIDATES_H

#include "collectors/attribution/domain.h"

/* Before a tick's members: sets how much one without a slot must vary to be considered, bar. */
void candidates_begin(struct attribution_domain *domain);

/* A member without a slot that varies this much, after its update in this tick. */
void candidates_consider(struct attribution_domain *domain, struct attribution_member *member,
                         double deviation, double activity);

/* Gives slots to those considered, and takes them from those that vary less than half as much. */
void candidates_admit(struct attribution_domain *domain);

/* A tick of a retired slot, which is free when what it did is forgotten. */
void candidates_fade(struct attribution_domain *domain, unsigned slot, double lambda);

/* Nothing is known of the slot any more, and it is nobody's. */
void candidates_clear(struct attribution_domain *domain, unsigned slot);

#endif
