#include "exporter/daemon/kept.h"

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
static int read_state(struct kept *kept, const struct replay *replay, uint64_t now_ns, char *why,
                      size_t why_size)
{
    uint8_t *bytes = NULL;
    size_t len;
    int err = 0;
    if (kept->path) {
        err = state_file_read(kept->path, STATE_MAX_BYTES, &bytes, &len, why, why_size);
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
    err = state_parse(bytes, len, &kept->here, now_ns, &kept->state, why, why_size);
    if (err)
        free(bytes);
    if (err == -ENOMEM)
        snprintf(why, why_size, "out of memory");
    return err;
}

static void start_saver(struct kept *kept)
{
    int err = state_saver_new(kept->path, kept->log, &kept->saver);
    if (!err)
        return;
    log_error(kept->log, "state", "%s will not be written: %s", kept->path, strerror(-err));
    kept->saver = NULL;
}

void kept_init(struct kept *kept, const struct plan *plan, const struct machine *machine,
               const struct replay *replay, const struct log *log, uint64_t now_ns)
{
    const char *path = plan->options->state_file;
    char why[128];
    *kept = (struct kept){
        .path = path, .log = log, .due_ns = now_ns + interval_ns, .blackbox = plan->blackbox};
    learn_identity(&kept->replayed, machine);
    kept->here = kept->replayed;
    if (!replay) {
        kept->here.boot_id[0] = '\0';
        learn_boot_id(&plan->fs, &kept->here);
        kept->here.events = digest_events(&plan->events);
    }
    if (!path && !replay)
        return;
    int err = read_state(kept, replay, now_ns, why, sizeof why);
    if (!err)
        snprintf(kept->words, sizeof kept->words, "read: %zu entries, written %llu s before",
                 state_entries(kept->state),
                 (unsigned long long)((now_ns - state_mono_ns(kept->state)) / 1000000000u));
    else if (err == -ENOENT)
        snprintf(kept->words, sizeof kept->words, "there was none: everything is learned anew");
    else
        snprintf(kept->words, sizeof kept->words, "ignored, everything is learned anew: %s", why);
    log_write(log, err && err != -ENOENT ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "state", "%s: %s",
              path ? path : "what was learned before the recording", kept->words);
    if (path)
        start_saver(kept);
}

void kept_release(struct kept *kept)
{
    state_saver_free(kept->saver);
    state_free(kept->state);
    textbuf_release(&kept->room);
    *kept = (struct kept){0};
}

/* ---- writing ---- */

static size_t serialise(const struct kept *kept, const struct state_identity *identity,
                        uint8_t *room, size_t size, const struct roster *roster, struct live *live,
                        uint64_t now_ns)
{
    struct state_writer writer;
    state_write_begin(&writer, room, size, identity, now_ns);
    roster_save(roster, &writer);
    live_save(live, &writer);
    state_carry(&writer, kept->state);
    return state_write_end(&writer);
}

static void refuse(struct kept *kept, const char *words)
{
    if (!kept->refused)
        log_warn(kept->log, "state", "%s is not up to date: %s", kept->path, words);
    kept->refused = true;
}

/* The saver is idle. */
static void save(struct kept *kept, const struct roster *roster, struct live *live, uint64_t now_ns)
{
    size_t size;
    uint8_t *room = state_saver_buffer(kept->saver, &size);
    size_t len = serialise(kept, &kept->here, room, size, roster, live, now_ns);
    if (len > STATE_MAX_BYTES) {
        refuse(kept, "there are too many containers");
        return;
    }
    if (len > size && state_saver_reserve(kept->saver, len + len / 4) != 0) {
        refuse(kept, "out of memory");
        return;
    }
    if (len > size) {
        room = state_saver_buffer(kept->saver, &size);
        len = serialise(kept, &kept->here, room, size, roster, live, now_ns);
    }
    kept->refused = false;
    state_saver_start(kept->saver, len);
}

void kept_tell(struct kept *kept, const struct roster *roster, struct live *live, uint64_t now_ns)
{
    struct textbuf *room = &kept->room;
    size_t len = kept->told;
    textbuf_clear(room);
    do { /* once more where it has become longer */
        if (textbuf_reserve(room, len))
            return;
        len = serialise(kept, &kept->replayed, (uint8_t *)room->data, room->cap, roster, live,
                        now_ns);
    } while (len > room->cap && len <= RECORDING_LEARNED_MAX);
    len = len > room->cap ? 0 : len; /* longer than a file may have */
    kept->told = len;
    if (len > 0)
        state_seal((uint8_t *)room->data, len);
    blackbox_learned(kept->blackbox, (const uint8_t *)room->data, len, now_ns);
}

void kept_tick(struct kept *kept, const struct roster *roster, struct live *live, uint64_t now_ns)
{
    if (kept->blackbox && blackbox_is_told(kept->blackbox))
        textbuf_release(&kept->room);
    if (kept->blackbox && blackbox_wants_learned(kept->blackbox, now_ns))
        kept_tell(kept, roster, live, now_ns);
    if (!kept->saver || now_ns < kept->due_ns || !state_saver_is_idle(kept->saver))
        return;
    save(kept, roster, live, now_ns);
    kept->due_ns = now_ns + interval_ns;
    if (kept->state && now_ns - state_mono_ns(kept->state) > STATE_UNCLAIMED_NS)
        state_forget(kept->state);
}

void kept_end(struct kept *kept, const struct roster *roster, struct live *live, uint64_t now_ns)
{
    if (!kept->saver)
        return;
    state_saver_wait(kept->saver);
    save(kept, roster, live, now_ns);
    state_saver_wait(kept->saver);
}

void kept_report(const struct kept *kept, struct pages_state *out)
{
    struct state_saver_report report = {0};
    *out = (struct pages_state){.file = kept->path};
    if (!kept->path)
        return;
    if (kept->saver)
        state_saver_report(kept->saver, &report);
    snprintf(out->words, sizeof out->words, "%s", kept->words);
    out->saved_wall_ns = report.saved_wall_ns;
    snprintf(out->failure, sizeof out->failure, "%s",
             !kept->saver    ? "no thread could be started to write it"
             : kept->refused ? "there are too many containers, or too little memory"
                             : report.failure);
}
