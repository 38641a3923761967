#include "exporter/expose/expose.h"
#include "exporter/expose/protobuf.h"
#include "tests/unit/support/unit.h"

#define BYTES(...)                                                                                 \
    (const unsigned char[]){__VA_ARGS__}, sizeof(const unsigned char[])                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void check_bytes(const char *at, const char *end, const unsigned char *expected, size_t n)
{
    assert_int_equal(end - at, n);
    assert_memory_equal(at, expected, n);
}

/* The examples of protobuf's own description, and the ends of the ranges. */
TEST(test_wire)
{
    char out[64];
    check_bytes(out, wire_varint(out, 0), BYTES(0));
    check_bytes(out, wire_varint(out, 127), BYTES(0x7f));
    check_bytes(out, wire_varint(out, 128), BYTES(0x80, 1));
    check_bytes(out, wire_u64(out, 1, 150), BYTES(0x08, 0x96, 0x01));
    check_bytes(out, wire_varint(out, UINT64_MAX),
                BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1));
    check_bytes(out, wire_bytes(out, 2, "testing", 7),
                BYTES(0x12, 7, 't', 'e', 's', 't', 'i', 'n', 'g'));
    check_bytes(out, wire_u64(out, 16, 1), BYTES(0x80, 0x01, 1)); /* a tag of two bytes */
    check_bytes(out, wire_s64(out, 1, 0), BYTES(0x08, 0));
    check_bytes(out, wire_s64(out, 1, -1), BYTES(0x08, 1));
    check_bytes(out, wire_s64(out, 1, 1), BYTES(0x08, 2));
    check_bytes(out, wire_s64(out, 1, -2), BYTES(0x08, 3));
    check_bytes(out, wire_s64(out, 1, INT64_MAX),
                BYTES(0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1));
    check_bytes(out, wire_s64(out, 1, INT64_MIN),
                BYTES(0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1));
    check_bytes(out, wire_double(out, 1, -2), BYTES(0x09, 0, 0, 0, 0, 0, 0, 0, 0xc0));
    assert_int_equal(wire_varint_size(127), 1);
    assert_int_equal(wire_varint_size(128), 2);
    assert_int_equal(wire_varint_size(16383), 2);
    assert_int_equal(wire_varint_size(16384), 3);
    assert_int_equal(wire_varint_size(UINT64_MAX), 10);
}

