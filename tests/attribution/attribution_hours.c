/*
 * Hours of made-up nodes (node_hour.h) and what the collector `attribution` says of them.
 *
 *   attribution_hours kinds
 *   attribution_hours judge KIND SEED [SECONDS]    one line of JSON: how right it was
 *   attribution_hours judge KIND SEED 0 FILE       the same with what other nodes found
 *   attribution_hours tell KIND SEED [SECONDS]     a line of JSON per second: what the page says
 *   attribution_hours record KIND SEED [SECONDS]   a recording, version 1, for the exporter
 *   attribution_hours series KIND SEED [SECONDS]   what alerts are made of, published every 30 s
 *
 * series prints OpenMetrics with the simulated second as time, as the store published it. A rig
 * runs no probe: interference_memory_probe_latency_seconds is the node's latest reading.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectors/table.h"
#include "exporter/containers/workload.h"
#include "exporter/store/store.h"
#include "tests/attribution/node_source.h"
#include "tests/unit/support/collector_rig.h"

enum { LEARNING = 60, AFTER = 5, DECILES = 10, HOURS = 24, SCRAPE_S = 30 };

static const double hurting = 0.03;
static const int minutes[AFTER] = {1, 5, 10, 30, 60};

struct live {
    struct container container;
    char path[80], id[16];
    bool used; /* the slot */
};

struct player {
    struct node_hour node;
    struct node_source source;
    struct rig rig;
    struct live live[HOUR_WORKERS];
    int slot_of[HOUR_WORKERS]; /* -1: not there */

    unsigned hurting, right, right_or_one, readings, wrong;
    int first_named; /* seconds after the onset; -1: never */
    bool named_at[AFTER], one_at[AFTER];
    unsigned changes;
    unsigned wrong_outside; /* of wrong: while the latency is raised from outside */
    unsigned stale;         /* a culprit is named who does no harm just now */
    unsigned unknown;       /* more than a tenth of the latency is nobody's */
    unsigned hurting_in[HOURS], right_in[HOURS];
    bool was_named;
    bool ever_named[HOUR_WORKERS];
    char wrong_names[16][sizeof((struct worker *)0)->pod];
    unsigned n_wrong;
    double caused_ns, true_ns;
    /* Containers that once had a p of this decile; of these, culprits. */
    unsigned sure[DECILES], sure_right[DECILES];
    bool sure_of[DECILES][HOUR_WORKERS];
    double cpu_seconds;
    unsigned containers;
    double latest_ns;
};

static void fail(const char *what)
{
    fprintf(stderr, "attribution_hours: %s\n", what);
    exit(2);
}

/* ---- the collector ---- */

static void start(struct player *p, const char *elsewhere)
{
    struct rig *rig = &p->rig;
    static char flag[512];
    rig_init(rig, &attribution_collector);
    snprintf(flag, sizeof flag, "--collector.attribution.prior.file=%s", elsewhere);
    if (elsewhere[0])
        rig_flag(rig, flag);
    rig->facts.machine.numa_nodes = 1;
    rig->facts.machine.cpus = 64;
    node_source_init(&p->source, &p->node);
    for (int kind = 0; kind < SCOPE_KINDS; kind++)
        for (int group = 0; group < GROUP_COUNT; group++)
            if (source_set_route(rig->sources, (enum scope_kind)kind, (enum group)group,
                                 &p->source.source) != 0)
                fail("out of memory");
    const struct source_thread thread = {.key = "p0", .kind = "probe", .tid = 1, .cpu = 0};
    if (source_set_route_probes(rig->sources, &p->source.source) != 0 ||
        inventory_add_thread(&rig->inventory, &thread) != 0)
        fail("out of memory");
    rig_start(rig);
    for (unsigned i = 0; i < HOUR_WORKERS; i++)
        p->slot_of[i] = -1;
}

