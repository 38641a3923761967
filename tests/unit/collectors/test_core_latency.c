#include "collectors/table.h"
#include "tests/unit/support/collector_rig.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

#define C(n) "interference_container_" n
#define N(n) "interference_node_" n

static int setup(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &core_latency_collector);
    rig_start(rig);
    *state = rig;
    return 0;
}

/* One second on CPU 0 at the base frequency with this many reads of 'occupancy' cycles each. */
static void work(struct rig *rig, const char *key, uint64_t reads, double occupancy)
{
    struct fake_group *g = fake_group(&rig->fake, key, GROUP_CORE);
    fake_window(g, 0, 1000000000u, {ROLE_CYCLES, 2100000000u}, {ROLE_REF_CYCLES, 2100000000u},
                {ROLE_INSTRUCTIONS, 1000000000u}, {ROLE_L3_MISS_READS, reads},
                {ROLE_L3_MISS_READ_OCCUPANCY, (uint64_t)((double)reads * occupancy)});
}

static double of_a(struct rig *rig, const char *family)
{
    return rig_value(rig, family, "container=\"a\"");
}

/* A tick of a's. */
static void window(struct rig *rig, uint64_t reads, double occupancy)
{
    work(rig, "a", reads, occupancy);
    rig_tick(rig);
}

/* FORMULAS.md section 1: 124.5 cycles beyond the caches at 2.1 GHz are 80.238 ns. */
RIG_TEST(the_worked_number, setup)
{
    rig_container(rig, "a");
    work(rig, "a", 1000000, 124.5);
    assert_int_equal(rig_tick(rig), 0);
    double latency = of_a(rig, C("memory_read_latency_seconds"));
    assert_true(fabs(latency - 80.238095e-9) < 1e-14);
    assert_true(of_a(rig, C("memory_reads")) == 1000000);
    assert_true(of_a(rig, C("memory_read_occupancy_cycles")) == 124500000);
    assert_true(of_a(rig, C("cpu_cycles")) == 2100000000.0);
    double wait = of_a(rig, C("memory_read_wait_seconds"));
    assert_true(fabs(wait - 80.238095e-9 * 1000000) < 1e-9);
    assert_true(of_a(rig, C("memory_read_latency_observed_seconds")) == 1);
}

/* A hypervisor may let one event through and filter the other. */
RIG_TEST(reads_that_take_no_time_are_implausible, setup)
{
    rig_container(rig, "a");
    window(rig, 1000000, 0);
    assert_true(isnan(rig_value(rig, C("memory_read_latency_seconds"), "")));
    assert_true(isnan(rig_value(rig, C("memory_read_wait_seconds"), "")));
    assert_int_equal(rig->status.discarded[DISCARD_IMPLAUSIBLE], 1);
    assert_true(of_a(rig, C("memory_reads")) == 1000000);
}

RIG_TEST(windows_are_differences, setup)
{
    rig_container(rig, "a");
    window(rig, 1000, 100);
    window(rig, 3000, 300);
    double latency = of_a(rig, C("memory_read_latency_seconds"));
    assert_true(fabs(latency - 344 / 2.1e9) < 1e-15);
    assert_true(of_a(rig, C("memory_reads")) == 4000);
}

RIG_TEST(both_cpus_are_scaled_alone, setup)
{
    rig_container(rig, "a");
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_CORE);
    fake_group_run(g, 0, 1000);
    fake_group_add(g, 0, ROLE_L3_MISS_READS, 10);
    g->enabled_ns[1] = 1000;
    g->running_ns[1] = 250;
    fake_group_add(g, 1, ROLE_L3_MISS_READS, 10);
    rig_tick(rig);
    assert_true(of_a(rig, C("memory_reads")) == 10 + 40);
}

RIG_TEST(an_idle_window_shows_no_latency_and_discards_nothing, setup)
{
    rig_container(rig, "a");
    window(rig, 1000, 100);
    rig_tick(rig);
    assert_true(isnan(of_a(rig, C("memory_read_latency_seconds"))));
    assert_true(of_a(rig, C("memory_reads")) == 1000);
    for (int i = 0; i < DISCARD_COUNT; i++)
        assert_int_equal(rig->status.discarded[i], 0);
}

