#include "tests/unit/support/fake_pmu.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { FIRST_FD = 5000, SELF_READ_NS = 1000000, REF_CYCLES = 0x300 };

static bool is_uncore(const struct perf_event_attr *attr)
{
    return attr->type >= FAKE_PMU_UNCORE_TYPE &&
           attr->type < FAKE_PMU_UNCORE_TYPE + FAKE_PMU_UNCORES;
}

static bool is_hardware(const struct perf_event_attr *attr)
{
    return attr->type == PERF_TYPE_RAW || attr->type == PERF_TYPE_HARDWARE || is_uncore(attr);
}

uint64_t fake_pmu_rate(const struct perf_event_attr *attr)
{
    switch (attr->config) {
    case 0x3c:
        return 2;
    case REF_CYCLES:
        return 3;
    default:
        return 5 + attr->config % 11;
    }
}

/* The counters of a core. Fixed ones hold one event each: 0 instructions, 1 cycles, 2 ref_cycles.
 */
struct core_counters {
    bool fixed[3];
    int general; /* free ones */
};

/* The fixed counter of an event, or -1. ref_cycles have no other. */
static int fixed_counter(const struct perf_event_attr *attr)
{
    switch (attr->config) {
    case 0xc0:
        return 0;
    case 0x3c:
        return 1;
    case REF_CYCLES:
        return 2;
    default:
        return -1;
    }
}

/* Gives all events of a group a counter, or none. */
static bool take_counters(const struct fake_pmu *pmu, int leader, struct core_counters *counters)
{
    struct core_counters left = *counters;
    for (int i = 0; i < FAKE_PMU_EVENTS; i++) {
        const struct fake_event *event = &pmu->events[i];
        if (!event->used || event->leader != leader || event->attr.type != PERF_TYPE_RAW)
            continue;
        int fixed = pmu->no_fixed ? -1 : fixed_counter(&event->attr);
        if (fixed >= 0 && !left.fixed[fixed])
            left.fixed[fixed] = true;
        else if (event->attr.config == REF_CYCLES || left.general-- <= 0)
            return false;
    }
    *counters = left;
    return true;
}

/* Whether a PMU that nobody else uses has room for the group. */
static bool fits(const struct fake_pmu *pmu, int leader)
{
    struct core_counters all = {.general = pmu->general};
    int uncore = 0;
    for (int i = 0; i < FAKE_PMU_EVENTS; i++) {
        const struct fake_event *event = &pmu->events[i];
        uncore += event->used && event->leader == leader && is_uncore(&event->attr);
    }
    return uncore <= pmu->box && take_counters(pmu, leader, &all);
}

static int find_free(const struct fake_pmu *pmu)
{
    for (int i = 0; i < FAKE_PMU_EVENTS; i++)
        if (!pmu->events[i].used)
            return i;
    return -EMFILE;
}

static struct fake_event *event_of(struct fake_pmu *pmu, int fd)
{
    int i = fd - FIRST_FD;
    if (i < 0 || i >= FAKE_PMU_EVENTS || !pmu->events[i].used) {
        pmu->misuse++;
        return NULL;
    }
    return &pmu->events[i];
}

static int refusal(const struct fake_pmu *pmu, const struct perf_event_attr *attr, pid_t pid,
                   int cpu, bool is_member, unsigned long flags)
{
    bool cgroup = (flags & PERF_FLAG_PID_CGROUP) != 0;
    if (attr->pinned && is_member)
        return -EINVAL;
    if (attr->size < PERF_ATTR_SIZE_VER0 || (cgroup && cpu < 0) || (pid == -1 && cpu < 0))
        return -EINVAL;
    if (pmu->error)
        return pmu->error;
    if (pmu->system_wide_error && (cgroup || pid == -1))
        return pmu->system_wide_error;
    if (pmu->cgroup_error && cgroup)
        return pmu->cgroup_error;
    if (cpu >= FAKE_PMU_CPUS)
        return -EINVAL;
    if (cpu >= 0 && !pmu->online[cpu])
        return -ENODEV;
    if (pmu->no_pmu && is_hardware(attr))
        return -ENOENT;
    if (is_uncore(attr) && (pid != -1 || attr->exclude_kernel))
        return -EINVAL;
    return pmu->event_error ? pmu->event_error(pmu->uncore_context, attr) : 0;
}