static void come(struct player *p, unsigned i)
{
    const struct worker *w = &p->node.worker[i];
    unsigned slot = 0;
    while (p->live[slot].used)
        slot++;
    struct live *live = &p->live[slot];
    uint32_t gen = live->container.gen + 1;
    snprintf(live->path, sizeof live->path, "/kubepods/%s", w->pod);
    snprintf(live->id, sizeof live->id, "%012x", i);
    live->used = true;
    live->container = (struct container){
        .slot = slot,
        .gen = gen,
        .cgroup_fd = -1,
        .named = true,
        .path = live->path,
        .id = live->id,
        .namespace_ = w->namespace_,
        .pod = w->pod,
        .name = w->name,
        .image = w->image,
        .workload = w->pod,
        .pod_uid = "",
        .runtime = "",
        .qos_class = "",
        .found_mono_ns = p->rig.tick.mono_ns,
    };
    node_source_key(i, live->container.key, sizeof live->container.key);
    snprintf(live->container.short_id, sizeof live->container.short_id, "%012x", i);
    p->slot_of[i] = (int)slot;
    struct container *container = &live->container;
    rig_reconcile(&p->rig,
                  &(struct container_diff){.added = {&container, 1}, .named = {&container, 1}});
}

static void go(struct player *p, unsigned i)
{
    struct live *live = &p->live[p->slot_of[i]];
    struct container *container = &live->container;
    if (container->state == CONTAINER_LIVE) {
        rig_end(&p->rig, container);
        return;
    }
    rig_forget(&p->rig, container);
    live->used = false;
    p->slot_of[i] = -1;
}

/* An ended one is read once more, and forgotten a second later. */
static void follow_workers(struct player *p)
{
    p->containers = 0;
    for (unsigned i = 0; i < p->node.n; i++) {
        bool live = worker_is_live(&p->node, &p->node.worker[i]);
        p->containers += live;
        if (live && p->slot_of[i] < 0)
            come(p, i);
        else if (!live && p->slot_of[i] >= 0)
            go(p, i);
    }
}

static json_t *tick(struct player *p)
{
    struct timespec from, to;
    node_hour_next(&p->node);
    node_source_move(&p->source);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    follow_workers(p);
    if (rig_tick(&p->rig) != 0)
        fail("the collector failed");
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    p->cpu_seconds +=
        (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    struct textbuf text;
    textbuf_init(&text);
    if (p->rig.ops->page->render(p->rig.collector, "replay", &text) != 0)
        fail("no page");
    json_t *root = json_loadb(text.data, text.len, 0, NULL);
    textbuf_release(&text);
    json_t *domain = json_incref(json_array_get(json_object_get(root, "domains"), 0));
    json_decref(root);
    return domain ? domain : json_null();
}

/* ---- the truth ---- */

static const struct worker *worker_of(const struct player *p, const json_t *row)
{
    const char *pod = json_string_value(json_object_get(row, "pod"));
    for (unsigned i = 0; pod && i < p->node.n; i++)
        if (strcmp(p->node.worker[i].pod, pod) == 0)
            return &p->node.worker[i];
    fail("a row of nobody");
    return NULL;
}

static bool ever_hurts(const struct player *p, const struct worker *w)
{
    (void)p;
    return w->effect >= hurting && w->class != W_IDLE;
}

static bool hurts_now(const struct worker *w)
{
    return w->caused >= hurting;
}

static void blame(struct player *p, const struct worker *w)
{
    char owner[sizeof w->pod];
    snprintf(owner, sizeof owner, "%.*s", (int)workload_owner_len(w->pod, w->name), w->pod);
    for (unsigned i = 0; i < p->n_wrong; i++)
        if (strcmp(p->wrong_names[i], owner) == 0)
            return;
    if (p->n_wrong < 16)
        memcpy(p->wrong_names[p->n_wrong++], owner, sizeof owner);
}

static bool has_culprit(const struct player *p, const json_t *rows, bool now)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const struct worker *w = worker_of(p, json_array_get(rows, i));
        if (now ? hurts_now(w) : ever_hurts(p, w))
            return true;
    }
    return false;
}

static void calibrate(struct player *p, const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *value = json_object_get(row, "p");
        if (!json_is_number(value))
            continue;
        int decile = (int)fmin(9, floor(json_number_value(value) * 10));
        const struct worker *w = worker_of(p, row);
        bool *seen = &p->sure_of[decile][w - p->node.worker];
        p->sure[decile] += !*seen;
        p->sure_right[decile] += !*seen && ever_hurts(p, w);
        *seen = true;
    }
}

