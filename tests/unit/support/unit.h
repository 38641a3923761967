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

/* TEST(name) { ... }: a test. Those of a file run in their order, by unit.c's main(). */
#define TEST(name) TEST_WITH(name, NULL, NULL)
/* 'setup' and 'teardown' as cmocka has them; NULL: none. */
#define TEST_WITH(name, setup, teardown) UNIT_ADD(name, {#name, name, setup, teardown, NULL})
/* The same, of what was set up: TEST_ON(name, struct rig *rig, setup, teardown). */
#define TEST_ON(name, subject, setup, teardown)                                                    \
    UNIT_ADD_ON(name, subject, {#name, name, setup, teardown, NULL})
/* Run twice, set up in two ways. */
#define TEST_ON_EACH(name, subject, one, other, teardown)                                          \
    UNIT_ADD_ON(name, subject, {#name, name, one, teardown, NULL},                                 \
                {#name, name, other, teardown, NULL})

#define UNIT_ADD(name, ...)                                                                        \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        const struct CMUnitTest added[] = {__VA_ARGS__};                                           \
        for (size_t i = 0; i < sizeof added / sizeof *added; i++)                                  \
            unit_add(__LINE__, &added[i]);                                                         \
    }                                                                                              \
    static void name(void **state)
#define UNIT_ADD_ON(name, subject, ...)                                                            \
    static void name##_on(subject);                                                                \
    UNIT_ADD(name, __VA_ARGS__)                                                                    \
    {                                                                                              \
        name##_on(*state);                                                                         \
    }                                                                                              \
    static void name##_on(subject)

/* What all tests of a file share: their state, unless they have a set-up of their own. */
#define TESTS_SHARE(setup, teardown)                                                               \
    __attribute__((constructor)) static void share(void)                                           \
    {                                                                                              \
        unit_share(setup, teardown);                                                               \
    }

void unit_add(int line, const struct CMUnitTest *test);
void unit_share(CMFixtureFunction setup, CMFixtureFunction teardown);

#endif
