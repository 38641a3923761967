/* What is normal for a container: the four bases, each by numbers known beforehand. */
#include "collectors/learned/day_percentile.h"
#include "collectors/learned/normal.h"
#include "tests/unit/support/draw.h"
#include "tests/unit/support/unit.h"

#define SECOND 1000000000ull
#define HOUR (3600 * SECOND)

static bool near(double value, double wanted, double share)
{
    return fabs(value - wanted) <= share * wanted;
}

/* ---- the day's percentile ---- */

TEST(percentile_of_known_latencies)
{
    struct day_percentile day = {0};
    assert_true(isnan(day_percentile_seconds(&day, 0.2)));
    for (int i = 1; i <= 1000; i++)
        day_percentile_add(&day, SECOND, 1, i * 1e-9);
    assert_true(near(day_percentile_seconds(&day, 0.2), 200e-9, 0.02));
    assert_true(near(day_percentile_seconds(&day, 0.5), 500e-9, 0.02));
    assert_true(near(day_percentile_time(&day), 1000, 1e-6));
}

TEST(the_day_forgets)
{
    struct day_percentile day = {0};
    day_percentile_add(&day, 0, 1, 100e-9);
    day_percentile_add(&day, 23 * HOUR, 1, 200e-9);
    assert_true(near(day_percentile_time(&day), 2, 1e-6));
    day_percentile_add(&day, 27 * HOUR, 1, 200e-9);
    assert_true(near(day_percentile_time(&day), 2, 1e-6)); /* the first is gone */
    assert_true(near(day_percentile_seconds(&day, 0.01), 200e-9, 0.04));
    day_percentile_add(&day, 1000 * HOUR, 1, 300e-9);
    assert_true(near(day_percentile_time(&day), 1, 1e-6));
}

TEST(no_latency_is_remembered_that_is_none)
{
    struct day_percentile day = {0};
    day_percentile_add(&day, SECOND, 1, 0);
    day_percentile_add(&day, SECOND, 1, -1);
    day_percentile_add(&day, SECOND, 1, NAN);
    day_percentile_add(&day, SECOND, 1, INFINITY);
    assert_true(day_percentile_time(&day) == 0);
    day_percentile_add(&day, SECOND, 1, 1e-12); /* below and above the buckets: the ends are open */
    day_percentile_add(&day, SECOND, 1, 1);
    assert_true(near(day_percentile_time(&day), 2, 1e-6));
}

/* ---- the fit to traffic ---- */

/* A minute of windows of one latency. */
static void minute(struct traffic_fit *fit, int i, double latency, double corunners, double own)
{
    for (int second = 0; second < 60; second += 10)
        traffic_fit_add(fit, ((uint64_t)i * 60 + (uint64_t)second) * SECOND, latency, corunners,
                        own);
}

static double fitted(const struct traffic_fit *fit, int minutes)
{
    return traffic_fit_alone_seconds(fit, (uint64_t)minutes * 60 * SECOND);
}

/* Traffic that goes from a tenth to its whole and back. */
static double swing(int i)
{
    return 1e8 * (0.55 + 0.45 * sin(0.7 * i));
}

TEST(a_line_is_found)
{
    struct traffic_fit fit = {0};
    for (int i = 0; i < 61; i++)
        minute(&fit, i, 80e-9 + swing(i) * 3e-16 + (i % 5) * 1e6 * 2e-15, swing(i),
               1e7 + (i % 5) * 1e6);
    /* At its usual own traffic, 1.2e7: 80 + 4 ns. */
    assert_true(near(fitted(&fit, 60), 84e-9, 0.002));
}

static double noise(void)
{
    static uint64_t random = DRAW_SEED;
    return draw_unit(&random) - 0.5;
}

/* One that reads as fast as memory lets it: its own rate falls when latency rises, and tells the
 * latency better than the co-runners' traffic does. That is no reason for the latency. */
TEST(a_rate_that_follows_the_latency_explains_nothing)
{
    for (int think = 0; think <= 200; think += 50) { /* nanoseconds between reads */
        struct traffic_fit fit = {0};
        for (int i = 0; i < 61; i++) {
            for (int second = 0; second < 60; second += 10) {
                double latency = (80e-9 + swing(i) * 3e-16) * (1 + 0.12 * noise());
                traffic_fit_add(&fit, ((uint64_t)i * 60 + (uint64_t)second) * SECOND, latency,
                                swing(i) * (1 + 0.04 * noise()), 1 / (think * 1e-9 + latency));
            }
        }
        assert_true(near(fitted(&fit, 60), 80e-9, 0.02));
    }
}

