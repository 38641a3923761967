#include "tests/unit/support/fake_pmu.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { FIRST_FD = 5000, SELF_READ_NS = 1000000 };

static bool is_uncore(const struct perf_event_attr *attr)
{
    return attr->type >= FAKE_PMU_UNCORE_TYPE &&
           attr->type < FAKE_PMU_UNCORE_TYPE + FAKE_PMU_UNCORES;
}

static bool is_hardware(const struct perf_event_attr *attr)
{
    return attr->type == PERF_TYPE_RAW || is_uncore(attr);
}

uint64_t fake_pmu_rate(const struct perf_event_attr *attr)
{
    switch (attr->config) {
    case 0x3c:
        return 2;
    case 0x300:
        return 3;
    default:
        return 5 + attr->config % 11;
    }
}

/* Whether the group of 'leader' has a counter for each event, without or with what others hold. */
static bool fits(const struct fake_pmu *pmu, int leader, bool running)
{
    int general = 0, fixed_only = 0, uncore = 0;
    for (int i = 0; i < FAKE_PMU_EVENTS; i++) {
        const struct fake_event *event = &pmu->events[i];
        if (!event->used || event->leader != leader)
            continue;
        if (is_uncore(&event->attr))
            uncore++;
        if (event->attr.type != PERF_TYPE_RAW)
            continue;
        if (event->attr.config == 0x300)
            fixed_only++;
        else if (event->attr.config == 0x3c)
            general += running && pmu->watchdog;
        else
            general += event->attr.config != 0xc0;
    }
    general += running ? pmu->held : 0;
    return general <= pmu->general && fixed_only <= 1 && uncore <= pmu->box;
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
                   int cpu, unsigned long flags)
{
    bool cgroup = (flags & PERF_FLAG_PID_CGROUP) != 0;
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
    return 0;
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
    int err = refusal(pmu, attr, pid, cpu, flags);
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
    if (!fits(pmu, event->leader, false)) {
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
    return 0;
}

static uint64_t counted(const struct fake_pmu *pmu, const struct fake_event *event, uint64_t ns)
{
    if (is_uncore(&event->attr) && pmu->uncore_rate)
        return pmu->uncore_rate(pmu->uncore_context, &event->attr, event->cpu) * ns / 1000;
    return ns * fake_pmu_rate(&event->attr);
}

static void pass(struct fake_pmu *pmu, int leader, uint64_t ns, bool runs)
{
    if (!pmu->events[leader].enabled)
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

void fake_pmu_run(struct fake_pmu *pmu, uint64_t cgroup, int tid, int cpu, uint64_t ns)
{
    for (int i = 0; i < FAKE_PMU_EVENTS; i++) {
        const struct fake_event *event = &pmu->events[i];
        if (!event->used || event->leader != i || event->detached || is_uncore(&event->attr))
            continue;
        bool mine = tid ? event->pid == tid
                        : event->cpu == cpu && (cgroup ? event->cgroup == cgroup
                                                       : event->pid == -1 && !event->cgroup);
        if (mine)
            pass(pmu, i, ns, fits(pmu, i, true));
    }
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
        pass(pmu, event->leader, SELF_READ_NS, fits(pmu, event->leader, true));
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
