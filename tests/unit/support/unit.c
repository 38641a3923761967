#include "tests/unit/support/unit.h"

static struct CMUnitTest tests[256];
static int lines[256];
static size_t n_tests;
static CMFixtureFunction shared_setup, shared_teardown;

/* Constructors come in an order of the compiler's. */
void unit_add(int line, const struct CMUnitTest *test)
{
    size_t at = n_tests++;
    if (n_tests > sizeof tests / sizeof *tests)
        abort();
    for (; at > 0 && lines[at - 1] > line; at--) {
        tests[at] = tests[at - 1];
        lines[at] = lines[at - 1];
    }
    tests[at] = *test;
    lines[at] = line;
}

void unit_share(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    shared_setup = setup;
    shared_teardown = teardown;
}

int main(void)
{
    return _cmocka_run_group_tests("tests", tests, n_tests, shared_setup, shared_teardown);
}
