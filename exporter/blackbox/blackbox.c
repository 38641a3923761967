#include "exporter/blackbox/blackbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/blackbox/chute.h"
#include "exporter/blackbox/incidents.h"
#include "exporter/blackbox/pack.h"
#include "exporter/blackbox/scribe.h"
#include "exporter/service/channel.h"
#include "exporter/service/confine.h"
#include "exporter/service/descriptors.h"
#include "exporter/service/privileges.h"
#include "exporter/service/supervisor.h"

/* Containers that came and went while there was no room: more than that, and it is over. */
enum { EVENTS_BYTES = 4 << 20 };
/* Scribes that may be killed; how long each waits for a directory that an earlier exporter's scribe
 * is leaving, and a new scribe after the one before. */
enum { STARTS_MAX = 10, LEAVE_MS = 3000, PAUSE_MS = 1000 };
static const uint64_t learned_ns = UINT64_C(120000000000);
/* In a tick, so that half of the chute is left for it. */
enum { PIECES_MAX = BLACKBOX_CHUTE_BYTES / 2 / RECORDING_LEARNED_PIECE };

struct blackbox {
    struct blackbox_config config;
    pid_t keeper;
    int channel, wake;
    int directory; /* locked; not the reader's */
    struct chute *chute;
    struct recorder_sink sink;
    struct textbuf start, head, events, lines; /* of the message; events stay until they are sent */
    bool started, lost, opens;
    uint64_t mono_ns, learned_ns; /* of the tick; what was told last; 0: never */
    const uint8_t *learned;       /* that; 'told' bytes of it so far */
    size_t learned_len, told;
    bool forgot;
    struct incidents incidents;
    atomic_bool asked;

