/* When a container is named, and who may carry which labels. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "tests/unit/support/observed_table.h"

static void late_names(void **state)
{
    struct observed_table *f = *state;
    uint64_t soon = observed_add_unresolved(f, "/p/soon", "aaa", 10 * S);
    uint64_t late = observed_add_unresolved(f, "/p/late", "bbb", 10 * S + 1);
    observed_add_unresolved(f, "/p/never", "ccc", 10 * S + 2);
    observed_look(f);
    assert_diff(f, 0, 3, 0, 0, 0); /* counted from the start */
    assert_int_equal(container_table_deadline(f->table), 12 * S);

    assert_int_equal(observed_rename(f, soon, "cart-0", "cart", 11 * S), 0);
    observed_look(f);
    assert_diff(f, 0, 0, 1, 0, 0);
    assert_int_equal(container_table_deadline(f->table), 12 * S + 1);

    container_table_advance(f->table, 12 * S);
    observed_look(f);
    assert_diff(f, 0, 0, 0, 0, 0);
    container_table_advance(f->table, 12 * S + 2);
    observed_look(f);
    assert_diff(f, 0, 0, 2, 0, 0);
    assert_string_equal(observed_find(f, "/p/never")->name, "never");
    assert_string_equal(observed_find(f, "/p/never")->pod, "");

    assert_int_equal(observed_rename(f, late, "cart-1", "cart", 15 * S), 0);
    observed_look(f);
    assert_diff(f, 0, 0, 0, 1, 0);
    assert_string_equal(observed_find(f, "/p/late")->pod, "cart-1");
    /* The same again is no change. */
    assert_int_equal(observed_rename(f, late, "cart-1", "cart", 16 * S), 0);
    observed_look(f);
    assert_diff(f, 0, 0, 0, 0, 0);
    assert_int_equal(observed_rename(f, 4711, "x", "y", 16 * S), -ENOENT);
}

/* A tick carries the time it was due, which may be before the last event. */
static void time_a_little_back(void **state)
{
    (void)state;
    struct container_limits limits = observed_limits;
    limits.max = 1;
    struct observed_table *f = observed_table_new(&limits, NULL);
    uint64_t a = observed_add_unresolved(f, "/a", "aaa", 10 * S);
    uint64_t b = observed_add_unresolved(f, "/b", "bbb", 10 * S);
    container_table_advance(f->table, 9 * S);
    observed_look(f);
    assert_diff(f, 0, 1, 0, 0, 0);
    container_table_discard(f->table, a);
    container_table_advance(f->table, 9 * S); /* promotes the other */
    observed_look(f);
    assert_diff(f, 1, 1, 0, 0, 0);
    container_table_end(f->table, b, 10 * S);
    observed_look(f);
    observed_read_all(f);
    container_table_advance(f->table, 9 * S);
    observed_look(f);
    assert_counts(f, 0, 1, 0, 0);
    observed_table_free(f);
}

/* What lived shorter than the patience is named at its end, so that it is seen at all. */
static void named_at_the_end(void **state)
{
    struct observed_table *f = *state;
    uint64_t a = observed_add_unresolved(f, "/p/short", "aaa", 10 * S);
    container_table_end(f->table, a, 10 * S + 100 * MS);
    observed_look(f);
    assert_diff(f, 0, 1, 1, 0, 1);
    assert_string_equal(observed_find(f, "/p/short")->name, "short");
    container_table_end(f->table, a, 11 * S); /* not known any more */
    observed_look(f);
    assert_diff(f, 0, 0, 0, 0, 0);
}

/* docker stop, docker start: the same id, the same names, a new cgroup. */
static void same_labels_as_a_lingering_one(void **state)
{
    struct observed_table *f = *state;
    uint64_t a = observed_add_named(f, "/a", "p", "n", S);
    observed_look(f);
    const struct container *old = observed_find(f, "/a");
    container_table_end(f->table, a, 2 * S);
    observed_look(f);
    observed_read_all(f);
    observed_add_named(f, "/a", "p", "n", 3 * S);
    observed_look(f);
    assert_diff(f, 1, 1, 1, 0, 0);
    assert_counts(f, 1, 0, 0, 0);
    assert_ptr_not_equal(observed_find(f, "/a"), old);
}

