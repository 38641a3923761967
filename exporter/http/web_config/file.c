#include "exporter/http/web_config/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/base/whole.h"
#include "exporter/http/web_config/config.h"

/* File systems stamp with a clock that ticks some times a second, or once. */
static const double settling_seconds = 2;

static double seconds(struct timespec time)
{
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static struct web_stamp stamp_of(const struct stat *st)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (struct web_stamp){
        .device = st->st_dev,
        .inode = st->st_ino,
        .size = st->st_size,
        .modified = st->st_mtim,
        .changed = st->st_ctim,
        .settled = seconds(now) - seconds(st->st_ctim) > settling_seconds,
    };
}

static int read_open(int fd, struct web_text *out, struct web_stamp *stamp)
{
    struct stat st;
    if (fstat(fd, &st))
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    if (st.st_size > WEB_FILE_MAX_BYTES)
        return -EFBIG;
    struct web_text text = {.bytes = malloc(WEB_FILE_MAX_BYTES + 2)};
    if (!text.bytes)
        return -ENOMEM;
    int err = read_whole(fd, text.bytes, WEB_FILE_MAX_BYTES + 1, &text.len);
    if (!err && text.len > WEB_FILE_MAX_BYTES) /* it grew */
        err = -EFBIG;
    if (err) {
        web_text_release(&text);
        return err;
    }
    text.bytes[text.len] = '\0';
    *out = text;
    *stamp = stamp_of(&st); /* of before: what changes now is seen the next time */
    return 0;
}

int web_file_read(const char *path, struct web_text *out, struct web_stamp *stamp)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    int err = read_open(fd, out, stamp);
    close(fd);
    return err;
}

void web_text_release(struct web_text *text)
{
    if (text->bytes)
        explicit_bzero(text->bytes, text->len);
    free(text->bytes);
    *text = (struct web_text){0};
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool web_file_unchanged(const char *path, const struct web_stamp *stamp)
{
    struct stat st;
    return stamp->settled && stat(path, &st) == 0 && st.st_dev == stamp->device &&
           st.st_ino == stamp->inode && st.st_size == stamp->size &&
           same_time(st.st_mtim, stamp->modified) && same_time(st.st_ctim, stamp->changed);
}
