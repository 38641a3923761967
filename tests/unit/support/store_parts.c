#include "tests/unit/support/store_parts.h"
#include "tests/unit/support/unit.h"

static const double edges[] = {1, 2, 5};
const struct metric_desc reads = {
    .name = "t_reads", .type = METRIC_COUNTER, .number = METRIC_U64, .help = "Reads."};
const struct metric_desc wait = {
    .name = "t_wait_seconds", .type = METRIC_COUNTER, .number = METRIC_DOUBLE, .help = "Wait."};
const struct metric_desc latency = {
    .name = "t_latency_seconds", .type = METRIC_GAUGE, .number = METRIC_DOUBLE, .help = "Latency."};
const struct metric_desc window = {.name = "t_window_seconds",
                                   .type = METRIC_HISTOGRAM,
                                   .help = "Windows.",
                                   .edges = edges,
                                   .n_edges = 3};

struct store *new_store(void)
{
    struct store *store;
    assert_int_equal(store_new(&store), 0);
    return store;
}

struct family *add_family(struct store *store, const struct metric_desc *desc)
{
    struct family *family;
    assert_int_equal(store_family(store, desc, NULL, &family), 0);
    return family;
}

struct series *add_series(struct family *family, struct labelset *set, const char *name,
                          const char *value)
{
    struct series *series;
    const struct label own = {name, value};
    assert_int_equal(series_new(family, set, &own, name ? 1 : 0, &series), 0);
    return series;
}

struct labelset *new_set(const char *container)
{
    struct labelset *set;
    const struct label labels[] = {{"namespace", ""}, {"container", container}};
    assert_int_equal(labelset_new(labels, 2, &set), 0);
    return set;
}

struct snapshot *publish(struct store *store, uint64_t number)
{
    const struct tick tick = {.number = number, .wall_ns = number * 1000};
    assert_int_equal(store_publish(store, &tick), 0);
    return store_acquire(store);
}

const struct snapshot_family *family_at(const struct snapshot *snapshot, size_t i)
{
    size_t n;
    const struct snapshot_family *families = snapshot_families(snapshot, &n);
    assert_true(i < n);
    return &families[i];
}

struct sample sample_at(const struct snapshot *snapshot, size_t i, size_t k)
{
    struct sample sample;
    size_t at = 0;
    do
        assert_true(snapshot_next(family_at(snapshot, i), &at, &sample));
    while (k-- > 0);
    return sample;
}
