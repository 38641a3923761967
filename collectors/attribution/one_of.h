/*
 * "One of these": several began together and the latency with them, so that it is known that it is
 * one of them, and not which (ONSETS.md L6). Internal to the ledger.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_ONE_OF_H
#define IE_COLLECTORS_ATTRIBUTION_ONE_OF_H

#include "collectors/attribution/ledger.h"

/* Those who jumped about then, while they are collected. */
struct one_of {
    unsigned n;
    struct {
        uint32_t workload;
        double factor; /* ln of its prior probability times its likelihood */
        double share;
        bool up;
    } at[LEDGER_EPISODES];
    double effect, se;
};

void one_of_begin(struct one_of *members, uint32_t workload, double factor, double weight,
                  double size);
void one_of_add(struct one_of *members, uint32_t workload, double factor, double weight,
                double size);
void one_of_end(struct one_of *members, double apart, double effect, double se);

/* They are a group from now on, if they are between two and LEDGER_MEMBERS and explain it; instead
 * of any group that has one of them. */
void one_of_keep(struct ledger *ledger, const struct one_of *members);

/* It is known of one that it was this one: those who were suspected with it no longer are. */
void one_of_resolve(struct ledger *ledger, uint32_t workload);

/* What the groups' effects are now. Those of which somebody is named, or that have ended, are no
 * longer groups. After the answers about workloads. */
void one_of_answer(struct ledger *ledger);

#endif
