#include "exporter/governor/act/journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char file_name[] = "journal";

enum { JOURNAL_MAX = 16 << 20 }; /* longer, it is none of ours */
enum { LOCK_TRIES = 10, LOCK_PAUSE_US = 20000 };

/* ---- opening ---- */

/* The lock of one that has ended is held on by whoever looks at its descriptors in /proc just then:
 * for that, and no longer, it is tried again. */
static int lock(int fd)
{
    for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB); tries++) {
        if (errno != EWOULDBLOCK || tries == LOCK_TRIES)
            return -errno;
        usleep(LOCK_PAUSE_US);
    }
    return 0;
}

static int open_directory(const char *path, int *out, char *error, size_t error_size)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st)) {
        int err = -errno;
        snprintf(error, error_size, "state directory %s: %s", path, strerror(-err));
        if (fd >= 0)
            close(fd);
        return err;
    }
    int err = 0;
    if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH))) {
        err = -EPERM;
        snprintf(error, error_size,
                 "state directory %s: it must be ours, and writable by nobody else", path);
    } else if ((err = lock(fd))) {
        snprintf(error, error_size, "state directory %s: %s", path,
                 err == -EWOULDBLOCK ? "another governor is running" : strerror(-err));
    }
    if (err)
        close(fd);
    else
        *out = fd;
    return err;
}

static int read_boot_id(const struct fsroot *fs, char out[BOOT_ID_MAX])
{
    size_t len;
    int err = fsroot_read(fs, FSROOT_PROC, "sys/kernel/random/boot_id", out, BOOT_ID_MAX, &len);
    if (err)
        return err;
    out[strcspn(out, "\n")] = '\0';
    return out[0] ? 0 : -EINVAL;
}

static int read_whole(int fd, char **text, size_t *len)
{
    struct stat st;
    if (fstat(fd, &st))
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -ENOTSUP; /* who reads a pipe, or what a name leads to, would wait or believe it */
    if (st.st_size > JOURNAL_MAX)
        return -EFBIG;
    *len = 0;
    *text = malloc((size_t)st.st_size + 1);
    if (!*text)
        return -ENOMEM;
    while (*len < (size_t)st.st_size) {
        ssize_t n = pread(fd, *text + *len, (size_t)st.st_size - *len, (off_t)*len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int err = -errno;
            free(*text);
            return err;
        }
        if (n == 0)
            break;
        *len += (size_t)n;
    }
    return 0;
}

static int read_file(struct journal *journal, const char *directory, bool was_there, char *error,
                     size_t error_size)
{
    char *text = NULL;
    size_t len = 0, line = 0;
    const char *why = NULL;
    int err = read_whole(journal->file.fd, &text, &len);
    if (!err) {
        err = journal_read(text, len, journal->boot_id, &journal->open, &line, &why);
        free(text);
        journal->incomplete = was_there && (len == 0 || journal->open.torn);
    }
    if (err && why)
        snprintf(error, error_size, "%s/%s: line %zu: %s; nothing was changed", directory,
                 file_name, line, why);
    else if (err)
        snprintf(error, error_size, "%s/%s: %s", directory, file_name,
                 err == -ENOTSUP ? "it is no file" : strerror(-err));
    /* Also when it is torn, empty or of another boot: the next line is its first. */
    journal->dirty = journal->file.dirty = true;
    return err;
}