/* Back before the old one was read for the last time: its last counts are not lost. */
static void same_labels_as_an_ended_one(void **state)
{
    struct observed_table *f = *state;
    uint64_t a = observed_add_named(f, "/a", "p", "n", S);
    observed_look(f);
    struct container *old = observed_find(f, "/a");
    container_table_end(f->table, a, 2 * S);
    observed_add_named(f, "/a", "p", "n", 2 * S);
    container_table_last_read(f->table, old); /* nobody was told yet that it is the last time */
    observed_look(f);
    assert_diff(f, 0, 1, 0, 0, 1);
    container_table_last_read(f->table, old);
    observed_look(f);
    assert_diff(f, 1, 0, 1, 0, 0);
    assert_counts(f, 1, 0, 0, 0);
}

static void same_labels_as_a_live_one(void **state)
{
    struct observed_table *f = *state;
    uint64_t a = observed_add_named(f, "/a", "p", "n", S);
    uint64_t b = observed_add_named(f, "/b", "p", "n", S);
    observed_add_named(f, "/c", "p", "n", S);
    observed_look(f);
    assert_diff(f, 0, 3, 1, 0, 0); /* counted, but without series */
    container_table_advance(f->table, 100 * S);
    observed_look(f);
    assert_diff(f, 0, 0, 0, 0, 0);
    container_table_end(f->table, a, 101 * S);
    observed_look(f);
    observed_read_all(f);
    observed_look(f);
    assert_diff(f, 1, 0, 1, 0, 0); /* its turn; /c still waits */
    assert_true(observed_find(f, "/b")->named);
    assert_false(observed_find(f, "/c")->named);
    /* Renamed away: the labels are free for the third from the next diff on. */
    assert_int_equal(observed_rename(f, b, "p", "other", 102 * S), 0);
    observed_look(f);
    assert_diff(f, 0, 0, 0, 1, 0);
    assert_true(container_table_deadline(f->table) <= 102 * S);
    container_table_advance(f->table, 102 * S);
    observed_look(f);
    assert_diff(f, 0, 0, 1, 0, 0);
    assert_true(observed_find(f, "/c")->named);
    /* One that never had series leaves no trace when it ends. */
    uint64_t d = observed_add_named(f, "/d", "p", "other", 103 * S);
    observed_look(f);
    container_table_end(f->table, d, 104 * S);
    observed_look(f);
    observed_read_all(f);
    observed_look(f);
    assert_diff(f, 1, 0, 0, 0, 0);
}

static void renamed_into_taken_labels(void **state)
{
    struct observed_table *f = *state;
    uint64_t a = observed_add_named(f, "/a", "p", "a", S);
    uint64_t b = observed_add_named(f, "/b", "p", "b", S);
    observed_look(f);
    assert_int_equal(observed_rename(f, a, "p", "b", 2 * S), -EEXIST);
    assert_string_equal(observed_find(f, "/a")->name, "a");
    observed_look(f);
    assert_diff(f, 0, 0, 0, 0, 0);
    /* Two that change places need three steps and at no time share their labels. */
    assert_int_equal(observed_rename(f, a, "p", "c", 2 * S), 0);
    assert_int_equal(observed_rename(f, b, "p", "a", 2 * S), -EEXIST);
    observed_look(f);
    assert_int_equal(observed_rename(f, b, "p", "a", 2 * S), 0);
    observed_look(f);
    assert_int_equal(observed_rename(f, a, "p", "b", 2 * S), 0);
    observed_look(f);
    assert_diff(f, 0, 0, 0, 1, 0);
    /* A lingering one gives way. */
    container_table_end(f->table, b, 3 * S);
    observed_look(f);
    observed_read_all(f);
    assert_int_equal(observed_rename(f, a, "p", "a", 4 * S), 0);
    observed_look(f);
    assert_diff(f, 1, 0, 0, 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(late_names, observed_table_setup, observed_table_teardown),
        cmocka_unit_test(time_a_little_back),
        cmocka_unit_test_setup_teardown(named_at_the_end, observed_table_setup,
                                        observed_table_teardown),
        cmocka_unit_test_setup_teardown(same_labels_as_a_lingering_one, observed_table_setup,
                                        observed_table_teardown),
        cmocka_unit_test_setup_teardown(same_labels_as_an_ended_one, observed_table_setup,
                                        observed_table_teardown),
        cmocka_unit_test_setup_teardown(same_labels_as_a_live_one, observed_table_setup,
                                        observed_table_teardown),
        cmocka_unit_test_setup_teardown(renamed_into_taken_labels, observed_table_setup,
                                        observed_table_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
