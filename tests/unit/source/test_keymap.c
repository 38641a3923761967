/* The map of keys against a plain table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "exporter/source/keymap.h"

static void test_keymap_against_a_plain_table(void **state)
{
    (void)state;
    enum { KEYS = 500, TAGS = 3 };
    static char keys[KEYS][8];
    static bool there[KEYS][TAGS];
    struct keymap map = {0};
    uint32_t random = 99;

    for (int i = 0; i < KEYS; i++)
        snprintf(keys[i], sizeof keys[i], "k%d", i);
    for (int step = 0; step < 50000; step++) {
        random = random * 1664525 + 1013904223;
        int i = (int)((random >> 8) % KEYS), t = (int)((random >> 4) % TAGS);
        if (there[i][t])
            keymap_remove(&map, keys[i], (uint32_t)t);
        else
            assert_int_equal(keymap_put(&map, keys[i], (uint32_t)t, &there[i][t]), 0);
        there[i][t] = !there[i][t];
        if (step % 500 != 0)
            continue;
        size_t n = 0;
        for (i = 0; i < KEYS; i++) {
            for (t = 0; t < TAGS; t++) {
                void *want = there[i][t] ? &there[i][t] : NULL;
                assert_ptr_equal(keymap_get(&map, keys[i], (uint32_t)t), want);
                n += there[i][t];
            }
        }
        assert_int_equal(map.n, n);
    }
    keymap_remove(&map, "never there", 0);
    keymap_release(&map);
    assert_null(keymap_get(&map, "k1", 0));
    keymap_remove(&map, "k1", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keymap_against_a_plain_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
