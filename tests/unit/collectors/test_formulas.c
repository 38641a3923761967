/* The formulas against numbers worked by hand: FORMULAS.md, "Windows", sections 1 and 2. */
#include "collectors/formulas/core_latency.h"
#include "collectors/formulas/imc_latency.h"
#include "exporter/source/source.h"
#include "exporter/source/window.h"
#include "tests/unit/support/unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %.12g, want %.12g within %g", got, want, tolerance);
}

/* ---- windows ---- */

struct cpu_totals {
    int fresh; /* 1: there is no earlier reading of this CPU */
    uint64_t enabled0, running0, count0[2];
    uint64_t enabled1, running1, count1[2];
    uint32_t present;
};

struct window_case {
    const char *name;
    size_t cpus;
    struct cpu_totals cpu[3];
    enum window_status status;
    uint64_t count[2];
    uint32_t present;
};

#define E9 1000000000ull
#define BIG (1ull << 63)

static const struct window_case window_cases[] = {
    {.name = "no CPU at all", .cpus = 0, .status = WINDOW_IDLE, .present = 0x1fff},
    {.name = "always running: exact, also beyond 2^53",
     .cpus = 1,
     .cpu = {{0, E9, E9, {5, 7}, 2 * E9, 2 * E9, {5 + 9007199254740993ull, 8}, 3}},
     .status = WINDOW_OK,
     .count = {9007199254740993ull, 1},
     .present = 3},
    {.name = "three quarters of the time: 3,000,000 -> 4,000,000",
     .cpus = 1,
     .cpu = {{0, E9, E9, {100, 0}, 2 * E9, E9 + 750000000, {3000100, 3}, 3}},
     .status = WINDOW_OK,
     .count = {4000000, 4},
     .present = 3},
    {.name = "scale per CPU, then sum: 1000*2 + 1000*4, not 2000*20/7.5",
     .cpus = 2,
     .cpu = {{0, 0, 0, {0, 0}, E9, E9 / 2, {1000, 0}, 3},
             {0, 0, 0, {0, 0}, E9, E9 / 4, {1000, 0}, 3}},
     .status = WINDOW_OK,
     .count = {6000, 0},
     .present = 3},
    {.name = "lifetime ratios do not matter: this window ran whole",
     .cpus = 1,
     .cpu = {{0, 8 * E9, 1, {10, 0}, 9 * E9, E9 + 1, {60, 0}, 3}},
     .status = WINDOW_OK,
     .count = {50, 0},
     .present = 3},
    {.name = "rounded to the nearest: 10 * 3 / 2 = 15, 1 * 5 / 3 = 1.67 -> 2, 1 * 4 / 3 -> 1",
     .cpus = 3,
     .cpu = {{0, 0, 0, {0, 0}, 3, 2, {10, 0}, 3},
             {0, 0, 0, {0, 0}, 5, 3, {0, 1}, 3},
             {0, 0, 0, {0, 0}, 4, 3, {0, 1}, 3}},
     .status = WINDOW_OK,
     .count = {15, 3},
     .present = 3},
    {.name = "128 bits: 2^62 * (3 * 2^61) / 2^62 = 3 * 2^61",
     .cpus = 1,
     .cpu = {{0, 0, 0, {0, 0}, 3ull << 61, 1ull << 62, {1ull << 62, 0}, 3}},
     .status = WINDOW_OK,
     .count = {3ull << 61, 0},
     .present = 3},
    {.name = "more than 64 bits is no count: 2^63 * 4",
     .cpus = 1,
     .cpu = {{0, 0, 0, {0, 0}, 4 * E9, E9, {BIG, 0}, 3}},
     .status = WINDOW_RESET},
    {.name = "nor is a sum of more than 64 bits",
     .cpus = 2,
     .cpu = {{0, 0, 0, {0, 0}, E9, E9, {BIG, 0}, 3}, {0, 0, 0, {0, 0}, E9, E9, {BIG, 0}, 3}},
     .status = WINDOW_RESET},
    {.name = "idle: not enabled",
     .cpus = 2,
     .cpu = {{0, E9, E9, {5, 5}, E9, E9, {5, 5}, 3}, {0, 7, 6, {1, 1}, 7, 6, {1, 1}, 3}},
     .status = WINDOW_IDLE,
     .present = 0x1fff},
    {.name = "starved: enabled, never running",
     .cpus = 1,
     .cpu = {{0, E9, E9, {5, 5}, 2 * E9, E9, {5, 5}, 3}},
     .status = WINDOW_STARVED,
     .present = 0x1fff},
    {.name = "one CPU starved, one ran, one idle: what ran counts, unscaled by the others",
     .cpus = 3,
     .cpu = {{0, E9, E9, {5, 5}, 2 * E9, E9, {5, 5}, 3},
             {0, E9, E9, {1, 2}, 2 * E9, 2 * E9, {101, 202}, 3},
             {0, E9, E9, {9, 9}, E9, E9, {9, 9}, 3}},
     .status = WINDOW_OK,
     .count = {100, 200},
     .present = 3},
    {.name = "reset: a count fell",
     .cpus = 1,
     .cpu = {{0, E9, E9, {5, 5}, 2 * E9, 2 * E9, {6, 4}, 3}},
     .status = WINDOW_RESET},
    {.name = "reset: a clock fell",
     .cpus = 1,
     .cpu = {{0, E9, E9, {5, 5}, E9 - 1, E9, {6, 6}, 3}},
     .status = WINDOW_RESET},
    {.name = "reset: the running clock fell",
     .cpus = 1,
     .cpu = {{0, E9, E9, {5, 5}, 2 * E9, E9 - 1, {6, 6}, 3}},
     .status = WINDOW_RESET},
    {.name = "reset on an idle CPU is seen, and one CPU's reset discards the window of all",
     .cpus = 2,
     .cpu = {{0, E9, E9, {1, 1}, 2 * E9, 2 * E9, {11, 11}, 3},
             {0, E9, E9, {5, 5}, E9, E9, {4, 5}, 3}},
     .status = WINDOW_RESET},
    {.name = "late: no earlier reading, everything since the opening counts",
     .cpus = 2,
     .cpu = {{0, E9, E9, {100, 1}, 2 * E9, 2 * E9, {110, 2}, 3},
             {1, 77, 77, {77, 77}, 400, 200, {50, 3}, 3}},
     .status = WINDOW_OK,
     .count = {110, 7},
     .present = 3},
    {.name = "a count that one CPU lacks is absent from the sum, the others are not",
     .cpus = 2,
     .cpu = {{0, 0, 0, {0, 0}, E9, E9, {10, 20}, 3}, {0, 0, 0, {0, 0}, E9, E9, {1, 999}, 1}},
     .status = WINDOW_OK,
     .count = {11, 20},
     .present = 1},
    {.name = "an absent count does not reset",
     .cpus = 1,
     .cpu = {{0, E9, E9, {5, 5}, 2 * E9, 2 * E9, {6, 0}, 1}},
     .status = WINDOW_OK,
     .count = {1, 0},
     .present = 1},
};

