#include <jansson.h>
#include <libdeflate.h>
#include <pthread.h>
#include <stdatomic.h>

#include "exporter/expose/expose.h"
#include "tests/unit/support/unit.h"

static const double edges[] = {60e-9, 1e-6, 1};
static const struct metric_desc reads = {.name = "t_reads",
                                         .type = METRIC_COUNTER,
                                         .number = METRIC_U64,
                                         .help = "Reads: \"many\" is\nbusy \\ bad."};
static const struct metric_desc wait = {
    .name = "t_wait_seconds", .type = METRIC_COUNTER, .number = METRIC_DOUBLE, .help = "Waited."};
static const struct metric_desc latency = {
    .name = "t_latency_seconds", .type = METRIC_GAUGE, .number = METRIC_DOUBLE, .help = "Latency."};
static const struct metric_desc window = {.name = "t_window_seconds",
                                          .type = METRIC_HISTOGRAM,
                                          .help = "Windows.",
                                          .edges = edges,
                                          .n_edges = 3};
static const struct metric_desc build = {.name = "t_build", .type = METRIC_INFO, .help = "Build."};
static const struct metric_desc note = {
    .name = "t_note_ratio", .type = METRIC_NOTE, .number = METRIC_DOUBLE, .help = "Note."};

struct fixture {
    struct store *store;
    struct labelset *set;
    struct series *reads, *wait, *latency, *window, *note;
};

static struct family *add_family(struct store *store, const struct metric_desc *desc,
                                 const char *owner)
{
    struct family *family;
    assert_int_equal(store_family(store, desc, owner, &family), 0);
    return family;
}

static struct series *add(struct family *family, struct labelset *set, const char *name,
                          const char *value)
{
    struct series *series;
    const struct label own = {name, value};
    assert_int_equal(series_new(family, set, &own, name ? 1 : 0, &series), 0);
    return series;
}

static void publish(struct store *store, uint64_t number)
{
    const struct tick tick = {.number = number, .wall_ns = UINT64_C(1790000000000000000) + number};
    assert_int_equal(store_publish(store, &tick), 0);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_int_equal(store_new(&f->store), 0);
    const struct label labels[] = {
        {"namespace", ""}, {"container", "a\"b\\c\nd\xff"}, {"container_id", "0123456789ab"}};
    assert_int_equal(labelset_new(labels, 3, &f->set), 0);
    struct family *family = add_family(f->store, &reads, "core");
    f->reads = add(family, f->set, NULL, NULL);
    add(family, NULL, NULL, NULL);
    f->wait = add(add_family(f->store, &wait, "core"), f->set, "model", "asm");
    f->latency = add(add_family(f->store, &latency, "probe"), f->set, NULL, NULL);
    family = add_family(f->store, &window, NULL);
    f->window = add(family, NULL, NULL, NULL);
    series_observe(add(family, f->set, "model", "x"), 2);
    series_set_u64(add(add_family(f->store, &build, NULL), NULL, "version", "0.1"), 1);
    f->note = add(add_family(f->store, &note, NULL), f->set, NULL, NULL);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    labelset_unref(f->set);
    store_free(f->store);
    free(f);
    return 0;
}

static void fill(struct fixture *f)
{
    series_set_u64(f->reads, UINT64_C(9007199254740993));
    series_add(f->wait, 0.1);
    series_set(f->latency, 80.238e-9);
    series_observe(f->window, 60e-9);
    series_observe(f->window, 0.5);
    series_observe(f->window, 3);
    series_set(f->note, 0.5);
    publish(f->store, 5);
}

static void check_render(struct fixture *f, enum expose_format format, const char *const *owners,
                         size_t n, bool created, const char *expected)
{
    struct textbuf text = TEXTBUF_INIT;
    struct snapshot *snapshot = store_acquire(f->store);
    assert_int_equal(expose_render(snapshot, format, owners, n, created, &text), 0);
    snapshot_release(snapshot);
    assert_int_equal(text.len, strlen(text.data ? text.data : ""));
    assert_string_equal(text.data ? text.data : "", expected);
    textbuf_release(&text);
}

#define COMMON                                                                                     \
    "namespace=\"\",container=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\",container_id=\"0123456789ab\""

