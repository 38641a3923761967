/* Shares of latency and waiting, by the numbers worked in the header. */
#include <math.h>

#include "collectors/formulas/attribution.h"
#include "tests/unit/support/unit.h"

static void near(double got, double want, double share)
{
    if (!(fabs(got - want) <= share * fabs(want)))
        fail_msg("%.12g instead of %.12g", got, want);
}

TEST(shares_of_the_exponential_model_add_up)
{
    (void)state;
    double f = attribution_per_effect(180, 0.2);
    near(f, 163.1423, 1e-6);
    near(0.15 * f, 24.4713, 1e-5);
    near(0.05 * f, 8.1571, 1e-5);
    near(0.2 * f, 180 * (1 - exp(-0.2)), 1e-12);
    near(attribution_per_effect(180, 0), 180, 0);
    near(attribution_per_effect(180, 1e-15), 180, 1e-12); /* no digits lost near 0 */
}

static const struct attribution_traffic worked[] = {
    {6, 1e6, 0},
    {3, 2e6, 30e-9},
    {1, 4e6, 50e-9},
};

TEST(waiting_by_the_worked_numbers)
{
    (void)state;
    struct attribution_sums sums = attribution_sums(worked, 3, 0);
    near(sums.weight, 10, 0);
    near(sums.seconds_a_weight, 3.079365e-2, 1e-6);
    static const double want[] = {0.1847619, 0.0666667, 0.0085714};
    double all = 0;
    for (int i = 0; i < 3; i++) {
        near(attribution_wait_seconds(&sums, &worked[i]), want[i], 1e-5);
        all += attribution_wait_seconds(&sums, &worked[i]);
    }
    near(all, 0.26, 1e-12);
}

TEST(pairs_add_up_to_each_victims_excess_and_each_aggressors_wait)
{
    (void)state;
    struct attribution_sums sums = attribution_sums(worked, 3, 0);
    near(attribution_caused_seconds(&sums, &worked[0], &worked[1]), 30e-9 * 6 / 7, 1e-12);
    for (int v = 0; v < 3; v++) {
        double excess = 0, wait = 0;
        for (int i = 0; i < 3; i++) {
            if (i == v)
                continue;
            excess += attribution_caused_seconds(&sums, &worked[i], &worked[v]);
            wait += worked[i].reads * attribution_caused_seconds(&sums, &worked[v], &worked[i]);
        }
        near(excess, worked[v].excess_seconds, 1e-12);
        near(attribution_wait_seconds(&sums, &worked[v]), wait, 1e-12);
    }
}

TEST(the_host_takes_its_share)
{
    (void)state;
    static const struct attribution_traffic host = {.weight = 10};
    struct attribution_sums sums = attribution_sums(worked, 3, host.weight);
    near(sums.weight, 20, 0);
    near(sums.seconds_a_weight, 0.01405573, 1e-6);
    near(attribution_wait_seconds(&sums, &host), 0.1405573, 1e-6);
    near(attribution_wait_seconds(&sums, &worked[0]), 0.0843344, 1e-6);
    double all = attribution_wait_seconds(&sums, &host);
    for (int i = 0; i < 3; i++)
        all += attribution_wait_seconds(&sums, &worked[i]);
    near(all, 0.26, 1e-12);
}

TEST(nobody_makes_wait_who_is_alone)
{
    (void)state;
    /* Rounding error of a sum is nobody. */
    const struct attribution_traffic alone[] = {{0.3, 1e6, 50e-9}, {1e-16, 1e6, 0}};
    struct attribution_sums sums = attribution_sums(alone, 2, 0);
    assert_true(sums.seconds_a_weight == 0);
    assert_true(attribution_caused_seconds(&sums, &alone[1], &alone[0]) == 0);
    assert_true(attribution_wait_seconds(&sums, &alone[0]) == 0);
    sums = attribution_sums(NULL, 0, 0);
    assert_true(sums.weight == 0 && sums.seconds_a_weight == 0);
}
