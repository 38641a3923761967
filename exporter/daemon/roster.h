/*
 * The collectors of this run: which of the table run, and what the loop knows of each.
 */
#ifndef IE_DAEMON_ROSTER_H
#define IE_DAEMON_ROSTER_H

#include "collectors/contract/collector.h"
#include "exporter/daemon/plan.h"
#include "exporter/self/self.h"

/* A collector of the table, running or not. */
struct roster_entry {
    const struct collector_ops *ops;
    struct collector_env env; /* with the config that is its own */
    struct collector_status status;
    void *self;                    /* NULL: not running */
    double duration_seconds;       /* in collect, since the start */
    uint64_t last_success_wall_ns; /* 0: never */

    /* As it was when last noted, and since when. */
    bool was_available;
    enum reason was_reason;
    uint64_t since_wall_ns; /* 0: never noted */
};

struct roster {
    struct roster_entry at[COLLECTORS_MAX]; /* as collector_table */
    size_t n;
};

/* Starts what the plan wants and the machine allows; the others' verdicts say why not. All zero
 * before. 'env' is copied, its config is filled in. */
void roster_start(struct roster *roster, const struct plan *plan, const struct collector_env *env);
void roster_stop(struct roster *roster);

/* Passes on what changed; also to those that asked for it when nothing did. */
void roster_reconcile(struct roster *roster, const struct container_diff *diff);
void roster_collect(struct roster *roster, const struct tick *tick);

/* Notes what each is now; once a tick. */
void roster_note(struct roster *roster, uint64_t wall_ns);

/* What the running collectors learned. */
void roster_save(const struct roster *roster, struct state_writer *out);

/* Running, and not found out to be useless since. */
bool roster_is_available(const struct roster_entry *entry);
/* What the exporter's own metrics say of each; 'out' has room for COLLECTORS_MAX. */
void roster_report(const struct roster *roster, struct self_collector *out);

#endif
