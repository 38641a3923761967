/* When a container is named, and who may carry which labels. */
#include <unistd.h>

#include "tests/unit/support/observed_table.h"
#include "tests/unit/support/unit.h"

TABLE_TEST(late_names)
{
    uint64_t soon = observed_add_unresolved(f, "/p/soon", "aaa", 10 * S);
    uint64_t late = observed_add_unresolved(f, "/p/late", "bbb", 10 * S + 1);
    observed_add_unresolved(f, "/p/never", "ccc", 10 * S + 2);
    observed_look(f);
    assert_diff(f, 0, 3, 0, 0, 0); /* counted from the start */
    assert_int_equal(container_table_deadline(f->table), 12 * S);

    assert_string_equal(observed_find(f, "/p/soon")->workload, "soon");
    assert_int_equal(observed_rename(f, soon, "cart-0", "cart", 11 * S), 0);
    observed_look(f);
    assert_diff(f, 0, 0, 1, 0, 0);
    assert_string_equal(observed_find(f, "/p/soon")->workload, "cart");
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
TEST(time_a_little_back)
{
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
TABLE_TEST(named_at_the_end)
{
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
TABLE_TEST(same_labels_as_a_lingering_one)
{
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
TABLE_TEST(same_labels_as_an_ended_one)
{
    uint64_t a = observed_add_named(f, "/a", "p", "n", S);
    observed_look(f);
    struct container *old = observed_find(f, "/a");
    container_table_end(f->table, a, 2 * S);
    observed_add_named(f, "/a", "p", "n", 2 * S);
    container_table_read(f->table, old); /* nobody was told yet that it is the last time */
    observed_look(f);
    assert_diff(f, 0, 1, 0, 0, 1);
    container_table_read(f->table, old);
    observed_look(f);
    assert_diff(f, 1, 0, 1, 0, 0);
    assert_counts(f, 1, 0, 0, 0);
}

static void check_by_cgroup(struct observed_table *f, const char *path, const char *short_id)
{
    const struct container *c = observed_find(f, path);
    assert_true(c->named);
    assert_string_equal(c->namespace_, "");
    assert_string_equal(c->pod, "");
    assert_string_equal(c->name, strrchr(path, '/') + 1);
    assert_string_equal(c->id, "");
    assert_string_equal(c->image, "");
    assert_string_equal(c->short_id, short_id);
}

static void check_by_names(struct observed_table *f, const char *path, const char *name)
{
    const struct container *c = observed_find(f, path);
    assert_true(c->named);
    assert_string_equal(c->pod, "p");
    assert_string_equal(c->name, name);
    assert_string_equal(c->short_id, "0123456789ab");
}

/* Of two that are beside each other nobody can say whose the names are. */
TABLE_TEST(two_ask_for_the_same)
{
    uint64_t a = observed_add_in_cgroup(f, "/x/a", 0xa, "n", S);
    observed_look(f);
    check_by_names(f, "/x/a", "n");
    uint64_t b = observed_add_in_cgroup(f, "/y/b", 0xb, "n", 2 * S);
    observed_look(f);
    assert_diff(f, 0, 1, 1, 1, 0);
    check_by_cgroup(f, "/x/a", "00000000000a");
    check_by_cgroup(f, "/y/b", "00000000000b");
    /* A third one does not get them either, not even when one of the two is gone. */
    container_table_end(f->table, a, 3 * S);
    observed_look(f);
    observed_read_all(f);
    observed_add_in_cgroup(f, "/z/c", 0xc, "n", 3 * S);
    observed_look(f);
    check_by_cgroup(f, "/y/b", "00000000000b");
    check_by_cgroup(f, "/z/c", "00000000000c");
    /* Other names are its own, and what was refused is nobody's claim any more. */
    assert_int_equal(observed_rename(f, b, "p", "other", 4 * S), 0);
    observed_look(f);
    assert_diff(f, 0, 0, 0, 1, 0);
    assert_string_equal(observed_find(f, "/y/b")->name, "other");
}

/* Before both were told to anybody, too. */
TABLE_TEST(two_at_once)
{
    observed_add_in_cgroup(f, "/x/a", 0xa, "n", S);
    observed_add_in_cgroup(f, "/y/b", 0xb, "n", S);
    observed_look(f);
    assert_diff(f, 0, 2, 2, 0, 0);
    check_by_cgroup(f, "/x/a", "00000000000a");
    check_by_cgroup(f, "/y/b", "00000000000b");
}

TABLE_TEST(the_outer_one_keeps_its_names)
{
    observed_add_in_cgroup(f, "/pods/a", 0xa, "n", S);
    observed_look(f);
    observed_add_in_cgroup(f, "/pods/a/b", 0xb, "n", 2 * S);
    observed_look(f);
    assert_diff(f, 0, 1, 1, 0, 0);
    check_by_names(f, "/pods/a", "n");
    check_by_cgroup(f, "/pods/a/b", "00000000000b");
    /* Not below it, for all that their paths begin alike. */
    observed_add_in_cgroup(f, "/pods/a-b", 0xc, "n", 3 * S);
    observed_look(f);
    check_by_cgroup(f, "/pods/a", "00000000000a");
    check_by_cgroup(f, "/pods/a-b", "00000000000c");
}

/* Whoever was first. Its series are made anew; nobody sees two with the same labels. */
TABLE_TEST(the_outer_one_gets_its_names_later)
{
    uint64_t inner[3];
    inner[0] = observed_add_in_cgroup(f, "/pods/a/b", 0xb, "n", S);
    inner[1] = observed_add_in_cgroup(f, "/pods/a/c", 0xc, "n", S);
    inner[2] = observed_add_in_cgroup(f, "/pods/a/d", 0xd, "other", S);
    observed_look(f);
    uint64_t outer = observed_add_in_cgroup(f, "/pods/a", 0xa, "other", 2 * S);
    observed_look(f);
    assert_diff(f, 0, 1, 0, 1, 0);
    container_table_advance(f->table, 3 * S);
    observed_look(f);
    assert_diff(f, 0, 0, 1, 0, 0);
    check_by_names(f, "/pods/a", "other");
    check_by_cgroup(f, "/pods/a/d", "00000000000d");
    assert_int_equal(observed_rename(f, outer, "p", "n", 4 * S), 0);
    observed_look(f);
    check_by_names(f, "/pods/a", "n");
    check_by_cgroup(f, "/pods/a/b", "00000000000b");
    check_by_cgroup(f, "/pods/a/c", "00000000000c");
    for (int i = 0; i < 3; i++)
        container_table_end(f->table, inner[i], 5 * S);
    observed_look(f);
    observed_read_all(f);
    check_by_names(f, "/pods/a", "n");
}

/* In a replay cgroups may have no inode that tells them apart. */
TABLE_TEST(the_same_cgroup_twice)
{
    uint64_t a = observed_add_in_cgroup(f, "/x/n", 0xa, "n", S);
    observed_add_in_cgroup(f, "/y/n", 0xa, "n", S);
    observed_look(f);
    assert_diff(f, 0, 2, 1, 0, 0); /* one of them has no series */
    container_table_end(f->table, a, 2 * S);
    observed_look(f);
    observed_read_all(f);
    container_table_advance(f->table, 3 * S);
    observed_look(f);
    assert_diff(f, 0, 0, 1, 0, 0);
    check_by_names(f, "/y/n", "n");
    /* One that never had series leaves no trace when it ends. */
    uint64_t d = observed_add_in_cgroup(f, "/z/n", 0xa, "n", 4 * S);
    observed_look(f);
    assert_diff(f, 1, 1, 0, 1, 0);
    container_table_end(f->table, d, 5 * S);
    observed_look(f);
    observed_read_all(f);
    observed_look(f);
    assert_diff(f, 1, 0, 0, 0, 0);
}

TABLE_TEST(renamed_into_taken_labels)
{
    uint64_t a = observed_add_in_cgroup(f, "/a", 0xa, "a", S);
    uint64_t b = observed_add_in_cgroup(f, "/b", 0xb, "b", S);
    observed_look(f);
    /* What was given up is free when that was told. */
    assert_int_equal(observed_rename(f, a, "p", "c", 2 * S), 0);
    assert_int_equal(observed_rename(f, b, "p", "a", 2 * S), -EEXIST);
    check_by_names(f, "/b", "b");
    observed_look(f);
    assert_int_equal(observed_rename(f, b, "p", "a", 2 * S), 0);
    observed_look(f);
    assert_diff(f, 0, 0, 0, 1, 0);
    /* A lingering one gives way. */
    container_table_end(f->table, b, 3 * S);
    observed_look(f);
    observed_read_all(f);
    assert_int_equal(observed_rename(f, a, "p", "a", 4 * S), 0);
    observed_look(f);
    assert_diff(f, 1, 0, 0, 1, 0);
    /* A live one does not: both lose them. */
    observed_add_in_cgroup(f, "/e", 0xe, "e", 5 * S);
    observed_look(f);
    assert_int_equal(observed_rename(f, a, "p", "e", 5 * S), 0);
    observed_look(f);
    assert_diff(f, 0, 0, 0, 2, 0);
    check_by_cgroup(f, "/a", "00000000000a");
    check_by_cgroup(f, "/e", "00000000000e");
    const struct container_spec again = {.cgroup_fd = -1,
                                         .id = "0123456789abcdef",
                                         .namespace_ = "shop",
                                         .pod = "p",
                                         .name = "e",
                                         .resolved = true};
    assert_int_equal(container_table_rename(f->table, a, &again, 6 * S), 0);
    observed_look(f);
    assert_diff(f, 0, 0, 0, 0, 0);
}
