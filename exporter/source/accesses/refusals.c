#include "exporter/source/accesses/refusals.h"

enum { DOUBLINGS = 6 };
static const uint64_t first_ns = 10000000000, forgiven_ns = 3600000000000;

static size_t place_of(const struct refusals *refusals, uint64_t owner)
{
    size_t i = 0;
    while (i < refusals->n && refusals->at[i].owner != owner)
        i++;
    return i;
}

bool refusals_has(const struct refusals *refusals, uint64_t owner, uint64_t now_ns)
{
    size_t i = place_of(refusals, owner);
    return i < refusals->n && now_ns < refusals->at[i].until_ns;
}

void refusals_add(struct refusals *refusals, uint64_t owner, uint64_t now_ns)
{
    size_t i = place_of(refusals, owner);
    if (i == refusals->n) {
        i = refusals->next;
        refusals->next = (i + 1) % REFUSALS_MAX;
        if (refusals->n < REFUSALS_MAX)
            refusals->n++;
        refusals->at[i].owner = owner;
        refusals->at[i].until_ns = now_ns;
        refusals->at[i].times = 0;
    }
    /* A machine without time for it may be the cause, now and then. */
    if (now_ns >= refusals->at[i].until_ns + forgiven_ns)
        refusals->at[i].times = 0;
    unsigned times = refusals->at[i].times;
    refusals->at[i].until_ns = now_ns + (first_ns << (times < DOUBLINGS ? times : DOUBLINGS));
    refusals->at[i].times = times + 1;
}

size_t refusals_count(const struct refusals *refusals, uint64_t now_ns)
{
    size_t n = 0;
    for (size_t i = 0; i < refusals->n; i++)
        n += now_ns < refusals->at[i].until_ns;
    return n;
}
