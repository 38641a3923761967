#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exporter/service/descriptors.h"

static void check(size_t limit, size_t max, size_t containers, size_t candidates)
{
    struct descriptor_shares shares = descriptors_share(limit, max);
    assert_int_equal(shares.containers, containers);
    assert_int_equal(shares.candidates, candidates);
}

static void plenty_takes_nothing_away(void **state)
{
    (void)state;
    check(0, 512, 512, 256);
    check(1048576, 512, 512, 256);
    check(SIZE_MAX, 100000, 100000, 256);
}

static void a_low_limit_bounds_both(void **state)
{
    (void)state;
    check(1024, 512, 128, 32);
    check(1024, 50, 50, 32);
    check(64, 512, 8, 2);
    check(7, 512, 1, 0);
}

/* With the counters' three quarters and the server's eighth there is some left for the rest. */
static void the_parts_fit_into_the_whole(void **state)
{
    (void)state;
    for (size_t limit = 64; limit < 5000; limit++) {
        struct descriptor_shares shares = descriptors_share(limit, 100000);
        assert_true(shares.candidates + limit / 8 <= limit / 4);
        /* Counted containers' directories are among the counters' part. */
        assert_true(6 * shares.containers <= limit - limit / 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plenty_takes_nothing_away),
        cmocka_unit_test(a_low_limit_bounds_both),
        cmocka_unit_test(the_parts_fit_into_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
