/*
 * Who takes CPU time beyond what it is entitled to, and so makes others wait. Pure.
 *
 * What a victim lost to neighbours is shared out among those who run on CPUs of its own and use
 * more than they are entitled to, by how much that is. Worked: a uses 1.5 CPUs of 1.0, b 0.7 of
 * 0.5; a victim that lost 0.7 s charges a with 0.5 s and b with 0.2 s.
 */
#ifndef IE_COLLECTORS_LOST_TIME_TAKERS_H
#define IE_COLLECTORS_LOST_TIME_TAKERS_H

#include <stddef.h>
#include <stdint.h>

/* Less beyond it is how windows fall, and no taking. */
#define LOST_TAKES_CPUS 0.05

struct lost_taker {
    size_t slot;
    uint64_t cpu_set; /* ROLE_CPU_SET */
    double excess_cpus;
    double taken_seconds; /* added to */
};

struct lost_takers {
    struct lost_taker *at; /* room for every container; the collector's */
    size_t n;
};

/* CPUs that others than 'slot' use beyond what they are entitled to, on CPUs of the set. */
double lost_takers_excess(const struct lost_takers *takers, size_t slot, uint64_t cpu_set);

/* Charges them with what the container of this slot lost. Up to 'cap' of them in 'most', those with
 * the largest shares first; returns how many. */
size_t lost_takers_charge(struct lost_takers *takers, size_t slot, uint64_t cpu_set,
                          double lost_seconds, const struct lost_taker **most, size_t cap);

#endif
