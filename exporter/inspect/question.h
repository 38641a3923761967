/*
 * What is asked of the process that looks into others, and what it answers, as datagrams. Pure;
 * nothing in the bytes is trusted, on either side.
 */
#ifndef IE_INSPECT_QUESTION_H
#define IE_INSPECT_QUESTION_H

#include "exporter/source/accesses/medium.h"

enum question_kind {
    QUESTION_MAPS,   /* the first piece of a process's maps */
    QUESTION_MORE,   /* the next one */
    QUESTION_CODE,   /* the bytes of an instruction */
    QUESTION_WIDTH,  /* 1 for a process of 64 bits, 0 for one of 32 */
    QUESTION_MEDIUM, /* of an access through a mapping */
    QUESTION_REFRESH /* devices may have changed */
};

struct question {
    enum question_kind kind;
    uint32_t number;  /* of the process or thread */
    uint64_t address; /* QUESTION_CODE */
    enum access access;
    struct maps_line line; /* QUESTION_MEDIUM; its path points into the bytes */
};

enum {
    QUESTION_PATH_BYTES = 1 << 14, /* four for each byte of a path */
    QUESTION_BYTES = QUESTION_PATH_BYTES + 128,
    ANSWER_TEXT_BYTES = 1 << 16,
    ANSWER_BYTES = ANSWER_TEXT_BYTES + 32
};

/* A worker's first datagram, before any question: with a descriptor of its own "stat" of proc(5),
 * if that can be opened. */
enum { GREETING_BYTES = 1 };

/* How long it is, or -E2BIG. */
int question_write(const struct question *question, uint8_t out[QUESTION_BYTES]);
/* 0, or -EINVAL for bytes that are no question. */
int question_read(const uint8_t *bytes, size_t len, struct question *out);

struct answer {
    int result;      /* or -errno; of maps: 1 when there is more, 0 at the end */
    uint64_t cpu_ns; /* that the process has used since it began */
    const uint8_t *bytes;
    size_t len; /* of text, or of code */
};

/* The bytes are to be put behind ANSWER_HEAD of 'out' by the caller. How long it is. */
enum { ANSWER_HEAD = 16 };
size_t answer_write(const struct answer *answer, uint8_t out[ANSWER_BYTES]);
/* 0, or -EINVAL. */
int answer_read(const uint8_t *bytes, size_t len, struct answer *out);

#endif
