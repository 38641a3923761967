#include "exporter/exporter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collectors/collector.h"
#include "exporter/containers/discovery.h"
#include "exporter/descriptors.h"
#include "exporter/expose/expose.h"
#include "exporter/feed.h"
#include "exporter/loop.h"
#include "exporter/notify.h"
#include "exporter/pages.h"
#include "exporter/self.h"
#include "exporter/sources.h"
#include "exporter/ticker.h"

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
    struct running running[PAGES_MAX_COLLECTORS];
    struct self_collector books[PAGES_MAX_COLLECTORS]; /* beside running */
    const char *names[PAGES_MAX_COLLECTORS];
    size_t n_running; /* collectors known, running or not */
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

static bool is_replay(const struct exporter *e)
{
    return e->sources.replay != NULL;
}

/* ---- containers ---- */

/* Everyone who keeps something per container, in the order that container_labels.h demands. */
static void reconcile(struct exporter *e)
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

static void publish(struct exporter *e)
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
    struct status status = {
        .source = e->sources.name,
        .machine = e->facts.machine,
        .tick = e->tick,
        .missed_ticks = e->ticker.missed,
        .replay_ended = e->replay_ended,
        .n_collectors = e->n_running,
    };
    for (int i = 0; i < CONTAINER_COUNTS; i++)
        state.containers[i] = status.containers[i] =
            container_table_count(e->table, (enum container_count)i);
    for (size_t i = 0; i < e->n_running; i++) {
        status.collectors[i].name = e->running[i].ops->name;
        status.collectors[i].summary = e->running[i].ops->summary;
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
    reconcile(e);

    for (size_t i = 0; i < e->n_running; i++)
        if (e->running[i].instance)
            collect(e, i);
    if (e->sources.recorder)
        recorder_flush(e->sources.recorder);
    finish_ended(e);
    publish(e);
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
        publish(e);
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
    reconcile(e);
}

static void on_readable(void *context, uint64_t now_ns)
{
    struct exporter *e = context;
    discovery_handle(e->discovery, now_ns);
    reconcile(e);
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
        log_error(e->log, "exporter", "the thresholds stay as they were: %s", error);
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

static const struct loop_callbacks loop_callbacks = {
    .tick_due = on_tick_due,
    .tick = on_tick,
    .deadline = on_deadline_due,
    .on_deadline = on_deadline,
    .readable = on_readable,
    .on_signal = on_signal,
};

/* ---- building ---- */

static bool wanted(const struct options *options, size_t i)
{
    if (options->collector[i] != SWITCH_DEFAULT)
        return options->collector[i] == SWITCH_ON;
    return !options->disable_defaults && collector_table[i]->default_on != COLLECTOR_OFF;
}

static bool probe_wanted(const struct options *options)
{
    for (size_t i = 0; collector_table[i]; i++)
        if (strcmp(collector_table[i]->name, "probe") == 0)
            return wanted(options, i);
    return false;
}

/* A recording's containers hold no descriptors. */
static void share_descriptors(struct exporter *e)
{
    const struct options *o = e->options;
    size_t limit = o->source == SOURCE_REPLAY ? 0 : descriptors_limit();
    e->descriptors = descriptors_share(limit, o->containers_max);
    if (e->descriptors.containers < o->containers_max)
        log_warn(e->log, "exporter",
                 "%zu file descriptors are enough for %zu containers at most, not for "
                 "--containers.max=%zu: raise LimitNOFILE= or ulimit -n",
                 limit, e->descriptors.containers, o->containers_max);
}

static int build_table(struct exporter *e, char *error, size_t error_size)
{
    const struct options *o = e->options;
    const struct container_limits limits = {
        .include = o->include,
        .exclude = o->exclude,
        .max = e->descriptors.containers,
        .linger_ns = o->linger_ns,
        .linger_max = o->linger_max,
        .name_patience_ns = 2000000000u,
    };
    int err = container_table_new(&limits, e->log, &e->table, error, error_size);
    if (!err)
        err = cgroup_map_new(&e->map);
    if (!err)
        err = feed_new(&e->feed);
    return err;
}

/* A node without a usable hierarchy still has the probe. */
static void find_containers(struct exporter *e)
{
    char error[512];
    const struct discovery_config config = {
        .fs = &e->fs,
        .log = e->log,
        .table = e->table,
        .map = e->map,
        .names = e->options->names,
        .all_cgroups = e->options->all_cgroups,
        .close_candidates_max = e->descriptors.candidates,
    };
    if (discovery_new(&config, loop_now_ns(), &e->discovery, error, sizeof error) != 0)
        log_error(e->log, "exporter", "no containers can be found: %s", error);
}

static void start_collector(struct exporter *e, size_t i)
{
    struct running *c = &e->running[i];
    c->ops = collector_table[i];
    e->names[i] = c->ops->name;
    e->books[i].status = &c->status;
    if (!wanted(e->options, i)) {
        verdict_set(&c->status.verdict, REASON_DISABLED, "switched off by a flag");
        return;
    }
    if (!c->ops->probe(&e->env, &c->status.verdict)) {
        log_info(e->log, c->ops->name, "not available (%s): %s",
                 reason_name(c->status.verdict.reason), c->status.verdict.words);
        return;
    }
    int err = c->ops->start(&e->env, &c->status, &c->instance);
    if (err) {
        c->instance = NULL;
        if (c->status.verdict.reason == REASON_OK) /* else it has said why */
            verdict_set(&c->status.verdict, REASON_NO_DEVICE, "could not start: %s",
                        strerror(-err));
        log_error(e->log, c->ops->name, "%s", c->status.verdict.words);
    } else {
        e->books[i].enabled = true;
        log_info(e->log, c->ops->name, "running");
    }
}

static int build_collectors(struct exporter *e)
{
    int err = store_new(&e->store);
    if (!err)
        err = container_labels_new(e->store, &e->labels);
    if (err)
        return err;
    e->env = (struct collector_env){
        .sources = e->sources.set,
        .store = e->store,
        .labels = e->labels,
        .config = &e->options->config,
        .thresholds = &e->thresholds,
        .facts = &e->facts,
        .chase = e->sources.chase,
        .log = e->log,
    };
    for (; collector_table[e->n_running] && e->n_running < PAGES_MAX_COLLECTORS; e->n_running++)
        start_collector(e, e->n_running);
    const struct self_config config = {
        .version = IE_VERSION,
        .source = e->sources.name,
        .microarchitecture = e->facts.machine.microarchitecture,
        .collectors = collector_table,
        .disable_exporter_metrics = e->options->disable_exporter_metrics,
    };
    return self_new(e->store, &config, &e->self);
}

static int build_pages(struct exporter *e)
{
    int err = expose_new(e->store, e->options->openmetrics_created, &e->expose);
    if (err)
        return err;
    const struct pages_config config = {
        .telemetry_path = e->options->telemetry_path,
        .expose = e->expose,
        .store = e->store,
        .collector_names = e->names,
        .n_collector_names = e->n_running,
    };
    return pages_new(&config, &e->pages);
}

static int start_server(struct exporter *e, char *error, size_t error_size)
{
    struct http_config config = {
        .listen = e->options->listen,
        .n_listen = e->options->n_listen,
        .systemd_socket = e->options->systemd_socket,
        .max_requests = e->options->max_requests,
        .context = e->pages,
        .log = e->log,
    };
    config.routes = pages_routes(e->pages, &config.n_routes);
    return http_server_start(&config, &e->server, error, error_size);
}

/* A tree that was asked for and is not there would look like a machine without counters or
 * containers. */
static int check_trees(const struct options *o, char *error, size_t error_size)
{
    const struct {
        const char *flag, *path;
    } trees[] = {
        {"procfs", o->procfs},
        {"sysfs", o->sysfs},
        {"cgroupfs", o->cgroupfs},
        {"rootfs", o->rootfs},
    };
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        struct stat st;
        if (!trees[i].path || (stat(trees[i].path, &st) == 0 && S_ISDIR(st.st_mode)))
            continue;
        snprintf(error, error_size, "--path.%s: %s is not a directory here", trees[i].flag,
                 trees[i].path);
        return -EINVAL;
    }
    return 0;
}

