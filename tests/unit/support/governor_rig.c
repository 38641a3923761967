#include "tests/unit/support/governor_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/governor/act/actuators/quota.h"

/* ---- what the kernel does ---- */

static bool fails(struct governor_rig *rig)
{
    rig->calls++;
    return rig->fail_from && rig->calls >= rig->fail_from && rig->calls <= rig->fail_to;
}

static bool first_line(int directory, const char *name, char out[64])
{
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, 63);
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return n >= 0;
}

static bool quota_of(int directory, const char *name, const char *text, struct quota *out)
{
    char period[64] = "";
    if (strcmp(name, "cpu.max") == 0)
        return quota_parse_v2(text, out) == 0;
    return first_line(directory, "cpu.cfs_period_us", period) &&
           quota_parse_v1(text, strtoull(period, NULL, 10), out) == 0;
}

static bool above_parent(int directory, const char *name, double cores)
{
    char text[64];
    struct quota quota;
    int parent = openat(directory, "..", O_PATH | O_CLOEXEC);
    bool above = strcmp(name, "cpu.max") != 0 && isfinite(cores) &&
                 first_line(parent, name, text) && quota_of(parent, name, text, &quota) &&
                 cores > quota_cores(quota);
    close(parent);
    return above;
}

/* No more than the quota, if there is one. */
static bool kernel_takes_burst(int directory, const char *name, const char *text)
{
    const char *file = strcmp(name, "cpu.max.burst") == 0 ? "cpu.max" : "cpu.cfs_quota_us";
    char line[64];
    struct quota quota;
    return first_line(directory, file, line) && quota_of(directory, file, line, &quota) &&
           (quota.quota_us < 0 || strtoll(text, NULL, 10) <= quota.quota_us);
}

static bool kernel_takes(int directory, const char *name, const char *text)
{
    char line[64], burst[64] = "";
    struct quota quota;
    if (strcmp(name, "cpu.max.burst") == 0 || strcmp(name, "cpu.cfs_burst_us") == 0)
        return kernel_takes_burst(directory, name, text);
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    if (!quota_of(directory, name, line, &quota))
        return false;
    first_line(directory, strcmp(name, "cpu.max") == 0 ? "cpu.max.burst" : "cpu.cfs_burst_us",
               burst);
    if (quota.quota_us >= 0 && (quota.quota_us < 1000 || quota.quota_us < strtoll(burst, NULL, 10)))
        return false;
    return !above_parent(directory, name, quota_cores(quota));
}

static int rig_write_at(void *context, int directory, const char *name, const char *text,
                        size_t len)
{
    struct governor_rig *rig = context;
    char link[64], folder[4096], path[4200];
    if (fails(rig))
        return rig->fail_with;
    rig->control_writes++;
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    ssize_t n = readlink(link, folder, sizeof folder - 1);
    folder[n > 0 ? n : 0] = '\0';
    snprintf(path, sizeof path, "%s/%s", folder + strlen(rig->root), name);
    if (rig->before_write)
        rig->before_write(rig->before_context, path, text);
    if (!kernel_takes(directory, name, text))
        return -EINVAL;
    return fswrite_real.write_at(NULL, directory, name, text, len);
}

static int rig_open_at(void *context, int directory, const char *name, int empty)
{
    struct governor_rig *rig = context;
    return fails(rig) ? rig->fail_with : fswrite_real.open_at(NULL, directory, name, empty);
}

/* As a full disk: a part of the line is there. */
static int rig_append(void *context, int fd, const char *bytes, size_t len)
{
    struct governor_rig *rig = context;
    if (!fails(rig))
        return fswrite_real.append(NULL, fd, bytes, len);
    fswrite_real.append(NULL, fd, bytes, len / 2);
    return rig->fail_with;
}

static int rig_make_dir(void *context, int directory, const char *name)
{
    struct governor_rig *rig = context;
    return fails(rig) ? rig->fail_with : fswrite_real.make_dir(NULL, directory, name);
}

static int rig_remove_dir(void *context, int directory, const char *name)
{
    struct governor_rig *rig = context;
    return fails(rig) ? rig->fail_with : fswrite_real.remove_dir(NULL, directory, name);
}

static int rig_rename_at(void *context, int directory, const char *from, const char *to)
{
    struct governor_rig *rig = context;
    return fails(rig) ? rig->fail_with : fswrite_real.rename_at(NULL, directory, from, to);
}

/* ---- the files ---- */

static void whole_path(const struct governor_rig *rig, const char *path, char out[4096])
{
    snprintf(out, 4096, "%s/%s", rig->root, path);
}

void governor_rig_folder(const struct governor_rig *rig, const char *path)
{
    char whole[4096];
    whole_path(rig, path, whole);
    for (char *slash = whole + strlen(rig->root); slash;) {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = '\0';
        if (mkdir(whole, 0700) && errno != EEXIST)
            abort();
        if (slash)
            *slash = '/';
    }
}