TEST_ON(test_text, struct fixture *f, setup, teardown)
{
    fill(f);
    check_render(f, EXPOSE_TEXT_004, NULL, 0, true,
                 "# HELP t_reads_total Reads: \"many\" is\\nbusy \\\\ bad.\n"
                 "# TYPE t_reads_total counter\n"
                 "t_reads_total{" COMMON "} 9007199254740993\n"
                 "t_reads_total 0\n"
                 "# HELP t_wait_seconds_total Waited.\n"
                 "# TYPE t_wait_seconds_total counter\n"
                 "t_wait_seconds_total{" COMMON ",model=\"asm\"} 0.1\n"
                 "# HELP t_latency_seconds Latency.\n"
                 "# TYPE t_latency_seconds gauge\n"
                 "t_latency_seconds{" COMMON "} 8.0238e-08\n"
                 "# HELP t_window_seconds Windows.\n"
                 "# TYPE t_window_seconds histogram\n"
                 "t_window_seconds_bucket{le=\"6e-08\"} 1\n"
                 "t_window_seconds_bucket{le=\"1e-06\"} 1\n"
                 "t_window_seconds_bucket{le=\"1.0\"} 2\n"
                 "t_window_seconds_bucket{le=\"+Inf\"} 3\n"
                 "t_window_seconds_sum 3.50000006\n"
                 "t_window_seconds_count 3\n"
                 "t_window_seconds_bucket{" COMMON ",model=\"x\",le=\"6e-08\"} 0\n"
                 "t_window_seconds_bucket{" COMMON ",model=\"x\",le=\"1e-06\"} 0\n"
                 "t_window_seconds_bucket{" COMMON ",model=\"x\",le=\"1.0\"} 0\n"
                 "t_window_seconds_bucket{" COMMON ",model=\"x\",le=\"+Inf\"} 1\n"
                 "t_window_seconds_sum{" COMMON ",model=\"x\"} 2\n"
                 "t_window_seconds_count{" COMMON ",model=\"x\"} 1\n"
                 "# HELP t_build_info Build.\n"
                 "# TYPE t_build_info gauge\n"
                 "t_build_info{version=\"0.1\"} 1\n");
}

TEST_ON(test_openmetrics, struct fixture *f, setup, teardown)
{
    fill(f);
    static const char *const core[] = {"core", "absent"};
    check_render(f, EXPOSE_OPENMETRICS_100, core, 2, true,
                 "# HELP t_reads Reads: \\\"many\\\" is\\nbusy \\\\ bad.\n"
                 "# TYPE t_reads counter\n"
                 "t_reads_total{" COMMON "} 9007199254740993\n"
                 "t_reads_created{" COMMON "} 1790000000.000000005\n"
                 "t_reads_total 0\n"
                 "t_reads_created 1790000000.000000005\n"
                 "# HELP t_wait_seconds Waited.\n"
                 "# TYPE t_wait_seconds counter\n"
                 "# UNIT t_wait_seconds seconds\n"
                 "t_wait_seconds_total{" COMMON ",model=\"asm\"} 0.1\n"
                 "t_wait_seconds_created{" COMMON ",model=\"asm\"} 1790000000.000000005\n"
                 "# HELP t_window_seconds Windows.\n"
                 "# TYPE t_window_seconds histogram\n"
                 "# UNIT t_window_seconds seconds\n"
                 "t_window_seconds_bucket{le=\"6e-08\"} 1\n"
                 "t_window_seconds_bucket{le=\"1e-06\"} 1\n"
                 "t_window_seconds_bucket{le=\"1.0\"} 2\n"
                 "t_window_seconds_bucket{le=\"+Inf\"} 3\n"
                 "t_window_seconds_sum 3.50000006\n"
                 "t_window_seconds_count 3\n"
                 "t_window_seconds_created 1790000000.000000005\n"
                 "t_window_seconds_bucket{" COMMON ",model=\"x\",le=\"6e-08\"} 0\n"
                 "t_window_seconds_bucket{" COMMON ",model=\"x\",le=\"1e-06\"} 0\n"
                 "t_window_seconds_bucket{" COMMON ",model=\"x\",le=\"1.0\"} 0\n"
                 "t_window_seconds_bucket{" COMMON ",model=\"x\",le=\"+Inf\"} 1\n"
                 "t_window_seconds_sum{" COMMON ",model=\"x\"} 2\n"
                 "t_window_seconds_count{" COMMON ",model=\"x\"} 1\n"
                 "t_window_seconds_created{" COMMON ",model=\"x\"} 1790000000.000000005\n"
                 "# HELP t_build Build.\n"
                 "# TYPE t_build info\n"
                 "t_build_info{version=\"0.1\"} 1\n"
                 "# EOF\n");
}

