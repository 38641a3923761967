#include <string.h>

#include "exporter/blackbox/blackbox.h"
#include "exporter/daemon/internal.h"

static void reserve_live(struct exporter *e, const struct container_diff *diff)
{
    int err = 0;
    for (size_t i = 0; i < diff->added.n && !err; i++)
        err = live_reserve(e->live, diff->added.at[i]->slot + 1);
    if (err)
        log_error(e->log, "exporter", "out of memory: some containers are not on the page /");
}

/* Once there are containers, for it is what is open for them that tells what each takes, and as
 * they become more. A warning where there is no room for as many as may be expected here; else what
 * --containers.max has of that is no lack. */
static void say_room(struct exporter *e)
{
    size_t found = container_table_count(e->table, CONTAINERS_MONITORED) +
                   container_table_count(e->table, CONTAINERS_OVER_LIMIT);
    if (e->room_said == LOG_LEVEL_WARN || found <= e->room_found || is_replay(e))
        return;
    size_t each, counted = sources_room(&e->sources, e->allowed.counters, &each);
    if (each == 0 && !e->sources.eventless)
        return; /* perf has refused all so far */
    size_t limit = descriptors_limit(), max = e->options->containers_max;
    bool by_perf = counted < e->allowed.containers;
    size_t room = by_perf ? counted : e->allowed.containers;
    enum log_level level = room < counting_containers(found, max) ? LOG_LEVEL_WARN : LOG_LEVEL_INFO;
    bool say = room < max && level > e->room_said;
    e->room_found = found;
    if (!say)
        return;
    e->room_said = level;
    if (by_perf)
        log_write(e->log, level, "exporter",
                  "%zu file descriptors are enough for the counters of at most %zu containers, at "
                  "%zu each by perf, not for --containers.max=%zu: raise LimitNOFILE= or ulimit -n",
                  limit, room, each, max);
    else
        log_write(e->log, level, "exporter",
                  "%zu file descriptors are enough for at most %zu containers, not for "
                  "--containers.max=%zu: raise LimitNOFILE= or ulimit -n",
                  limit, room, max);
}

/* Everyone who keeps something per container, in the order that container_labels.h demands. */
void exporter_reconcile(struct exporter *e)
{
    struct container_diff diff;
    container_table_take_diff(e->table, &diff);
    bool changed = !container_diff_is_empty(&diff);
    if (changed && container_labels_reconcile(e->labels, &diff) != 0)
        log_error(e->log, "exporter", "out of memory: some containers get no series");
    reserve_live(e, &diff);
    roster_reconcile(&e->roster, &diff);
    if (changed && e->sources.recorder)
        feed_record(e->sources.recorder, &diff);
    say_room(e);
}

static void tell_table(struct exporter *e)
{
    size_t cursor = 0;
    struct container *container;
    while ((container = container_table_next(e->table, &cursor)))
        container_table_read(e->table, container);
}

struct table_walk {
    struct container_table *table;
    size_t cursor;
};

static const struct container *walk(void *context)
{
    struct table_walk *at = context;
    return container_table_next(at->table, &at->cursor);
}

static void show_live(struct exporter *e)
{
    struct table_walk at = {e->table, 0};
    if (!is_replay(e)) {
        host_tick(&e->host, e->tick.mono_ns);
        live_host(e->live, &e->host.known);
    }
    live_show(e->live, &e->tick, walk, &at);
}

static const char *key_of(const struct exporter *e, uint64_t tag)
{
    size_t cursor = 0;
    const struct container *c;
    while (tag && (c = container_table_next(e->table, &cursor)))
        if (container_tag(c->slot, c->gen) == tag)
            return c->key;
    return "";
}

static void tell_blackbox(void *context, const struct live_incident *incident)
{
    static const enum blackbox_why whys[] = {
        [LIVE_INCIDENT_WAITS] = BLACKBOX_WAITS,
        [LIVE_INCIDENT_NAMED] = BLACKBOX_NAMED,
        [LIVE_INCIDENT_UNNAMED] = BLACKBOX_UNNAMED,
        [LIVE_INCIDENT_LOSES] = BLACKBOX_LOSES,
    };
    struct exporter *e = context;
    enum blackbox_why why = whys[incident->kind];
    if (blackbox_is(e->plan->blackbox, why, incident->tag, incident->id))
        blackbox_mark(e->plan->blackbox, why, key_of(e, incident->tag));
}

/* What begins in this tick of a recording, and with whom: "waits: shop/cart-0/cart, named". */
static void add_marks(struct exporter *e, struct textbuf *out)
{
    size_t n;
    const struct replay_mark *marks = replay_marks(e->sources.replay, &n);
    for (size_t i = 0; i < n; i++) {
        size_t cursor = 0;
        const struct container *c = NULL;
        while (marks[i].key[0] && (c = container_table_next(e->table, &cursor)) &&
               strcmp(c->key, marks[i].key) != 0)
            ;
        textbuf_str(out, i > 0 ? ", " : "");
        textbuf_str(out, marks[i].why);
        if (c && c->namespace_[0])
            textbuf_printf(out, ": %s/%s/%s", c->namespace_, c->pod, c->name);
        else if (c)
            textbuf_printf(out, ": %s", c->name);
    }
}

/* What was learned is not all that collectors have: who is suspected, and means over seconds, are
 * what they were live after a minute. Until then nothing is shown, unless something begins
 * there. */
static bool settles(const struct exporter *e, const char *mark)
{
    static const uint64_t minute_ns = UINT64_C(60000000000);
    return !mark[0] && !e->saved.path && e->saved.state && !e->marked &&
           e->tick.number > e->ticks && /* the exporter did not begin with the recording */
           e->tick.mono_ns - state_mono_ns(e->saved.state) <= minute_ns;
}

