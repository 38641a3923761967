#include "exporter/daemon/roster.h"

#include <string.h>

#include "exporter/service/loop.h"

static void start(struct roster_entry *c, bool wanted)
{
    const struct log *log = c->env.log;
    struct verdict *verdict = &c->status.verdict;
    if (!wanted) {
        if (c->ops->default_on == COLLECTOR_OFF)
            verdict_set(verdict, REASON_DISABLED, "off unless --collector.%s is given",
                        c->ops->name);
        else
            verdict_set(verdict, REASON_DISABLED, "switched off by a flag");
        return;
    }
    if (!c->ops->probe(&c->env, verdict)) {
        log_info(log, c->ops->name, "not available (%s): %s", reason_name(verdict->reason),
                 verdict->words);
        return;
    }
    int err = c->ops->start(&c->env, &c->status, &c->self);
    if (err) {
        c->self = NULL;
        if (verdict->reason == REASON_OK) /* otherwise it has said why */
            verdict_set(verdict, REASON_NO_DEVICE, "could not start: %s", strerror(-err));
        log_error(log, c->ops->name, "%s", verdict->words);
    } else {
        log_info(log, c->ops->name, "running");
    }
}

void roster_start(struct roster *roster, const struct plan *plan, const struct collector_env *env)
{
    for (; collector_table[roster->n]; roster->n++) {
        struct roster_entry *c = &roster->at[roster->n];
        c->ops = collector_table[roster->n];
        c->env = *env;
        c->env.config = &plan->options->config[roster->n];
        start(c, plan->wanted[roster->n]);
    }
}

void roster_stop(struct roster *roster)
{
    for (size_t i = 0; i < roster->n; i++)
        if (roster->at[i].self)
            roster->at[i].ops->stop(roster->at[i].self);
    roster->n = 0;
}

void roster_reconcile(struct roster *roster, const struct container_diff *diff)
{
    bool changed = !container_diff_is_empty(diff);
    for (size_t i = 0; i < roster->n; i++) {
        struct roster_entry *c = &roster->at[i];
        if (c->self && c->ops->reconcile && (changed || c->status.wants_reconcile))
            c->ops->reconcile(c->self, diff);
    }
}

void roster_collect(struct roster *roster, const struct tick *tick)
{
    for (size_t i = 0; i < roster->n; i++) {
        struct roster_entry *c = &roster->at[i];
        if (!c->self)
            continue;
        uint64_t start_ns = loop_now_ns();
        int err = c->ops->collect(c->self, tick);
        c->duration_seconds += (double)(loop_now_ns() - start_ns) * 1e-9;
        c->status.failed = err != 0;
        if (!err)
            c->last_success_wall_ns = tick->wall_ns;
    }
}

void roster_note(struct roster *roster, uint64_t wall_ns)
{
    for (size_t i = 0; i < roster->n; i++) {
        struct roster_entry *c = &roster->at[i];
        bool available = roster_is_available(c);
        enum reason reason = c->status.verdict.reason;
        if (c->since_wall_ns > 0 && available == c->was_available && reason == c->was_reason)
            continue;
        c->was_available = available;
        c->was_reason = reason;
        c->since_wall_ns = wall_ns;
    }
}

void roster_save(const struct roster *roster, struct state_writer *out)
{
    for (size_t i = 0; i < roster->n; i++)
        if (roster->at[i].self && roster->at[i].ops->save)
            roster->at[i].ops->save(roster->at[i].self, out);
}

bool roster_is_available(const struct roster_entry *entry)
{
    return entry->self && collector_is_available(&entry->status);
}

void roster_report(const struct roster *roster, struct self_collector *out)
{
    for (size_t i = 0; i < roster->n; i++) {
        const struct roster_entry *c = &roster->at[i];
        out[i] = (struct self_collector){
            .status = &c->status,
            .enabled = c->self != NULL,
            .duration_seconds = c->duration_seconds,
            .last_success_wall_ns = c->last_success_wall_ns,
        };
    }
}
