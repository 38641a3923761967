/*
 * Whose processes are not looked into for a while, since a look at one of them did not end: for
 * 10 s, then for 20 s, up to 640 s, each time that it happens again within an hour.
 *
 * Of the last REFUSALS_MAX owners. One thread.
 */
#ifndef IE_SOURCE_ACCESSES_REFUSALS_H
#define IE_SOURCE_ACCESSES_REFUSALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REFUSALS_MAX = 64 };

/* All zero: none. */
struct refusals {
    size_t n, next; /* the oldest is replaced when all are in use */
    struct {
        uint64_t owner, until_ns;
        unsigned times;
    } at[REFUSALS_MAX];
};

/* Times are of any one clock. */
bool refusals_has(const struct refusals *refusals, uint64_t owner, uint64_t now_ns);
void refusals_add(struct refusals *refusals, uint64_t owner, uint64_t now_ns);
/* How many are refused now. */
size_t refusals_count(const struct refusals *refusals, uint64_t now_ns);

#endif
