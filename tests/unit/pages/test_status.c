/* /api/v1/status: which program, which machine, what is known of it, and what was left out. */
#include <jansson.h>

#include "exporter/pages/pages.h"
#include "tests/unit/support/unit.h"

static const uint64_t second_ns = 1000000000u;

enum { CONTAINERS = 5 };

struct fixture {
    struct store *store;
    struct expose *expose;
    struct live *live;
    struct pages *pages;
    struct pages_status status;
    struct container containers[CONTAINERS];
    size_t next;
    json_t *document;
};

static const struct collector_ops quiet = {.name = "quiet", .summary = "is well"};
static const struct collector_ops troubled = {.name = "troubled", .summary = "is not"};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    assert_int_equal(store_new(&f->store), 0);
    assert_int_equal(expose_new(f->store, false, &f->expose), 0);
    assert_int_equal(live_new(&f->live), 0);
    const struct pages_collector collectors[] = {{&quiet, f}, {&troubled, NULL}};
    const struct pages_config config = {.telemetry_path = "/metrics",
                                        .version = "1.2.3",
                                        .revision = "0123456789ab-dirty",
                                        .compiler = "gcc 99",
                                        .started_wall_ns = 1790000000 * second_ns,
                                        .started_mono_ns = 500 * second_ns,
                                        .live = f->live,
                                        .expose = f->expose,
                                        .store = f->store,
                                        .collectors = collectors,
                                        .n_collectors = 2};
    assert_int_equal(pages_new(&config, &f->pages), 0);
    f->status = (struct pages_status){.source = "perf",
                                      .source_why = "the other one is not there",
                                      .tick = {.number = 7,
                                               .mono_ns = 590 * second_ns,
                                               .wall_ns = 1790000090 * second_ns,
                                               .interval_ns = second_ns}};
    for (uint32_t i = 0; i < CONTAINERS; i++)
        f->containers[i] = (struct container){
            .slot = i, .gen = 1, .named = true, .namespace_ = "", .pod = "", .name = "x"};
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    json_decref(f->document);
    pages_free(f->pages);
    live_free(f->live);
    expose_free(f->expose);
    store_free(f->store);
    free(f);
    return 0;
}

static size_t no_arguments(const struct http_request *request, const char *name,
                           const char **values, size_t cap)
{
    return 0;
}

/* As after an update at this time of the monotonic clock, to a client from elsewhere. */
static void look(struct fixture *f, uint64_t now_ns)
{
    const struct http_request request = {.path = "/api/v1/status", .query = no_arguments};
    struct http_response response = {0};
    size_t n;
    const struct http_route *routes = pages_routes(f->pages, &n);
    pages_update(f->pages, &f->status, now_ns);
    for (size_t i = 0; i < n; i++)
        if (strcmp(routes[i].path, request.path) == 0)
            routes[i].handle(f->pages, &request, &response);
    assert_int_equal(response.status, 200);
    json_decref(f->document);
    f->document = json_loadb(response.bytes, response.len, 0, NULL);
    assert_non_null(f->document);
    if (response.release)
        response.release(response.release_context);
}

/* What lies behind a path of keys and indices, such as "machine.nodes.0.cpus". */
static json_t *at(const struct fixture *f, const char *path)
{
    json_t *found = f->document;
    char key[64];
    for (const char *rest = path; found && *rest;) {
        size_t len = strcspn(rest, ".");
        assert_true(len < sizeof key);
        memcpy(key, rest, len);
        key[len] = '\0';
        found = json_is_array(found) ? json_array_get(found, (size_t)atoi(key))
                                     : json_object_get(found, key);
        rest += len + (rest[len] == '.');
    }
    if (!found)
        fail_msg("there is no %s", path);
    return found;
}

static void expect_number(const struct fixture *f, const char *path, double value)
{
    assert_float_equal(json_number_value(at(f, path)), value, 1e-9);
}

