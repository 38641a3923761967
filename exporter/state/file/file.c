#include "exporter/state/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/base/whole.h"
#include "exporter/state/state.h"

static int explain(char *why, size_t why_size, const char *step, int err)
{
    snprintf(why, why_size, "%s: %s", step, strerror(-err));
    return err;
}

static int refuse(char *why, size_t why_size, const char *words)
{
    snprintf(why, why_size, "%s", words);
    return -EINVAL;
}

/* ---- reading ---- */

static int check(const struct stat *st, size_t max, char *why, size_t why_size)
{
    if (!S_ISREG(st->st_mode))
        return refuse(why, why_size, "it is not a regular file");
    if (st->st_uid != geteuid())
        return refuse(why, why_size, "it belongs to another user");
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return refuse(why, why_size, "others can write to it");
    if ((uint64_t)st->st_size > max)
        return refuse(why, why_size, "it is too large");
    return 0;
}

int state_file_read(const char *path, size_t max, uint8_t **bytes, size_t *len, char *why,
                    size_t why_size)
{
    struct stat st;
    uint8_t *buffer = NULL;
    size_t size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ELOOP)
        return refuse(why, why_size, "it is a symbolic link");
    if (fd < 0)
        return explain(why, why_size, "it cannot be opened", -errno);
    int err = fstat(fd, &st) == 0 ? check(&st, max, why, why_size)
                                  : explain(why, why_size, "it cannot be read", -errno);
    if (!err) {
        size = (size_t)st.st_size;
        buffer = malloc(size + 1);
        err = buffer ? read_whole(fd, buffer, size, &size) : -ENOMEM;
        if (err)
            explain(why, why_size, "it cannot be read", err);
    }
    close(fd);
    if (err) {
        free(buffer);
        return err;
    }
    *bytes = buffer;
    *len = size;
    return 0;
}

/* ---- replacing ---- */

/* A new file of this name; what a killed exporter left there goes. */
static int create(const char *path)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    int fd = open(path, flags, 0600);
    if (fd < 0 && errno == EEXIST && unlink(path) == 0)
        fd = open(path, flags, 0600);
    return fd < 0 ? -errno : fd;
}

static int write_new(const char *path, const uint8_t *bytes, size_t len, char *why, size_t why_size)
{
    int fd = create(path);
    if (fd < 0)
        return explain(why, why_size, "cannot create a file beside it", fd);
    int err = write_whole(fd, bytes, len);
    if (!err && fsync(fd) != 0)
        err = -errno;
    if (close(fd) != 0 && !err)
        err = -errno;
    return err ? explain(why, why_size, "cannot write", err) : 0;
}

/* So that the new name outlives a crash of the machine. Not every file system can. */
static int sync_directory(const char *path)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t len = slash == path ? 1 : slash ? (size_t)(slash - path) : 1;
    memcpy(directory, slash ? path : ".", len);
    directory[len] = '\0';
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int err = fsync(fd) == 0 || errno == EINVAL ? 0 : -errno;
    close(fd);
    return err;
}

int state_file_replace(const char *path, const uint8_t *bytes, size_t len, char *why,
                       size_t why_size)
{
    char beside[PATH_MAX];
    int n = snprintf(beside, sizeof beside, "%s.new", path);
    if (n < 0 || (size_t)n >= sizeof beside)
        return explain(why, why_size, "cannot create a file beside it", -ENAMETOOLONG);
    int err = write_new(beside, bytes, len, why, why_size);
    if (!err && rename(beside, path) != 0)
        err = explain(why, why_size, "cannot replace it", -errno);
    if (err) {
        unlink(beside);
        return err;
    }
    err = sync_directory(path);
    return err ? explain(why, why_size, "cannot sync its directory", err) : 0;
}

/* ---- saving ---- */

struct state_saver {
    const char *path;
    const struct log *log;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows; the buffer belongs to whoever 'len' says */
    pthread_cond_t changed;
    size_t len; /* being written; 0: idle */
    bool ending;
    struct state_saver_report report;

    uint8_t *buffer;
    size_t size;
};

