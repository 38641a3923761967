#include "exporter/daemon/saved_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/blackbox/blackbox.h"
#include "exporter/state/file/file.h"

static const uint64_t interval_ns = 120 * UINT64_C(1000000000);

/* ---- which boot of which machine ---- */

static void learn_boot_id(const struct fsroot *fs, struct state_identity *here)
{
    char text[64];
    size_t len;
    if (fsroot_read(fs, FSROOT_PROC, "sys/kernel/random/boot_id", text, sizeof text, &len) == 0)
        snprintf(here->boot_id, sizeof here->boot_id, "%.*s", (int)strcspn(text, "\n"), text);
}

/* What the user's events file counts in place of the built-in events. */
static uint32_t digest_events(const struct events_file *file)
{
    uint32_t digest = 0;
    for (int role = 0; role < ROLE_COUNT; role++) {
        const char *event = file->event[role] ? file->event[role] : "";
        digest = state_digest(digest, event, strlen(event) + 1);
    }
    return digest;
}

/* What is learned from a recording is of no machine, and of use to replays only. */
static void learn_identity(struct state_identity *here, const struct machine *machine)
{
    *here = (struct state_identity){
        .boot_id = "replay",
        .base_frequency_hz = machine->base_frequency_hz,
        .cpus = (uint32_t)machine->cpus,
        .sockets = (uint32_t)machine->sockets,
        .numa_nodes = (uint32_t)machine->numa_nodes,
        .events = digest_events(&(struct events_file){0}),
    };
    snprintf(here->microarchitecture, sizeof here->microarchitecture, "%s",
             machine->microarchitecture);
}

/* ---- reading ---- */

/* 0, or the error with the reason in 'why'. -ENOENT: there is none. */
static int read_state(struct saved_state *saved, const struct replay *replay, uint64_t now_ns,
                      char *why, size_t why_size)
{
    uint8_t *bytes = NULL;
    size_t len;
    int err = 0;
    if (saved->path) {
        err = state_file_read(saved->path, STATE_MAX_BYTES, &bytes, &len, why, why_size);
    } else {
        const uint8_t *recorded = replay_learned(replay, &len);
        if (recorded && !(bytes = malloc(len + 1)))
            return -ENOMEM;
        if (recorded)
            memcpy(bytes, recorded, len);
        err = recorded ? 0 : -ENOENT;
    }
    if (err)
        return err;
    err = state_parse(bytes, len, &saved->here, now_ns, &saved->state, why, why_size);
    if (err)
        free(bytes);
    if (err == -ENOMEM)
        snprintf(why, why_size, "out of memory");
    return err;
}

static void start_saver(struct saved_state *saved)
{
    int err = state_saver_new(saved->path, saved->log, &saved->saver);
    if (!err)
        return;
    log_error(saved->log, "state", "%s will not be written: %s", saved->path, strerror(-err));
    saved->saver = NULL;
}

void saved_state_init(struct saved_state *saved, const struct plan *plan,
                      const struct machine *machine, const struct replay *replay,
                      const struct log *log, uint64_t now_ns)
{
    const char *path = plan->options->state_file;
    char why[128];
    *saved = (struct saved_state){
        .path = path, .log = log, .due_ns = now_ns + interval_ns, .blackbox = plan->blackbox};
    learn_identity(&saved->replayed, machine);
    saved->here = saved->replayed;
    if (!replay) {
        saved->here.boot_id[0] = '\0';
        learn_boot_id(&plan->fs, &saved->here);
        saved->here.events = digest_events(&plan->events);
    }
    if (!path && !replay)
        return;
    int err = read_state(saved, replay, now_ns, why, sizeof why);
    if (!err)
        snprintf(saved->words, sizeof saved->words, "read: %zu entries, written %llu s before",
                 state_entries(saved->state),
                 (unsigned long long)((now_ns - state_mono_ns(saved->state)) / 1000000000u));
    else if (err == -ENOENT)
        snprintf(saved->words, sizeof saved->words, "there was none: everything is learned anew");
    else
        snprintf(saved->words, sizeof saved->words, "ignored, everything is learned anew: %s", why);
    log_write(log, err && err != -ENOENT ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "state", "%s: %s",
              path ? path : "what was learned before the recording", saved->words);
    if (path)
        start_saver(saved);
}