RIG_TEST(a_starved_window_is_discarded, setup)
{
    rig_container(rig, "a");
    fake_group(&rig->fake, "a", GROUP_CORE)->enabled_ns[0] = 1000;
    rig_tick(rig);
    assert_int_equal(rig->status.discarded[DISCARD_STARVED], 1);
    assert_true(of_a(rig, C("memory_reads")) == 0);
    assert_true(isnan(of_a(rig, C("memory_read_latency_seconds"))));
}

RIG_TEST(after_a_reset_the_new_total_is_the_baseline, setup)
{
    rig_container(rig, "a");
    window(rig, 1000, 100);
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_CORE);
    for (int i = 0; i < GROUP_MAX_ROLES; i++)
        g->count[0][i] /= 2;
    fake_group_run(g, 0, 1000);
    rig_tick(rig);
    assert_int_equal(rig->status.discarded[DISCARD_RESET], 1);
    assert_true(of_a(rig, C("memory_reads")) == 1000);
    window(rig, 10, 100);
    assert_true(of_a(rig, C("memory_reads")) == 1010);
}

RIG_TEST(roles_that_cannot_be_counted_are_absent, setup)
{
    rig_container(rig, "a");
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_CORE);
    g->present &= ~(1u << group_index(GROUP_CORE, ROLE_LLC_READS));
    g->present &= ~(1u << group_index(GROUP_CORE, ROLE_INSTRUCTIONS));
    window(rig, 1000, 100);
    assert_true(isnan(of_a(rig, C("llc_reads"))));
    assert_true(isnan(of_a(rig, C("cpu_instructions"))));
    assert_false(isnan(of_a(rig, C("memory_read_active_cycles"))));
    assert_true(of_a(rig, C("memory_reads")) == 1000);
}

RIG_TEST(reads_without_cycles_are_implausible, setup)
{
    rig_container(rig, "a");
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_CORE);
    fake_group_run(g, 0, 1000);
    fake_group_add(g, 0, ROLE_L3_MISS_READS, 10);
    rig_tick(rig);
    assert_int_equal(rig->status.discarded[DISCARD_IMPLAUSIBLE], 1);
    assert_true(isnan(of_a(rig, C("memory_read_latency_seconds"))));
}

RIG_TEST(a_failed_read_is_counted_and_reported, setup)
{
    rig_container(rig, "a");
    fake_group(&rig->fake, "a", GROUP_CORE)->read_error = -EIO;
    assert_int_equal(rig_tick(rig), -EIO);
    assert_int_equal(rig->status.discarded[DISCARD_READ_ERROR], 1);
}

RIG_TEST(an_ended_container_is_read_once_more_then_lingers, setup)
{
    struct container *a = rig_container(rig, "a");
    window(rig, 1000, 100);
    work(rig, "a", 500, 100);
    rig_end(rig, a);
    assert_int_equal(rig->fake.n_open, 1);
    rig_tick(rig);
    assert_true(of_a(rig, C("memory_reads")) == 1500);
    assert_true(isnan(of_a(rig, C("memory_read_latency_seconds"))));
    assert_int_equal(rig->fake.n_open, 0);
    rig_tick(rig);
    assert_true(of_a(rig, C("memory_reads")) == 1500);
    rig_forget(rig, a);
    rig_tick(rig);
    assert_int_equal(rig_series(rig, "container=\"a\""), 0);
    assert_true(rig_value(rig, N("memory_reads"), "") == 1500);
}

RIG_TEST(a_container_without_names_counts_already, setup)
{
    struct container *a = rig_unnamed(rig, "a");
    window(rig, 700, 100);
    assert_int_equal(rig_series(rig, "container=\"a\""), 0);
    assert_true(rig_value(rig, N("memory_reads"), "") == 700);
    rig_name(rig, a);
    rig_tick(rig);
    assert_true(of_a(rig, C("memory_reads")) == 700);
}

RIG_TEST(new_names_keep_the_numbers, setup)
{
    struct container *a = rig_container(rig, "a");
    window(rig, 700, 100);
    rig_rename(rig, a, "b");
    rig_tick(rig);
    assert_int_equal(rig_series(rig, "container=\"a\""), 0);
    assert_true(rig_value(rig, C("memory_reads"), "container=\"b\"") == 700);
    assert_true(rig_value(rig, "interference_container", "container=\"b\"") == 1);
}