static int cgroup_of(pid_t pid, unsigned long flags, uint64_t *out)
{
    struct stat st;
    *out = 0;
    if (!(flags & PERF_FLAG_PID_CGROUP))
        return 0;
    if (fstat(pid, &st) || !S_ISDIR(st.st_mode))
        return -EBADF;
    *out = st.st_ino;
    return 0;
}

static int fake_open(void *context, const struct perf_event_attr *attr, pid_t pid, int cpu,
                     int group_fd, unsigned long flags)
{
    struct fake_pmu *pmu = context;
    uint64_t cgroup;
    int err = refusal(pmu, attr, pid, cpu, group_fd >= 0, flags);
    if (!err)
        err = cgroup_of(pid, flags, &cgroup);
    if (err)
        return err;
    if (pmu->fail_open > 0 && --pmu->fail_open == 0)
        return -EMFILE;
    int i = find_free(pmu);
    if (i < 0)
        return i;
    struct fake_event *event = &pmu->events[i];
    *event = (struct fake_event){.used = true, .attr = *attr, .cgroup = cgroup, .cpu = cpu};
    event->pid = cgroup ? 0 : pid;
    event->leader = i;
    event->enabled = !attr->disabled;
    if (group_fd >= 0) {
        struct fake_event *leader = event_of(pmu, group_fd);
        if (!leader || leader->leader != group_fd - FIRST_FD || leader->cgroup != cgroup ||
            leader->cpu != cpu || leader->pid != event->pid) {
            pmu->misuse++;
            event->used = false;
            return -EINVAL;
        }
        event->leader = leader->leader;
    }
    if (!fits(pmu, event->leader)) {
        event->used = false;
        return -EINVAL;
    }
    pmu->open++;
    pmu->opens++;
    return FIRST_FD + i;
}

static int fake_enable(void *context, int fd)
{
    struct fake_event *event = event_of(context, fd);
    if (!event)
        return -EBADF;
    event->enabled = true;
    event->failed = false;
    return 0;
}

static uint64_t counted(const struct fake_pmu *pmu, const struct fake_event *event, uint64_t ns)
{
    bool uncore = is_uncore(&event->attr);
    if (uncore && pmu->uncore_silent)
        return 0;
    if (uncore && pmu->uncore_rate)
        return pmu->uncore_rate(pmu->uncore_context, &event->attr, event->cpu) * ns / 1000;
    if (!uncore && pmu->core_rate)
        return pmu->core_rate(pmu->uncore_context, &event->attr, event->cpu) * ns / 1000;
    return ns * fake_pmu_rate(&event->attr);
}

static void pass(struct fake_pmu *pmu, int leader, uint64_t ns, bool runs)
{
    if (!pmu->events[leader].enabled || pmu->events[leader].failed)
        return;
    for (int i = 0; i < FAKE_PMU_EVENTS; i++) {
        struct fake_event *event = &pmu->events[i];
        if (!event->used || event->leader != leader || !event->enabled)
            continue;
        event->enabled_ns += ns;
        if (!runs)
            continue;
        event->running_ns += ns;
        if (!pmu->filtered)
            event->count += counted(pmu, event, ns);
    }
}

/* One box: its groups in the order of their opening, another one first at each turn; what follows
 * the first that does not fit waits. */