static void run_window(const struct window_case *c, struct window_sum *sum)
{
    window_init(sum, 2);
    for (size_t i = 0; i < c->cpus; i++) {
        const struct cpu_totals *t = &c->cpu[i];
        window_add(sum, t->enabled0, t->running0, t->fresh ? NULL : t->count0, t->enabled1,
                   t->running1, t->count1, t->present);
    }
}

static struct core_cache in_cycles(double cycles)
{
    return (struct core_cache){cycles, 0};
}

TEST(test_window_cases)
{
    for (size_t i = 0; i < COUNT(window_cases); i++) {
        const struct window_case *c = &window_cases[i];
        struct window_sum sum;

        run_window(c, &sum);
        if (window_status(&sum) != c->status)
            fail_msg("%s: status %d", c->name, window_status(&sum));
        if (c->status == WINDOW_RESET)
            continue;
        if (sum.count[0] != c->count[0] || sum.count[1] != c->count[1])
            fail_msg("%s: counts %llu %llu", c->name, (unsigned long long)sum.count[0],
                     (unsigned long long)sum.count[1]);
        if (sum.present != c->present)
            fail_msg("%s: present %x", c->name, sum.present);
    }
}

TEST(test_window_clocks_include_starved_cpus)
{
    struct window_sum sum;
    const uint64_t before[2] = {1, 1}, after[2] = {2, 2};

    window_init(&sum, 2);
    window_add(&sum, 100, 100, before, 300, 250, after, 3);
    window_add(&sum, 100, 100, before, 180, 100, before, 3);
    assert_int_equal(sum.enabled_ns, 280);
    assert_int_equal(sum.running_ns, 150);
    assert_int_equal(sum.ran, 1);
    assert_int_equal(sum.starved, 1);
}

