/*
 * Where the time of one window went: the cases that were measured, each threshold from both sides,
 * and what is not known; then the verdict of five windows.
 */
#include "collectors/formulas/lost_time.h"
#include "tests/unit/support/unit.h"

static const struct lost_limits limits = {0.05, 0.10, 0.05, 0.05, 0.10};

/* Nothing waits, and all of it is known. */
static struct lost_window calm(void)
{
    return (struct lost_window){
        .cpus = 0.9, .entitled_cpus = 1, .others_excess_cpus = 0, .slow_reads = NAN};
}

static void assert_split(const struct lost_window *window, const double expected[LOSSES])
{
    struct lost_split split;
    lost_split_make(window, &limits, &split);
    for (int c = 0; c < LOSSES; c++) {
        assert_true(fabs(split.per_second[c] - (expected[c])) < 1e-9);
        assert_int_equal(split.holds[c], expected[c] > 0);
    }
}

/* LOST_TIME.md's table, measured on two busy CPUs, Linux 6.18. */
TEST(as_measured)
{
    static const struct {
        double cpus, throttled, some, full;
        double quota, neighbour, itself;
    } table[] = {
        {0.93, 0, 0.06, 0.06, 0, 0, 0},    /* alone on a CPU */
        {0.20, 1, 0.80, 0.80, 0.80, 0, 0}, /* own quota 0.2 */
        {0.20, 1, 0.90, 0.90, 0.90, 0, 0}, /* the same, two threads on two CPUs */
        {0.49, 0, 0.51, 0.51, 0, 0.51, 0}, /* a neighbour on its CPU */
        {0.92, 0, 1.00, 0.07, 0, 0, 1.00}, /* three tasks of its own on one CPU */
        {0.49, 0, 0.51, 0.51, 0, 0.51, 0}, /* quota 0.5, never reached, and a neighbour */
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct lost_window window = calm();
        window.cpus = table[i].cpus;
        window.throttled = table[i].throttled;
        window.cpu_some = table[i].some;
        window.cpu_full = table[i].full;
        const double expected[LOSSES] = {[LOSS_OWN_QUOTA] = table[i].quota,
                                         [LOSS_CPU_NEIGHBOUR] = table[i].neighbour,
                                         [LOSS_ITSELF] = table[i].itself};
        assert_split(&window, expected);
    }
}

/* A limit that is reached now and then, beside a neighbour: 0.8 x 0.25 and the rest. Less than half
 * of the wait, it is not the verdict, but it costs all the same. */
TEST(two_causes_share_the_wait)
{
    struct lost_window window = calm();
    struct lost_split split;
    window.throttled = 0.25;
    window.cpu_some = window.cpu_full = 0.8;
    lost_split_make(&window, &limits, &split);
    assert_true(fabs(split.per_second[LOSS_OWN_QUOTA] - (0.2)) < 1e-9);
    assert_true(fabs(split.per_second[LOSS_CPU_NEIGHBOUR] - (0.6)) < 1e-9);
    assert_false(split.holds[LOSS_OWN_QUOTA]);
    assert_true(split.holds[LOSS_CPU_NEIGHBOUR]);
    window.throttled = 0.4;
    lost_split_make(&window, &limits, &split);
    assert_true(split.holds[LOSS_OWN_QUOTA]);
}

TEST(below_a_threshold_nothing_is_lost)
{
    static const double nothing[LOSSES] = {0};
    struct lost_window window = calm();
    window.throttled = 0.049;
    window.cpu_some = window.cpu_full = 0.099;
    window.steal = window.memory_some = 0.049;
    window.limit_events = 9;
    window.disk_some = 0.099;
    assert_split(&window, nothing);
}

/* Eight tasks on two CPUs of which others take more than their share: some task nearly always runs,
 * and yet it is not itself that it waits for. */
TEST(many_tasks_that_are_kept_from_their_share)
{
    struct lost_window window = calm();
    const double by_others[LOSSES] = {[LOSS_CPU_NEIGHBOUR] = 1},
                 by_itself[LOSSES] = {[LOSS_ITSELF] = 1};
    window.cpus = 0.7;
    window.cpu_some = 1;
    window.cpu_full = 0.1;
    window.others_excess_cpus = 0.3;
    assert_split(&window, by_others);
    window.cpus = 0.95; /* it has what it may have */
    assert_split(&window, by_itself);
    window.cpus = 0.7;
    window.others_excess_cpus = 0.01; /* nobody has more than he may have */
    assert_split(&window, by_itself);
    window.others_excess_cpus = 0.3;
    window.entitled_cpus = NAN;
    assert_split(&window, by_itself);
}

