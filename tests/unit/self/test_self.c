/* The exporter's own metrics, as a published snapshot shows them. */
#include "exporter/self/metrics.h"
#include "exporter/self/self.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

static const struct collector_ops alpha = {.name = "alpha", .discards = DISCARDS_OF_WINDOWS},
                                  beta = {.name = "beta", .discards = DISCARD_BIT(DISCARD_STOLEN)};
static const struct collector_ops *const collectors[] = {&alpha, &beta, NULL};

struct fixture {
    struct store *store;
    struct self *self;
    struct collector_status status[2];
    struct self_collector collector[2];
    struct self_state state;
    struct tick tick;
};

static void build(struct fixture *f, bool disable_exporter_metrics)
{
    memset(f, 0, sizeof *f);
    f->collector[0] = (struct self_collector){.status = &f->status[0], .enabled = true};
    f->collector[1] = (struct self_collector){.status = &f->status[1], .enabled = true};
    f->state.collectors = f->collector;
    f->state.tick = &f->tick;
    const struct self_config config = {
        .version = "1.2.3",
        .revision = "abc",
        .compiler = "cc 1",
        .source = "replay",
        .microarchitecture = "clx",
        .collectors = collectors,
        .disable_exporter_metrics = disable_exporter_metrics,
    };
    assert_int_equal(store_new(&f->store), 0);
    assert_int_equal(self_new(f->store, &config, &f->self), 0);
}

static int setup(void **state)
{
    struct fixture *f = malloc(sizeof *f);
    if (!f)
        return -1;
    build(f, false);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    self_free(f->self);
    store_free(f->store);
    free(f);
    return 0;
}

/* ---- looking at what was published ---- */

static void publish(struct fixture *f)
{
    self_update(f->self, &f->state);
    assert_int_equal(store_publish(f->store, &f->tick), 0);
}

static const struct snapshot_family *find_family(struct snapshot *snapshot, const char *name)
{
    size_t n;
    const struct snapshot_family *families = snapshot_families(snapshot, &n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(families[i].desc->name, name) == 0)
            return &families[i];
    }
    return NULL;
}

static const double absent = -1;

/* The value of name (without the exporter's prefix unless it is process_*) and own labels. */
static double value(struct fixture *f, const char *name, const char *labels)
{
    char full[128];
    snprintf(full, sizeof full, "%s%s",
             strncmp(name, "process_", 8) == 0 ? "" : "interference_exporter_", name);
    struct snapshot *snapshot = store_acquire(f->store);
    assert_non_null(snapshot);
    const struct snapshot_family *family = find_family(snapshot, full);
    double found = absent;
    struct sample s;
    for (size_t at = 0; family && snapshot_next(family, &at, &s);) {
        assert_null(family->owner);
        assert_null(s.common);
        if (s.own_len == strlen(labels) && memcmp(s.own, labels, s.own_len) == 0)
            found = family->desc->number == METRIC_DOUBLE ? s.number : (double)s.u64;
    }
    snapshot_release(snapshot);
    return found;
}

#define assert_value(f, name, labels, want)                                                        \
    do {                                                                                           \
        double got = value(f, name, labels);                                                       \
        if (got != (want))                                                                         \
            fail_msg("%s{%s} is %.17g, not %.17g", name, labels, got, (double)(want));             \
    } while (0)

static size_t series_count(struct fixture *f, const char *name)
{
    struct snapshot *snapshot = store_acquire(f->store);
    const struct snapshot_family *family = find_family(snapshot, name);
    size_t n = family ? family->n : 0;
    snapshot_release(snapshot);
    return n;
}

/* Combinations of handler, format and code that are there before the first request. */
enum { EXPECTED_REQUESTS = 3 };

/* ---- tests ---- */

/* A date of 0 would be read as "56 years ago" by every rule that subtracts it from now. */
TEST_ON(test_what_never_happened_has_no_date, struct fixture *f, setup, teardown)
{
    publish(f);
    assert_int_equal(
        series_count(f, "interference_exporter_collector_last_success_timestamp_seconds"), 0);
    assert_int_equal(series_count(f, "interference_exporter_last_tick_timestamp_seconds"), 0);
    assert_int_equal(
        series_count(f, "interference_exporter_config_last_reload_success_timestamp_seconds"), 0);
}

