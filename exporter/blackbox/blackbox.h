/*
 * The black box: the last fifteen minutes of what was read, written to a file when something
 * begins.
 *
 *   reader   the exporter: packs each tick's lines into shared memory (chute.h), and never waits
 *   keeper   its child: starts the scribe, and another one in place of one that was killed
 *   scribe   holds the lines (ring.h), writes files into one directory, which is all that it may
 *            change, and says which there are
 *
 * What finds no room in the shared memory, because the disk or the scribe is slow, is dropped and
 * counted. Loop thread only, but where it says otherwise.
 */
#ifndef IE_BLACKBOX_BLACKBOX_H
#define IE_BLACKBOX_BLACKBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "exporter/base/log.h"
#include "exporter/blackbox/shelf.h"
#include "exporter/source/recording/recorder.h"

/* Fifteen minutes; of memory at most 64 MiB, 8 of them on the way to the scribe. */
#define BLACKBOX_SPAN_NS UINT64_C(900000000000)
enum {
    BLACKBOX_RING_BYTES = 54 << 20,
    BLACKBOX_CHUTE_BYTES = 8 << 20,
    BLACKBOX_BYTES = 64 << 20 /* a chunk is complete before the oldest goes */
};

struct blackbox_config {
    const char *directory; /* borrowed, like the log */
    size_t max_files;      /* 1 to SHELF_FILES_MAX */
    uint64_t max_bytes;    /* of all files */
    const struct log *log;
};

/* What can begin. */
enum blackbox_why {
    BLACKBOX_WAITS,   /* a container waits for memory */
    BLACKBOX_NAMED,   /* it is said who makes memory slow */
    BLACKBOX_UNNAMED, /* memory is slow, and it is not known because of whom */
    BLACKBOX_LOSES,   /* a container loses time to something */
    BLACKBOX_ASKED,   /* somebody asked for a file */
    BLACKBOX_WHYS
};
/* As in names of files and in marks, e.g. "waits". */
const char *blackbox_why_name(enum blackbox_why why);

struct blackbox_report {
    uint64_t ring_bytes, ring_ticks, ring_span_ns;
    unsigned starts;   /* of scribes: 1, and one more for each that was killed */
    uint64_t written;  /* files, since the start */
    uint64_t failed;   /* files that could not be written, or not to their end */
    uint64_t removed;  /* files, to make room */
    char failure[160]; /* the last; "": there was none */
    size_t n_files;
    struct shelf_file files[SHELF_FILES_MAX]; /* the oldest first */
};

struct blackbox;

/* Forks keeper and scribe; for main, before there are threads, as the user whose files they are.
 * Returns 0 in the reader, 1 in the others, which have done their work then, and end with *status.
 * -errno with the message in error: -EINVAL for a directory that is none, -EBUSY for one that
 * another exporter has, which may be about to end. */
int blackbox_fork(const struct blackbox_config *config, struct blackbox **out, int *status,
                  char *error, size_t error_size);
/* The scribe completes its file, and is waited for, two seconds at most. Accepts NULL. */
void blackbox_free(struct blackbox *blackbox);

/* The recording's header; then whom a recorder gives its lines (recorder_tee()). */
void blackbox_begin(struct blackbox *blackbox, const struct machine *machine, uint64_t interval_ns);
const struct recorder_sink *blackbox_sink(struct blackbox *blackbox);

/* Between ticks: whether it is time to tell what collectors know, and that, as a block of bytes,
 * which is borrowed until all of it is told. A large one is told in the course of some ticks; one
 * that finds no room, or has more than RECORDING_LEARNED_MAX bytes, is left out; an empty one only
 * says that it is not time yet. */
bool blackbox_wants_learned(const struct blackbox *blackbox, uint64_t now_ns);
void blackbox_learned(struct blackbox *blackbox, const uint8_t *bytes, size_t len, uint64_t now_ns);
bool blackbox_is_told(const struct blackbox *blackbox);
/* To be asked before each tick: true once after a new scribe has begun, which knows nothing. It is
 * then to be told what collectors know, each container, and each reading of the next tick. */
bool blackbox_forgot(struct blackbox *blackbox);

/* Within a tick: a condition holds now for whom 'who' and 'id' together identify. True: it begins,
 * and is to be marked. */
bool blackbox_is(struct blackbox *blackbox, enum blackbox_why why, uint64_t who, uint64_t id);
/* 'key' is the container's in recordings; "": it is no container's. */
void blackbox_mark(struct blackbox *blackbox, enum blackbox_why why, const char *key);
/* Any thread: asks for a file from the next tick on. False: none will be written any more. */
bool blackbox_ask(struct blackbox *blackbox);

/* What the scribe said last; ticks that were dropped; whether it is there. Any thread. */
void blackbox_read(struct blackbox *blackbox, struct blackbox_report *out, uint64_t *dropped,
                   bool *active);
const char *blackbox_directory(const struct blackbox *blackbox);

#endif
