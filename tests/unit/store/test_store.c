#include <math.h>

#include "exporter/store/store.h"
#include "tests/unit/support/store_parts.h"
#include "tests/unit/support/unit.h"

static const struct metric_desc info = {.name = "t_build", .type = METRIC_INFO, .help = "Build."};

TEST(test_units)
{
    static const struct {
        const char *name;
        enum metric_type type;
        const char *unit;
    } cases[] = {
        {"a_seconds", METRIC_GAUGE, "seconds"}, {"a_cycles", METRIC_COUNTER, "cycles"},
        {"a_hertz", METRIC_GAUGE, "hertz"},     {"a_ratio", METRIC_GAUGE, "ratio"},
        {"a_bytes", METRIC_GAUGE, "bytes"},     {"a_reads", METRIC_COUNTER, ""},
        {"a_kiloseconds", METRIC_GAUGE, ""},    {"seconds", METRIC_GAUGE, ""},
        {"_seconds", METRIC_GAUGE, ""},         {"a_seconds", METRIC_INFO, ""},
        {"a_seconds_max", METRIC_GAUGE, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct metric_desc desc = {.name = cases[i].name, .type = cases[i].type};
        assert_string_equal(metric_unit(&desc), cases[i].unit);
    }
}

TEST(test_families)
{
    struct store *store = new_store();
    struct family *family;
    add_family(store, &reads);
    add_family(store, &window);
    add_family(store, &info);
    static const struct metric_desc taken[] = {
        {.name = "t_reads", .type = METRIC_GAUGE, .help = "x"},
        {.name = "t_build", .type = METRIC_NOTE, .help = "x"},
        {.name = "t_window_seconds_sum", .type = METRIC_GAUGE, .help = "x"},
        {.name = "t_window_seconds_count", .type = METRIC_COUNTER, .help = "x"},
    };
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        assert_int_equal(store_family(store, &taken[i], NULL, &family), -EEXIST);
    static const double descending[] = {2, 1};
    static const double infinite[] = {1, INFINITY};
    static const double zero[] = {0, 1};
    static const struct metric_desc bad[] = {
        {.name = "", .help = "x"},
        {.name = "1a", .help = "x"},
        {.name = "a b", .help = "x"},
        {.name = "a_total", .type = METRIC_COUNTER, .help = "x"},
        {.name = "a_info", .type = METRIC_INFO, .help = "x"},
        {.name = "a", .help = ""},
        {.name = "a"},
        {.name = "a", .type = METRIC_HISTOGRAM, .help = "x"},
        {.name = "a", .type = METRIC_HISTOGRAM, .help = "x", .edges = descending, .n_edges = 2},
        {.name = "a", .type = METRIC_HISTOGRAM, .help = "x", .edges = infinite, .n_edges = 2},
        {.name = "a", .type = METRIC_HISTOGRAM, .help = "x", .edges = zero, .n_edges = 2},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(store_family(store, &bad[i], NULL, &family), -EINVAL);
    static const struct metric_desc near = {
        .name = "t_reads_to", .type = METRIC_GAUGE, .help = "x"};
    assert_int_equal(store_family(store, &near, NULL, &family), 0);
    store_free(store);
}

TEST(test_values)
{
    struct store *store = new_store();
    struct series *count = add_series(add_family(store, &reads), NULL, NULL, NULL);
    struct series *seconds = add_series(add_family(store, &wait), NULL, NULL, NULL);
    struct series *gauge = add_series(add_family(store, &latency), NULL, NULL, NULL);
    struct series *build = add_series(add_family(store, &info), NULL, "version", "1");
    assert_true(series_present(count) && series_present(seconds));
    assert_false(series_present(gauge) || series_present(build));

    series_set_u64(count, UINT64_C(9007199254740993)); /* 2^53 + 1: no double */
    series_add_u64(count, 2);
    series_add(seconds, 0.25);
    series_add(seconds, 0.5);
    series_set(gauge, 8e-8);
    series_set_u64(build, 1);
    assert_true(series_u64(count) == UINT64_C(9007199254740995));
    assert_true(series_double(seconds) == 0.75);

    struct snapshot *snapshot = publish(store, 1);
    assert_int_equal(snapshot_number(snapshot), 1);
    assert_true(sample_at(snapshot, 0, 0).u64 == UINT64_C(9007199254740995));
    assert_true(sample_at(snapshot, 1, 0).number == 0.75);
    assert_true(sample_at(snapshot, 2, 0).number == 8e-8);
    assert_string_equal(sample_at(snapshot, 3, 0).own, "version=\"1\"");
    snapshot_release(snapshot);

    series_set(gauge, NAN); /* cannot be computed: absent */
    series_add(seconds, INFINITY);
    series_clear(count);
    assert_false(series_present(gauge));
    assert_true(series_double(seconds) == 0.75);
    snapshot = publish(store, 2);
    assert_int_equal(family_at(snapshot, 0)->n, 0);
    assert_int_equal(family_at(snapshot, 1)->n, 1);
    assert_int_equal(family_at(snapshot, 2)->n, 0);
    snapshot_release(snapshot);

    series_add_u64(count, 1); /* a counter goes on where it was, a gauge does not */
    series_add(gauge, 1);
    assert_true(series_u64(count) == UINT64_C(9007199254740996));
    assert_true(series_double(gauge) == 1);
    series_set(count, 1e30);
    assert_true(series_u64(count) == UINT64_MAX);
    store_free(store);
}

TEST(test_shown_or_cleared)
{
    struct store *store = new_store();
    struct series *count = add_series(add_family(store, &reads), NULL, NULL, NULL);
    struct series *gauge = add_series(add_family(store, &latency), NULL, NULL, NULL);
    series_show(gauge, true, 8e-8);
    series_show_u64(count, true, UINT64_C(9007199254740993)); /* 2^53 + 1: no double */
    assert_true(series_present(gauge) && series_double(gauge) == 8e-8);
    assert_true(series_present(count) && series_u64(count) == UINT64_C(9007199254740993));
    series_show(gauge, false, 1);
    series_show_u64(count, false, 1);
    assert_false(series_present(gauge) || series_present(count));
    series_show(gauge, true, NAN); /* as series_set(): absent */
    assert_false(series_present(gauge));
    series_add_u64(count, 1); /* the counter went on from where it was */
    assert_true(series_u64(count) == UINT64_C(9007199254740994));
    store_free(store);
}

TEST(test_histogram)
{
    struct store *store = new_store();
    struct series *series = add_series(add_family(store, &window), NULL, "n", "0");
    static const double values[] = {0.5, 1, 1.5, 2, 5, 5.5, 1e9, NAN, INFINITY};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        series_observe(series, values[i]);
    struct snapshot *snapshot = publish(store, 1);
    const struct sample sample = sample_at(snapshot, 0, 0);
    static const uint64_t expected[] = {2, 2, 1, 2}; /* an edge belongs to its own bucket */
    assert_memory_equal(sample.histogram->buckets, expected, sizeof expected);
    assert_int_equal(sample.histogram->count, 7);
    assert_true(sample.histogram->sum == 0.5 + 1 + 1.5 + 2 + 5 + 5.5 + 1e9);
    series_observe(series, 1);
    assert_int_equal(sample.histogram->buckets[0], 2); /* published is published */
    snapshot_release(snapshot);
    store_free(store);
}

TEST(test_duplicates)
{
    struct store *store = new_store();
    struct family *family = add_family(store, &reads), *other = add_family(store, &wait);
    struct labelset *set, *twin;
    struct series *series, *again;
    const struct label common[] = {{"pod", "a\"b"}, {"namespace", ""}};
    const struct label swapped[] = {{"model", "asm"}, {"pod", "a\"b"}};
    const struct label model = {"model", "asm"}, empty = {"extra", ""};
    assert_int_equal(labelset_new(common, 2, &set), 0);
    assert_int_equal(labelset_new(common, 2, &twin), 0);
    assert_int_equal(series_new(family, set, &model, 1, &series), 0);
    assert_int_equal(series_new(family, set, &model, 1, &again), -EEXIST);
    assert_int_equal(series_new(family, twin, &model, 1, &again), -EEXIST);
    assert_int_equal(series_new(family, NULL, swapped, 2, &again), -EEXIST);
    assert_int_equal(labelset_shown(set), 1);
    assert_int_equal(labelset_shown(twin), 0);

    assert_int_equal(series_new(other, set, &model, 1, &again), 0); /* another family */
    assert_int_equal(series_new(family, set, NULL, 0, &again), 0);
    assert_int_equal(series_new(family, twin, &empty, 1, &again), -EEXIST); /* empty is absent */
    series_free(series);
    assert_int_equal(series_new(family, twin, &model, 1, &again), 0);
    assert_int_equal(labelset_shown(set), 2);

    /* Different bytes that the exposition repairs to the same text. */
    const struct label bad[] = {{"x", "\xff"}, {"x", "\xfe"}};
    assert_int_equal(series_new(family, NULL, &bad[0], 1, &again), 0);
    assert_int_equal(series_new(family, NULL, &bad[1], 1, &again), -EEXIST);
    labelset_unref(set);
    labelset_unref(twin);
    store_free(store);
}

TEST(test_how_many_are_shown)
{
    static const struct metric_desc note = {
        .name = "note", .type = METRIC_NOTE, .number = METRIC_U64, .help = "Note."};
    struct store *store = new_store();
    struct labelset *set = new_set("a"), *other = new_set("b");
    struct series *counter = add_series(add_family(store, &reads), set, NULL, NULL);
    struct series *gauge = add_series(add_family(store, &latency), set, NULL, NULL);
    struct series *histogram = add_series(add_family(store, &window), set, NULL, NULL);
    series_set_u64(add_series(add_family(store, &note), set, NULL, NULL), 1);
    assert_int_equal(labelset_shown(set), 2);
    series_set(gauge, 1);
    series_set(gauge, 2);
    assert_int_equal(labelset_shown(set), 3);
    series_set(gauge, NAN);
    series_clear(gauge);
    series_clear(counter);
    series_clear(histogram);
    assert_int_equal(labelset_shown(set), 0);
    series_observe(histogram, 1);
    series_add_u64(counter, 1);
    assert_int_equal(labelset_shown(set), 2);
    assert_int_equal(series_relabel(&gauge, other), 0);
    assert_int_equal(series_relabel(&counter, other), 0);
    assert_int_equal(labelset_shown(set), 1);
    assert_int_equal(labelset_shown(other), 1);
    series_free(gauge);
    series_free(histogram);
    assert_int_equal(labelset_shown(set), 0);
    assert_int_equal(labelset_shown(other), 1);
    labelset_unref(set);
    labelset_unref(other);
    store_free(store);
}

TEST(test_relabel)
{
    struct store *store = new_store();
    struct family *family = add_family(store, &reads);
    struct labelset *old = new_set("old"), *new = new_set("new"), *taken = new_set("taken");
    struct series *series = add_series(family, old, NULL, NULL);
    add_series(family, taken, NULL, NULL);
    series_set_u64(series, 7);
    assert_int_equal(series_relabel(&series, taken), -EEXIST);
    assert_int_equal(labelset_shown(old), 1);
    struct snapshot *before = publish(store, 1);
    assert_int_equal(series_relabel(&series, new), 0);
    struct snapshot *after = publish(store, 2); /* published is published */
    assert_ptr_equal(sample_at(before, 0, 0).common, old);
    assert_ptr_equal(sample_at(after, 0, 1).common, new);
    assert_int_equal(sample_at(after, 0, 1).created_wall_ns, 1000);
    snapshot_release(before);
    snapshot_release(after);
    struct labelset *same = new_set("new"); /* its own labels are no other series' */
    assert_int_equal(series_relabel(&series, same), 0);
    assert_int_equal(labelset_shown(new), 0);
    assert_int_equal(series_relabel(&series, new), 0);
    labelset_unref(same);
    assert_int_equal(series_u64(series), 7);
    assert_int_equal(labelset_shown(old), 0);
    assert_int_equal(labelset_shown(new), 1);
    struct series *again;
    assert_int_equal(series_new(family, new, NULL, 0, &again), -EEXIST);
    assert_int_equal(series_new(family, old, NULL, 0, &again), 0);
    labelset_unref(old);
    labelset_unref(new);
    labelset_unref(taken);
    store_free(store);
}

/* The index against a plain array, under much coming and going. */
TEST(test_duplicates_under_churn)
{
    enum { NAMES = 3000 };
    struct store *store = new_store();
    struct family *family = add_family(store, &reads);
    struct series **present = calloc(NAMES, sizeof *present), *again;
    assert_non_null(present);
    uint64_t random = 1;
    for (int step = 0; step < 40000; step++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t i = (random >> 33) % NAMES;
        char name[16];
        snprintf(name, sizeof name, "%zu", i);
        const struct label label = {"n", name};
        if (present[i]) {
            assert_int_equal(series_new(family, NULL, &label, 1, &again), -EEXIST);
            if (random >> 63) {
                series_free(present[i]);
                present[i] = NULL;
            }
        } else {
            assert_int_equal(series_new(family, NULL, &label, 1, &present[i]), 0);
        }
        if (step % 1000 == 0)
            snapshot_release(publish(store, (uint64_t)step));
    }
    store_free(store);
    free(present);
}

TEST(test_bad_labels)
{
    struct store *store = new_store(), *second = new_store();
    struct family *family = add_family(store, &reads);
    struct series *series;
    struct labelset *set = new_set("c");
    static const char *const names[] = {"", "1a", "a-b", "a b", "le", "quantile", "__name__", NULL};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct label label = {names[i], "x"};
        assert_int_equal(series_new(family, set, &label, 1, &series), -EINVAL);
    }
    const struct label twice[] = {{"a", "1"}, {"a", "2"}}, clash = {"container", "d"};
    assert_int_equal(series_new(family, set, twice, 2, &series), -EINVAL);
    assert_int_equal(series_new(family, set, &clash, 1, &series), -EINVAL);
    add_series(family, set, NULL, NULL);
    assert_int_equal(series_new(add_family(second, &reads), set, NULL, 0, &series), -EINVAL);
    labelset_unref(set);
    store_free(second);
    store_free(store);
}

TEST(test_labelset)
{
    struct labelset *set;
    const struct label labels[] = {{"a", "q\"b\\s\nn"}, {"b", "\xc3\x28"}, {"c", NULL}};
    assert_int_equal(labelset_new(labels, 3, &set), 0);
    size_t n;
    assert_string_equal(labelset_text(set, &n), "a=\"q\\\"b\\\\s\\nn\",b=\"\xef\xbf\xbd(\",c=\"\"");
    assert_int_equal(n, strlen(labelset_text(set, &n)));
    const struct label *kept = labelset_labels(set, &n);
    assert_int_equal(n, 3);
    assert_string_equal(kept[0].name, "a");
    assert_string_equal(kept[0].value, "q\"b\\s\nn");
    assert_string_equal(kept[1].value, "\xef\xbf\xbd(");
    assert_string_equal(kept[2].value, "");
    assert_ptr_equal(labelset_ref(set), set);
    labelset_unref(set);
    labelset_unref(set);
    assert_int_equal(labelset_new(NULL, 0, &set), 0);
    assert_string_equal(labelset_text(set, &n), "");
    labelset_unref(set);
}

/* A reader may hold an old snapshot while series and labels come and go. */
TEST(test_held_snapshot)
{
    struct store *store = new_store();
    struct family *family = add_family(store, &reads);
    struct labelset *set = new_set("first");
    struct series *series = add_series(family, set, "model", "asm");
    labelset_unref(set);
    series_set_u64(series, 7);
    struct snapshot *old = publish(store, 1);
    series_free(series);
    for (uint64_t i = 2; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "c%d", (int)i);
        set = new_set(name);
        series = add_series(family, set, NULL, NULL);
        labelset_unref(set);
        series_set_u64(series, i);
        struct snapshot *snapshot = publish(store, i);
        assert_int_equal(family_at(snapshot, 0)->n, 1);
        assert_int_equal(sample_at(snapshot, 0, 0).u64, i);
        snapshot_release(snapshot);
        series_free(series);
    }
    const struct sample sample = sample_at(old, 0, 0);
    size_t n;
    assert_int_equal(sample.u64, 7);
    assert_string_equal(labelset_text(sample.common, &n), "namespace=\"\",container=\"first\"");
    assert_string_equal(sample.own, "model=\"asm\"");
    snapshot_release(old);
    assert_int_equal(snapshot_number(old = publish(store, 20)), 20);
    assert_int_equal(family_at(old, 0)->n, 0);
    snapshot_release(old);
    store_free(store);
}

TEST(test_before_first)
{
    struct store *store = new_store();
    assert_null(store_acquire(store));
    snapshot_release(NULL);
    series_free(NULL);
    store_free(store);
    store_free(NULL);
}

TEST(test_created)
{
    struct store *store = new_store();
    struct family *family = add_family(store, &reads);
    add_series(family, NULL, "n", "early");
    struct snapshot *snapshot = publish(store, 0); /* as a replay begins: without a time */
    assert_int_equal(sample_at(snapshot, 0, 0).created_wall_ns, 0);
    snapshot_release(snapshot);
    snapshot_release(publish(store, 5));
    snapshot_release(publish(store, 6));
    add_series(family, NULL, "n", "late");
    snapshot = publish(store, 7);
    assert_int_equal(sample_at(snapshot, 0, 0).created_wall_ns, 5000);
    assert_int_equal(sample_at(snapshot, 0, 1).created_wall_ns, 6000);
    snapshot_release(snapshot);
    store_free(store);
}
