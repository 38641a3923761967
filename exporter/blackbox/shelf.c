#include "exporter/blackbox/shelf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char prefix[] = "blackbox-", suffix[] = ".jsonl.gz";
static const uint64_t second_ns = 1000000000;

static bool is_why(const char *text, size_t len)
{
    return len > 0 && len < sizeof((struct shelf_file *)0)->why &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz_") >= len;
}

bool shelf_parse_name(const char *name, struct shelf_file *out)
{
    struct tm at = {0};
    size_t len = strlen(name), ends = sizeof prefix - 1 + sizeof suffix - 1;
    if (len <= ends || len >= sizeof out->name || strncmp(name, prefix, sizeof prefix - 1) != 0 ||
        strcmp(name + len - (sizeof suffix - 1), suffix) != 0)
        return false;
    const char *rest = strptime(name + sizeof prefix - 1, "%Y%m%dT%H%M%SZ-", &at);
    const char *end = name + len - (sizeof suffix - 1);
    if (!rest || rest > end || !is_why(rest, (size_t)(end - rest)))
        return false;
    *out = (struct shelf_file){.bytes = 0};
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(out->why, sizeof out->why, "%.*s", (int)(end - rest), rest);
    time_t seconds = timegm(&at);
    out->began_wall_ns = out->ended_wall_ns = seconds > 0 ? (uint64_t)seconds * second_ns : 0;
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct shelf_file *)a)->name, ((const struct shelf_file *)b)->name);
}

/* False, with errno: it is there still. */
static bool remove_first(struct shelf *shelf)
{
    if (unlinkat(shelf->directory, shelf->files[0].name, 0) != 0 && errno != ENOENT)
        return false;
    shelf->removed++;
    memmove(&shelf->files[0], &shelf->files[1], --shelf->n * sizeof *shelf->files);
    return true;
}

/* In order, whatever the order of the directory: of too many the newest stay. */
static void insert(struct shelf *shelf, const struct shelf_file *file)
{
    if (shelf->n == shelf->max_files && by_name(file, &shelf->files[0]) < 0) {
        unlinkat(shelf->directory, file->name, 0);
        shelf->removed++;
        return;
    }
    if (shelf->n == shelf->max_files && !remove_first(shelf))
        return;
    shelf->files[shelf->n++] = *file;
    qsort(shelf->files, shelf->n, sizeof *shelf->files, by_name);
}

int shelf_init(struct shelf *shelf, int directory, size_t max_files, uint64_t max_bytes)
{
    *shelf = (struct shelf){.directory = directory,
                            .max_files = max_files < SHELF_FILES_MAX ? max_files : SHELF_FILES_MAX,
                            .max_bytes = max_bytes};
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        return -errno;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        struct shelf_file file;
        struct stat st;
        if (!shelf_parse_name(entry->d_name, &file) ||
            fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode))
            continue;
        file.bytes = (uint64_t)st.st_size;
        file.ended_wall_ns = (uint64_t)st.st_mtim.tv_sec * second_ns + (uint64_t)st.st_mtim.tv_nsec;
        insert(shelf, &file);
    }
    closedir(dir);
    shelf_trim(shelf);
    return 0;
}

void shelf_trim(struct shelf *shelf)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < shelf->n; i++)
        bytes += shelf->files[i].bytes;
    while (shelf->n > 1 && bytes > shelf->max_bytes) {
        uint64_t first = shelf->files[0].bytes;
        if (!remove_first(shelf))
            return;
        bytes -= first;
    }
}

void shelf_forget_missing(struct shelf *shelf)
{
    size_t left = 0;
    for (size_t i = 0; i < shelf->n; i++) {
        struct stat st;
        if (fstatat(shelf->directory, shelf->files[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
            errno != ENOENT)
            shelf->files[left++] = shelf->files[i];
    }
    shelf->n = left;
}

static bool is_taken(const struct shelf *shelf, const char *name)
{
    struct stat st;
    return fstatat(shelf->directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

struct shelf_file *shelf_add(struct shelf *shelf, const char *why, uint64_t wall_ns)
{
    struct shelf_file file = {.began_wall_ns = wall_ns, .ended_wall_ns = wall_ns, .open = true};
    time_t seconds = (time_t)(wall_ns / second_ns);
    snprintf(file.why, sizeof file.why, "%s", why);
    do {
        struct tm at;
        char time[32];
        gmtime_r(&seconds, &at);
        strftime(time, sizeof time, "%Y%m%dT%H%M%SZ", &at);
        snprintf(file.name, sizeof file.name, "%s%s-%s%s", prefix, time, file.why, suffix);
        seconds++;
    } while (is_taken(shelf, file.name));
    shelf_forget_missing(shelf);
    while (shelf->n > 0 && shelf->n >= shelf->max_files)
        if (!remove_first(shelf))
            return NULL;
    shelf->files[shelf->n] =
        file; /* the clock may have been set back: it is the last all the same */
    return &shelf->files[shelf->n++];
}

void shelf_drop_last(struct shelf *shelf)
{
    unlinkat(shelf->directory, shelf->files[--shelf->n].name, 0);
}
