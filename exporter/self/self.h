/*
 * The exporter's own metrics: whether it works, whether its numbers can be trusted, what it costs.
 *
 * Families are registered without an owner, so every scrape has them. Loop thread only.
 */
#ifndef IE_SELF_SELF_H
#define IE_SELF_SELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/contract/collector.h"
#include "exporter/base/log.h"
#include "exporter/blackbox/blackbox.h"
#include "exporter/containers/container.h"

struct self_config {
    const char *version, *revision, *compiler;     /* of this program */
    const char *source;                            /* "perf" or "replay" */
    const char *microarchitecture;                 /* "" or NULL is shown as "unknown" */
    const struct collector_ops *const *collectors; /* ended by NULL; borrowed, like their names */
    bool disable_exporter_metrics;                 /* no process_*, no http_requests */
};

/* What the loop knows about a collector. */
struct self_collector {
    /* NULL: nothing known. Its verdict also explains why a collector is not enabled: REASON_OK (or
     * no status) then means REASON_DISABLED. If the collector is enabled, its verdict may be about
     * some containers only; only REASON_EVENT_FILTERED is always about all. */
    const struct collector_status *status;
    bool enabled;                  /* asked for, and started */
    double duration_seconds;       /* in collect, since the start */
    uint64_t last_success_wall_ns; /* 0: never */
};

/* All since the start. */
struct self_state {
    const struct self_collector *collectors; /* one for each of self_config.collectors */
    const struct tick *tick;
    uint64_t ticks, missed_ticks;
    size_t containers[CONTAINER_COUNTS];
    size_t containers_limit;
    uint64_t refused[CGROUP_REFUSALS];
    size_t open_counters;
    bool reload_successful; /* of the last reload; the start counts as one */
    uint64_t reload_success_wall_ns;
    uint64_t log_dropped[LOG_DROPS];
    bool records, recording_active; /* a recording was asked for; it goes on */
    bool has_blackbox, blackbox_active;
    const char *blackbox_directory; /* with the former */
    struct blackbox_report blackbox;
    uint64_t blackbox_dropped;
};

struct self;

/* Registers families and makes the series that are known beforehand. 0; or -errno, with families
 * left in the store without series. The store must outlive it. */
int self_new(struct store *store, const struct self_config *config, struct self **out);
void self_free(struct self *self);

/* Once a tick, before publishing. Neither allocates nor opens. */
void self_update(struct self *self, const struct self_state *state);

/*
 * The requests so far with one combination of labels; 'self' is void for
 * http_server_requests(server, self_http_requests, self), once a tick before publishing. A new
 * combination allocates; if that fails, the next call tries again.
 */
void self_http_requests(void *self, const char *handler, const char *format, int code,
                        uint64_t count);

#endif