static void note(struct state_saver *saver, int err, const char *why)
{
    struct state_saver_report *report = &saver->report;
    if (!err) {
        if (report->failure[0])
            log_info(saver->log, "state", "%s is written again", saver->path);
        report->failure[0] = '\0';
        report->saved_wall_ns = clock_ns(CLOCK_REALTIME);
    } else if (strcmp(report->failure, why) != 0) {
        log_warn(saver->log, "state", "%s is not up to date: %s", saver->path, why);
        memcpy(report->failure, why, sizeof report->failure);
    }
}

static void *thread_main(void *context)
{
    struct state_saver *saver = context;
    pthread_mutex_lock(&saver->lock);
    for (;;) {
        while (saver->len == 0 && !saver->ending)
            pthread_cond_wait(&saver->changed, &saver->lock);
        if (saver->len == 0)
            break;
        char why[sizeof saver->report.failure] = "";
        pthread_mutex_unlock(&saver->lock);
        state_seal(saver->buffer, saver->len);
        int err = state_file_replace(saver->path, saver->buffer, saver->len, why, sizeof why);
        pthread_mutex_lock(&saver->lock);
        note(saver, err, why);
        saver->len = 0;
        pthread_cond_broadcast(&saver->changed);
    }
    pthread_mutex_unlock(&saver->lock);
    return NULL;
}

/* Signals are for the loop. */
static int start_thread(struct state_saver *saver)
{
    sigset_t all, before;
    sigfillset(&all);
    int err = pthread_sigmask(SIG_BLOCK, &all, &before);
    if (!err) {
        err = pthread_create(&saver->thread, NULL, thread_main, saver);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    return -err;
}

int state_saver_new(const char *path, const struct log *log, struct state_saver **out)
{
    struct state_saver *saver = calloc(1, sizeof *saver);
    if (!saver)
        return -ENOMEM;
    saver->path = path;
    saver->log = log;
    pthread_mutex_init(&saver->lock, NULL);
    pthread_cond_init(&saver->changed, NULL);
    int err = start_thread(saver);
    if (err) {
        pthread_cond_destroy(&saver->changed);
        pthread_mutex_destroy(&saver->lock);
        free(saver);
        return err;
    }
    *out = saver;
    return 0;
}

void state_saver_free(struct state_saver *saver)
{
    if (!saver)
        return;
    pthread_mutex_lock(&saver->lock);
    saver->ending = true;
    pthread_cond_broadcast(&saver->changed);
    pthread_mutex_unlock(&saver->lock);
    pthread_join(saver->thread, NULL);
    pthread_cond_destroy(&saver->changed);
    pthread_mutex_destroy(&saver->lock);
    free(saver->buffer);
    free(saver);
}

bool state_saver_is_idle(struct state_saver *saver)
{
    pthread_mutex_lock(&saver->lock);
    bool idle = saver->len == 0;
    pthread_mutex_unlock(&saver->lock);
    return idle;
}

int state_saver_reserve(struct state_saver *saver, size_t size)
{
    if (size <= saver->size)
        return 0;
    uint8_t *buffer = malloc(size);
    if (!buffer)
        return -ENOMEM;
    free(saver->buffer);
    saver->buffer = buffer;
    saver->size = size;
    return 0;
}

uint8_t *state_saver_buffer(struct state_saver *saver, size_t *size)
{
    *size = saver->size;
    return saver->buffer;
}

void state_saver_start(struct state_saver *saver, size_t len)
{
    pthread_mutex_lock(&saver->lock);
    saver->len = len;
    pthread_cond_broadcast(&saver->changed);
    pthread_mutex_unlock(&saver->lock);
}

void state_saver_wait(struct state_saver *saver)
{
    pthread_mutex_lock(&saver->lock);
    while (saver->len > 0)
        pthread_cond_wait(&saver->changed, &saver->lock);
    pthread_mutex_unlock(&saver->lock);
}

void state_saver_report(struct state_saver *saver, struct state_saver_report *out)
{
    pthread_mutex_lock(&saver->lock);
    *out = saver->report;
    pthread_mutex_unlock(&saver->lock);
}
