/*
 * A node of synthetic containers behind a real server: bench_node CONTAINERS CPUS BUSY
 *
 * Everything between counters and clients is the exporter's own: the container table, the
 * collectors that are on by default and can work here, the store, the exporter's own metrics, the
 * pages, the server, the loop. Only the counts come from synthetic.c; each container works on BUSY
 * of the CPUs. Listens on a free port of
 * 127.0.0.1 and does what lines on stdin say, answering each with one line of JSON; ends when stdin
 * does.
 *
 *   tick N            N ticks at once, each a second later than the last
 *   run SECONDS MS    for SECONDS a tick every MS, by the clock
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collectors/contract/collector.h"
#include "exporter/containers/table/table.h"
#include "exporter/expose/expose.h"
#include "exporter/front/front.h"
#include "exporter/http/http.h"
#include "exporter/options/options.h"
#include "exporter/pages/pages.h"
#include "exporter/self/self.h"
#include "exporter/service/loop.h"
#include "tests/bench/bench.h"
#include "tests/bench/synthetic.h"

enum { MOST_TICKS = 10000 };

/* Where a tick's CPU time goes. */
enum part { PART_READS, PART_COLLECT, PART_SELF, PART_PUBLISH, PARTS };

struct node {
    size_t cpus, busy;
    struct log log;
    struct facts facts;
    struct thresholds thresholds;
    struct options options;
    struct source *source;
    struct source_set *sources;
    struct inventory inventory; /* none: containers only */
    struct container_table *table;
    struct store *store;
    struct container_labels *labels;
    struct collector_env env;
    struct collector_status status[COLLECTORS_MAX]; /* by index in collector_table */
    struct self_collector books[COLLECTORS_MAX];
    void *collector[COLLECTORS_MAX]; /* NULL: not running */
    struct self *self;
    struct expose *expose;
    struct pages *pages;
    struct http_server *server; /* NULL with a front */
    struct front *front;        /* NULL: the server is in this process */
    struct loop *loop;

    struct tick tick;
    struct ticker ticker;
    uint64_t run_until_ns; /* 0: ticks come from commands only */
    size_t n_ticks;        /* since the last command */
    double cpu_us[PARTS][MOST_TICKS], wall_ms[MOST_TICKS];
    double collector_us[COLLECTORS_MAX][MOST_TICKS];
};

/* ---- a tick: what exporter.c does, with its parts timed ---- */

static void reconcile(struct node *node)
{
    struct container_diff diff;
    container_table_take_diff(node->table, &diff);
    if (container_diff_is_empty(&diff))
        return;
    if (container_labels_reconcile(node->labels, &diff) != 0)
        fprintf(stderr, "bench_node: out of memory\n");
    for (size_t i = 0; collector_table[i]; i++)
        if (node->collector[i] && collector_table[i]->reconcile)
            collector_table[i]->reconcile(node->collector[i], &diff);
}

static void update_self(struct node *node)
{
    struct self_state state = {.collectors = node->books,
                               .tick = &node->tick,
                               .ticks = node->tick.number,
                               .missed_ticks = node->ticker.missed,
                               .containers_limit = SIZE_MAX,
                               .reload_successful = true};
    for (int i = 0; i < CONTAINER_COUNTS; i++)
        state.containers[i] = container_table_count(node->table, (enum container_count)i);
    self_update(node->self, &state);
    if (node->front)
        front_requests(node->front, self_http_requests, node->self);
    else
        http_server_requests(node->server, self_http_requests, node->self);
}

static void publish(struct node *node)
{
    struct pages_status status = {.source = "synthetic",
                                  .machine = node->facts.machine,
                                  .tick = node->tick,
                                  .missed_ticks = node->ticker.missed};
    container_labels_settle(node->labels);
    if (store_publish(node->store, &node->tick) != 0)
        fprintf(stderr, "bench_node: out of memory\n");
    pages_update(node->pages, &status, loop_now_ns());
}

