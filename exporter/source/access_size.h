/*
 * How many bytes an instruction writes to, or reads from, memory: for samples that tell where an
 * access went and which instruction made it, but not its size.
 *
 * Pure; the bytes are another process's and may be anything.
 */
#ifndef IE_SOURCE_ACCESS_SIZE_H
#define IE_SOURCE_ACCESS_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum access { ACCESS_STORE, ACCESS_LOAD, ACCESS_KINDS };

/* Spelled as in labels and recordings: "store", "load". */
const char *access_name(enum access access);
/* 0 and *out, or -ENOENT. */
int access_parse(const char *text, enum access *out);

enum access_size {
    ACCESS_SIZE_KNOWN,
    /* These instructions' sizes depend on registers, which are sampled after the instruction. */
    ACCESS_SIZE_REPEATED, /* rep movs, rep stos, ... */
    ACCESS_SIZE_MASKED,   /* a vector under a mask, gather and scatter: which elements? */
    ACCESS_SIZE_VARIABLE, /* xsave, fxsave, tiles, enter with nesting, far calls */
    /* These cannot be what made the access: the code changed, or the address is off. */
    ACCESS_SIZE_NO_ACCESS, /* an instruction that makes no such access */
    ACCESS_SIZE_INVALID,   /* no instruction */
    ACCESS_SIZE_TRUNCATED, /* the beginning of an instruction; its end is missing */
    /* Not from access_size() but from those who read the code for it: the process is gone, or runs
     * other code there by now. */
    ACCESS_SIZE_UNREADABLE,
    ACCESS_SIZES
};

/* No instruction is longer. */
enum { ACCESS_CODE_BYTES = 15 };

/*
 * 'code' starts at the sampled instruction pointer; bytes behind the instruction are ignored.
 * 'wide' is false for code of a 32-bit process. *bytes is set with ACCESS_SIZE_KNOWN only: 1 to 64,
 * or 94 and 108 for the x87 state.
 *
 * A locked compare-and-exchange counts whether or not it exchanged: it writes in both cases.
 */
enum access_size access_size(const uint8_t *code, size_t len, bool wide, enum access access,
                             uint32_t *bytes);

#endif
