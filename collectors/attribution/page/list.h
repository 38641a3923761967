/*
 * What is known of every node, for a page that other threads make: names and numbers of one tick.
 *
 * The collector writes a list and then shows it at once, and never waits; readers get a copy. Fixed
 * size.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_PAGE_LIST_H
#define IE_COLLECTORS_ATTRIBUTION_PAGE_LIST_H

#include "collectors/attribution/lanes/lane.h"
#include "collectors/parts/double_buffer.h"
#include "exporter/base/textbuf.h"

/* Containers that are named, suspected or in groups at the same time, on all nodes together. */
enum { ATTRIBUTION_LIST_ROWS = 256 };

/* Cut where they are longer than Kubernetes allows. */
struct attribution_list_names {
    char namespace_[64], pod[256], name[256], short_id[13];
};

struct attribution_list_row {
    uint32_t domain; /* index */
    struct attribution_list_names who;
    struct attribution_finding finding; /* of this container's part in its workload */
};

/* Of one that is among a domain's heaviest aggressors, or its most burdened victims. */
struct attribution_list_party {
    struct attribution_list_names who;
    size_t slot;
    struct attribution_traffic traffic;
};

struct attribution_list_domain {
    int numa_node;
    bool traffic; /* is the activity; else CPU time */
    bool known;   /* what follows, but for the candidates */
    enum gate_domain_state state;
    double latency_ns, calm_ns, excess_ns, by_ns[ATTRIBUTION_PARTS]; /* see node.h */
    double noise_ratio, inflation_ratio;
    unsigned candidates;
    double steps_per_hour; /* of the latency, by itself */
    uint64_t readings;
    unsigned n_groups;
    struct attribution_found_group groups[ATTRIBUTION_FINDING_GROUPS];

    struct attribution_total total; /* where activity is traffic */
    struct waits waits;             /* without 'all' */
    size_t first_party;             /* where waits are known: its aggressors, then its victims */
    unsigned n_aggressors, n_burdened;
};

/* One list, of which the double buffer has two. */
struct attribution_list {
    uint64_t wall_ns; /* of the tick; 0: there was none yet */
    bool cut;         /* there were more rows than fit */
    size_t n_domains, n_rows, n_parties;
    struct attribution_list_domain domains[ATTRIBUTION_NODES];
    struct attribution_list_row rows[ATTRIBUTION_LIST_ROWS];
    struct attribution_list_party parties[2 * WAITS_TOP * ATTRIBUTION_NODES];
};

/* The writer, after a tick's readings. Not shown, until the next, while a reader is copying. Tells
 * exporter/live as well who makes which node's memory slow. */
void attribution_list_write(struct double_buffer *lists,
                            const struct attribution_context *collector, const struct lanes *lanes,
                            const struct tick *tick);

/* Any thread: a copy of what is shown, for free(); NULL: nothing is, or out of memory. */
struct attribution_list *attribution_list_copy(struct double_buffer *lists);

/* Any thread. The document /api/v1/interference: who makes memory slow now, and how sure that is;
 * lists NULL: the collector does not run. 0 or -ENOMEM. */
int attribution_page_render(struct double_buffer *lists, const char *source, struct textbuf *out);

/* Any thread. The same in a sentence per NUMA node, plain text, for the landing page; nothing where
 * nothing is known yet, or out of memory. */
void attribution_headline(struct double_buffer *lists, struct textbuf *out);

#endif