static void run_tick(struct node *node, const struct tick *tick)
{
    double wall = (double)loop_now_ns(), at[PARTS + 1];
    size_t i = node->n_ticks < MOST_TICKS ? node->n_ticks++ : MOST_TICKS - 1;
    node->tick = *tick;
    at[0] = thread_s();
    source_set_begin(node->sources, tick);
    container_table_advance(node->table, tick->mono_ns);
    reconcile(node);
    at[1] = thread_s();
    double before = at[1];
    for (size_t c = 0; collector_table[c]; c++) {
        if (!node->collector[c])
            continue;
        collector_table[c]->collect(node->collector[c], tick);
        at[2] = thread_s();
        node->collector_us[c][i] = (at[2] - before) * 1e6;
        before = at[2];
    }
    at[2] = thread_s();
    update_self(node);
    at[3] = thread_s();
    publish(node);
    at[4] = thread_s();
    for (int part = 0; part < PARTS; part++)
        node->cpu_us[part][i] = (at[part + 1] - at[part]) * 1e6;
    node->wall_ms[i] = ((double)loop_now_ns() - wall) / 1e6;
}

/* What of a tick is the synthetic source itself: the same rows into memory of the same size. */
static double reads_us(struct node *node, size_t containers)
{
    size_t stride = reading_stride(GROUP_CORE), width = stride * node->cpus;
    char *rows = calloc(containers, width);
    if (!rows)
        return 0;
    double best = 1e30;
    for (int round = 0; round < 5; round++) {
        double start = thread_s();
        for (size_t i = 0; i < containers; i++) {
            struct reading out = {
                .cap = node->cpus, .stride_bytes = stride, .rows = rows + i * width};
            node->source->ops->read(node->source, i + 1, &out);
        }
        double took = thread_s() - start;
        best = took < best ? took : best;
    }
    free(rows);
    return best * 1e6;
}

/* ---- commands ---- */

static size_t count_series(const struct node *node)
{
    struct snapshot *snapshot = store_acquire(node->store);
    size_t n, sum = 0;
    const struct snapshot_family *families = snapshot_families(snapshot, &n);
    for (size_t i = 0; i < n; i++)
        if (families[i].desc->type != METRIC_NOTE)
            sum += families[i].n *
                   (families[i].desc->type == METRIC_HISTOGRAM ? families[i].desc->n_edges + 3 : 1);
    snapshot_release(snapshot);
    return sum;
}

static void report(struct node *node)
{
    static const char *const names[PARTS] = {"begin", "collect", "self", "publish"};
    size_t n = node->n_ticks, containers = container_table_count(node->table, CONTAINERS_MONITORED);
    double total = 0;
    printf("{\"ticks\": %zu, \"missed\": %llu, \"containers\": %zu, \"series\": %zu", n,
           (unsigned long long)node->ticker.missed, containers, count_series(node));
    for (int part = 0; part < PARTS; part++) {
        double middle = median(node->cpu_us[part], n);
        total += middle;
        printf(", \"%s_us\": %.1f", names[part], middle);
    }
    for (size_t c = 0; collector_table[c]; c++)
        if (node->collector[c])
            printf(", \"%s_us\": %.1f", collector_table[c]->name, median(node->collector_us[c], n));
    printf(", \"tick_us\": %.1f, \"synthetic_us\": %.1f", total, reads_us(node, containers));
    double middle = median(node->wall_ms, n);
    printf(", \"wall_ms\": %.2f, \"wall_max_ms\": %.2f}\n", middle, n ? node->wall_ms[n - 1] : 0);
    fflush(stdout);
    node->n_ticks = 0;
}

static void command(struct node *node, const char *line)
{
    unsigned long n = 0;
    double seconds = 0, ms = 0;
    if (sscanf(line, "tick %lu", &n) == 1) {
        for (unsigned long i = 0; i < n; i++) {
            struct tick tick = {.number = node->tick.number + 1,
                                .mono_ns = node->tick.mono_ns + 1000000000,
                                .wall_ns = node->tick.wall_ns + 1000000000,
                                .interval_ns = 1000000000};
            run_tick(node, &tick);
        }
        report(node);
    } else if (sscanf(line, "run %lf %lf", &seconds, &ms) == 2 && ms >= 1) {
        uint64_t now = loop_now_ns();
        ticker_init(&node->ticker, (uint64_t)(ms * 1e6), now);
        node->ticker.number = node->tick.number;
        node->run_until_ns = now + (uint64_t)(seconds * 1e9);
    } else {
        fprintf(stderr, "bench_node: unknown command: %s", line);
    }
}