/* A tenth of the CPU's time is stolen: what ran 0.45 CPU seconds took 0.5. */
TEST(the_hypervisor)
{
    struct lost_window window = calm();
    struct lost_split split;
    const double stolen[LOSSES] = {[LOSS_HYPERVISOR] = 0.05},
                 own[LOSSES] = {[LOSS_HYPERVISOR] = 0.05, [LOSS_ITSELF] = 0.3},
                 nothing[LOSSES] = {0};
    window.cpus = 0.45;
    window.steal = 0.1;
    window.cpu_some = window.cpu_full = 0.3;
    assert_split(&window, stolen); /* and no neighbour is blamed */
    window.cpu_full = 0;
    assert_split(&window, own);
    window.cpus = 0.01; /* it hardly ran */
    window.cpu_some = window.cpu_full = 0.3;
    assert_split(&window, nothing);
    lost_split_make(&window, &limits, &split);
    assert_true(split.unexplained); /* but it waits */
    window.cpu_some = window.cpu_full = 0;
    assert_split(&window, nothing);
    lost_split_make(&window, &limits, &split);
    assert_false(split.unexplained);
}

/* The machine's pressure has the container's in it: what tells its limit from the machine's memory
 * is whose limit was reached, and whether the machine looked for free pages. */
TEST(full_memory)
{
    struct lost_window window = calm();
    struct lost_split split;
    const double limit[LOSSES] = {[LOSS_OWN_MEMORY_LIMIT] = 0.3},
                 machine[LOSSES] = {[LOSS_MEMORY_FULL] = 0.3}, nothing[LOSSES] = {0};
    window.memory_some = window.node_memory_some = 0.3;
    window.limit_events = 50;
    window.disk_some = 0.3; /* it reads again what it lost */
    assert_split(&window, limit);
    window.limit_events = 0;
    window.node_reclaimed = 1000;
    assert_split(&window, machine);
    window.limit_events = NAN; /* it may be its own */
    assert_split(&window, nothing);
    lost_split_make(&window, &limits, &split);
    assert_true(split.unexplained);
    window.limit_events = 0;
    window.node_reclaimed = 0;
    assert_split(&window, nothing);
    lost_split_make(&window, &limits, &split);
    assert_true(split.unexplained);
    window.node_reclaimed = NAN;
    assert_split(&window, nothing);
}

/* Pages of mapped files: what waits is said to wait for disks. */
TEST(a_limit_that_shows_as_disks)
{
    struct lost_window window = calm();
    const double limit[LOSSES] = {[LOSS_OWN_MEMORY_LIMIT] = 0.5},
                 disk[LOSSES] = {[LOSS_DISK] = 0.5};
    window.disk_some = 0.5;
    window.memory_some = 0.01;
    window.limit_events = 1000;
    window.refaults = 2000;
    assert_split(&window, limit);
    window.refaults = 10; /* it reads what it had not read before */
    assert_split(&window, disk);
    window.refaults = 2000;
    window.limit_events = 0;
    assert_split(&window, disk);
}

TEST(disks_and_slow_reads)
{
    struct lost_window window = calm();
    const double disk[LOSSES] = {[LOSS_DISK] = 0.2},
                 both[LOSSES] = {[LOSS_DISK] = 0.2, [LOSS_MEMORY_SLOW] = 1.5};
    window.disk_some = 0.2;
    assert_split(&window, disk);
    window.slow_reads = 1.5;
    assert_split(&window, both);
}

/* Without pressure the limit is still told by its periods, though not what it costs; of the rest
 * nothing may be said, not even that it is nothing. */
TEST(what_is_not_known)
{
    struct lost_window window = calm();
    struct lost_split split;
    window.cpu_some = window.cpu_full = window.memory_some = window.disk_some = NAN;
    window.throttled = 1;
    lost_split_make(&window, &limits, &split);
    assert_true(split.holds[LOSS_OWN_QUOTA]);
    assert_true(split.per_second[LOSS_OWN_QUOTA] == 0);
    assert_false(split.waits_are_known);

    window = calm(); /* before Linux 5.13 */
    window.cpu_some = 0.5;
    window.cpu_full = NAN;
    lost_split_make(&window, &limits, &split);
    assert_false(split.holds[LOSS_CPU_NEIGHBOUR] || split.holds[LOSS_ITSELF]);
    assert_true(split.unexplained);
}

