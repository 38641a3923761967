#include "exporter/containers/names/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/base/array.h"
#include "exporter/containers/names/host.h"

/* Whoever starts pods finds it as it is; who makes cgroups without end does not. */
static const struct allowance readings = {.burst = 8, .refill_ns = 500000000};

void folder_init(struct folder *folder, const char *path, bool links)
{
    *folder = (struct folder){.path = path, .links = links, .readings = readings};
}

void folder_release(struct folder *folder)
{
    free(folder->offsets);
    free(folder->text);
}

static int add_text(struct folder *folder, const char *text, size_t len)
{
    int err = array_reserve(&folder->text, &folder->text_cap, folder->text_len + len + 1, 1);
    if (err)
        return err;
    memcpy(folder->text + folder->text_len, text, len);
    folder->text[folder->text_len + len] = '\0';
    folder->text_len += len + 1;
    return 0;
}

static int add_entry(struct folder *folder, int fd, const char *name)
{
    char target[PATH_MAX];
    ssize_t len = folder->links ? readlinkat(fd, name, target, sizeof target) : 0;
    if (len < 0 || (size_t)len == sizeof target || memchr(target, '\0', (size_t)len))
        return 0; /* no link, or gone */
    int err = array_reserve(&folder->offsets, &folder->cap, folder->n + 1, sizeof *folder->offsets);
    size_t start = folder->text_len;
    if (!err)
        err = add_text(folder, name, strlen(name));
    if (!err)
        err = add_text(folder, target, (size_t)len);
    if (err)
        return err;
    folder->offsets[folder->n++] = start;
    return 0;
}

static int read_entries(struct folder *folder, DIR *dir)
{
    const struct dirent *entry;
    int err = 0;
    while (!err && folder->n < FOLDER_ENTRIES_MAX && folder->text_len < FOLDER_BYTES_MAX &&
           (entry = readdir(dir)))
        err = add_entry(folder, dirfd(dir), entry->d_name);
    return err;
}

static int read_folder(struct folder *folder, const struct fsroot *fs)
{
    int fd = host_open(fs, folder->path, O_DIRECTORY);
    if (fd < 0)
        return fd;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        int err = -errno;
        close(fd);
        return err;
    }
    int err = read_entries(folder, dir);
    closedir(dir);
    return err;
}

int folder_refresh(struct folder *folder, const struct fsroot *fs, uint64_t now_ns)
{
    if (folder->has_read && folder->read_ns == now_ns)
        return folder->err;
    if (!allowance_take(&folder->readings, now_ns))
        return folder->err;
    folder->n = folder->text_len = 0;
    folder->has_read = true;
    folder->read_ns = now_ns;
    folder->count++;
    folder->err = read_folder(folder, fs);
    if (folder->err)
        folder->n = 0;
    return folder->err;
}

struct folder_entry folder_at(const struct folder *folder, size_t i)
{
    const char *name = folder->text + folder->offsets[i];
    return (struct folder_entry){name, folder->links ? name + strlen(name) + 1 : NULL};
}
