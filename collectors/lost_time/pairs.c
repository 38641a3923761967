#include "collectors/lost_time/pairs.h"

enum { TRIES = 32 };

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

size_t lost_pairs_most(const struct lost_pairs *pairs, uint32_t from, const struct lost_pair **most,
                       size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < LOST_PAIRS; i++) {
        const struct lost_pair *pair = &pairs->at[i];
        if (!pair->used || pair->from != from || pair->by == LOST_NOBODY)
            continue;
        size_t place = n < cap ? n : cap;
        while (place > 0 && most[place - 1]->seconds < pair->seconds)
            place--;
        for (size_t k = n < cap ? n : cap - 1; k > place; k--)
            most[k] = most[k - 1];
        if (place < cap)
            most[place] = pair;
        n += n < cap;
    }
    return n;
}
