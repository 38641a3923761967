/*
 * The counts of a histogram: classic, by the edges of its metric, and native, by powers of two.
 *
 * Native buckets are Prometheus's: of schema s, bucket i holds what lies in (2^((i-1)/2^s),
 * 2^(i/2^s)]. There is a fixed number of them, from one to two octaves below the metric's first
 * edge on; what is smaller goes to the zero bucket, whose width is exposed with it. An observation
 * beyond the last one halves the resolution, as often as needed, until it fits: no count is ever in
 * a bucket that does not hold it, up to 2^64 times the zero bucket's width.
 */
#ifndef IE_STORE_HISTOGRAM_H
#define IE_STORE_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/store/metric.h"

/* Eight buckets an octave at first, each 9 % wide: 30 ns to 7.6 us where the first edge is 60 ns.
 * A series takes 552 bytes and 8 for each edge, here and in each snapshot. */
enum { NATIVE_SCHEMA = 3, NATIVE_BUCKETS = 64 };

struct histogram {
    double sum;
    uint64_t count;
    uint64_t zero;                   /* observations of 0 to 2^zero_exponent */
    int schema, zero_exponent;       /* the schema only ever falls: NATIVE_SCHEMA to 0 */
    uint64_t native[NATIVE_BUCKETS]; /* not cumulative; native[0] is bucket
                                        zero_exponent * 2^schema + 1 */
    uint64_t buckets[];              /* n_edges + 1, not cumulative */
};

/* In bytes, a multiple of 8. */
size_t histogram_size(const struct metric_desc *desc);
/* An empty one, in memory that is all 0. */
void histogram_init(struct histogram *histogram, const struct metric_desc *desc);
/* False: not finite or negative, and ignored. */
bool histogram_observe(struct histogram *histogram, const struct metric_desc *desc, double value);

#endif