/* What may be alerted on is there before anything happened. */
TEST_ON(test_all_there_from_the_start, struct fixture *f, setup, teardown)
{
    publish(f);
    assert_value(f, "build", "version=\"1.2.3\",revision=\"abc\",compiler=\"cc 1\"", 1);
    assert_value(f, "source", "source=\"replay\",microarchitecture=\"clx\"", 1);
    static const char *const names[] = {"alpha", "beta"};
    for (size_t i = 0; i < 2; i++) {
        char labels[128];
        snprintf(labels, sizeof labels, "collector=\"%s\"", names[i]);
        assert_value(f, "collector_available", labels, 1);
        assert_value(f, "collector_success", labels, 1);
        assert_value(f, "collector_duration_seconds", labels, 0);
    }
    static const char *const discards[] = {
        "collector=\"alpha\",reason=\"starved\"", "collector=\"alpha\",reason=\"reset\"",
        "collector=\"alpha\",reason=\"read_error\"", "collector=\"beta\",reason=\"stolen\""};
    for (size_t i = 0; i < sizeof discards / sizeof *discards; i++)
        assert_value(f, "windows_discarded", discards[i], 0);
    assert_int_equal(series_count(f, "interference_exporter_windows_discarded"), 4);
    assert_int_equal(series_count(f, "interference_exporter_perf_open_failures"), 0);
    assert_int_equal(series_count(f, "interference_exporter_pmu_enabled_seconds"), 0);
    assert_int_equal(series_count(f, "interference_exporter_pmu_running_seconds"), 0);
    assert_int_equal(series_count(f, "interference_exporter_collector"), 2);
    assert_value(f, "containers", "state=\"monitored\"", 0);
    assert_value(f, "containers", "state=\"lingering\"", 0);
    assert_value(f, "containers", "state=\"excluded\"", 0);
    assert_value(f, "containers", "state=\"over_limit\"", 0);
    assert_value(f, "cgroups_refused", "reason=\"directories\"", 0);
    assert_value(f, "cgroups_refused", "reason=\"places\"", 0);
    assert_value(f, "cgroups_refused", "reason=\"watches\"", 0);
    static const char *const singles[] = {
        "ticks",
        "missed_ticks",
        "containers_limit",
        "open_counters",
        "config_last_reload_successful",
    };
    for (size_t i = 0; i < sizeof singles / sizeof *singles; i++)
        assert_value(f, singles[i], "", 0);
    assert_value(f, "http_requests", "handler=\"metrics\",format=\"text\",code=\"500\"", 0);
    assert_value(f, "http_requests", "handler=\"metrics\",format=\"text\",code=\"503\"", 0);
    assert_value(f, "http_requests", "handler=\"healthy\",format=\"text\",code=\"503\"", 0);
    assert_int_equal(series_count(f, "interference_exporter_http_requests"), EXPECTED_REQUESTS);
    assert_true(value(f, "process_cpu_seconds", "") > 0);
    assert_true(value(f, "process_open_fds", "") >= 3);
    assert_true(value(f, "process_max_fds", "") >= 3);
    assert_true(value(f, "process_virtual_memory_bytes", "") > 1e6);
    assert_true(value(f, "process_resident_memory_bytes", "") > 1e5);
    assert_true(value(f, "process_start_time_seconds", "") > 1.6e9);
}