static void expect_text(const struct fixture *f, const char *path, const char *text)
{
    assert_string_equal(json_string_value(at(f, path)), text);
}

TEST_ON(which_program_and_since_when, struct fixture *f, setup, teardown)
{
    look(f, 590 * second_ns);
    expect_text(f, "version", "1.2.3");
    expect_text(f, "revision", "0123456789ab-dirty");
    expect_text(f, "compiler", "gcc 99");
    expect_text(f, "source", "perf");
    expect_text(f, "source_why", "the other one is not there");
    expect_number(f, "started_timestamp_seconds", 1790000000);
    expect_number(f, "uptime_seconds", 90);
    look(f, 499 * second_ns); /* a clock that no kernel has */
    expect_number(f, "uptime_seconds", 0);
}

TEST_ON(the_machine_and_its_nodes, struct fixture *f, setup, teardown)
{
    struct machine *m = &f->status.machine;
    strcpy(m->cpu_model, "A CPU");
    m->numa_nodes = 2;
    m->online_nodes = 5;
    m->numa_distance[0][0] = m->numa_distance[2][2] = 10;
    m->numa_distance[0][2] = 21;
    for (int cpu = 0; cpu < 6; cpu++)
        machine_place_cpu_on_node(m, cpu, cpu < 4 ? 0 : 2);
    look(f, 590 * second_ns);
    expect_text(f, "machine.cpu_model", "A CPU");
    assert_int_equal(json_array_size(at(f, "machine.nodes")), 2);
    expect_number(f, "machine.nodes.0.numa_node", 0);
    expect_number(f, "machine.nodes.0.cpus", 4);
    expect_number(f, "machine.nodes.0.distances.0", 10);
    expect_number(f, "machine.nodes.0.distances.2", 21);
    expect_number(f, "machine.nodes.1.numa_node", 2);
    expect_number(f, "machine.nodes.1.cpus", 2);
    assert_int_equal(json_object_size(at(f, "machine.nodes.1.distances")), 1);
}

/* As of a recording, which has none of it. */
TEST_ON(what_is_not_known_is_null, struct fixture *f, setup, teardown)
{
    look(f, 590 * second_ns);
    assert_true(json_is_null(at(f, "machine.cpu_model")));
    assert_true(json_is_null(at(f, "machine.nodes")));
    assert_int_equal(json_array_size(at(f, "memory_latencies")), 0);
    assert_true(json_is_null(at(f, "collectors.0.since_timestamp_seconds")));
    assert_int_equal(json_object_size(at(f, "containers.normals.known_from")), 0);
    assert_int_equal(json_object_size(at(f, "containers.normals.unknown_because")), 0);
}

static const struct container *next(void *context)
{
    struct fixture *f = context;
    return f->next < CONTAINERS ? &f->containers[f->next++] : NULL;
}

static void show(struct fixture *f)
{
    f->next = 0;
    live_show(f->live, &f->status.tick, next, f);
}

TEST_ON(the_latencies_of_memory, struct fixture *f, setup, teardown)
{
    const struct tick *tick = &f->status.tick;
    live_latency(f->live, 1, 0, tick, 150e-9);
    live_latency(f->live, 0, 1, tick, 140e-9);
    live_latency(f->live, 0, 0, tick, 90e-9);
    live_explain(f->live, 0, LIVE_CAUSE_CALM, 88e-9, NAN, NAN);
    show(f);
    look(f, 590 * second_ns);
    assert_int_equal(json_array_size(at(f, "memory_latencies")), 3);
    static const struct {
        int initiator, target;
        double seconds;
    } rows[] = {{0, 0, 90e-9}, {0, 1, 140e-9}, {1, 0, 150e-9}};
    for (int i = 0; i < 3; i++) {
        const json_t *row = json_array_get(at(f, "memory_latencies"), (size_t)i);
        assert_int_equal(json_integer_value(json_object_get(row, "initiator_numa_node")),
                         rows[i].initiator);
        assert_int_equal(json_integer_value(json_object_get(row, "target_numa_node")),
                         rows[i].target);
        assert_true(json_real_value(json_object_get(row, "latency_seconds")) == rows[i].seconds);
        const json_t *usual = json_object_get(row, "usual_latency_seconds");
        assert_true(i == 0 ? json_real_value(usual) == 88e-9 : json_is_null(usual));
    }
    /* A minute later they are not the present ones. */
    f->status.tick.mono_ns += (LIVE_LATEST_SECONDS + 1) * second_ns;
    show(f);
    look(f, 651 * second_ns);
    assert_true(json_is_null(at(f, "memory_latencies.0.latency_seconds")));
}

