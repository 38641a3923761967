#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/blackbox/blackbox.h"
#include "exporter/containers/cgroups/own_memory.h"
#include "exporter/containers/cgroups/process.h"
#include "exporter/daemon/internal.h"
#include "exporter/daemon/introduce.h"
#include "exporter/service/descriptors.h"

static uint64_t memory_limit(void)
{
    struct fsroot own; /* the host's trees have the host's limits */
    if (fsroot_init(&own, NULL, NULL, NULL, NULL) != 0)
        return 0;
    uint64_t limit = own_memory_limit(&own);
    fsroot_release(&own);
    return limit;
}

/* What the descriptors suffice for. */
static struct descriptor_shares share(const struct exporter *e, bool events)
{
    const struct options *o = e->options;
    return descriptors_share(descriptors_limit(), o->containers_max, o->all_cgroups, events);
}

/* Of that, what the memory holds. A recording's containers hold neither. */
static struct descriptor_shares hold(const struct exporter *e, struct descriptor_shares shares,
                                     const struct log *log)
{
    if (e->options->source == SOURCE_REPLAY) {
        shares.containers = e->options->containers_max;
        return shares;
    }
    uint64_t memory = memory_limit(), blackbox = e->plan->blackbox ? BLACKBOX_BYTES : 0;
    if (memory > 0) /* 0: there is no limit */
        memory = memory > blackbox ? memory - blackbox : 1;
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    struct memory_shares held = memory_share(memory, cpus > 0 ? (size_t)cpus : 1);
    if (held.containers < shares.containers) {
        if (log)
            log_warn(log, "exporter",
                     "a memory limit of %llu MiB is enough for at most %zu containers on %ld "
                     "CPUs, not for %zu: raise it, or lower --containers.max",
                     (unsigned long long)memory >> 20, held.containers, cpus, shares.containers);
        shares.containers = held.containers;
    }
    if (held.counters < shares.counters) {
        if (log)
            log_info(log, "exporter",
                     "counters have at most %zu file descriptors of %zu: the memory limit is %llu "
                     "MiB",
                     held.counters, shares.counters, (unsigned long long)memory >> 20);
        shares.counters = held.counters;
    }
    return shares;
}

/* What there is room for depends on who counts. */
static int build_sources(struct exporter *e, char *error, size_t error_size)
{
    struct descriptor_shares with = share(e, true), without = share(e, false);
    struct descriptor_shares held = hold(e, without, NULL);
    const struct sources_config config = {.plan = e->plan,
                                          .log = e->log,
                                          .facts = &e->facts,
                                          .counters_max = hold(e, with, NULL).counters,
                                          .counters_max_eventless = held.counters,
                                          .containers_max_eventless = held.containers,
                                          .map = e->map};
    int err = sources_init(&e->sources, &config, error, error_size);
    e->allowed = e->sources.eventless ? without : with;
    if (!err)
        e->descriptors = hold(e, e->allowed, e->log);
    return err;
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
    return container_table_new(&limits, e->log, &e->table, error, error_size);
}

/* A node without a usable hierarchy still has the probe. */
static void find_containers(struct exporter *e)
{
    char error[512];
    const struct discovery_config config = {
        .fs = &e->plan->fs,
        .log = e->log,
        .table = e->table,
        .map = plan_samples(e->plan) ? e->map : NULL,
        .names = e->options->names,
        .all_cgroups = e->options->all_cgroups,
        .nested = e->options->nested,
        .open_candidates_max = e->descriptors.candidates,
    };
    if (discovery_new(&config, loop_now_ns(), &e->discovery, error, sizeof error) != 0)
        log_error(e->log, "exporter", "cannot find containers: %s", error);
}

