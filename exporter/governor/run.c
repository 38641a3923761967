#include "exporter/governor/run.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "exporter/governor/bursts.h"
#include "exporter/governor/serve/governor_pages.h"
#include "exporter/governor/serve/self_metrics.h"
#include "exporter/service/loop.h"

#define MS UINT64_C(1000000)

enum { STOP_TRIES = 20 };
#define FETCH_DEADLINE (300 * MS)
#define FIRST_INTERVAL (1000 * MS) /* until the exporter says its own */

struct run {
    const struct flags *flags;
    struct config *config; /* owned */
    struct config *first;  /* with which the writer began; owned, where it is another one */
    const struct fsroot *fs;
    const struct log *log;
    struct log decisions_log; /* without limits: there is a line for each change */
    struct client_buffer buffer;
    struct view view; /* its memory is used again */
    struct writers writers;
    struct governor *governor;
    struct forecast *forecast; /* NULL: it acts */
    struct bursts *bursts;     /* NULL: there are no experiments */
    struct store *store;
    struct expose *expose;
    struct governor_metrics *metrics;
    struct governor_pages *pages;
    struct front *front; /* borrowed */
    struct remote remote;
    const struct pair_begin *begin; /* borrowed */
    atomic_bool server_lost;
    struct loop *loop;
    uint64_t due_ns, interval_ns, published;
    double tick_seconds;
    bool up, said_down, reload_successful;
    bool said_no_writers;
    bool signalled;          /* paused by a signal */
    struct stat config_file; /* as it was when it was last read, or tried to */
};

/* ---- decisions ---- */

/* What it would have brought so far to hold it. */
static void say_brought(const struct run *run, const char *container)
{
    size_t n;
    const struct forecast_pair *pairs = forecast_pairs(run->forecast, &n);
    for (size_t i = 0; i < n; i++) {
        struct textbuf words = TEXTBUF_INIT;
        if (!pairs[i].current || strcmp(pairs[i].container, container) != 0)
            continue;
        forecast_pair_say(&pairs[i], &words);
        if (!textbuf_finish(&words))
            log_info(&run->decisions_log, "forecast", "%s", words.data);
        textbuf_release(&words);
    }
}

static void on_decision(void *context, const struct decision *d)
{
    struct run *run = context;
    char thread[32] = "";
    if (d->tid)
        snprintf(thread, sizeof thread, " tid=%d", d->tid);
    governor_pages_decision(run->pages, d);
    if (run->forecast)
        forecast_decided(run->forecast, d);
    log_info(&run->decisions_log, "decide",
             "seq=%llu policy=%s action=%s container=%s knob=%s from=\"%s\" to=\"%s\" cause=%s "
             "chosen_by=%s measured=%g limit=%g tick=%llu outcome=%s%s%s%s",
             (unsigned long long)d->seq, policy_kind_names[d->policy], action_names[d->action],
             d->container, knob_name(d->knob), d->from, d->to, d->cause,
             chosen_by_names[d->chosen_by], d->measured, d->limit, (unsigned long long)d->tick,
             outcome_names[d->outcome], d->why[0] ? " why=" : "", d->why, thread);
    if (run->forecast && d->knob == KNOB_CPU && d->action == ACTION_RELEASE)
        say_brought(run, d->container);
}

/* ---- the exporter ---- */

/* NULL without an answer. Says so once when it is down, and once when it is up again. */
static struct view *fetch(struct run *run)
{
    char error[256] = "";
    const char *body;
    size_t len;
    int err = client_get(&run->config->exporter, "/api/v1/containers", FETCH_DEADLINE, &run->buffer,
                         &body, &len, error, sizeof error);
    if (!err)
        err = view_parse(body, len, &run->view, error, sizeof error);
    run->up = !err;
    if (err && !run->said_down)
        log_warn(run->log, "client", "no view of the exporter: %s", error);
    if (!err && run->said_down)
        log_info(run->log, "client", "the exporter answers again");
    run->said_down = err != 0;
    return err ? NULL : &run->view;
}

/* The same of who stores to persistent memory, for the policy that asks; by then the view has all
 * that it needs of the buffer. */
static const struct writers *fetch_writers(struct run *run)
{
    char error[256] = "";
    const char *body;
    size_t len;
    if (!run->config->enabled[POLICY_NVMM_CORES])
        return NULL;
    int err = client_get(&run->config->exporter, "/api/v1/nvmm", FETCH_DEADLINE, &run->buffer,
                         &body, &len, error, sizeof error);
    if (!err)
        err = writers_parse(body, len, &run->writers, error, sizeof error);
    if (err && !run->said_no_writers)
        log_warn(run->log, "client", "nobody says who writes to persistent memory: %s", error);
    run->said_no_writers = err != 0;
    return err ? NULL : &run->writers;
}