/* Where traffic makes no difference, the line falls as often as it rises, by chance. */
TEST(no_influence_is_an_answer)
{
    for (int round = 0; round < 50; round++) {
        struct traffic_fit fit = {0};
        for (int i = 0; i < 61; i++)
            minute(&fit, i, 80e-9 * (1 + 0.04 * noise()), swing(i), 1e7);
        assert_true(near(fitted(&fit, 60), 80e-9, 0.02));
    }
}

static double share(const struct traffic_fit *fit)
{
    return traffic_fit_alone_share(fit, 60 * 60 * SECOND);
}

TEST(of_a_share_the_error_is_that_of_what_is_divided)
{
    struct traffic_fit none = {0}, some = {0}, never = {0}, vague = {0};
    for (int i = 0; i < 61; i++) {
        minute(&none, i, swing(i) * 3e-9 * (1 + 0.02 * noise()), swing(i), 1e7);
        minute(&some, i, (0.1 + swing(i) * 3e-9) * (1 + 0.1 * noise()), swing(i), 1e7);
        minute(&never, i, 0, swing(i), 1e7);
        minute(&vague, i, 0.3 * (1 + 1.9 * noise()), swing(i), 1e7);
    }
    /* All its misses are the co-runners' doing: 5 % of 0 would be no error at all. */
    assert_true(share(&none) < 0.05 * 0.165);
    assert_true(near(share(&some), 0.1, 0.05));
    assert_true(share(&never) == 0);
    assert_true(isnan(share(&vague)));
    assert_true(isnan(fitted(&none, 60)));
}

TEST(too_little_is_no_answer)
{
    struct traffic_fit fit = {0};
    assert_true(isnan(fitted(&fit, 0)));
    for (int i = 0; i < TRAFFIC_FIT_MIN_MINUTES; i++)
        minute(&fit, i, 80e-9 + swing(i) * 3e-16, swing(i), 1e7);
    assert_true(isnan(fitted(&fit, TRAFFIC_FIT_MIN_MINUTES))); /* the last is not whole yet */
    minute(&fit, TRAFFIC_FIT_MIN_MINUTES, 80e-9, 0, 1e7);
    assert_true(near(fitted(&fit, TRAFFIC_FIT_MIN_MINUTES + 1), 80e-9, 0.005));
}

TEST(traffic_that_hardly_varied_is_no_answer)
{
    struct traffic_fit fit = {0};
    for (int i = 0; i < 61; i++) {
        double traffic = 1e8 * (0.8 + 0.2 * sin(0.7 * i));
        minute(&fit, i, 80e-9 + traffic * 3e-16, traffic, 1e7);
    }
    assert_true(isnan(fitted(&fit, 60)));
}

TEST(two_crowds_far_from_zero_are_no_line_to_zero)
{
    struct traffic_fit fit = {0};
    for (int i = 0; i < 61; i++) /* services, and then a batch job of ten minutes beside them */
        minute(&fit, i, i >= 40 && i < 50 ? 135e-9 : 100e-9, i >= 40 && i < 50 ? 390e6 : 240e6,
               1e7);
    assert_true(isnan(fitted(&fit, 60)));
}

/* One neighbour begins, and something else with it: what both did is in the difference. */
TEST(a_step_of_one_neighbour_is_no_line)
{
    struct traffic_fit fit = {0};
    for (int i = 0; i < 61; i++) {
        bool incident = i >= 40 && i < 50;
        minute(&fit, i, (incident ? 135e-9 : 100e-9) * (1 + 0.02 * noise()),
               (incident ? 250e6 : 50e6) * (1 + 0.3 * noise()), 1e7);
    }
    assert_true(isnan(fitted(&fit, 60)));
}

TEST(the_calmest_tenth_of_minutes)
{
    struct traffic_fit fit = {0};
    assert_true(isnan(traffic_fit_calmest_seconds(&fit, 0)));
    for (int i = 0; i < 61; i++)
        minute(&fit, i, (80 + i * 7 % 60) * 1e-9, (i * 7 % 60) * 1e6, 1e7);
    assert_true(near(traffic_fit_calmest_seconds(&fit, (uint64_t)60 * 60 * SECOND), 83e-9, 0.01));
}

TEST(noise_without_a_line_is_no_answer)
{
    struct traffic_fit fit = {0};
    for (int i = 0; i < 61; i++)
        minute(&fit, i, 80e-9 * (1 + 0.9 * sin(12.9898 * i * i)), swing(i), 1e7);
    assert_true(isnan(fitted(&fit, 60)));
}

TEST(latency_that_falls_with_traffic_is_no_answer)
{
    struct traffic_fit fit = {0};
    for (int i = 0; i < 61; i++)
        minute(&fit, i, 80e-9 - swing(i) * 1e-16, swing(i), 1e7);
    assert_true(isnan(fitted(&fit, 60)));
}