static bool is_unknown(const json_t *domain)
{
    double unknown = json_number_value(json_object_get(json_object_get(domain, "by"), "unknown"));
    return unknown > 0.1 * json_number_value(json_object_get(domain, "latency_ns"));
}

/* Of its hours with ten minutes of hurting or more, the one in which a culprit is named least. */
static double worst_hour(const struct player *p)
{
    double worst = 1;
    for (unsigned i = 0; i < HOURS; i++)
        if (p->hurting_in[i] >= 600)
            worst = fmin(worst, (double)p->right_in[i] / p->hurting_in[i]);
    return worst;
}

static void judge(struct player *p, const json_t *domain)
{
    const json_t *rows = json_object_get(domain, "aggressors");
    const json_t *groups = json_object_get(domain, "groups");
    const struct worker *most = NULL;
    if (isnan(p->node.latency_ns) || p->node.second <= LEARNING)
        return;
    p->readings++;
    bool hurt = p->node.host_follows && p->node.host_effect > 0 && p->node.host > 0.7;
    for (unsigned i = 0; i < p->node.n; i++) {
        const struct worker *w = &p->node.worker[i];
        hurt |= hurts_now(w);
        if (hurts_now(w) && (!most || w->caused > most->caused))
            most = w;
    }
    bool named = has_culprit(p, rows, true), one = named, wrong = false;
    for (size_t i = 0; i < json_array_size(groups); i++)
        one |= has_culprit(p, json_object_get(json_array_get(groups, i), "members"), true);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const struct worker *w = worker_of(p, json_array_get(rows, i));
        double ns = json_number_value(json_object_get(json_array_get(rows, i), "caused_ns"));
        if (w == most) {
            p->caused_ns += ns;
            p->true_ns += p->node.latency_ns * (1 - exp(-most->caused));
        }
        p->ever_named[w - p->node.worker] = true;
        p->stale += ever_hurts(p, w) && w->x > 0.1 && w->caused < hurting / 3;
        if (ever_hurts(p, w))
            continue;
        wrong = true;
        blame(p, w);
    }
    calibrate(p, rows);
    calibrate(p, json_object_get(domain, "suspects"));
    p->wrong += wrong;
    p->wrong_outside += wrong && p->node.outside_now;
    p->unknown += is_unknown(domain);
    if (!hurt)
        return;
    p->hurting++;
    unsigned hour = p->node.second / 3600;
    p->hurting_in[hour % HOURS]++;
    p->right_in[hour % HOURS] += named;
    p->right += named;
    p->right_or_one += one;
    p->changes += named != p->was_named;
    p->was_named = named;
    int after = (int)(p->node.second - p->node.onset);
    if (named && p->first_named < 0)
        p->first_named = after;
    for (int i = 0; i < AFTER; i++)
        if (after >= 60 * minutes[i] - 10 && after < 60 * minutes[i]) {
            p->named_at[i] |= named;
            p->one_at[i] |= one;
        }
}

static json_t *deciles(const unsigned *count)
{
    json_t *array = json_array();
    for (int i = 0; i < DECILES; i++)
        json_array_append_new(array, json_integer(count[i]));
    return array;
}

static double share(unsigned part, unsigned all)
{
    return all ? (double)part / all : 0;
}

/* Of each workload, as "namespace/owner", whether it was named here. */
static json_t *workloads_of(const struct player *p)
{
    json_t *out = json_object();
    for (unsigned i = 0; i < p->node.n; i++) {
        const struct worker *w = &p->node.worker[i];
        char name[128];
        snprintf(name, sizeof name, "%s/%.*s", w->namespace_,
                 (int)workload_owner_len(w->pod, w->name), w->pod);
        if (p->ever_named[i] || !json_object_get(out, name))
            json_object_set_new(out, name, json_boolean(p->ever_named[i]));
    }
    return out;
}

