#include "exporter/source/activity/open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "exporter/base/cpulist.h"
#include "exporter/source/cgroup_file.h"

/* ---- reading ---- */

enum {
    NUMBER = 21,            /* of 64 bits, with what separates it */
    LINE = 8 + 10 * NUMBER, /* of a CPU in /proc/stat */
    LEAST = 4096,
};

/* Without sysfs, or with a kernel that counts otherwise: CPUs from 0 on. */
static int list_possible(struct activity_buffer *buffer, const struct fsroot *fs)
{
    char text[4096];
    size_t len, n = 0;
    if (fsroot_read(fs, FSROOT_SYS, "devices/system/cpu/possible", text, sizeof text, &len) != 0 ||
        cpulist_parse(text, len, NULL, 0, &n) != 0 || n == 0) {
        long configured = sysconf(_SC_NPROCESSORS_CONF);
        n = configured < 1 ? 1 : (size_t)configured;
        len = 0;
    }
    buffer->possible = calloc(n, sizeof *buffer->possible);
    if (!buffer->possible)
        return -ENOMEM;
    buffer->n = n;
    for (size_t i = 0; i < n; i++)
        buffer->possible[i] = (int)i;
    if (len > 0)
        (void)cpulist_parse(text, len, buffer->possible, n, &n);
    return 0;
}

int activity_buffer_init(struct activity_buffer *buffer, const struct fsroot *fs)
{
    long ticks = sysconf(_SC_CLK_TCK);
    *buffer = (struct activity_buffer){.ticks = ticks > 0 ? (unsigned)ticks : 100};
    int err = list_possible(buffer, fs);
    if (err)
        return err;
    buffer->size = (buffer->n + 1) * LINE > LEAST ? (buffer->n + 1) * LINE : LEAST;
    buffer->text = malloc(buffer->size);
    buffer->numbers = calloc(buffer->n, sizeof *buffer->numbers);
    buffer->times = calloc(buffer->n, sizeof *buffer->times);
    if (buffer->text && buffer->numbers && buffer->times)
        return 0;
    activity_buffer_release(buffer);
    return -ENOMEM;
}

void activity_buffer_release(struct activity_buffer *buffer)
{
    free(buffer->text);
    free(buffer->numbers);
    free(buffer->possible);
    free(buffer->times);
    *buffer = (struct activity_buffer){0};
}

static int read_percpu(struct activity_buffer *buffer, size_t len, size_t *n)
{
    size_t found;
    int err = cpuacct_percpu_parse(buffer->text, len, buffer->numbers, buffer->n, &found);
    if (err)
        return err;
    if (found > buffer->n)
        return -EINVAL; /* more CPUs than are possible */
    for (size_t i = 0; i < found; i++)
        buffer->times[i] = (struct cpu_time){buffer->possible[i], buffer->numbers[i]};
    *n = found;
    return 0;
}

static int read_proc(struct activity_buffer *buffer, size_t len, size_t *n)
{
    size_t found;
    int err = proc_stat_parse(buffer->text, len, buffer->ticks, buffer->times, buffer->n, &found);
    if (!err)
        *n = found < buffer->n ? found : buffer->n;
    return err;
}

int activity_file_read(int fd, enum activity_way way, struct activity_buffer *buffer, size_t *n)
{
    size_t len = 0;
    int err = cgroup_file_read(fd, buffer->text, buffer->size, &len);
    if (err)
        return err;
    if (way == ACTIVITY_PERCPU)
        return read_percpu(buffer, len, n);
    if (way == ACTIVITY_PROC)
        return read_proc(buffer, len, n);
    buffer->times[0].cpu = -1;
    err = way == ACTIVITY_STAT ? cpu_stat_parse(buffer->text, len, &buffer->times[0].ns)
                               : cpuacct_usage_parse(buffer->text, len, &buffer->times[0].ns);
    if (!err)
        *n = 1;
    return err;
}

const char *activity_way_words(enum activity_way way)
{
    static const char *const words[ACTIVITY_WAYS] = {
        [ACTIVITY_PERCPU] = "cpuacct.usage_percpu, per CPU",
        [ACTIVITY_CLOCK] = "perf's clock of each cgroup, per CPU",
        [ACTIVITY_STAT] = "cpu.stat, the sum of all CPUs",
        [ACTIVITY_USAGE] = "cpuacct.usage, the sum of all CPUs",
        [ACTIVITY_PROC] = "/proc/stat, per CPU",
    };
    return words[way];
}

/* Elsewhere the root of this mount is some cgroup, as in a namespace. */
static int open_of_machine(const struct activity_config *config, enum activity_way way)
{
    if (way == ACTIVITY_PROC)
        return fsroot_open(config->fs, FSROOT_PROC, "stat", O_RDONLY);
    if (way != ACTIVITY_PERCPU)
        return -ENOENT;
    int root = cgroup_file_open(config->cpuacct, "", "release_agent");
    if (root < 0)
        return -ENOENT;
    close(root);
    return cgroup_file_open(config->cpuacct, "", "cpuacct.usage_percpu");
}

/* The scope's directory is in perf's hierarchy, which may be v2; else the same path is there. */
static int open_stat(const struct activity_config *config, const struct scope *scope,
                     struct activity_buffer *buffer, size_t *n)
{
    int fd = openat(scope->cgroup_fd, "cpu.stat", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (activity_file_read(fd, ACTIVITY_STAT, buffer, n) == 0)
            return fd;
        close(fd); /* v1's controller cpu has a file of this name, too */
    }
    return cgroup_file_open(config->unified, scope->cgroup_path, "cpu.stat");
}

static int open_of_container(const struct activity_config *config, const struct scope *scope,
                             enum activity_way way, struct activity_buffer *buffer, size_t *n)
{
    if (way == ACTIVITY_STAT)
        return open_stat(config, scope, buffer, n);
    if (way != ACTIVITY_PERCPU && way != ACTIVITY_USAGE)
        return -ENOENT;
    return cgroup_file_open(config->cpuacct, scope->cgroup_path,
                            way == ACTIVITY_PERCPU ? "cpuacct.usage_percpu" : "cpuacct.usage");
}

int activity_file_open(const struct activity_config *config, const struct scope *scope,
                       enum activity_way way, struct activity_buffer *buffer, size_t *n)
{
    int fd = scope->kind == SCOPE_MACHINE ? open_of_machine(config, way)
                                          : open_of_container(config, scope, way, buffer, n);
    if (fd < 0)
        return fd;
    int err = activity_file_read(fd, way, buffer, n);
    if (!err)
        return fd;
    close(fd);
    return err;
}