static void keep_shown(struct exporter *e)
{
    struct textbuf mark = TEXTBUF_INIT;
    add_marks(e, &mark);
    const char *text = textbuf_finish(&mark) || !mark.data ? "" : mark.data;
    if (!settles(e, text) && pages_keep(e->pages, e->tick.wall_ns, text) != 0)
        log_error(e->log, "exporter", "out of memory: tick %llu cannot be shown",
                  (unsigned long long)e->tick.number);
    e->marked |= text[0] != '\0';
    textbuf_release(&mark);
}

static void report_collectors(struct exporter *e, struct pages_status *status)
{
    roster_note(&e->roster, loop_wall_ns());
    for (size_t i = 0; i < e->roster.n; i++) {
        const struct roster_entry *entry = &e->roster.at[i];
        status->collectors[i].available = roster_is_available(entry);
        status->collectors[i].verdict = entry->status.verdict;
        status->collectors[i].since_wall_ns = entry->since_wall_ns;
        memcpy(status->collectors[i].discarded, entry->status.discarded,
               sizeof status->collectors[i].discarded);
        memcpy(status->collectors[i].open_failures, entry->status.open_failures,
               sizeof status->collectors[i].open_failures);
    }
}

void exporter_publish(struct exporter *e)
{
    container_labels_settle(e->labels);
    struct self_collector collectors[COLLECTORS_MAX];
    roster_report(&e->roster, collectors);
    struct self_state state = {
        .collectors = collectors,
        .tick = &e->tick,
        .ticks = e->ticks,
        .missed_ticks = e->ticker.missed,
        .containers_limit = e->descriptors.containers,
        .open_counters = source_set_open_counters(e->sources.set),
        .reload_successful = e->reload_ok,
        .reload_success_wall_ns = e->reload_wall_ns,
        .records = e->options->record_file != NULL,
        .has_blackbox = e->plan->blackbox != NULL,
        .recording_active = e->sources.recorder && recorder_is_active(e->sources.recorder),
    };
    if (e->plan->blackbox) {
        blackbox_read(e->plan->blackbox, &state.blackbox, &state.blackbox_dropped,
                      &state.blackbox_active);
        state.blackbox_directory = blackbox_directory(e->plan->blackbox);
    }
    log_limits_read(e->log ? e->log->limits : NULL, state.log_dropped);
    if (e->front)
        front_log_dropped(e->front, state.log_dropped);
    struct pages_status status = {
        .source = e->sources.name,
        .source_why = e->sources.by.words,
        .machine = e->facts.machine,
        .llc_hit_seconds = e->facts.llc_hit_seconds,
        .tick = e->tick,
        .missed_ticks = e->ticker.missed,
        .replay_ended = e->replay_ended,
        .unread = source_set_unread(e->sources.set),
    };
    saved_state_report(&e->saved, &status.state);
    for (int i = 0; i < CONTAINER_COUNTS; i++)
        state.containers[i] = status.containers[i] =
            container_table_count(e->table, (enum container_count)i);
    report_collectors(e, &status);
    for (int i = 0; e->discovery && i < CGROUP_REFUSALS; i++)
        state.refused[i] = status.refused[i] =
            discovery_refused(e->discovery, (enum cgroup_refusal)i);
    memcpy(status.log_dropped, state.log_dropped, sizeof status.log_dropped);
    self_update(e->self, &state);
    if (e->server)
        http_server_requests(e->server, self_http_requests, e->self);
    if (e->front)
        front_requests(e->front, self_http_requests, e->self);
    store_set_origin(e->store, e->sources.name, e->replay_ended);
    if (store_publish(e->store, &e->tick) != 0)
        log_error(e->log, "exporter", "out of memory: the last page stays");
    pages_update(e->pages, &status, loop_now_ns());
}

void exporter_run_tick(struct exporter *e, const struct tick *tick)
{
    e->ticks++;
    e->facts.containers_unseen = container_table_count(e->table, CONTAINERS_EXCLUDED) +
                                 container_table_count(e->table, CONTAINERS_OVER_LIMIT);
    if (e->plan->blackbox && blackbox_forgot(e->plan->blackbox)) {
        saved_state_tell(&e->saved, &e->roster, e->live, e->tick.mono_ns);
        recorder_repeat(e->sources.recorder);
        feed_record_all(e->sources.recorder, e->table, e->tick.mono_ns);
    }
    e->tick = *tick;
    if (e->sources.recorder)
        recorder_tick(e->sources.recorder, tick);
    if (source_set_begin(e->sources.set, tick) != 0)
        log_debug(e->log, "exporter", "a source could not begin tick %llu",
                  (unsigned long long)tick->number);
    if (is_replay(e) && feed_replay(e->feed, e->sources.replay, e->table, tick->mono_ns) != 0)
        log_error(e->log, "exporter", "out of memory: some recorded containers are missing");
    if (e->discovery)
        discovery_advance(e->discovery, tick->mono_ns);
    container_table_advance(e->table, tick->mono_ns);
    exporter_reconcile(e);

    live_begin(e->live);
    roster_collect(&e->roster, &e->tick);
    /* What collecting found out may need new series, or free descriptors for others. */
    roster_reconcile(&e->roster, &(struct container_diff){0});
    tell_table(e);
    show_live(e);
    if (e->plan->blackbox)
        live_incidents(e->live, tell_blackbox, e);
    if (e->sources.recorder)
        recorder_flush(e->sources.recorder);
    exporter_publish(e);
    if (e->options->open_file)
        keep_shown(e);
    saved_state_tick(&e->saved, &e->roster, e->live, tick->mono_ns);
}
