/*
 * CPU time that may be spent on what other programs can make expensive: a twentieth of the time
 * that passes, saved up to 50 ms. What has begun is ended, and paid back later.
 */
#ifndef IE_SOURCE_ACCESSES_BUDGET_H
#define IE_SOURCE_ACCESSES_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum { BUDGET_SHARE = 20, BUDGET_SAVED_NS = 50000000 };

/* All zero is full. Times are of any one clock that does not go back. */
struct budget {
    uint64_t free_ns; /* when all is paid back; what is before now is saved */
};

static inline bool budget_allows(const struct budget *budget, uint64_t now_ns)
{
    return budget->free_ns <= now_ns;
}

static inline void budget_spend(struct budget *budget, uint64_t spent_ns, uint64_t now_ns)
{
    const uint64_t saved_ns = (uint64_t)BUDGET_SAVED_NS * BUDGET_SHARE;
    uint64_t earliest_ns = now_ns > saved_ns ? now_ns - saved_ns : 0;
    if (budget->free_ns < earliest_ns)
        budget->free_ns = earliest_ns;
    budget->free_ns += spent_ns * BUDGET_SHARE;
}

#endif