/* One of a container's series cannot have the new labels: then it shows none, and still counts. */
RIG_TEST(refused_names_drop_all_of_a_container, setup)
{
    struct container *a = rig_container(rig, "a");
    window(rig, 700, 100);
    rig_take_name(rig, C("memory_read_wait_seconds"), a, "b");
    rig_rename(rig, a, "b");
    window(rig, 300, 100);
    assert_int_equal(rig_series(rig, "container=\"a\""), 0);
    assert_true(isnan(rig_value(rig, C("memory_reads"), "container=\"b\"")));
    assert_true(rig_value(rig, N("memory_reads"), "") == 1000);
}

static double lacking(struct rig *rig, const char *reason)
{
    char label[32];
    snprintf(label, sizeof label, "reason=\"%s\"", reason);
    return rig_value(rig, "interference_exporter_containers_without_baseline", label);
}

/* The kernel's counts of a cgroup include its descendants'. */
RIG_TEST(the_node_counts_what_is_inside_once, setup)
{
    rig_container(rig, "kind");
    rig_container(rig, "kind/inner");
    work(rig, "kind", 5000, 166);
    work(rig, "kind/inner", 4000, 166);
    rig_tick(rig);
    assert_true(rig_value(rig, N("memory_reads"), "") == 5000);
    assert_true(rig_value(rig, N("memory_read_latency_reads"), "") == 5000);
    assert_true(rig_value(rig, N("memory_read_window_latency_seconds"), "") == 1);
    fake_group(&rig->fake, "kind", GROUP_CORE)->no_reading = true;
    work(rig, "kind", 5000, 166);
    work(rig, "kind/inner", 4000, 166);
    rig_tick(rig);
    assert_true(rig_value(rig, N("memory_reads"), "") == 5000);
    fake_group(&rig->fake, "kind", GROUP_CORE)->no_reading = false;
    rig_tick(rig); /* the outer's window reaches back */
    assert_true(rig_value(rig, N("memory_reads"), "") == 10000);
}

/* Where all memory is local, what the probe sees at best is a lower bound, until more is known. */
RIG_TEST(the_machine_is_the_last_resort, setup)
{
    rig->facts.machine.numa_nodes = 1;
    rig->facts.probe_best_seconds = 100e-9;
    rig->facts.containers_unseen = 1;
    rig_container(rig, "a");
    for (int i = 0; i < 5; i++) {
        window(rig, 100000, 166);
    }
    const char *baseline = C("memory_read_latency_baseline_seconds");
    assert_true(fabs(rig_value(rig, baseline, "basis=\"machine\"") - 100e-9) < 1e-13);
    /* A busy node is above a lower bound all day, after each restart: no incident. */
    window(rig, 100000, 400);
    assert_true(isnan(rig_value(rig, C("memory_read_latency_over_threshold_seconds"), "")));
    rig->facts.machine.numa_nodes = 2; /* then its memory may be anywhere */
    rig_tick(rig);
    assert_true(isnan(rig_value(rig, baseline, "")));
}

RIG_TEST(why_there_is_no_baseline_is_said, setup)
{
    const char *note = C("memory_read_latency_no_baseline");
    rig_container(rig, "a");
    rig_tick(rig);
    assert_true(lacking(rig, "idle") == 1 && lacking(rig, "learning") == 0);
    assert_true(rig_value(rig, note, "reason=\"idle\"") == 1);
    rig->facts.machine.cache_cycles = 0;
    rig_tick(rig);
    assert_true(lacking(rig, "no_latency") == 1 && lacking(rig, "idle") == 0);
    rig->facts.machine.cache_cycles = 44;
    window(rig, 100000, 166);
    assert_true(lacking(rig, "learning") == 1);
    assert_true(rig_value(rig, note, "reason=\"learning\"") == 1);
    assert_true(isnan(rig_value(rig, note, "reason=\"idle\"")));
    verdict_set(&rig->fake.open_error, REASON_FD_LIMIT, "too many open files");
    rig_container(rig, "b");
    rig_tick(rig);
    assert_true(lacking(rig, "not_counted") == 1);
    rig->fake.open_error.reason = REASON_OK; /* until then nobody knows what it reads */
    rig->status.wants_reconcile = true;
    rig_nothing_changed(rig);
    for (int i = 0; i < 25; i++) {
        window(rig, 100000, 166);
    }
    assert_true(lacking(rig, "learning") == 0);
    assert_true(isnan(rig_value(rig, note, "container=\"a\"")));
}

