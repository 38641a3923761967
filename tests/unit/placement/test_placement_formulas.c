/* What other memory would cost, against numbers worked by hand: FORMULAS.md section 5. */
#include "collectors/formulas/placement.h"
#include "tests/unit/support/unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %.12g, want %.12g within %g", got, want, tolerance);
}

/* ---- serial reads ---- */

static const struct placement_counts worked = {
    .reads = 2e6, .occupancy = 6e8, .active = 4e8, .cache = 44, .cpu = 1e9};

static struct placement_reads serial_reads(struct placement_counts counts)
{
    struct placement_reads reads;
    assert_int_equal(placement_serial_reads(&counts, &reads), PLACEMENT_OK);
    return reads;
}

TEST(the_worked_serial_reads)
{
    struct placement_reads reads = serial_reads(worked);
    assert_near(reads.latency, 300, 1e-9);
    assert_near(reads.parallelism, 1.5, 1e-12);
    assert_near(reads.serial, 1271186.4407, 5e-5);

    /* More would not fit into the time, one after another. */
    struct placement_counts busy = worked;
    busy.cpu = 4.128e8;
    assert_near(serial_reads(busy).serial, 1.2e6, 1e-6);

    struct placement_counts overlapping = {1e6, 1.5e8, 1.5e7, 44, 1e9};
    reads = serial_reads(overlapping);
    assert_near(reads.parallelism, 10, 1e-12);
    assert_near(reads.serial, 79113.9241, 5e-5);
}

TEST(every_read_of_a_chase_is_serial)
{
    struct placement_counts chase = {1e6, 1.245e8, 1.245e8, 44, 1e9};
    assert_near(serial_reads(chase).serial, 1e6, 1e-6);
    /* Rounding of the two counters makes neither more serial reads than reads, nor an MLP < 1. */
    chase.active += 2;
    struct placement_reads reads = serial_reads(chase);
    assert_true(reads.parallelism == 1);
    assert_true(reads.serial == 1e6);
}

TEST(seconds_do_as_well_as_cycles)
{
    const double hz = 2.1e9;
    struct placement_counts seconds = {worked.reads, worked.occupancy / hz, worked.active / hz,
                                       worked.cache / hz, worked.cpu / hz};
    struct placement_reads reads = serial_reads(seconds);
    assert_near(reads.serial, 1271186.4407, 5e-5);
    assert_near(reads.latency, 300 / hz, 1e-18);
}

TEST(without_reads_nothing_waits)
{
    /* The rest of a read of the window before is outstanding still. */
    struct placement_counts none = {0, 120, 120, NAN, 1e9};
    struct placement_reads reads = serial_reads(none);
    assert_true(reads.serial == 0);
    assert_true(reads.parallelism == 1);
    assert_true(reads.latency == 0);
}

TEST(counts_that_cannot_be)
{
    const struct placement_reads before = {1, 2, 3};
    struct placement_counts wrong[] = {worked, worked, worked, worked};
    wrong[0].occupancy = 0;
    wrong[1].active = 0;
    wrong[2].active = 1.051 * wrong[2].cpu;
    wrong[3].cpu = 0;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct placement_reads reads = before;
        assert_int_equal(placement_serial_reads(&wrong[i], &reads), PLACEMENT_IMPLAUSIBLE);
        assert_memory_equal(&reads, &before, sizeof reads);
    }
    struct placement_counts edge = worked;
    edge.active = edge.occupancy = 1.049 * edge.cpu; /* counters of a group do not stop at once */
    serial_reads(edge);
}

TEST(an_unknown_look_through_the_caches_gives_nothing)
{
    struct placement_counts counts = worked;
    struct placement_reads reads = {7, 7, 7};
    counts.cache = NAN;
    assert_int_equal(placement_serial_reads(&counts, &reads), PLACEMENT_UNKNOWN);
    assert_true(reads.serial == 7);
}

/* ---- predictions ---- */

static const double cpu_seconds = 1e9 / 2.1e9;

static double slowdown(double now_ns, double target_ns)
{
    double seconds;
    const struct placement_time time = {cpu_seconds, worked.active / 2.1e9,
                                        serial_reads(worked).serial};
    assert_int_equal(placement_predict(&time, now_ns * 1e-9, target_ns * 1e-9, &seconds),
                     PLACEMENT_OK);
    return seconds / cpu_seconds;
}

