/*
 * Shares of CPU time by weight: the tree, CPU sets, and orders of paths that mislead.
 */
#include "exporter/source/waits/entitle.h"
#include "tests/unit/support/unit.h"

static void share(struct entitled *all, size_t n)
{
    struct entitled *at[16];
    for (size_t i = 0; i < n; i++)
        at[i] = &all[i];
    entitle(at, n);
}

/* As in the header: of two CPUs 0.5, 1 and 0.5. */
TEST(as_worked)
{
    struct entitled all[] = {
        {.path = "/c", .cpu_set = 3, .weight = {100}},
        {.path = "/pods/a", .cpu_set = 3, .weight = {300, 100}},
        {.path = "/pods/b", .cpu_set = 3, .weight = {300, 200}},
    };
    share(all, 3);
    assert_true(fabs(2 * all[0].share - (0.5)) < 1e-9);
    assert_true(fabs(2 * all[1].share - (0.5)) < 1e-9);
    assert_true(fabs(2 * all[2].share - (1)) < 1e-9);
}

/* Kubernetes: the pod's weight is what counts among pods, whatever its containers' are. */
TEST(the_pod_counts)
{
    struct entitled all[] = {
        {.path = "/k/pod1/main", .cpu_set = 1, .weight = {100, 100, 1000}},
        {.path = "/k/pod1/side", .cpu_set = 1, .weight = {100, 100, 1000}},
        {.path = "/k/pod2/main", .cpu_set = 1, .weight = {100, 100, 1}},
    };
    share(all, 3);
    assert_true(fabs(all[0].share - (0.25)) < 1e-9);
    assert_true(fabs(all[1].share - (0.25)) < 1e-9);
    assert_true(fabs(all[2].share - (0.5)) < 1e-9);
}

/* Who has a CPU of its own shares with nobody, and nobody with it. */
TEST(other_cpus_are_no_rivals)
{
    struct entitled all[] = {
        {.path = "/alone", .cpu_set = 4, .weight = {100}},
        {.path = "/one", .cpu_set = 3, .weight = {100}},
        {.path = "/other", .cpu_set = 3, .weight = {300}},
        {.path = "/wide", .cpu_set = 7, .weight = {100}},
    };
    share(all, 4);
    assert_true(fabs(all[0].share - (0.5)) < 1e-9); /* with /wide */
    assert_true(fabs(all[1].share - (0.2)) < 1e-9);
    assert_true(fabs(all[2].share - (0.6)) < 1e-9);
    assert_true(fabs(all[3].share - (1.0 / 6)) < 1e-9);
}

/* "/a-b" sorts before "/a/x", and "/a" is not "/ab". */
TEST(paths_that_look_alike)
{
    struct entitled all[] = {
        {.path = "/a-b/x", .cpu_set = 1, .weight = {100, 100}},
        {.path = "/a/x", .cpu_set = 1, .weight = {100, 100}},
        {.path = "/a/y", .cpu_set = 1, .weight = {100, 100}},
        {.path = "/ab", .cpu_set = 1, .weight = {100}},
    };
    share(all, 4);
    assert_true(fabs(all[0].share - (1.0 / 3)) < 1e-9);
    assert_true(fabs(all[1].share - (1.0 / 6)) < 1e-9);
    assert_true(fabs(all[2].share - (1.0 / 6)) < 1e-9);
    assert_true(fabs(all[3].share - (1.0 / 3)) < 1e-9);
}

/* Deeper than levels are kept for, or with paths that are none: no share, or some, but an end. */
TEST(odd_paths)
{
    struct entitled all[] = {
        {.path = "", .cpu_set = 1},
        {.path = "/", .cpu_set = 1, .weight = {1}},
        {.path = "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p", .cpu_set = 1, .weight = {1, 1, 1, 1}},
        {.path = "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/q", .cpu_set = 1, .weight = {1, 1, 1, 1}},
    };
    share(all, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(all[i].share >= 0 && all[i].share <= 1);
    entitle(NULL, 0);
}

/* As many as are monitored at most: together they have all that there is. Sets of CPUs beyond those
 * that are told apart have no share. */
TEST(four_thousand)
{
    enum { ALL = 4096, PODS = 64 };
    static struct entitled all[ALL];
    static struct entitled *at[ALL];
    static char paths[ALL][32];
    double sum = 0;
    for (int i = 0; i < ALL; i++) {
        snprintf(paths[i], sizeof paths[i], "/k/pod%02d/c%02d", i / PODS, i % PODS);
        all[i] = (struct entitled){.path = paths[i], .cpu_set = 1, .weight = {100, 100, 100}};
        at[i] = &all[i];
    }
    entitle(at, ALL);
    for (int i = 0; i < ALL; i++)
        sum += all[i].share;
    assert_true(fabs(sum - 1) < 1e-9);
    for (int i = 0; i < ALL; i++)
        all[i].cpu_set = UINT64_C(1) << i % 48;
    entitle(at, ALL);
    assert_true(all[0].share > 0);
    assert_true(all[47].share == 0);
}
