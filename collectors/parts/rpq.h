/*
 * What the collectors of memory-controller read queues share: units opened, windows read,
 * (pseudo-)channels summed before anything is divided (FORMULAS.md section 2).
 *
 * A box has four general counters. One queue's group takes three or four of them. It takes turns
 * with the other queue's where both are counted (imc_rpq and pmm_rpq), with the traffic's
 * (cas_traffic.h), and on Granite Rapids, which has a group per subchannel, with the other one;
 * every window is scaled for that on its own.
 */
#ifndef IE_COLLECTORS_PARTS_RPQ_H
#define IE_COLLECTORS_PARTS_RPQ_H

#include "collectors/contract/collector.h"

/* The first three are counters, in the order of the group's roles. */
enum rpq_metric {
    RPQ_CLOCKTICKS,
    RPQ_INSERTS,
    RPQ_OCCUPANCY,
    RPQ_COUNTS,
    RPQ_LATENCY = RPQ_COUNTS,
    RPQ_CAS,
    RPQ_METRICS
};

/* One kind of queue. */
struct rpq_kind {
    const char *collector;                        /* its name */
    const char *reads;                            /* what is read, for the reason in words */
    enum group group;                             /* three roles: clockticks, inserts, occupancy */
    const struct metric_desc *descs[RPQ_METRICS]; /* NULL: this kind does not export it */
    const struct metric_desc *frequency;          /* per socket; NULL likewise */
    /* DRAM: a read leaves the queue when its command is issued, so the column access is added. */
    bool adds_cas_latency;
};

bool rpq_probe(const struct collector_env *env, const struct rpq_kind *kind, struct verdict *why);
/* A CAS latency of 0 is that of facts. */
int rpq_start(const struct collector_env *env, struct collector_status *status,
              const struct rpq_kind *kind, double cas_latency_seconds, void **self);
/* Fit for struct collector_ops as they are. */
int rpq_collect(void *self, const struct tick *tick);
void rpq_stop(void *self);

#endif
