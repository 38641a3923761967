#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/delay/wait.h"

static void it_never_waits_for_less(void **state)
{
    (void)state;
    for (uint64_t ticks = 0; ticks <= 100000; ticks = 3 * ticks + 1)
        assert_true(wait_ticks(ticks) >= ticks);
}

/* As many as asked for, then back: it returns, or the test does not end well. */
static void as_many_nops_as_asked_for(void **state)
{
    static const unsigned counts[] = {0, 1, 64, 4095, 4096, 100000};
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_never_waits_for_less),
        cmocka_unit_test(as_many_nops_as_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