    pthread_mutex_t lock; /* guards what follows */
    struct blackbox_report report;
    struct {
        uint64_t written, failed, removed;
    } earlier; /* what scribes did that were killed */
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

/* Returns the status of the process that it is: of the keeper, or of a scribe. */
static int run_keeper(const struct blackbox *blackbox)
{
    struct scribe_config config = {.channel = blackbox->channel,
                                   .wake = blackbox->wake,
                                   .directory = blackbox->directory,
                                   .chute = blackbox->chute,
                                   .blackbox = &blackbox->config};
    int keep[] = {config.channel, config.wake, config.directory}, status = 0;
    /* What the reader holds is not theirs, and would stay open behind its back. */
    descriptors_close_all_but(keep, 3);
    (void)privileges_drop(NULL, 0);
    (void)confine_directory(config.directory);
    struct pollfd end = {.fd = config.channel, .events = POLLRDHUP};
    while (config.starts < STARTS_MAX && (config.starts == 0 || poll(&end, 1, PAUSE_MS) == 0)) {
        config.starts++;
        pid_t scribe = fork();
        if (scribe == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            return scribe_run(&config);
        }
        if (scribe < 0 || waitpid(scribe, &status, 0) < 0 || WIFEXITED(status))
            break;
        log_error(config.blackbox->log, "blackbox", "its process was killed by signal %d",
                  WTERMSIG(status));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

/* Two that wrote there would each remove the other's files. */
static int take_directory(struct blackbox *blackbox, char *error, size_t error_size)
{
    const char *directory = blackbox->config.directory;
    blackbox->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (blackbox->directory < 0 || access(directory, W_OK | X_OK) != 0) {
        snprintf(error, error_size,
                 "--blackbox.directory: %s is not a directory that can be written", directory);
        return -EINVAL;
    }
    for (int ms = 0; flock(blackbox->directory, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
         ms += 50) {
        if (ms >= LEAVE_MS) {
            snprintf(error, error_size,
                     "--blackbox.directory: another exporter writes its files to %s: give each its "
                     "own directory",
                     directory);
            return -EBUSY;
        }
        poll(NULL, 0, 50);
    }
    return 0;
}

static void discard(struct blackbox *blackbox)
{
    if (blackbox->channel >= 0)
        close(blackbox->channel);
    if (blackbox->wake >= 0)
        close(blackbox->wake);
    if (blackbox->directory >= 0)
        close(blackbox->directory);
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
    struct blackbox *blackbox = calloc(1, sizeof *blackbox);
    if (!blackbox)
        return -ENOMEM;
    *blackbox = (struct blackbox){.config = *config, .channel = -1, .wake = -1, .active = true};
    pthread_mutex_init(&blackbox->lock, NULL);
    int err = take_directory(blackbox, error, error_size);
    if (err) {
        discard(blackbox);
        return err;
    }
    blackbox->chute = chute_new(BLACKBOX_CHUTE_BYTES);
    blackbox->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    err = !blackbox->chute     ? -ENOMEM
          : blackbox->wake < 0 ? -errno
                               : supervisor_fork(&blackbox->channel, &blackbox->keeper);
    if (err > 0) {
        *status = run_keeper(blackbox);
        return 1;
    }
    close(blackbox->directory);
    blackbox->directory = -1;
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
    supervisor_wait(blackbox->keeper, 2000);
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
    blackbox->report.ring_bytes = blackbox->report.ring_ticks = blackbox->report.ring_span_ns = 0;
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
        if (report.starts > 1 && report.starts != blackbox->report.starts) {
            blackbox->earlier.written = blackbox->report.written;
            blackbox->earlier.failed = blackbox->report.failed;
            blackbox->earlier.removed = blackbox->report.removed;
            blackbox->forgot = true;
        }
        memcpy(&blackbox->report, &report, (size_t)got);
        blackbox->report.written += blackbox->earlier.written;
        blackbox->report.failed += blackbox->earlier.failed;
        blackbox->report.removed += blackbox->earlier.removed;
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
    struct unpack in = unpack_begin(&blackbox->lines);
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

static bool send_start(struct blackbox *blackbox)
{
    const struct textbuf *const start[] = {&blackbox->start};
    if (!blackbox->started)
        blackbox->started = chute_put(blackbox->chute, start, 1);
    return blackbox->started;
}

/* The next pieces of what was learned, as far as there is room. */
static void tell_on(struct blackbox *blackbox)
{
    for (int i = 0; i < PIECES_MAX && blackbox->told < blackbox->learned_len; i++) {
        size_t left = blackbox->learned_len - blackbox->told;
        const struct textbuf piece = {
            .data = (char *)(uintptr_t)(blackbox->learned + blackbox->told),
            .len = left < RECORDING_LEARNED_PIECE ? left : RECORDING_LEARNED_PIECE};
        const struct textbuf *const parts[] = {&blackbox->head, &piece};
        textbuf_clear(&blackbox->head);
        textbuf_char(&blackbox->head, SCRIBE_LEARNED);
        pack_u64(&blackbox->head, blackbox->told);
        pack_u64(&blackbox->head, blackbox->learned_len);
        if (blackbox->head.error || !chute_put(blackbox->chute, parts, 2))
            return;
        blackbox->told += piece.len;
    }
}

static bool flush(void *context)
{
    struct blackbox *blackbox = context;
    const uint64_t one = 1;
    bool started = send_start(blackbox), sent;
    tell_on(blackbox);
    take_asked(blackbox);
    begin_message(blackbox);
    sent = started && send_tick(blackbox);
    if (sent) {
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
    return sent || blackbox->lost;
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

bool blackbox_is_told(const struct blackbox *blackbox)
{
    return blackbox->told == blackbox->learned_len;
}

bool blackbox_wants_learned(const struct blackbox *blackbox, uint64_t now_ns)
{
    return !blackbox->lost && blackbox_is_told(blackbox) &&
           (blackbox->learned_ns == 0 || now_ns - blackbox->learned_ns >= learned_ns);
}

void blackbox_learned(struct blackbox *blackbox, const uint8_t *bytes, size_t len, uint64_t now_ns)
{
    blackbox->learned = bytes;
    blackbox->learned_len = len <= RECORDING_LEARNED_MAX && send_start(blackbox) ? len : 0;
    blackbox->learned_ns = now_ns;
    blackbox->told = 0;
    tell_on(blackbox);
    if (blackbox->told == 0 && len > 0) { /* later it would not be of this tick */
        blackbox->learned_len = 0;
        log_debug(blackbox->config.log, "blackbox", "no room for what was learned");
    }
}

bool blackbox_forgot(struct blackbox *blackbox)
{
    bool forgot = blackbox->forgot;
    if (forgot) {
        blackbox->forgot = blackbox->started = false;
        textbuf_clear(&blackbox->events);
    }
    return forgot;
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

bool blackbox_ask(struct blackbox *blackbox)
{
    atomic_store(&blackbox->asked, true);
    pthread_mutex_lock(&blackbox->lock);
    bool active = blackbox->active;
    pthread_mutex_unlock(&blackbox->lock);
    return active;
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
