#include <math.h>

#include "exporter/store/histogram.h"
#include "tests/unit/support/unit.h"

/* The first edge is in [1/2, 1): the zero bucket ends at 2^-2. */
static const double edges[] = {0.75, 2, 100};
static const struct metric_desc desc = {.name = "t",
                                        .type = METRIC_HISTOGRAM,
                                        .help = "x",
                                        .edges = edges,
                                        .n_edges = sizeof edges / sizeof *edges};

enum { ZERO_EXPONENT = -2, FIRST = ZERO_EXPONENT * 8 + 1 };

static struct histogram *new_histogram(void)
{
    struct histogram *h = calloc(1, histogram_size(&desc));
    assert_non_null(h);
    histogram_init(h, &desc);
    return h;
}

/* The native bucket of a single observation. */
enum { ZERO_BUCKET = -1000000 };
static int bucket_of(double value, int *schema)
{
    struct histogram *h = new_histogram();
    assert_true(histogram_observe(h, &desc, value));
    int found = ZERO_BUCKET;
    uint64_t total = h->zero;
    for (int i = 0; i < NATIVE_BUCKETS; i++) {
        total += h->native[i];
        if (h->native[i])
            found = h->zero_exponent * (1 << h->schema) + 1 + i;
    }
    assert_int_equal(total, 1);
    *schema = h->schema;
    free(h);
    return found;
}

/* A power of 2^(1/8) is the last value of its bucket. */
TEST(test_boundaries)
{
    int schema;
    for (int i = FIRST; i < FIRST + NATIVE_BUCKETS; i++) {
        double bound = (double)exp2l((long double)i / 8);
        assert_int_equal(bucket_of(bound, &schema), i);
        assert_int_equal(bucket_of(nextafter(bound, 0), &schema), i);
        assert_int_equal(schema, 3);
        int above = bucket_of(nextafter(bound, INFINITY), &schema);
        if (i < FIRST + NATIVE_BUCKETS - 1)
            assert_int_equal(above, i + 1);
    }
    assert_int_equal(bucket_of(0.25, &schema), ZERO_BUCKET);
    assert_int_equal(bucket_of(nextafter(0.25, 1), &schema), FIRST);
}

/* By hand: 1 is 2^0; 1.05 is in (1, 1.0905]; 3 is 2^1.58, in (2.828, 3.084] = bucket 13. */
TEST(test_known)
{
    int schema;
    assert_int_equal(bucket_of(1, &schema), 0);
    assert_int_equal(bucket_of(1.05, &schema), 1);
    assert_int_equal(bucket_of(2, &schema), 8);
    assert_int_equal(bucket_of(3, &schema), 13);
    assert_int_equal(bucket_of(0.5, &schema), -8);
}

/* 64 buckets of schema 3 end at 2^6, of schema 2 at 2^14, of 1 at 2^30, of 0 at 2^62. */
TEST(test_resolution_falls)
{
    static const struct {
        double value;
        int schema, bucket;
    } cases[] = {
        {0x1p6, 3, 48},    {0x1.0000001p6, 2, 25}, {0x1p14, 2, 56},
        {0x1.8p14, 1, 30}, {0x1p30, 1, 60},        {0x1.8p30, 0, 31},
        {0x1p62, 0, 62},   {0x1p63, 0, 62}, /* the last bucket holds what is beyond it */
        {0x1p1023, 0, 62},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int schema;
        assert_int_equal(bucket_of(cases[i].value, &schema), cases[i].bucket);
        assert_int_equal(schema, cases[i].schema);
    }
}

/* What was counted before moves to the bucket of the lower schema that holds it. */
TEST(test_counts_survive)
{
    struct histogram *h = new_histogram(), *coarse = new_histogram();
    double sum = 0;
    uint64_t n = 0;
    assert_true(histogram_observe(coarse, &desc, 0x1p20));
    for (double value = 0.01; value < 60; value *= 1.01, n++) {
        assert_true(histogram_observe(h, &desc, value));
        assert_true(histogram_observe(coarse, &desc, value));
        sum += value;
    }
    assert_int_equal(h->schema, 3);
    assert_int_equal(h->count, n);
    assert_true(h->sum == sum);
    assert_true(histogram_observe(h, &desc, 0x1p20));
    assert_int_equal(h->schema, 1);
    assert_int_equal(coarse->schema, 1);
    assert_memory_equal(h->native, coarse->native, sizeof h->native);
    assert_int_equal(h->zero, coarse->zero);
    uint64_t native = h->zero, classic = 0;
    for (size_t i = 0; i < NATIVE_BUCKETS; i++)
        native += h->native[i];
    for (size_t i = 0; i <= desc.n_edges; i++)
        classic += h->buckets[i];
    assert_int_equal(native, n + 1);
    assert_int_equal(classic, n + 1);
    free(h);
    free(coarse);
}

TEST(test_hostile)
{
    struct histogram *h = new_histogram(), *empty = new_histogram();
    static const double ignored[] = {NAN, -NAN, INFINITY, -INFINITY, -1, -0x1p-1074, -0x1p1023};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        assert_false(histogram_observe(h, &desc, ignored[i]));
    assert_memory_equal(h, empty, histogram_size(&desc));
    static const double smallest[] = {0, -0.0, 0x1p-1074, 0x1p-1022, 0x1p-1000};
    for (size_t i = 0; i < sizeof smallest / sizeof *smallest; i++)
        assert_true(histogram_observe(h, &desc, smallest[i]));
    assert_int_equal(h->zero, 5);
    assert_int_equal(h->buckets[0], 5);
    assert_true(histogram_observe(h, &desc, 0x1.fffffffffffffp1023));
    assert_int_equal(h->native[NATIVE_BUCKETS - 1], 1);
    assert_int_equal(h->buckets[3], 1);
    assert_int_equal(h->count, 6);
    free(h);
    free(empty);
}
