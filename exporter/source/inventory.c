#include "exporter/source/inventory.h"

#include <errno.h>
#include <stdlib.h>

void inventory_release(struct inventory *inventory)
{
    free(inventory->units);
    free(inventory->threads);
    *inventory = (struct inventory){0};
}

int inventory_add_unit(struct inventory *inventory, const struct source_unit *unit)
{
    size_t n = inventory->n_units + 1;
    struct source_unit *grown = realloc(inventory->units, n * sizeof *grown);
    if (!grown)
        return -ENOMEM;
    grown[n - 1] = *unit;
    inventory->units = grown;
    inventory->n_units = n;
    return 0;
}

int inventory_add_thread(struct inventory *inventory, const struct source_thread *thread)
{
    size_t n = inventory->n_threads + 1;
    struct source_thread *grown = realloc(inventory->threads, n * sizeof *grown);
    if (!grown)
        return -ENOMEM;
    grown[n - 1] = *thread;
    inventory->threads = grown;
    inventory->n_threads = n;
    return 0;
}