static int open_file(const struct journal_file *file, bool make)
{
    if (make)
        return file->write->open_at(file->write->context, file->directory, file_name, 0);
    int fd = openat(file->directory, file_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

int journal_open(struct journal *journal, const char *directory, bool make,
                 const struct fswrite *write, const struct fsroot *fs, char *error,
                 size_t error_size)
{
    journal_open_nowhere(journal);
    journal->file.write = write;
    journal->file.boot_id = journal->boot_id;
    journal->file.open = &journal->open;
    int err = open_directory(directory, &journal->file.directory, error, error_size);
    if (err)
        return err;
    err = read_boot_id(fs, journal->boot_id);
    bool was_there = !err && faccessat(journal->file.directory, file_name, F_OK, 0) == 0;
    if (err) {
        snprintf(error, error_size, "the kernel's boot_id: %s", strerror(-err));
    } else {
        int fd = open_file(&journal->file, make);
        if (fd >= 0)
            journal->file.fd = fd;
        else
            err = fd;
        if (err)
            snprintf(error, error_size, "%s/%s: %s", directory, file_name, strerror(-err));
    }
    if (!err)
        err = read_file(journal, directory, was_there, error, error_size);
    if (err)
        journal_close(journal);
    return err;
}

void journal_open_nowhere(struct journal *journal)
{
    *journal = (struct journal){.file = {.directory = -1, .fd = -1}};
}

void journal_open_remote(struct journal *journal, const struct journal_writer *writer)
{
    journal_open_nowhere(journal);
    journal->writer = writer;
}

void journal_close(struct journal *journal)
{
    if (journal->file.fd >= 0)
        close(journal->file.fd);
    if (journal->file.directory >= 0) {
        flock(journal->file.directory,
              LOCK_UN); /* closing does, once nobody looks at it in /proc */
        close(journal->file.directory);
    }
    journal->file.fd = journal->file.directory = -1;
    journal_claims_release(&journal->open);
}

/* ---- writing ---- */

bool journal_is_refused(const struct journal *journal, int err)
{
    return journal->writer && (err == JOURNAL_REFUSED || err == -ESTALE || err == -ENODEV ||
                               err == -EXDEV || err == -EBUSY);
}

/* What has become of a line; where a part of it may be there the next one makes the file anew. */
static int keep(struct journal *journal, int err)
{
    bool failed = err && !journal_is_refused(journal, err);
    journal->errors += failed;
    journal->dirty = failed;
    return err;
}

static bool is_nowhere(const struct journal *journal)
{
    return !journal->writer && journal->file.fd < 0;
}

int journal_compact(struct journal *journal)
{
    const struct journal_writer *writer = journal->writer;
    if (is_nowhere(journal))
        return 0;
    return keep(journal,
                writer ? writer->compact(writer->context) : journal_file_compact(&journal->file));
}

int journal_claim(struct journal *journal, struct claim *claim)
{
    const struct journal_writer *writer = journal->writer;
    struct claim numbered = *claim;
    const uint64_t instead = journal_claims_find(&journal->open, claim->id) ? claim->id : 0;
    /* Before the line is written: a line without a claim would be one that nobody releases. */
    int err = journal_claims_reserve(&journal->open);
    if (err)
        return err;
    numbered.id = ++journal->open.last_id;
    if (!is_nowhere(journal))
        err = keep(journal, writer ? writer->claim(writer->context, &numbered)
                                   : journal_file_claim(&journal->file, &numbered, instead));
    if (err)
        return err;
    journal_claims_remove(&journal->open, instead);
    journal->open.claims[journal->open.n++] = numbered;
    *claim = numbered;
    return 0;
}

int journal_intend(struct journal *journal, const struct intent *intent)
{
    const struct journal_writer *writer = journal->writer;
    struct claim *claim = journal_claims_find(&journal->open, intent->claim);
    if (!claim)
        return -ENOENT;
    int err = 0;
    if (!is_nowhere(journal))
        err = keep(journal, writer ? writer->intend(writer->context, intent)
                                   : journal_file_intend(&journal->file, intent));
    if (err)
        return err;
    memcpy(claim->from, intent->from, sizeof claim->from);
    memcpy(claim->set, intent->to, sizeof claim->set);
    return 0;
}

int journal_release(struct journal *journal, uint64_t claim)
{
    const struct journal_writer *writer = journal->writer;
    int err = 0;
    if (!is_nowhere(journal))
        err = keep(journal, writer ? writer->release(writer->context, claim)
                                   : journal_file_release(&journal->file, claim));
    journal_claims_remove(&journal->open, claim);
    return err;
}
