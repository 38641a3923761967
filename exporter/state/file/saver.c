#include "exporter/state/file/saver.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/clock.h"
#include "exporter/state/file/file.h"
#include "exporter/state/state.h"

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
