/*
 * What is said of each workload and of the node, from both estimators: the regression, which knows
 * who goes on and off with the latency (estimator.h), and the ledger, which knows with whose start
 * or end it stepped (ledger.h).
 *
 * Whoever either of them names is named. The effect of one whom the regression names is the
 * regression's as long as its score is significant, else the ledger's: the regression forgets
 * within a quarter of an hour what does not move, the ledger does not. One thread at a
 * time.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_NODE_FINDINGS_H
#define IE_COLLECTORS_ATTRIBUTION_NODE_FINDINGS_H

#include "collectors/attribution/ledger/ledger.h"
#include "collectors/attribution/regression/estimator.h"
#include "collectors/attribution/regression/gate.h"

/* Why it is not known which of several it is. */
enum attribution_group_kind {
    GROUP_ALIKE,         /* they switch together */
    GROUP_ONE_OF,        /* they began together */
    GROUP_WITH_CONSTANT, /* see doubts.h */
    GROUP_WITH_HOST,
    GROUP_KINDS
};

enum { ATTRIBUTION_FINDING_GROUPS = ATTRIBUTION_GROUPS + LEDGER_GROUPS + 2 };

struct attribution_finding {
    enum attribution_state state;
    unsigned group;     /* index in groups, plus 1; 0: none */
    double probability; /* that it makes memory slow, by its onsets; NaN: none was judged */
    double effect, se;  /* log latency */
    double caused_ns, sd_ns;
    double score, support; /* of the regression; 0: it is no candidate */
    double activity, lowest;
};

struct attribution_found_group {
    enum attribution_group_kind kind;
    unsigned members;
    double score; /* of the regression; else 0 */
    double effect, se, caused_ns, sd_ns;
};

struct attribution_findings {
    double effect, per_effect; /* S of all, and F: see domain.h */
    double named_ns, group_ns, rest_ns;
    double standing; /* effect of those who are named and of groups: what is not the calm */
    bool named, suspected;
    unsigned n_groups;
    struct attribution_found_group groups[ATTRIBUTION_FINDING_GROUPS];
};

struct attribution_node;

/* After a reading: the findings of all columns and of the node. */
void findings_make(struct attribution_node *node);

enum gate_domain_state findings_state(const struct attribution_node *node);

#endif