/* What is absent leaves no trace, not even its HELP. */
TEST_ON(test_absent, struct fixture *f, setup, teardown)
{
    static const char *const probe[] = {"probe"};
    series_clear(f->window);
    publish(f->store, 1);
    check_render(f, EXPOSE_TEXT_004, probe, 1, false,
                 "# HELP t_window_seconds Windows.\n"
                 "# TYPE t_window_seconds histogram\n"
                 "t_window_seconds_bucket{" COMMON ",model=\"x\",le=\"6e-08\"} 0\n"
                 "t_window_seconds_bucket{" COMMON ",model=\"x\",le=\"1e-06\"} 0\n"
                 "t_window_seconds_bucket{" COMMON ",model=\"x\",le=\"1.0\"} 0\n"
                 "t_window_seconds_bucket{" COMMON ",model=\"x\",le=\"+Inf\"} 1\n"
                 "t_window_seconds_sum{" COMMON ",model=\"x\"} 2\n"
                 "t_window_seconds_count{" COMMON ",model=\"x\"} 1\n"
                 "# HELP t_build_info Build.\n"
                 "# TYPE t_build_info gauge\n"
                 "t_build_info{version=\"0.1\"} 1\n");
    struct store *empty;
    assert_int_equal(store_new(&empty), 0);
    publish(empty, 1);
    struct fixture g = {.store = empty};
    check_render(&g, EXPOSE_TEXT_004, NULL, 0, false, "");
    check_render(&g, EXPOSE_OPENMETRICS_100, NULL, 0, false, "# EOF\n");
    store_free(empty);
}

TEST_ON(test_no_room, struct fixture *f, setup, teardown)
{
    fill(f);
    struct snapshot *snapshot = store_acquire(f->store);
    for (size_t size = 1; size < 1500; size += 7) {
        char storage[1500];
        struct textbuf text;
        storage[size] = '#';
        textbuf_init_fixed(&text, storage, size);
        assert_int_equal(expose_render(snapshot, EXPOSE_TEXT_004, NULL, 0, false, &text), -ENOBUFS);
        assert_int_equal(storage[size], '#');
    }
    snapshot_release(snapshot);
}

static struct rendered_page *get(struct expose *expose, enum expose_format format, bool gzip)
{
    struct rendered_page *page;
    assert_int_equal(expose_page(expose, format, gzip, &page), 0);
    return page;
}

static size_t unpack(const struct rendered_page *page, char *out, size_t cap)
{
    size_t len, n;
    const void *bytes = page_bytes(page, &len);
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    assert_int_equal(libdeflate_gzip_decompress(d, bytes, len, out, cap - 1, &n),
                     LIBDEFLATE_SUCCESS);
    out[n] = '\0';
    libdeflate_free_decompressor(d);
    return n;
}

TEST_ON(test_pages, struct fixture *f, setup, teardown)
{
    struct expose *expose;
    assert_int_equal(expose_new(f->store, false, &expose), 0);
    struct rendered_page *text = NULL, *again, *packed, *open, *filtered;
    assert_int_equal(expose_page(expose, EXPOSE_TEXT_004, false, &text), -ENODATA);
    static const char *const core[] = {"core"};
    bool gzip = true;
    assert_int_equal(expose_selection(expose, EXPOSE_TEXT_004, &gzip, core, 1, &text), -ENODATA);
    fill(f);
    text = get(expose, EXPOSE_TEXT_004, false);
    again = get(expose, EXPOSE_TEXT_004, false);
    assert_ptr_equal(text, again); /* rendered once */
    page_unref(again);
    open = get(expose, EXPOSE_OPENMETRICS_100, false);
    packed = get(expose, EXPOSE_OPENMETRICS_100, true);
    again = get(expose, EXPOSE_OPENMETRICS_100, true);
    assert_ptr_equal(packed, again);
    page_unref(again);
    size_t len;
    static char unpacked[8192], before[8192];
    unpack(packed, unpacked, sizeof unpacked);
    const char *bytes = page_bytes(open, &len);
    assert_int_equal(len, strlen(unpacked));
    assert_memory_equal(bytes, unpacked, len);
    assert_non_null(strstr(unpacked, "# EOF"));

    gzip = false;
    assert_int_equal(expose_selection(expose, EXPOSE_TEXT_004, &gzip, core, 1, &filtered), 0);
    bytes = page_bytes(filtered, &len);
    assert_null(strstr(bytes, "latency"));
    assert_non_null(strstr(bytes, "t_reads_total"));
    page_unref(filtered);
    gzip = true;
    assert_int_equal(expose_selection(expose, EXPOSE_TEXT_004, &gzip, core, 1, &filtered), 0);
    assert_true(gzip);
    unpack(filtered, unpacked, sizeof unpacked);
    assert_null(strstr(unpacked, "latency"));
    page_unref(filtered);

    /* A slow reader's page stays as it was while new ones are made. */
    bytes = page_bytes(text, &len);
    memcpy(before, bytes, len);
    for (uint64_t i = 0; i < 5; i++) {
        series_add_u64(f->reads, 1);
        publish(f->store, 6 + i);
        again = get(expose, EXPOSE_TEXT_004, false);
        assert_ptr_not_equal(text, again);
        page_unref(again);
    }
    assert_ptr_equal(page_bytes(text, &len), bytes);
    assert_memory_equal(bytes, before, len);
    again = get(expose, EXPOSE_TEXT_004, false);
    assert_non_null(strstr(page_bytes(again, &len), "9007199254740998"));
    page_unref(again);
    page_unref(page_ref(text));
    page_unref(text);
    page_unref(open);
    page_unref(packed);
    page_unref(NULL);
    expose_free(expose);
    expose_free(NULL);
}

