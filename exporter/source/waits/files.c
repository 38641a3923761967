#include "exporter/source/waits/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/base/kernel_text.h"
#include "exporter/source/cgroup_file.h"
#include "exporter/source/waits/levels.h"
#include "exporter/source/waits/parse.h"

/* A file for each task is much to read: of a cgroup with more, the delay is not known. */
enum { DELAYS_TASKS = 8 };

/* How long its tasks waited for CPUs, for kernels without pressure. */
struct waits_delays {
    size_t n;
    struct {
        uint64_t task, ns;
    } at[DELAYS_TASKS];
    uint64_t total_ns; /* since the first reading; of tasks that ended, up to the reading before */
};

/* In the hierarchy of the scope's directory, which may be v2; else the same path is there. */
static int open_unified(const struct waits_files *files, const struct scope *scope,
                        const char *file)
{
    int fd = cgroup_file_open(files->config->mounts.unified, files->path, file);
    if (fd != -ENOENT && fd != -ENAMETOOLONG)
        return fd;
    int below = openat(scope->cgroup_fd, file, O_RDONLY | O_CLOEXEC);
    return below < 0 ? fd : below;
}

static bool reads_usage(int fd, char *text, size_t size)
{
    uint64_t us;
    size_t len;
    return cgroup_file_read(fd, text, size, &len) == 0 &&
           flat_parse(text, len, "usage_usec", &us) == 0;
}

/* v1's controller cpu has a cpu.stat, too, without the CPU time. */
static void open_usage(struct waits_files *files, const struct scope *scope, char *text,
                       size_t size)
{
    int fd = open_unified(files, scope, "cpu.stat");
    if (fd >= 0 && !reads_usage(fd, text, size)) {
        close(fd);
        fd = -ENOENT;
    }
    if (fd == -ENOENT || fd == -ENAMETOOLONG) {
        fd = cgroup_file_open(files->config->mounts.cpuacct, files->path, "cpuacct.usage");
        files->usage_is_v1 = fd >= 0;
    }
    files->fd[WAITS_USAGE] = fd;
}

/* cpu.stat of those above that have a limit, the nearest two. */
static void open_above(struct waits_files *files, char *text, size_t size)
{
    const struct waits_mounts *mounts = &files->config->mounts;
    const char *mount = *mounts->cpu ? mounts->cpu : mounts->unified;
    enum waits_file next = WAITS_QUOTA_ABOVE;
    char above[4096];
    size_t len = waits_levels_above(files->path, strlen(files->path));
    for (; len > 0 && next <= WAITS_QUOTA_TOP; len = waits_levels_above(files->path, len)) {
        uint64_t quota;
        if (len >= sizeof above ||
            waits_levels_quota(mounts, files->path, len, text, size, &quota) != 0)
            continue;
        memcpy(above, files->path, len);
        above[len] = '\0';
        files->fd[next] = cgroup_file_open(mount, above, "cpu.stat");
        next += files->fd[next] >= 0;
    }
}

static void open_quotas(struct waits_files *files, char *text, size_t size)
{
    if (files->fd[WAITS_QUOTA] < 0)
        files->fd[WAITS_QUOTA] =
            cgroup_file_open(files->config->mounts.cpu, files->path, "cpu.stat");
    if (files->fd[WAITS_QUOTA_ABOVE] < 0)
        open_above(files, text, size);
}

/* Without PSI the file is not there, or cannot be read. */
static void open_pressure(struct waits_files *files, const struct scope *scope, char *text,
                          size_t size)
{
    static const char *const names[WAITS_FILES] = {
        [WAITS_CPU] = "cpu.pressure",
        [WAITS_MEMORY] = "memory.pressure",
        [WAITS_IO] = "io.pressure",
    };
    for (int i = WAITS_CPU; i < WAITS_FILES; i++) {
        struct pressure_totals totals;
        size_t len;
        files->fd[i] = open_unified(files, scope, names[i]);
        if (files->fd[i] < 0 || (cgroup_file_read(files->fd[i], text, size, &len) == 0 &&
                                 pressure_totals_parse(text, len, &totals) == 0))
            continue;
        close(files->fd[i]);
        files->fd[i] = -ENOENT;
    }
}

