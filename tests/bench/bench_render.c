/*
 * What a publication and its pages cost: bench_render [CONTAINERS [REPEATS]]
 *
 * A synthetic fleet with the contract's labels and 18 series per container, ten counters of whole
 * numbers among them; CPU time of this thread, the median of the repeats.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/base/decimal.h"
#include "exporter/expose/expose.h"
#include "tests/bench/bench.h"

enum { PER_CONTAINER = 18, COUNTERS = 8 };

static struct metric_desc descs[PER_CONTAINER];

struct fleet {
    struct store *store;
    size_t n;
    struct series **series; /* n x PER_CONTAINER */
    uint64_t random;
};

static uint64_t next_random(struct fleet *fleet)
{
    fleet->random ^= fleet->random << 13;
    fleet->random ^= fleet->random >> 7;
    fleet->random ^= fleet->random << 17;
    return fleet->random;
}

static void set_values(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->n * PER_CONTAINER; i++) {
        struct series *series = fleet->series[i];
        uint64_t random = next_random(fleet);
        if (!series)
            continue;
        if (i % PER_CONTAINER < COUNTERS)
            series_add_u64(series, random >> 34);
        else
            series_add(series, (double)(random >> 11) * 0x1p-53 * 1e-6);
    }
}

/* Only the kinds of 'which' get values: 'a'll, 'c'ounters, 'f'loats. */
static int fleet_new(size_t n, char which, struct fleet *fleet)
{
    static char names[PER_CONTAINER][64];
    *fleet = (struct fleet){.n = n, .random = 88172645463325252u};
    fleet->series = calloc(n * PER_CONTAINER, sizeof *fleet->series);
    struct family *families[PER_CONTAINER];
    if (!fleet->series || store_new(&fleet->store))
        return -1;
    for (size_t j = 0; j < PER_CONTAINER; j++) {
        bool counter = j < COUNTERS;
        snprintf(names[j], sizeof names[j],
                 counter ? "interference_container_memory_things_%zu"
                         : "interference_container_memory_read_%zu_seconds",
                 j);
        descs[j] = (struct metric_desc){.name = names[j],
                                        .type = counter ? METRIC_COUNTER : METRIC_GAUGE,
                                        .number = counter ? METRIC_U64 : METRIC_DOUBLE,
                                        .help = "One of many."};
        if (store_family(fleet->store, &descs[j], NULL, &families[j]))
            return -1;
    }
    for (size_t i = 0; i < n; i++) {
        char pod[64], id[16];
        snprintf(pod, sizeof pod, "checkout-service-7d9c6b5f4-%05zu", i);
        snprintf(id, sizeof id, "%012zx", i * 2654435761u);
        const struct label labels[] = {
            {"namespace", "shop"}, {"pod", pod}, {"container", "checkout"}, {"container_id", id}};
        struct labelset *set;
        if (labelset_new(labels, 4, &set))
            return -1;
        for (size_t j = 0; j < PER_CONTAINER; j++)
            if (which == 'a' || (which == 'c') == (j < COUNTERS))
                if (series_new(families[j], set, NULL, 0, &fleet->series[i * PER_CONTAINER + j]))
                    return -1;
        labelset_unref(set);
    }
    return 0;
}

static void fleet_free(struct fleet *fleet)
{
    store_free(fleet->store);
    free(fleet->series);
}

static int publish(struct fleet *fleet, uint64_t number)
{
    const struct tick tick = {.number = number, .wall_ns = UINT64_C(1790000000000000000)};
    set_values(fleet);
    return store_publish(fleet->store, &tick);
}

/* Per series, of one kind of value. */
static int bench_kind(size_t n, size_t repeats, char which, const char *name)
{
    struct fleet fleet;
    struct textbuf text = TEXTBUF_INIT;
    double *times = calloc(repeats, sizeof *times);
    size_t kind = n * (which == 'c' ? COUNTERS : PER_CONTAINER - COUNTERS);
    if (!times || fleet_new(n, which, &fleet))
        return -1;
    for (size_t i = 0; i < repeats; i++) {
        if (publish(&fleet, i + 1))
            return -1;
        struct snapshot *snapshot = store_acquire(fleet.store);
        textbuf_clear(&text);
        double start = thread_s();
        if (expose_render(snapshot, EXPOSE_OPENMETRICS_100, NULL, 0, false, &text))
            return -1;
        times[i] = thread_s() - start;
        snapshot_release(snapshot);
    }
    printf("%-44s %8.1f ns   (%zu series)\n", name, median(times, repeats) / (double)kind * 1e9,
           kind);
    textbuf_release(&text);
    fleet_free(&fleet);
    free(times);
    return 0;
}

