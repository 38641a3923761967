#include "exporter/source/recording/file/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/base/whole.h"
#include "exporter/source/recording/file/packed.h"

/* A piece of a compressed file: this much text, or so many marks, whichever comes first. */
enum { PIECE_BYTES = 256 << 10, PIECE_MARKS = 10, LEVEL = 4 };

static int check(const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return -ENOTSUP;
    return st->st_uid == geteuid() && st->st_nlink == 1 ? 0 : -EPERM;
}

/* Without blocking, for the name may be a pipe's; emptied only when it is known to be ours. */
int output_open(struct output *output, const char *path)
{
    struct stat st;
    *output = (struct output){.fd = -1};
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == ENXIO ? -ENOTSUP : -errno;
    int err = fstat(fd, &st) == 0 ? check(&st) : -errno;
    if (!err && (fchmod(fd, 0600) != 0 || ftruncate(fd, 0) != 0))
        err = -errno;
    size_t len = strlen(path);
    if (!err && len > 3 && strcmp(path + len - 3, ".gz") == 0 &&
        !(output->pack = libdeflate_alloc_compressor(LEVEL)))
        err = -ENOMEM;
    if (err)
        close(fd);
    else
        output->fd = fd;
    return err;
}

const char *output_why(int err)
{
    switch (err) {
    case -ELOOP:
        return "it is a symbolic link";
    case -ENOTSUP:
        return "it is not a regular file";
    case -EPERM:
        return "it belongs to another user, or has other names too";
    default:
        return strerror(-err);
    }
}

static int write_bytes(struct output *output, const char *bytes, size_t n)
{
    if (output->max_bytes && (n > output->max_bytes || output->written > output->max_bytes - n))
        return -EFBIG;
    int err = write_whole(output->fd, bytes, n);
    if (!err)
        output->written += n;
    return err;
}

static int write_piece(struct output *output)
{
    packed_add(&output->piece, output->pack, output->text.data, output->text.len);
    int err = textbuf_finish(&output->piece);
    if (!err)
        err = write_bytes(output, output->piece.data, output->piece.len);
    textbuf_clear(&output->piece);
    textbuf_clear(&output->text);
    textbuf_trim(&output->text);
    output->marks = 0;
    return err;
}

int output_write(struct output *output, const char *bytes, size_t n)
{
    if (!output->pack)
        return write_bytes(output, bytes, n);
    /* What has no mark for long, such as what was learned, is never held whole. */
    int err = output->text.len >= PIECE_BYTES ? write_piece(output) : 0;
    if (err)
        return err;
    textbuf_add(&output->text, bytes, n);
    return textbuf_finish(&output->text);
}

int output_mark(struct output *output)
{
    int err = 0;
    /* The first one at once: an empty file is none. */
    if (output->pack && output->whole > 0 && ++output->marks < PIECE_MARKS &&
        output->text.len < PIECE_BYTES)
        return 0;
    if (output->pack && output->text.len > 0)
        err = write_piece(output);
    if (!err)
        output->whole = output->written;
    return err;
}

int output_cut(struct output *output)
{
    textbuf_clear(&output->text);
    output->marks = 0;
    output->written = output->whole;
    return ftruncate(output->fd, (off_t)output->whole) == 0 ? 0 : -errno;
}

int output_close(struct output *output)
{
    int fd = output->fd, err = 0;
    if (fd >= 0 && output->pack && output->text.len > 0) {
        output->marks = PIECE_MARKS;
        err = output_mark(output);
        if (err)
            output_cut(output);
    }
    libdeflate_free_compressor(output->pack);
    textbuf_release(&output->text);
    textbuf_release(&output->piece);
    output->pack = NULL;
    output->fd = -1;
    if (fd >= 0 && close(fd) != 0 && !err)
        err = -errno;
    return err;
}
