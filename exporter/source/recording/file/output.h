/*
 * The file of a recording, which holds addresses of tenants' memory: the exporter's user's alone.
 *
 * Its length always is that of whole ticks: what was written after the last mark is cut off when
 * writing fails. Where its name ends with ".gz" it is compressed (packed.h), some ticks at a time.
 * One thread only.
 */
#ifndef IE_SOURCE_RECORDING_FILE_OUTPUT_H
#define IE_SOURCE_RECORDING_FILE_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/base/textbuf.h"

struct libdeflate_compressor;

struct output {
    int fd;                             /* owned; -1: none */
    uint64_t written, whole;            /* bytes; up to the last mark */
    uint64_t max_bytes;                 /* 0: no limit */
    struct libdeflate_compressor *pack; /* owned; NULL: plain */
    struct textbuf text, piece;         /* not yet packed; packed */
    unsigned marks;                     /* in 'text' */
};

/* Makes or empties the file, with mode 0600. -ELOOP for a symbolic link, -ENOTSUP for what is not a
 * regular file, -EPERM for another user's or one with other names, otherwise open's. */
int output_open(struct output *output, const char *path);
/* In words; for the others strerror's. */
const char *output_why(int err);

/* Writes all. -EFBIG, and nothing is written, where the limit would be passed. */
int output_write(struct output *output, const char *bytes, size_t n);
/* What was written so far stays, whatever comes; of a compressed file, once there is enough for a
 * piece. 0, or an error as output_write's: then it is cut off. */
int output_mark(struct output *output);
/* Cuts the file off at the last mark. 0 or -errno. */
int output_cut(struct output *output);
/* What is marked is written. 0 or the -errno of that, or close's. */
int output_close(struct output *output);

#endif
