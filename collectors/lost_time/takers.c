#include "collectors/lost_time/takers.h"

#include <stdbool.h>

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
                          double lost_seconds, const struct lost_taker **most, size_t cap)
{
    double sum = lost_takers_excess(takers, slot, cpu_set);
    size_t n = 0;
    for (size_t i = 0; i < takers->n && sum > 0; i++) {
        struct lost_taker *taker = &takers->at[i];
        if (!takes(taker, slot, cpu_set))
            continue;
        taker->taken_seconds += lost_seconds * taker->excess_cpus / sum;
        size_t place = n < cap ? n : cap;
        while (place > 0 && most[place - 1]->excess_cpus < taker->excess_cpus)
            place--;
        for (size_t k = n < cap ? n : cap - 1; k > place; k--)
            most[k] = most[k - 1];
        if (place < cap)
            most[place] = taker;
        n += n < cap;
    }
    return n;
}