static bool is_full(int err)
{
    return err == -EMFILE || err == -ENFILE;
}

int waits_files_open(struct waits_files *files, const struct waits_config *config,
                     const struct scope *scope, const char *path, char *text, size_t size,
                     size_t *opened)
{
    *files = (struct waits_files){.config = config, .path = path};
    for (int i = 0; i < WAITS_FILES; i++)
        files->fd[i] = -1;
    open_usage(files, scope, text, size);
    open_quotas(files, text, size);
    open_pressure(files, scope, text, size);

    int usage = files->fd[WAITS_USAGE], err = usage >= 0 ? 0 : usage == -EACCES ? usage : -ENOENT;
    size_t n = 0;
    for (int i = 0; i < WAITS_FILES; i++) {
        err = is_full(files->fd[i]) ? files->fd[i] : err;
        n += files->fd[i] >= 0;
    }
    if (!err && files->fd[WAITS_CPU] < 0) {
        files->delays = calloc(1, sizeof *files->delays);
        err = files->delays ? 0 : -ENOMEM;
    }
    /* What the kernel has counted so far is not the container's since now. */
    if (!err)
        err = waits_files_read(files, 0, text, size);
    if (err) {
        waits_files_close(files);
        return err;
    }
    *opened = n;
    return 0;
}

size_t waits_files_open_later(struct waits_files *files, char *text, size_t size)
{
    size_t before = 0, after = 0;
    for (int i = 0; i < WAITS_FILES; i++)
        before += files->fd[i] >= 0;
    open_quotas(files, text, size);
    for (int i = 0; i < WAITS_FILES; i++)
        after += files->fd[i] >= 0;
    return after - before;
}

size_t waits_files_close(struct waits_files *files)
{
    size_t n = 0;
    for (int i = 0; i < WAITS_FILES; i++) {
        if (files->fd[i] < 0)
            continue;
        close(files->fd[i]);
        files->fd[i] = -1;
        n++;
    }
    free(files->delays);
    files->delays = NULL;
    return n;
}

/* ---- reading ---- */

static void put(struct waits_files *files, enum waits_total total, uint64_t value)
{
    files->total[total] = value;
    files->present |= UINT32_C(1) << total;
}

static int read_usage(struct waits_files *files, const char *text, size_t len)
{
    uint64_t usage;
    int err = files->usage_is_v1 ? single_parse(text, len, &usage)
                                 : flat_parse(text, len, "usage_usec", &usage);
    if (!err && !files->usage_is_v1 && __builtin_mul_overflow(usage, UINT64_C(1000), &usage))
        err = -EINVAL;
    if (err)
        return -EINVAL;
    put(files, TOTAL_CPU_TIME, usage);
    return 0;
}

/* Of all limits that hold for it, the one that was reached most often since the last reading. */
static void add_periods(struct waits_files *files, int file, const char *text, size_t len,
                        uint64_t *most_periods, uint64_t *most_throttled)
{
    uint64_t periods, throttled;
    if (flat_parse(text, len, "nr_periods", &periods) != 0 ||
        flat_parse(text, len, "nr_throttled", &throttled) != 0)
        return;
    bool is_first = !files->quota[file].known;
    uint64_t new = periods - files->quota[file].periods;
    uint64_t reached = throttled - files->quota[file].throttled;
    bool fell = periods < files->quota[file].periods || throttled < files->quota[file].throttled;
    files->quota[file].periods = periods;
    files->quota[file].throttled = throttled;
    files->quota[file].known = true;
    files->present |= UINT32_C(1) << TOTAL_PERIODS | UINT32_C(1) << TOTAL_THROTTLED;
    if (is_first || fell || reached < *most_throttled ||
        (reached == *most_throttled && new < *most_periods))
        return;
    *most_periods = new;
    *most_throttled = reached;
}

static int read_cpu(struct waits_files *files, char *text, size_t size)
{
    uint64_t periods = 0, throttled = 0;
    for (int i = WAITS_USAGE; i <= WAITS_QUOTA_TOP; i++) {
        size_t len;
        if (files->fd[i] < 0)
            continue;
        int err = cgroup_file_read(files->fd[i], text, size, &len);
        if (!err && i == WAITS_USAGE)
            err = read_usage(files, text, len);
        if (err && i == WAITS_USAGE)
            return err;
        if (!err && !(i == WAITS_USAGE && files->usage_is_v1))
            add_periods(files, i, text, len, &periods, &throttled);
    }
    files->total[TOTAL_PERIODS] += periods;
    files->total[TOTAL_THROTTLED] += throttled;
    return 0;
}

