#include "exporter/source/perf/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/source/perf/detect.h"
#include "exporter/source/perf/group.h"

static void explain_access(const char *what, int paranoid, struct verdict *out)
{
    if (paranoid > 2)
        verdict_set(out, REASON_NO_PERMISSION,
                    "%s: no permission (EACCES): kernel.perf_event_paranoid is %d, a setting of "
                    "Debian and Ubuntu that requires CAP_SYS_ADMIN; grant that, or set sysctl "
                    "kernel.perf_event_paranoid=2 and grant CAP_PERFMON",
                    what, paranoid);
    else if (paranoid == PERF_PARANOID_UNKNOWN)
        verdict_set(out, REASON_NO_PERMISSION,
                    "%s: no permission (EACCES): grant CAP_PERFMON (CAP_SYS_ADMIN before Linux "
                    "5.8), or lower sysctl kernel.perf_event_paranoid",
                    what);
    else
        verdict_set(out, REASON_NO_PERMISSION,
                    "%s: no permission (EACCES): kernel.perf_event_paranoid is %d and CAP_PERFMON "
                    "(CAP_SYS_ADMIN before Linux 5.8) is missing; grant it, or set the sysctl to "
                    "-1",
                    what, paranoid);
}

void perf_explain(int err, const char *what, int paranoid, struct verdict *out)
{
    switch (err < 0 ? -err : err) {
    case 0:
        verdict_clear(out);
        return;
    case ENOENT:
    case ENXIO:
    case EOPNOTSUPP:
        verdict_set(out, REASON_NO_PMU,
                    "%s: this machine has no such hardware counter (%s): most virtual machines "
                    "hide the PMU; use bare metal or an instance type that has one",
                    what, strerrorname_np(err < 0 ? -err : err));
        return;
    case EACCES:
        explain_access(what, paranoid, out);
        return;
    case EPERM:
        verdict_set(out, REASON_NO_PERMISSION,
                    "%s: perf_event_open is forbidden (EPERM), usually by a seccomp profile or a "
                    "security module: allow it in the container's profile, and grant CAP_PERFMON",
                    what);
        return;
    case EMFILE:
        verdict_set(
            out, REASON_FD_LIMIT,
            "%s: no file descriptors left (EMFILE): counters need containers x CPUs x events "
            "descriptors; raise LimitNOFILE= or ulimit -n, or lower --containers.max",
            what);
        return;
    case ENFILE:
        verdict_set(out, REASON_FD_LIMIT,
                    "%s: the whole machine is out of file descriptors (ENFILE): raise sysctl "
                    "fs.file-max",
                    what);
        return;
    case ENODEV:
        verdict_set(out, REASON_NO_DEVICE,
                    "%s: the CPU or device is not there (ENODEV): it is offline, or this machine "
                    "does not have it",
                    what);
        return;
    case ESRCH:
        verdict_set(out, REASON_NO_DEVICE, "%s: the thread has ended (ESRCH)", what);
        return;
    case ENOSYS:
        verdict_set(out, REASON_NO_PMU,
                    "%s: this kernel was built without perf events (ENOSYS, CONFIG_PERF_EVENTS)",
                    what);
        return;
    case EBUSY:
        verdict_set(out, REASON_NO_DEVICE,
                    "%s: another program has exclusive use of the PMU (EBUSY): end that profiler",
                    what);
        return;
    case EINVAL:
        verdict_set(
            out, REASON_UNSUPPORTED_CPU,
            "%s: the kernel rejects the events (EINVAL): this CPU or kernel cannot count them, "
            "cannot count them together, or cannot count them per cgroup (CONFIG_CGROUP_PERF)",
            what);
        return;
    default:
        verdict_set(out, REASON_NO_DEVICE, "%s: %s", what, strerror(err < 0 ? -err : err));
    }
}

static bool has_device(const struct fsroot *fs, const char *device)
{
    char path[96];
    uint64_t type;
    snprintf(path, sizeof path, "bus/event_source/devices/%s/type", device);
    return fsroot_read_u64(fs, FSROOT_SYS, path, &type) == 0;
}

/* False where sysfs shows no devices at all: then nothing is known. */
static bool lacks_pmu(const struct fsroot *fs)
{
    return has_device(fs, "software") && !cpu_has_pmu(fs);
}

static void explain_no_pmu(const char *what, struct verdict *why)
{
    verdict_set(why, REASON_NO_PMU,
                "%s: this machine has no visible hardware counters, like most virtual machines; "
                "use bare metal or an instance type with a PMU",
                what);
}

