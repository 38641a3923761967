#include "exporter/containers/cgroups/long_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Where the first piece ends: before the last slash that the kernel would take. NULL: there is
 * none, or all of it is one piece. */
static const char *end_of_piece(const char *path)
{
    if (strlen(path) < PATH_MAX)
        return NULL;
    const char *end = path + PATH_MAX - 1;
    while (end > path && *end != '/')
        end--;
    return end > path ? end : NULL;
}

int long_path_open(const char *path, int flags)
{
    char piece[PATH_MAX];
    const char *end;
    int at = AT_FDCWD;
    while ((end = end_of_piece(path))) {
        memcpy(piece, path, (size_t)(end - path));
        piece[end - path] = '\0';
        int next = openat(at, piece, O_PATH | O_DIRECTORY | O_CLOEXEC);
        int err = next < 0 ? -errno : 0;
        if (at >= 0)
            close(at);
        if (err)
            return err;
        at = next;
        path = end + 1;
    }
    int fd = openat(at, path, flags);
    int err = fd < 0 ? -errno : 0;
    if (at >= 0)
        close(at);
    return err ? err : fd;
}
