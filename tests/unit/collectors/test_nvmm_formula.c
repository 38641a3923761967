/*
 * The estimate of persistent memory usage: FORMULAS.md section 4, numbers worked by hand, and its
 * error over synthetic streams of stores whose truth is known.
 */
#include "collectors/formulas/nvmm.h"
#include "tests/unit/support/unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %.12g, want %.12g within %g", got, want, tolerance);
}

/* ---- worked numbers ---- */

TEST(worked)
{
    struct nvmm_carry carry = {0};
    struct nvmm_usage usage;
    const struct nvmm_window window = {
        .events = 500000000, .known = 50000, .nvmm = 12500, .sized = 12500, .bytes = 12500 * 64};
    assert_int_equal(nvmm_estimate(&carry, &window, &usage), 0);
    assert_near(usage.accesses, 1.25e8, 1e-3);
    assert_near(usage.bytes, 8.0e9, 1e-1);
    assert_int_equal(carry.events, 0);
    assert_near(carry.unsized_accesses, 0, 0);
}

/* When all samples are of persistent memory the estimate is the count, to the last bit. */
TEST(nothing_but_persistent_memory)
{
    for (uint64_t events = 1; events <= 200; events++) {
        for (uint64_t known = 1; known <= 200; known++) {
            struct nvmm_carry carry = {0};
            struct nvmm_usage usage;
            const struct nvmm_window window = {
                .events = events, .known = known, .nvmm = known, .sized = known, .bytes = known};
            assert_int_equal(nvmm_estimate(&carry, &window, &usage), 0);
            assert_true(usage.accesses == (double)events);
            assert_true(usage.bytes == (double)events);
        }
    }
}

TEST(windows_without_a_sample_are_carried)
{
    struct nvmm_carry carry = {0};
    struct nvmm_usage usage = {-1, -1};
    for (int i = 0; i < 9; i++)
        assert_int_equal(nvmm_estimate(&carry, &(struct nvmm_window){.events = 1000}, &usage),
                         -ENODATA);
    assert_near(usage.accesses, -1, 0); /* untouched */
    /* 9 x 1000 carried + 1000, the one sample in persistent memory, 8 bytes */
    const struct nvmm_window last = {.events = 1000, .known = 1, .nvmm = 1, .sized = 1, .bytes = 8};
    assert_int_equal(nvmm_estimate(&carry, &last, &usage), 0);
    assert_near(usage.accesses, 10000, 1e-9);
    assert_near(usage.bytes, 80000, 1e-9);
    /* and not a second time */
    assert_int_equal(nvmm_estimate(&carry, &last, &usage), 0);
    assert_near(usage.accesses, 1000, 1e-9);
    assert_near(usage.bytes, 8000, 1e-9);
}

/* The first sample that is known says nothing about hours of which none was. */
TEST(windows_of_unknown_medium_are_left_out)
{
    struct nvmm_carry carry = {0};
    struct nvmm_usage usage = {-1, -1};
    assert_int_equal(nvmm_estimate(&carry, &(struct nvmm_window){.events = 7}, &usage), -ENODATA);
    for (int i = 0; i < 9; i++) {
        const struct nvmm_window unknown = {.events = 1000, .unknown = 3};
        assert_int_equal(nvmm_estimate(&carry, &unknown, &usage), -ENODATA);
        assert_int_equal(carry.events, 7);
    }
    assert_near(usage.accesses, -1, 0); /* untouched */
    /* 7 carried + 100, half of what is known; 8 bytes each */
    const struct nvmm_window last = {
        .events = 100, .unknown = 5, .known = 2, .nvmm = 1, .sized = 1, .bytes = 8};
    assert_int_equal(nvmm_estimate(&carry, &last, &usage), 0);
    assert_near(usage.accesses, 53.5, 1e-9);
    assert_near(usage.bytes, 428, 1e-9);
}

TEST(other_memory_settles_what_was_carried)
{
    struct nvmm_carry carry = {0};
    struct nvmm_usage usage;
    assert_int_equal(nvmm_estimate(&carry, &(struct nvmm_window){.events = 1000}, &usage),
                     -ENODATA);
    assert_int_equal(nvmm_estimate(&carry, &(struct nvmm_window){.events = 10, .known = 2}, &usage),
                     0);
    assert_near(usage.accesses, 0, 0);
    assert_near(usage.bytes, 0, 0);
    assert_int_equal(carry.events, 0);
}

