/*
 * What instructions access, remembered by address: so that each is read and decoded once.
 *
 * It has a fixed size for the whole machine: what does not fit replaces something else. A
 * space is one program in one process, until anything executable is mapped into it: what was known
 * of the old number is then never found again.
 */
#ifndef IE_SOURCE_ACCESSES_CODE_CACHE_H
#define IE_SOURCE_ACCESSES_CODE_CACHE_H

#include <stddef.h>

#include "exporter/source/accesses/instruction.h"

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
