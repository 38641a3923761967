/*
 * Prints a page with every kind of metric: render_sample
 * text|openmetrics|protobuf|json LABEL-VALUE...
 * Each label value becomes a container with series of its own.
 */
#include <stdio.h>
#include <string.h>

#include "exporter/expose/expose.h"

static const double edges[] = {60e-9, 100e-9, 1e-6, 0.5, 1, 10, 1e6};

enum { COUNT, SECONDS, LATENCY, HERTZ, RATIO, WINDOW, BUILD, NOTE, EMPTY, FAMILIES };

static const struct metric_desc descs[FAMILIES] = {
    [COUNT] = {.name = "sample_reads",
               .type = METRIC_COUNTER,
               .number = METRIC_U64,
               .help = "Reads.\nA \"high\" value \\ means many."},
    [SECONDS] = {.name = "sample_wait_seconds",
                 .type = METRIC_COUNTER,
                 .number = METRIC_DOUBLE,
                 .help = "Time waited."},
    [LATENCY] = {.name = "sample_latency_seconds",
                 .type = METRIC_GAUGE,
                 .number = METRIC_DOUBLE,
                 .help = "Latency."},
    [HERTZ] = {.name = "sample_frequency_hertz",
               .type = METRIC_GAUGE,
               .number = METRIC_DOUBLE,
               .help = "Frequency."},
    [RATIO] = {.name = "sample_error_ratio",
               .type = METRIC_GAUGE,
               .number = METRIC_DOUBLE,
               .help = "Error; negative when too small."},
    [WINDOW] = {.name = "sample_window_seconds",
                .type = METRIC_HISTOGRAM,
                .help = "Windows.",
                .edges = edges,
                .n_edges = sizeof edges / sizeof *edges},
    [BUILD] = {.name = "sample_build", .type = METRIC_INFO, .help = "This build."},
    [NOTE] = {.name = "sample_note", .type = METRIC_NOTE, .help = "For the API only."},
    [EMPTY] = {.name = "sample_empty", .type = METRIC_GAUGE, .help = "Has no series."},
};

static struct series *add(struct family *family, struct labelset *set, const char *name,
                          const char *value)
{
    struct series *series = NULL;
    const struct label own = {name, value};
    return series_new(family, set, &own, name ? 1 : 0, &series) ? NULL : series;
}

static int add_container(struct family *const *families, const char *value, int i)
{
    char id[16];
    snprintf(id, sizeof id, "%012d", i);
    const struct label labels[] = {
        {"namespace", ""}, {"pod", value}, {"container", "c"}, {"container_id", id}};
    struct labelset *set;
    if (labelset_new(labels, 4, &set))
        return -1;
    struct series *count = add(families[COUNT], set, NULL, NULL);
    struct series *seconds = add(families[SECONDS], set, "model", "asm");
    struct series *latency = add(families[LATENCY], set, NULL, NULL);
    struct series *ratio = add(families[RATIO], set, NULL, NULL);
    struct series *window = add(families[WINDOW], set, "model", "asm");
    struct series *note = add(families[NOTE], set, NULL, NULL);
    labelset_unref(set);
    if (!count || !seconds || !latency || !ratio || !window || !note)
        return -1;
    series_set_u64(count, UINT64_C(9007199254740993) + (uint64_t)i);
    series_add(seconds, 0.1 + i);
    series_set(latency, 80.238e-9 * (i + 1));
    series_set(ratio, -0.125);
    series_set_u64(note, 1);
    for (int j = 0; j <= i; j++)
        series_observe(window, 90e-9 * (j + 1));
    return 0;
}

static int print(const struct snapshot *snapshot, const char *format)
{
    struct textbuf text = TEXTBUF_INIT;
    bool json = strcmp(format, "json") == 0;
    enum expose_format kind = EXPOSE_TEXT_004;
    while (!json && kind < EXPOSE_FORMATS && strcmp(format, expose_format_name(kind)) != 0)
        kind++;
    if (kind == EXPOSE_FORMATS)
        return -1;
    const struct containers_listing all = {.limit = 0};
    size_t total;
    int err = json ? expose_containers_json(snapshot, &all, &text, &total)
                   : expose_render(snapshot, kind, NULL, 0, true, &text);
    if (!err)
        fwrite(text.data, 1, text.len, stdout);
    textbuf_release(&text);
    return err;
}

int main(int argc, char **argv)
{
    struct store *store;
    struct family *families[FAMILIES];
    if (argc < 2 || store_new(&store))
        return 2;
    for (int i = 0; i < FAMILIES; i++)
        if (store_family(store, &descs[i], NULL, &families[i]))
            return 2;
    for (int i = 2; i < argc; i++)
        if (add_container(families, argv[i], i - 2))
            return 2;
    struct series *hertz = add(families[HERTZ], NULL, NULL, NULL);
    struct series *build = add(families[BUILD], NULL, "version", "0.1.0");
    struct series *window = add(families[WINDOW], NULL, NULL, NULL);
    if (!hertz || !build || !window)
        return 2;
    series_set(hertz, 2.1e9);
    series_set_u64(build, 1);
    const struct tick tick = {.number = 1, .wall_ns = UINT64_C(1790000000123456789)};
    if (store_publish(store, &tick))
        return 2;
    struct snapshot *snapshot = store_acquire(store);
    int err = print(snapshot, argv[1]);
    snapshot_release(snapshot);
    store_free(store);
    return err ? 1 : 0;
}