TEST(sizes)
{
    struct nvmm_carry carry = {0};
    struct nvmm_usage usage;
    /* Two of four NVMM samples could not be decoded: they are as large as the others, 48. */
    const struct nvmm_window half = {
        .events = 800, .known = 8, .nvmm = 4, .sized = 2, .bytes = 32 + 64};
    assert_int_equal(nvmm_estimate(&carry, &half, &usage), 0);
    assert_near(usage.accesses, 400, 1e-9);
    assert_near(usage.bytes, 400 * 48.0, 1e-9);

    /* One of four is a string instruction: 100 accesses without bytes. */
    const struct nvmm_window strings = {
        .events = 800, .known = 8, .nvmm = 4, .sized = 3, .unsizable = 1, .bytes = 24};
    assert_int_equal(nvmm_estimate(&carry, &strings, &usage), 0);
    assert_near(usage.accesses, 400, 1e-9);
    assert_near(usage.bytes, 300 * 8.0, 1e-9);

    /* Nothing decoded: bytes come with the next size. 100 + 100 accesses of 16. */
    const struct nvmm_window blind = {.events = 200, .known = 2, .nvmm = 1};
    assert_int_equal(nvmm_estimate(&carry, &blind, &usage), 0);
    assert_near(usage.accesses, 100, 1e-9);
    assert_near(usage.bytes, 0, 0);
    const struct nvmm_window seeing = {
        .events = 100, .known = 1, .nvmm = 1, .sized = 1, .bytes = 16};
    assert_int_equal(nvmm_estimate(&carry, &seeing, &usage), 0);
    assert_near(usage.accesses, 100, 1e-9);
    assert_near(usage.bytes, 3200, 1e-9);
}

TEST(contradictions)
{
    static const struct nvmm_window bad[] = {
        {.events = 1, .known = 1, .nvmm = 2},
        {.events = 1, .known = 2, .nvmm = 1, .sized = 2, .bytes = 16},
        {.events = 1, .known = 2, .nvmm = 1, .unsizable = 2},
        {.events = 1, .known = 2, .nvmm = 2, .unsizable = 2, .sized = 1, .bytes = 8},
        {.events = 1, .known = 2, .nvmm = 2, .bytes = 8},
        {.events = UINT64_MAX, .known = 2, .nvmm = 2}, /* on top of what is carried */
    };
    struct nvmm_carry carry = {.events = 7, .unsized_accesses = 3};
    struct nvmm_usage usage = {-1, -1};
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(nvmm_estimate(&carry, &bad[i], &usage), -EINVAL);
        assert_int_equal(carry.events, 7);
        assert_near(carry.unsized_accesses, 3, 0);
        assert_near(usage.accesses, -1, 0);
    }
}

/* ---- streams of stores ---- */

/* xorshift64*: the same numbers on every machine. */
static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * UINT64_C(2685821657736338717);
}

static double uniform(uint64_t *seed)
{
    return (double)(next(seed) >> 11) * 0x1p-53;
}

enum loss {
    LOSS_NONE,
    LOSS_BURSTS,     /* 30 % of the samples, in bursts, whatever they are samples of */
    LOSS_CORRELATED, /* every second sample of persistent memory */
};

struct stream {
    unsigned period;
    unsigned samples;    /* that the hardware takes */
    unsigned window;     /* stores in one */
    double nvmm_share;   /* of the stores */
    unsigned run_length; /* mean number of stores before the medium is drawn anew */
    enum loss loss;
};

struct outcome {
    double truth_accesses, truth_bytes;
    double accesses, bytes; /* ours */
    double period_accesses; /* the thesis's */
    double spread;          /* sum over windows of events^2 / samples: how unevenly they count */
};

static bool is_lost(const struct stream *stream, bool nvmm, uint64_t *seed, int *burst)
{
    if (stream->loss == LOSS_CORRELATED)
        return nvmm && (next(seed) & 1u) != 0;
    if (stream->loss != LOSS_BURSTS)
        return false;
    /* Of 100 samples 30 are in a burst: bursts of 60, begun after 140 on average. */
    if (*burst > 0)
        return --*burst >= 0;
    if (uniform(seed) < 1.0 / 140)
        *burst = 60;
    return false;
}

static void take_sample(const struct stream *stream, bool nvmm, unsigned size, uint64_t *seed,
                        int *burst, struct nvmm_window *window, struct outcome *out)
{
    if (is_lost(stream, nvmm, seed, burst))
        return;
    window->known++;
    if (!nvmm)
        return;
    window->nvmm++;
    window->sized++;
    window->bytes += size;
    /* Schmidt 2022 section 5.4.2, "Interpolating by sample period". */
    out->period_accesses += stream->period;
}

