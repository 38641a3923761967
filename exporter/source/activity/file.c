#include "exporter/source/activity/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "exporter/base/kernel_text.h"
#include "exporter/source/cgroup_file.h"

/* ---- the kernel's texts ---- */

static bool at_end_of_line(struct kernel_text *in)
{
    return in->at == in->end || *in->at == '\n';
}

int cpu_stat_parse(const char *text, size_t len, uint64_t *usage_ns)
{
    struct kernel_text in = {text, text + len}, line;
    uint64_t ns;
    while (kernel_text_line(&in, &line)) {
        if (!kernel_text_word(&line, "usage_usec "))
            continue;
        if (!kernel_text_number(&line, &ns) || !at_end_of_line(&line) ||
            __builtin_mul_overflow(ns, 1000u, &ns))
            return -EINVAL;
        *usage_ns = ns;
        return 0;
    }
    return -ENODATA;
}

int cpuacct_usage_parse(const char *text, size_t len, uint64_t *usage_ns)
{
    struct kernel_text in = {text, text + len};
    uint64_t ns;
    if (!kernel_text_number(&in, &ns) || !kernel_text_char(&in, '\n') || in.at != in.end)
        return -EINVAL;
    *usage_ns = ns;
    return 0;
}

int cpuacct_percpu_parse(const char *text, size_t len, uint64_t *usage_ns, size_t cap, size_t *n)
{
    /* Nothing may be stored before all of it is known to be good. */
    for (int storing = 0; storing < 2; storing++) {
        struct kernel_text in = {text, text + len};
        size_t found = 0;
        uint64_t ns;
        bool more = true;
        while (more && kernel_text_number(&in, &ns)) {
            if (storing && found < cap)
                usage_ns[found] = ns;
            found++;
            more = kernel_text_char(&in, ' ');
        }
        if (!storing && (found == 0 || !kernel_text_char(&in, '\n') || in.at != in.end))
            return -EINVAL;
        if (storing)
            *n = found;
    }
    return 0;
}

/* "cpu3 user nice system idle iowait irq softirq ...": irq and softirq are in all kernels since
 * 2.6. */
static bool take_cpu(struct kernel_text *line, unsigned ticks, struct cpu_time *out)
{
    enum { IDLE = 3, IOWAIT = 4, FIELDS = 7 };
    uint64_t number, sum = 0;
    if (!kernel_text_number(line, &number) || number > 65535)
        return false;
    out->cpu = (int)number;
    for (int field = 0; field < FIELDS; field++) {
        if (!kernel_text_char(line, ' ') || !kernel_text_number(line, &number))
            return false;
        if (field != IDLE && field != IOWAIT && __builtin_add_overflow(sum, number, &sum))
            return false;
    }
    return !__builtin_mul_overflow(sum, UINT64_C(1000000000) / ticks, &out->ns) &&
           (at_end_of_line(line) || *line->at == ' ');
}

int proc_stat_parse(const char *text, size_t len, unsigned ticks, struct cpu_time *out, size_t cap,
                    size_t *n)
{
    for (int storing = 0; storing < 2; storing++) {
        struct kernel_text in = {text, text + len}, line;
        size_t found = 0;
        while (kernel_text_line(&in, &line) && kernel_text_word(&line, "cpu")) {
            struct cpu_time cpu;
            if (kernel_text_char(&line, ' ')) /* the sum of all */
                continue;
            if (!take_cpu(&line, ticks, &cpu))
                return -EINVAL;
            if (storing && found < cap)
                out[found] = cpu;
            found++;
        }
        if (found == 0)
            return -ENODATA;
        if (storing)
            *n = found;
    }
    return 0;
}

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
