#include "exporter/blackbox/blackbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/blackbox/chute.h"
#include "exporter/blackbox/incidents.h"
#include "exporter/blackbox/pack.h"
#include "exporter/blackbox/scribe.h"
#include "exporter/service/channel.h"
#include "exporter/service/descriptors.h"

/* Containers that came and went while there was no room: more than that, and it is over. */
enum { EVENTS_BYTES = 4 << 20 };

struct blackbox {
    struct blackbox_config config;
    pid_t scribe;
    int channel, wake;
    struct chute *chute;
    struct recorder_sink sink;
    struct textbuf start, head, events, lines; /* of the message; events stay until they are sent */
    bool started, lost, opens;
    uint64_t mono_ns;
    struct incidents incidents;
    atomic_bool asked;

    pthread_mutex_t lock; /* guards what follows */
    struct blackbox_report report;
    uint64_t dropped;
    bool active;
};

const char *blackbox_why_name(enum blackbox_why why)
{
    static const char *const names[BLACKBOX_WHYS] = {
        [BLACKBOX_WAITS] = "waits",      [BLACKBOX_NAMED] = "named", [BLACKBOX_UNNAMED] = "unnamed",
        [BLACKBOX_LOSES] = "loses_time", [BLACKBOX_ASKED] = "asked",
    };
    return names[why];
}

/* ---- the fork ---- */

static int run_scribe(const struct blackbox *blackbox, pid_t reader, int channel)
{
    int keep[] = {channel, blackbox->wake};
    /* What the reader holds is not the scribe's, and would stay open behind its back. */
    descriptors_close_all_but(keep, sizeof keep / sizeof *keep);
    const struct scribe_config config = {.reader = reader,
                                         .channel = channel,
                                         .wake = blackbox->wake,
                                         .chute = blackbox->chute,
                                         .blackbox = &blackbox->config};
    return scribe_run(&config);
}

static int check_directory(const char *directory, char *error, size_t error_size)
{
    struct stat st;
    if (stat(directory, &st) == 0 && S_ISDIR(st.st_mode) && access(directory, W_OK | X_OK) == 0)
        return 0;
    snprintf(error, error_size, "--blackbox.directory: %s is not a directory that can be written",
             directory);
    return -EINVAL;
}

static void discard(struct blackbox *blackbox)
{
    if (blackbox->channel >= 0)
        close(blackbox->channel);
    if (blackbox->wake >= 0)
        close(blackbox->wake);
    chute_free(blackbox->chute);
    textbuf_release(&blackbox->start);
    textbuf_release(&blackbox->head);
    textbuf_release(&blackbox->events);
    textbuf_release(&blackbox->lines);
    pthread_mutex_destroy(&blackbox->lock);
    free(blackbox);
}

int blackbox_fork(const struct blackbox_config *config, struct blackbox **out, int *status,
                  char *error, size_t error_size)
{
    const pid_t reader = getpid();
    int ends[2] = {-1, -1};
    int err = check_directory(config->directory, error, error_size);
    struct blackbox *blackbox = err ? NULL : calloc(1, sizeof *blackbox);
    if (!blackbox)
        return err ? err : -ENOMEM;
    *blackbox = (struct blackbox){.config = *config, .channel = -1, .active = true};
    pthread_mutex_init(&blackbox->lock, NULL);
    blackbox->chute = chute_new(BLACKBOX_CHUTE_BYTES);
    blackbox->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    err = !blackbox->chute ? -ENOMEM : blackbox->wake < 0 ? -errno : channel_open(ends);
    pid_t pid = err ? -1 : fork();
    if (!err && pid < 0)
        err = -errno;
    if (pid == 0) {
        *status = run_scribe(blackbox, reader, ends[1]);
        return 1;
    }
    if (ends[1] >= 0)
        close(ends[1]);
    blackbox->channel = ends[0];
    blackbox->scribe = pid;
    if (err) {
        snprintf(error, error_size, "cannot start the black box: %s", strerror(-err));
        discard(blackbox);
        return err;
    }
    *out = blackbox;
    return 0;
}

void blackbox_free(struct blackbox *blackbox)
{
    if (!blackbox)
        return;
    close(blackbox->channel);
    blackbox->channel = -1;
    for (int i = 0; i < 400 && waitpid(blackbox->scribe, NULL, WNOHANG) == 0; i++)
        poll(NULL, 0, 5);
    discard(blackbox);
}

/* ---- what is read ---- */

static void take_line(void *context, const struct recording_line *line)
{
    struct blackbox *blackbox = context;
    switch (line->kind) {
    case RECORDING_UNIT:
    case RECORDING_THREAD:
        pack_line(&blackbox->start, line);
        break;
    case RECORDING_TICK:
        textbuf_clear(&blackbox->lines);
        pack_line(&blackbox->lines, line);
        blackbox->mono_ns = line->tick.mono_ns;
        break;
    case RECORDING_CONTAINER:
    case RECORDING_GONE:
    case RECORDING_MARK:
        if (!blackbox->lost)
            pack_line(&blackbox->events, line);
        break;
    default:
        pack_line(&blackbox->lines, line);
    }
}

static void lose(struct blackbox *blackbox, const char *words)
{
    if (!blackbox->lost)
        log_error(blackbox->config.log, "blackbox", "nothing is held or written any more: %s",
                  words);
    blackbox->lost = true;
    pthread_mutex_lock(&blackbox->lock);
    blackbox->active = false;
    pthread_mutex_unlock(&blackbox->lock);
}