/* Three minutes without c_cache, then the probe has calibrated: no time, no reads of before count.
 */
RIG_TEST(wait_is_absent_until_a_latency_is_known, setup)
{
    const char *const absent[] = {C("memory_read_wait_seconds"), C("memory_read_latency_reads"),
                                  C("memory_read_latency_observed_seconds"),
                                  N("memory_read_wait_seconds"), N("memory_read_latency_reads")};
    rig_container(rig, "a");
    rig->facts.machine.cache_cycles = 0;
    for (int i = 0; i < 3; i++) {
        window(rig, 100000, 100);
        for (size_t k = 0; k < sizeof absent / sizeof *absent; k++)
            assert_true(isnan(rig_value(rig, absent[k], "")));
    }
    assert_true(of_a(rig, C("memory_reads")) == 300000);
    rig->facts.machine.cache_cycles = 44;
    window(rig, 100000, 166); /* 210 cycles: 100 ns */
    double wait = of_a(rig, C("memory_read_wait_seconds"));
    double reads = of_a(rig, C("memory_read_latency_reads"));
    assert_true(reads == 100000);
    assert_true(fabs(wait / reads - 100e-9) < 1e-15);
    assert_true(rig_value(rig, N("memory_read_latency_reads"), "") == 100000);
}

RIG_TEST(a_default_container_has_at_most_nineteen_series, setup)
{
    rig_container(rig, "a");
    for (int i = 0; i < 20; i++) {
        window(rig, 100000, 100);
    }
    assert_false(isnan(of_a(rig, C("memory_read_latency_baseline_seconds"))));
    assert_true(rig_series(rig, "container=\"a\"") <=
                19 - 4); /* four are the slowdown collector's */
}

RIG_TEST(the_threshold_is_the_baseline_times_a_factor, setup)
{
    rig_container(rig, "a");
    for (int i = 0; i < 20; i++) {
        window(rig, 100000, 166); /* 210 cycles: 100 ns */
    }
    double baseline = of_a(rig, C("memory_read_latency_baseline_seconds"));
    double threshold = of_a(rig, C("memory_read_latency_threshold_seconds"));
    assert_true(fabs(baseline - 100e-9) < 1e-13);
    /* The factor is on what lies beyond the caches: (210 - 44) * 1.25 + 44 cycles. */
    assert_true(fabs(threshold - 251.5 / 2.1e9) < 1e-13);
    assert_false(
        isnan(rig_value(rig, C("memory_read_latency_threshold_seconds"), "basis=\"calm\"")));
    assert_true(of_a(rig, C("memory_read_latency_over_threshold_seconds")) == 0);
    window(rig, 100000, 280); /* 153 ns: by as much again */
    assert_true(of_a(rig, C("memory_read_latency_over_threshold_seconds")) == 1);
}

/* One window alone may be its scatter; with the next it was none. */
RIG_TEST(one_window_just_above_is_not_over, setup)
{
    static const struct {
        double cycles, over;
    } windows[] = {{240, 0}, {166, 0}, {240, 0}, {240, 2}, {240, 3}, {166, 3},
                   {240, 3}, {166, 3}, {310, 4}, {240, 5}, {166, 5}, {240, 5}};
    rig_container(rig, "a");
    for (int i = 0; i < 300; i++) {
        window(rig, 100000, 166); /* 207.5 are the threshold, 259.4 clear */
    }
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        window(rig, 100000, windows[i].cycles);
        assert_true(of_a(rig, C("memory_read_latency_over_threshold_seconds")) == windows[i].over);
    }
}

/* The neighbour reads all the time: no window of 'a' is calm, so there is nothing to compare. */
RIG_TEST(without_calm_windows_there_is_no_baseline, setup)
{
    rig_container(rig, "a");
    rig_container(rig, "hog");
    for (int i = 0; i < 50; i++) {
        work(rig, "a", 100000, 166);
        work(rig, "hog", 50000000, 300);
        rig_tick(rig);
    }
    assert_true(isnan(of_a(rig, C("memory_read_latency_baseline_seconds"))));
    assert_true(isnan(of_a(rig, C("memory_read_latency_threshold_seconds"))));
    assert_true(isnan(of_a(rig, C("memory_read_latency_over_threshold_seconds"))));
}

