#include "exporter/governor/act/journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char file_name[] = "journal", new_name[] = "journal.new";

/* A file this long is written anew; longer than JOURNAL_MAX is none of ours. */
enum { JOURNAL_LONG = 1 << 20, JOURNAL_MAX = 16 << 20 };
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
    int err = read_whole(journal->fd, &text, &len);
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
    journal->dirty = true;
    return err;
}

static int open_file(struct journal *journal, bool make)
{
    if (make)
        return journal->write->open_at(journal->write->context, journal->directory, file_name, 0);
    int fd = openat(journal->directory, file_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

int journal_open(struct journal *journal, const char *directory, bool make,
                 const struct fswrite *write, const struct fsroot *fs, char *error,
                 size_t error_size)
{
    *journal = (struct journal){.write = write, .directory = -1, .fd = -1};
    int err = open_directory(directory, &journal->directory, error, error_size);
    if (err)
        return err;
    err = read_boot_id(fs, journal->boot_id);
    bool was_there = !err && faccessat(journal->directory, file_name, F_OK, 0) == 0;
    if (err) {
        snprintf(error, error_size, "the kernel's boot_id: %s", strerror(-err));
    } else {
        int fd = open_file(journal, make);
        if (fd >= 0)
            journal->fd = fd;
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
    *journal = (struct journal){.directory = -1, .fd = -1};
}

void journal_open_kept(struct journal *journal, const struct journal_keeper *keeper)
{
    journal_open_nowhere(journal);
    journal->keeper = keeper;
}

void journal_close(struct journal *journal)
{
    if (journal->fd >= 0)
        close(journal->fd);
    if (journal->directory >= 0) {
        flock(journal->directory, LOCK_UN); /* closing does, once nobody looks at it in /proc */
        close(journal->directory);
    }
    journal->fd = journal->directory = -1;
    textbuf_release(&journal->text);
    journal_claims_release(&journal->open);
}

/* ---- writing ---- */

static int write_anew(struct journal *journal)
{
    void *context = journal->write->context;
    journal->dirty = true; /* until it is known which of the two files has the name */
    int fd = journal->write->open_at(context, journal->directory, new_name, 1);
    if (fd < 0)
        return fd;
    int err = journal->write->append(context, fd, journal->text.data, journal->text.len);
    if (!err)
        err = journal->write->rename_at(context, journal->directory, new_name, file_name);
    if (err) {
        close(fd);
        return err;
    }
    close(journal->fd);
    journal->fd = fd;
    journal->bytes = journal->text.len;
    journal->dirty = false;
    return 0;
}

bool journal_is_refused(const struct journal *journal, int err)
{
    return journal->keeper && (err == JOURNAL_REFUSED || err == -ESTALE || err == -ENODEV ||
                               err == -EXDEV || err == -EBUSY);
}

/* What a keeper has made of a line, who writes it anew himself where a part of it may be there. */
static int keep(struct journal *journal, int err)
{
    bool failed = err && !journal_is_refused(journal, err);
    journal->errors += failed;
    journal->dirty = failed;
    return err;
}

int journal_compact(struct journal *journal)
{
    if (journal->keeper)
        return keep(journal, journal->keeper->compact(journal->keeper->context));
    if (journal->fd < 0)
        return 0;
    textbuf_clear(&journal->text);
    journal_line_boot(&journal->text, journal->boot_id);
    for (size_t i = 0; i < journal->open.n; i++) {
        const struct claim *claim = &journal->open.claims[i];
        struct intent intent = {.claim = claim->id};
        journal_line_claim(&journal->text, claim);
        memcpy(intent.from, claim->from, sizeof intent.from);
        memcpy(intent.to, claim->set, sizeof intent.to);
        if (claim->set[0])
            journal_line_intend(&journal->text, &intent, 1);
    }
    int err = textbuf_finish(&journal->text);
    if (!err)
        err = write_anew(journal);
    if (err)
        journal->errors++;
    return err;
}

/* Before a line is made in journal->text. */
static int prepare(struct journal *journal)
{
    if (journal->keeper) /* who does so by himself */
        return 0;
    int err = journal->dirty || journal->bytes > JOURNAL_LONG ? journal_compact(journal) : 0;
    textbuf_clear(&journal->text);
    return err;
}

static int write_line(struct journal *journal)
{
    int err = textbuf_finish(&journal->text);
    if (journal->fd < 0)
        return err;
    if (!err)
        err = journal->write->append(journal->write->context, journal->fd, journal->text.data,
                                     journal->text.len);
    if (err) {
        journal->errors++;
        journal->dirty = true; /* a part of the line may be there */
    } else {
        journal->bytes += journal->text.len;
    }
    return err;
}

int journal_claim(struct journal *journal, struct claim *claim)
{
    struct claim with_id = *claim;
    int err = prepare(journal);
    if (err)
        return err;
    with_id.id = journal->open.last_id + 1;
    /* Before the line is written: a line without a claim would be one that nobody releases. */
    err = journal_claims_add(&journal->open, &with_id);
    if (err)
        return err;
    if (journal->keeper) {
        err = keep(journal, journal->keeper->claim(journal->keeper->context, &with_id));
    } else {
        journal_line_claim(&journal->text, &with_id);
        err = write_line(journal);
    }
    if (err)
        journal_claims_remove(&journal->open, with_id.id);
    else
        *claim = with_id;
    return err;
}

int journal_adopt(struct journal *journal, const struct claim *claim)
{
    struct claim *open = journal_claims_find(&journal->open, claim->id);
    if (!open)
        return -ENOENT;
    int err = prepare(journal);
    if (err)
        return err;
    if (journal->keeper) {
        err = keep(journal, journal->keeper->adopt(journal->keeper->context, claim));
    } else {
        journal_line_adopt(&journal->text, claim);
        err = write_line(journal);
    }
    if (err)
        return err;
    *open = *claim;
    open->from[0] = open->set[0] = '\0';
    return 0;
}

int journal_intend(struct journal *journal, const struct intent *intents, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!journal_claims_find(&journal->open, intents[i].claim))
            return -ENOENT;
    int err = prepare(journal);
    if (err)
        return err;
    if (journal->keeper) {
        err = keep(journal, journal->keeper->intend(journal->keeper->context, intents, n));
    } else {
        journal_line_intend(&journal->text, intents, n);
        err = write_line(journal);
    }
    for (size_t i = 0; i < n && !err; i++) {
        struct claim *claim = journal_claims_find(&journal->open, intents[i].claim);
        memcpy(claim->from, intents[i].from, sizeof claim->from);
        memcpy(claim->set, intents[i].to, sizeof claim->set);
    }
    return err;
}

int journal_release(struct journal *journal, const uint64_t *claims, size_t n)
{
    int err = n > 0 ? prepare(journal) : 0;
    if (n > 0 && journal->keeper) {
        err = keep(journal, journal->keeper->release(journal->keeper->context, claims, n));
    } else if (n > 0 && !err) {
        journal_line_release(&journal->text, claims, n);
        err = write_line(journal);
    }
    for (size_t i = 0; i < n; i++)
        journal_claims_remove(&journal->open, claims[i]);
    return err;
}
