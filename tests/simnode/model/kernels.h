/*
 * Kernels: the accesses of real algorithms, from their loop nests, without their data.
 *
 * One step is one iteration of the innermost loop. What an iteration touches depends on data in two
 * of them, in known proportions: keys are uniform (radix, hash).
 */
#ifndef IE_SIMNODE_MODEL_KERNELS_H
#define IE_SIMNODE_MODEL_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/simnode/model/rng.h"

enum kernel_kind {
    KERNEL_FFT,   /* complex numbers of 16 bytes, radix 2, in place: bit reversal, then stages */
    KERNEL_RADIX, /* keys of 4 bytes, 8 bits at a time: count, sum up, move; to and fro */
    KERNEL_LU,    /* a matrix of doubles in place, row by row, without pivoting */
    KERNEL_OCEAN, /* a grid of doubles, the mean of five points, to and fro */
    KERNEL_HASH,  /* chained table: 8 bytes a bucket, 32 an entry, one or two entries a look-up */
};

struct kernel_access {
    uint64_t byte; /* from the start of the working set */
    bool store;
    bool dependent; /* needs the value of the load before it */
};

enum { KERNEL_STEP = 6, KERNEL_DIGITS = 256, KERNEL_MIN_BYTES = 4096 };

struct kernel {
    enum kernel_kind kind;
    uint64_t n; /* elements, rows, buckets: as many as there is room for */
    uint64_t pass, i, j;
    double update_share; /* hash: look-ups that also store */
    uint64_t seed;
    struct rng rng;
    uint64_t digits[KERNEL_DIGITS]; /* radix: how many there are, then where the next goes */
    struct kernel_access step[KERNEL_STEP];
    unsigned n_step, at;
};

/* 'bytes', at least KERNEL_MIN_BYTES, is the whole working set. */
void kernel_init(struct kernel *kernel, enum kernel_kind kind, uint64_t bytes, double update_share,
                 uint64_t seed);
/* At its end it starts again. */
void kernel_next(struct kernel *kernel, struct kernel_access *out);

#endif
