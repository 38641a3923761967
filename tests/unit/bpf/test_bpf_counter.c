/*
 * A group counted on this machine's kernel: what it does where CPUs, events and memory fail.
 *
 * Takes root, and a kernel that takes the program; software events stand in for the PMU's.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/service/confine.h"
#include "exporter/source/bpf/counter.h"

enum { CONTAINERS = 4, ROLES = 3, FAULTS = 20000 };

/* The kernel, but that each event counts page faults, and what a test asks for. */
struct fake {
    bool gone;    /* CPUs are offline when their events are opened */
    bool of_task; /* events are of this task: nothing reads them while another one runs */
    bool ahead;   /* the next to be opened have counted FAULTS when they are first read */
    size_t page_size;
};

struct rig {
    struct fake fake;
    struct perf_kernel kernel;
    struct perf_context context;
    struct perf_ladder ladder;
    struct log log;
    struct bpf_counter *counter;
    int cpu;           /* where this process runs */
    char cgroup[4160]; /* "": none can be made */
};

static char hierarchy[4096]; /* "": it is not of v2 */

static struct perf_cpus cpus;

/* ---- the kernel ---- */

static void fault(size_t page_size)
{
    volatile char *page =
        mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    for (int i = 0; i < FAULTS; i++) {
        page[0] = 1;
        madvise((void *)page, page_size, MADV_DONTNEED);
    }
    munmap((void *)page, page_size);
}

static int open_faults(void *context, const struct perf_event_attr *attr, pid_t pid, int cpu,
                       int group_fd, unsigned long flags)
{
    const struct fake *fake = context;
    struct perf_event_attr faults = *attr;
    faults.type = PERF_TYPE_SOFTWARE;
    faults.config = PERF_COUNT_SW_PAGE_FAULTS;
    if (fake->gone)
        return -ENODEV;
    return perf_kernel_linux.event_open(NULL, &faults, fake->of_task ? 0 : pid, cpu, group_fd,
                                        flags);
}

static int enable(void *context, int fd)
{
    struct fake *fake = context;
    int err = perf_kernel_linux.enable(NULL, fd);
    if (fake->ahead)
        fault(fake->page_size);
    fake->ahead = false;
    return err;
}

static int close_event(void *context, int fd)
{
    (void)context;
    return perf_kernel_linux.close(NULL, fd);
}

/* ---- a group ---- */

static bool enter(const char *cgroup)
{
    char path[4224];
    snprintf(path, sizeof path, "%s/cgroup.procs", cgroup);
    FILE *file = fopen(path, "we");
    bool written = file && fprintf(file, "0") > 0;
    return file && fclose(file) == 0 && written;
}

static void make_cgroup(struct rig *rig)
{
    char path[sizeof rig->cgroup];
    snprintf(path, sizeof path, "%s/ie-test-bpf-%d", hierarchy, (int)getpid());
    if (hierarchy[0] && mkdir(path, 0755) == 0)
        memcpy(rig->cgroup, path, sizeof path);
}

