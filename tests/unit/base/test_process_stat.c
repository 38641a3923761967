#include "exporter/base/process_stat.h"
#include "tests/unit/support/unit.h"

TEST(start_times)
{
    uint64_t ticks = 0;
    assert_int_equal(process_start_ticks("7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 "
                                         "123456 1000 2",
                                         &ticks),
                     0);
    assert_int_equal(ticks, 123456);
    assert_int_equal(
        process_start_ticks("7 (a) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0", &ticks),
        -EINVAL);
    assert_int_equal(process_start_ticks("", &ticks), -EINVAL);
    assert_int_equal(process_start_ticks("7 (a", &ticks), -EINVAL);
}

TEST(states)
{
    char letter = 0;
    assert_int_equal(process_state("7 (a) R b) S 1 7 7 0", &letter), 0);
    assert_int_equal(letter, 'S');
    assert_int_equal(process_state("7 (a) R 1", &letter), 0);
    assert_int_equal(letter, 'R');
    assert_int_equal(process_state("7 (a", &letter), -EINVAL);
    assert_int_equal(process_state("7 (a)", &letter), -EINVAL);
    assert_int_equal(process_state("7 (a) ", &letter), -EINVAL);
}