void governor_rig_file(struct governor_rig *rig, const char *path, const char *text)
{
    char whole[4096];
    whole_path(rig, path, whole);
    FILE *file = fopen(whole, "we");
    if (!file || fputs(text, file) < 0 || fclose(file))
        abort();
}

bool governor_rig_text(const struct governor_rig *rig, const char *path, char *out, size_t size)
{
    char whole[4096];
    whole_path(rig, path, whole);
    FILE *file = fopen(whole, "re");
    size_t n = file ? fread(out, 1, size - 1, file) : 0;
    out[n] = '\0';
    return file && fclose(file) == 0;
}

static void in_cgroup(const struct governor_rig *rig, const char *path, const char *file,
                      char out[2048])
{
    snprintf(out, 2048, "cgroup%s%s%s%s", rig->version == 1 ? "/cpu" : "", path, *file ? "/" : "",
             file);
}

static const char *quota_file(const struct governor_rig *rig)
{
    return rig->version == 1 ? "cpu.cfs_quota_us" : "cpu.max";
}

void governor_rig_put(struct governor_rig *rig, const char *path, const char *file,
                      const char *text)
{
    char where[2048], line[128];
    in_cgroup(rig, path, file, where);
    snprintf(line, sizeof line, "%s\n", text);
    governor_rig_file(rig, where, line);
}

void governor_rig_set_quota(struct governor_rig *rig, const char *path, const char *quota)
{
    governor_rig_put(rig, path, quota_file(rig), quota);
}

void governor_rig_quota(const struct governor_rig *rig, const char *path, char out[64])
{
    char where[2048];
    in_cgroup(rig, path, quota_file(rig), where);
    governor_rig_text(rig, where, out, 64);
    out[strcspn(out, "\n")] = '\0';
}

void governor_rig_cgroup(struct governor_rig *rig, const char *path, const char *quota)
{
    char where[2048];
    in_cgroup(rig, path, "", where);
    governor_rig_folder(rig, where);
    governor_rig_set_quota(rig, path, quota);
    if (rig->version == 1) {
        governor_rig_put(rig, path, "cpu.cfs_period_us", "100000");
        governor_rig_put(rig, path, "cpu.cfs_burst_us", "0");
        governor_rig_put(rig, path, "cpu.shares", "2");
    } else {
        governor_rig_put(rig, path, "cpu.max.burst", "0");
        governor_rig_put(rig, path, "cpu.weight", "1");
        governor_rig_put(rig, path, "cpuset.cpus.effective", "0-7");
    }
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    return remove(path);
}

void governor_rig_remove(struct governor_rig *rig, const char *path)
{
    char where[2048], whole[4096];
    in_cgroup(rig, path, "", where);
    whole_path(rig, where, whole);
    nftw(whole, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

uint64_t governor_rig_inode(const struct governor_rig *rig, const char *path)
{
    char where[2048], whole[4096];
    struct stat st;
    in_cgroup(rig, path, "", where);
    whole_path(rig, where, whole);
    return stat(whole, &st) ? 0 : st.st_ino;
}

void governor_rig_init(struct governor_rig *rig, int version)
{
    char proc[96], sys[96], cgroup[96];
    /* In memory where that can be had: tests make many thousands of files. */
    *rig = (struct governor_rig){.version = version, .root = "/dev/shm/governor_rig.XXXXXX"};
    if (!mkdtemp(rig->root)) {
        snprintf(rig->root, sizeof rig->root, "/tmp/governor_rig.XXXXXX");
        if (!mkdtemp(rig->root))
            abort();
    }
    snprintf(rig->state, sizeof rig->state, "%s/state", rig->root);
    snprintf(proc, sizeof proc, "%s/proc", rig->root);
    snprintf(sys, sizeof sys, "%s/sys", rig->root);
    snprintf(cgroup, sizeof cgroup, "%s/cgroup", rig->root);
    governor_rig_folder(rig, "state");
    governor_rig_folder(rig, "proc/sys/kernel/random");
    governor_rig_folder(rig, "sys/devices/system/cpu");
    governor_rig_folder(rig, "cgroup");
    governor_rig_file(rig, "proc/sys/kernel/random/boot_id", "6f0e5a1c-boot\n");
    governor_rig_file(rig, "sys/devices/system/cpu/online", "0-7\n");
    if (version == 1) {
        governor_rig_folder(rig, "cgroup/cpu");
        governor_rig_file(rig, "cgroup/cpu/tasks", "");
    } else {
        governor_rig_file(rig, "cgroup/cgroup.controllers", "cpuset cpu\n");
    }
    if (fsroot_init(&rig->fs, proc, sys, cgroup, NULL))
        abort();
    rig->write = (struct fswrite){.context = rig,
                                  .write_at = rig_write_at,
                                  .open_at = rig_open_at,
                                  .append = rig_append,
                                  .make_dir = rig_make_dir,
                                  .remove_dir = rig_remove_dir,
                                  .rename_at = rig_rename_at};
    rig->env = (struct actuator_env){.fs = &rig->fs, .write = &rig->write};
}

void governor_rig_release(struct governor_rig *rig)
{
    nftw(rig->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    fsroot_release(&rig->fs);
}