static void run_box(struct fake_pmu *pmu, uint32_t type, int cpu, uint64_t ns)
{
    int leaders[FAKE_PMU_EVENTS], size[FAKE_PMU_EVENTS] = {0}, n = 0;
    for (int i = 0; i < FAKE_PMU_EVENTS; i++) {
        const struct fake_event *event = &pmu->events[i];
        if (!event->used || event->attr.type != type || event->cpu != cpu)
            continue;
        size[event->leader]++;
        if (event->leader == i)
            leaders[n++] = i;
    }
    for (uint64_t now = pmu->uncore_ns[cpu], end = now + ns; n > 0 && now < end;) {
        uint64_t turn = now / FAKE_PMU_TURN_NS, until = (turn + 1) * FAKE_PMU_TURN_NS;
        int free = pmu->box - pmu->box_held, used = 0;
        bool fit = true;
        if (until > end)
            until = end;
        for (int i = 0; i < n; i++) {
            int leader = leaders[(turn + (uint64_t)i) % (uint64_t)n];
            fit = fit && used + size[leader] <= free;
            used += fit ? size[leader] : 0;
            pass(pmu, leader, until - now, fit);
        }
        if (used > pmu->box_peak)
            pmu->box_peak = used;
        now = until;
    }
}

static void run_boxes(struct fake_pmu *pmu, int cpu, uint64_t ns)
{
    for (uint32_t i = 0; i < FAKE_PMU_UNCORES; i++)
        run_box(pmu, FAKE_PMU_UNCORE_TYPE + i, cpu, ns);
    pmu->uncore_ns[cpu] += ns;
}

/* What runs on a CPU: a thread, a cgroup, or a thread of a cgroup. */
struct runner {
    uint64_t cgroup;
    int tid; /* 0: none; OURSELVES */
    int cpu;
};

enum { OURSELVES = -1 };

static bool in_cpu_context(const struct fake_event *event, const struct runner *runner)
{
    if (event->cpu != runner->cpu)
        return false;
    return event->cgroup ? event->cgroup == runner->cgroup : event->pid == -1;
}

static bool in_task_context(const struct fake_event *event, const struct runner *runner)
{
    if (event->cgroup || event->cpu != -1 || !runner->tid)
        return false;
    return event->pid == (runner->tid == OURSELVES ? 0 : runner->tid);
}

/* The groups of a context, pinned or not, in the order of their opening. */
static int groups_of(const struct fake_pmu *pmu, const struct runner *runner, bool task,
                     bool pinned, int *leaders)
{
    int n = 0;
    for (int i = 0; i < FAKE_PMU_EVENTS; i++) {
        const struct fake_event *event = &pmu->events[i];
        if (event->used && event->leader == i && event->enabled && !event->failed &&
            !event->detached && !is_uncore(&event->attr) && event->attr.pinned == pinned &&
            (task ? in_task_context : in_cpu_context)(event, runner))
            leaders[n++] = i;
    }
    return n;
}

/* A pinned group that does not fit fails for good; others are tried. */
static void run_pinned(struct fake_pmu *pmu, const struct runner *runner, bool task,
                       struct core_counters *counters, uint64_t ns)
{
    int leaders[FAKE_PMU_EVENTS], n = groups_of(pmu, runner, task, true, leaders);
    for (int i = 0; i < n; i++) {
        if (take_counters(pmu, leaders[i], counters))
            pass(pmu, leaders[i], ns, true);
        else
            pmu->events[leaders[i]].failed = true;
    }
}

/* What follows the first that does not fit waits, and another one is first at the next turn: each
 * context has turns of its own, and only if its own groups wait. */
static void run_flexible(struct fake_pmu *pmu, const struct runner *runner, bool task,
                         struct core_counters *counters, uint64_t ns, bool turn_ends)
{
    int leaders[FAKE_PMU_EVENTS], n = groups_of(pmu, runner, task, false, leaders);
    unsigned *turn = task ? &pmu->task_turn : &pmu->cpu_turn[runner->cpu];
    bool fit = true;
    for (int i = 0; i < n; i++) {
        int leader = leaders[(*turn + (unsigned)i) % (unsigned)n];
        fit = fit && take_counters(pmu, leader, counters);
        pass(pmu, leader, ns, fit);
    }
    *turn += !fit && turn_ends;
}