static double resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file)
        return 0;
    if (fscanf(file, "%*d %ld", &pages) != 1)
        pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

struct times {
    double *publish, *plain, *gzip, *cached;
};

static int ask(struct expose *expose, enum expose_format format, bool gzip, double *seconds,
               size_t *len)
{
    struct rendered_page *page;
    double start = thread_s();
    if (expose_page(expose, format, gzip, &page))
        return -1;
    *seconds = thread_s() - start;
    page_bytes(page, len);
    page_unref(page);
    return 0;
}

/* The same publications in protobuf. */
static int bench_protobuf(struct fleet *fleet, struct expose *expose, size_t repeats)
{
    double *plain = calloc(repeats, sizeof *plain), *gzip = calloc(repeats, sizeof *gzip);
    size_t len = 0, packed = 0;
    int err = plain && gzip ? 0 : -1;
    for (size_t i = 0; i < repeats && !err; i++) {
        err = publish(fleet, repeats + i + 1);
        if (!err)
            err = ask(expose, EXPOSE_PROTOBUF, false, &plain[i], &len);
        if (!err)
            err = ask(expose, EXPOSE_PROTOBUF, true, &gzip[i], &packed);
    }
    if (!err) {
        printf("%-44s %8.2f ms   %.1f MB\n", "protobuf, not cached", median(plain, repeats) * 1e3,
               (double)len / 1e6);
        printf("%-44s %8.2f ms   %.2f MB\n", "protobuf, gzip", median(gzip, repeats) * 1e3,
               (double)packed / 1e6);
    }
    free(plain);
    free(gzip);
    return err;
}

static int bench_pages(size_t n, size_t repeats)
{
    struct fleet fleet;
    struct expose *expose;
    struct times times = {calloc(repeats, sizeof(double)), calloc(repeats, sizeof(double)),
                          calloc(repeats, sizeof(double)), calloc(repeats, sizeof(double))};
    size_t plain = 0, packed = 0;
    malloc_trim(0);
    double before = resident_bytes();
    if (fleet_new(n, 'a', &fleet) || expose_new(fleet.store, false, &expose))
        return -1;
    for (size_t i = 0; i < repeats; i++) {
        set_values(&fleet);
        const struct tick tick = {.number = i + 1};
        double start = thread_s();
        if (store_publish(fleet.store, &tick))
            return -1;
        times.publish[i] = thread_s() - start;
        enum expose_format format = EXPOSE_OPENMETRICS_100;
        if (ask(expose, format, false, &times.plain[i], &plain) ||
            ask(expose, format, false, &times.cached[i], &plain) ||
            ask(expose, format, true, &times.gzip[i], &packed))
            return -1;
    }
    double used = resident_bytes() - before;
    size_t series = n * PER_CONTAINER;
    printf("%-44s %8.2f ms\n", "publish", median(times.publish, repeats) * 1e3);
    printf("%-44s %8.2f ms   %.1f MB\n", "page, not cached", median(times.plain, repeats) * 1e3,
           (double)plain / 1e6);
    printf("%-44s %8.4f ms\n", "page, cached", median(times.cached, repeats) * 1e3);
    printf("%-44s %8.2f ms   %.2f MB\n", "page, gzip", median(times.gzip, repeats) * 1e3,
           (double)packed / 1e6);
    printf("%-44s %8.0f bytes   (resident: store, two snapshots, both pages)\n",
           "memory per series", used / (double)series);
    int err = bench_protobuf(&fleet, expose, repeats);
    expose_free(expose);
    fleet_free(&fleet);
    free(times.publish);
    free(times.plain);
    free(times.gzip);
    free(times.cached);
    return err;
}

static void bench_decimal(void)
{
    enum { N = 1000000 };
    struct fleet fleet = {.random = 1};
    char out[DECIMAL_SIZE];
    size_t bytes = 0;
    double start = thread_s();
    for (int i = 0; i < N; i++)
        bytes += decimal_double(out, (double)(next_random(&fleet) >> 11) * 0x1p-53 * 1e-6);
    printf("%-44s %8.1f ns   (%.1f digits and signs each)\n", "a float's decimal",
           (thread_s() - start) / N * 1e9, (double)bytes / N);
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 5556; /* 100,000 series */
    size_t repeats = argc > 2 ? strtoul(argv[2], NULL, 10) : 15;
    if (n == 0 || repeats == 0)
        return 2;
    printf("%zu containers, %zu series, medians of %zu\n", n, n * PER_CONTAINER, repeats);
    bench_decimal();
    if (bench_kind(n, repeats, 'c', "a counter's line") ||
        bench_kind(n, repeats, 'f', "a float's line") || bench_pages(n, repeats))
        return 1;
    return 0;
}
