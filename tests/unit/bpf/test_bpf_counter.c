/* A group counted on this machine's kernel: what it does where CPUs, events and memory fail. */
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/service/confine.h"
#include "tests/unit/support/bpf_rig.h"
#include "tests/unit/support/unit.h"

static bool is_open(const struct bpf_rig *rig)
{
    return rig->counter->events[rig->cpu].open;
}

static size_t sync_cpus(struct bpf_rig *rig)
{
    int err = 0;
    return bpf_counter_sync(rig->counter, &err);
}

static uint64_t counted(const struct bpf_rig *rig, uint32_t slot)
{
    return bpf_rig_read(rig, slot).count[0];
}

/* ---- CPUs ---- */

/* Its return may be before anybody looks at the list of CPUs again. */
static void test_gone_while_opening(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    rig->fake.gone = true;
    bpf_rig_start(rig);
    assert_false(is_open(rig));
    assert_true(rig->counter->retry);
    assert_int_equal(sync_cpus(rig), 0);
    assert_true(rig->counter->retry);
    rig->fake.gone = false;
    assert_int_equal(sync_cpus(rig), 0);
    assert_true(is_open(rig));
    assert_false(rig->counter->retry);
}

/* Events of a CPU that was away stay open, and stand. */
static void test_away_between_ticks(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    bpf_rig_start(rig);
    for (int i = 0; i < 3; i++) {
        bpf_rig_tick(rig);
        assert_true(is_open(rig));
        assert_false(rig->counter->retry);
    }
    assert_int_equal(
        ioctl(rig->counter->events[rig->cpu].fds[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP),
        0);
    bpf_rig_tick(rig); /* it ran for a part of this one */
    bpf_rig_tick(rig);
    assert_false(is_open(rig));
    assert_true(rig->counter->retry);
    assert_int_equal(sync_cpus(rig), 0);
    for (int i = 0; i < 3; i++) {
        assert_true(is_open(rig));
        assert_false(rig->counter->retry);
        bpf_rig_tick(rig);
    }
}

/* Its number is beyond the tables: said, once, and nothing of it is opened. */
static void test_a_cpu_that_could_not_be(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    char text[4096] = "", words[64];
    int at[2] = {rig->cpu, bpf_rig_cpus.possible};
    struct perf_cpus cpus = {.fd = -1, .n = 2, .cap = 2, .at = at};
    rig->counter->cpus = &cpus;
    bpf_rig_start(rig);
    assert_true(is_open(rig));
    snprintf(words, sizeof words, "CPU %d is online, which there could not be", at[1]);
    assert_true(pread(rig->log.fd, text, sizeof text - 1, 0) > 0);
    assert_non_null(strstr(text, words));
    off_t once = lseek(rig->log.fd, 0, SEEK_CUR);
    assert_int_equal(sync_cpus(rig), 0);
    assert_int_equal(lseek(rig->log.fd, 0, SEEK_CUR), once);
}

/* ---- containers ---- */

/* It is looked for at each depth down to that of the task, above which there are no containers. */
static void test_a_level_that_is_not_known(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    uint32_t slot = bpf_rig_add(rig, false);
    bpf_rig_start(rig);
    uint64_t before = counted(rig, slot);
    bpf_rig_fault(rig);
    assert_in_range(counted(rig, slot) - before, BPF_RIG_FAULTS, 3 * BPF_RIG_FAULTS / 2);
}

/* Which CPUs' cells the program has written since that was asked. */
static bool has_changed(const struct bpf_rig *rig, uint32_t slot)
{
    uint64_t cpus[CPU_SETSIZE / 64] = {0};
    assert_in_range(bpf_rig_cpus.possible, 1, CPU_SETSIZE);
    bpf_set_take_changed(rig->counter->set, slot, cpus);
    for (int i = 0; i < CPU_SETSIZE; i++) /* this process runs nowhere else */
        assert_true(i == rig->cpu || !(cpus[i / 64] >> i % 64 & 1));
    return cpus[rig->cpu / 64] >> rig->cpu % 64 & 1;
}

static void test_what_has_changed(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    uint32_t slot = bpf_rig_add(rig, true), other = bpf_rig_other(rig);
    bpf_rig_start(rig);
    for (int i = 0; i < 3; i++) {
        bpf_rig_tick(rig);
        assert_true(has_changed(rig, slot));
    }
    bpf_rig_leave();
    bpf_rig_tick(rig); /* until it left */
    (void)has_changed(rig, slot);
    bpf_rig_tick(rig);
    assert_false(has_changed(rig, slot));
    assert_false(has_changed(rig, other));
    assert_true(bpf_rig_move(rig, 0, true));
    bpf_rig_tick(rig);
    assert_true(has_changed(rig, slot));

    /* Whoever has the slot next finds nothing of it. */
    bpf_rig_tick(rig);
    bpf_rig_leave();
    bpf_counter_remove(rig->counter, slot, BPF_COUNTS);
    bpf_rig_tick(rig);
    assert_int_equal(bpf_rig_other(rig), slot);
    assert_false(has_changed(rig, slot));
}

/* A task that is moved while it runs: what it did until the tick before is the old container's, and
 * what it does from then on is not; only what lies between may be either's. */
static void test_moved_while_it_runs(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    uint32_t slot = bpf_rig_add(rig, true);
    bpf_rig_start(rig);
    uint64_t before = counted(rig, slot);
    bpf_rig_fault(rig);
    bpf_rig_tick(rig);
    bpf_rig_fault(rig);
    bpf_rig_leave();
    bpf_rig_fault(rig);
    bpf_rig_tick(rig);
    assert_in_range(counted(rig, slot) - before, BPF_RIG_FAULTS, 5 * BPF_RIG_FAULTS / 2);
}

/* What the map says of it stays until the program is run: an element that is used again while the
 * program reads it would credit another container. Its slot, too. */
static void test_closed_until_the_flush(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    uint32_t slot = bpf_rig_add(rig, true);
    bpf_rig_start(rig);
    uint32_t other = bpf_rig_other(rig); /* at the same depth, which is looked at further on */
    bpf_counter_remove(rig->counter, slot, BPF_COUNTS);
    uint64_t before = counted(rig, slot);
    bpf_rig_fault(rig);
    assert_in_range(counted(rig, slot) - before, BPF_RIG_FAULTS, 3 * BPF_RIG_FAULTS / 2);
    assert_int_equal(rig->counter->slots.used, 2);

    bpf_counter_flush(rig->counter);
    assert_int_equal(rig->counter->slots.used, 1);
    before = counted(rig, slot);
    bpf_rig_fault(rig);
    assert_int_equal(counted(rig, slot), before);
    bpf_counter_remove(rig->counter, other, BPF_COUNTS);
}

/* A cgroup that came right after another one had ended, with its ID, before that one was closed. */
static void test_an_id_used_again(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    uint32_t slot = bpf_rig_add(rig, true);
    bpf_rig_start(rig);
    bpf_rig_fault(rig);
    uint64_t before = counted(rig, slot);
    uint32_t again = bpf_rig_add(rig, true);
    bpf_rig_fault(rig);
    assert_in_range(counted(rig, again), BPF_RIG_FAULTS, 3 * BPF_RIG_FAULTS / 2);
    assert_in_range(counted(rig, slot) - before, 0, BPF_RIG_FAULTS / 2); /* until it was told */

    bpf_counter_remove(rig->counter, slot, BPF_COUNTS);
    bpf_counter_flush(rig->counter);
    bpf_rig_fault(rig);
    assert_in_range(counted(rig, again), 2 * BPF_RIG_FAULTS, 5 * BPF_RIG_FAULTS / 2);
}

/* ---- intervals that are nobody's ---- */

static void test_before_the_first_reading(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    rig->fake.ahead = true;
    uint32_t slot = bpf_rig_add(rig, true);
    bpf_rig_start(rig);
    assert_in_range(counted(rig, slot), 0, BPF_RIG_FAULTS / 2);
    bpf_rig_fault(rig);
    assert_in_range(counted(rig, slot), BPF_RIG_FAULTS, 3 * BPF_RIG_FAULTS / 2);
}

static void test_after_a_failed_reading(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    rig->fake.of_task = true;
    uint32_t slot = bpf_rig_add(rig, true);
    bpf_rig_start(rig);
    bpf_rig_fault(rig);
    uint64_t enabled_ns, running_ns;
    uint64_t before = counted(rig, slot), unread = bpf_set_lost(rig->counter->set).unread;
    usleep(20000); /* the task that is left for this one, be it the idle one, cannot read */
    assert_true(bpf_set_lost(rig->counter->set).unread > unread);
    bpf_set_clocks(rig->counter->set, rig->cpu, &enabled_ns, &running_ns);
    assert_true(enabled_ns > 0); /* as of the last one that succeeded */
    assert_in_range(counted(rig, slot), before, before + BPF_RIG_FAULTS / 2);
}

static void test_too_many_roles(void **state)
{
    const struct bpf_sizes sizes = {.roles = BPF_ROLES_MAX + 1, .slots = 1, .cpus = 1};
    struct bpf_set *set = NULL;
    struct verdict why;
    assert_int_equal(bpf_set_new(&sizes, &set, &why), -EINVAL);
    assert_null(set);
    assert_string_equal(why.words, "a BPF program counts 8 events at most, not 9");
}

static int try_program(size_t slots, struct verdict *why)
{
    const struct bpf_needs needs = {.slots = slots};
    bool knows_tasks;
    return bpf_counter_try(&bpf_rig_cpus, 7, &needs, &knows_tasks, why);
}

/* The tables' size is tried before anything depends on it. */
static void test_too_many_containers(void **state)
{
    struct verdict why;
    assert_int_equal(try_program(UINT32_MAX, &why), -ENOMEM);
    assert_non_null(strstr(why.words, "lower --containers.max"));
}

/* ---- a limit of memory ---- */

enum { LIMIT_MIB = 32, FEW = 100, MANY = 1000000, EXIT_SKIPPED = 77 };

/* This process, with as much above what it has. */
static bool limit_memory(const char *cgroup)
{
    static const char *const files[] = {"memory.max", "memory.limit_in_bytes"};
    char path[4400];
    bool limited = false;
    snprintf(path, sizeof path, "%s/cgroup.procs", cgroup);
    if (!bpf_rig_write(path, "0"))
        return false;
    for (size_t i = 0; i < 2 && !limited; i++) {
        char bytes[32];
        snprintf(path, sizeof path, "%s/%s", cgroup, files[i]);
        snprintf(bytes, sizeof bytes, "%d", LIMIT_MIB << 20);
        limited = bpf_rig_write(path, bytes);
    }
    return limited;
}

/* In a process that ends, for it cannot leave such a limit; which step failed. */
static int try_limited(const char *cgroup)
{
    const struct rlimit none = {0};
    struct verdict why;
    if (!limit_memory(cgroup))
        return EXIT_SKIPPED;
    if (setrlimit(RLIMIT_MEMLOCK, &none) != 0) /* a table is not what is locked */
        return 1;
    if (try_program(FEW, &why) != 0)
        return 2;
    if (try_program(MANY, &why) != -ENOMEM)
        return 3;
    if (!strstr(why.words, "raise the memory limit, or lower --containers.max"))
        return 4;
    return try_program(FEW, &why) == 0 ? 0 : 5; /* nothing was left behind */
}

/* The tables count towards the process's cgroup: it is refused, and goes on. */
static void test_a_limit_of_memory(void **state)
{
    (void)bpf_rig_of(state);
    char cgroup[4200];
    int status;
    if (!bpf_rig_controlled("memory", cgroup, sizeof cgroup))
        skip();
    pid_t child = fork();
    if (child == 0)
        _exit(try_limited(cgroup));
    assert_int_equal(waitpid(child, &status, 0), child);
    rmdir(cgroup);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == EXIT_SKIPPED)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* For good: the last of all. */
static void test_no_flush(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    char text[4096] = "";
    bpf_rig_start(rig);
    bpf_rig_tick(rig);
    assert_int_equal(lseek(rig->log.fd, 0, SEEK_CUR), 0);
    if (!confine_supported())
        skip();
    assert_true(confine_actions(0, false) & CONFINED_CALLS);
    bpf_rig_tick(rig);
    off_t once = lseek(rig->log.fd, 0, SEEK_CUR);
    assert_true(pread(rig->log.fd, text, sizeof text - 1, 0) > 0);
    assert_non_null(strstr(text, "does not run the program before a tick (EPERM)"));
    bpf_rig_tick(rig);
    assert_int_equal(lseek(rig->log.fd, 0, SEEK_CUR), once);
    assert_true(is_open(rig));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_many_roles),
        cmocka_unit_test(test_too_many_containers),
        cmocka_unit_test_setup_teardown(test_gone_while_opening, bpf_rig_setup, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_away_between_ticks, bpf_rig_setup, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_a_cpu_that_could_not_be, bpf_rig_setup,
                                        bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_a_level_that_is_not_known, bpf_rig_setup,
                                        bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_what_has_changed, bpf_rig_setup, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_moved_while_it_runs, bpf_rig_setup, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_closed_until_the_flush, bpf_rig_setup,
                                        bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_an_id_used_again, bpf_rig_setup, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_before_the_first_reading, bpf_rig_setup,
                                        bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_after_a_failed_reading, bpf_rig_setup,
                                        bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_a_limit_of_memory, bpf_rig_setup, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_no_flush, bpf_rig_setup, bpf_rig_teardown),
    };
    return cmocka_run_group_tests(tests, bpf_rig_setup_all, bpf_rig_teardown_all);
}
