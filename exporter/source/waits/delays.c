#include "exporter/source/waits/delays.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "exporter/base/kernel_text.h"
#include "exporter/source/cgroup_file.h"
#include "exporter/source/waits/parse.h"

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

int waits_delays_read(struct waits_delays *delays, const struct waits_config *config,
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
