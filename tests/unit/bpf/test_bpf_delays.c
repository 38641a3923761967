/*
 * How long tasks wait for a CPU, and who has it meanwhile, beside what the kernel says of them.
 *
 * Takes root, and a kernel that takes the program. Others may run on the machine: nothing here goes
 * by the clock alone.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/support/bpf_rig.h"
#include "tests/unit/support/unit.h"

enum { SPINNERS = 3, MANY = 8, MS = 1000000, WINDOW_MS = 600, ENOUGH_MS = 60, ROUNDS = 100 };

static void wait_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * MS};
    nanosleep(&pause, NULL);
}

/* A process where this one is that does nothing else, on this CPU. */
static pid_t spin(void)
{
    pid_t parent = getpid(), pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent)
        ;
    _exit(0);
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

struct delay {
    unsigned long long ns, runs;
};

/* As of when it had the CPU last. */
static struct delay schedstat_of(pid_t pid)
{
    char path[32];
    struct delay delay;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*u %llu %llu", &delay.ns, &delay.runs), 2);
    fclose(file);
    return delay;
}

/* Nobody else's task comes between two of the test's on a loaded machine, where a pair is of two
 * that follow each other: they take turns before all others, and this process looks before them.
 * Where a cgroup of v1 has no real time for them, they compete as everybody. */
static void before_all_others(const pid_t *pids, int n)
{
    const struct sched_param turn = {.sched_priority = 1}, first = {.sched_priority = 2};
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) != 0)
        return;
    for (int i = 0; i < n; i++)
        (void)sched_setscheduler(pids[i], SCHED_RR, &turn);
}

static void as_others(void)
{
    const struct sched_param none = {0};
    (void)sched_setscheduler(0, SCHED_OTHER, &none);
}

/* Begins to count one task here, where this process is, and two there: beside more than one the
 * other is not preempted. */
static void compete(struct bpf_rig *rig, pid_t pids[SPINNERS])
{
    pids[0] = spin();
    assert_true(bpf_rig_move(rig, 0, false));
    for (int i = 1; i < SPINNERS; i++)
        pids[i] = spin();
    bpf_rig_leave();
    before_all_others(pids, SPINNERS);
    bpf_rig_start(rig);
}

