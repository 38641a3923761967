#include <errno.h>
#include <string.h>

#include "exporter/daemon/exporter_internal.h"
#include "exporter/service/notify.h"

/* ---- containers ---- */

/* Everyone who keeps something per container, in the order that container_labels.h demands. */
void exporter_reconcile(struct exporter *e)
{
    struct container_diff diff;
    container_table_take_diff(e->table, &diff);
    bool changed = !container_diff_is_empty(&diff);
    if (changed && container_labels_reconcile(e->labels, &diff) != 0)
        log_error(e->log, "exporter", "out of memory: some containers get no series");
    for (size_t i = 0; i < e->n_running; i++) {
        const struct running *c = &e->running[i];
        if (c->instance && c->ops->reconcile && (changed || c->status.wants_reconcile))
            c->ops->reconcile(c->instance, &diff);
    }
    if (changed && e->sources.recorder)
        feed_record(e->sources.recorder, &diff);
}

static void finish_ended(struct exporter *e)
{
    size_t cursor = 0;
    struct container *container;
    while ((container = container_table_next(e->table, &cursor)))
        if (container->state == CONTAINER_ENDED)
            container_table_last_read(e->table, container);
}

/* ---- a tick ---- */

static void collect(struct exporter *e, size_t i)
{
    struct running *c = &e->running[i];
    uint64_t start = loop_now_ns();
    int err = c->ops->collect(c->instance, &e->tick);
    e->books[i].duration_seconds += (double)(loop_now_ns() - start) * 1e-9;
    c->status.failed = err != 0;
    if (!err)
        e->books[i].last_success_wall_ns = e->tick.wall_ns;
}

/* Running, and not found out to be useless since. */
static bool is_available(const struct running *c)
{
    return c->instance && !c->status.unavailable &&
           c->status.verdict.reason != REASON_EVENT_FILTERED;
}

void exporter_publish(struct exporter *e)
{
    container_labels_settle(e->labels);
    struct self_state state = {
        .collectors = e->books,
        .tick = &e->tick,
        .ticks = e->ticks,
        .missed_ticks = e->ticker.missed,
        .containers_limit = e->descriptors.containers,
        .open_counters = source_set_open_counters(e->sources.set),
        .reload_successful = e->reload_ok,
        .reload_success_wall_ns = e->reload_wall_ns,
    };
    struct pages_status status = {
        .source = e->sources.name,
        .machine = e->facts.machine,
        .llc_hit_seconds = e->facts.llc_hit_seconds,
        .tick = e->tick,
        .missed_ticks = e->ticker.missed,
        .replay_ended = e->replay_ended,
    };
    for (int i = 0; i < CONTAINER_COUNTS; i++)
        state.containers[i] = status.containers[i] =
            container_table_count(e->table, (enum container_count)i);
    for (size_t i = 0; i < e->n_running; i++) {
        status.collectors[i].available = is_available(&e->running[i]);
        status.collectors[i].verdict = e->running[i].status.verdict;
    }
    self_update(e->self, &state);
    if (e->server)
        http_server_requests(e->server, self_http_requests, e->self);
    if (store_publish(e->store, &e->tick) != 0)
        log_error(e->log, "exporter", "out of memory: the last page stays");
    pages_update(e->pages, &status, loop_now_ns());
}

static void run_tick(struct exporter *e, const struct tick *tick)
{
    e->tick = *tick;
    e->ticks++;
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

    for (size_t i = 0; i < e->n_running; i++)
        if (e->running[i].instance)
            collect(e, i);
    if (e->sources.recorder)
        recorder_flush(e->sources.recorder);
    finish_ended(e);
    exporter_publish(e);
}

/* ---- the loop's callbacks ---- */

static void fail(struct exporter *e, int err)
{
    e->failure = err;
    exporter_stop(e);
}

/* Reads the next tick of the recording ahead. */
static void load_replay_tick(struct exporter *e)
{
    if (e->replay_loaded || e->replay_ended)
        return;
    int n =
        replay_next(e->sources.replay, &e->replay_tick, e->failure_words, sizeof e->failure_words);
    if (n < 0) {
        e->replay_ended = true;
        fail(e, n);
    } else if (n == 0) {
        e->replay_ended = true;
        log_info(e->log, "exporter", "the recording has ended; its last state stays");
        exporter_publish(e);
    } else {
        e->replay_loaded = true;
        if (e->replay_origin_ns == 0)
            e->replay_origin_ns = loop_now_ns() - e->replay_tick.mono_ns;
    }
}

static uint64_t on_tick_due(void *context)
{
    struct exporter *e = context;
    if (e->options->once && e->ticks >= 2) {
        exporter_stop(e);
        return UINT64_MAX;
    }
    if (!is_replay(e))
        return e->ticker.due_ns;
    load_replay_tick(e);
    if (!e->replay_loaded)
        return UINT64_MAX;
    return e->options->replay_max_speed ? 1 : e->replay_tick.mono_ns + e->replay_origin_ns;
}