void perf_explain_no_event(const struct fsroot *fs, const struct event_table *table,
                           enum group group, enum role role, struct verdict *why)
{
    const char *name = group_descs[group].name;
    char what[64], pmu[CPU_PMU_NAME];
    snprintf(what, sizeof what, "group %s", name);
    if (table && !table->generic) {
        verdict_set(why, REASON_UNSUPPORTED_CPU,
                    "group %s: %s has no event for role %s; --events.file can name one", name,
                    table->microarchitecture, role_name(role));
    } else if (cpu_is_hybrid(fs)) {
        verdict_set(why, REASON_UNSUPPORTED_CPU,
                    "group %s: this CPU has cores of two kinds, which count differently (PMUs "
                    "cpu_core and cpu_atom); only CPUs with cores of one kind are supported",
                    name);
    } else if (cpu_has_pmu(fs) && cpu_pmu_name(fs, pmu)) {
        verdict_set(why, REASON_UNSUPPORTED_CPU,
                    "group %s: no verified events for this CPU where the kernel calls its PMU "
                    "\"%s\": use a kernel that knows the CPU, if it is Skylake-SP to Granite "
                    "Rapids; --events.file can name an event for role %s",
                    name, pmu, role_name(role));
    } else if (cpu_has_pmu(fs)) {
        verdict_set(why, REASON_UNSUPPORTED_CPU,
                    "group %s: no verified events for this CPU (they exist for Skylake-SP to "
                    "Granite Rapids and Zen 3 to Zen 6); --events.file can name one for role %s",
                    name, role_name(role));
    } else {
        explain_no_pmu(what, why);
    }
}

int perf_paranoid_level(const struct fsroot *fs)
{
    char text[32], *end;
    if (fsroot_read(fs, FSROOT_PROC, "sys/kernel/perf_event_paranoid", text, sizeof text, NULL))
        return PERF_PARANOID_UNKNOWN;
    long level = strtol(text, &end, 10);
    return end == text || level < -1 || level > 9 ? PERF_PARANOID_UNKNOWN : (int)level;
}

bool perf_cgroup_alive(int cgroup_fd)
{
    return faccessat(cgroup_fd, "cgroup.procs", F_OK, 0) == 0;
}

bool perf_counts_cgroup(const struct perf_kernel *kernel, int cgroup_fd)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_DUMMY,
                                   .disabled = 1};
    int fd = kernel->event_open(kernel->context, &attr, cgroup_fd, 0, -1,
                                PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0)
        kernel->close(kernel->context, fd);
    return fd != -ENOENT || !perf_cgroup_alive(cgroup_fd);
}

int perf_open_error(const struct scope *scope, int err)
{
    bool may_be_gone = err == -ENOENT || err == -EBADF || err == -ENODEV;
    if (scope->kind == SCOPE_CGROUP && may_be_gone && !perf_cgroup_alive(scope->cgroup_fd))
        return -ESRCH;
    return err;
}

/* Whether the event opens on our own thread, without a cgroup. */
static bool opens_on_self(struct perf_context *context, enum group group,
                          const struct encoded_event *const *events, size_t failed)
{
    struct perf_target self = {.pid = 0, .cpu = -1};
    int fds[GROUP_MAX_ROLES];
    size_t ignored;
    int err = perf_events_open(context, group, UINT32_C(1) << failed, events, &self, fds, &ignored);
    perf_events_close(context, group, fds);
    return err == 0;
}

static bool explain_cgroup(struct perf_context *context, const struct scope *scope,
                           enum group group, const struct encoded_event *const *events,
                           size_t failed, int err, struct verdict *why)
{
    if (scope->kind != SCOPE_CGROUP)
        return false;
    if (err == -ESRCH) {
        verdict_set(why, REASON_NO_DEVICE, "cgroup %s is gone", scope->key);
        return true;
    }
    if ((err != -ENOENT && err != -EBADF) || !opens_on_self(context, group, events, failed))
        return false;
    verdict_set(why, REASON_NO_DEVICE,
                "perf cannot count per cgroup in this hierarchy (%s): on a cgroup v2 system "
                "without controllers, enable any controller once, e.g. echo +cpu > "
                "/sys/fs/cgroup/cgroup.subtree_control; if a v1 perf_event hierarchy is mounted, "
                "take the cgroups from that one",
                strerrorname_np(-err));
    return true;
}

void perf_explain_open(struct perf_context *context, const struct scope *scope, enum group group,
                       const struct encoded_event *const *events, size_t failed, int err,
                       struct verdict *why)
{
    const struct encoded_event *event = events[failed];
    char what[96];
    snprintf(what, sizeof what, "group %s, role %s", group_descs[group].name,
             role_name(group_descs[group].roles[failed]));
    if (explain_cgroup(context, scope, group, events, failed, err, why))
        return;
    if (err == -ENOENT && event && event->software)
        verdict_set(why, REASON_NO_DEVICE, "%s: %s does not exist here (ENOENT)", what,
                    event->path ? event->path : "the event");
    else if ((err == -EACCES || err == -EPERM) && event && !event->software &&
             scope->kind != SCOPE_UNIT && lacks_pmu(context->fs))
        explain_no_pmu(what, why); /* the kernel checks permission before it looks for the PMU */
    else
        perf_explain(err, what, perf_paranoid_level(context->fs), why);
}
