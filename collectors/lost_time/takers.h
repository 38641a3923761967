/*
 * Who makes others wait for CPUs: by CPU time, or, where switches are counted, as was seen. Pure;
 * embedded.
 *
 * By CPU time, what a victim lost is shared out among those who run on CPUs of its own and use more
 * than they are entitled to, by how much that is. Worked: a uses 1.5 CPUs of 1.0, b 0.7 of 0.5; a
 * victim that lost 0.7 s charges a with 0.5 s and b with 0.2 s.
 *
 * By switches (struct cpu_taking), which are added up until the next reading, among those who had a
 * CPU of its own in its place, by how long. Worked: a had it for 0.3 s, b for 0.1 s; a victim that
 * lost 0.8 s charges a with 0.6 s.
 */
#ifndef IE_COLLECTORS_LOST_TIME_TAKERS_H
#define IE_COLLECTORS_LOST_TIME_TAKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What somebody took of all that a victim lost. */
struct lost_share {
    size_t slot;
    double ratio;
};

/* ---- by CPU time ---- */

/* CPUs beyond what it is entitled to: less is how windows fall, and no taking. */
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
                          double lost_seconds, struct lost_share *most, size_t cap);

/* ---- by switches ---- */

enum { LOST_PAIRS = 1024 }; /* of more, some are left out */

/* Stands for no container, or for one that is not known. */
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

/* The containers among them, up to 'cap', the most first, by their shares of that; returns how
 * many. */
size_t lost_pairs_most(const struct lost_pairs *pairs, uint32_t from, struct lost_share *most,
                       size_t cap);

#endif
