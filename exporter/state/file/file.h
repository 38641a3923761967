/*
 * The state's file: read whole at start, replaced whole while running.
 *
 * Whoever can write the file decides which thresholds hold: it must be ours, and writable by nobody
 * else.
 */
#ifndef IE_STATE_FILE_FILE_H
#define IE_STATE_FILE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/log.h"

/*
 * 0 with *bytes, to be freed, and *len. -ENOENT: there is none. Otherwise -errno, with the reason
 * in 'why' (-EINVAL: it is not ours, others can write it, it is no regular file, or larger than
 * 'max').
 */
int state_file_read(const char *path, size_t max, uint8_t **bytes, size_t *len, char *why,
                    size_t why_size);

/*
 * The file holds these bytes afterwards, also after a crash of the machine; or, if anything fails,
 * what it held before. Mode 0600. 0, or -errno with the step that failed in 'why'. May take as long
 * as the disk does.
 */
int state_file_replace(const char *path, const uint8_t *bytes, size_t len, char *why,
                       size_t why_size);

/*
 * Writes states to the file from a thread of its own, since a disk may take seconds.
 *
 * The loop's thread fills the buffer while the saver is idle, and starts it; it never waits, but in
 * state_saver_wait() and state_saver_free().
 */

struct state_saver;

/* How saving goes, so far. */
struct state_saver_report {
    uint64_t saved_wall_ns; /* when it last succeeded; 0: never */
    char failure[256];      /* why it last failed; "" after it succeeded */
};

/* 'path' and 'log' are borrowed. A failure is logged when it begins, when its reason changes and
 * when it ends. 0 or -errno. */
int state_saver_new(const char *path, const struct log *log, struct state_saver **out);
/* Waits for what is being written. Accepts NULL. */
void state_saver_free(struct state_saver *saver);

/* False while the buffer is being written. The next three are for an idle one only. */
bool state_saver_is_idle(struct state_saver *saver);
/* Makes the buffer this large, if it is not yet. Its contents may be lost. 0 or -ENOMEM. */
int state_saver_reserve(struct state_saver *saver, size_t size);
uint8_t *state_saver_buffer(struct state_saver *saver, size_t *size);
/* Seals and writes the first 'len' bytes of the buffer. */
void state_saver_start(struct state_saver *saver, size_t len);

/* Until it is idle. */
void state_saver_wait(struct state_saver *saver);

void state_saver_report(struct state_saver *saver, struct state_saver_report *out);

#endif
