/*
 * What collectors learned, and the history that people are shown, kept in a file across restarts
 * (--state.file), and in the black box, so that a file of it begins with what was known then.
 *
 * Read once, before the collectors start: from the state file, or without one from the recording
 * that is replayed. Written every two minutes; the file at the end, too, by a thread of its own.
 * Nothing that goes wrong with it stops the exporter. Loop thread.
 */
#ifndef IE_DAEMON_SAVED_STATE_H
#define IE_DAEMON_SAVED_STATE_H

#include "exporter/daemon/plan.h"
#include "exporter/daemon/roster.h"
#include "exporter/live/live.h"
#include "exporter/pages/pages.h"
#include "exporter/source/machine.h"
#include "exporter/source/recording/replay.h"
#include "exporter/state/file/file.h"
#include "exporter/state/state.h"

/* All zero: there is neither. */
struct saved_state {
    const char *path; /* borrowed; NULL: no file */
    const struct log *log;
    struct state_identity here;
    struct state *state;            /* what was read; NULL: nothing */
    struct state_saver *saver;      /* NULL: it cannot be written, and 'words' say so */
    uint64_t due_ns;                /* of the next write */
    bool refused;                   /* the last one was not even tried */
    char words[256];                /* what became of the file, or of the recording's, at start */
    struct blackbox *blackbox;      /* borrowed; NULL: there is none */
    struct state_identity replayed; /* of what a recording has */
    struct textbuf room;            /* for it, until all of it is told */
    size_t told;                    /* bytes, the last time */
};

/* 'log' outlives it. Reads, or says why not: in the log and for the status page. 'replay': what is
 * replayed; NULL: nothing is. */
void saved_state_init(struct saved_state *saved, const struct plan *plan,
                      const struct machine *machine, const struct replay *replay,
                      const struct log *log, uint64_t now_ns);
void saved_state_release(struct saved_state *saved);

/* After a tick: writes, if it is time. For the file it allocates only when more is to be written
 * than ever before, which is when containers came; for the black box each time. */
void saved_state_tick(struct saved_state *saved, const struct roster *roster, struct live *live,
                      uint64_t now_ns);
/* To the black box, whether it is due or not. */
void saved_state_tell(struct saved_state *saved, const struct roster *roster, struct live *live,
                      uint64_t now_ns);
/* At an orderly end: waits for the disk. */
void saved_state_end(struct saved_state *saved, const struct roster *roster, struct live *live,
                     uint64_t now_ns);

/* What the status page says of it. */
void saved_state_report(const struct saved_state *saved, struct pages_state *out);

#endif
