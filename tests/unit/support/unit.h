/* What cmocka.h takes, cmocka.h, what nearly every unit test uses beside it; and main(). */
#ifndef IE_TESTS_UNIT_H
#define IE_TESTS_UNIT_H

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* TEST(name) { ... }: a test. Those of a file run in their order, by unit.c's main(); a file whose
 * tests share more than that has a main() of its own. */
#define TEST(name) TEST_WITH(name, NULL, NULL)
/* 'setup' and 'teardown' as cmocka has them; NULL: none. */
#define TEST_WITH(name, setup, teardown)                                                           \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        unit_add(__LINE__, &(struct CMUnitTest){#name, name, setup, teardown, NULL});              \
    }                                                                                              \
    static void name(void **state)

void unit_add(int line, const struct CMUnitTest *test);

#endif
