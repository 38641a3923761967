#include <errno.h>
#include <string.h>

#include "exporter/blackbox/blackbox.h"
#include "exporter/daemon/internal.h"
#include "exporter/inspect/inspector.h"
#include "exporter/live/order.h"
#include "exporter/live/verdict.h"
#include "exporter/service/notify.h"

/* ---- the loop's callbacks ---- */

static void fail(struct exporter *e, int err)
{
    e->failure = err;
    exporter_stop(e);
}

/* The clocks are compared at the first tick that comes at its time. */
static void take_replay_time(struct exporter *e)
{
    uint64_t mono_ns = e->replay_tick.mono_ns;
    if (e->replay_begin_ns == 0)
        e->replay_begin_ns = mono_ns;
    if (e->replay_origin_ns == 0 && !e->options->replay_max_speed &&
        mono_ns - e->replay_begin_ns >= e->options->replay_skip_ns)
        e->replay_origin_ns = loop_now_ns() - mono_ns;
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
        take_replay_time(e);
    }
}

/* Of live runs. */
static uint64_t ticks_of_once(const struct exporter *e)
{
    const uint64_t table_ns = UINT64_C(11000000000);
    return e->options->table ? 1 + table_ns / e->tick.interval_ns : 2;
}

static uint64_t on_tick_due(void *context)
{
    struct exporter *e = context;
    if (e->options->once && e->ticks >= ticks_of_once(e)) {
        exporter_stop(e);
        return UINT64_MAX;
    }
    if (!is_replay(e))
        return e->ticker.due_ns;
    load_replay_tick(e);
    if (!e->replay_loaded)
        return UINT64_MAX;
    return e->replay_origin_ns == 0 ? 1 : e->replay_tick.mono_ns + e->replay_origin_ns;
}

static void on_tick(void *context, uint64_t now_ns)
{
    struct exporter *e = context;
    struct tick tick;
    if (is_replay(e)) {
        e->replay_loaded = false;
        exporter_run_tick(e, &e->replay_tick);
    } else if (ticker_take(&e->ticker, now_ns, loop_wall_ns(), &tick)) {
        exporter_run_tick(e, &tick);
        notify_systemd("WATCHDOG=1");
        e->inspector_lost = e->plan->inspector && inspector_is_lost(e->plan->inspector);
        if (e->inspector_lost)
            exporter_stop(e);
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
    else if (signo == SIGUSR2 && e->plan->blackbox)
        (void)blackbox_ask(e->plan->blackbox); /* that it has ended was said */
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
    saved_state_end(&e->saved, &e->roster, e->live, is_replay(e) ? e->tick.mono_ns : loop_now_ns());
    if (err)
        snprintf(error, error_size, "the loop failed: %s", strerror(-err));
    else if (e->failure)
        snprintf(error, error_size, "%s", e->failure_words);
    else if (atomic_load(&e->server_lost))
        snprintf(error, error_size, "the HTTP server's process has ended");
    else if (e->inspector_lost)
        snprintf(error, error_size, "the process that looks into others has ended");
    if (!err && !e->failure && (atomic_load(&e->server_lost) || e->inspector_lost))
        return -EPIPE;
    return err ? err : e->failure;
}

void exporter_stop(struct exporter *e)
{
    loop_stop(e->loop);
}

static int metrics_text(struct exporter *e, struct textbuf *out)
{
    struct snapshot *snapshot = store_acquire(e->store);
    int err = snapshot ? expose_render(snapshot, EXPOSE_TEXT_004, NULL, 0, false, out) : -ENODATA;
    snapshot_release(snapshot);
    return err;
}

static int table_text(struct exporter *e, struct textbuf *out)
{
    struct live_view view;
    int err = live_copy(e->live, &view);
    if (err)
        return err;
    live_sort(&view);
    err = live_table(&view, out);
    live_view_release(&view);
    return err ? err : textbuf_finish(out);
}

static int tell(struct exporter *e, exporter_told *told, void *context)
{
    struct textbuf document = TEXTBUF_INIT;
    int err = pages_containers(e->pages, &document);
    if (!err)
        err = told(context, &e->facts.machine, &e->tick, &document);
    textbuf_release(&document);
    return err;
}

int exporter_replay(struct exporter *e, exporter_told *told, void *context, char *error,
                    size_t error_size)
{
    int err = 0;
    while (!err) {
        load_replay_tick(e);
        if (!e->replay_loaded)
            break;
        e->replay_loaded = false;
        exporter_run_tick(e, &e->replay_tick);
        err = told ? tell(e, told, context) : 0;
    }
    if (!err && e->failure)
        snprintf(error, error_size, "%s", e->failure_words);
    return err ? err : e->failure;
}

int exporter_once(struct exporter *e, FILE *file, char *error, size_t error_size)
{
    /* Live, two ticks under the loop: containers and names are then found as they are in
     * service. */
    int err = is_replay(e) ? exporter_replay(e, NULL, NULL, error, error_size)
                           : exporter_run(e, error, error_size);
    if (err)
        return err;
    struct textbuf text = TEXTBUF_INIT;
    const struct options *o = e->options;
    err = o->report  ? pages_report(e->pages, &text)
          : o->table ? table_text(e, &text)
                     : metrics_text(e, &text);
    if (!err && (fwrite(text.data, 1, text.len, file) != text.len || fflush(file) != 0))
        err = -EIO;
    textbuf_release(&text);
    if (err)
        snprintf(error, error_size, "cannot print the %s: %s",
                 o->report  ? "report"
                 : o->table ? "table"
                            : "metrics",
                 o->report && err == -ENODATA ? "the recording has no tick" : strerror(-err));
    return err;
}

int exporter_doctor(struct exporter *e, const struct doctor_host *host, FILE *file, char *error,
                    size_t error_size)
{
    _Static_assert((int)COLLECTORS_MAX <= (int)DOCTOR_COLLECTORS, "each has a line");
    struct doctor_collector collectors[COLLECTORS_MAX];
    int err = exporter_run(e, error, error_size);
    if (err)
        return err;
    for (size_t i = 0; i < e->roster.n; i++) {
        const struct roster_entry *entry = &e->roster.at[i];
        collectors[i] =
            (struct doctor_collector){.name = entry->ops->name,
                                      .summary = entry->ops->summary,
                                      .automatic = entry->ops->default_on == COLLECTOR_AUTO,
                                      .available = roster_is_available(entry),
                                      .verdict = entry->status.verdict};
    }
    const struct doctor_seen seen = {
        .machine = &e->facts.machine,
        .source = e->sources.name,
        .source_why = e->sources.by.words,
        .containers = container_table_count(e->table, CONTAINERS_MONITORED),
        .collectors = collectors,
        .n_collectors = e->roster.n,
    };
    err = doctor_print(host, &seen, e->options->json, file);
    if (err < 0)
        snprintf(error, error_size, "cannot print: %s", strerror(-err));
    return err;
}

bool exporter_uses_bpf(const struct exporter *e)
{
    return sources_use_bpf(&e->sources);
}

uint16_t exporter_port(const struct exporter *e, size_t i)
{
    if (e->front)
        return front_port(e->front, i);
    return e->server ? http_server_port(e->server, i) : 0;
}
