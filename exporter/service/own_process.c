#include "exporter/service/own_process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "exporter/base/process_stat.h"

enum { FDS_MAX_AGE = 15 };

static double start_time_seconds(const struct fsroot *fs)
{
    /* The boot time stands behind a line per CPU and one with a number per interrupt. */
    enum { STAT_BYTES = 1 << 20 };
    double seconds = 0;
    char own[1024];
    uint64_t ticks;
    unsigned long long boot;
    char *text = malloc(STAT_BYTES);
    if (text && fsroot_read(fs, FSROOT_PROC, "self/stat", own, sizeof own, NULL) == 0 &&
        fsroot_read(fs, FSROOT_PROC, "stat", text, STAT_BYTES, NULL) == 0 &&
        process_start_ticks(own, &ticks) == 0) {
        const char *line = strstr(text, "\nbtime ");
        if (line && sscanf(line, " btime %llu", &boot) == 1)
            seconds = (double)boot + (double)ticks / (double)sysconf(_SC_CLK_TCK);
    }
    free(text);
    return seconds;
}

static uint64_t count_entries(DIR *dir)
{
    uint64_t n = 0;
    rewinddir(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        n += entry->d_name[0] != '.';
    return n;
}

static bool entries_by_size(DIR *dir, uint64_t *out)
{
    struct stat st;
    if (fstat(dirfd(dir), &st) != 0 || st.st_size < 0)
        return false;
    *out = (uint64_t)st.st_size;
    return true;
}

void process_init(struct own_process *process, const struct fsroot *fs)
{
    *process = (struct own_process){.memory_fd = -1};
    process->start_time_seconds = start_time_seconds(fs);
    int fd = fsroot_open(fs, FSROOT_PROC, "self/statm", O_RDONLY);
    if (fd >= 0)
        process->memory_fd = fd;
    fd = fsroot_open(fs, FSROOT_PROC, "self/fd", O_RDONLY | O_DIRECTORY);
    if (fd >= 0 && !(process->fds = fdopendir(fd)))
        close(fd);
    if (process->fds) {
        uint64_t size;
        process->fds_counted = count_entries(process->fds);
        process->fds_have_size =
            entries_by_size(process->fds, &size) && size == process->fds_counted;
    }
}

void process_release(struct own_process *process)
{
    if (process->memory_fd >= 0)
        close(process->memory_fd);
    if (process->fds)
        closedir(process->fds);
    *process = (struct own_process){.memory_fd = -1};
}

static bool read_memory(const struct own_process *process, struct process_numbers *out)
{
    char text[256];
    unsigned long long size, resident;
    if (process->memory_fd < 0 ||
        fsroot_read_fd(process->memory_fd, text, sizeof text, NULL) != 0 ||
        sscanf(text, "%llu %llu", &size, &resident) != 2)
        return false;
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    out->virtual_memory_bytes = size * page_bytes;
    out->resident_memory_bytes = resident * page_bytes;
    return true;
}

static bool read_open_fds(struct own_process *process, struct process_numbers *out)
{
    if (!process->fds)
        return false;
    if (process->fds_have_size)
        return entries_by_size(process->fds, &out->open_fds);
    if (++process->fds_age >= FDS_MAX_AGE) {
        process->fds_age = 0;
        process->fds_counted = count_entries(process->fds);
    }
    out->open_fds = process->fds_counted;
    return true;
}

void process_read(struct own_process *process, struct process_numbers *out)
{
    *out = (struct process_numbers){.start_time_seconds = process->start_time_seconds};
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    out->cpu_seconds = (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9;
    if (process->start_time_seconds > 0)
        out->known |= PROCESS_START_TIME;
    if (read_memory(process, out))
        out->known |= PROCESS_MEMORY;
    if (read_open_fds(process, out))
        out->known |= PROCESS_OPEN_FDS;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        out->max_fds = limit.rlim_cur;
        out->known |= PROCESS_MAX_FDS;
    }
}
