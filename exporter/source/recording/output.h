/*
 * The file of a recording, which holds addresses of tenants' memory: the exporter's user's alone.
 *
 * Its length always is that of whole ticks: what was written after the last mark is cut off when
 * writing fails. Loop thread only.
 */
#ifndef IE_SOURCE_RECORDING_OUTPUT_H
#define IE_SOURCE_RECORDING_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

struct output {
    int fd;                  /* owned; -1: none */
    uint64_t written, whole; /* bytes; up to the last mark */
    uint64_t max_bytes;      /* 0: no limit */
};

/* Makes or empties the file, with mode 0600. -ELOOP for a symbolic link, -ENOTSUP for what is not a
 * regular file, -EPERM for another user's or one with other names, otherwise open's. */
int output_open(struct output *output, const char *path);
/* In words; for the others strerror's. */
const char *output_why(int err);

/* Writes all. -EFBIG, and nothing is written, where the limit would be passed. */
int output_write(struct output *output, const char *bytes, size_t n);
/* What was written so far stays, whatever comes. */
void output_mark(struct output *output);
/* Cuts the file off at the last mark. 0 or -errno. */
int output_cut(struct output *output);
/* 0 or close's -errno. */
int output_close(struct output *output);

#endif
