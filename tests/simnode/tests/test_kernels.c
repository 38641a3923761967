/*
 * Kernels: what they touch is what the algorithm touches. Three of them are seen to compute the
 * right result when their accesses are given data.
 */
#include <complex.h>

#include "tests/simnode/tests/test_support.h"

enum { BYTES = KERNEL_MIN_BYTES, SEED = 3 };

static struct kernel new_kernel(enum kernel_kind kind, double update_share)
{
    struct kernel kernel;

    kernel_init(&kernel, kind, BYTES, update_share, SEED);
    return kernel;
}

/* So many accesses, all within the working set, the last 'stores' of them stores. */
static void take(struct kernel *kernel, struct kernel_access *out, unsigned loads, unsigned stores)
{
    for (unsigned i = 0; i < loads + stores; i++) {
        kernel_next(kernel, &out[i]);
        assert_true(out[i].byte < BYTES);
        assert_int_equal(out[i].store, i >= loads);
    }
}

static void swap_pairs(struct kernel *kernel, complex double *x, unsigned pairs)
{
    struct kernel_access a[4];

    for (unsigned i = 0; i < pairs; i++) {
        take(kernel, a, 2, 2);

        complex double *p = &x[a[0].byte / 16], *q = &x[a[1].byte / 16], old = *p;

        assert_true(a[2].byte == a[0].byte && a[3].byte == a[1].byte && p != q);
        *p = *q;
        *q = old;
    }
}

static void butterfly(struct kernel *kernel, complex double *x, const complex double *w)
{
    struct kernel_access a[5];

    take(kernel, a, 3, 2);

    complex double *p = &x[a[1].byte / 16], *q = &x[a[2].byte / 16];
    complex double product = *q * w[a[0].byte / 16];

    assert_true(a[3].byte == a[1].byte && a[4].byte == a[2].byte);
    *q = *p - product;
    *p += product;
}

TEST(test_fft_transforms)
{
    enum { N = 128, STAGES = 7, PALINDROMES = 16 };
    struct kernel kernel = new_kernel(KERNEL_FFT, 0);
    complex double x[N + N / 2], *w = x + N, input[N];

    assert_int_equal(kernel.n, N);
    for (int i = 0; i < N / 2; i++)
        w[i] = cexp(-2 * M_PI * I * i / N);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++)
            input[i] = x[i] = i % 7 + (i * i % 11) * I;
        swap_pairs(&kernel, x, (N - PALINDROMES) / 2);
        for (int i = 0; i < STAGES * N / 2; i++)
            butterfly(&kernel, x, x);
        for (int k = 0; k < N; k++) {
            complex double sum = 0;

            for (int i = 0; i < N; i++)
                sum += input[i] * cexp(-2 * M_PI * I * i * k / N);
            assert_true(cabs(sum - x[k]) < 1e-9);
        }
    }
}

TEST(test_lu_decomposes)
{
    enum { N = 22 };
    struct kernel kernel = new_kernel(KERNEL_LU, 0);
    double a[N * N], input[N * N];

    assert_int_equal(kernel.n, N);
    for (int round = 0; round < 2; round++) {
        struct kernel_access at[3];

        for (int i = 0; i < N * N; i++)
            input[i] = a[i] = 1.0 / (1 + i % 13) + (i % (N + 1) == 0) * N;
        for (size_t k = 0; k + 1 < N; k++) {
            for (size_t i = k + 1; i < N; i++) {
                for (size_t j = k; j < N; j++) {
                    double *out = &a[i * N + j];

                    take(&kernel, at, 2, 1);
                    assert_int_equal(at[1].byte / 8, i * N + j);
                    assert_int_equal(at[2].byte, at[1].byte);
                    *out =
                        j == k ? *out / a[at[0].byte / 8] : *out - a[i * N + k] * a[at[0].byte / 8];
                }
            }
        }
        for (int i = 0; i < N * N; i++) {
            double sum = 0;

            for (int k = 0; k <= i / N && k <= i % N; k++)
                sum += (k == i / N ? 1 : a[i / N * N + k]) * a[k * N + i % N];
            assert_true(fabs(sum - input[i]) < 1e-9);
        }
    }
}