static bool is_paused(const struct run *run)
{
    char path[300];
    snprintf(path, sizeof path, "%s/paused", run->config->state_directory);
    return run->signalled || access(path, F_OK) == 0;
}

/* ---- the configuration ---- */

static bool is_enforcing(const struct run *run)
{
    return run->flags->enforce && run->first->enforce;
}

/* Both keys are needed, and that it acts: of one alone nothing would come. */
static void tell_experiments(const struct run *run)
{
    bool flag = run->flags->experiment, key = run->config->threshold.experiment;
    const char *missing = !flag                ? "--experiment is not given"
                          : !key               ? "policies.threshold has no \"experiment\": true"
                          : !is_enforcing(run) ? "it only observes"
                                               : NULL;
    if ((flag || key) && missing)
        log_warn(run->log, "experiment", "there are none: %s", missing);
}

static void reload(struct run *run)
{
    struct config *config = NULL;
    char error[512] = "";
    const struct config_given given = flags_given(run->flags);
    int err = config_load(run->flags->config_file, &given, &config, error, sizeof error);
    if (!err)
        err = pair_may_change(run->first, config, is_enforcing(run), error, sizeof error);
    if (!err)
        err = governor_reload(run->governor, config, error, sizeof error);
    run->reload_successful = err == 0;
    if (err) {
        log_error(run->log, "run", "the configuration stays as it was: %s", error);
        config_free(config);
        return;
    }
    if (run->config != run->first)
        config_free(run->config);
    run->config = config;
    log_info(run->log, "run", "the configuration has been read again");
    tell_experiments(run);
}

/* Since it was read last, or seen to be wrong. A ConfigMap's file is another one each time. */
static bool config_has_changed(struct run *run)
{
    struct stat now, before = run->config_file;
    if (stat(run->flags->config_file, &now))
        return false;
    run->config_file = now;
    return now.st_dev != before.st_dev || now.st_ino != before.st_ino ||
           now.st_size != before.st_size || now.st_mtim.tv_sec != before.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != before.st_mtim.tv_nsec;
}

/* ---- publishing ---- */

static void publish(struct run *run, uint64_t now_ns, uint64_t wall_ns)
{
    struct governor_facts facts = {.exporter_up = run->up,
                                   .reload_successful = run->reload_successful,
                                   .tick_seconds = run->tick_seconds,
                                   .now_ns = now_ns};
    const struct tick tick = {.number = ++run->published,
                              .mono_ns = now_ns,
                              .wall_ns = wall_ns,
                              .interval_ns = run->interval_ns};
    governor_look(run->governor, &facts.state);
    facts.state.forecast = run->forecast;
    governor_metrics_update(run->metrics, &facts);
    int err = store_publish(run->store, &tick);
    if (err)
        log_warn(run->log, "run", "metrics are not brought up to date: %s", strerror(-err));
    governor_pages_state(run->pages, &facts.state, now_ns);
}

/* The writer is told that this goes on, and is seen to. */
static void beat(struct run *run, bool ready)
{
    if (remote_beat(&run->remote, ready))
        loop_stop(run->loop);
}

static uint64_t tick_due(void *context)
{
    return ((struct run *)context)->due_ns;
}

static void on_tick(void *context, uint64_t began_ns)
{
    struct run *run = context;
    if (config_has_changed(run))
        reload(run);
    governor_pause(run->governor, is_paused(run), loop_wall_ns());
    struct view *view = fetch(run);
    governor_take_writers(run->governor, view ? fetch_writers(run) : NULL);
    if (view && run->forecast) {
        struct governor_state state;
        governor_look(run->governor, &state);
        forecast_take(run->forecast, run->config, state.enforcer, view, loop_wall_ns());
    }
    uint64_t now_ns = loop_now_ns();
    governor_take(run->governor, view, now_ns, loop_wall_ns());
    if (run->bursts) {
        const struct experiment_meter meter = bursts_meter(run->bursts);
        governor_experiment(run->governor, view, &meter, loop_wall_ns());
    }
    if (view && view->has_tick)
        run->interval_ns = view->interval_ns;
    now_ns = loop_now_ns();
    run->due_ns = liveness_next_look(view, run->interval_ns, now_ns);
    run->tick_seconds += (double)(now_ns - began_ns) * 1e-9;
    publish(run, now_ns, loop_wall_ns());
    beat(run, false);
}

static uint64_t no_deadline(void *context)
{
    (void)context;
    return UINT64_MAX;
}

/* ---- signals ---- */

