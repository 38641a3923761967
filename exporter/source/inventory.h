/*
 * The units and threads of this machine, or of a recording, that collectors may open.
 *
 * Filled at start by what detects or replays them; read only after that. Loop thread.
 */
#ifndef IE_SOURCE_INVENTORY_H
#define IE_SOURCE_INVENTORY_H

#include <stddef.h>

#include "exporter/source/machine.h"

/* All zero is an empty one. Owned; valid until the next add. */
struct inventory {
    struct source_unit *units;
    size_t n_units, cap_units;
    struct source_thread *threads;
    size_t n_threads, cap_threads;
};

void inventory_release(struct inventory *inventory);

/* Copied, in the order of adding. 0, or -ENOMEM with nothing changed. */
int inventory_add_unit(struct inventory *inventory, const struct source_unit *unit);
int inventory_add_thread(struct inventory *inventory, const struct source_thread *thread);

#endif