/* As under replay of a recording from a machine without counters. */
RIG_TEST(before_any_window_the_node_shows_nothing, setup)
{
    rig_container(rig, "a");
    fake_group(&rig->fake, "a", GROUP_CORE)->no_reading = true;
    rig_tick(rig);
    assert_true(isnan(rig_value(rig, N("memory_reads"), "")));
    assert_true(isnan(rig_value(rig, N("memory_read_window_latency_seconds"), "")));
    fake_group(&rig->fake, "a", GROUP_CORE)->no_reading = false;
    rig_tick(rig); /* idle, but read */
    assert_true(rig_value(rig, N("memory_reads"), "") == 0);
}

RIG_TEST(the_node_adds_up_and_observes_once_per_window, setup)
{
    rig_container(rig, "a");
    rig_container(rig, "b");
    work(rig, "a", 1000, 100);
    work(rig, "b", 3000, 200);
    rig_tick(rig);
    assert_true(rig_value(rig, N("memory_reads"), "") == 4000);
    assert_true(rig_value(rig, N("memory_read_occupancy_cycles"), "") == 700000);
    assert_true(rig_value(rig, N("memory_read_window_latency_seconds"), "") == 2);
    rig_tick(rig); /* idle */
    assert_true(rig_value(rig, N("memory_read_window_latency_seconds"), "") == 2);
}

RIG_TEST(without_the_base_frequency_counters_stay_and_latency_is_absent, setup)
{
    rig->facts.machine.base_frequency_hz = 0;
    rig_container(rig, "a");
    window(rig, 1000, 100);
    assert_true(of_a(rig, C("memory_reads")) == 1000);
    assert_true(isnan(of_a(rig, C("memory_read_latency_seconds"))));
    assert_true(isnan(rig_value(rig, "interference_cpu_base_frequency_hertz", "")));
}

RIG_TEST(a_dead_counter_switches_the_collector_off, setup)
{
    rig_container(rig, "a");
    rig_tick(rig);
    rig->facts.l3_miss_reads_filtered = true;
    assert_int_not_equal(rig_tick(rig), 0);
    assert_int_equal(rig->status.verdict.reason, REASON_EVENT_FILTERED);
    assert_int_equal(rig_series(rig, "container=\"a\""), 0);
    assert_int_equal(rig->fake.n_open, 0);
    assert_true(isnan(rig_value(rig, N("memory_reads"), "")));
    assert_true(isnan(rig_value(rig, N("memory_read_window_latency_seconds"), "")));
    rig_container(rig, "b"); /* and stays off */
    assert_int_not_equal(rig_tick(rig), 0);
}

RIG_TEST(without_file_descriptors_it_says_so_and_tries_again, setup)
{
    struct container *a = rig_container(rig, "a");
    verdict_set(&rig->fake.open_error, REASON_FD_LIMIT, "too many open files");
    rig_container(rig, "b");
    assert_int_equal(rig->status.verdict.reason, REASON_FD_LIMIT);
    assert_int_equal(rig->status.open_failures[REASON_FD_LIMIT], 1);
    rig_tick(rig);
    assert_int_equal(rig_series(rig, "container=\"b\""), 0); /* 0 would be a count */
    rig->fake.open_error.reason = REASON_OK;
    rig_end(rig, a);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    work(rig, "b", 10, 100);
    rig_tick(rig);
    assert_true(rig_value(rig, C("memory_reads"), "container=\"b\"") == 10);
}

/* An ended container's descriptors are free only after its last counts were read, which may be long
 * before the next container comes or goes. */
RIG_TEST(what_an_ended_container_frees_is_used_at_once, setup)
{
    struct container *a = rig_container(rig, "a");
    verdict_set(&rig->fake.open_error, REASON_FD_LIMIT, "too many open files");
    rig_container(rig, "b");
    rig_end(rig, a);
    assert_int_equal(rig->status.verdict.reason, REASON_FD_LIMIT);
    rig->fake.open_error.reason = REASON_OK; /* from when the first is closed */
    rig_tick(rig);
    assert_int_equal(rig->fake.n_open, 1);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    rig_tick(rig);
    assert_false(rig->status.wants_reconcile);
}

