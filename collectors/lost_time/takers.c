#include "collectors/lost_time/takers.h"

enum { TRIES = 32 };

/* Among the first 'n' of 'cap', which are in order; returns how many there are then. */
static size_t sort_in(struct lost_share *most, size_t n, size_t cap, struct lost_share one)
{
    size_t place = n;
    while (place > 0 && most[place - 1].ratio < one.ratio)
        place--;
    for (size_t k = n < cap ? n : cap - 1; k > place; k--)
        most[k] = most[k - 1];
    if (place < cap)
        most[place] = one;
    return n < cap ? n + 1 : n;
}

/* ---- by CPU time ---- */

static bool takes(const struct lost_taker *taker, size_t slot, uint64_t cpu_set)
{
    return taker->slot != slot && (taker->cpu_set & cpu_set);
}

double lost_takers_excess(const struct lost_takers *takers, size_t slot, uint64_t cpu_set)
{
    double sum = 0;
    for (size_t i = 0; i < takers->n; i++)
        sum += takes(&takers->at[i], slot, cpu_set) ? takers->at[i].excess_cpus : 0;
    return sum;
}

size_t lost_takers_charge(struct lost_takers *takers, size_t slot, uint64_t cpu_set,
                          double lost_seconds, struct lost_share *most, size_t cap)
{
    double sum = lost_takers_excess(takers, slot, cpu_set);
    size_t n = 0;
    for (size_t i = 0; i < takers->n && sum > 0; i++) {
        struct lost_taker *taker = &takers->at[i];
        if (!takes(taker, slot, cpu_set))
            continue;
        const struct lost_share share = {taker->slot, taker->excess_cpus / sum};
        taker->taken_seconds += lost_seconds * share.ratio;
        n = sort_in(most, n, cap, share);
    }
    return n;
}

/* ---- by switches ---- */

void lost_pairs_clear(struct lost_pairs *pairs)
{
    *pairs = (struct lost_pairs){.at = {{.used = false}}};
}

void lost_pairs_add(struct lost_pairs *pairs, uint32_t from, uint32_t by, double seconds)
{
    uint32_t place = from * 31 + by;
    for (uint32_t i = 0; i < TRIES; i++) {
        struct lost_pair *at = &pairs->at[(place + i) % LOST_PAIRS];
        if (at->used && (at->from != from || at->by != by))
            continue;
        *at = (struct lost_pair){
            .used = true, .from = from, .by = by, .seconds = at->seconds + seconds};
        return;
    }
}

double lost_pairs_sum(const struct lost_pairs *pairs, uint32_t from)
{
    double sum = 0;
    for (size_t i = 0; i < LOST_PAIRS; i++)
        if (pairs->at[i].used && pairs->at[i].from == from)
            sum += pairs->at[i].seconds;
    return sum;
}

size_t lost_pairs_most(const struct lost_pairs *pairs, uint32_t from, struct lost_share *most,
                       size_t cap)
{
    double sum = lost_pairs_sum(pairs, from);
    size_t n = 0;
    for (size_t i = 0; i < LOST_PAIRS; i++) {
        const struct lost_pair *pair = &pairs->at[i];
        if (pair->used && pair->from == from && pair->by != LOST_NOBODY)
            n = sort_in(most, n, cap, (struct lost_share){pair->by, pair->seconds / sum});
    }
    return n;
}
