/*
 * Who had CPUs that others wanted, as it was counted switch by switch (struct cpu_taking), added up
 * until the next reading. Pure; embedded.
 *
 * What a victim lost is shared out among those who had a CPU of its own in its place, by how long.
 * Worked: a had it for 0.3 s, b for 0.1 s; a victim that lost 0.8 s charges a with 0.6 s.
 */
#ifndef IE_COLLECTORS_LOST_TIME_PAIRS_H
#define IE_COLLECTORS_LOST_TIME_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOST_PAIRS = 1024 }; /* of more, some are left out */

/* In the place of a slot: no container, or none that is known. */
#define LOST_NOBODY UINT32_MAX

struct lost_pair {
    bool used;
    uint32_t from, by; /* slots */
    double seconds;
};

struct lost_pairs {
    struct lost_pair at[LOST_PAIRS];
};

void lost_pairs_clear(struct lost_pairs *pairs);
void lost_pairs_add(struct lost_pairs *pairs, uint32_t from, uint32_t by, double seconds);

/* Seconds in which others, containers or not, had CPUs that tasks of this slot wanted. */
double lost_pairs_sum(const struct lost_pairs *pairs, uint32_t from);

/* The containers among them, up to 'cap', the most first; returns how many. */
size_t lost_pairs_most(const struct lost_pairs *pairs, uint32_t from, const struct lost_pair **most,
                       size_t cap);

#endif