/* Whichever of its counts fell, and whether it was multiplexed or not. */
TEST(test_window_takes_nothing_from_a_reset_cpu)
{
    const uint64_t good[2] = {3, 4}, before[2] = {5, 5};
    const uint64_t fell[][2] = {{9, 4}, {4, 9}, {4, 4}};

    for (uint64_t running = 50; running <= 100; running += 50) {
        for (size_t i = 0; i < COUNT(fell); i++) {
            struct window_sum sum;
            window_init(&sum, 2);
            window_add(&sum, 0, 0, NULL, 100, 100, good, 3);
            window_add(&sum, 0, 0, before, 100, running, fell[i], 3);
            assert_int_equal(sum.reset, 1);
            assert_int_equal(sum.count[0], 3);
            assert_int_equal(sum.count[1], 4);
            assert_int_equal(sum.enabled_ns, 100);
        }
    }
}

/* Counters add windows: over any cut into windows an unmultiplexed group sums to its total. */
TEST(test_windows_add_up_to_the_total)
{
    const uint64_t total[][2] = {{0, 0}, {17, 3}, {17, 3}, {90071992547409ull, 1000}, {BIG, 1001}};
    uint64_t added[2] = {0, 0};

    for (size_t i = 1; i < COUNT(total); i++) {
        struct window_sum sum;
        window_init(&sum, 2);
        window_add(&sum, i * 10 - 10, i * 10 - 10, total[i - 1], i * 10, i * 10, total[i], 3);
        assert_int_equal(window_status(&sum), WINDOW_OK);
        added[0] += sum.count[0];
        added[1] += sum.count[1];
    }
    assert_true(added[0] == BIG);
    assert_int_equal(added[1], 1001);
}

/* ---- core latency ---- */

struct core_case {
    const char *name;
    struct core_latency_counts counts;
    double base_hz, cache_cycles;
    int error;
    double cycles, latency_ns;
};

static const struct core_case core_cases[] = {
    {"FORMULAS 1, 2.1 GHz (table 4)",
     {2100000000, 2100000000, 1000000, 124500000},
     2.1e9,
     44,
     0,
     168.50,
     80.238},
    {"FORMULAS 1, 2.6 GHz (table 4)",
     {2600000000, 2100000000, 1000000, 156900000},
     2.1e9,
     44,
     0,
     200.90,
     77.269},
    {"half the time halted changes nothing",
     {1050000000, 1050000000, 1000000, 124500000},
     2.1e9,
     44,
     0,
     168.50,
     80.238},
    {"one read", {1000, 1000, 1, 300}, 1e9, 44, 0, 344, 344},
    {"reads that wait for nothing cost the caches", {1000, 1000, 5, 0}, 1e9, 44, 0, 44, 44},
    {"no reads", {2100000000, 2100000000, 0, 0}, 2.1e9, 44, -ENODATA, 0, 0},
    {"no reads but occupancy", {2100000000, 2100000000, 0, 500}, 2.1e9, 44, -ENODATA, 0, 0},
    {"no cycles", {0, 2100000000, 1000, 124500}, 2.1e9, 44, -ENODATA, 0, 0},
    {"no reference cycles", {2100000000, 0, 1000, 124500}, 2.1e9, 44, -ENODATA, 0, 0},
    {"base frequency unknown", {2100000000, 2100000000, 1000, 124500}, 0, 44, -ENODATA, 0, 0},
    {"base frequency NaN", {2100000000, 2100000000, 1000, 124500}, NAN, 44, -ENODATA, 0, 0},
    {"not calibrated", {2100000000, 2100000000, 1000, 124500}, 2.1e9, 0, -ENODATA, 0, 0},
};

TEST(test_core_latency)
{
    for (size_t i = 0; i < COUNT(core_cases); i++) {
        const struct core_case *c = &core_cases[i];
        struct core_latency got = {.latency_seconds = -1};

        print_message("  %s\n", c->name);
        int error = core_latency_estimate(&c->counts, c->base_hz, in_cycles(c->cache_cycles), &got);
        assert_int_equal(error, c->error);
        if (error) {
            assert_true(got.latency_seconds == -1);
            continue;
        }
        assert_near(got.cycles, c->cycles, 1e-9 * c->cycles);
        assert_near(got.latency_seconds * 1e9, c->latency_ns, 0.0005);
        assert_near(got.wait_seconds, got.latency_seconds * (double)c->counts.reads,
                    1e-12 * got.wait_seconds);
    }
}