static void on_tick(void *context, uint64_t now_ns)
{
    struct exporter *e = context;
    struct tick tick;
    if (is_replay(e)) {
        e->replay_loaded = false;
        run_tick(e, &e->replay_tick);
    } else if (ticker_take(&e->ticker, now_ns, loop_wall_ns(), &tick)) {
        run_tick(e, &tick);
        notify_systemd("WATCHDOG=1");
    }
}

static uint64_t on_deadline_due(void *context)
{
    struct exporter *e = context;
    if (is_replay(e))
        return UINT64_MAX;
    uint64_t table = container_table_deadline(e->table);
    uint64_t discovery = e->discovery ? discovery_deadline(e->discovery) : UINT64_MAX;
    return table < discovery ? table : discovery;
}

static void on_deadline(void *context, uint64_t now_ns)
{
    struct exporter *e = context;
    if (e->discovery)
        discovery_advance(e->discovery, now_ns);
    container_table_advance(e->table, now_ns);
    exporter_reconcile(e);
}

static void on_readable(void *context, uint64_t now_ns)
{
    struct exporter *e = context;
    discovery_handle(e->discovery, now_ns);
    exporter_reconcile(e);
}

static void reload(struct exporter *e)
{
    char error[512];
    if (!e->options->thresholds_file) {
        log_info(e->log, "exporter", "nothing to reload: no --thresholds.file");
        return;
    }
    e->reload_ok =
        thresholds_load(e->options->thresholds_file, &e->thresholds, error, sizeof error) == 0;
    if (e->reload_ok) {
        e->reload_wall_ns = loop_wall_ns();
        log_info(e->log, "exporter", "%zu thresholds loaded from %s", e->thresholds.n,
                 e->options->thresholds_file);
    } else {
        log_error(e->log, "exporter", "the earlier thresholds stay in force: %s", error);
    }
}

static void on_signal(void *context, int signo)
{
    struct exporter *e = context;
    if (signo == SIGHUP)
        reload(e);
    else
        exporter_stop(e);
}

const struct loop_callbacks exporter_callbacks = {
    .tick_due = on_tick_due,
    .tick = on_tick,
    .deadline = on_deadline_due,
    .on_deadline = on_deadline,
    .readable = on_readable,
    .on_signal = on_signal,
};

/* ---- running ---- */

int exporter_run(struct exporter *e, char *error, size_t error_size)
{
    ticker_init(&e->ticker, e->tick.interval_ns, loop_now_ns());
    /* A recording's ticks come when they were recorded, and end: no watchdog can judge them. */
    notify_ready(is_replay(e) ? 0 : e->tick.interval_ns * PAGES_UNHEALTHY_INTERVALS / 1000);
    int err = loop_run(e->loop);
    notify_systemd("STOPPING=1");
    if (err)
        snprintf(error, error_size, "the loop failed: %s", strerror(-err));
    else if (e->failure)
        snprintf(error, error_size, "%s", e->failure_words);
    return err ? err : e->failure;
}

void exporter_stop(struct exporter *e)
{
    loop_stop(e->loop);
}

static int print_text(struct exporter *e, FILE *file, char *error, size_t error_size)
{
    struct textbuf text;
    textbuf_init(&text);
    struct snapshot *snapshot = store_acquire(e->store);
    int err = snapshot ? expose_render(snapshot, EXPOSE_TEXT_004, NULL, 0, false, &text) : -ENODATA;
    snapshot_release(snapshot);
    if (!err && (fwrite(text.data, 1, text.len, file) != text.len || fflush(file) != 0))
        err = -EIO;
    textbuf_release(&text);
    if (err)
        snprintf(error, error_size, "cannot print the metrics: %s", strerror(-err));
    return err;
}

static int run_once_replay(struct exporter *e, char *error, size_t error_size)
{
    for (;;) {
        load_replay_tick(e);
        if (!e->replay_loaded)
            break;
        e->replay_loaded = false;
        run_tick(e, &e->replay_tick);
    }
    if (e->failure)
        snprintf(error, error_size, "%s", e->failure_words);
    return e->failure;
}

int exporter_once(struct exporter *e, FILE *file, char *error, size_t error_size)
{
    /* Live, two ticks under the loop: containers and names are then found as they are in
     * service. */
    int err =
        is_replay(e) ? run_once_replay(e, error, error_size) : exporter_run(e, error, error_size);
    return err ? err : print_text(e, file, error, error_size);
}

uint16_t exporter_port(const struct exporter *e, size_t i)
{
    return e->server ? http_server_port(e->server, i) : 0;
}