/* Stores one by one; every period-th is sampled. */
static void run(const struct stream *stream, uint64_t seed, struct outcome *out)
{
    static const unsigned sizes_of[] = {1, 8, 32, 64};
    uint64_t stores = (uint64_t)stream->samples * stream->period;
    struct nvmm_window window = {0};
    struct nvmm_carry carry = {0};
    struct nvmm_usage usage;
    int burst = 0;
    bool nvmm = false;
    double unsettled = 0; /* events since the last window with a sample */

    *out = (struct outcome){0};
    for (int i = 0; i < 16; i++)
        next(&seed);
    for (uint64_t i = 1; i <= stores; i++) {
        if (i == 1 || uniform(&seed) * stream->run_length < 1)
            nvmm = uniform(&seed) < stream->nvmm_share;
        unsigned size = sizes_of[next(&seed) >> 62];
        out->truth_accesses += nvmm;
        out->truth_bytes += nvmm ? size : 0;
        window.events++;
        if (i % stream->period == 0)
            take_sample(stream, nvmm, size, &seed, &burst, &window, out);
        if (i % stream->window == 0 || i == stores) {
            unsettled += (double)window.events;
            int err = nvmm_estimate(&carry, &window, &usage);
            assert_int_equal(err, window.known > 0 ? 0 : -ENODATA);
            if (!err) {
                out->accesses += usage.accesses;
                out->bytes += usage.bytes;
                out->spread += unsettled * unsettled / (double)window.known;
                unsettled = 0;
            }
            window = (struct nvmm_window){0};
        }
    }
}

enum { SEEDS = 50 };

/*
 * Three standard errors relative to the truth. A sample adds p of an access with variance
 * p (1 - p), and p m of bytes with variance p E(s^2) - (p m)^2; the sizes 1, 8, 32, 64 have m 26.25
 * and E(s^2) 1296.25. A window's samples count events / samples each.
 */
static double three_sigma(const struct stream *stream, const struct outcome *o, bool bytes)
{
    double p = stream->nvmm_share, m = bytes ? 26.25 : 1, square = bytes ? 1296.25 : 1;
    double truth = bytes ? o->truth_bytes : o->truth_accesses;
    return 3 * sqrt(o->spread * (p * square - p * p * m * m)) / truth;
}

struct errors {
    double mean_accesses, mean_bytes, mean_period;
    double worst_accesses, worst_bytes; /* as a share of what is allowed */
};

static struct errors errors_over_seeds(const struct stream *stream)
{
    struct errors errors = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct outcome o;
        run(stream, seed * UINT64_C(0x9e3779b97f4a7c15), &o);
        double accesses = o.accesses / o.truth_accesses - 1;
        double bytes = o.bytes / o.truth_bytes - 1;
        errors.mean_accesses += accesses / SEEDS;
        errors.mean_bytes += bytes / SEEDS;
        errors.mean_period += (o.period_accesses / o.truth_accesses - 1) / SEEDS;
        errors.worst_accesses = fmax(errors.worst_accesses,
                                     fabs(accesses) / fmax(0.02, three_sigma(stream, &o, false)));
        errors.worst_bytes =
            fmax(errors.worst_bytes, fabs(bytes) / fmax(0.02, three_sigma(stream, &o, true)));
    }
    return errors;
}

TEST(error_is_within_its_bound)
{
    /* Periods scaled down from 2503, 5107 and 9973, primes as well. The second has a sample in one
     * window of ten; lost bursts are shorter than a window or two, as they are where a window is a
     * second. */
    static const struct stream streams[] = {
        {.period = 23, .samples = 10000, .window = 5000, .nvmm_share = 0.9, .run_length = 1},
        {.period = 53, .samples = 10000, .window = 5, .nvmm_share = 0.7, .run_length = 1},
        {.period = 101, .samples = 10000, .window = 5000, .nvmm_share = 0.5, .run_length = 7},
        {.period = 23,
         .samples = 10000,
         .window = 2000,
         .nvmm_share = 0.7,
         .run_length = 3,
         .loss = LOSS_BURSTS},
        {.period = 53,
         .samples = 10000,
         .window = 4000,
         .nvmm_share = 0.9,
         .run_length = 1,
         .loss = LOSS_BURSTS},
    };
    for (size_t i = 0; i < COUNT(streams); i++) {
        double kept = streams[i].loss == LOSS_BURSTS ? 0.7 : 1;
        struct errors e = errors_over_seeds(&streams[i]);
        printf("stream %zu: mean error %+.4f of accesses, %+.4f of bytes, by the period %+.4f; "
               "worst %.2f and %.2f of what is allowed\n",
               i, e.mean_accesses, e.mean_bytes, e.mean_period, e.worst_accesses, e.worst_bytes);
        assert_true(e.worst_accesses <= 1);
        assert_true(e.worst_bytes <= 1);
        assert_near(e.mean_accesses, 0, 0.005);
        assert_near(e.mean_bytes, 0, 0.005);
        /* The thesis's estimator loses what is lost. */
        assert_near(e.mean_period, kept - 1, 0.03);
    }
}

TEST(loss_of_one_medium_is_a_bias)
{
    const struct stream stream = {.period = 23,
                                  .samples = 10000,
                                  .window = 5000,
                                  .nvmm_share = 0.5,
                                  .run_length = 1,
                                  .loss = LOSS_CORRELATED};
    struct errors e = errors_over_seeds(&stream);
    /* 0.25 of 0.75 samples are left of a share of 0.5: a third less. */
    assert_near(e.mean_accesses, -1.0 / 3, 0.01);
    assert_near(e.mean_period, -0.5, 0.01);
}
