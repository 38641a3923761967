/*
 * A JSON file that a user wrote: read whole, at most 1 MiB, and errors say where.
 */
#ifndef IE_JSON_FILE_H
#define IE_JSON_FILE_H

#include <jansson.h>
#include <stddef.h>

enum { JSON_FILE_MAX_BYTES = 1 << 20 };

/* The text as a value that the caller releases (json_decref); a key that stands twice in an object
 * is an error. -EINVAL with one line in error: "larger than 1 MiB" or "line 3: what is wrong". */
int json_file_parse(const char *text, size_t len, json_t **out, char *error, size_t error_size);

/* The line, from 1, on which a key first stands in quotes: jansson keeps no positions of values. 0
 * when it is not found (a key written with escapes). */
size_t json_file_line(const char *text, size_t len, const char *key);

/* What a file is handed to: 0, or a negative errno with one line in error. */
typedef int json_file_reader(void *out, const char *text, size_t len, char *error,
                             size_t error_size);

/* Reads the file and hands its text to 'reader', of a file that is too large one byte more than
 * JSON_FILE_MAX_BYTES. Returns the reader's result, or -errno when the file cannot be read; the
 * error is "PATH: why". Opening a FIFO does not wait. */
int json_file_load(const char *path, json_file_reader *reader, void *out, char *error,
                   size_t error_size);

#endif