TEST_ON(test_numbers_arrive, struct fixture *f, setup, teardown)
{
    f->tick = (struct tick){.number = 9, .wall_ns = 1790000000500000000};
    f->state.ticks = 9;
    f->state.missed_ticks = 2;
    f->state.containers[CONTAINERS_MONITORED] = 5;
    f->state.containers[CONTAINERS_LINGERING] = 6;
    f->state.containers[CONTAINERS_EXCLUDED] = 7;
    f->state.containers[CONTAINERS_OVER_LIMIT] = 8;
    f->state.containers_limit = 512;
    f->state.refused[REFUSED_DIRECTORY] = 21;
    f->state.refused[REFUSED_PLACE] = 22;
    f->state.refused[REFUSED_WATCH] = 23;
    f->state.open_counters = 1234;
    f->state.reload_successful = true;
    f->state.reload_success_wall_ns = 1790000000250000000;
    f->collector[0].duration_seconds = 0.25;
    f->collector[0].last_success_wall_ns = 1790000000500000000;
    f->status[0].pmu_enabled_seconds = 8;
    f->status[0].pmu_running_seconds = 6;
    f->status[0].discarded[DISCARD_STARVED] = 11;
    f->status[0].open_failures[REASON_FD_LIMIT] = 12;
    f->status[1].discarded[DISCARD_STOLEN] = 13;
    publish(f);

    assert_value(f, "ticks", "", 9);
    assert_value(f, "missed_ticks", "", 2);
    assert_value(f, "last_tick_timestamp_seconds", "", 1790000000.5);
    assert_value(f, "cgroups_refused", "reason=\"directories\"", 21);
    assert_value(f, "cgroups_refused", "reason=\"places\"", 22);
    assert_value(f, "cgroups_refused", "reason=\"watches\"", 23);
    assert_value(f, "containers", "state=\"monitored\"", 5);
    assert_value(f, "containers", "state=\"lingering\"", 6);
    assert_value(f, "containers", "state=\"excluded\"", 7);
    assert_value(f, "containers", "state=\"over_limit\"", 8);
    assert_value(f, "containers_limit", "", 512);
    assert_value(f, "open_counters", "", 1234);
    assert_value(f, "config_last_reload_successful", "", 1);
    assert_value(f, "config_last_reload_success_timestamp_seconds", "", 1790000000.25);
    assert_value(f, "collector_duration_seconds", "collector=\"alpha\"", 0.25);
    assert_value(f, "collector_last_success_timestamp_seconds", "collector=\"alpha\"",
                 1790000000.5);
    assert_value(f, "pmu_enabled_seconds", "collector=\"alpha\"", 8);
    assert_value(f, "pmu_running_seconds", "collector=\"alpha\"", 6);
    assert_value(f, "windows_discarded", "collector=\"alpha\",reason=\"starved\"", 11);
    assert_value(f, "perf_open_failures", "collector=\"alpha\",reason=\"fd_limit\"", 12);
    assert_value(f, "windows_discarded", "collector=\"beta\",reason=\"stolen\"", 13);
    assert_value(f, "windows_discarded", "collector=\"beta\",reason=\"starved\"", absent);
    assert_int_equal(series_count(f, "interference_exporter_perf_open_failures"), 1);
}

/* Thousands of nodes without counters: zeros of what never can happen there are most of their
 * series. What it did before it ended stays. */
TEST_ON(test_what_does_not_run_has_no_zeros, struct fixture *f, setup, teardown)
{
    f->collector[0].enabled = false;
    f->status[0].verdict.reason = REASON_NO_PMU;
    publish(f);
    assert_value(f, "collector_available", "collector=\"alpha\"", 0);
    assert_value(f, "collector", "collector=\"alpha\",reason=\"no_pmu\"", 1);
    assert_value(f, "collector_success", "collector=\"alpha\"", absent);
    assert_value(f, "collector_duration_seconds", "collector=\"alpha\"", absent);
    assert_int_equal(series_count(f, "interference_exporter_windows_discarded"), 1);
    f->status[0].open_failures[REASON_NO_PMU] = 1;
    publish(f);
    assert_value(f, "perf_open_failures", "collector=\"alpha\",reason=\"no_pmu\"", 1);
}

/* Starved from the start: the two that an alert divides come together. */
TEST_ON(test_counters_that_never_ran, struct fixture *f, setup, teardown)
{
    f->status[0].pmu_enabled_seconds = 8;
    publish(f);
    assert_value(f, "pmu_enabled_seconds", "collector=\"alpha\"", 8);
    assert_value(f, "pmu_running_seconds", "collector=\"alpha\"", 0);
    assert_int_equal(series_count(f, "interference_exporter_pmu_running_seconds"), 1);
}

