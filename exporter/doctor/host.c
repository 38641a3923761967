/* What the kernel and this process's privileges allow, from files that say it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "exporter/doctor/doctor.h"
#include "exporter/service/privileges.h"

static enum doctor_known is_there(const struct fsroot *fs, enum fsroot_tree tree, const char *file)
{
    char byte[2];
    int err = fsroot_read(fs, tree, file, byte, sizeof byte, NULL);
    return err == 0 || err == -EFBIG ? DOCTOR_PRESENT
           : err == -ENOENT          ? DOCTOR_ABSENT
                                     : DOCTOR_UNKNOWN;
}

/* With psi=0 the file is there and cannot be read: EOPNOTSUPP. */
static enum doctor_known keeps_pressure(const struct fsroot *fs)
{
    char text[256];
    int err = fsroot_read(fs, FSROOT_PROC, "pressure/cpu", text, sizeof text, NULL);
    return err == 0                            ? DOCTOR_PRESENT
           : err == -ENOENT || err == -ENOTSUP ? DOCTOR_ABSENT
                                               : DOCTOR_UNKNOWN;
}

/* A word of /proc/cpuinfo's flags, which on Arm and others are not told. */
static enum doctor_known is_guest(const struct fsroot *fs)
{
    char text[4096], type[16] = "";
    if (fsroot_read(fs, FSROOT_SYS, "hypervisor/type", type, sizeof type, NULL) == 0 && type[0])
        return DOCTOR_PRESENT;
    int fd = fsroot_open(fs, FSROOT_PROC, "cpuinfo", O_RDONLY);
    if (fd < 0)
        return DOCTOR_UNKNOWN;
    ssize_t len = read(fd, text, sizeof text - 1); /* the first CPU's flags are within it */
    close(fd);
    text[len < 0 ? 0 : len] = '\0';
    char *flags = strstr(text, "\nflags"), *end = flags ? strchr(flags + 1, '\n') : NULL;
    if (!end)
        return DOCTOR_UNKNOWN;
    *end = '\0';
    return strstr(flags, " hypervisor") ? DOCTOR_PRESENT : DOCTOR_ABSENT;
}

/* uncore_imc_0, amd_umc_0, amd_l3 and their like. */
static enum doctor_known shows_uncore(const struct fsroot *fs)
{
    char path[PATH_MAX];
    if (fsroot_path(fs, FSROOT_SYS, "bus/event_source/devices", path, sizeof path) != 0)
        return DOCTOR_UNKNOWN;
    DIR *directory = opendir(path);
    enum doctor_known found = directory ? DOCTOR_ABSENT : DOCTOR_UNKNOWN;
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (strncmp(entry->d_name, "uncore_", 7) == 0 || strncmp(entry->d_name, "amd_", 4) == 0)
            found = DOCTOR_PRESENT;
    if (directory)
        closedir(directory);
    return found;
}

/* By the mount that is on top. With hidepid=4 (ptraceable) the group of gid= is no help either. */
static enum doctor_known hides_processes(const struct fsroot *fs)
{
    char *line = NULL, at[PATH_MAX], options[512];
    size_t room = 0;
    enum doctor_known hides = DOCTOR_UNKNOWN;
    int fd = fsroot_open(fs, FSROOT_PROC, "self/mounts", O_RDONLY);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (fd >= 0 && !file)
        close(fd);
    while (file && getline(&line, &room, file) > 0) {
        if (sscanf(line, "%*s %4095s proc %511s", at, options) != 2 ||
            strcmp(at, fs->path[FSROOT_PROC]) != 0)
            continue;
        const char *hidepid = strstr(options, "hidepid=");
        hides = hidepid && hidepid[8] != '0' && strncmp(hidepid + 8, "off", 3) != 0 ? DOCTOR_PRESENT
                                                                                    : DOCTOR_ABSENT;
    }
    free(line);
    if (file)
        fclose(file);
    return hides;
}

/* "none [integrity] confidentiality" */
static void read_lockdown(const struct fsroot *fs, char *out, size_t size)
{
    char text[80];
    if (fsroot_read(fs, FSROOT_SYS, "kernel/security/lockdown", text, sizeof text, NULL) != 0)
        return;
    char *from = strchr(text, '['), *to = from ? strchr(from, ']') : NULL;
    if (to && (size_t)(to - from) <= size) {
        memcpy(out, from + 1, (size_t)(to - from) - 1);
        out[to - from - 1] = '\0';
    }
}

/* "NAME (enforce)"; who is not confined is "unconfined", or there is no AppArmor. */
static void read_apparmor(const struct fsroot *fs, char *out, size_t size)
{
    char text[256];
    if (fsroot_read(fs, FSROOT_PROC, "self/attr/current", text, sizeof text, NULL) != 0)
        return;
    char *mode = strstr(text, " (enforce)");
    if (!mode)
        return;
    *mode = '\0';
    if (strlen(text) < size)
        strcpy(out, text);
}

void doctor_host_read(const struct fsroot *fs, struct doctor_host *out)
{
    struct utsname kernel;
    char text[16];
    uint64_t watchdog;
    *out = (struct doctor_host){.paranoid = DOCTOR_HOST_UNKNOWN, .watchdog = DOCTOR_UNKNOWN};
    if (uname(&kernel) == 0)
        snprintf(out->kernel, sizeof out->kernel, "%.63s", kernel.release);
    if (fsroot_read(fs, FSROOT_PROC, "sys/kernel/perf_event_paranoid", text, sizeof text, NULL) ==
        0)
        out->paranoid = atoi(text);
    if (fsroot_read_u64(fs, FSROOT_PROC, "sys/kernel/nmi_watchdog", &watchdog) == 0)
        out->watchdog = watchdog ? DOCTOR_PRESENT : DOCTOR_ABSENT;
    out->psi = keeps_pressure(fs);
    out->btf = is_there(fs, FSROOT_SYS, "kernel/btf/vmlinux");
    out->cgroup_v2 = is_there(fs, FSROOT_SYS, "fs/cgroup/cgroup.controllers");
    out->hybrid = is_there(fs, FSROOT_SYS, "fs/cgroup/unified/cgroup.controllers");
    out->guest = is_guest(fs);
    out->uncore = shows_uncore(fs);
    out->hidden = hides_processes(fs);
    out->sys_admin = privileges_has(CAP_SYS_ADMIN);
    out->perfmon = privileges_has(CAP_PERFMON);
    out->bpf = privileges_has(CAP_BPF);
    out->ptrace = privileges_has(CAP_SYS_PTRACE);
    read_lockdown(fs, out->lockdown, sizeof out->lockdown);
    read_apparmor(fs, out->apparmor, sizeof out->apparmor);
}