/* The kernel's order: of the CPU's context and the task's the pinned groups, then the others. */
static void run_core(struct fake_pmu *pmu, const struct runner *runner, uint64_t ns)
{
    uint64_t *now = &pmu->core_ns[runner->cpu];
    for (uint64_t end = *now + ns; *now < end;) {
        uint64_t until = (*now / FAKE_PMU_TURN_NS + 1) * FAKE_PMU_TURN_NS;
        bool turn_ends = until <= end;
        struct core_counters counters = {.general = pmu->general - pmu->held,
                                         .fixed[1] = pmu->watchdog};
        if (!turn_ends)
            until = end;
        run_pinned(pmu, runner, false, &counters, until - *now);
        run_pinned(pmu, runner, true, &counters, until - *now);
        run_flexible(pmu, runner, false, &counters, until - *now, turn_ends);
        run_flexible(pmu, runner, true, &counters, until - *now, turn_ends);
        *now = until;
    }
}

void fake_pmu_run(struct fake_pmu *pmu, uint64_t cgroup, int tid, int cpu, uint64_t ns)
{
    const struct runner runner = {.cgroup = cgroup, .tid = tid, .cpu = cpu};
    run_core(pmu, &runner, ns);
    if (!tid && !cgroup)
        run_boxes(pmu, cpu, ns);
}

static ssize_t fake_read(void *context, int fd, void *buffer, size_t size)
{
    struct fake_pmu *pmu = context;
    struct fake_event *event = event_of(pmu, fd);
    uint64_t raw[3 + 16];
    size_t n = 3;
    if (!event)
        return -EBADF;
    if (pmu->fail_read_cpu >= 0 && event->cpu == pmu->fail_read_cpu)
        return -EIO;
    int self = (int)(event - pmu->events);
    if (event->pid == 0 && !event->cgroup && event->cpu == -1)
        run_core(pmu, &(struct runner){.tid = OURSELVES, .cgroup = pmu->own_cgroup}, SELF_READ_NS);
    if (event->failed)
        return 0;
    raw[1] = event->enabled_ns;
    raw[2] = event->running_ns;
    raw[n++] = event->count;
    for (int i = 0; i < FAKE_PMU_EVENTS && event->leader == self && n < 19; i++)
        if (i != self && pmu->events[i].used && pmu->events[i].leader == self)
            raw[n++] = pmu->events[i].count;
    raw[0] = n - 3;
    if (size < n * sizeof *raw)
        return -ENOSPC;
    memcpy(buffer, raw, n * sizeof *raw);
    return (ssize_t)(n * sizeof *raw);
}

static int fake_close(void *context, int fd)
{
    struct fake_pmu *pmu = context;
    struct fake_event *event = event_of(pmu, fd);
    if (!event)
        return -EBADF;
    int self = (int)(event - pmu->events);
    for (int i = 0; i < FAKE_PMU_EVENTS; i++)
        if (i != self && pmu->events[i].used && pmu->events[i].leader == self)
            pmu->misuse++; /* members left behind */
    event->used = false;
    pmu->open--;
    return 0;
}

const struct fake_event *fake_pmu_event(const struct fake_pmu *pmu, int fd)
{
    int i = fd - FIRST_FD;
    return i >= 0 && i < FAKE_PMU_EVENTS && pmu->events[i].used ? &pmu->events[i] : NULL;
}

void fake_pmu_set_online(struct fake_pmu *pmu, int cpu, bool online)
{
    pmu->online[cpu] = online;
    for (int i = 0; i < FAKE_PMU_EVENTS && !online; i++) {
        struct fake_event *event = &pmu->events[i];
        if (!event->used || event->cpu != cpu || is_uncore(&event->attr))
            continue;
        event->leader = i;
        event->detached = true;
        event->enabled = false;
    }
}

void fake_pmu_init(struct fake_pmu *pmu)
{
    *pmu = (struct fake_pmu){.general = 4, .box = 4, .fail_read_cpu = -1};
    pmu->kernel = (struct perf_kernel){
        .event_open = fake_open,
        .enable = fake_enable,
        .read = fake_read,
        .close = fake_close,
        .context = pmu,
    };
    for (int i = 0; i < FAKE_PMU_CPUS; i++)
        pmu->online[i] = i < 2;
}
