#include "tests/unit/support/bpf_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/source/bpf/task.h"

static char hierarchy[4096]; /* "": it is not of v2 */

static struct fsroot machine;
static struct bpf_task task_of_machine;

struct perf_cpus bpf_rig_cpus;

static cpu_set_t allowed;

/* ---- the kernel ---- */

static void fault(size_t page_size)
{
    volatile char *page =
        mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    for (int i = 0; i < BPF_RIG_FAULTS; i++) {
        page[0] = 1;
        madvise((void *)page, page_size, MADV_DONTNEED);
    }
    munmap((void *)page, page_size);
}

static int open_faults(void *context, const struct perf_event_attr *attr, pid_t pid, int cpu,
                       int group_fd, unsigned long flags)
{
    const struct bpf_rig_kernel *fake = context;
    struct perf_event_attr faults = *attr;
    faults.type = PERF_TYPE_SOFTWARE;
    faults.config = PERF_COUNT_SW_PAGE_FAULTS;
    if (fake->gone)
        return -ENODEV;
    if (fake->starved && pid < 0)
        return perf_kernel_linux.event_open(NULL, &faults, 0, fake->elsewhere, group_fd, flags);
    return perf_kernel_linux.event_open(NULL, &faults, fake->of_task ? 0 : pid, cpu, group_fd,
                                        flags);
}

static int enable(void *context, int fd)
{
    struct bpf_rig_kernel *fake = context;
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

bool bpf_rig_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    bool written = file && fprintf(file, "%s", text) > 0;
    return file && fclose(file) == 0 && written;
}

static bool move(const char *cgroup, pid_t pid)
{
    char path[4224], text[16];
    snprintf(path, sizeof path, "%s/cgroup.procs", cgroup);
    snprintf(text, sizeof text, "%d", (int)pid);
    return bpf_rig_write(path, text);
}

static bool enter(const char *cgroup)
{
    return move(cgroup, 0);
}

bool bpf_rig_controlled(const char *controller, char *out, size_t size)
{
    char mount[4096];
    if (cgroup_mount_find(&machine, controller, mount, sizeof mount) != 0)
        memcpy(mount, hierarchy, sizeof mount);
    int n = snprintf(out, size, "%s/ie-test-%d-bpf-%s", mount, (int)getpid(), controller);
    return mount[0] && (size_t)n < size && mkdir(out, 0755) == 0;
}

static void make_cgroups(struct bpf_rig *rig)
{
    char path[sizeof rig->cgroup];
    snprintf(rig->other, sizeof rig->other, "%s/ie-test-%d-bpf-other", hierarchy, (int)getpid());
    snprintf(path, sizeof path, "%s/ie-test-%d-bpf", hierarchy, (int)getpid());
    if (hierarchy[0] && mkdir(rig->other, 0755) == 0 && mkdir(path, 0755) == 0)
        memcpy(rig->cgroup, path, sizeof path);
}

