#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/formulas/control_shares.h"

static void expect_shares(const double *slowdowns, const double *want, size_t n)
{
    double shares[8], sum = 0;
    control_shares(slowdowns, n, shares);
    for (size_t i = 0; i < n; i++) {
        if (fabs(shares[i] - want[i]) > 5e-7)
            fail_msg("%.9g instead of %.9g", shares[i], want[i]);
        sum += shares[i];
    }
    assert_true(fabs(sum - 1) < 1e-12);
}

static void epochs_go_by_slowdown(void **state)
{
    (void)state;
    expect_shares((const double[]){2, 4, 1, 1}, (const double[]){.25, .5, .125, .125}, 4);
    expect_shares((const double[]){1.6, 2.1, 1.5}, (const double[]){.307692, .403846, .288462}, 3);
    /* Faster than alone is as alone. */
    expect_shares((const double[]){0.5, 1}, (const double[]){.5, .5}, 2);
}

/* Three standard deviations of 10,000 draws. */
static void draws_have_their_shares(void **state)
{
    (void)state;
    enum { N = 4, DRAWS = 10000 };
    static const double slowdowns[N] = {2, 4, 1, 1};
    double shares[N];
    unsigned drawn[N] = {0};
    uint64_t seed = 1;
    control_shares(slowdowns, N, shares);
    for (int i = 0; i < DRAWS; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        drawn[control_shares_draw(shares, N, (double)(seed >> 11) / (double)(1ull << 53))]++;
    }
    for (int i = 0; i < N; i++) {
        double sigma = sqrt(DRAWS * shares[i] * (1 - shares[i]));
        assert_true(fabs(drawn[i] - DRAWS * shares[i]) < 3 * sigma);
    }
    assert_int_equal(control_shares_draw(shares, N, 0), 0);
    assert_int_equal(control_shares_draw(shares, N, 0.25), 1);
    assert_int_equal(control_shares_draw(shares, N, 1), N - 1);
}

static void expect_in_steps(const double *slowdowns, const unsigned *want, unsigned floor,
                            unsigned gran)
{
    unsigned percent[4];
    control_mba_map(slowdowns, 4, floor, gran, percent);
    for (int i = 0; i < 4; i++)
        assert_int_equal(percent[i], want[i]);
}

static void expect_percent(const double *slowdowns, const unsigned *want, unsigned floor)
{
    expect_in_steps(slowdowns, want, floor, 10);
}

static void bandwidth_goes_by_slowdown(void **state)
{
    (void)state;
    expect_percent((const double[]){2, 4, 1, 1}, (const unsigned[]){50, 100, 30, 30}, 20);
    expect_percent((const double[]){4, 2, 1.6, 1.2}, (const unsigned[]){100, 50, 40, 30}, 20);
    expect_percent((const double[]){4, 2, 1.6, 1.2}, (const unsigned[]){100, 50, 50, 50}, 50);
    expect_percent((const double[]){1, 1, 1, 1}, (const unsigned[]){100, 100, 100, 100}, 20);
    expect_percent((const double[]){9, 1, 0.5, 1}, (const unsigned[]){100, 20, 20, 20}, 20);
}

/* 96 is the last multiple of 12. */
static void the_slowest_has_all_in_any_steps(void **state)
{
    (void)state;
    expect_in_steps((const double[]){2, 4, 1, 1}, (const unsigned[]){48, 100, 24, 24}, 20, 12);
    expect_in_steps((const double[]){2, 4, 1, 1}, (const unsigned[]){60, 100, 30, 30}, 20, 30);
    expect_in_steps((const double[]){4, 3.6, 3.2, 1}, (const unsigned[]){100, 90, 80, 25}, 20, 1);
}

static void bandwidth_moves_one_step_at_a_time(void **state)
{
    (void)state;
    assert_int_equal(control_mba_step(100, 30, 10), 90);
    assert_int_equal(control_mba_step(35, 30, 10), 30);
    assert_int_equal(control_mba_step(30, 30, 10), 30);
    assert_int_equal(control_mba_step(30, 100, 10), 40);
    assert_int_equal(control_mba_step(95, 100, 10), 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epochs_go_by_slowdown),
        cmocka_unit_test(draws_have_their_shares),
        cmocka_unit_test(bandwidth_goes_by_slowdown),
        cmocka_unit_test(the_slowest_has_all_in_any_steps),
        cmocka_unit_test(bandwidth_moves_one_step_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