/* The other cgroup, counted as well; for its delays alone. */
static uint32_t add_other(struct bpf_rig *rig)
{
    struct bpf_cgroup cgroup;
    uint32_t slot;
    int fd = open(rig->other, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(bpf_cgroup_of(fd, &cgroup), 0);
    close(fd);
    assert_int_equal(bpf_counter_add(rig->counter, &cgroup, BPF_DELAYS, &slot), 0);
    return slot;
}

/* Skips where the kernel's tasks do not say it. */
static struct bpf_rig *rig_of(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    if (!bpf_set_counts_delays(rig->counter->set))
        skip();
    return rig;
}

/* Flushed first. */
static uint64_t waited(const struct bpf_rig *rig, uint32_t slot)
{
    assert_int_equal(bpf_set_flush(rig->counter->set, rig->cpu), 0);
    return bpf_set_waited(rig->counter->set, slot);
}

/* What pairs say since the flush before, of those who lost to others. */
static uint64_t taken(const struct bpf_rig *rig, uint32_t from, uint32_t by)
{
    struct bpf_pair pairs[BPF_PAIRS];
    uint64_t ns = 0;
    size_t n = bpf_set_take_pairs(rig->counter->set, rig->cpu, pairs);
    for (size_t i = 0; i < n; i++)
        if (pairs[i].from == from + 1 && (pairs[i].by == by + 1 || by == UINT32_MAX))
            ns += pairs[i].ns;
    return ns;
}

/* In a cgroup of their own on one CPU: what they waited is their container's, to what they have
 * waited since they came last, though switches between them are passed over. */
static void test_delays_of_tasks(void **state)
{
    struct bpf_rig *rig = rig_of(state);
    uint32_t slot = bpf_rig_add(rig, true);
    pid_t pids[MANY];
    bpf_rig_start(rig);
    for (int i = 0; i < MANY; i++)
        pids[i] = spin();
    bpf_rig_leave();
    wait_ms(WINDOW_MS / 2);
    uint64_t kernels = 0, before = 0, ours = waited(rig, slot);
    for (int i = 0; i < MANY; i++)
        before += schedstat_of(pids[i]).ns;
    wait_ms(WINDOW_MS);
    ours = waited(rig, slot) - ours;
    for (int i = 0; i < MANY; i++)
        kernels += schedstat_of(pids[i]).ns;
    kernels -= before;
    for (int i = 0; i < MANY; i++)
        end(pids[i]);
    /* All but one wait, whoever else is there; a slice of each may be on the other side of a
     * reading. */
    assert_in_range(kernels, WINDOW_MS * (uint64_t)MS, UINT64_MAX);
    assert_in_range(ours, kernels * 9 / 10, kernels * 11 / 10);
}

static struct delay delays_of(const pid_t *pids, int n)
{
    struct delay all = {0, UINT64_MAX};
    for (int i = 0; i < n; i++) {
        struct delay one = schedstat_of(pids[i]);
        all.ns += one.ns;
        all.runs = one.runs < all.runs ? one.runs : all.runs;
    }
    return all;
}

/* The first wait of a task is known; what one that was there before had waited is not its
 * container's. */
static void test_new_and_old_tasks(void **state)
{
    enum { BEFORE_MS = 4 * ENOUGH_MS };
    struct bpf_rig *rig = rig_of(state);
    uint32_t slot = bpf_rig_add(rig, true);
    pid_t old[SPINNERS];
    for (int i = 0; i < SPINNERS; i++)
        old[i] = spin();
    /* That is waited before anything counts. One that runs for the first time has only come. */
    struct delay before = delays_of(old, SPINNERS), after;
    for (int i = 0; i < ROUNDS && (before.runs < 2 || before.ns < BEFORE_MS * MS); i++) {
        wait_ms(10);
        before = delays_of(old, SPINNERS);
    }
    bpf_rig_start(rig);
    uint64_t ours;
    int rounds = 0;
    do { /* until it has waited for a while */
        wait_ms(10);
        ours = waited(rig, slot);
        after = delays_of(old, SPINNERS);
    } while (after.ns - before.ns < ENOUGH_MS * MS && ++rounds < ROUNDS);
    for (int i = 0; i < SPINNERS; i++)
        end(old[i]);
    bpf_rig_leave();
    assert_true(before.runs >= 2);
    assert_in_range(after.ns - before.ns, ENOUGH_MS * MS, UINT64_MAX);
    assert_in_range(before.ns, after.ns / 3, after.ns);
    assert_in_range(ours, 0, (after.ns - before.ns) * 5 / 4);
}

/* Each has the CPU while the other one wants it, and nobody of the two has it from himself. Of
 * whoever else has it nothing is asked. */
static void test_pairs(void **state)
{
    struct bpf_rig *rig = rig_of(state);
    if (!bpf_set_knows_takers(rig->counter->set))
        skip();
    uint32_t here = bpf_rig_add(rig, true), there = add_other(rig);
    pid_t pids[SPINNERS];
    compete(rig, pids);
    uint64_t lost = 0, back = 0, wrong = 0;
    for (int i = 0; i < ROUNDS && (lost < ENOUGH_MS * MS || back < ENOUGH_MS * MS); i++) {
        struct bpf_pair pairs[BPF_PAIRS];
        wait_ms(WINDOW_MS / 6);
        assert_int_equal(bpf_set_flush(rig->counter->set, rig->cpu), 0);
        size_t n = bpf_set_take_pairs(rig->counter->set, rig->cpu, pairs);
        for (size_t k = 0; k < n; k++) {
            lost += pairs[k].from == here + 1 && pairs[k].by == there + 1 ? pairs[k].ns : 0;
            back += pairs[k].from == there + 1 && pairs[k].by == here + 1 ? pairs[k].ns : 0;
            wrong += pairs[k].from == pairs[k].by || pairs[k].from > BPF_RIG_CONTAINERS;
        }
    }
    for (int i = 0; i < SPINNERS; i++)
        end(pids[i]);
    as_others();
    assert_in_range(lost, ENOUGH_MS * MS, UINT64_MAX);
    assert_in_range(back, ENOUGH_MS * MS, UINT64_MAX);
    assert_int_equal(wrong, 0);
    assert_int_equal(taken(rig, here, there), 0); /* once */
}

static bool set_quota(const char *cgroup)
{
    char path[4224];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", cgroup);
    return bpf_rig_write(path, "1000");
}

/* One that reaches its limit of CPU time in each period waits for nobody, though its task wants to
 * go on, and another one has the CPU next. It may be kept from it all the same in some periods. */
static void test_who_is_throttled_is_no_victim(void **state)
{
    enum { PERIODS = 20 };
    char limit[4160], path[4224], text[16];
    struct bpf_rig *rig = rig_of(state);
    uint32_t here = bpf_rig_add(rig, true);
    if (!bpf_set_knows_takers(rig->counter->set) || !bpf_rig_controlled("cpu", limit, sizeof limit))
        skip();
    bool limited = set_quota(limit);
    pid_t a = spin();
    snprintf(path, sizeof path, "%s/cgroup.procs", limit);
    snprintf(text, sizeof text, "%d", (int)a);
    limited = limited && bpf_rig_write(path, text);
    (void)add_other(rig);
    assert_true(bpf_rig_move(rig, 0, false));
    pid_t b = spin();
    bpf_rig_leave();
    bpf_rig_start(rig);
    uint64_t before = schedstat_of(a).ns;
    int kept = 0;
    for (int i = 0; i < PERIODS; i++) {
        wait_ms(100); /* a period */
        assert_int_equal(bpf_set_flush(rig->counter->set, rig->cpu), 0);
        kept += taken(rig, here, UINT32_MAX) > 0;
    }
    uint64_t delay = schedstat_of(a).ns - before;
    end(a);
    end(b);
    rmdir(limit);
    if (!limited)
        skip(); /* it is v2's here */
    assert_in_range(delay, PERIODS * 100 * (uint64_t)MS / 2, UINT64_MAX);
    assert_in_range(kept, 0, PERIODS / 2);
}

/* What was not read while its CPU was away, or between two flushes of a tick, is not that of the
 * next container that has the slot. */
static void test_pairs_of_the_one_before(void **state)
{
    struct bpf_rig *rig = rig_of(state);
    if (!bpf_set_knows_takers(rig->counter->set))
        skip();
    uint32_t here = bpf_rig_add(rig, true), there = add_other(rig);
    pid_t pids[SPINNERS];
    compete(rig, pids);
    uint64_t lost = 0;
    for (int i = 0; i < ROUNDS && lost == 0; i++) {
        wait_ms(WINDOW_MS / 6);
        assert_int_equal(bpf_set_flush(rig->counter->set, rig->cpu), 0);
        lost = taken(rig, here, there);
    }
    assert_true(lost > 0);
    wait_ms(WINDOW_MS); /* each has had its turn, and is in the table again */
    for (int i = 0; i < SPINNERS; i++)
        end(pids[i]);
    as_others();
    assert_int_equal(bpf_set_tell(rig->counter->set, UINT64_MAX, here), 0);
    assert_int_equal(bpf_set_flush(rig->counter->set, rig->cpu), 0);
    struct bpf_pair pairs[BPF_PAIRS];
    size_t n = bpf_set_take_pairs(rig->counter->set, rig->cpu, pairs);
    for (size_t i = 0; i < n; i++)
        assert_true(pairs[i].from != here + 1 && pairs[i].by != here + 1);
}

/* Who goes to sleep waits for nobody. */
static void test_who_sleeps_is_no_victim(void **state)
{
    struct bpf_rig *rig = rig_of(state);
    uint32_t here = bpf_rig_add(rig, true);
    (void)add_other(rig);
    assert_true(bpf_rig_move(rig, 0, false));
    pid_t b = spin();
    assert_true(bpf_rig_move(rig, 0, true));
    bpf_rig_start(rig);
    for (int i = 0; i < 100; i++)
        wait_ms(1);
    assert_int_equal(bpf_set_flush(rig->counter->set, rig->cpu), 0);
    uint64_t lost = taken(rig, here, UINT32_MAX);
    end(b);
    bpf_rig_leave();
    assert_in_range(lost, 0, 100 * (uint64_t)MS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_delays_of_tasks, bpf_rig_setup_delays,
                                        bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_new_and_old_tasks, bpf_rig_setup_delays,
                                        bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_pairs, bpf_rig_setup_delays, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_pairs, bpf_rig_setup_delays_by_task, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_who_is_throttled_is_no_victim, bpf_rig_setup_delays,
                                        bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_pairs_of_the_one_before, bpf_rig_setup_delays,
                                        bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_who_sleeps_is_no_victim, bpf_rig_setup_delays,
                                        bpf_rig_teardown),
    };
    return cmocka_run_group_tests(tests, bpf_rig_setup_all, bpf_rig_teardown_all);
}
