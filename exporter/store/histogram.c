#include "exporter/store/histogram.h"

#include <math.h>

size_t histogram_size(const struct metric_desc *desc)
{
    return sizeof(struct histogram) + (desc->n_edges + 1) * sizeof(uint64_t);
}

void histogram_init(struct histogram *histogram, const struct metric_desc *desc)
{
    int exponent;
    frexp(desc->edges[0], &exponent); /* the edge is in [2^(exponent - 1), 2^exponent) */
    histogram->schema = NATIVE_SCHEMA;
    histogram->zero_exponent = exponent - 2;
}

static size_t classic_bucket(const struct metric_desc *desc, double value)
{
    size_t low = 0, high = desc->n_edges; /* the first edge that is not below the value */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (desc->edges[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ceil(8 log2(value)), exact at the powers of 2^(1/8): a logarithm would be off by one there. */
static int native_index(double value)
{
    static const double bounds[1 << NATIVE_SCHEMA] = {
        /* 2^(k/8 - 1) */
        0x1p-1,
        0x1.172b83c7d517bp-1,
        0x1.306fe0a31b715p-1,
        0x1.4bfdad5362a27p-1,
        0x1.6a09e667f3bcdp-1,
        0x1.8ace5422aa0dbp-1,
        0x1.ae89f995ad3adp-1,
        0x1.d5818dcfba487p-1,
    };
    int exponent, k = 0;
    double fraction = frexp(value, &exponent); /* in [0.5, 1) */
    while (k < 1 << NATIVE_SCHEMA && bounds[k] < fraction)
        k++;
    return (exponent - 1) * (1 << NATIVE_SCHEMA) + k;
}

/* Bucket i of a schema is buckets 2i - 1 and 2i of the next one. */
static void halve_resolution(struct histogram *histogram)
{
    uint64_t *native = histogram->native;
    for (size_t i = 0; i < NATIVE_BUCKETS / 2; i++)
        native[i] = native[2 * i] + native[2 * i + 1];
    for (size_t i = NATIVE_BUCKETS / 2; i < NATIVE_BUCKETS; i++)
        native[i] = 0;
    histogram->schema--;
}

static void observe_native(struct histogram *histogram, double value)
{
    if (value <= ldexp(1, histogram->zero_exponent)) {
        histogram->zero++;
        return;
    }
    int above = native_index(value) - histogram->zero_exponent * (1 << NATIVE_SCHEMA) - 1;
    while (above >> (NATIVE_SCHEMA - histogram->schema) >= NATIVE_BUCKETS && histogram->schema > 0)
        halve_resolution(histogram);
    int at = above >> (NATIVE_SCHEMA - histogram->schema);
    histogram->native[at < NATIVE_BUCKETS ? at : NATIVE_BUCKETS - 1]++;
}

bool histogram_observe(struct histogram *histogram, const struct metric_desc *desc, double value)
{
    if (!isfinite(value) || value < 0)
        return false;
    histogram->buckets[classic_bucket(desc, value)]++;
    observe_native(histogram, value);
    histogram->count++;
    histogram->sum += value;
    return true;
}