static uint64_t on_tick_due(void *context)
{
    struct node *node = context;
    return node->run_until_ns ? node->ticker.due_ns : UINT64_MAX;
}

static void on_tick(void *context, uint64_t now_ns)
{
    struct node *node = context;
    struct tick tick;
    if (now_ns > node->run_until_ns) {
        node->run_until_ns = 0;
        report(node);
    } else if (ticker_take(&node->ticker, now_ns, loop_wall_ns(), &tick)) {
        run_tick(node, &tick);
    }
}

static uint64_t no_deadline(void *context)
{
    (void)context;
    return UINT64_MAX;
}

static void nothing(void *context, uint64_t now_ns)
{
    (void)context;
    (void)now_ns;
}

static void on_readable(void *context, uint64_t now_ns)
{
    struct node *node = context;
    char line[256];
    (void)now_ns;
    ssize_t n = read(STDIN_FILENO, line, sizeof line - 1);
    if (n <= 0) {
        loop_stop(node->loop);
        return;
    }
    line[n] = '\0';
    command(node, line);
}

/* ---- building ---- */

static int add_containers(struct node *node, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char key[32], path[160], id[65], pod[64], uid[64];
        snprintf(key, sizeof key, "c%zu", i);
        snprintf(id, sizeof id, "%016zx%016zx%016zx%016zx", i * UINT64_C(0x9E3779B97F4A7C15), i + 1,
                 i + 2, i + 3);
        snprintf(uid, sizeof uid, "%08zx-0000-4000-8000-%012zx", i, i * 2654435761u);
        snprintf(pod, sizeof pod, "checkout-service-7d9c6b5f4-%05zx", i);
        snprintf(path, sizeof path, "/kubepods/burstable/pod%s/%s", uid, id);
        const struct container_spec spec = {.key = key,
                                            .cgroup_id = i + 1,
                                            .cgroup_fd = -1,
                                            .path = path,
                                            .id = id,
                                            .namespace_ = "shop",
                                            .pod = pod,
                                            .name = "checkout",
                                            .image = "registry.example.org/shop/checkout:1.42.0",
                                            .pod_uid = uid,
                                            .runtime = "containerd",
                                            .qos_class = "burstable",
                                            .resolved = true};
        uint64_t handle;
        int err = container_table_add(node->table, &spec, 0, &handle);
        if (err)
            return err;
    }
    return 0;
}

static int build_left(struct node *node, char *error, size_t size)
{
    static const char rules[] = "[{\"latency_seconds\": 1e-7}]";
    const struct container_limits limits = {.max = SIZE_MAX, .linger_max = 1};
    node->facts.machine =
        (struct machine){.base_frequency_hz = 2.1e9, .cache_cycles = 44, .llc_hit_cycles = 20};
    verdict_set(&node->facts.probe, REASON_NO_DEVICE, "no probe on a synthetic node");
    node->source = synthetic_source_new(node->cpus, node->busy);
    node->sources = source_set_new(&node->log);
    if (!node->source || !node->sources)
        return -ENOMEM;
    int err = options_parse(&node->options, 0, NULL, error, size);
    if (!err)
        err = source_set_route(node->sources, SCOPE_CGROUP, GROUP_CORE, node->source);
    if (!err)
        err = thresholds_parse(rules, strlen(rules), &node->thresholds, error, size);
    if (!err)
        err = container_table_new(&limits, &node->log, &node->table, error, size);
    if (!err)
        err = store_new(&node->store);
    if (!err)
        err = container_labels_new(node->store, &node->labels);
    return err;
}

static int build_collector(struct node *node)
{
    node->env = (struct collector_env){.sources = node->sources,
                                       .inventory = &node->inventory,
                                       .store = node->store,
                                       .labels = node->labels,
                                       .thresholds = &node->thresholds,
                                       .facts = &node->facts,
                                       .log = &node->log};
    int err = 0;
    for (size_t i = 0; collector_table[i] && !err; i++) {
        const struct collector_ops *ops = collector_table[i];
        struct collector_status *status = &node->status[i];
        node->env.config = &node->options.config[i];
        node->books[i].status = status;
        node->books[i].enabled =
            ops->default_on == COLLECTOR_ON && ops->probe(&node->env, &status->verdict);
        if (node->books[i].enabled)
            err = ops->start(&node->env, status, &node->collector[i]);
    }
    const struct self_config config = {
        .version = "bench", .source = "synthetic", .collectors = collector_table};
    return err ? err : self_new(node->store, &config, &node->self);
}

