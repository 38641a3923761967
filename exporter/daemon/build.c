#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "exporter/daemon/exporter_internal.h"

static bool wanted(const struct options *options, size_t i)
{
    if (options->collector[i] != SWITCH_DEFAULT)
        return options->collector[i] == SWITCH_ON;
    return !options->disable_defaults && collector_table[i]->default_on != COLLECTOR_OFF;
}

/* By its own flag. */
static bool asked_for(const struct options *options, const char *collector)
{
    for (size_t i = 0; collector_table[i]; i++)
        if (strcmp(collector_table[i]->name, collector) == 0)
            return options->collector[i] == SWITCH_ON;
    return false;
}

bool exporter_wants(const struct options *options, const char *collector)
{
    for (size_t i = 0; collector_table[i]; i++)
        if (strcmp(collector_table[i]->name, collector) == 0)
            return wanted(options, i);
    return false;
}

/* A recording's containers hold no descriptors. */
static void share_descriptors(struct exporter *e)
{
    const struct options *o = e->options;
    size_t limit = descriptors_limit();
    e->descriptors = descriptors_share(limit, o->containers_max, o->all_cgroups);
    if (o->source == SOURCE_REPLAY)
        e->descriptors.containers = o->containers_max;
    if (e->descriptors.containers < o->containers_max)
        log_warn(e->log, "exporter",
                 "%zu file descriptors are enough for at most %zu containers, not for "
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
        .open_candidates_max = e->descriptors.candidates,
    };
    if (discovery_new(&config, loop_now_ns(), &e->discovery, error, sizeof error) != 0)
        log_error(e->log, "exporter", "cannot find containers: %s", error);
}

static void start_collector(struct exporter *e, size_t i)
{
    struct running *c = &e->running[i];
    c->ops = collector_table[i];
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
        .inventory = &e->sources.inventory,
        .store = e->store,
        .labels = e->labels,
        .config = &e->options->config,
        .thresholds = &e->thresholds,
        .facts = &e->facts,
        .chase = e->sources.chase,
        .log = e->log,
    };
    for (; collector_table[e->n_running] && e->n_running < COLLECTORS_MAX; e->n_running++)
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
    struct pages_collector collectors[COLLECTORS_MAX];
    for (size_t i = 0; i < e->n_running; i++)
        collectors[i] = (struct pages_collector){e->running[i].ops, e->running[i].instance};
    const struct pages_config config = {
        .telemetry_path = e->options->telemetry_path,
        .expose = e->expose,
        .store = e->store,
        .collectors = collectors,
        .n_collectors = e->n_running,
    };
    return pages_new(&config, &e->pages);
}

static int start_server(struct exporter *e, char *error, size_t error_size)
{
    struct http_config config = {
        .listen = e->options->listen,
        .n_listen = e->options->n_listen,
        .systemd_socket = e->options->systemd_socket,
        .max_connections = (unsigned)e->descriptors.connections,
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
    const struct sources_needs needs = {.counters_max = e->descriptors.counters,
                                        .probe = exporter_wants(o, "probe"),
                                        .samples = exporter_wants(o, "pebs_nvmm"),
                                        .samples_by_name = asked_for(o, "pebs_nvmm"),
                                        .map = e->map};
    if (!err)
        err = sources_init(&e->sources, o, &e->fs, e->log, &e->facts, &needs, error, error_size);
    if (!err && !is_replay(e))
        find_containers(e);
    if (!err)
        err = build_collectors(e);
    if (!err)
        err = build_pages(e);
    if (!err)
        err = loop_new(&exporter_callbacks, e, signals,
                       e->discovery ? discovery_fd(e->discovery) : -1, &e->loop);
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
    exporter_reconcile(e);
    ticker_init(&e->ticker, e->tick.interval_ns, loop_now_ns());
    exporter_publish(e);
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
    sources_release(&e->sources);
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
    thresholds_release(&e->thresholds);
    fsroot_release(&e->fs);
    free(e);
}