/* Lengths of one byte, of two and of three. */
TEST(test_nested)
{
    static char out[20100], text[20000];
    memset(text, 'x', sizeof text);
    static const struct {
        size_t n;
        unsigned char head[8];
        size_t head_len;
    } cases[] = {
        {125, {0x1a, 127, 0x12, 125}, 4},
        {126, {0x1a, 0x80, 1, 0x12, 126}, 5},
        {20000, {0x1a, 0xa4, 0x9c, 1, 0x12, 0xa0, 0x9c, 1}, 8}, /* 20004 and 20000 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *start = wire_open(out, 3);
        char *end = wire_close(start, wire_bytes(start, 2, text, cases[i].n));
        assert_int_equal(end - out, cases[i].head_len + cases[i].n);
        assert_memory_equal(out, cases[i].head, cases[i].head_len);
        assert_memory_equal(out + cases[i].head_len, text, cases[i].n);
    }
}

static const double edges[] = {0.75, 2};
static const struct metric_desc reads = {
    .name = "t_reads", .type = METRIC_COUNTER, .number = METRIC_U64, .help = "R."};
static const struct metric_desc window = {
    .name = "t_w_seconds", .type = METRIC_HISTOGRAM, .help = "W.", .edges = edges, .n_edges = 2};
static const struct metric_desc build = {.name = "t_b", .type = METRIC_INFO, .help = "\n\"\\"};
static const struct metric_desc note = {.name = "t_n", .type = METRIC_NOTE, .help = "N."};

static struct series *add(struct store *store, const struct metric_desc *desc,
                          struct labelset *common, const char *name, const char *value)
{
    struct family *family;
    struct series *series;
    const struct label own = {name, value};
    assert_int_equal(store_family(store, desc, NULL, &family), 0);
    assert_int_equal(series_new(family, common, &own, name ? 1 : 0, &series), 0);
    return series;
}

static struct store *new_store(void)
{
    struct store *store;
    assert_int_equal(store_new(&store), 0);
    return store;
}

static void check_page(struct store *store, const unsigned char *expected, size_t n)
{
    const struct tick tick = {.number = 1, .wall_ns = UINT64_C(5000000007)};
    struct textbuf page = TEXTBUF_INIT;
    assert_int_equal(store_publish(store, &tick), 0);
    struct snapshot *snapshot = store_acquire(store);
    assert_int_equal(expose_render(snapshot, EXPOSE_PROTOBUF, NULL, 0, false, &page), 0);
    snapshot_release(snapshot);
    check_bytes(page.data, page.data + page.len, expected, n);
    textbuf_release(&page);
    store_free(store);
}

#define CREATED 0x08, 5, 0x10, 7 /* 5 s, 7 ns */

TEST(test_counter)
{
    struct store *store = new_store();
    struct labelset *set;
    const struct label common = {"c", "\n"};
    assert_int_equal(labelset_new(&common, 1, &set), 0);
    series_set_u64(add(store, &reads, set, "k", "\"\\\n"), 3);
    series_set(add(store, &note, set, NULL, NULL), 1); /* leaves no trace */
    labelset_unref(set);
    check_page(store, BYTES(58,                                                         /* bytes */
                            0x0a, 13, 't', '_', 'r', 'e', 'a', 'd', 's', '_', 't', 'o', /* name */
                            't', 'a', 'l', 0x12, 2, 'R', '.',                           /* help */
                            0x18, 0,                                         /* a counter */
                            0x22, 35,                                        /* metric */
                            0x0a, 6, 0x0a, 1, 'c', 0x12, 1, '\n',            /* its labels */
                            0x0a, 8, 0x0a, 1, 'k', 0x12, 3, '"', '\\', '\n', /* unescaped */
                            0x1a, 15, 0x09, 0, 0, 0, 0, 0, 0, 0x08, 0x40, 0x1a, 4, CREATED));
}

TEST(test_info)
{
    struct store *store = new_store();
    series_set(add(store, &build, NULL, NULL, NULL), 7);
    check_page(store, BYTES(30, 0x0a, 8, 't', '_', 'b', '_', 'i', 'n', 'f', 'o', 0x12, 3, '\n', '"',
                            '\\', 0x18, 1, 0x22, 11, 0x12, 9, 0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f));
}

#define BUCKET(n, high, higher) 0x1a, 11, 0x08, (n), 0x11, 0, 0, 0, 0, 0, 0, (high), (higher)
#define WINDOW_HEAD                                                                                \
    0x0a, 11, 't', '_', 'w', '_', 's', 'e', 'c', 'o', 'n', 'd', 's', 0x12, 2, 'W', '.', 0x18, 4
#define WINDOW_TAIL 0x2a, 7, 's', 'e', 'c', 'o', 'n', 'd', 's'
/* Schema 3, a zero bucket up to 1/4. */
#define NATIVE(zero) 0x28, 6, 0x31, 0, 0, 0, 0, 0, 0, 0xd0, 0x3f, 0x38, (zero)

TEST(test_histogram)
{
    struct store *store = new_store();
    struct series *series = add(store, &window, NULL, NULL, NULL);
    /* The zero bucket, bucket 0, bucket 1 twice, bucket 13; the sum is 6.25. */
    static const double values[] = {0.125, 1, 1.0625, 1.0625, 3};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        series_observe(series, values[i]);
    check_page(store,
               BYTES(119, WINDOW_HEAD, 0x22, 89, 0x3a, 87, 0x08, 5, /* count */
                     0x11, 0, 0, 0, 0, 0, 0, 0x19, 0x40,            /* sum */
                     BUCKET(1, 0xe8, 0x3f), BUCKET(4, 0, 0x40), BUCKET(5, 0xf0, 0x7f), NATIVE(1),
                     0x62, 4, 0x08, 0, 0x10, 2,  /* from bucket 0 on, two buckets */
                     0x62, 4, 0x08, 22, 0x10, 1, /* eleven empty ones, then one */
                     0x68, 2, 0x68, 2, 0x68, 1,  /* +1 +1 -1 */
                     0x7a, 4, CREATED, WINDOW_TAIL));
}

TEST(test_histogram_without_observations)
{
    struct store *store = new_store();
    add(store, &window, NULL, NULL, NULL);
    check_page(store,
               BYTES(107, WINDOW_HEAD, 0x22, 77, 0x3a, 75, 0x08, 0, 0x11, 0, 0, 0, 0, 0, 0, 0, 0,
                     BUCKET(0, 0xe8, 0x3f), BUCKET(0, 0, 0x40), BUCKET(0, 0xf0, 0x7f), NATIVE(0),
                     0x62, 4, 0x08, 0, 0x10, 0, /* the span that says: native, and empty */
                     0x7a, 4, CREATED, WINDOW_TAIL));
}

/* A first bucket below 1, whose index is negative, and a schema that fell. */
TEST(test_spans)
{
    struct store *store = new_store();
    struct series *series = add(store, &window, NULL, NULL, NULL);
    series_observe(series, 0.5);    /* 2^-1 at schema 1: bucket -2 */
    series_observe(series, 0x1p28); /* bucket 56 */
    check_page(store, BYTES(117, WINDOW_HEAD, 0x22, 87, 0x3a, 85, 0x08, 2, 0x11, 0, 0, 0x80, 0, 0,
                            0, 0xb0, 0x41, BUCKET(1, 0xe8, 0x3f), BUCKET(1, 0, 0x40),
                            BUCKET(2, 0xf0, 0x7f), 0x28, 2, 0x31, 0, 0, 0, 0, 0, 0, 0xd0, 0x3f,
                            0x38, 0, 0x62, 4, 0x08, 3, 0x10, 1, /* -2 */
                            0x62, 4, 0x08, 114, 0x10, 1,        /* 57 empty ones */
                            0x68, 2, 0x68, 0, 0x7a, 4, CREATED, WINDOW_TAIL));
}

TEST(test_no_room)
{
    struct store *store = new_store();
    series_set_u64(add(store, &reads, NULL, "k", "v"), 3);
    series_observe(add(store, &window, NULL, NULL, NULL), 1);
    const struct tick tick = {.number = 1, .wall_ns = 1};
    assert_int_equal(store_publish(store, &tick), 0);
    struct snapshot *snapshot = store_acquire(store);
    static char storage[600];
    for (size_t size = 1; size < sizeof storage - 1; size++) {
        struct textbuf page;
        storage[size] = '#';
        textbuf_init_fixed(&page, storage, size);
        assert_int_equal(expose_render(snapshot, EXPOSE_PROTOBUF, NULL, 0, false, &page), -ENOBUFS);
        assert_int_equal(storage[size], '#');
    }
    snapshot_release(snapshot);
    store_free(store);
}