/* Scaling all four counts alike, as for a multiplexed window, leaves the latency alone. */
TEST(test_core_latency_is_a_ratio)
{
    const struct core_latency_counts once = {2600000000, 2100000000, 1000000, 156900000};
    const struct core_latency_counts thrice = {7800000000, 6300000000, 3000000, 470700000};
    struct core_latency a, b;

    assert_int_equal(core_latency_estimate(&once, 2.1e9, in_cycles(44), &a), 0);
    assert_int_equal(core_latency_estimate(&thrice, 2.1e9, in_cycles(44), &b), 0);
    assert_near(b.latency_seconds, a.latency_seconds, 1e-20);
    assert_near(b.wait_seconds, 3 * a.wait_seconds, 1e-12);
}

TEST(test_core_frequency)
{
    double f = -1;

    assert_int_equal(core_frequency_hz(2600, 2100, 2.1e9, &f), 0);
    assert_near(f, 2.6e9, 1);
    f = -1;
    assert_int_equal(core_frequency_hz(2600, 0, 2.1e9, &f), -ENODATA);
    assert_true(f == -1);
}

TEST(test_calibration)
{
    const struct core_latency_counts counts = {2100000000, 2100000000, 1000000, 124500000};
    const struct core_latency_counts fast = {2600000000, 2100000000, 1000000, 156900000};
    const struct core_latency_counts none = {2100000000, 2100000000, 0, 0};
    struct core_cache cache = {-1, -1};

    assert_int_equal(core_latency_calibrate(&counts, 2.1e9, 168.5 / 2.1e9, 0, &cache), 0);
    assert_near(cache.cycles, 44, 1e-9);
    assert_true(cache.seconds == 0);
    assert_int_equal(core_latency_calibrate(&fast, 2.1e9, 200.9 / 2.6e9, 0, &cache), 0);
    assert_near(cache.cycles, 44, 1e-9);
    assert_true(cache.seconds == 0);

    cache.cycles = -1;
    /* 50 ns at 2.1 GHz are 105 cycles: less than the 124.5 that the reads waited. */
    assert_int_equal(core_latency_calibrate(&counts, 2.1e9, 50e-9, 0, &cache), -ERANGE);
    /* 148.5 ns are 311.9 cycles: the caches would take 60.08 % of them. */
    assert_int_equal(core_latency_calibrate(&counts, 2.1e9, 148.5e-9, 0, &cache), -ERANGE);
    assert_int_equal(core_latency_calibrate(&none, 2.1e9, 80e-9, 0, &cache), -ENODATA);
    assert_int_equal(core_latency_calibrate(&counts, 0, 80e-9, 0, &cache), -ENODATA);
    assert_int_equal(core_latency_calibrate(&counts, 2.1e9, 0, 0, &cache), -ENODATA);
    assert_int_equal(core_latency_calibrate(&counts, 2.1e9, NAN, 0, &cache), -ENODATA);
    assert_true(cache.cycles == -1);
}

/* A machine whose uncore has a clock of its own: 16 core cycles, 30 ns until the miss is known, 65
 * ns from then on. The probe runs at 3.8 GHz, the container at 2.0. */
TEST(test_two_parts)
{
    const struct core_latency_counts probe = {3800000000, 2000000000, 1000000, 247000000};
    const struct core_latency_counts slow = {2000000000, 2000000000, 1000000, 130000000};
    const double truth = 8e-9 + 30e-9 + 65e-9;
    struct core_cache one, two;
    struct core_latency out;

    assert_int_equal(core_latency_calibrate(&probe, 2e9, 16 / 3.8e9 + 95e-9, 0, &one), 0);
    assert_near(one.cycles, 130, 1e-9);
    assert_int_equal(core_latency_estimate(&slow, 2e9, one, &out), 0);
    assert_near(out.latency_seconds, 130e-9, 1e-15); /* what one part made of it: + 26 % */

    assert_int_equal(core_latency_calibrate(&probe, 2e9, 16 / 3.8e9 + 95e-9, 16, &two), 0);
    assert_near(two.cycles, 16, 0);
    assert_near(two.seconds, 30e-9, 1e-15);
    assert_int_equal(core_latency_estimate(&slow, 2e9, two, &out), 0);
    assert_near(out.latency_seconds, truth, 1e-15);
    assert_near(out.wait_seconds, truth * 1e6, 1e-9);
    assert_near(out.cycles, 206, 1e-9);
    const struct core_latency_sums sums = {1000000, 1000000, 130000000};
    assert_int_equal(core_latency_estimate_sums(&sums, 2e9, two, &out), 0);
    assert_near(out.latency_seconds, truth, 1e-15);
    assert_near(out.beyond_seconds, 65e-9, 1e-15);

    /* Less than c_core is left: the counters and the latency are not of the same reads. */
    assert_int_equal(core_latency_calibrate(&slow, 2e9, 72e-9, 16, &two), -ERANGE);
}

