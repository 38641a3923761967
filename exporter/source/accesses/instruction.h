/*
 * How many bytes an instruction writes to, or reads from, memory: for samples that tell where an
 * access went and which instruction made it, but not its size. And what is remembered of that.
 *
 * access_size() is pure; the bytes are another process's and may be anything.
 */
#ifndef IE_SOURCE_ACCESSES_INSTRUCTION_H
#define IE_SOURCE_ACCESSES_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/source/sample.h"

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

/*
 * What instructions access, remembered by address: so that each is read and decoded once.
 *
 * It has a fixed size for the whole machine: what does not fit replaces something else. A
 * space is one program in one process, until anything executable is mapped into it: what was known
 * of the old number is then never found again.
 */

struct code_size {
    uint64_t ip;
    uint64_t read_ns; /* when the instruction's bytes were read */
    uint32_t space;
    uint8_t access; /* enum access */
    uint8_t size;   /* enum access_size */
    uint8_t bytes;
    /* The bytes may change without a word: the entry is for samples from before read_ns only. */
    bool passing;
};

struct code_cache;

/* 'entries' is rounded up to a power of two. 0, -ENOMEM, or -EINVAL for none or more than 2^24. */
int code_cache_new(size_t entries, struct code_cache **out);
void code_cache_free(struct code_cache *cache);

/* NULL when it is not there. Valid until the next put. Space 0 has no entries. */
const struct code_size *code_cache_find(const struct code_cache *cache, uint32_t space, uint64_t ip,
                                        enum access access);
void code_cache_put(struct code_cache *cache, const struct code_size *entry);
size_t code_cache_bytes(const struct code_cache *cache);

#endif
