/*
 * One whole exporter from the inside; for exporter.c (what it does) and exporter_build.c (how it is
 * put together) only.
 */
#ifndef IE_DAEMON_EXPORTER_INTERNAL_H
#define IE_DAEMON_EXPORTER_INTERNAL_H

#include "collectors/contract/collector.h"
#include "exporter/containers/discovery/discovery.h"
#include "exporter/daemon/exporter.h"
#include "exporter/daemon/feed.h"
#include "exporter/daemon/sources.h"
#include "exporter/expose/expose.h"
#include "exporter/pages/pages.h"
#include "exporter/self/self.h"
#include "exporter/service/descriptors.h"
#include "exporter/service/loop.h"
#include "exporter/service/ticker.h"

/* A collector of the table, running or not. */
struct running {
    const struct collector_ops *ops;
    struct collector_status status;
    void *instance; /* NULL: not running */
};

struct exporter {
    const struct options *options;
    const struct log *log;
    struct fsroot fs;
    struct facts facts;
    struct thresholds thresholds;
    struct descriptor_shares descriptors;

    struct sources sources;
    struct container_table *table;
    struct cgroup_map *map;
    struct discovery *discovery; /* NULL under replay, and where there is no hierarchy */
    struct feed *feed;

    struct store *store;
    struct container_labels *labels;
    struct collector_env env;
    struct running running[COLLECTORS_MAX];
    struct self_collector books[COLLECTORS_MAX]; /* beside running */
    size_t n_running;                            /* collectors known, running or not */
    struct self *self;

    struct expose *expose;
    struct pages *pages;
    struct http_server *server;

    struct loop *loop;
    struct ticker ticker;
    struct tick tick; /* the last one that ran */
    uint64_t ticks;
    bool reload_ok;
    uint64_t reload_wall_ns; /* of the last successful one */

    /* Replay: the tick that comes next is known ahead, since its time is in the recording. */
    bool replay_loaded, replay_ended;
    struct tick replay_tick;
    uint64_t replay_origin_ns; /* our clock minus the recording's */
    int failure;               /* why the loop was stopped, if by an error */
    char failure_words[512];
};

static inline bool is_replay(const struct exporter *e)
{
    return e->sources.replay != NULL;
}

/* What the loop calls. */
extern const struct loop_callbacks exporter_callbacks;

/* Tells everyone who keeps something per container what changed since the last time. */
void exporter_reconcile(struct exporter *e);
/* Makes the staged state the page. */
void exporter_publish(struct exporter *e);

#endif
