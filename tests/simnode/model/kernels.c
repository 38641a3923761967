#include "tests/simnode/model/kernels.h"

#include <string.h>

static uint64_t root_of(uint64_t n)
{
    uint64_t root = 1;

    while ((root + 1) * (root + 1) <= n)
        root++;
    return root;
}

static uint64_t power_of_two_below(uint64_t n)
{
    uint64_t power = 2;

    while (power * 2 <= n)
        power *= 2;
    return power;
}

static void touch(struct kernel *kernel, uint64_t byte, bool store, bool dependent)
{
    kernel->step[kernel->n_step++] =
        (struct kernel_access){.byte = byte, .store = store, .dependent = dependent};
}

static void load(struct kernel *kernel, uint64_t byte)
{
    touch(kernel, byte, false, false);
}

static void store(struct kernel *kernel, uint64_t byte)
{
    touch(kernel, byte, true, false);
}

/* --- fft: numbers, then half as many roots of unity --- */

enum { COMPLEX = 16 };

static uint64_t reversed(uint64_t i, uint64_t n)
{
    uint64_t out = 0;

    for (; n > 1; n /= 2, i /= 2)
        out = out * 2 + i % 2;
    return out;
}

static void exchange(struct kernel *kernel, uint64_t a, uint64_t b)
{
    load(kernel, a * COMPLEX);
    load(kernel, b * COMPLEX);
    store(kernel, a * COMPLEX);
    store(kernel, b * COMPLEX);
}

static void step_fft(struct kernel *kernel)
{
    uint64_t n = kernel->n, i = kernel->i, half = 1ULL << (kernel->pass - (kernel->pass > 0));

    if (kernel->pass == 0) {
        if (i < reversed(i, n))
            exchange(kernel, i, reversed(i, n));
    } else {
        uint64_t a = i / half * 2 * half + i % half;

        load(kernel, n * COMPLEX + i % half * (n / 2 / half) * COMPLEX);
        exchange(kernel, a, a + half);
    }
    if (++kernel->i < (kernel->pass == 0 ? n : n / 2))
        return;
    kernel->i = 0;
    if (++kernel->pass > 1 && half * 2 == n)
        kernel->pass = 0;
}

/* --- radix: keys, as many to move them to, digits' counters --- */

enum { KEY = 4, COUNTER = 8, PASSES = 4, RADIX_LOOPS = 3 };

static uint64_t digit_of(const struct kernel *kernel, uint64_t i)
{
    uint64_t round = kernel->pass / RADIX_LOOPS;

    return mix64(kernel->seed ^ mix64(i * PASSES + round)) % KERNEL_DIGITS;
}

static void step_radix(struct kernel *kernel)
{
    uint64_t n = kernel->n, i = kernel->i, loop = kernel->pass % RADIX_LOOPS;
    uint64_t to_and_fro = kernel->pass / RADIX_LOOPS % 2, counters = 2 * n * KEY;
    uint64_t digit = loop == 1 ? i : digit_of(kernel, i);

    if (loop != 1)
        load(kernel, (to_and_fro * n + i) * KEY);
    touch(kernel, counters + digit * COUNTER, false, loop != 1);
    if (loop == 2)
        store(kernel, ((1 - to_and_fro) * n + kernel->digits[digit]++) * KEY);
    else if (loop == 0)
        kernel->digits[digit]++;
    store(kernel, counters + digit * COUNTER);
    if (++kernel->i < (loop == 1 ? KERNEL_DIGITS : n))
        return;
    kernel->i = 0;
    kernel->pass = (kernel->pass + 1) % (RADIX_LOOPS * PASSES);
    if (loop == 1) {
        uint64_t sum = 0;

        for (int d = 0; d < KERNEL_DIGITS; d++) {
            uint64_t count = kernel->digits[d];

            kernel->digits[d] = sum;
            sum += count;
        }
    } else if (loop == 2) {
        memset(kernel->digits, 0, sizeof(kernel->digits));
    }
}