static void on_signal(void *context, int signo)
{
    struct run *run = context;
    if (signo == SIGHUP) {
        reload(run);
    } else if (signo == SIGUSR2) {
        run->signalled = !run->signalled;
        governor_pause(run->governor, is_paused(run), loop_wall_ns());
    } else {
        loop_stop(run->loop);
    }
}

/* ---- start and end ---- */

/* It would go on unseen: it gives back and ends, to be started again. */
static void lose_server(void *context)
{
    struct run *run = context;
    atomic_store(&run->server_lost, true);
    loop_stop(run->loop);
}

/* One address, or several with a comma between. */
static int start_server(struct run *run, char *error, size_t error_size)
{
    const char *listen[FLAGS_LISTEN_MAX];
    char addresses[FLAGS_LISTEN_BYTES], *rest = addresses;
    size_t n = 0;
    snprintf(addresses, sizeof addresses, "%s", run->flags->listen);
    while (rest && n < FLAGS_LISTEN_MAX)
        listen[n++] = strsep(&rest, ",");
    struct http_config http = {.listen = listen,
                               .n_listen = n,
                               .max_requests = 8,
                               .max_connections = 32,
                               .context = run->pages,
                               .log = run->log};
    http.routes = governor_pages_routes(&http.n_routes);
    const struct front_config front = {.http = http, .lost = lose_server, .lost_context = run};
    return front_start(run->front, &front, error, error_size);
}

static int make_published(struct run *run, char *error, size_t error_size)
{
    int err = store_new(&run->store);
    if (!err)
        err = expose_new(run->store, false, &run->expose);
    if (!err)
        err = governor_metrics_new(run->store, &run->metrics);
    if (!err)
        err = governor_pages_new(run->expose, loop_now_ns, &run->pages);
    if (err)
        snprintf(error, error_size, "%s", strerror(-err));
    return err;
}

static int make_governor(struct run *run, char *error, size_t error_size)
{
    const struct governor_setup setup = {.config = run->config,
                                         .enforce = is_enforcing(run),
                                         .allow_replay = run->flags->allow_replay,
                                         .fs = run->fs,
                                         .write = &run->remote.write,
                                         .writer = &run->remote.writer,
                                         .restored = &run->begin->restored,
                                         .log = run->log,
                                         .decided = on_decision,
                                         .context = run};
    int err = governor_new(&setup, loop_now_ns(), &run->governor, error, error_size);
    if (!err)
        log_info(run->log, "run", "%s",
                 setup.enforce ? "enforcing: containers are restricted"
                 : run->flags->enforce
                     ? "observing, since the configuration does not say \"mode\":\"enforce\""
                     : "observing, since --enforce is not given");
    return err;
}

/* Where there can be none, the rest goes on without. */
static void make_bursts(struct run *run)
{
    tell_experiments(run);
    int err = run->flags->experiment && is_enforcing(run)
                  ? bursts_new(run->fs, run->log, &run->bursts)
                  : 0;
    if (err)
        log_warn(run->log, "experiment", "there are none: %s",
                 err == -ENOTSUP ? "memory is of several NUMA nodes, or cannot be flushed"
                                 : strerror(-err));
}

static int make_loop(struct run *run, const sigset_t *signals, char *error, size_t error_size)
{
    static const struct loop_callbacks callbacks = {
        .tick_due = tick_due, .tick = on_tick, .deadline = no_deadline, .on_signal = on_signal};
    int err = loop_new(&callbacks, run, signals, -1, &run->loop);
    if (err)
        snprintf(error, error_size, "%s", strerror(-err));
    return err;
}

/* A busy file is tried again for two seconds. */
static int put_all_back(struct run *run)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    int err = governor_stop(run->governor, loop_wall_ns());
    for (int i = 0; err && i < STOP_TRIES; i++) {
        nanosleep(&pause, NULL);
        err = governor_stop(run->governor, loop_wall_ns());
    }
    return err;
}

