#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/daemon/sources.h"
#include "exporter/source/perf/unit.h"

enum { MOST = 256 };

static int add_unit(struct inventory *inventory, const struct source_unit *found, int channel,
                    bool alone, struct recorder *recorder)
{
    struct source_unit unit = *found;
    unit.channel = channel;
    if (!alone)
        snprintf(unit.key, sizeof unit.key, "%.28s.%d", found->key, channel % 10);
    int err = inventory_add_unit(inventory, &unit);
    if (!err && recorder)
        recorder_unit(recorder, &unit);
    return err;
}

int units_add(struct inventory *inventory, const struct fsroot *fs, const struct event_table *table,
              struct recorder *recorder)
{
    struct source_unit *found = calloc(MOST, sizeof *found);
    size_t n = 0;
    int channels = table && table->channels > 1 ? table->channels : 1, err = 0;
    if (!found)
        return -ENOMEM;
    if (perf_units(fs, found, MOST, &n) != 0)
        n = 0;
    for (size_t i = 0; i < n && i < MOST && !err; i++) {
        int parts = strcmp(found[i].kind, "imc") == 0 ? channels : 1;
        for (int channel = 0; channel < parts && !err; channel++)
            err = add_unit(inventory, &found[i], channel, parts == 1, recorder);
    }
    free(found);
    return err;
}