/* ---- what is asked for of a page ---- */

/* What expose_selection() gives is what rendering these families alone gives. */
static void check_selection(struct fixture *f, struct expose *expose, enum expose_format format,
                            const char *const *owners, size_t n)
{
    struct snapshot *snapshot = store_acquire(f->store);
    struct textbuf alone = TEXTBUF_INIT;
    assert_int_equal(expose_render(snapshot, format, owners, n, false, &alone), 0);
    snapshot_release(snapshot);
    for (int packed = 0; packed < 2; packed++) {
        static char unpacked[8192];
        bool gzip = packed;
        struct rendered_page *page;
        size_t len;
        assert_int_equal(expose_selection(expose, format, &gzip, owners, n, &page), 0);
        assert_int_equal(gzip, packed);
        const char *bytes = page_bytes(page, &len);
        if (packed) {
            len = unpack(page, unpacked, sizeof unpacked);
            bytes = unpacked;
        }
        assert_int_equal(len, alone.len);
        assert_memory_equal(bytes, alone.data, len);
        page_unref(page);
    }
    textbuf_release(&alone);
}

TEST_ON(a_selection_is_cut_from_the_page, struct fixture *f, setup, teardown)
{
    struct expose *expose;
    static const char *const both[] = {"probe", "core"}, *const none[] = {"absent"};
    assert_int_equal(expose_new(f->store, false, &expose), 0);
    fill(f);
    for (int format = 0; format < EXPOSE_FORMATS; format++) {
        publish(f->store, 6);
        check_selection(f, expose, (enum expose_format)format, &both[1], 1);
        check_selection(f, expose, (enum expose_format)format, both, 2);
    }
    publish(f->store, 7);
    series_clear(f->window); /* a part that is gone */
    for (int format = 0; format < EXPOSE_FORMATS; format++) {
        publish(f->store, 8); /* for few packed selections of one publication are kept */
        check_selection(f, expose, (enum expose_format)format, both, 1);
        check_selection(f, expose, (enum expose_format)format, none, 1);
    }
    expose_free(expose);
}

/* A client that asks for ever other selections makes the exporter compress only a few. */
TEST_ON(few_selections_are_compressed, struct fixture *f, setup, teardown)
{
    struct expose *expose;
    assert_int_equal(expose_new(f->store, false, &expose), 0);
    fill(f);
    for (uint64_t round = 0; round < 3; round++) {
        struct rendered_page *first = NULL, *page;
        int compressed = 0;
        for (int i = 0; i < 50; i++) {
            char other[16];
            bool gzip = true;
            snprintf(other, sizeof other, "other%d", i);
            const char *owners[] = {"core", other};
            assert_int_equal(expose_selection(expose, EXPOSE_TEXT_004, &gzip, owners, 2, &page), 0);
            compressed += gzip;
            if (i == 0)
                first = page_ref(page);
            page_unref(page);
        }
        assert_int_equal(compressed, 4);
        /* In another order, and repeated, it is the same selection, compressed once. */
        const char *again[] = {"other0", "core", "other0"};
        bool gzip = true;
        assert_int_equal(expose_selection(expose, EXPOSE_TEXT_004, &gzip, again, 3, &page), 0);
        assert_ptr_equal(page, first);
        page_unref(page);
        page_unref(first);
        publish(f->store, 7 + round);
    }
    expose_free(expose);
}