/* --- lu: column 'pass' out of the rows i below it --- */

static void step_lu(struct kernel *kernel)
{
    uint64_t n = kernel->n, k = kernel->pass, i = kernel->i, j = kernel->j;

    if (j == k) {
        load(kernel, (k * n + k) * 8);
        load(kernel, (i * n + k) * 8);
        store(kernel, (i * n + k) * 8);
    } else {
        load(kernel, (k * n + j) * 8);
        load(kernel, (i * n + j) * 8);
        store(kernel, (i * n + j) * 8);
    }
    if (++kernel->j < n)
        return;
    kernel->j = k;
    if (++kernel->i < n)
        return;
    kernel->pass = kernel->pass + 2 < n ? kernel->pass + 1 : 0;
    kernel->i = kernel->pass + 1;
    kernel->j = kernel->pass;
}

/* --- ocean: two grids, without their edges --- */

static void step_ocean(struct kernel *kernel)
{
    uint64_t n = kernel->n, grid = n * n * 8, at = ((kernel->i + 1) * n + kernel->j + 1) * 8;
    uint64_t from = kernel->pass * grid, to = (1 - kernel->pass) * grid;

    load(kernel, from + at - n * 8);
    load(kernel, from + at - 8);
    load(kernel, from + at);
    load(kernel, from + at + 8);
    load(kernel, from + at + n * 8);
    store(kernel, to + at);
    if (++kernel->j < n - 2)
        return;
    kernel->j = 0;
    if (++kernel->i < n - 2)
        return;
    kernel->i = 0;
    kernel->pass = 1 - kernel->pass;
}

/* --- hash --- */

enum { BUCKET = 8, ENTRY = 32 };

static void step_hash(struct kernel *kernel)
{
    uint64_t n = kernel->n, key = rng_below(&kernel->rng, n), hash = mix64(kernel->seed ^ key);
    uint64_t entries = n * BUCKET, first = entries + hash % n * ENTRY;

    load(kernel, mix64(hash) % n * BUCKET);
    touch(kernel, first, false, true);
    if (hash >> 63) {
        first = entries + mix64(hash + 1) % n * ENTRY;
        touch(kernel, first, false, true);
    }
    if (rng_chance(&kernel->rng, kernel->update_share))
        store(kernel, first);
}

/* --- all --- */

static uint64_t elements(enum kernel_kind kind, uint64_t bytes)
{
    switch (kind) {
    case KERNEL_FFT:
        return power_of_two_below(bytes * 2 / (3 * COMPLEX));
    case KERNEL_RADIX:
        return (bytes - KERNEL_DIGITS * COUNTER) / (2 * KEY);
    case KERNEL_LU:
        return root_of(bytes / 8);
    case KERNEL_OCEAN:
        return root_of(bytes / 16);
    case KERNEL_HASH:
        return bytes / (BUCKET + ENTRY);
    }
    return 1;
}

void kernel_init(struct kernel *kernel, enum kernel_kind kind, uint64_t bytes, double update_share,
                 uint64_t seed)
{
    *kernel = (struct kernel){.kind = kind, .update_share = update_share, .seed = mix64(seed)};
    rng_seed(&kernel->rng, seed);
    kernel->n = elements(kind, bytes);
    kernel->i = kind == KERNEL_LU;
}

void kernel_next(struct kernel *kernel, struct kernel_access *out)
{
    static void (*const steps[])(struct kernel *) = {
        [KERNEL_FFT] = step_fft,     [KERNEL_RADIX] = step_radix, [KERNEL_LU] = step_lu,
        [KERNEL_OCEAN] = step_ocean, [KERNEL_HASH] = step_hash,
    };

    if (kernel->at == kernel->n_step) {
        kernel->at = kernel->n_step = 0;
        /* A bit reversal leaves out some. */
        while (kernel->n_step == 0)
            steps[kernel->kind](kernel);
    }
    *out = kernel->step[kernel->at++];
}