static int setup_rig(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    *state = rig;
    struct verdict why;
    cpu_set_t one;
    rig->cpu = cpus.at[0];
    CPU_ZERO(&one);
    CPU_SET((size_t)rig->cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    rig->fake.page_size = (size_t)sysconf(_SC_PAGESIZE);
    rig->log = (struct log){.fd = memfd_create("log", MFD_CLOEXEC)};
    rig->kernel = (struct perf_kernel){
        .event_open = open_faults, .enable = enable, .close = close_event, .context = &rig->fake};
    rig->context =
        (struct perf_context){.log = &rig->log, .kernel = &rig->kernel, .fd_limit = SIZE_MAX};
    perf_ladder_init(&rig->ladder, &rig->context, &cpus);
    rig->ladder.groups[GROUP_CPI].roles = rig->ladder.groups[GROUP_CPI].available =
        (1u << ROLES) - 1;
    make_cgroup(rig);
    int err = bpf_counter_new(&rig->context, &rig->ladder, &cpus, GROUP_CPI, CONTAINERS,
                              &rig->counter, &why);
    if (err)
        printf("not here: %s\n", why.words);
    return 0;
}

static int teardown_rig(void **state)
{
    struct rig *rig = *state;
    bpf_counter_free(rig->counter);
    if (rig->cgroup[0]) {
        enter(hierarchy);
        rmdir(rig->cgroup);
    }
    close(rig->log.fd);
    free(rig);
    return 0;
}

static struct rig *rig_of(void **state)
{
    struct rig *rig = *state;
    if (!rig->counter)
        skip();
    return rig;
}

static void start(struct rig *rig)
{
    struct verdict why;
    assert_int_equal(bpf_counter_start(rig->counter, &why), 0);
}

static bool is_open(const struct rig *rig)
{
    return rig->counter->events[rig->cpu].open;
}

static void tick(struct rig *rig)
{
    bpf_counter_flush(rig->counter);
    bpf_counter_account(rig->counter);
}

static size_t sync_cpus(struct rig *rig)
{
    int err = 0;
    return bpf_counter_sync(rig->counter, &err);
}

/* A cgroup of its own for this process, counted; its slot. */
static uint32_t add_own(struct rig *rig, bool level_known)
{
    struct bpf_place place;
    uint32_t slot;
    if (!rig->cgroup[0] || !enter(rig->cgroup))
        skip();
    int fd = open(rig->cgroup, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(bpf_place_of(fd, &place), 0);
    close(fd);
    if (!level_known)
        place.level = BPF_LEVEL_UNKNOWN;
    assert_int_equal(bpf_counter_add(rig->counter, &place, &slot), 0);
    return slot;
}

static uint64_t counted(const struct rig *rig, uint32_t slot)
{
    struct bpf_cell cell;
    assert_int_equal(bpf_set_flush(rig->counter->set, rig->cpu), 0);
    assert_int_equal(bpf_set_read(rig->counter->set, slot, rig->cpu, &cell), 0);
    return cell.count[0];
}

/* ---- CPUs ---- */

/* Its return may be before anybody looks at the list of CPUs again. */
static void test_gone_while_opening(void **state)
{
    struct rig *rig = rig_of(state);
    rig->fake.gone = true;
    start(rig);
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
    struct rig *rig = rig_of(state);
    start(rig);
    for (int i = 0; i < 3; i++) {
        tick(rig);
        assert_true(is_open(rig));
        assert_false(rig->counter->retry);
    }
    assert_int_equal(
        ioctl(rig->counter->events[rig->cpu].fds[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP),
        0);
    tick(rig); /* it ran for a part of this one */
    tick(rig);
    assert_false(is_open(rig));
    assert_true(rig->counter->retry);
    assert_int_equal(sync_cpus(rig), 0);
    for (int i = 0; i < 3; i++) {
        assert_true(is_open(rig));
        assert_false(rig->counter->retry);
        tick(rig);
    }
}

/* ---- containers ---- */

/* It is looked for at each depth down to that of the task, above which there are no containers. */
static void test_a_level_that_is_not_known(void **state)
{
    struct rig *rig = rig_of(state);
    uint32_t slot = add_own(rig, false);
    start(rig);
    uint64_t before = counted(rig, slot);
    fault(rig->fake.page_size);
    assert_in_range(counted(rig, slot) - before, FAULTS, 3 * FAULTS / 2);
}

/* ---- intervals that are nobody's ---- */

static void test_before_the_first_reading(void **state)
{
    struct rig *rig = rig_of(state);
    rig->fake.ahead = true;
    uint32_t slot = add_own(rig, true);
    start(rig);
    assert_in_range(counted(rig, slot), 0, FAULTS / 2);
    fault(rig->fake.page_size);
    assert_in_range(counted(rig, slot), FAULTS, 3 * FAULTS / 2);
}

static void test_after_a_failed_reading(void **state)
{
    struct rig *rig = rig_of(state);
    rig->fake.of_task = true;
    uint32_t slot = add_own(rig, true);
    start(rig);
    fault(rig->fake.page_size);
    uint64_t enabled_ns, running_ns;
    uint64_t before = counted(rig, slot), unread = bpf_set_unread(rig->counter->set);
    usleep(20000); /* the task that is left for this one, be it the idle one, cannot read */
    assert_true(bpf_set_unread(rig->counter->set) > unread);
    bpf_set_clocks(rig->counter->set, rig->cpu, &enabled_ns, &running_ns);
    assert_true(enabled_ns > 0); /* as of the last one that succeeded */
    assert_in_range(counted(rig, slot), before, before + FAULTS / 2);
}

static void test_too_many_roles(void **state)
{
    (void)state;
    struct bpf_set *set = NULL;
    struct verdict why;
    assert_int_equal(bpf_set_new(BPF_ROLES_MAX + 1, 1, 1, &set, &why), -EINVAL);
    assert_null(set);
    assert_string_equal(why.words, "a BPF program counts 8 events at most, not 9");
}

/* The tables' size is tried before anything depends on it. */
static void test_too_many_containers(void **state)
{
    (void)state;
    struct verdict why;
    assert_int_equal(bpf_counter_try(&cpus, 7, UINT32_MAX, &why), -ENOMEM);
    assert_non_null(strstr(why.words, "lower --containers.max"));
}

/* For good: the last of all. */
static void test_no_flush(void **state)
{
    struct rig *rig = rig_of(state);
    char text[4096] = "";
    start(rig);
    tick(rig);
    assert_int_equal(lseek(rig->log.fd, 0, SEEK_CUR), 0);
    if (!confine_supported())
        skip();
    assert_true(confine_actions(0, false) & CONFINED_CALLS);
    tick(rig);
    off_t once = lseek(rig->log.fd, 0, SEEK_CUR);
    assert_true(pread(rig->log.fd, text, sizeof text - 1, 0) > 0);
    assert_non_null(strstr(text, "does not run the program before a tick (EPERM)"));
    tick(rig);
    assert_int_equal(lseek(rig->log.fd, 0, SEEK_CUR), once);
    assert_true(is_open(rig));
}

static int setup(void **state)
{
    (void)state;
    struct fsroot fs;
    assert_int_equal(fsroot_init(&fs, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(perf_cpus_init(&cpus, &fs), 0);
    struct cgroup_hierarchy found;
    char error[256];
    if (cgroup_hierarchy_find(&fs, &found, error, sizeof error) == 0 && found.version == 2)
        memcpy(hierarchy, found.path, sizeof hierarchy);
    fsroot_release(&fs);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    perf_cpus_release(&cpus);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_many_roles),
        cmocka_unit_test(test_too_many_containers),
        cmocka_unit_test_setup_teardown(test_gone_while_opening, setup_rig, teardown_rig),
        cmocka_unit_test_setup_teardown(test_away_between_ticks, setup_rig, teardown_rig),
        cmocka_unit_test_setup_teardown(test_a_level_that_is_not_known, setup_rig, teardown_rig),
        cmocka_unit_test_setup_teardown(test_before_the_first_reading, setup_rig, teardown_rig),
        cmocka_unit_test_setup_teardown(test_after_a_failed_reading, setup_rig, teardown_rig),
        cmocka_unit_test_setup_teardown(test_no_flush, setup_rig, teardown_rig),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
