/*
 * The state's file: read whole at start, replaced whole while running.
 *
 * Whoever can write the file decides which thresholds hold: it must be ours, and writable by nobody
 * else.
 */
#ifndef IE_STATE_FILE_FILE_H
#define IE_STATE_FILE_FILE_H

#include <stddef.h>
#include <stdint.h>

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

#endif
