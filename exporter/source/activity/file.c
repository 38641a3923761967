#include "exporter/source/activity/file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "exporter/base/cpulist.h"
#include "exporter/source/cgroup_file.h"

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
