/* How often something may be done: 'burst' times at once, and then once in refill_ns. */
#ifndef IE_CONTAINERS_NAMES_ALLOWANCE_H
#define IE_CONTAINERS_NAMES_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

struct allowance {
    unsigned burst;
    uint64_t refill_ns;
    uint64_t full_ns; /* when all of the burst may be had again; 0: at once */
};

static inline bool allowance_take(struct allowance *allowance, uint64_t now_ns)
{
    uint64_t full_ns = allowance->full_ns > now_ns ? allowance->full_ns : now_ns;
    if (full_ns - now_ns + allowance->refill_ns > allowance->burst * allowance->refill_ns)
        return false;
    allowance->full_ns = full_ns + allowance->refill_ns;
    return true;
}

#endif