/* ---- verdicts ---- */

static void add(struct lost_history *history, enum loss cause, double per_second)
{
    struct lost_split split = {.waits_are_known = true};
    if (cause != LOSSES) {
        split.holds[cause] = true;
        split.per_second[cause] = per_second;
    }
    lost_history_add(history, &split);
}

static enum loss verdict(const struct lost_history *history, bool *known)
{
    struct lost_verdict out;
    lost_verdict_make(history, &out);
    *known = out.known;
    return out.cause;
}

TEST(three_of_five)
{
    struct lost_history history = {0};
    bool known;
    assert_int_equal(verdict(&history, &known), LOSSES);
    assert_false(known);
    add(&history, LOSS_OWN_QUOTA, 0.5);
    add(&history, LOSSES, 0);
    add(&history, LOSS_OWN_QUOTA, 0.5);
    assert_int_equal(verdict(&history, &known), LOSSES);
    assert_false(known); /* neither this nor nothing */
    add(&history, LOSS_OWN_QUOTA, 0.5);
    assert_int_equal(verdict(&history, &known), LOSS_OWN_QUOTA);
    assert_true(known);
    add(&history, LOSSES, 0);
    add(&history, LOSSES, 0); /* in place of the first */
    assert_int_equal(verdict(&history, &known), LOSSES);
    assert_true(known);
}

/* The one that costs most; of two that cost the same, the first in the list. */
TEST(the_costliest)
{
    struct lost_history history = {0};
    struct lost_split split = {.waits_are_known = true};
    bool known;
    split.holds[LOSS_CPU_NEIGHBOUR] = split.holds[LOSS_MEMORY_SLOW] = true;
    split.per_second[LOSS_CPU_NEIGHBOUR] = split.per_second[LOSS_MEMORY_SLOW] = 0.2;
    for (int i = 0; i < 3; i++)
        lost_history_add(&history, &split);
    assert_int_equal(verdict(&history, &known), LOSS_CPU_NEIGHBOUR);
    split.per_second[LOSS_MEMORY_SLOW] = 0.3;
    lost_history_add(&history, &split);
    assert_int_equal(verdict(&history, &known), LOSS_MEMORY_SLOW);
    /* Something else costs more, in one window so far. */
    split.holds[LOSS_DISK] = true;
    split.per_second[LOSS_DISK] = 2;
    lost_history_add(&history, &split);
    assert_int_equal(verdict(&history, &known), LOSSES);
    assert_false(known);
}

/* Two tasks beside a neighbour of the same weight: waits that are counted are its seconds, and its
 * share of time what is weighed. */
TEST(delays_are_seconds)
{
    struct lost_window window = {
        .cpus = 0.66, .entitled_cpus = 0.5, .cpu_some = 1, .cpu_full = 1, .run_delay = 4.0 / 3};
    struct lost_split split;
    lost_split_make(&window, &limits, &split);
    assert_true(split.holds[LOSS_CPU_NEIGHBOUR]);
    assert_true(fabs(split.neighbour_delay - 4.0 / 3) < 1e-12);
    assert_true(fabs(split.per_second[LOSS_CPU_NEIGHBOUR] - 1) < 1e-12);
    window.throttled = 0.25;
    lost_split_make(&window, &limits, &split);
    assert_true(fabs(split.neighbour_delay - 1) < 1e-12);
    assert_true(fabs(split.per_second[LOSS_CPU_NEIGHBOUR] - 0.75) < 1e-12);
    window.run_delay = NAN;
    lost_split_make(&window, &limits, &split);
    assert_true(fabs(split.neighbour_delay - 0.75) < 1e-12);
    window.cpu_full = 0.1; /* its own tasks */
    window.run_delay = 4.0 / 3;
    lost_split_make(&window, &limits, &split);
    assert_true(split.neighbour_delay == 0);
}

TEST(nothing_is_said_only_where_all_is_known)
{
    struct lost_history history = {0};
    struct lost_split unknown = {.waits_are_known = false};
    struct lost_split unexplained = {.waits_are_known = true, .unexplained = true};
    bool known;
    for (int i = 0; i < LOST_WINDOWS; i++)
        lost_history_add(&history, &unknown);
    assert_int_equal(verdict(&history, &known), LOSSES);
    assert_false(known);
    for (int i = 0; i < LOST_WINDOWS; i++)
        lost_history_add(&history, &unexplained);
    (void)verdict(&history, &known);
    assert_false(known);
}