static int set_up(void **state, const struct bpf_task *task, bool delays)
{
    const struct bpf_needs needs = {.slots = BPF_RIG_CONTAINERS, .task = *task, .delays = delays};
    struct bpf_rig *rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    *state = rig;
    struct verdict why;
    cpu_set_t one;
    rig->cpu = bpf_rig_cpus.at[0];
    rig->fake.elsewhere = bpf_rig_cpus.n > 1 && CPU_ISSET((size_t)bpf_rig_cpus.at[1], &allowed)
                              ? bpf_rig_cpus.at[1]
                              : -1;
    CPU_ZERO(&one);
    CPU_SET((size_t)rig->cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    rig->fake.page_size = (size_t)sysconf(_SC_PAGESIZE);
    rig->log = (struct log){.fd = memfd_create("log", MFD_CLOEXEC)};
    rig->kernel = (struct perf_kernel){
        .event_open = open_faults, .enable = enable, .close = close_event, .context = &rig->fake};
    rig->context = (struct perf_context){
        .fs = &machine, .log = &rig->log, .kernel = &rig->kernel, .fd_limit = SIZE_MAX};
    perf_ladder_init(&rig->ladder, &rig->context, &bpf_rig_cpus);
    rig->ladder.groups[GROUP_CPI].roles = rig->ladder.groups[GROUP_CPI].available =
        (1u << BPF_RIG_ROLES) - 1;
    for (int i = 0; i < ROLE_COUNT; i++)
        rig->ladder.events[i].encoded.software = true; /* no trial run is needed */
    make_cgroups(rig);
    int err = bpf_counter_new(&rig->context, &rig->ladder, &bpf_rig_cpus, GROUP_CPI, &needs,
                              &rig->counter, &why);
    if (err)
        printf("not here: %s\n", why.words);
    return 0;
}

const struct bpf_task *bpf_rig_task(void)
{
    return &task_of_machine;
}

int bpf_rig_setup(void **state)
{
    return set_up(state, &task_of_machine, false);
}

int bpf_rig_setup_unknowing(void **state)
{
    static const struct bpf_task unknown;
    return set_up(state, &unknown, false);
}

int bpf_rig_setup_delays(void **state)
{
    return set_up(state, &task_of_machine, true);
}

int bpf_rig_setup_delays_by_task(void **state)
{
    struct bpf_task task = task_of_machine;
    task.state_argument = 0;
    return set_up(state, &task, true);
}

int bpf_rig_teardown(void **state)
{
    struct bpf_rig *rig = *state;
    bpf_counter_free(rig->counter);
    if (hierarchy[0]) {
        enter(hierarchy);
        rmdir(rig->cgroup);
        rmdir(rig->other);
    }
    close(rig->log.fd);
    free(rig);
    return 0;
}

struct bpf_rig *bpf_rig_of(void **state)
{
    struct bpf_rig *rig = *state;
    if (!rig->counter)
        skip();
    return rig;
}

void bpf_rig_start(struct bpf_rig *rig)
{
    struct verdict why;
    assert_int_equal(bpf_counter_start(rig->counter, &why), 0);
}

void bpf_rig_tick(struct bpf_rig *rig)
{
    bpf_counter_flush(rig->counter);
    bpf_counter_account(rig->counter);
}

uint32_t bpf_rig_add(struct bpf_rig *rig, bool level_known)
{
    struct bpf_cgroup cgroup;
    uint32_t slot;
    if (!rig->cgroup[0] || !enter(rig->cgroup))
        skip();
    int fd = open(rig->cgroup, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(bpf_cgroup_of(fd, &cgroup), 0);
    close(fd);
    rig->level = cgroup.level;
    if (!level_known)
        cgroup.level = BPF_LEVEL_UNKNOWN;
    assert_int_equal(bpf_counter_add(rig->counter, &cgroup, BPF_COUNTS, &slot), 0);
    return slot;
}

bool bpf_rig_move(const struct bpf_rig *rig, pid_t pid, bool there)
{
    return move(there ? rig->cgroup : rig->other, pid);
}

void bpf_rig_leave(void)
{
    assert_true(enter(hierarchy));
}

bool bpf_rig_leave_too(pid_t pid)
{
    return move(hierarchy, pid);
}

uint32_t bpf_rig_other(struct bpf_rig *rig)
{
    const struct bpf_cgroup cgroup = {.id = UINT64_MAX, .level = rig->level};
    uint32_t slot;
    assert_int_equal(bpf_counter_add(rig->counter, &cgroup, BPF_COUNTS, &slot), 0);
    return slot;
}

void bpf_rig_fault(const struct bpf_rig *rig)
{
    fault(rig->fake.page_size);
}

struct bpf_cell bpf_rig_read(const struct bpf_rig *rig, uint32_t slot)
{
    struct bpf_cell cell;
    assert_int_equal(bpf_set_flush(rig->counter->set, rig->cpu), 0);
    assert_int_equal(bpf_set_read(rig->counter->set, slot, rig->cpu, &cell), 0);
    return cell;
}

/* ---- the machine ---- */

int bpf_rig_setup_all(void **state)
{
    (void)state;
    assert_int_equal(fsroot_init(&machine, NULL, NULL, NULL, NULL), 0);
    bpf_task_find(&machine, &task_of_machine);
    assert_int_equal(perf_cpus_init(&bpf_rig_cpus, &machine), 0);
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    struct cgroup_hierarchy found;
    char error[256];
    if (cgroup_hierarchy_find(&machine, &found, error, sizeof error) == 0 && found.version == 2)
        memcpy(hierarchy, found.path, sizeof hierarchy);
    return 0;
}

int bpf_rig_teardown_all(void **state)
{
    (void)state;
    perf_cpus_release(&bpf_rig_cpus);
    fsroot_release(&machine);
    return 0;
}
