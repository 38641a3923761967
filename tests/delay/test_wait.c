#include "tests/delay/wait.h"
#include "tests/unit/support/unit.h"

TEST(it_never_waits_for_less)
{
    for (uint64_t ticks = 0; ticks <= 100000; ticks = 3 * ticks + 1)
        assert_true(wait_ticks(ticks) >= ticks);
}

/* As many as asked for, then back: it returns, or the test does not end well. */
TEST(as_many_nops_as_asked_for)
{
    static const unsigned counts[] = {0, 1, 64, 4095, 4096, 100000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        wait_nops *nops = wait_make_nops(counts[i]);
        assert_non_null(nops);
        const uint8_t *code = (const uint8_t *)(uintptr_t)nops;
        for (unsigned k = 0; k < counts[i]; k++)
            assert_int_equal(code[k], 0x90);
        assert_int_equal(code[counts[i]], 0xc3);
        nops();
    }
}