/* ---- delays ---- */

static int list_tasks(const struct waits_config *config, const char *path, char *text, size_t size,
                      uint64_t out[DELAYS_TASKS], size_t *n)
{
    size_t len;
    int fd = cgroup_file_open(config->mounts.unified, path, "cgroup.threads");
    if (fd < 0)
        fd = cgroup_file_open(config->mounts.cpu, path, "tasks");
    if (fd < 0)
        return -ENODATA;
    int err = cgroup_file_read(fd, text, size, &len);
    close(fd);
    struct kernel_text in = {text, text + (err ? 0 : len)}, line;
    for (*n = 0; kernel_text_line(&in, &line); ++*n)
        if (*n == DELAYS_TASKS || !kernel_text_number(&line, &out[*n]))
            return -ENODATA;
    return *n > 0 ? 0 : -ENODATA;
}

static bool read_delay(const struct fsroot *fs, uint64_t task, uint64_t *ns)
{
    char name[40], text[128];
    size_t len;
    snprintf(name, sizeof name, "%llu/schedstat", (unsigned long long)task);
    return fsroot_read(fs, FSROOT_PROC, name, text, sizeof text, &len) == 0 &&
           schedstat_parse(text, len, ns) == 0;
}

/* What a new task waited before its first reading is its cgroup's, too; not at the very first. */
static uint64_t before_of(const struct waits_delays *delays, uint64_t task, uint64_t now_ns)
{
    for (size_t i = 0; i < delays->n; i++)
        if (delays->at[i].task == task)
            return delays->at[i].ns;
    return delays->n == 0 ? now_ns : 0;
}

/* 0; -ENODATA: too many tasks, none, or none that can be seen from here. */
static int read_delays(struct waits_delays *delays, const struct waits_config *config,
                       const char *path, char *text, size_t size)
{
    struct waits_delays now = {.total_ns = delays->total_ns};
    uint64_t task[DELAYS_TASKS], ns;
    size_t n;
    int err = list_tasks(config, path, text, size, task, &n);
    for (size_t i = 0; !err && i < n; i++) {
        if (!read_delay(config->fs, task[i], &ns))
            continue;
        uint64_t before = before_of(delays, task[i], ns);
        now.total_ns += ns > before ? ns - before : 0;
        now.at[now.n].task = task[i];
        now.at[now.n++].ns = ns;
    }
    if (err || now.n == 0) {
        delays->n = 0;
        return -ENODATA;
    }
    *delays = now;
    return 0;
}

static void read_pressure(struct waits_files *files, char *text, size_t size)
{
    static const enum waits_total some[WAITS_FILES] = {[WAITS_CPU] = TOTAL_CPU_SOME,
                                                       [WAITS_MEMORY] = TOTAL_MEMORY_SOME,
                                                       [WAITS_IO] = TOTAL_IO_SOME};
    for (int i = WAITS_CPU; i < WAITS_FILES; i++) {
        struct pressure_totals totals;
        size_t len;
        if (files->fd[i] < 0 || cgroup_file_read(files->fd[i], text, size, &len) != 0 ||
            pressure_totals_parse(text, len, &totals) != 0)
            continue;
        put(files, some[i], totals.some_ns);
        if (i == WAITS_CPU && totals.has_full)
            put(files, TOTAL_CPU_FULL, totals.full_ns);
    }
    if (files->delays && read_delays(files->delays, files->config, files->path, text, size) == 0)
        put(files, TOTAL_RUN_DELAY, files->delays->total_ns);
}

/* ---- of those that wait for memory ---- */

static int read_file(const char *mount, const char *path, const char *file, char *text, size_t size,
                     size_t *len)
{
    int fd = cgroup_file_open(mount, path, file);
    if (fd < 0)
        return fd;
    int err = cgroup_file_read(fd, text, size, len);
    close(fd);
    return err;
}

