/*
 * The endpoints: /metrics, /, health, readiness, status, containers, and the
 * pages of collectors.
 *
 * Handlers run on the server's thread. They read published snapshots and a copy of the status that
 * the loop leaves here once a tick; they never touch the loop's own state.
 *
 * The documents of containers and collectors tell ids and processes of tenants. Clients on this
 * machine and authenticated ones get them, and everybody only where the configuration says so;
 * others get 403.
 */
#ifndef IE_PAGES_PAGES_H
#define IE_PAGES_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/contract/collector.h"
#include "exporter/base/clock.h"
#include "exporter/base/log.h"
#include "exporter/base/reason.h"
#include "exporter/base/textbuf.h"
#include "exporter/blackbox/blackbox.h"
#include "exporter/containers/container.h"
#include "exporter/expose/expose.h"
#include "exporter/http/http.h"
#include "exporter/live/live.h"
#include "exporter/source/machine.h"

enum { PAGES_UNHEALTHY_INTERVALS = 10 }; /* how old the last tick may be */

/* What is kept across restarts. */
struct pages_state {
    const char *file;       /* NULL: nothing */
    char words[256];        /* what became of the file at start */
    uint64_t saved_wall_ns; /* when it was last written; 0: not yet */
    char failure[256];      /* why that failed last; "": it did not */
};

struct pages_status {
    const char *source;     /* constant, like all strings here */
    const char *source_why; /* why that one, in words; NULL: there was no choice */
    struct machine machine;
    double llc_hit_seconds; /* measured by the probe; 0: not known */
    struct tick tick;
    uint64_t missed_ticks;
    bool replay_ended; /* no further tick will come, and that is healthy */
    struct {
        bool available;
        struct verdict verdict;
        uint64_t since_wall_ns; /* of both, but for the words; by the real clock */
        uint64_t discarded[DISCARD_COUNT], open_failures[REASON_COUNT];
    } collectors[COLLECTORS_MAX]; /* beside pages_config.collectors */
    size_t containers[CONTAINER_COUNTS];
    uint64_t refused[CGROUP_REFUSALS], log_dropped[LOG_DROPS];
    uint64_t unread; /* intervals on a CPU whose counts nobody has */
    struct pages_state state;
};

struct pages;

/* A collector that pages tell of, and whose own page they serve. */
struct pages_collector {
    const struct collector_ops *ops;
    void *self; /* NULL: it does not run */
};

struct pages_config {
    const char *telemetry_path; /* borrowed, like all pointers here */
    const char *version, *revision, *compiler;
    /* When the exporter was started, by the real clocks. */
    uint64_t started_wall_ns, started_mono_ns;
    struct live *live; /* NULL: nothing is known of containers and memory now */
    struct expose *expose;
    struct store *store;
    const struct pages_collector *collectors; /* at most COLLECTORS_MAX; copied */
    size_t n_collectors;
    bool api;                  /* names of processes and containers' ids are for everybody */
    struct blackbox *blackbox; /* NULL: there is none */
    bool keeps;                /* what was shown at each tick, to be asked for by ?at= */
    const char *note;          /* with what was shown: a sentence; NULL: none. Borrowed */
    uint64_t own_cgroup;       /* inode of the exporter's own; 0: not known, or a replay */
};

int pages_new(const struct pages_config *config, struct pages **out);
void pages_free(struct pages *pages);

/* Loop thread, once a tick; copies. 'now_ns' is the real monotonic clock, also under replay. */
void pages_update(struct pages *pages, const struct pages_status *status, uint64_t now_ns);

/* Loop thread, after pages_update(): what is shown now is kept, where the configuration says so.
 * 'mark': why a recording marks this tick; "": it does not. 0 or -errno. */
int pages_keep(struct pages *pages, uint64_t wall_ns, const char *mark);

/* What was kept, as one page that needs nothing else: the node at the first mark, and when what
 * else began. 0, -ENODATA where nothing was kept, or -ENOMEM. */
int pages_report(struct pages *pages, struct textbuf *out);

/* The document of /api/v1/containers, whole. 0, -ENODATA before anything was published, or -ENOMEM.
 */
int pages_containers(struct pages *pages, struct textbuf *out);

/* For http_config; the context is the struct pages. */
const struct http_route *pages_routes(const struct pages *pages, size_t *n);

#endif
