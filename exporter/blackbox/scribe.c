#include "exporter/blackbox/scribe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/blackbox/pack.h"
#include "exporter/blackbox/ring.h"
#include "exporter/blackbox/shelf.h"
#include "exporter/service/channel.h"
#include "exporter/service/confine.h"
#include "exporter/service/privileges.h"

/* A file goes on for so long after the last thing that began has ended, and is never longer than so
 * long after its own beginning. */
static const uint64_t after_ns = UINT64_C(300000000000), longest_ns = UINT64_C(3600000000000);

static const struct ring_limits ring_limits = {.span_ns = BLACKBOX_SPAN_NS,
                                               .max_bytes = BLACKBOX_RING_BYTES};

struct scribe {
    struct scribe_config config;
    const struct log *log;
    int directory; /* the config's */
    bool started;  /* the message has come */
    struct ring *ring;
    struct shelf shelf;
    /* Of the file that is being written; NULL: none is. */
    struct recorder *recorder;
    struct ring_player *player;
    uint64_t opened_mono_ns, busy_mono_ns; /* when it was; when something was going on */
    /* Of the message. */
    struct textbuf message;
    char why[32]; /* the first mark's; "": there is none */
    uint64_t mono_ns, wall_ns;
    struct blackbox_report report;
};

/* ---- a file ---- */

static void fail(struct scribe *scribe, const char *what, const char *words)
{
    scribe->report.failed++;
    snprintf(scribe->report.failure, sizeof scribe->report.failure, "%.96s: %.60s", what, words);
    log_error(scribe->log, "blackbox", "%s: %s", what, words);
}

static struct shelf_file *newest(struct scribe *scribe)
{
    return &scribe->shelf.files[scribe->shelf.n - 1];
}