RIG_TEST(a_partly_counted_group_keeps_its_explanation, setup)
{
    struct container *a = rig_container(rig, "a");
    verdict_set(&rig->fake.check, REASON_OK, "counts without llc_reads");
    rig_tick(rig);
    assert_string_equal(rig->status.verdict.words, "counts without llc_reads");
    verdict_set(&rig->fake.open_error, REASON_FD_LIMIT, "too many open files");
    rig_container(rig, "b");
    rig_tick(rig);
    assert_string_equal(rig->status.verdict.words, "too many open files");
    rig->fake.open_error.reason = REASON_OK;
    rig_end(rig, a);
    assert_string_equal(rig->status.verdict.words, "counts without llc_reads");
}

/* The window after a failed read is as long as what it counted. */
RIG_TEST(a_failed_read_lengthens_the_next_window, setup)
{
    rig_container(rig, "a");
    window(rig, 1000, 100);
    work(rig, "a", 1000, 100);
    fake_group(&rig->fake, "a", GROUP_CORE)->read_error = -EIO;
    rig_tick(rig);
    work(rig, "a", 1000, 100);
    fake_group(&rig->fake, "a", GROUP_CORE)->read_error = 0;
    rig_tick(rig);
    assert_true(of_a(rig, C("memory_reads")) == 3000);
    assert_true(of_a(rig, C("memory_read_latency_observed_seconds")) == 3);
}

RIG_TEST(a_steady_tick_allocates_nothing, setup)
{
    if (!malloc_count_works())
        skip();
    rig_container(rig, "a");
    rig_container(rig, "b");
    for (int i = 0; i < 20; i++) {
        window(rig, 100000, 100);
    }
    uint64_t before = malloc_count();
    for (int i = 0; i < 20; i++) {
        window(rig, 100000, 100);
    }
    assert_int_equal(malloc_count() - before, 0);
}

/* ---- what people are shown ---- */

static int setup_live(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    assert_non_null(rig);
    rig_init(rig, &core_latency_collector);
    assert_int_equal(live_new(&rig->env.live), 0);
    assert_int_equal(live_reserve(rig->env.live, RIG_CONTAINERS), 0);
    rig->facts.machine.sockets = rig->facts.machine.numa_nodes = 2;
    for (int cpu = 0; cpu < 2; cpu++) {
        machine_place_cpu(&rig->facts.machine, cpu, cpu);
        machine_place_cpu_on_node(&rig->facts.machine, cpu, cpu);
    }
    rig_start(rig);
    *state = rig;
    return 0;
}

static int teardown_live(void **state)
{
    struct rig *rig = *state;
    struct live *live = rig->env.live;
    rig_teardown(state);
    live_free(live);
    return 0;
}

static const struct container *first_only(void *context)
{
    const struct container **next = context, *found = *next;
    *next = NULL;
    return found;
}

/* What people are shown of the first container after a tick. */
static struct live_container shown(struct rig *rig)
{
    const struct container *first = &rig->containers[0];
    struct live_view view;
    live_begin(rig->env.live);
    rig_tick(rig);
    live_show(rig->env.live, &rig->tick, first_only, &first);
    assert_int_equal(live_copy(rig->env.live, &view), 0);
    assert_int_equal(view.n, 1);
    struct live_container c = view.containers[0];
    live_view_release(&view);
    return c;
}

TEST_ON(what_people_are_shown_of_a_container, struct rig *rig, setup_live, teardown_live)
{
    rig_container(rig, "a");
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_CORE);
    struct live_container c = shown(rig);
    assert_false(c.socket_known);
    assert_null(c.normal_basis);
    assert_string_equal(c.why_no_normal, "idle");
    fake_window(g, 1, 1000000000u, {ROLE_L3_MISS_READS, 3000000}, {ROLE_LLC_READS, 4000000});
    work(rig, "a", 1000000, 124.5);
    c = shown(rig);
    assert_true(c.number[LIVE_READS_PER_SECOND] == 4e6);
    assert_true(c.number[LIVE_LLC_READS_PER_SECOND] == 4e6);
    assert_true(c.socket_known);
    assert_float_equal(c.socket_share[0], 0.25, 1e-6);
    assert_float_equal(c.socket_share[1], 0.75, 1e-6);
    for (int i = 0; i < 30; i++) {
        work(rig, "a", 1000000, 124.5);
        c = shown(rig);
    }
    assert_non_null(c.normal_basis);
    assert_string_equal(c.normal_basis, "calm");
    assert_null(c.why_no_normal);
    /* While it reads nothing, it is where it was. */
    fake_group_run(g, 1, 1000000000u);
    c = shown(rig);
    assert_true(c.socket_known && c.socket_share[0] == 1);
}