/* Texts end, whatever the scribe has become. */
static void end_texts(struct blackbox_report *report)
{
    report->failure[sizeof report->failure - 1] = '\0';
    if (report->n_files > SHELF_FILES_MAX)
        report->n_files = SHELF_FILES_MAX;
    for (size_t i = 0; i < report->n_files; i++) {
        struct shelf_file *file = &report->files[i];
        file->name[sizeof file->name - 1] = file->why[sizeof file->why - 1] = '\0';
    }
}

/* What the scribe says. */
static void hear(struct blackbox *blackbox)
{
    struct blackbox_report report;
    size_t no_fds = 0;
    int got;
    while ((got = channel_receive(blackbox->channel, 0, &report, sizeof report, NULL, &no_fds)) >=
           (int)offsetof(struct blackbox_report, files)) {
        pthread_mutex_lock(&blackbox->lock);
        memcpy(&blackbox->report, &report, (size_t)got);
        end_texts(&blackbox->report);
        pthread_mutex_unlock(&blackbox->lock);
    }
    if (got != -ETIMEDOUT)
        lose(blackbox, "its process has ended");
}

static void begin_message(struct blackbox *blackbox)
{
    textbuf_clear(&blackbox->head);
    textbuf_char(&blackbox->head, SCRIBE_TICK);
    pack_u64(&blackbox->head, incidents_go_on(&blackbox->incidents, blackbox->mono_ns));
    pack_u64(&blackbox->head, blackbox->opens);
}

static bool is_whole(const struct blackbox *blackbox)
{
    return !blackbox->head.error && !blackbox->lines.error && !blackbox->events.error;
}

/* The tick's own line goes first, what came and went second. */
static bool send_tick(struct blackbox *blackbox)
{
    struct unpack in = {.at = (const uint8_t *)blackbox->lines.data,
                        .end = (const uint8_t *)blackbox->lines.data + blackbox->lines.len};
    struct recording_line tick;
    if (!is_whole(blackbox) || !unpack_line(&in, &tick))
        return false;
    size_t n = (size_t)(in.at - (const uint8_t *)blackbox->lines.data);
    const struct textbuf first = {.data = blackbox->lines.data, .len = n},
                         rest = {.data = blackbox->lines.data + n, .len = blackbox->lines.len - n};
    const struct textbuf *const parts[] = {&blackbox->head, &first, &blackbox->events, &rest};
    return chute_put(blackbox->chute, parts, 4);
}

static void take_asked(struct blackbox *blackbox)
{
    if (!atomic_exchange(&blackbox->asked, false))
        return;
    blackbox->opens = true;
    blackbox_mark(blackbox, BLACKBOX_ASKED, "");
}

static void flush(void *context)
{
    struct blackbox *blackbox = context;
    const struct textbuf *const start[] = {&blackbox->start};
    const uint64_t one = 1;
    if (!blackbox->started)
        blackbox->started = chute_put(blackbox->chute, start, 1);
    take_asked(blackbox);
    begin_message(blackbox);
    if (blackbox->started && send_tick(blackbox)) {
        textbuf_clear(&blackbox->events);
        blackbox->opens = false;
    } else {
        pthread_mutex_lock(&blackbox->lock);
        blackbox->dropped++;
        pthread_mutex_unlock(&blackbox->lock);
    }
    if (write(blackbox->wake, &one, sizeof one) < 0 && errno != EAGAIN)
        log_debug(blackbox->config.log, "blackbox", "cannot wake: %s", strerror(errno));
    if (blackbox->events.len > EVENTS_BYTES || blackbox->events.error) {
        textbuf_clear(&blackbox->events);
        lose(blackbox, "it does not keep up");
    }
    hear(blackbox);
}

void blackbox_begin(struct blackbox *blackbox, const struct machine *machine, uint64_t interval_ns)
{
    const struct recording_line header = {
        .kind = RECORDING_HEADER, .header = {.machine = *machine, .interval_ns = interval_ns}};
    textbuf_char(&blackbox->start, SCRIBE_START);
    pack_line(&blackbox->start, &header);
    blackbox->sink = (struct recorder_sink){take_line, flush, blackbox};
}

const struct recorder_sink *blackbox_sink(struct blackbox *blackbox)
{
    return &blackbox->sink;
}

bool blackbox_is(struct blackbox *blackbox, enum blackbox_why why, uint64_t who, uint64_t id)
{
    bool opens;
    if (!incidents_see(&blackbox->incidents, why, who ^ id << 24, blackbox->mono_ns, &opens))
        return false;
    blackbox->opens |= opens;
    return true;
}

void blackbox_mark(struct blackbox *blackbox, enum blackbox_why why, const char *key)
{
    const struct recording_line mark = {.kind = RECORDING_MARK,
                                        .mark = {blackbox_why_name(why), key}};
    take_line(blackbox, &mark);
}

/* ---- any thread ---- */

void blackbox_ask(struct blackbox *blackbox)
{
    atomic_store(&blackbox->asked, true);
}

void blackbox_read(struct blackbox *blackbox, struct blackbox_report *out, uint64_t *dropped,
                   bool *active)
{
    pthread_mutex_lock(&blackbox->lock);
    *out = blackbox->report;
    *dropped = blackbox->dropped;
    *active = blackbox->active;
    pthread_mutex_unlock(&blackbox->lock);
}

const char *blackbox_directory(const struct blackbox *blackbox)
{
    return blackbox->config.directory;
}