/* Requests on all sides of a publication: a page shows one snapshot, and never one older than the
 * snapshot that was current at the request. */

struct askers {
    struct expose *expose;
    atomic_uint_least64_t published;
    atomic_bool stop;
    atomic_uint went_round;
};

static uint64_t shown(const struct rendered_page *page)
{
    size_t len;
    const char *at = strstr(page_bytes(page, &len), "t_reads_total{" COMMON "} ");
    return at ? strtoull(strstr(at, "} ") + 2, NULL, 10) : 0;
}

static void *ask(void *context)
{
    struct askers *askers = context;
    const char *problem = NULL;
    for (unsigned i = 0; !problem && (i < 50 || !atomic_load(&askers->stop)); i++) {
        uint64_t asked = atomic_load(&askers->published);
        struct rendered_page *page;
        if (expose_page(askers->expose, i % 2, i % 3 == 0, &page)) {
            problem = "no page";
            continue;
        }
        if (i % 3 == 0) {
            static _Thread_local char text[8192];
            size_t len, n;
            const void *bytes = page_bytes(page, &len);
            struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
            if (libdeflate_gzip_decompress(d, bytes, len, text, sizeof text, &n))
                problem = "torn";
            libdeflate_free_decompressor(d);
        } else if (shown(page) < asked) {
            problem = "old";
        }
        page_unref(page);
        if (i == 20)
            atomic_fetch_add(&askers->went_round, 1);
    }
    if (problem)
        atomic_fetch_add(&askers->went_round, 1);
    return (void *)problem;
}

TEST_ON(test_concurrent_askers, struct fixture *f, setup, teardown)
{
    struct askers askers = {.published = 1};
    assert_int_equal(expose_new(f->store, false, &askers.expose), 0);
    series_set_u64(f->reads, 1);
    publish(f->store, 1);
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &askers), 0);
    for (uint64_t i = 2; i < 1000 || atomic_load(&askers.went_round) < 4; i++) {
        series_set_u64(f->reads, i);
        publish(f->store, i);
        atomic_store(&askers.published, i);
    }
    atomic_store(&askers.stop, true);
    for (size_t i = 0; i < 4; i++) {
        void *problem;
        pthread_join(threads[i], &problem);
        if (problem)
            fail_msg("%s", (const char *)problem);
    }
    expose_free(askers.expose);
}

static const struct metric_desc many = {
    .name = "t_many", .type = METRIC_GAUGE, .number = METRIC_DOUBLE, .help = "Many."};

struct crowd {
    struct expose *expose;
    pthread_barrier_t barrier;
};

static void *ask_together(void *context)
{
    struct crowd *crowd = context;
    struct rendered_page *page = NULL;
    pthread_barrier_wait(&crowd->barrier);
    expose_page(crowd->expose, EXPOSE_OPENMETRICS_100, true, &page);
    return page;
}

TEST_ON(test_rendered_once_for_a_crowd, struct fixture *f, setup, teardown)
{
    enum { CROWD = 8 };
    struct crowd crowd;
    assert_int_equal(expose_new(f->store, false, &crowd.expose), 0);
    pthread_barrier_init(&crowd.barrier, NULL, CROWD);
    struct family *family = add_family(f->store, &many, NULL);
    for (int i = 0; i < 3000; i++) { /* enough to be busy with when the others come */
        char number[8];
        snprintf(number, sizeof number, "%d", i);
        series_set(add(family, NULL, "n", number), i);
    }
    for (uint64_t round = 1; round < 20; round++) {
        pthread_t threads[CROWD];
        void *first = NULL;
        publish(f->store, round);
        for (size_t i = 0; i < CROWD; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, ask_together, &crowd), 0);
        for (size_t i = 0; i < CROWD; i++) {
            void *page;
            pthread_join(threads[i], &page);
            assert_non_null(page);
            first = first ? first : page;
            assert_ptr_equal(page, first);
        }
        for (size_t i = 0; i < CROWD; i++)
            page_unref(first);
    }
    pthread_barrier_destroy(&crowd.barrier);
    expose_free(crowd.expose);
}