void saved_state_release(struct saved_state *saved)
{
    state_saver_free(saved->saver);
    state_free(saved->state);
    textbuf_release(&saved->room);
    *saved = (struct saved_state){0};
}

/* ---- writing ---- */

static size_t serialise(const struct saved_state *saved, const struct state_identity *identity,
                        uint8_t *room, size_t size, const struct roster *roster, struct live *live,
                        uint64_t now_ns)
{
    struct state_writer writer;
    state_write_begin(&writer, room, size, identity, now_ns);
    roster_save(roster, &writer);
    live_save(live, &writer);
    state_carry(&writer, saved->state);
    return state_write_end(&writer);
}

static void refuse(struct saved_state *saved, const char *words)
{
    if (!saved->refused)
        log_warn(saved->log, "state", "%s is not up to date: %s", saved->path, words);
    saved->refused = true;
}

/* The saver is idle. */
static void save(struct saved_state *saved, const struct roster *roster, struct live *live,
                 uint64_t now_ns)
{
    size_t size;
    uint8_t *room = state_saver_buffer(saved->saver, &size);
    size_t len = serialise(saved, &saved->here, room, size, roster, live, now_ns);
    if (len > STATE_MAX_BYTES) {
        refuse(saved, "there are too many containers");
        return;
    }
    if (len > size && state_saver_reserve(saved->saver, len + len / 4) != 0) {
        refuse(saved, "out of memory");
        return;
    }
    if (len > size) {
        room = state_saver_buffer(saved->saver, &size);
        len = serialise(saved, &saved->here, room, size, roster, live, now_ns);
    }
    saved->refused = false;
    state_saver_start(saved->saver, len);
}

void saved_state_tell(struct saved_state *saved, const struct roster *roster, struct live *live,
                      uint64_t now_ns)
{
    struct textbuf *room = &saved->room;
    size_t len = saved->told;
    textbuf_clear(room);
    do { /* once more where it has become longer */
        if (textbuf_reserve(room, len))
            return;
        len = serialise(saved, &saved->replayed, (uint8_t *)room->data, room->cap, roster, live,
                        now_ns);
    } while (len > room->cap && len <= RECORDING_LEARNED_MAX);
    len = len > room->cap ? 0 : len; /* longer than a file may have */
    saved->told = len;
    if (len > 0)
        state_seal((uint8_t *)room->data, len);
    blackbox_learned(saved->blackbox, (const uint8_t *)room->data, len, now_ns);
}

void saved_state_tick(struct saved_state *saved, const struct roster *roster, struct live *live,
                      uint64_t now_ns)
{
    if (saved->blackbox && blackbox_is_told(saved->blackbox))
        textbuf_release(&saved->room);
    if (saved->blackbox && blackbox_wants_learned(saved->blackbox, now_ns))
        saved_state_tell(saved, roster, live, now_ns);
    if (!saved->saver || now_ns < saved->due_ns || !state_saver_is_idle(saved->saver))
        return;
    save(saved, roster, live, now_ns);
    saved->due_ns = now_ns + interval_ns;
    if (saved->state && now_ns - state_mono_ns(saved->state) > STATE_UNCLAIMED_NS)
        state_forget(saved->state);
}

void saved_state_end(struct saved_state *saved, const struct roster *roster, struct live *live,
                     uint64_t now_ns)
{
    if (!saved->saver)
        return;
    state_saver_wait(saved->saver);
    save(saved, roster, live, now_ns);
    state_saver_wait(saved->saver);
}

void saved_state_report(const struct saved_state *saved, struct pages_state *out)
{
    struct state_saver_report report = {0};
    *out = (struct pages_state){.file = saved->path};
    if (!saved->path)
        return;
    if (saved->saver)
        state_saver_report(saved->saver, &report);
    snprintf(out->words, sizeof out->words, "%s", saved->words);
    out->saved_wall_ns = report.saved_wall_ns;
    snprintf(out->failure, sizeof out->failure, "%s",
             !saved->saver    ? "no thread could be started to write it"
             : saved->refused ? "there are too many containers, or too little memory"
                              : report.failure);
}
