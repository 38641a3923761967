#include "exporter/governor/act/cgroup/control_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/base/fsroot.h"

int control_file_text(int directory, const char *name, char *out, size_t size)
{
    size_t len;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    int err = fsroot_read_fd(fd, out, size, &len);
    close(fd);
    if (!err)
        out[strcspn(out, "\n")] = '\0';
    return err;
}

int control_file_number(int directory, const char *name, uint64_t *out)
{
    char text[64], *end;
    int err = control_file_text(directory, name, text, sizeof text);
    if (err)
        return err;
    if (text[0] < '0' || text[0] > '9')
        return -EINVAL;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno || *end ? -EINVAL : 0;
}
