/*
 * One whole exporter from the inside: exporter.c puts it together, run.c drives it, tick.c is what
 * it does at every tick.
 */
#ifndef IE_DAEMON_INTERNAL_H
#define IE_DAEMON_INTERNAL_H

#include <stdatomic.h>

#include "collectors/contract/collector.h"
#include "exporter/containers/discovery/discovery.h"
#include "exporter/daemon/exporter.h"
#include "exporter/daemon/feed.h"
#include "exporter/daemon/roster.h"
#include "exporter/daemon/saved_state.h"
#include "exporter/daemon/sources.h"
#include "exporter/expose/expose.h"
#include "exporter/front/front.h"
#include "exporter/host/host.h"
#include "exporter/live/live.h"
#include "exporter/pages/pages.h"
#include "exporter/self/self.h"
#include "exporter/service/descriptors.h"
#include "exporter/service/loop.h"

struct exporter {
    const struct plan *plan;
    const struct options *options; /* the plan's */
    const struct log *log;
    struct facts facts;
    struct thresholds thresholds;
    struct descriptor_shares descriptors;
    struct descriptor_shares allowed; /* the same, were memory no matter */
    enum log_level room_said;         /* of the line about it; LOG_LEVEL_DEBUG: none yet */
    size_t room_found;                /* containers that it was looked at for */

    struct sources sources;
    struct container_table *table;
    struct cgroup_map *map;
    struct discovery *discovery; /* NULL under replay, and where there is no hierarchy */
    struct feed *feed;

    struct store *store;
    struct container_labels *labels;
    struct saved_state saved;
    struct roster roster;
    struct self *self;

    struct live *live;
    struct host host; /* all zero under replay, which is of another one */
    struct expose *expose;
    struct pages *pages;
    struct front *front;        /* borrowed; NULL: the server below is used */
    struct http_server *server; /* in this process */
    atomic_bool server_lost;
    bool inspector_lost;

    struct loop *loop;
    struct ticker ticker;
    struct tick tick; /* the last one that ran */
    uint64_t ticks;
    bool reload_ok;
    uint64_t reload_wall_ns; /* of the last successful one */

    /* Replay: the tick that comes next is known ahead, since its time is in the recording. */
    bool replay_loaded, replay_ended;
    bool marked; /* a tick of it was, so far */
    struct tick replay_tick;
    uint64_t replay_begin_ns;  /* the recording's first tick, by its clock */
    uint64_t replay_origin_ns; /* our clock minus the recording's; 0: as fast as possible so far */
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
void exporter_run_tick(struct exporter *e, const struct tick *tick);

#endif
