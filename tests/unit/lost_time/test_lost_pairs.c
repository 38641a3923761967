/* Who had whose CPUs, added up: the worked example, a table that is full, order. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectors/lost_time/pairs.h"

static struct lost_pairs pairs;

static void adds_up(void **state)
{
    const struct lost_pair *most[2];
    (void)state;
    lost_pairs_clear(&pairs);
    lost_pairs_add(&pairs, 1, 2, 0.1);
    lost_pairs_add(&pairs, 1, 3, 0.1);
    lost_pairs_add(&pairs, 1, 2, 0.2);
    lost_pairs_add(&pairs, 1, LOST_NOBODY, 0.5);
    lost_pairs_add(&pairs, 1, 4, 0.05);
    lost_pairs_add(&pairs, 2, 1, 7);
    assert_true(fabs(lost_pairs_sum(&pairs, 1) - 0.95) < 1e-12);
    assert_int_equal(lost_pairs_most(&pairs, 1, most, 2), 2);
    assert_int_equal(most[0]->by, 2);
    assert_true(fabs(most[0]->seconds - 0.3) < 1e-12);
    assert_int_equal(most[1]->by, 3);
    assert_int_equal(lost_pairs_most(&pairs, 3, most, 2), 0);
    assert_true(lost_pairs_sum(&pairs, 3) == 0);
    lost_pairs_clear(&pairs);
    assert_true(lost_pairs_sum(&pairs, 1) == 0);
}

/* What does not fit is left out, and nobody gets what is another's. */
static void too_many(void **state)
{
    (void)state;
    lost_pairs_clear(&pairs);
    for (uint32_t i = 0; i < 4 * LOST_PAIRS; i++)
        lost_pairs_add(&pairs, i % 64, i / 64, 1);
    double sum = 0;
    for (uint32_t from = 0; from < 64; from++) {
        double of = lost_pairs_sum(&pairs, from);
        assert_true(of <= 4 * LOST_PAIRS / 64);
        sum += of;
    }
    assert_true(sum > LOST_PAIRS / 2 && sum <= LOST_PAIRS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_up),
        cmocka_unit_test(too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