TEST(a_curve_is_no_line)
{
    struct traffic_fit fit = {0};
    for (int i = 0; i < 61; i++)
        minute(&fit, i, 80e-9 * (1 + pow(swing(i) / 1e8, 6)), swing(i), 1e7);
    assert_true(isnan(fitted(&fit, 60)));
}

TEST(outliers_do_not_move_it)
{
    struct traffic_fit fit = {0};
    for (int i = 0; i < 101; i++)
        minute(&fit, i, i % 10 == 3 ? 400e-9 : 80e-9 + swing(i) * 3e-16, swing(i), 1e7);
    assert_true(near(fitted(&fit, 100), 80e-9, 0.01));
}

TEST(minutes_long_ago_are_gone)
{
    struct traffic_fit fit = {0};
    for (int i = 0; i < 61; i++)
        minute(&fit, i, 80e-9 + swing(i) * 3e-16, swing(i), 1e7);
    assert_true(near(fitted(&fit, 60), 80e-9, 0.005));
    assert_true(isnan(fitted(&fit, 61 + TRAFFIC_FIT_MINUTES)));
}

/* ---- the choice ---- */

struct node {
    struct normal normal;
    enum traffic_measure measure;
    bool waits;
    int second;
};

static void learn(struct node *node, bool calm, double latency, double corunners, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        const struct normal_window window = {
            .corunners_known = true,
            .waits = node->waits,
            .measure = node->measure,
            .mono_ns = (uint64_t)node->second++ * SECOND,
            .length_seconds = 1,
            .calm = calm,
            .latency_seconds = latency,
            .corunner_rate = corunners,
            .own_rate = 1e7,
        };
        normal_learn(&node->normal, &window);
    }
}

static void assert_basis(const struct node *node, double machine, enum basis wanted, double latency)
{
    enum basis basis;
    double seconds;
    assert_true(normal_find(&node->normal, machine, NAN, &basis, &seconds));
    assert_string_equal(basis_name(basis), basis_name(wanted));
    assert_true(near(seconds, latency, 0.03));
}

TEST(nothing_is_known_at_first)
{
    struct node node = {0};
    enum basis basis;
    double seconds;
    assert_false(normal_find(&node.normal, NAN, NAN, &basis, &seconds));
    assert_basis(&node, 70e-9, BASIS_MACHINE, 70e-9);
    learn(&node, false, 100e-9, 5e8, 599);
    assert_false(normal_find(&node.normal, NAN, NAN, &basis, &seconds));
}

TEST(usual_after_ten_busy_minutes)
{
    struct node node = {0};
    learn(&node, false, 100e-9, 5e8, 661);
    assert_basis(&node, 70e-9, BASIS_USUAL, 100e-9);
    assert_true(near(normal_busy_time(&node.normal), 661, 1e-6));
}

/* The percentile of windows that are off by 15 % would be an eighth below what is usual. */
TEST(noise_does_not_lower_what_is_usual)
{
    struct node node = {0};
    for (int i = 0; i < 3600; i++)
        learn(&node, false, 100e-9 * (1 + 0.52 * noise()), 5e8, 1);
    assert_basis(&node, NAN, BASIS_USUAL, 99e-9);
}

TEST(an_incident_does_not_become_usual)
{
    struct node node = {0};
    learn(&node, false, 100e-9, 5e8, 1800);
    learn(&node, false, 135e-9, 6e8, 600);
    assert_basis(&node, NAN, BASIS_USUAL, 100e-9);
}

TEST(calm_windows_win)
{
    struct node node = {0};
    learn(&node, false, 100e-9, 5e8, 700);
    learn(&node, true, 80e-9, 0, 9);
    assert_basis(&node, NAN, BASIS_USUAL, 100e-9);
    learn(&node, true, 90e-9, 0, 1);
    assert_basis(&node, NAN, BASIS_CALM, 81e-9); /* (9 * 80 + 90) / 10 */
}

/* It went to another socket, whose neighbours are calm, and its memory did not. */
TEST(calm_neighbours_make_nobody_slower)
{
    struct node node = {0};
    learn(&node, false, 100e-9, 5e8, 7200);
    learn(&node, true, 160e-9, 0, 3600);
    assert_basis(&node, NAN, BASIS_USUAL, 100e-9);
    learn(&node, true, 97e-9, 0, 10);
    assert_basis(&node, NAN, BASIS_CALM, 97e-9);
    learn(&node, true, 160e-9, 0, 7200); /* for good: it follows, after a fifth of a day */
    assert_basis(&node, NAN, BASIS_CALM, 97e-9);
    learn(&node, true, 160e-9, 0, 12 * 3600);
    assert_basis(&node, NAN, BASIS_CALM, 160e-9);
}

