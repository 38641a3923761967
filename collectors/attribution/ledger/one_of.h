/*
 * "One of these": several began together and the latency with them, so that it is known that it is
 * one of them, and not which (ONSETS.md L6). Internal to the ledger.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_LEDGER_ONE_OF_H
#define IE_COLLECTORS_ATTRIBUTION_LEDGER_ONE_OF_H

#include "collectors/attribution/ledger/ledger.h"

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

/* Makes them a group if they are two to LEDGER_MEMBERS and explain the step. It replaces any group
 * that has one of them. */
void one_of_keep(struct ledger *ledger, const struct one_of *members);

/* This workload turned out to be the one: the others of its group are no longer suspected. */
void one_of_resolve(struct ledger *ledger, uint32_t workload);

/* What an episode of one of them says, a while after they began together. */
struct one_of_news {
    bool alone;        /* nobody else jumped about then */
    double factor;     /* ln of its Bayes factor, within what one episode may count */
    double effect, se; /* by how much the latency moved with it, in its logarithm */
};

/* If it is the one, that is its part of what the group does: who ends, and memory stays as slow,
 * was not. If only one is left, it is that one. */
void one_of_learn(struct ledger *ledger, const struct ledger_episode *episode,
                  const struct one_of_news *news);

/* What the groups' effects are now. Those of which somebody is named, or that have ended, are no
 * longer groups. After the answers about workloads. */
void one_of_answer(struct ledger *ledger);

#endif
