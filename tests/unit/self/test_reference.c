/* Definitions of metrics: the rules that all keep, the contract's names, and the page in the tree.
 */
#include "collectors/contract/collector.h"
#include "tests/support/reference.h"
#include "tests/unit/support/unit.h"

enum { MAX_DESCS = 256 };

struct descs {
    const struct metric_desc *at[MAX_DESCS];
    size_t n;
};

static void add(void *context, const struct metric_desc *desc, const char *owner)
{
    struct descs *descs = context;
    assert_true(descs->n < MAX_DESCS);
    descs->at[descs->n++] = desc;
}

static const struct descs *all(void)
{
    static struct descs descs;
    descs.n = 0;
    reference_each(add, &descs);
    assert_true(descs.n > 50);
    return &descs;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* No two samples of different families may have one name. */
TEST(test_names_are_unique)
{
    static char names[MAX_DESCS * METRIC_SUFFIXES][128];
    const struct descs *descs = all();
    size_t n = 0;
    for (size_t i = 0; i < descs->n; i++) {
        const char *suffixes[METRIC_SUFFIXES];
        size_t k = metric_suffixes(descs->at[i]->type, suffixes);
        for (size_t j = 0; j < k; j++, n++) {
            snprintf(names[n], sizeof names[n], "%s%s", descs->at[i]->name, suffixes[j]);
            for (size_t other = 0; other < n; other++)
                assert_string_not_equal(names[n], names[other]);
        }
    }
}

TEST(test_names_and_texts)
{
    const struct descs *descs = all();
    for (size_t i = 0; i < descs->n; i++) {
        const struct metric_desc *d = descs->at[i];
        if (!metric_valid(d))
            fail_msg("%s: not a valid definition", d->name);
        bool note = d->type == METRIC_NOTE; /* a key of the API, no metric's name */
        if (!note && strncmp(d->name, "interference_", 13) != 0 &&
            strncmp(d->name, "process_", 8) != 0)
            fail_msg("%s: no prefix", d->name);
        if (strspn(d->name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(d->name))
            fail_msg("%s: not in lower case", d->name);
        if (!ends_with(d->help, ".") || d->help[0] < '0' || d->help[0] > 'Z' ||
            strpbrk(d->help, "\n\r") || strstr(d->help, "  "))
            fail_msg("%s: help is not one line of sentences: %s", d->name, d->help);
        const char *labels = d->labels ? d->labels : "";
        if (strspn(labels, "abcdefghijklmnopqrstuvwxyz0123456789_, ") != strlen(labels) ||
            (d->labels && !*d->labels))
            fail_msg("%s: labels \"%s\"", d->name, labels);
        if (strncmp(d->name, "interference_container_", 23) == 0 &&
            strncmp(labels, "container", 9) != 0)
            fail_msg("%s: lacks the container's labels", d->name);
    }
}

/* Base units only, and only at the end of a name. */
TEST(test_units)
{
    static const char *const base[] = {"seconds", "bytes", "hertz", "ratio", "cycles"};
    static const char *const other[] = {
        "ns",        "us",         "ms",     "nanoseconds", "microseconds", "milliseconds",
        "minutes",   "kilobytes",  "kib",    "mib",         "megabytes",    "percent",
        "megahertz", "percentage", "second", "byte",        "cycle",
    };
    const struct descs *descs = all();
    for (size_t i = 0; i < descs->n; i++) {
        const struct metric_desc *d = descs->at[i];
        char name[128];
        snprintf(name, sizeof name, "%s", d->name);
        const char *last = "";
        char *save;
        for (char *word = strtok_r(name, "_", &save); word; word = strtok_r(NULL, "_", &save)) {
            for (size_t k = 0; k < sizeof base / sizeof *base; k++) {
                if (strcmp(last, base[k]) == 0)
                    fail_msg("%s: %s is not at the end", d->name, last);
            }
            for (size_t k = 0; k < sizeof other / sizeof *other; k++) {
                if (strcmp(word, other[k]) == 0)
                    fail_msg("%s: %s is not a base unit", d->name, word);
            }
            last = word;
        }
        const char *unit = "";
        for (size_t k = 0; k < sizeof base / sizeof *base; k++) {
            if (strcmp(last, base[k]) == 0 && d->type != METRIC_INFO)
                unit = base[k];
        }
        assert_string_equal(metric_unit(d), unit);
        /* What has a fraction is kept as one. */
        if (strcmp(unit, "seconds") == 0 || strcmp(unit, "ratio") == 0)
            assert_true(d->number == METRIC_DOUBLE || d->type == METRIC_HISTOGRAM);
    }
}

TEST(test_collectors)
{
    for (size_t i = 0; collector_table[i]; i++) {
        const struct collector_ops *c = collector_table[i];
        assert_true(strspn(c->name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(c->name));
        assert_non_null(c->metrics[0]);
        size_t len = strlen(c->summary); /* "memory read latency per container" */
        assert_true(len > 10 && c->summary[len - 1] != '.' && !strchr(c->summary, '\n'));
        assert_true(c->probe && c->start && c->collect && c->stop);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(c->name, collector_table[j]->name);
    }
}

/* ---- the contract ---- */

#define C "interference_container_"
#define E "interference_exporter_"

static const struct {
    const char *name; /* as scraped */
    enum metric_type type;
    const char *labels;
} contract[] = {
    {C "info", METRIC_INFO,
     "container, workload, pod_uid, image, runtime, qos_class, id, runtime_container_id"},
    {C "cpu_cycles_total", METRIC_COUNTER, "container"},
    {C "cpu_reference_cycles_total", METRIC_COUNTER, "container"},
    {C "cpu_instructions_total", METRIC_COUNTER, "container"},
    {C "memory_reads_total", METRIC_COUNTER, "container"},
    {C "memory_read_occupancy_cycles_total", METRIC_COUNTER, "container"},
    {C "memory_read_wait_seconds_total", METRIC_COUNTER, "container"},
    {C "memory_read_latency_reads_total", METRIC_COUNTER, "container"},
    {C "memory_read_latency_observed_seconds_total", METRIC_COUNTER, "container"},
    {C "memory_read_latency_over_threshold_seconds_total", METRIC_COUNTER, "container"},
    {C "memory_read_latency_seconds", METRIC_GAUGE, "container"},
    {C "memory_read_latency_baseline_seconds", METRIC_GAUGE, "container, basis"},
    {C "memory_read_latency_threshold_seconds", METRIC_GAUGE, "container, basis"},
    {C "memory_read_window_latency_seconds", METRIC_HISTOGRAM, "container"},
    {C "llc_reads_total", METRIC_COUNTER, "container"},
    {C "memory_read_active_cycles_total", METRIC_COUNTER, "container"},
    {"interference_exporter_containers_without_baseline", METRIC_GAUGE, "reason"},
    {"interference_node_memory_reads_total", METRIC_COUNTER, NULL},
    {"interference_node_memory_read_occupancy_cycles_total", METRIC_COUNTER, NULL},
    {"interference_node_memory_read_wait_seconds_total", METRIC_COUNTER, NULL},
    {"interference_node_memory_read_latency_reads_total", METRIC_COUNTER, NULL},
    {"interference_node_cpu_cycles_total", METRIC_COUNTER, NULL},
    {"interference_node_cpu_reference_cycles_total", METRIC_COUNTER, NULL},
    {"interference_node_memory_read_window_latency_seconds", METRIC_HISTOGRAM, NULL},
    {"interference_cpu_base_frequency_hertz", METRIC_GAUGE, NULL},
    {"interference_core_cache_lookup_cycles", METRIC_GAUGE, NULL},
    {"interference_memory_probe_latency_seconds", METRIC_GAUGE,
     "initiator_numa_node, target_numa_node"},
    {"interference_memory_probe_window_latency_seconds", METRIC_HISTOGRAM,
     "initiator_numa_node, target_numa_node"},
    {"interference_core_latency_error_ratio", METRIC_GAUGE, "numa_node"},
    {"interference_imc_clockticks_total", METRIC_COUNTER, "socket, imc"},
    {"interference_imc_read_queue_inserts_total", METRIC_COUNTER, "socket, imc"},
    {"interference_imc_read_queue_occupancy_cycles_total", METRIC_COUNTER, "socket, imc"},
    {"interference_imc_read_latency_seconds", METRIC_GAUGE, "socket, imc"},
    {"interference_imc_cas_latency_seconds", METRIC_GAUGE, "socket, imc"},
    {"interference_pmm_read_queue_inserts_total", METRIC_COUNTER, "socket, imc"},
    {"interference_pmm_read_queue_occupancy_cycles_total", METRIC_COUNTER, "socket, imc"},
    {"interference_pmm_read_latency_seconds", METRIC_GAUGE, "socket, imc"},
    {C "nvmm_accesses_total", METRIC_COUNTER, "container, access"},
    {C "nvmm_bytes_total", METRIC_COUNTER, "container, access"},
    {C "nvmm_rfo_accesses_total", METRIC_COUNTER, "container"},
    {C "memory_samples_total", METRIC_COUNTER, "container, access, medium"},
    {C "nvmm_writer_threads", METRIC_GAUGE, "container"},
    {"interference_pmem_dimms", METRIC_GAUGE, NULL},
    {"interference_sampler_samples_lost_total", METRIC_COUNTER, "access"},
    {"interference_sampler_samples_undecoded_total", METRIC_COUNTER, "access, reason"},
    {"interference_sampler_throttles_total", METRIC_COUNTER, "access"},
    {E "build_info", METRIC_INFO, "version, revision, compiler"},
    {E "source_info", METRIC_INFO, "source, microarchitecture"},
    {E "collector_available", METRIC_GAUGE, "collector"},
    {E "collector_success", METRIC_GAUGE, "collector"},
    {E "collector_duration_seconds_total", METRIC_COUNTER, "collector"},
    {E "collector_last_success_timestamp_seconds", METRIC_GAUGE, "collector"},
    {E "collector_info", METRIC_INFO, "collector, reason"},
    {E "ticks_total", METRIC_COUNTER, NULL},
    {E "missed_ticks_total", METRIC_COUNTER, NULL},
    {E "last_tick_timestamp_seconds", METRIC_GAUGE, NULL},
    {E "windows_discarded_total", METRIC_COUNTER, "collector, reason"},
    {E "containers", METRIC_GAUGE, "state"},
    {E "containers_limit", METRIC_GAUGE, NULL},
    {E "cgroups_refused_total", METRIC_COUNTER, "reason"},
    {E "open_counters", METRIC_GAUGE, NULL},
    {E "perf_open_failures_total", METRIC_COUNTER, "collector, reason"},
    {E "pmu_enabled_seconds_total", METRIC_COUNTER, "collector"},
    {E "pmu_running_seconds_total", METRIC_COUNTER, "collector"},
    {E "config_last_reload_successful", METRIC_GAUGE, NULL},
    {E "config_last_reload_success_timestamp_seconds", METRIC_GAUGE, NULL},
    {E "log_lines_dropped_total", METRIC_COUNTER, "reason"},
    {E "recording_active", METRIC_GAUGE, NULL},
    {E "blackbox_active", METRIC_GAUGE, NULL},
    {E "blackbox_memory_bytes", METRIC_GAUGE, NULL},
    {E "blackbox_held_seconds", METRIC_GAUGE, NULL},
    {E "blackbox_ticks_dropped_total", METRIC_COUNTER, NULL},
    {E "blackbox_restarts_total", METRIC_COUNTER, NULL},
    {E "blackbox_files_written_total", METRIC_COUNTER, NULL},
    {E "blackbox_failures_total", METRIC_COUNTER, NULL},
    {E "blackbox_files", METRIC_GAUGE, NULL},
    {E "blackbox_file_bytes", METRIC_GAUGE, NULL},
    {E "blackbox_newest_file_info", METRIC_INFO, "file"},
    {E "http_requests_total", METRIC_COUNTER, "handler, format, code"},
    {"process_cpu_seconds_total", METRIC_COUNTER, NULL},
    {"process_open_fds", METRIC_GAUGE, NULL},
    {"process_max_fds", METRIC_GAUGE, NULL},
    {"process_virtual_memory_bytes", METRIC_GAUGE, NULL},
    {"process_resident_memory_bytes", METRIC_GAUGE, NULL},
    {"process_start_time_seconds", METRIC_GAUGE, NULL},
};

TEST(test_contract)
{
    const struct descs *descs = all();
    for (size_t i = 0; i < sizeof contract / sizeof *contract; i++) {
        const struct metric_desc *found = NULL;
        for (size_t j = 0; j < descs->n && !found; j++) {
            char name[128];
            struct textbuf buf;
            textbuf_init_fixed(&buf, name, sizeof name);
            reference_name(descs->at[j], &buf);
            if (strcmp(name, contract[i].name) == 0)
                found = descs->at[j];
        }
        if (!found)
            fail_msg("%s is not defined", contract[i].name);
        assert_int_equal(found->type, contract[i].type);
        assert_int_equal(found->labels != NULL, contract[i].labels != NULL);
        if (found->labels)
            assert_string_equal(found->labels, contract[i].labels);
    }
}

TEST(test_latency_edges)
{
    static const double edges_ns[] = {60,  70,  80,  90,  100, 120,  140,  170, 200,
                                      250, 300, 400, 500, 700, 1000, 1400, 2000};
    const size_t n_edges = sizeof edges_ns / sizeof *edges_ns;
    size_t others = 0;
    const struct descs *descs = all();
    size_t histograms = 0;
    for (size_t i = 0; i < descs->n; i++) {
        const struct metric_desc *d = descs->at[i];
        if (d->type != METRIC_HISTOGRAM)
            continue;
        histograms++;
        bool finer = strstr(d->name, "_probe_") != NULL;
        others += !finer;
        if (!finer)
            assert_int_equal(d->n_edges, n_edges);
        for (size_t j = 0; j < d->n_edges; j++) {
            /* The number that a rule has to spell: 6e-08, not 6.0000000000000002e-08. */
            char spelled[40];
            snprintf(spelled, sizeof spelled, "%.0fe-9", finer ? d->edges[j] * 1e9 : edges_ns[j]);
            assert_true(d->edges[j] == strtod(spelled, NULL));
        }
    }
    assert_int_equal(others, 2);
    assert_true(histograms >= 3);
}

/* A rise of 15 % anywhere between 60 ns and 600 ns moves a latency into another bucket. */
TEST(test_probe_edges)
{
    const struct descs *descs = all();
    size_t seen = 0;
    for (size_t i = 0; i < descs->n; i++) {
        const struct metric_desc *d = descs->at[i];
        if (d->type != METRIC_HISTOGRAM || !strstr(d->name, "_probe_"))
            continue;
        seen++;
        assert_true(d->edges[0] == 60e-9);
        for (size_t j = 1; j < d->n_edges && d->edges[j] <= 600e-9; j++)
            assert_true(d->edges[j] <= d->edges[j - 1] * 1.1001);
        assert_true(d->edges[d->n_edges - 1] == 2e-6);
    }
    assert_int_equal(seen, 1);
}

/* HELP says what a high value means; an info has no value. */
TEST(test_help_says_what_high_means)
{
    static const char *const words[] = {
        "High", "high",   "tail to the right", "Near ",     "near ",
        "Few",  "1 when", "1 while",           "below one", "Rising fast"};
    const struct descs *descs = all();
    for (size_t i = 0; i < descs->n; i++) {
        const struct metric_desc *d = descs->at[i];
        bool told = d->type == METRIC_INFO || d->type == METRIC_NOTE;
        for (size_t k = 0; k < sizeof words / sizeof *words && !told; k++)
            told = strstr(d->help, words[k]) != NULL;
        if (!told)
            fail_msg("%s does not say what a high value means: %s", d->name, d->help);
    }
}

/* ---- the page ---- */

static char *read_page(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("%s is missing; see its first lines in tests/support/reference.c", path);
    char *text = NULL;
    size_t cap = 0;
    ssize_t len = getdelim(&text, &cap, '\0', file);
    fclose(file);
    assert_true(len > 0);
    return text;
}

TEST(test_page_has_not_drifted)
{
    struct textbuf page = TEXTBUF_INIT;
    assert_int_equal(reference_write(&page), 0);
    char *committed = read_page(IE_SOURCE_DIR "/collectors/METRICS.md");
    size_t line = 1;
    const char *a = page.data, *b = committed;
    for (; *a && *a == *b; a++, b++)
        line += *a == '\n';
    if (*a || *b)
        fail_msg("collectors/METRICS.md differs from the code in line %zu; make it again with "
                 "build/plain/programs/metrics_reference > collectors/METRICS.md",
                 line);
    free(committed);
    textbuf_release(&page);
}

TEST(test_page_has_every_metric)
{
    struct textbuf page = TEXTBUF_INIT;
    assert_int_equal(reference_write(&page), 0);
    const struct descs *descs = all();
    for (size_t i = 0; i < descs->n; i++) {
        if (descs->at[i]->type == METRIC_NOTE)
            continue;
        struct textbuf row = TEXTBUF_INIT;
        textbuf_str(&row, "\n| `");
        reference_name(descs->at[i], &row);
        textbuf_str(&row, "` | ");
        const char *found = strstr(page.data, row.data);
        if (!found || strstr(found + 1, row.data))
            fail_msg("%s is not there once", row.data);
        textbuf_release(&row);
    }
    textbuf_release(&page);
}