static void print_judgement(const struct player *p, uint64_t seed)
{
    json_t *names = json_array(), *at = json_object(), *one_at = json_object();
    for (unsigned i = 0; i < p->n_wrong; i++)
        json_array_append_new(names, json_string(p->wrong_names[i]));
    for (int i = 0; i < AFTER; i++) {
        char key[8];
        snprintf(key, sizeof key, "%d", minutes[i]);
        json_object_set_new(at, key, json_boolean(p->named_at[i]));
        json_object_set_new(one_at, key, json_boolean(p->one_at[i]));
    }
    json_t *line = json_pack(
        "{s:s, s:I, s:i, s:i, s:i, s:f, s:f, s:f, s:i, s:o, s:o, s:o, s:i, s:i, s:i, s:i, s:i, "
        "s:f, "
        "s:o, s:o, s:o, s:f}",
        "kind", p->node.kind, "seed", (json_int_t)seed, "containers", p->containers, "readings",
        p->readings, "hurting", p->hurting, "right", share(p->right, p->hurting), "right_or_one_of",
        share(p->right_or_one, p->hurting), "worst_hour", worst_hour(p), "first_named",
        p->first_named, "named_at", at, "one_of_at", one_at, "wrong_names", names, "wrong_readings",
        p->wrong, "wrong_outside", p->wrong_outside, "stale", p->stale, "unknown", p->unknown,
        "changes", p->changes, "caused_over_true", p->true_ns > 0 ? p->caused_ns / p->true_ns : 0,
        "p", deciles(p->sure), "p_right", deciles(p->sure_right), "workloads", workloads_of(p),
        "us_per_tick", 1e6 * p->cpu_seconds / p->node.second);
    json_dumpf(line, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(line);
}

/* ---- as Prometheus scrapes it ---- */

static const char *const of_alerts[] = {
    "interference_container_caused_latency_seconds",
    "interference_memory_attribution_readings",
    "interference_memory_attribution_activity_ratio",
    "interference_memory_excess_latency_current_seconds",
    "interference_memory_excess_latency_seconds",
};

static bool is_of_alerts(const char *name)
{
    for (size_t i = 0; i < sizeof of_alerts / sizeof *of_alerts; i++)
        if (strcmp(of_alerts[i], name) == 0)
            return true;
    return false;
}

static void print_family(const struct snapshot_family *family, unsigned second)
{
    const struct metric_desc *desc = family->desc;
    const char *suffix = desc->type == METRIC_COUNTER ? "_total" : "";
    struct sample s;
    const struct sample *sample = &s;
    for (size_t at = 0; snapshot_next(family, &at, &s);) {
        size_t len = 0;
        const char *common = sample->common ? labelset_text(sample->common, &len) : "";
        double value = desc->number == METRIC_U64 ? (double)sample->u64 : sample->number;
        printf("%s%s{%.*s%s%.*s} %.17g %u\n", desc->name, suffix, (int)len, common,
               len && sample->own_len ? "," : "", (int)sample->own_len, sample->own, value, second);
    }
}

static void print_series(struct player *p)
{
    unsigned second = p->node.second;
    if (!isnan(p->node.latency_ns))
        p->latest_ns = p->node.latency_ns;
    if (second % SCRAPE_S != 0)
        return;
    size_t n;
    struct snapshot *snapshot = store_acquire(p->rig.store);
    const struct snapshot_family *families = snapshot_families(snapshot, &n);
    for (size_t i = 0; i < n; i++)
        if (is_of_alerts(families[i].desc->name))
            print_family(&families[i], second);
    snapshot_release(snapshot);
    printf("interference_memory_probe_latency_seconds{initiator_numa_node=\"0\","
           "target_numa_node=\"0\"} %.17g %u\n",
           1e-9 * p->latest_ns, second);
}

/* ---- as a recording ---- */

static void print_container(const struct worker *w, unsigned i)
{
    printf("{\"container\":{\"key\":\"w%u\",\"cgroup\":\"/kubepods/%s\",\"id\":\"%012x\","
           "\"namespace\":\"%s\",\"pod\":\"%s\",\"container\":\"%s\",\"image\":\"%s\","
           "\"pod_uid\":\"\"}}\n",
           i, w->pod, i, w->namespace_, w->pod, w->name, w->image);
}

/* An ended one is read once more, as the collector alone reads it. */
static void record_second(struct player *p)
{
    const struct node_hour *n = &p->node;
    printf("{\"tick\":%u,\"mono_ns\":%u000000000,\"wall_ns\":179%07u000000000}\n", n->second,
           n->second, n->second);
    for (unsigned i = 0; i < n->n; i++) {
        const struct worker *w = &n->worker[i];
        bool live = worker_is_live(n, w), was_live = p->slot_of[i] >= 0;
        if (live && !was_live)
            print_container(w, i);
        else if (!live && was_live)
            printf("{\"gone\":\"w%u\"}\n", i);
        p->slot_of[i] = live ? 0 : -1;
        if (live || was_live)
            printf("{\"activity\":\"w%u\",\"cpu_time_ns\":%llu}\n", i,
                   (unsigned long long)p->source.used_ns[i]);
        if (live && w->caused >= hurting)
            printf("{\"truth\":{\"key\":\"w%u\",\"tick\":%u,\"caused\":%.4f}}\n", i, n->second,
                   w->caused);
    }
    printf("{\"activity\":\"host\",\"cpu_time_ns\":%llu}\n", (unsigned long long)p->source.host_ns);
    if (!isnan(n->latency_ns))
        printf("{\"probe\":{\"initiator_numa_node\":0,\"target_numa_node\":0,"
               "\"latency_ns\":%.17g}}\n",
               n->latency_ns);
}

static void record(struct player *p, unsigned seconds)
{
    printf("{\"recording\":1,\"machine\":{\"microarchitecture\":\"\",\"sockets\":1,"
           "\"numa_nodes\":1,\"cpus\":64},\"interval_ns\":1000000000}\n"
           "{\"thread\":{\"key\":\"p0\",\"kind\":\"probe\",\"initiator_numa_node\":0,"
           "\"target_numa_node\":0}}\n");
    node_source_init(&p->source, &p->node);
    for (unsigned i = 0; i < HOUR_WORKERS; i++)
        p->slot_of[i] = -1;
    for (unsigned i = 0; i < seconds; i++) {
        node_hour_next(&p->node);
        node_source_move(&p->source);
        record_second(p);
    }
}

/* ---- the command line ---- */

int main(int argc, char **argv)
{
    static struct player p;
    if (argc == 2 && strcmp(argv[1], "kinds") == 0) {
        for (size_t i = 0; node_hour_kind(i); i++)
            puts(node_hour_kind(i));
        return 0;
    }
    if (argc < 4)
        fail(
            "usage: attribution_hours kinds | judge|tell|record|series KIND SEED [SECONDS [FILE]]");
    uint64_t seed = strtoull(argv[3], NULL, 10);
    if (!node_hour_init(&p.node, argv[2], seed))
        fail("no such kind");
    unsigned seconds = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
    seconds = seconds ? seconds : p.node.seconds;
    if (strcmp(argv[1], "record") == 0) {
        record(&p, seconds);
        return 0;
    }
    bool tells = strcmp(argv[1], "tell") == 0, lists = strcmp(argv[1], "series") == 0;
    if (lists)
        printf("# onset %.0f\n", p.node.onset);
    p.first_named = -1;
    start(&p, argc > 5 ? argv[5] : "");
    for (unsigned i = 0; i < seconds; i++) {
        json_t *domain = tick(&p);
        judge(&p, domain);
        if (lists)
            print_series(&p);
        if (tells) {
            double truth = 0;
            for (unsigned k = 0; k < p.node.n; k++)
                truth += hurts_now(&p.node.worker[k]) ? p.node.worker[k].caused : 0;
            json_object_set_new(domain, "second", json_integer(p.node.second));
            json_object_set_new(domain, "truth", json_real(truth));
            json_object_set_new(domain, "outside", json_real(p.node.outside));
            json_dumpf(domain, stdout, JSON_COMPACT);
            putchar('\n');
        }
        json_decref(domain);
    }
    if (!tells && !lists)
        print_judgement(&p, seed);
    rig_release(&p.rig);
    return 0;
}