/* A c_cache that is wrong by 21 cycles shows as 10 ns: 10 / 80.238 = 12.46 %. */
TEST(test_wrong_cache_cycles_shows_as_error)
{
    const struct core_latency_counts counts = {2100000000, 2100000000, 1000000, 124500000};
    struct core_latency got;
    double ratio;

    assert_int_equal(core_latency_estimate(&counts, 2.1e9, in_cycles(44 + 21), &got), 0);
    assert_int_equal(core_latency_error_ratio(got.latency_seconds, 168.5 / 2.1e9, &ratio), 0);
    assert_near(ratio, 0.12463, 0.00001);
}

/* Table 2 of Shen & Li: true (MLC) and estimated ns, relative error in percent. */
TEST(test_error_ratio)
{
    const double rows[][3] = {
        {88.8, 86.31, 2.80},   {148.4, 144.46, 2.65}, {174.5, 179.81, 3.04},
        {131.1, 128.17, 2.23}, {100.8, 99.11, 1.68},
    };
    double ratio = -1;

    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(core_latency_error_ratio(rows[i][1] * 1e-9, rows[i][0] * 1e-9, &ratio), 0);
        assert_near(ratio * 100, rows[i][2], 0.006);
    }
    ratio = -1;
    assert_int_equal(core_latency_error_ratio(80e-9, 0, &ratio), -ENODATA);
    assert_int_equal(core_latency_error_ratio(NAN, 80e-9, &ratio), -ENODATA);
    assert_true(ratio == -1);
}

/* ---- memory controller ---- */

struct imc_case {
    const char *name;
    uint64_t occupancy, inserts;
    double hz, cas_ns;
    int dram_error;
    double dram_ns;
    int pmm_error;
    double pmm_ns;
};

static const struct imc_case imc_cases[] = {
    {"FORMULAS 2", 600000000, 10000000, 1.4665e9, 14.3, 0, 55.214, 0, 40.914},
    {"l_CAS unknown: no DRAM latency", 600000000, 10000000, 1.4665e9, 0, -ENODATA, 0, 0, 40.914},
    {"an empty queue still takes l_CAS", 0, 10000000, 1.4665e9, 14.3, 0, 14.3, 0, 0},
    {"no inserts", 600000000, 0, 1.4665e9, 14.3, -ENODATA, 0, -ENODATA, 0},
    {"no frequency", 600000000, 10000000, 0, 14.3, -ENODATA, 0, -ENODATA, 0},
};

TEST(test_imc_latency)
{
    for (size_t i = 0; i < COUNT(imc_cases); i++) {
        const struct imc_case *c = &imc_cases[i];
        double dram = -1, pmm = -1;

        print_message("  %s\n", c->name);
        assert_int_equal(
            imc_dram_latency_seconds(c->occupancy, c->inserts, c->hz, c->cas_ns * 1e-9, &dram),
            c->dram_error);
        assert_int_equal(imc_pmm_latency_seconds(c->occupancy, c->inserts, c->hz, &pmm),
                         c->pmm_error);
        assert_near(dram, c->dram_error ? -1 : c->dram_ns * 1e-9, 0.0005e-9);
        assert_near(pmm, c->pmm_error ? -1 : c->pmm_ns * 1e-9, 0.0005e-9);
    }
}

TEST(test_imc_frequency)
{
    double hz = -1;

    assert_int_equal(imc_frequency_hz(1466500000, 1000000000, &hz), 0);
    assert_near(hz, 1.4665e9, 1);
    /* Multiplexed to a quarter: raw over running is scaled over enabled. */
    assert_int_equal(imc_frequency_hz(366625000, 250000000, &hz), 0);
    assert_near(hz, 1.4665e9, 1);
    hz = -1;
    assert_int_equal(imc_frequency_hz(0, 1000000000, &hz), -ENODATA);
    assert_int_equal(imc_frequency_hz(1466500000, 0, &hz), -ENODATA);
    assert_true(hz == -1);
}