/* What cannot be written is given up; whole ticks that were written stay. */
static void close_file(struct scribe *scribe)
{
    struct shelf_file *file = newest(scribe);
    struct stat st;
    bool active = recorder_is_active(scribe->recorder);
    ring_player_free(scribe->player);
    int err = recorder_free(scribe->recorder);
    scribe->recorder = NULL;
    scribe->player = NULL;
    file->open = false;
    if (fstatat(scribe->directory, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        file->bytes = (uint64_t)st.st_size;
    if (err || !active) {
        fail(scribe, file->name, err ? strerror(-err) : "it has ended before its time");
    } else {
        scribe->report.written++;
        log_info(scribe->log, "blackbox", "%s is complete: %llu bytes", file->name,
                 (unsigned long long)file->bytes);
    }
    if (file->bytes == 0)
        shelf_drop_last(&scribe->shelf);
    shelf_trim(&scribe->shelf);
}

static void open_file(struct scribe *scribe)
{
    const struct recording_line *header = ring_header(scribe->ring);
    char path[4096];
    if (!header)
        return;
    struct shelf_file *file = shelf_add(&scribe->shelf, scribe->why, scribe->wall_ns);
    if (!file) {
        fail(scribe, "the oldest file cannot be removed", strerror(errno));
        return;
    }
    snprintf(path, sizeof path, "%s/%s", scribe->config.blackbox->directory, file->name);
    int err = recorder_new(path, &header->header.machine, header->header.interval_ns, scribe->log,
                           &scribe->recorder);
    if (err) {
        fail(scribe, file->name, recorder_why(err));
        shelf_drop_last(&scribe->shelf);
        return;
    }
    recorder_limit(scribe->recorder, scribe->config.blackbox->max_bytes);
    err = ring_player_new(scribe->ring, scribe->recorder, &scribe->player);
    scribe->opened_mono_ns = scribe->busy_mono_ns = scribe->mono_ns;
    log_info(scribe->log, "blackbox", "%s: what was read in the last minutes is written to %s",
             scribe->why, path);
    if (err)
        close_file(scribe);
}

static void write_on(struct scribe *scribe)
{
    int err = ring_player_run(scribe->player);
    struct shelf_file *file = newest(scribe);
    file->bytes = recorder_bytes(scribe->recorder);
    file->ended_wall_ns = scribe->wall_ns;
    shelf_trim(&scribe->shelf);
    if (err || !recorder_is_active(scribe->recorder) ||
        scribe->mono_ns - scribe->busy_mono_ns >= after_ns ||
        scribe->mono_ns - scribe->opened_mono_ns >= longest_ns)
        close_file(scribe);
}

/* ---- messages ---- */

static void take_line(struct scribe *scribe, const struct recording_line *line)
{
    if (line->kind == RECORDING_TICK) {
        scribe->mono_ns = line->tick.mono_ns;
        scribe->wall_ns = line->tick.wall_ns;
    }
    if (line->kind == RECORDING_MARK && !scribe->why[0])
        snprintf(scribe->why, sizeof scribe->why, "%s", line->mark.why);
    ring_take(scribe->ring, line);
}

/* Once for each scribe, or once more for one that took what was told to the one before. */
static void begin_ring(struct scribe *scribe)
{
    struct ring *fresh;
    if (scribe->recorder)
        close_file(scribe);
    if (scribe->started && ring_new(&ring_limits, &fresh) == 0) {
        ring_free(scribe->ring);
        scribe->ring = fresh;
    }
    scribe->started = true;
    if (scribe->config.starts > 1)
        ring_resume(scribe->ring);
}

static void take_message(struct scribe *scribe)
{
    struct unpack in = unpack_begin(&scribe->message);
    struct recording_line line;
    bool tick = *in.at == SCRIBE_TICK, going_on = false, opens = false;
    if (*in.at == SCRIBE_START)
        begin_ring(scribe);
    if (!scribe->started)
        return;
    if (*in.at++ == SCRIBE_LEARNED) {
        uint64_t at = unpack_u64(&in), whole = unpack_u64(&in);
        ring_learn(scribe->ring, in.at, (size_t)(in.end - in.at), at, whole);
        return;
    }
    scribe->why[0] = '\0';
    if (tick) {
        going_on = unpack_u64(&in);
        opens = unpack_u64(&in);
    }
    while (in.at < in.end && unpack_line(&in, &line))
        take_line(scribe, &line);
    if (!tick)
        return;
    ring_flush(scribe->ring);
    if (going_on || scribe->why[0])
        scribe->busy_mono_ns = scribe->mono_ns;
    if (opens && scribe->why[0] && !scribe->recorder)
        open_file(scribe);
    if (scribe->recorder)
        write_on(scribe);
}

static void report(struct scribe *scribe)
{
    struct blackbox_report *out = &scribe->report;
    struct ring_figures figures;
    if (!scribe->recorder)
        shelf_forget_missing(&scribe->shelf);
    ring_figures(scribe->ring, &figures);
    out->ring_bytes = figures.bytes + (scribe->player ? ring_player_bytes(scribe->player) : 0);
    out->ring_ticks = figures.ticks;
    out->ring_span_ns = figures.end_mono_ns - figures.begin_mono_ns;
    out->removed = scribe->shelf.removed;
    out->n_files = scribe->shelf.n;
    memcpy(out->files, scribe->shelf.files, sizeof out->files);
    channel_send(scribe->config.channel, out,
                 offsetof(struct blackbox_report, files) + out->n_files * sizeof *out->files, NULL,
                 0);
}

static void take_messages(struct scribe *scribe)
{
    int got;
    while ((got = chute_take(scribe->config.chute, &scribe->message)) != 0)
        if (got > 0 && scribe->message.len > 0)
            take_message(scribe);
}

/* ---- the process ---- */

static void confine(const struct scribe *scribe)
{
    bool few = privileges_drop(NULL, 0) == 0;
    if (confine_supported())
        (void)privileges_enclose(true);
    unsigned done = confine_directory(scribe->directory) | confine_actions(getpid(), false);
    log_info(scribe->log, "blackbox", "the process that writes %s: %s, %s, %s",
             scribe->config.blackbox->directory, few ? "no capabilities" : "capabilities as given",
             done & CONFINED_FILES ? "no files elsewhere" : "files as its user",
             done & CONFINED_CALLS ? "no programs, no network" : "all system calls (no seccomp)");
}

static void serve(struct scribe *scribe)
{
    report(scribe); /* that it is there */
    for (;;) {
        struct pollfd events[] = {{.fd = scribe->config.channel, .events = POLLRDHUP},
                                  {.fd = scribe->config.wake, .events = POLLIN}};
        uint64_t n;
        if (poll(events, 2, -1) < 0 && errno != EINTR)
            break;
        if (events[1].revents && read(scribe->config.wake, &n, sizeof n) < 0 && errno != EAGAIN)
            break;
        take_messages(scribe);
        if (events[0].revents)
            break;
        report(scribe);
    }
    if (scribe->recorder)
        close_file(scribe);
}

static int start(struct scribe *scribe)
{
    const struct blackbox_config *blackbox = scribe->config.blackbox;
    scribe->report.starts = scribe->config.starts;
    confine(scribe);
    setpriority(PRIO_PROCESS, 0, 10);
    int err =
        shelf_init(&scribe->shelf, scribe->directory, blackbox->max_files, blackbox->max_bytes);
    return err ? err : ring_new(&ring_limits, &scribe->ring);
}

int scribe_run(const struct scribe_config *config)
{
    struct scribe *scribe = calloc(1, sizeof *scribe);
    int err = -ENOMEM;
    if (scribe) {
        scribe->config = *config;
        scribe->log = config->blackbox->log;
        scribe->directory = config->directory;
        err = start(scribe);
    }
    if (err)
        log_error(config->blackbox->log, "blackbox", "nothing will be written to %s: %s",
                  config->blackbox->directory, strerror(-err));
    else
        serve(scribe);
    if (scribe) {
        ring_free(scribe->ring);
        textbuf_release(&scribe->message);
    }
    free(scribe);
    return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
