#include "exporter/service/privileges.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "exporter/base/fsroot.h"
#include "exporter/source/event/file.h"

/* Debian and Ubuntu know a level beyond the kernel's own, at which PERFMON is not enough. */
static bool paranoid_beyond_perfmon(const char *procfs)
{
    struct fsroot fs;
    uint64_t level = 0;
    if (fsroot_init(&fs, procfs, NULL, NULL, NULL) != 0)
        return false;
    /* -1 does not parse as a number here, and is no reason to keep anything. */
    bool needed =
        fsroot_read_u64(&fs, FSROOT_PROC, "sys/kernel/perf_event_paranoid", &level) == 0 &&
        level > 2;
    fsroot_release(&fs);
    return needed;
}

/* A file that cannot be read is told about by those who use it. */
static bool uprobes_are_asked_for(const char *events_path)
{
    static const char prefix[] = "uprobe:";
    struct events_file file;
    char error[256];
    bool found = false;
    if (!events_path || events_file_load(events_path, &file, error, sizeof error) != 0)
        return false;
    for (int i = 0; i < ROLE_COUNT; i++)
        found |= file.event[i] && strncmp(file.event[i], prefix, sizeof prefix - 1) == 0;
    events_file_release(&file);
    return found;
}

static bool is_permitted(cap_t now, cap_value_t value)
{
    cap_flag_value_t permitted = CAP_CLEAR; /* also where the kernel does not know it */
    return cap_get_flag(now, value, CAP_PERMITTED, &permitted) == 0 && permitted == CAP_SET;
}

/* Keeps those of the wanted capabilities that the process has: asking for more would fail. */
static int keep_only(cap_t now, cap_t wanted, const cap_value_t *values, int n)
{
    for (int i = 0; i < n; i++) {
        if (!is_permitted(now, values[i]))
            continue;
        if (cap_set_flag(wanted, CAP_PERMITTED, 1, &values[i], CAP_SET) != 0 ||
            cap_set_flag(wanted, CAP_EFFECTIVE, 1, &values[i], CAP_SET) != 0)
            return -errno;
    }
    return 0;
}

int privileges_drop(const char *procfs, const char *events_path, bool samples)
{
    cap_value_t values[4] = {CAP_PERFMON};
    int n = 1;
    cap_t now = cap_get_proc();
    if (paranoid_beyond_perfmon(procfs) || uprobes_are_asked_for(events_path) ||
        (now && !is_permitted(now, CAP_PERFMON)))
        values[n++] = CAP_SYS_ADMIN;
    if (samples) {
        values[n++] = CAP_SYS_PTRACE;
        values[n++] = CAP_CHECKPOINT_RESTORE;
    }
    cap_t wanted = cap_init();
    int err = now && wanted ? 0 : -ENOMEM;
    if (!err)
        err = keep_only(now, wanted, values, n);
    if (!err && cap_set_proc(wanted) != 0)
        err = -errno;
    if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        err = -errno;
    cap_free(now);
    cap_free(wanted);
    return err;
}