static int build(struct exporter *e, const sigset_t *signals, char *error, size_t error_size)
{
    const struct options *o = e->options;
    int err = check_trees(o, error, error_size);
    if (!err)
        err = fsroot_init(&e->fs, o->procfs, o->sysfs, o->cgroupfs, o->rootfs);
    if (!err && o->thresholds_file) {
        if (thresholds_load(o->thresholds_file, &e->thresholds, error, error_size) != 0)
            return -EINVAL;
        e->reload_wall_ns = loop_wall_ns();
    }
    e->reload_ok = true;
    share_descriptors(e);
    if (!err)
        err = build_table(e, error, error_size);
    if (!err)
        err = sources_init(&e->sources, o, &e->fs, e->log, &e->facts, probe_wanted(o), error,
                           error_size);
    if (!err && !is_replay(e))
        find_containers(e);
    if (!err)
        err = build_collectors(e);
    if (!err)
        err = build_pages(e);
    if (!err)
        err = loop_new(&loop_callbacks, e, signals, e->discovery ? discovery_fd(e->discovery) : -1,
                       &e->loop);
    if (!err && !o->once)
        err = start_server(e, error, error_size);
    if (err && !error[0])
        snprintf(error, error_size, "cannot start: %s", strerror(-err));
    if (err)
        return err;
    if (is_replay(e)) {
        e->tick.interval_ns = replay_interval_ns(e->sources.replay);
        if (feed_replay(e->feed, e->sources.replay, e->table, 0) != 0)
            return -ENOMEM;
    } else {
        e->tick = (struct tick){
            .mono_ns = loop_now_ns(), .wall_ns = loop_wall_ns(), .interval_ns = o->interval_ns};
    }
    reconcile(e);
    ticker_init(&e->ticker, e->tick.interval_ns, loop_now_ns());
    publish(e);
    return 0;
}

int exporter_new(const struct options *options, const struct log *log, const sigset_t *signals,
                 struct exporter **out, char *error, size_t error_size)
{
    struct exporter *e = calloc(1, sizeof *e);
    if (!e) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    e->options = options;
    e->log = log;
    error[0] = '\0';
    int err = build(e, signals, error, error_size);
    if (err) {
        exporter_free(e);
        return err;
    }
    *out = e;
    return 0;
}

void exporter_free(struct exporter *e)
{
    if (!e)
        return;
    http_server_stop(e->server);
    for (size_t i = 0; i < e->n_running; i++)
        if (e->running[i].instance)
            e->running[i].ops->stop(e->running[i].instance);
    loop_free(e->loop);
    pages_free(e->pages);
    expose_free(e->expose);
    self_free(e->self);
    container_labels_free(e->labels);
    store_free(e->store);
    discovery_free(e->discovery);
    container_table_free(e->table);
    cgroup_map_free(e->map);
    feed_free(e->feed);
    sources_release(&e->sources);
    thresholds_release(&e->thresholds);
    fsroot_release(&e->fs);
    free(e);
}

/* ---- running ---- */

int exporter_run(struct exporter *e, char *error, size_t error_size)
{
    ticker_init(&e->ticker, e->tick.interval_ns, loop_now_ns());
    notify_systemd("READY=1");
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