/* All of one publication, also when the next one is staged or published. */
TEST_ON(a_snapshot_says_of_which_tick_it_is, struct fixture *f, setup, teardown)
{
    const struct tick tick = {.number = 7, .mono_ns = 5, .wall_ns = 6, .interval_ns = 4};
    const struct tick next = {.number = 8};
    store_set_origin(f->store, "replay", true);
    assert_int_equal(store_publish(f->store, &tick), 0);
    struct snapshot *snapshot = store_acquire(f->store);
    store_set_origin(f->store, "perf", false);
    assert_int_equal(store_publish(f->store, &next), 0);
    const struct snapshot_origin *origin = snapshot_origin(snapshot);
    assert_string_equal(origin->source, "replay");
    assert_true(origin->replay_ended && origin->tick.number == 7 && origin->tick.mono_ns == 5);
    snapshot_release(snapshot);
}

/* Of a metric with one series: whatever the labels, a list of one. */
static json_t *only_value(json_t *values, const char *name)
{
    json_t *list = json_object_get(values, name);
    assert_int_equal(json_array_size(list), 1);
    return json_object_get(json_array_get(list, 0), "value");
}

/* Backwards. */
static size_t rank_second_first(void *context, const struct label *labels, size_t n)
{
    return 10 - (size_t)(*(int *)context)++;
}

static int describe_rank(void *context, size_t rank, json_t *object)
{
    return json_object_set_new(object, "rank", json_integer((json_int_t)rank));
}

TEST(containers_are_listed_in_order_and_in_parts)
{
    struct store *store;
    struct labelset *sets[3];
    struct series *series[3];
    assert_int_equal(store_new(&store), 0);
    struct family *family = add_family(store, &latency, NULL);
    for (int i = 0; i < 3; i++) {
        const struct label label = {"container_id", (const char *[]){"a", "b", "c"}[i]};
        assert_int_equal(labelset_new(&label, 1, &sets[i]), 0);
        series[i] = add(family, sets[i], NULL, NULL);
        series_set(series[i], i);
    }
    publish(store, 1);
    struct snapshot *snapshot = store_acquire(store);
    static const struct {
        size_t offset, limit;
        bool pretty;
        const char *text;
    } cases[] = {
        {0, 0, false, "cba"}, {0, 2, true, "cb"}, {1, 1, false, "b"},
        {2, 9, false, "a"},   {3, 0, false, ""},  {9, 9, true, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int asked = 1;
        struct textbuf page = TEXTBUF_INIT;
        const struct containers_listing listing = {.context = &asked,
                                                   .rank = rank_second_first,
                                                   .describe = describe_rank,
                                                   .offset = cases[i].offset,
                                                   .limit = cases[i].limit,
                                                   .pretty = cases[i].pretty};
        size_t total;
        assert_int_equal(expose_containers_json(snapshot, &listing, &page, &total), 0);
        assert_int_equal(total, 3);
        json_t *list = json_loadb(page.data, page.len, JSON_REJECT_DUPLICATES, NULL);
        assert_int_equal(json_array_size(list), strlen(cases[i].text));
        for (size_t k = 0; cases[i].text[k]; k++) {
            json_t *item = json_array_get(list, k);
            assert_true(*json_string_value(json_object_get(item, "container_id")) ==
                        cases[i].text[k]);
            assert_int_equal(json_integer_value(json_object_get(item, "rank")),
                             9 - (cases[i].text[k] - 'a'));
        }
        if (cases[i].text[0])
            assert_int_equal(strchr(page.data, '\n') != NULL, cases[i].pretty);
        json_decref(list);
        textbuf_release(&page);
    }
    snapshot_release(snapshot);
    for (int i = 0; i < 3; i++) {
        series_free(series[i]);
        labelset_unref(sets[i]);
    }
    store_free(store);
}

TEST_ON(test_json, struct fixture *f, setup, teardown)
{
    const struct label other[] = {{"container_id", "ffff"}}, node[] = {{"numa_node", "0"}};
    struct labelset *second, *none;
    assert_int_equal(labelset_new(other, 1, &second), 0);
    assert_int_equal(labelset_new(node, 1, &none), 0);
    static const struct metric_desc ratio = {
        .name = "t_slow_ratio", .type = METRIC_GAUGE, .number = METRIC_DOUBLE, .help = "Slow."};
    struct family *family = add_family(f->store, &ratio, NULL);
    series_set(add(family, f->set, "model", "as\"m\n"), 1.25);
    series_set(add(family, second, "model", "asm"), 1.5);
    series_set(add(family, f->set, "model", "passive"), 1.75);
    series_set(add(family, none, NULL, NULL), 2); /* no container's */
    fill(f);
    struct snapshot *snapshot = store_acquire(f->store);
    struct textbuf page = TEXTBUF_INIT;
    const struct containers_listing all = {.limit = 0};
    size_t total;
    assert_int_equal(expose_containers_json(snapshot, &all, &page, &total), 0);
    assert_int_equal(total, 2);
    json_error_t error;
    json_t *containers = json_loadb(page.data, page.len, JSON_REJECT_DUPLICATES, &error);
    assert_int_equal(json_array_size(containers), 2);
    json_t *first = json_array_get(containers, 0);
    assert_string_equal(json_string_value(json_object_get(first, "container")),
                        "a\"b\\c\nd\xef\xbf\xbd");
    assert_string_equal(json_string_value(json_object_get(first, "namespace")), "");
    json_t *values = json_object_get(first, "values");
    assert_int_equal(json_object_size(values), 7);
    assert_true(json_integer_value(only_value(values, "t_reads_total")) == 9007199254740993);
    assert_true(json_real_value(only_value(values, "t_latency_seconds")) == 80.238e-9);
    assert_true(json_real_value(only_value(values, "t_note_ratio")) == 0.5);
    assert_int_equal(json_integer_value(only_value(values, "t_window_seconds_count")), 1);
    assert_true(json_real_value(only_value(values, "t_window_seconds_sum")) == 2);
    json_t *list = json_object_get(values, "t_slow_ratio");
    assert_int_equal(json_array_size(list), 2);
    json_t *item = json_array_get(list, 0);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(item, "labels"), "model")), "as\"m\n");
    assert_true(json_real_value(json_object_get(item, "value")) == 1.25);
    values = json_object_get(json_array_get(containers, 1), "values");
    assert_int_equal(json_object_size(values), 1);
    json_decref(containers);
    textbuf_release(&page);
    snapshot_release(snapshot);
    labelset_unref(second);
    labelset_unref(none);
}

