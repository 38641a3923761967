/*
 * Messages that were logged at the start, so that two sources that open the same events, or two
 * groups with the same role, log once what is wrong with them. Loop thread only.
 */
#ifndef IE_SOURCE_PERF_SAID_H
#define IE_SOURCE_PERF_SAID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "exporter/base/hash.h"

enum { PERF_SAID_MOST = 64 };

/* Start with zeros. */
struct perf_said {
    size_t n;
    uint64_t words[PERF_SAID_MOST]; /* their hashes */
};

/* True: they were said, and from now on they are. NULL: never. Beyond PERF_SAID_MOST all is said
 * again. */
static inline bool perf_said(struct perf_said *said, const char *words)
{
    uint64_t hash = hash_bytes(HASH_START, words, strlen(words));
    for (size_t i = 0; said && i < said->n; i++)
        if (said->words[i] == hash)
            return true;
    if (said && said->n < PERF_SAID_MOST)
        said->words[said->n++] = hash;
    return false;
}

#endif