static int build_right(struct node *node, char *error, size_t size)
{
    static const char *const listen[] = {"127.0.0.1:0"};
    static const struct loop_callbacks callbacks = {.tick_due = on_tick_due,
                                                    .tick = on_tick,
                                                    .deadline = no_deadline,
                                                    .on_deadline = nothing,
                                                    .readable = on_readable};
    int err = expose_new(node->store, false, &node->expose);
    if (err)
        return err;
    struct pages_collector collectors[COLLECTORS_MAX];
    size_t n = 0;
    for (; collector_table[n]; n++)
        collectors[n] = (struct pages_collector){.ops = collector_table[n]};
    const struct pages_config pages = {.telemetry_path = "/metrics",
                                       .version = "bench",
                                       .expose = node->expose,
                                       .store = node->store,
                                       .collectors = collectors,
                                       .n_collectors = n};
    err = pages_new(&pages, &node->pages);
    if (err)
        return err;
    struct http_config http = {.listen = listen,
                               .n_listen = 1,
                               .max_requests = 40,
                               .context = node->pages,
                               .log = &node->log};
    http.routes = pages_routes(node->pages, &http.n_routes);
    if (node->front) {
        const struct front_config front = {.http = http};
        err = front_start(node->front, &front, error, size);
    } else {
        err = http_server_start(&http, &node->server, error, size);
    }
    return err ? err : loop_new(&callbacks, node, NULL, STDIN_FILENO, &node->loop);
}

static void tear_down(struct node *node)
{
    front_stop(node->front);
    http_server_stop(node->server);
    for (size_t i = 0; collector_table[i]; i++)
        if (node->collector[i])
            collector_table[i]->stop(node->collector[i]);
    loop_free(node->loop);
    pages_free(node->pages);
    expose_free(node->expose);
    self_free(node->self);
    container_labels_free(node->labels);
    store_free(node->store);
    container_table_free(node->table);
    source_set_free(node->sources);
    thresholds_release(&node->thresholds);
    front_free(node->front);
    free(node);
}

static unsigned port_of(const struct node *node)
{
    return node->front ? front_port(node->front, 0) : http_server_port(node->server, 0);
}

int main(int argc, char **argv)
{
    char error[512] = "";
    size_t containers = argc > 3 ? strtoul(argv[1], NULL, 10) : 0;
    struct node *node = calloc(1, sizeof *node);
    if (node && argc > 3) {
        node->cpus = strtoul(argv[2], NULL, 10);
        node->busy = strtoul(argv[3], NULL, 10);
    }
    if (!node || containers == 0 || node->busy == 0 || node->busy > node->cpus) {
        fprintf(stderr, "usage: bench_node CONTAINERS CPUS BUSY [apart]\n");
        return 2;
    }
    node->log = (struct log){.fd = STDERR_FILENO, .level = LOG_LEVEL_WARN};
    if (argc > 4 && strcmp(argv[4], "apart") == 0) {
        int status, role = front_fork(NULL, &node->log, &node->front, &status);
        if (role != 0) {
            free(node);
            return role < 0 ? 1 : status;
        }
    }
    int err = build_left(node, error, sizeof error);
    if (!err)
        err = build_collector(node);
    if (!err)
        err = build_right(node, error, sizeof error);
    if (!err)
        err = add_containers(node, containers);
    if (err) {
        fprintf(stderr, "bench_node: %s %s\n", strerror(-err), error);
        return 1;
    }
    node->tick = (struct tick){
        .mono_ns = loop_now_ns(), .wall_ns = loop_wall_ns(), .interval_ns = 1000000000};
    reconcile(node);
    publish(node);
    printf("{\"port\": %u}\n", port_of(node));
    fflush(stdout);
    err = loop_run(node->loop);
    tear_down(node);
    return err ? 1 : 0;
}