TEST_ON(collectors_since_when_and_what_they_discarded, struct fixture *f, setup, teardown)
{
    f->status.collectors[0].available = true;
    f->status.collectors[0].since_wall_ns = 1790000001 * second_ns;
    verdict_set(&f->status.collectors[1].verdict, REASON_NO_PMU, "none here");
    f->status.collectors[1].since_wall_ns = 1790000002 * second_ns;
    f->status.collectors[1].discarded[DISCARD_STARVED] = 3;
    f->status.collectors[1].open_failures[REASON_FD_LIMIT] = 2;
    look(f, 590 * second_ns);
    expect_number(f, "collectors.0.since_timestamp_seconds", 1790000001);
    assert_int_equal(json_object_size(at(f, "collectors.0.windows_discarded")), 0);
    expect_text(f, "collectors.1.reason", "no_pmu");
    expect_number(f, "collectors.1.since_timestamp_seconds", 1790000002);
    assert_int_equal(json_object_size(at(f, "collectors.1.windows_discarded")), 1);
    expect_number(f, "collectors.1.windows_discarded.starved", 3);
    assert_int_equal(json_object_size(at(f, "collectors.1.open_failures")), 1);
    expect_number(f, "collectors.1.open_failures.fd_limit", 2);
}

TEST_ON(containers_with_a_normal_and_without, struct fixture *f, setup, teardown)
{
    const struct container *c = f->containers;
    f->containers[4].named = false;
    f->status.containers[CONTAINERS_MONITORED] = 5;
    f->status.containers[CONTAINERS_LINGERING] = 2;
    f->status.containers[CONTAINERS_EXCLUDED] = 6;
    assert_int_equal(live_reserve(f->live, CONTAINERS), 0);
    live_begin(f->live);
    live_normal_basis(f->live, &c[0], "calm", 1);
    live_normal_basis(f->live, &c[1], "calm", 1);
    live_lacks_normal(f->live, &c[2], "learning");
    show(f);
    look(f, 590 * second_ns);
    expect_number(f, "containers.monitored", 5);
    assert_int_equal(json_object_size(at(f, "containers.normals.known_from")), 1);
    expect_number(f, "containers.normals.known_from.calm", 2);
    static const struct {
        const char *why;
        int n;
    } rows[] = {
        {"learning", 1}, {"not_estimated", 1}, {"unnamed", 1}, {"ended", 2}, {"excluded", 6}};
    const json_t *unknown = at(f, "containers.normals.unknown_because");
    assert_int_equal(json_object_size(unknown), 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(json_integer_value(json_object_get(unknown, rows[i].why)), rows[i].n);
}

TEST_ON(what_was_left_out, struct fixture *f, setup, teardown)
{
    f->status.refused[REFUSED_PLACE] = 4;
    f->status.log_dropped[LOG_DROPPED_RATE] = 9;
    f->status.unread = 3;
    look(f, 590 * second_ns);
    expect_number(f, "left_out.cgroups_refused.places", 4);
    expect_number(f, "left_out.cgroups_refused.directories", 0);
    expect_number(f, "left_out.cgroups_refused.watches", 0);
    expect_number(f, "left_out.log_lines_dropped.rate", 9);
    expect_number(f, "left_out.log_lines_dropped.blocked", 0);
    expect_number(f, "left_out.intervals_unread", 3);
}