TEST(test_ocean_takes_means)
{
    enum { N = 16 };
    struct kernel kernel = new_kernel(KERNEL_OCEAN, 0);

    assert_int_equal(kernel.n, N);
    for (size_t sweep = 0; sweep < 4; sweep++) {
        for (size_t i = 1; i < N - 1; i++) {
            for (size_t j = 1; j < N - 1; j++) {
                size_t at = sweep % 2 * N * N + i * N + j;
                size_t from[] = {at - N, at - 1, at, at + 1, at + N};
                struct kernel_access a[6];

                take(&kernel, a, 5, 1);
                for (int k = 0; k < 5; k++)
                    assert_int_equal(a[k].byte, from[k] * 8);
                assert_int_equal(a[5].byte, (at + N * N * (1 - sweep % 2 * 2)) * 8);
            }
        }
    }
}

TEST(test_radix_moves_every_key_once)
{
    enum { N = 256, COUNTERS = 2 * N * 4, ROUNDS = 8 };
    struct kernel kernel = new_kernel(KERNEL_RADIX, 0);

    assert_int_equal(kernel.n, N);
    for (size_t round = 0; round < ROUNDS; round++) {
        size_t counts[256] = {0}, last[256] = {0}, source = round % 2 * N;
        bool taken[N] = {false};
        struct kernel_access a[4];

        for (size_t i = 0; i < N; i++) {
            take(&kernel, a, 2, 1);
            assert_true(a[0].byte / 4 == source + i && !a[0].dependent);
            assert_true(a[1].dependent && a[2].byte == a[1].byte && a[1].byte >= COUNTERS);
            counts[(a[1].byte - COUNTERS) / 8]++;
        }
        for (size_t i = 0; i < 256; i++) {
            take(&kernel, a, 1, 1);
            assert_true(a[0].byte == COUNTERS + i * 8 && a[1].byte == a[0].byte);
        }
        for (size_t i = 0; i < N; i++) {
            take(&kernel, a, 2, 2);

            size_t digit = (a[1].byte - COUNTERS) / 8, to = a[2].byte / 4 - (N - source);

            assert_true(a[0].byte / 4 == source + i && a[3].byte == a[1].byte);
            /* Keys of one digit go next to each other, in order, as many as were counted. */
            assert_true(to < N && !taken[to] && counts[digit]-- > 0);
            assert_true(last[digit] == 0 || to == last[digit]);
            taken[to] = true;
            last[digit] = to + 1;
        }
    }
}

TEST(test_hash_follows_chains)
{
    struct kernel kernel = new_kernel(KERNEL_HASH, 0.25);
    uint64_t lookups = 0, entries = 0, stores = 0;

    assert_int_equal(kernel.n, BYTES / 40);
    for (int i = 0; i < 100000; i++) {
        struct kernel_access a;

        kernel_next(&kernel, &a);
        assert_true(a.byte < BYTES);
        lookups += !a.store && !a.dependent;
        entries += a.dependent;
        stores += a.store;
        assert_int_equal(a.byte >= kernel.n * 8, a.dependent || a.store);
    }
    /* One or two each, by the 102 keys' own values. */
    assert_float_equal((double)entries / (double)lookups, 1.5, 0.15);
    assert_float_equal((double)stores / (double)lookups, 0.25, 0.01);
}

TEST(test_a_kernel_as_a_workload)
{
    struct workload_spec spec = {
        .kind = WORKLOAD_OCEAN, .bytes = BYTES, .instructions_per_access = 3, .store_bytes = 8};
    uint64_t stores = 0, instructions = 0, n = 120000;
    struct workload workload;

    assert_int_equal(workload_init(&workload, &spec, SEED), 0);
    for (uint64_t i = 0; i < n; i++) {
        struct op op;

        workload_next(&workload, &op);
        assert_true(op.line < BYTES / 64);
        stores += op.kind == OP_STORE;
        instructions += op.bubble + op.counts;
    }
    assert_int_equal(stores, n / 6);
    assert_float_equal((double)instructions / (double)n, 3, 0.05);
    workload_release(&workload);
}