/* One reason at a time, and what it does to available and success. */
TEST_ON(test_reasons, struct fixture *f, setup, teardown)
{
    static const struct {
        bool enabled, failed;
        enum reason reason;
        const char *shown;
        int available, success;
    } cases[] = {
        {true, false, REASON_OK, "ok", 1, 1},
        {true, true, REASON_OK, "ok", 1, 0},
        /* A reason that holds for some containers, while the rest is served. */
        {true, false, REASON_FD_LIMIT, "fd_limit", 1, 1},
        {true, true, REASON_FD_LIMIT, "fd_limit", 1, 0},
        /* Found out while running: nothing is counted at all. */
        {true, false, REASON_EVENT_FILTERED, "event_filtered", 0, 0},
        {false, false, REASON_NO_PMU, "no_pmu", 0, -1},
        {false, false, REASON_OK, "disabled", 0, -1},
        {false, false, REASON_NO_DEVICE, "no_device", 0, -1},
        {false, false, REASON_DISABLED, "disabled", 0, -1},
        {true, false, REASON_OK, "ok", 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        f->collector[1].enabled = cases[i].enabled;
        f->status[1].failed = cases[i].failed;
        f->status[1].verdict.reason = cases[i].reason;
        publish(f);
        assert_value(f, "collector_available", "collector=\"beta\"", cases[i].available);
        assert_value(f, "collector_success", "collector=\"beta\"", cases[i].success);
        for (int reason = 0; reason < REASON_COUNT; reason++) {
            const char *name = reason_name((enum reason)reason);
            char labels[128];
            snprintf(labels, sizeof labels, "collector=\"beta\",reason=\"%s\"", name);
            assert_value(f, "collector", labels, strcmp(name, cases[i].shown) == 0 ? 1 : absent);
        }
        assert_value(f, "collector_available", "collector=\"alpha\"", 1);
    }
    /* A collector that was never looked at. */
    f->collector[1] = (struct self_collector){.enabled = false};
    publish(f);
    assert_value(f, "collector", "collector=\"beta\",reason=\"disabled\"", 1);
    assert_value(f, "collector_available", "collector=\"beta\"", 0);
}

TEST_ON(test_http, struct fixture *f, setup, teardown)
{
    self_http_requests(f->self, "metrics", "text", 200, 7);
    self_http_requests(f->self, "metrics", "text", 503, 1);
    self_http_requests(f->self, "other", NULL, 404, 3);
    publish(f);
    assert_value(f, "http_requests", "handler=\"metrics\",format=\"text\",code=\"200\"", 7);
    assert_value(f, "http_requests", "handler=\"metrics\",format=\"text\",code=\"503\"", 1);
    assert_value(f, "http_requests", "handler=\"other\",format=\"\",code=\"404\"", 3);
    self_http_requests(f->self, "metrics", "text", 200, 8);
    publish(f);
    assert_value(f, "http_requests", "handler=\"metrics\",format=\"text\",code=\"200\"", 8);
    assert_int_equal(series_count(f, "interference_exporter_http_requests"), EXPECTED_REQUESTS + 2);

    /* Bounded, whoever makes up combinations. */
    for (int code = 1000; code < 3000; code++)
        self_http_requests(f->self, "a-handler-with-a-name-far-too-long-to-keep", "f", code, 1);
    publish(f);
    assert_int_equal(series_count(f, "interference_exporter_http_requests"), 256);
    assert_value(f, "http_requests", "handler=\"metrics\",format=\"text\",code=\"200\"", 8);
}

TEST_ON(test_long_names_are_found_again, struct fixture *f, setup, teardown)
{
    for (uint64_t i = 1; i <= 3; i++)
        self_http_requests(f->self, "a-handler-with-a-name-far-too-long-to-keep",
                           "a-format-too-long", 200, i);
    publish(f);
    assert_int_equal(series_count(f, "interference_exporter_http_requests"), EXPECTED_REQUESTS + 1);
}

TEST(test_disabled)
{
    struct fixture f;
    build(&f, true);
    self_http_requests(f.self, "metrics", "text", 200, 7);
    f.tick = (struct tick){.number = 1, .wall_ns = 1};
    f.collector[0].last_success_wall_ns = f.state.reload_success_wall_ns = 1;
    f.state.records = f.state.has_blackbox = true;
    f.state.blackbox_directory = "/var/box";
    f.state.blackbox.n_files = 1;
    strcpy(f.state.blackbox.files[0].name, "b.gz");
    f.status[0].pmu_enabled_seconds = 1;
    f.status[0].open_failures[REASON_NO_PMU] = 1;
    publish(&f);
    for (int i = 0; i < SELF_METRICS; i++) {
        size_t n = series_count(&f, self_descs[i].name);
        if (i < SELF_ALWAYS)
            assert_true(n > 0);
        else
            assert_int_equal(n, 0);
    }
    /* Replayed data stays marked. */
    assert_value(&f, "source", "source=\"replay\",microarchitecture=\"clx\"", 1);
    self_free(f.self);
    store_free(f.store);
}

TEST(test_unknown_cpu_and_no_collectors)
{
    const struct collector_ops *const none[] = {NULL};
    const char *const spellings[] = {"", NULL};
    for (size_t i = 0; i < 2; i++) {
        struct fixture f = {0};
        f.state.tick = &f.tick;
        const struct self_config config = {.version = "1",
                                           .revision = "r",
                                           .compiler = "c",
                                           .source = "perf",
                                           .microarchitecture = spellings[i],
                                           .collectors = none};
        assert_int_equal(store_new(&f.store), 0);
        assert_int_equal(self_new(f.store, &config, &f.self), 0);
        publish(&f);
        assert_value(&f, "source", "source=\"perf\",microarchitecture=\"unknown\"", 1);
        assert_int_equal(series_count(&f, "interference_exporter_collector_available"), 0);
        self_free(f.self);
        store_free(f.store);
    }
}

TEST_ON(test_a_taken_name_fails_whole, struct fixture *f, setup, teardown)
{
    const struct self_config config = {.version = "1",
                                       .revision = "r",
                                       .compiler = "c",
                                       .source = "perf",
                                       .collectors = collectors};
    struct self *second = NULL;
    assert_int_equal(self_new(f->store, &config, &second), -EEXIST);
    assert_null(second);
    self_free(NULL);
    publish(f);
    assert_value(f, "ticks", "", 0);
}

TEST_ON(test_steady_state_allocates_nothing, struct fixture *f, setup, teardown)
{
    if (!malloc_count_works())
        skip();
    for (int i = 0; i < 3; i++) {
        self_http_requests(f->self, "metrics", "text", 200, 1);
        publish(f);
    }
    uint64_t before = malloc_count();
    for (uint64_t i = 0; i < 40; i++) {
        f->state.ticks = i;
        f->tick.number = i;
        f->status[0].discarded[DISCARD_RESET] = i;
        f->status[1].failed = i % 2;
        self_http_requests(f->self, "metrics", "text", 200, i);
        publish(f);
    }
    assert_int_equal(malloc_count(), before);
}

TEST_ON(a_recording_is_shown_where_there_is_one, struct fixture *f, setup, teardown)
{
    publish(f);
    assert_value(f, "recording_active", "", absent);
    f->state.records = f->state.recording_active = true;
    publish(f);
    assert_value(f, "recording_active", "", 1);
    f->state.recording_active = false;
    publish(f);
    assert_value(f, "recording_active", "", 0);
}

TEST_ON(the_black_box_is_shown_where_there_is_one, struct fixture *f, setup, teardown)
{
    publish(f);
    assert_value(f, "blackbox_active", "", absent);
    assert_value(f, "blackbox_ticks_dropped", "", absent);
    f->state.has_blackbox = f->state.blackbox_active = true;
    f->state.blackbox_dropped = 3;
    f->state.blackbox.ring_bytes = 1000;
    f->state.blackbox.ring_span_ns = 930500000000;
    f->state.blackbox.written = 7;
    f->state.blackbox.failed = 1;
    f->state.blackbox.n_files = 2;
    f->state.blackbox.files[0].bytes = 10;
    f->state.blackbox.files[1].bytes = 32;
    f->state.blackbox_directory = "/var/box";
    strcpy(f->state.blackbox.files[1].name, "b.gz");
    f->state.blackbox.starts = 3;
    publish(f);
    assert_value(f, "blackbox_restarts", "", 2);
    assert_value(f, "blackbox_newest_file", "file=\"/var/box/b.gz\"", 1);
    assert_value(f, "blackbox_active", "", 1);
    assert_value(f, "blackbox_memory_bytes", "", 1000);
    assert_value(f, "blackbox_held_seconds", "", 930.5);
    assert_value(f, "blackbox_ticks_dropped", "", 3);
    assert_value(f, "blackbox_files_written", "", 7);
    assert_value(f, "blackbox_failures", "", 1);
    assert_value(f, "blackbox_files", "", 2);
    assert_value(f, "blackbox_file_bytes", "", 42);
    f->state.blackbox.n_files = 1; /* another one in its place, of which there is one at a time */
    strcpy(f->state.blackbox.files[0].name, "a.gz");
    publish(f);
    assert_value(f, "blackbox_newest_file", "file=\"/var/box/a.gz\"", 1);
    assert_value(f, "blackbox_newest_file", "file=\"/var/box/b.gz\"", absent);
}

TEST_ON(lines_that_are_missing_in_the_log_are_counted, struct fixture *f, setup, teardown)
{
    publish(f);
    assert_value(f, "log_lines_dropped", "reason=\"rate\"", 0);
    f->state.log_dropped[LOG_DROPPED_RATE] = 3;
    f->state.log_dropped[LOG_DROPPED_BLOCKED] = 5;
    publish(f);
    assert_value(f, "log_lines_dropped", "reason=\"rate\"", 3);
    assert_value(f, "log_lines_dropped", "reason=\"blocked\"", 5);
}
