#include "exporter/source/inventory.h"

#include <stdlib.h>

#include "exporter/base/array.h"

void inventory_release(struct inventory *inventory)
{
    free(inventory->units);
    free(inventory->threads);
    *inventory = (struct inventory){0};
}

int inventory_add_unit(struct inventory *inventory, const struct source_unit *unit)
{
    int err = array_reserve(&inventory->units, &inventory->cap_units, inventory->n_units + 1,
                            sizeof *inventory->units);
    if (!err)
        inventory->units[inventory->n_units++] = *unit;
    return err;
}

int inventory_add_thread(struct inventory *inventory, const struct source_thread *thread)
{
    int err = array_reserve(&inventory->threads, &inventory->cap_threads, inventory->n_threads + 1,
                            sizeof *inventory->threads);
    if (!err)
        inventory->threads[inventory->n_threads++] = *thread;
    return err;
}