/* What has no memory controller has no limit to reach. */
static int none_without_file(int err, uint64_t *out)
{
    if (err != -ENOENT)
        return err;
    *out = 0;
    return 0;
}

/* How often the memory of the cgroup reached a limit. 'alone': its own one, not those of cgroups
 * below, which may be others' containers; before Linux 5.3 only the file without "local" is
 * there. */
static int count_limit_events(const struct waits_files *files, const char *path, bool alone,
                              char *text, size_t size, uint64_t *out)
{
    const struct waits_mounts *mounts = &files->config->mounts;
    uint64_t high, max;
    size_t len;
    if (*mounts->memory) {
        int err = read_file(mounts->memory, path, "memory.failcnt", text, size, &len);
        if (!err)
            err = single_parse(text, len, out);
        return none_without_file(err, out);
    }
    int err =
        alone ? read_file(mounts->unified, path, "memory.events.local", text, size, &len) : -ENOENT;
    if (err == -ENOENT)
        err = read_file(mounts->unified, path, "memory.events", text, size, &len);
    if (!err)
        err = flat_parse(text, len, "high", &high);
    if (!err)
        err = flat_parse(text, len, "max", &max);
    if (!err)
        *out = high + max;
    return none_without_file(err, out);
}

static int count_refaults(const struct waits_files *files, char *text, size_t size, uint64_t *out)
{
    const struct waits_mounts *mounts = &files->config->mounts;
    uint64_t anon, file;
    size_t len;
    int err = read_file(*mounts->memory ? mounts->memory : mounts->unified, files->path,
                        "memory.stat", text, size, &len);
    if (err)
        return err;
    if (flat_parse(text, len, "workingset_refault", out) == 0)
        return 0;
    err = flat_parse(text, len, "workingset_refault_anon", &anon);
    if (!err)
        err = flat_parse(text, len, "workingset_refault_file", &file);
    if (!err)
        *out = anon + file;
    return err;
}

/* Its own limit, or that of the cgroup above, which is its pod. */
static int count_all_limit_events(const struct waits_files *files, char *text, size_t size,
                                  uint64_t *out)
{
    char above[4096];
    uint64_t more;
    size_t len = waits_levels_above(files->path, strlen(files->path));
    int err = count_limit_events(files, files->path, false, text, size, out);
    if (err || len == 0 || len >= sizeof above)
        return err;
    memcpy(above, files->path, len);
    above[len] = '\0';
    if (count_limit_events(files, above, true, text, size, &more) == 0)
        *out += more;
    return 0;
}

static void add_since(struct waits_files *files, enum waits_total total, int err, uint64_t now,
                      uint64_t *last, bool *had)
{
    if (!err && *had && now > *last)
        files->total[total] += now - *last;
    if (!err)
        put(files, total, files->total[total]);
    *had = err == 0;
    *last = err ? 0 : now;
}

/* Two files more, so only of suspects: who waited for memory or disks for a fiftieth of the time
 * between two of the last readings. What happened before the first of these is not known. */
static void read_memory(struct waits_files *files, uint64_t now_ns, char *text, size_t size)
{
    uint64_t waits = files->total[TOTAL_MEMORY_SOME] + files->total[TOTAL_IO_SOME];
    uint64_t events = 0, refaults = 0;
    if (files->read_ns > 0 && waits > files->waits_ns &&
        waits - files->waits_ns >= (now_ns - files->read_ns) / 50)
        files->suspected = SUSPECT_READINGS;
    bool suspect = files->suspected > 0;
    files->suspected -= suspect;
    files->waits_ns = waits;
    files->read_ns = now_ns;
    int err = suspect ? count_all_limit_events(files, text, size, &events) : -ENODATA;
    add_since(files, TOTAL_LIMIT_EVENTS, err, events, &files->limit_events,
              &files->had_limit_events);
    err = suspect ? count_refaults(files, text, size, &refaults) : -ENODATA;
    add_since(files, TOTAL_REFAULTS, err, refaults, &files->refaults, &files->had_refaults);
}

int waits_files_read(struct waits_files *files, uint64_t now_ns, char *text, size_t size)
{
    files->present = 0;
    int err = read_cpu(files, text, size);
    if (err)
        return err;
    read_pressure(files, text, size);
    read_memory(files, now_ns, text, size);
    return 0;
}
