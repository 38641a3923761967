#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "exporter/governor/act/cgroup/cgroup_dir.h"
#include "exporter/governor/write/writer_internal.h"

int look_text(int directory, const char *name, char *out, size_t size)
{
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    int err = n < 0 ? -errno : 0;
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = '\0';
    return err;
}

int look_line(int directory, const char *name, char *out, size_t size)
{
    int err = look_text(directory, name, out, size);
    out[strcspn(out, "\n")] = '\0';
    return err;
}

int writer_write(const struct writer *writer, int directory, const struct order *order)
{
    const struct fswrite *write = writer->config.write;
    const char *text = order->of.file.text;
    return write->write_at(write->context, directory, order->of.file.name, text, strlen(text));
}

int look_open(const struct writer *writer, const struct claim *claim)
{
    bool quota = claim->knob == KNOB_CPU;
    return cgroup_dir_open_claimed(quota ? writer->config.quotas : writer->config.hierarchy, claim);
}