/* 10 us of a second that saw 30,000 reads are no three thousand million. */
TEST(test_a_moment_is_not_extrapolated)
{
    const uint64_t count[1] = {30000};
    struct window_sum sum;
    window_init(&sum, 1);
    window_add(&sum, 0, 0, NULL, 1000000000, 10000, count, 1);
    assert_int_equal(window_status(&sum), WINDOW_STARVED);
    assert_int_equal(sum.count[0], 0);
    window_init(&sum, 1);
    window_add(&sum, 0, 0, NULL, 1000000000, 10000000, count, 1);
    assert_int_equal(window_status(&sum), WINDOW_OK);
    assert_int_equal(sum.count[0], 3000000);
}

/* 3.5 GHz makes all the reads, 236 cycles each; 2.0 GHz spins: the mean frequency says 101.8 ns. */
TEST(test_each_cpu_has_its_own_frequency)
{
    const double base = 2.0e9;
    const struct core_latency_sums sums = {
        .reads = 1000000,
        .reference_reads = 1000000 * (2.0 / 3.5),
        .reference_occupancy = 236000000 * (2.0 / 3.5),
    };
    struct core_latency out;
    assert_int_equal(core_latency_estimate_sums(&sums, base, in_cycles(44), &out), 0);
    assert_true(fabs(out.latency_seconds - 80e-9) < 1e-13);
    assert_true(fabs(out.wait_seconds - 0.08) < 1e-9);
    assert_true(fabs(out.frequency_hz - 3.5e9) < 1);
    assert_true(fabs(out.beyond_seconds - 236 / 3.5e9) < 1e-15);

    const struct core_latency_counts both = {
        .cycles = 5500000000u, .ref_cycles = 4000000000u, .reads = 1000000, .occupancy = 236000000};
    assert_int_equal(core_latency_estimate(&both, base, in_cycles(44), &out), 0);
    assert_true(fabs(out.latency_seconds - 101.8e-9) < 1e-10);

    const struct core_latency_sums none = {0}, no_clock = {.reads = 1};
    assert_int_equal(core_latency_estimate_sums(&none, base, in_cycles(44), &out), -ENODATA);
    assert_int_equal(core_latency_estimate_sums(&no_clock, base, in_cycles(44), &out), -ENODATA);
    assert_int_equal(core_latency_estimate_sums(&sums, 0, in_cycles(44), &out), -ENODATA);
    assert_int_equal(core_latency_estimate_sums(&sums, base, in_cycles(0), &out), -ENODATA);
}

/* Per CPU: scaled first, then by its own clock. */
TEST(test_sums_by_each_cpus_clock)
{
    enum { CPUS = 3, ROLES = 7 };
    _Alignas(uint64_t) unsigned char rows[2][CPUS][sizeof(struct reading_row) + ROLES * 8] = {
        {{0}}};
    struct reading before = {.stride_bytes = sizeof rows[0][0], .rows = rows[0]};
    struct reading after = {
        .n = CPUS, .cap = CPUS, .stride_bytes = sizeof rows[0][0], .rows = rows[1]};
    static const struct {
        uint64_t running, cycles, ref, reads;
    } cpu[CPUS] = {{1000, 3500, 2000, 10}, {500, 1000, 1000, 6}, {1000, 0, 0, 4}};
    for (size_t i = 0; i < CPUS; i++) {
        struct reading_row *row = reading_row(&after, i);
        row->cpu = (int32_t)i;
        row->present = (1u << ROLES) - 1;
        row->enabled_ns = 1000;
        row->running_ns = cpu[i].running;
        row->count[group_index(GROUP_CORE, ROLE_CYCLES)] = cpu[i].cycles;
        row->count[group_index(GROUP_CORE, ROLE_REF_CYCLES)] = cpu[i].ref;
        row->count[group_index(GROUP_CORE, ROLE_L3_MISS_READS)] = cpu[i].reads;
    }
    struct window_sum sum;
    window_sum_rows(&sum, GROUP_CORE, &before, &after);
    int reads = group_index(GROUP_CORE, ROLE_L3_MISS_READS);
    assert_int_equal(sum.count[reads], 10 + 12 + 4);
    /* 10 * 2000 / 3500 + 12 * 1; the third has no clock. */
    assert_true(fabs(sum.reference[reads] - (20000.0 / 3500 + 12)) < 1e-9);
    assert_int_equal(sum.clockless, 1);
}
