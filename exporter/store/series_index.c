#include <errno.h>
#include <stdlib.h>

#include "exporter/store/internal.h"

static size_t home(const struct series_index *index, uint64_t hash)
{
    return (size_t)hash & (index->cap - 1);
}

static void place(struct series_index *index, struct series *series)
{
    size_t i = home(index, series->hash);
    while (index->slots[i])
        i = (i + 1) & (index->cap - 1);
    index->slots[i] = series;
}

/* Makes room for one more. */
int series_index_reserve(struct series_index *index)
{
    if (index->n + 1 <= index->cap / 4 * 3)
        return 0;
    struct series_index larger = {.cap = index->cap ? index->cap * 2 : 256, .n = index->n};
    larger.slots = calloc(larger.cap, sizeof *larger.slots);
    if (!larger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < index->cap; i++)
        if (index->slots[i])
            place(&larger, index->slots[i]);
    free(index->slots);
    *index = larger;
    return 0;
}

struct series *series_index_find(const struct series_index *index, const struct family *family,
                                 uint64_t hash, const struct label_text *labels)
{
    if (index->cap == 0)
        return NULL;
    struct series *series;
    for (size_t i = home(index, hash); (series = index->slots[i]); i = (i + 1) & (index->cap - 1)) {
        if (series->hash != hash || series->family != family)
            continue;
        struct label_text other =
            series_labels(series->common, series->own ? series->own->text : "",
                          series->own ? series->own->len : 0);
        if (labels_equal(labels, &other))
            return series;
    }
    return NULL;
}

void series_index_insert(struct series_index *index, struct series *series)
{
    place(index, series);
    index->n++;
}

/* Later members of the probe sequence move up, so that no tombstones are needed. */
void series_index_remove(struct series_index *index, const struct series *series)
{
    size_t mask = index->cap - 1, hole = home(index, series->hash);
    while (index->slots[hole] != series)
        hole = (hole + 1) & mask;
    for (size_t i = (hole + 1) & mask; index->slots[i]; i = (i + 1) & mask) {
        size_t distance = (i - home(index, index->slots[i]->hash)) & mask;
        if (distance < ((i - hole) & mask))
            continue;
        index->slots[hole] = index->slots[i];
        hole = i;
    }
    index->slots[hole] = NULL;
    index->n--;
}