TEST(the_worked_predictions)
{
    assert_near(slowdown(88.8, 148.4), 1.159102, 5e-7);
    assert_near(slowdown(88.8, 174.5), 1.228775, 5e-7);
    assert_near(slowdown(88.8, 250), 1.430322, 5e-7);
    assert_near(slowdown(88.8, 88.8), 1, 1e-15);
    /* 59.6 ns are 125.160 cycles, which all serial reads wait longer. */
    double cycles = serial_reads(worked).serial * 59.6e-9 * 2.1e9;
    assert_near(cycles, 1.59102e8, 500);
}

TEST(the_worked_mix)
{
    const double share[] = {.7, .3, 0}, pages[] = {700, 300, 0};
    const double latency[] = {88.8e-9, 148.4e-9, NAN};
    double now;
    assert_int_equal(placement_mean_latency(share, latency, 3, &now), PLACEMENT_OK);
    assert_near(now, 106.68e-9, 1e-18);
    assert_int_equal(placement_mean_latency(pages, latency, 3, &now), PLACEMENT_OK);
    assert_near(now, 106.68e-9, 1e-18);
    assert_near(slowdown(now * 1e9, 88.8), 0.952269, 5e-7);
    assert_near(slowdown(now * 1e9, 148.4), 1.111371, 5e-7);
}

TEST(a_mix_with_an_unknown_latency_is_unknown)
{
    const double latency[] = {88.8e-9, NAN};
    const double some[] = {.99, .01}, none[] = {0, 0};
    double now = 5;
    assert_int_equal(placement_mean_latency(some, latency, 2, &now), PLACEMENT_UNKNOWN);
    assert_int_equal(placement_mean_latency(none, latency, 2, &now), PLACEMENT_UNKNOWN);
    assert_int_equal(placement_mean_latency(none, latency, 0, &now), PLACEMENT_UNKNOWN);
    assert_true(now == 5);
}

TEST(predictions_that_cannot_be)
{
    const struct placement_time time = {1, .2, 1e6};
    double got = 5;
    assert_int_equal(placement_predict(&time, NAN, 1e-7, &got), PLACEMENT_UNKNOWN);
    assert_int_equal(placement_predict(&time, 1e-7, 0, &got), PLACEMENT_UNKNOWN);
    assert_true(got == 5);
}

/* Reads of 120 ns where the probe sees 350: what waits is gained once. */
TEST(a_gain_has_limits)
{
    static const struct {
        double active, serial_reads, target, seconds;
    } rows[] = {
        {.36, 3e6, 90e-9, .64}, /* not .22 */
        {.9, 7.5e6, 90e-9, 90. / 350},
        {1.05, 8.75e6, 90e-9, 90. / 350}, /* all of it, and the clock's error */
        {.9, 7.5e6, 340e-9, 340. / 350},
        {.36, 1e6, 90e-9, .74}, /* neither binds */
        {.36, 3e6, 1350e-9, 4}, /* nor at a loss */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct placement_time time = {1, rows[i].active, rows[i].serial_reads};
        double got;
        assert_int_equal(placement_predict(&time, 350e-9, rows[i].target, &got), PLACEMENT_OK);
        assert_near(got, rows[i].seconds, 1e-12);
    }
}

TEST(a_part_of_the_memory)
{
    static const struct {
        double share, lower, upper;
    } rows[] = {{.25, 1.039775, 1.053034}, {.5, 1.079551, 1.095461}, {.75, 1.119326, 1.130174}};
    double ratio = slowdown(88.8, 148.4);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct placement_bounds bounds = placement_share(rows[i].share, ratio, 1.5);
        assert_near(bounds.lower, rows[i].lower, 6e-7);
        assert_near(bounds.upper, rows[i].upper, 6e-7);
    }
    for (int all = 0; all <= 1; all++) {
        struct placement_bounds bounds = placement_share(all, ratio, 4);
        assert_near(bounds.lower, all ? ratio : 1, 1e-15);
        assert_near(bounds.upper, all ? ratio : 1, 1e-15);
    }
}

/* A quarter moved from the slow memory to the fast one is three quarters left in the slow one. */
TEST(a_gain_is_a_loss_seen_from_the_other_side)
{
    const double there = 1.8;
    struct placement_bounds back = placement_share(.25, 1 / there, 5);
    struct placement_bounds forth = placement_share(.75, there, 5);
    assert_near(back.lower, forth.lower / there, 1e-12);
    assert_near(back.upper, forth.upper / there, 1e-12);
    assert_true(back.lower < back.upper && back.upper < 1);
}