static int build_collectors(struct exporter *e)
{
    int err = store_new(&e->store);
    if (!err)
        err = live_new(&e->live);
    if (!err)
        err = container_labels_new(e->store, &e->labels);
    if (err)
        return err;
    live_restore(e->live, e->saved.state);
    const struct collector_env env = {
        .sources = e->sources.set,
        .inventory = &e->sources.inventory,
        .store = e->store,
        .labels = e->labels,
        .thresholds = &e->thresholds,
        .facts = &e->facts,
        .live = e->live,
        .brief = e->options->table && !is_replay(e),
        .state = e->saved.state,
        .log = e->log,
    };
    roster_start(&e->roster, e->plan, &env);
    sources_settle(&e->sources, e->log);
    if (!e->options->once)
        introduce_machine(e->log, &e->facts.machine, e->sources.name);
    const struct self_config config = {
        .version = version_release(),
        .revision = version_revision(),
        .compiler = version_compiler(),
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
    for (size_t i = 0; i < e->roster.n; i++)
        collectors[i] = (struct pages_collector){e->roster.at[i].ops, e->roster.at[i].self};
    const struct pages_config config = {
        .telemetry_path = e->options->telemetry_path,
        .version = version_release(),
        .revision = version_revision(),
        .compiler = version_compiler(),
        .started_wall_ns = loop_wall_ns(),
        .started_mono_ns = loop_now_ns(),
        .live = e->live,
        .expose = e->expose,
        .store = e->store,
        .collectors = collectors,
        .n_collectors = e->roster.n,
        .api = e->options->api,
        .blackbox = e->plan->blackbox,
        .keeps = e->options->open_file != NULL,
        .note = e->saved.state ? NULL : e->saved.words,
        .own_cgroup = is_replay(e) || e->options->once ? 0 : process_cgroup_find_own(&e->plan->fs),
    };
    return pages_new(&config, &e->pages);
}

/* Nobody can scrape any more; whoever started us starts all of us again. */
static void lose_server(void *context)
{
    struct exporter *e = context;
    atomic_store(&e->server_lost, true);
    exporter_stop(e);
}

/* With the port that was found where any would do. */
static void say_listening(const struct exporter *e)
{
    const struct options *o = e->options;
    size_t n = o->systemd_socket ? 0 : o->n_listen;
    if (o->systemd_socket)
        log_info(e->log, "exporter", "listening on the sockets of systemd, port %u",
                 (unsigned)exporter_port(e, 0));
    for (size_t i = 0; i < n; i++)
        log_info(e->log, "exporter",
                 http_unix_path(o->listen[i]) ? "listening on %s" : "listening on %s (port %u)",
                 o->listen[i], (unsigned)exporter_port(e, i));
}

static int start_server(struct exporter *e, char *error, size_t error_size)
{
    struct http_config config = {
        .listen = e->options->listen,
        .n_listen = e->options->n_listen,
        .systemd_socket = e->options->systemd_socket,
        .max_connections = (unsigned)e->descriptors.connections,
        .max_requests = e->options->max_requests,
        .web_config_file = e->options->web_config_file,
        .context = e->pages,
        .log = e->log,
    };
    config.routes = pages_routes(e->pages, &config.n_routes);
    const struct front_config front = {.http = config, .lost = lose_server, .lost_context = e};
    int err = e->front ? front_start(e->front, &front, error, error_size)
                       : http_server_start(&config, &e->server, error, error_size);
    if (!err)
        say_listening(e);
    return err;
}

static int build(struct exporter *e, const sigset_t *signals, char *error, size_t error_size)
{
    const struct options *o = e->options;
    if (o->thresholds_file) {
        int bad = thresholds_load(o->thresholds_file, &e->thresholds, error, error_size);
        if (bad)
            return bad == -ENOMEM ? bad : -EINVAL;
        e->reload_wall_ns = loop_wall_ns();
    }
    e->reload_ok = true;
    int err = cgroup_map_new(&e->map);
    if (!err)
        err = feed_new(&e->feed);
    if (!err && o->anonymise)
        err = feed_anonymise(e->feed);
    if (!err)
        err = build_sources(e, error, error_size);
    if (!err)
        err = build_table(e, error, error_size);
    if (!err && !is_replay(e))
        find_containers(e);
    if (!err && !is_replay(e) && !o->once)
        host_init(&e->host, &e->plan->fs);
    if (!err)
        saved_state_init(&e->saved, e->plan, &e->facts.machine, e->sources.replay, e->log,
                         is_replay(e) ? replay_begin_ns(e->sources.replay) : loop_now_ns());
    if (!err && o->anonymise && e->saved.state)
        err = state_rename(e->saved.state, feed_learned_key, e->feed);
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
    exporter_publish(e);
    uint64_t now_ns = is_replay(e) ? replay_begin_ns(e->sources.replay) : e->tick.mono_ns;
    /* Who has read nothing has not learned it, and who is told so would take it for known. */
    if (e->plan->blackbox && e->saved.state)
        saved_state_tell(&e->saved, &e->roster, e->live, now_ns);
    else if (e->plan->blackbox)
        blackbox_learned(e->plan->blackbox, NULL, 0, now_ns);
    return 0;
}

int exporter_new(const struct plan *plan, const struct log *log, const sigset_t *signals,
                 struct front *front, struct exporter **out, char *error, size_t error_size)
{
    struct exporter *e = calloc(1, sizeof *e);
    if (!e) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    e->plan = plan;
    e->options = plan->options;
    e->log = log;
    e->front = front;
    error[0] = '\0';
    int err = build(e, signals, error, error_size);
    if (err) {
        exporter_free(e);
        return err;
    }
    *out = e;
    return 0;
}

int exporter_free(struct exporter *e)
{
    if (!e)
        return 0;
    front_stop(e->front);
    http_server_stop(e->server);
    roster_stop(&e->roster);
    saved_state_release(&e->saved);
    int err = sources_release(&e->sources);
    if (err)
        return err;
    loop_free(e->loop);
    pages_free(e->pages);
    expose_free(e->expose);
    self_free(e->self);
    container_labels_free(e->labels);
    store_free(e->store);
    live_free(e->live);
    host_release(&e->host);
    discovery_free(e->discovery);
    container_table_free(e->table);
    cgroup_map_free(e->map);
    feed_free(e->feed);
    thresholds_release(&e->thresholds);
    free(e);
    return 0;
}
