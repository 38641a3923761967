/*
 * Lines of a recording in few bytes, to hold many of them in memory: numbers in groups of seven
 * bits, texts with their length and a NUL, so that they are read where they lie.
 */
#ifndef IE_BLACKBOX_PACK_H
#define IE_BLACKBOX_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "exporter/base/textbuf.h"
#include "exporter/source/recording/format.h"

/* Bytes that are read one after the other; the error is sticky, and what is read then is 0 or "".
 */
struct unpack {
    const uint8_t *at, *end;
    bool failed;
};

static inline struct unpack unpack_begin(const struct textbuf *bytes)
{
    const uint8_t *at = (const uint8_t *)(bytes->len > 0 ? bytes->data : "");
    return (struct unpack){.at = at, .end = at + bytes->len};
}

void pack_u64(struct textbuf *out, uint64_t value);
void pack_text(struct textbuf *out, const char *text);
uint64_t unpack_u64(struct unpack *in);
/* Points into the bytes. */
const char *unpack_text(struct unpack *in);

/* Small numbers of either sign as small numbers. */
static inline uint64_t pack_signed(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t unpack_signed(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Any kind but truth, which is for tests, and unknown. */
void pack_line(struct textbuf *out, const struct recording_line *line);
/* Its texts point into the bytes; there is nothing to release. False: it is none. */
bool unpack_line(struct unpack *in, struct recording_line *out);

#endif