/* Series come and go in all orders; what is shown is whole and never twice. */
TEST(test_churn_shows_each_once)
{
    struct store *store;
    struct family *families[2];
    struct series *series[64][2] = {{NULL}};
    struct labelset *sets[64];
    assert_int_equal(store_new(&store), 0);
    families[0] = add_family(store, &reads, NULL);
    families[1] = add_family(store, &latency, NULL);
    uint64_t random = 42;
    for (uint64_t tick = 1; tick < 300; tick++) {
        for (int j = 0; j < 20; j++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            size_t i = random >> 58;
            if (series[i][0]) {
                series_free(series[i][0]);
                series_free(series[i][1]);
                labelset_unref(sets[i]);
                series[i][0] = NULL;
                continue;
            }
            char id[8];
            snprintf(id, sizeof id, "%zu", i);
            const struct label label = {"container_id", id};
            assert_int_equal(labelset_new(&label, 1, &sets[i]), 0);
            for (size_t k = 0; k < 2; k++) {
                series[i][k] = add(families[k], sets[i], NULL, NULL);
                series_set_u64(series[i][k], i);
            }
        }
        publish(store, tick);
        struct textbuf text = TEXTBUF_INIT;
        struct snapshot *snapshot = store_acquire(store);
        assert_int_equal(expose_render(snapshot, EXPOSE_TEXT_004, NULL, 0, false, &text), 0);
        snapshot_release(snapshot);
        size_t lines = 0, expected = 0;
        for (const char *at = text.data; at && (at = strchr(at, '\n')); at++)
            lines++;
        for (size_t i = 0; i < 64; i++) {
            char line[80];
            snprintf(line, sizeof line, "\nt_reads_total{container_id=\"%zu\"} %zu\n", i, i);
            const char *found = text.data ? strstr(text.data, line) : NULL;
            assert_int_equal(found != NULL, series[i][0] != NULL);
            expected += series[i][0] ? 2 : 0;
        }
        assert_int_equal(lines, expected ? expected + 4 : 0);
        textbuf_release(&text);
    }
    for (size_t i = 0; i < 64; i++)
        if (series[i][0])
            labelset_unref(sets[i]);
    store_free(store);
}
