/*
 * The contract of a collector: from raw counts to metrics.
 *
 * A collector is struct collector_ops and one line in collectors/table.h; it lies in
 * collectors/NAME.c, and in a folder of its own when it grows. Nothing else of the exporter knows
 * its name: its flags, its page and what it needs of the machine are in its ops. It sees sources,
 * containers and the store's write side; never HTTP, a snapshot, or another collector. The loop's
 * thread calls all ops but the page's, in this order: probe, start, then for every tick reconcile
 * (if anything changed) and collect, with further reconciles in between; stop last.
 */
#ifndef IE_COLLECTORS_CONTRACT_COLLECTOR_H
#define IE_COLLECTORS_CONTRACT_COLLECTOR_H

#include <stdbool.h>

#include "collectors/contract/container_labels.h"
#include "collectors/contract/discard.h"
#include "collectors/contract/facts.h"
#include "collectors/contract/option.h"
#include "collectors/contract/thresholds.h"
#include "exporter/base/log.h"
#include "exporter/base/reason.h"
#include "exporter/base/textbuf.h"
#include "exporter/containers/container.h"
#include "exporter/live/live.h"
#include "exporter/source/inventory.h"
#include "exporter/source/source_set.h"
#include "exporter/state/state.h"
#include "exporter/store/store.h"

enum { COLLECTORS_MAX = 16 };

/* What a collector tells about itself; the loop exports it. */
struct collector_status {
    struct verdict verdict; /* may change while running */
    bool unavailable;       /* found out while running: nothing to count here, see the verdict */
    bool failed;            /* the last collect returned an error */
    /* Set by collect: reconcile is to be called before the page is published even if no container
     * came or went, since what could not be opened may be now, or other series are needed. Taken
     * back by reconcile. */
    bool wants_reconcile;
    uint64_t discarded[DISCARD_COUNT];
    uint64_t open_failures[REASON_COUNT];
    double pmu_enabled_seconds; /* of the windows read, summed over CPUs and groups */
    double pmu_running_seconds;
};

/* Everything a collector may use. Outlives it. */
struct collector_env {
    struct source_set *sources;
    const struct inventory *inventory;
    struct store *store;
    struct container_labels *labels;
    const void *config;                  /* the collector's own, as its options say; never NULL */
    const struct thresholds *thresholds; /* contents change on reload, between ticks */
    struct facts *facts;
    struct state *state; /* what it learned before a restart: state_claim(); NULL: nothing */
    struct live *live;   /* what people are shown; NULL: nobody is */
    bool brief;          /* it ends after ten seconds: what is known by then is all that is shown */
    const struct log *log;
};

/* Of a collector that runs: whether it can be trusted to publish anything. The other reasons may
 * hold for some containers only, while the rest is served. */
static inline bool collector_is_available(const struct collector_status *status)
{
    return !status->unavailable && status->verdict.reason != REASON_EVENT_FILTERED;
}

enum collector_default {
    COLLECTOR_OFF,
    COLLECTOR_ON,
    COLLECTOR_AUTO, /* on where its hardware is; without it silently disabled */
};

/* What must be there before a collector that is switched on is probed. */
enum collector_needs {
    NEEDS_PROBE = 1 << 0,   /* the memory probe, whose threads run from the start */
    NEEDS_SAMPLES = 1 << 1, /* samples of accesses, and the privileges that they take */
};

/* Which accesses are sampled. What several collectors want is put together: every kind that one of
 * them wants, with the shortest period. Stores are sampled whenever anything is: loads come with
 * them, never alone. */
struct sampling_request {
    uint64_t period; /* accesses per sample, of each kind */
    bool wanted[ACCESS_KINDS];
};

/* A JSON document of the collector's own, for what is too much or too short-lived for series. */
struct collector_page {
    const char *path;    /* begins with "/api/"; unique among all pages */
    const char *handler; /* label 'handler' of the requests' metrics */
    const char *title;   /* of the link on the landing page */

    /*
     * Adds the document to 'out'; otherwise -errno, and the request is answered with an error.
     * 'self' is NULL while the collector does not run; 'source' is the label of
     * interference_exporter_source_info. With headline, the only op that the HTTP server's threads
     * call: at any time between start and stop, several of them at once, and while the loop's
     * thread is in another op. The collector guards what they share, in such a way that collect
     * never waits for a page.
     */
    int (*render)(void *self, const char *source, struct textbuf *out);

    /*
     * Adds what is most worth knowing of it, in a sentence or two of plain text, to the landing
     * page; adds nothing when there is nothing to say. NULL: never. Not called while the collector
     * does not run; otherwise by the same threads as render.
     */
    void (*headline)(void *self, struct textbuf *out);
};

struct collector_ops {
    const char *name; /* as in flags, labels and collect[] */
    const char *summary;
    enum collector_default default_on;
    const struct metric_desc *const *metrics; /* ended by NULL; for the reference and the checks */
    unsigned needs;                           /* of enum collector_needs */
    const struct option_flag *options;        /* ended by one without a name; NULL: none */
    const struct collector_page *page;        /* NULL: none */
    /* Bits (DISCARD_BIT) of the reasons for which it commonly discards: these counters begin at 0
     * when it starts to run, all others when it first happens. */
    unsigned discards;

    /* With NEEDS_SAMPLES: what its flags ask for; *request is all zero before. Called before probe,
     * if it is switched on. Pure. */
    void (*sampling)(const void *config, struct sampling_request *request);

    /* Which groups (bits, of enum group) it opens for each container beside the one that most open,
     * which is core, fills or cpi: what counting takes is judged by it. Pure; NULL: none. */
    uint32_t (*more_groups)(const void *config);

    /* Whether it can work here. Must not open anything that stays. */
    bool (*probe)(const struct collector_env *env, struct verdict *why);

    /* Registers families, allocates. 0 with *self, or -errno with nothing left behind. 'status' is
     * for the collector to keep up to date. */
    int (*start)(const struct collector_env *env, struct collector_status *status, void **self);

    /* Containers came, got names, went; or wants_reconcile, with an empty diff. Allocates and
     * opens; NULL if it has no containers. */
    void (*reconcile)(void *self, const struct container_diff *diff);

    /* One tick: reads, computes, sets. Neither allocates nor opens. */
    int (*collect)(void *self, const struct tick *tick);

    /* Between ticks: what it learned, one entry per container and one for the node, for a collector
     * that is started later to claim. Neither allocates nor opens. NULL: nothing worth keeping. */
    void (*save)(void *self, struct state_writer *out);

    /* No page is being made any more. Frees everything; its families stay in the store, without
     * series. Accepts NULL. */
    void (*stop)(void *self);
};

/* The one list (collectors/table.h), ended by NULL; never more than COLLECTORS_MAX. */
extern const struct collector_ops *const collector_table[];

#endif