int run_governor(const struct flags *flags, struct config *config, const struct fsroot *fs,
                 const struct log *log, const sigset_t *signals, struct front *front,
                 const struct pair *pair, const struct pair_begin *begin, char *error,
                 size_t error_size)
{
    struct run run = {.flags = flags,
                      .front = front,
                      .begin = begin,
                      .config = config,
                      .first = config,
                      .fs = fs,
                      .log = log,
                      .decisions_log = *log,
                      .interval_ns = FIRST_INTERVAL,
                      .reload_successful = true};
    run.decisions_log.limits = NULL;
    remote_init(&run.remote, pair->channel, begin->may_set_affinity);
    config_has_changed(&run); /* it has just been read */
    run.due_ns = loop_now_ns();
    int err = make_published(&run, error, error_size);
    if (!err && !is_enforcing(&run) && (err = forecast_new(&run.forecast)) != 0)
        snprintf(error, error_size, "%s", strerror(-err));
    if (!err)
        err = make_governor(&run, error, error_size);
    if (!err)
        make_bursts(&run);
    if (!err)
        err = make_loop(&run, signals, error, error_size);
    if (!err)
        err = start_server(&run, error, error_size);
    if (!err) {
        pair_confine_decider(log, fs, flags->config_file, &config->exporter);
        beat(&run, true);
        err = loop_run(run.loop);
        if (err)
            snprintf(error, error_size, "the loop: %s", strerror(-err));
        else if (run.remote.lost && (err = -EPIPE))
            snprintf(error, error_size, "the process that writes has ended, or hangs");
        else if (atomic_load(&run.server_lost) && (err = -EPIPE))
            snprintf(error, error_size, "the HTTP server's process has ended");
        int left = run.remote.lost ? 0 : put_all_back(&run); /* else the next start does */
        if (left && !err)
            snprintf(error, error_size, "something could not be put back: the log says what");
        err = err ? err : left;
    }
    front_stop(run.front);
    loop_free(run.loop);
    governor_free(run.governor);
    forecast_free(run.forecast);
    bursts_free(run.bursts);
    governor_pages_free(run.pages);
    governor_metrics_free(run.metrics);
    expose_free(run.expose);
    store_free(run.store);
    client_buffer_release(&run.buffer);
    view_release(&run.view);
    writers_release(&run.writers);
    if (run.config != run.first)
        config_free(run.config);
    config_free(run.first);
    return err;
}

/* ---- --check ---- */

static void say_why_not(const struct governed *governed, FILE *out)
{
    bool any = false;
    for (int knob = 0; knob < KNOB_COUNT; knob++) {
        const struct holding *holding = governed->holdings[knob];
        any |= holding != NULL;
        if (holding && !holding->known)
            fprintf(out, ", its %s not now: %s", knob_name((enum knob)knob),
                    holding->why == -ERANGE ? "it has nothing to lose" : strerror(-holding->why));
    }
    if (governed->exempt)
        fprintf(out, ", never restricted: %s", governed->why_exempt);
    else if (!any && governed->threads == POLICY_NONE)
        fputs(", not restricted: no policy has its class, or its cgroup is another one now", out);
}

/* Who is what, and why. */
static void say_who(const struct config *config, const struct governed *governed, FILE *out)
{
    const struct view_container *container = governed->container;
    fprintf(out, "%s/%s/%s: ", container->namespace_, container->pod, container->container);
    if (governed->class == CLASS_NONE) {
        fputs("in no class", out);
    } else if (config_is_protected(config, governed->class)) {
        fprintf(out, "protected, class %s", config->classes[governed->class].name);
        if (isnan(container->baseline_seconds))
            fputs(", without a baseline", out);
    } else {
        fprintf(out, "best effort, class %s", config->classes[governed->class].name);
        say_why_not(governed, out);
    }
    fputc('\n', out);
}

int run_check(const struct flags *flags, const struct config *config, const struct fsroot *fs,
              const struct log *log, FILE *out, char *error, size_t error_size)
{
    const struct governor_setup setup = {.config = config,
                                         .allow_replay = flags->allow_replay,
                                         .look_only = true,
                                         .fs = fs,
                                         .write = &fswrite_real,
                                         .log = log};
    struct client_buffer buffer = {0};
    struct governor *governor = NULL;
    struct view view = {0};
    struct governor_state state;
    const char *body;
    size_t len, n;
    int err = governor_new(&setup, loop_now_ns(), &governor, error, error_size);
    if (err)
        return err;
    err = client_get(&config->exporter, "/api/v1/containers", FETCH_DEADLINE, &buffer, &body, &len,
                     error, error_size);
    if (!err)
        err = view_parse(body, len, &view, error, error_size);
    if (!err) {
        const struct governed *governed = governor_list(governor, &view);
        for (size_t i = 0; i < view.n; i++)
            say_who(config, &governed[i], out);
        governor_look(governor, &state);
        const struct holding *holdings = enforcer_holdings(state.enforcer, &n);
        if (!view.has_tick || !view_is_counted(&view))
            fputs("the exporter's data are not to be acted on: they are not counted now, or do "
                  "not say when\n",
                  out);
        size_t shown = 0;
        for (size_t i = 0; i < n; i++)
            if (holdings[i].known) {
                shown++;
                fprintf(out, "%s: %s between %g and %g, now \"%s\"\n", holdings[i].claim.container,
                        knob_name(holdings[i].claim.knob), holdings[i].claim.least,
                        holdings[i].claim.most, holdings[i].claim.original);
            }
        if (!shown)
            fputs("no container here could be restricted now\n", out);
    }
    view_release(&view);
    client_buffer_release(&buffer);
    governor_free(governor);
    return err;
}