TEST(extrapolated_beats_usual)
{
    struct node node = {0};
    for (int i = 0; i < 40; i++)
        learn(&node, false, 80e-9 + swing(i) * 3e-16, swing(i), 60);
    assert_basis(&node, NAN, BASIS_EXTRAPOLATED, 83e-9); /* the line ends at 80 */
}

static bool is_extrapolated(const struct node *node)
{
    enum basis basis;
    double seconds;
    return normal_find(&node->normal, NAN, NAN, &basis, &seconds) && basis == BASIS_EXTRAPOLATED;
}

/* Latency bends: the line through what was seen ends below what memory takes when it is idle. */
TEST(never_below_what_was_seen)
{
    struct node node = {0};
    for (int i = 0; i < 60; i++) {
        double load = 0.325 + 0.185 * sin(0.7 * i);
        learn(&node, false, 70e-9 * (1 + 0.5 * load * load / (1 - load)), load * 6e8, 60);
    }
    double alone = traffic_fit_alone_seconds(&node.normal.fit, (uint64_t)node.second * SECOND);
    assert_true(alone < 68e-9);
    assert_basis(&node, NAN, BASIS_EXTRAPOLATED, 71e-9);
    assert_true(node.normal.extrapolated_seconds > 70e-9);
}

/* Nor than what the probe sees, if the container does not usually see less. */
TEST(never_below_the_probe)
{
    struct node node = {0};
    enum basis basis;
    double seconds;
    for (int i = 0; i < 60; i++)
        learn(&node, false, 80e-9 + swing(i) * 3e-16, swing(i), 60);
    const struct {
        double machine, error, normal;
    } cases[] = {{NAN, NAN, 83.1e-9},
                 {86e-9, NAN, 83.1e-9},
                 {86e-9, 1e-9, 85e-9},
                 {86e-9, 9e-9, 83.1e-9},
                 {200e-9, 1e-9, node.normal.usual.seconds}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(normal_find(&node.normal, cases[i].machine, cases[i].error, &basis, &seconds));
        assert_int_equal(basis, BASIS_EXTRAPOLATED);
        assert_true(near(seconds, cases[i].normal, 0.01));
    }
}

TEST(ten_minutes_have_to_agree)
{
    struct node node = {0};
    int taken = 0, given_up = 0;
    for (int i = 0; i < 60 && !is_extrapolated(&node); i++, taken = i)
        learn(&node, false, 80e-9 + swing(i) * 3e-16, swing(i), 60);
    assert_in_range(taken, TRAFFIC_FIT_MIN_MINUTES + 10, TRAFFIC_FIT_MIN_MINUTES + 12);
    /* Nothing that varies: no line after some minutes. */
    for (int i = 0; i < 120 && is_extrapolated(&node); i++, given_up = i)
        learn(&node, false, (80 + 60 * fabs(sin(12.9898 * i * i))) * 1e-9, 1e8, 60);
    assert_in_range(given_up, 10, 60);
}

/* What is normal does not change while it waits; but whoever waits always may learn in the end. */
TEST(an_incident_is_judged_by_what_was_normal)
{
    struct node node = {0};
    for (int i = 0; i < 60; i++)
        learn(&node, false, 80e-9 + swing(i) * 3e-16, swing(i), 60);
    node.waits = true;
    learn(&node, false, 140e-9, 1e8, 1); /* completes the minute before */
    double before = node.normal.extrapolated_seconds;
    int held = 0;
    for (int i = 0; i < 120 && is_extrapolated(&node); i++, held = i) {
        learn(&node, false, (80 + 60 * fabs(sin(12.9898 * i * i))) * 1e-9, 1e8, 60);
        assert_true(i > 58 || node.normal.extrapolated_seconds == before);
    }
    assert_in_range(held, 68, 90);
}

/* Reads and lines are not one measure: after a change, nothing is extrapolated from before. */
TEST(another_measure_begins_a_new_fit)
{
    struct node node = {0};
    for (int i = 0; i < 40; i++)
        learn(&node, false, 80e-9 + swing(i) * 3e-16, swing(i), 60);
    node.measure = TRAFFIC_LINES;
    learn(&node, false, 100e-9, 5e8, 1);
    enum basis basis;
    double seconds;
    assert_true(normal_find(&node.normal, NAN, NAN, &basis, &seconds));
    assert_int_equal(basis, BASIS_USUAL);
    for (int i = 0; i < 40; i++)
        learn(&node, false, 80e-9 + swing(i) * 1e-16, 3 * swing(i), 60);
    assert_basis(&node, NAN, BASIS_EXTRAPOLATED, 81e-9);
}

TEST(busy_is_reads_and_cpu)
{
    assert_true(window_is_busy(1000, 0.1, 1));
    assert_false(window_is_busy(999, 0.1, 1));
    assert_false(window_is_busy(1000, 0.099, 1));
    assert_false(window_is_busy(1000, 0.1, 2));
}
