#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collectors/events/events.h"
#include "exporter/daemon/sources_internal.h"

static const struct event_table *table_by_name(const char *microarchitecture)
{
    size_t n;
    const struct event_table *const *tables = event_tables(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(tables[i]->microarchitecture, microarchitecture) == 0)
            return tables[i];
    return NULL;
}

/* The machine that was recorded; what its recording leaves out, its CPU's table may know. */
static void learn_machine(const struct replay *replay, struct facts *facts)
{
    struct machine *machine = &facts->machine;
    *machine = *replay_machine(replay);
    facts->cache_cycles_final = machine->cache_cycles > 0;
    const struct event_table *table = table_by_name(machine->microarchitecture);
    if (table && machine->cache_cycles == 0)
        machine->cache_cycles = table->cache_cycles;
    if (table)
        facts->cache_core_cycles = table->cache_core_cycles;
    if (table && machine->llc_hit_cycles == 0)
        machine->llc_hit_cycles = table->llc_hit_cycles;
}

static int copy_inventory(struct sources *sources)
{
    size_t n;
    int err = 0;
    const struct source_unit *units = replay_units(sources->replay, &n);
    for (size_t i = 0; i < n && !err; i++)
        err = inventory_add_unit(&sources->inventory, &units[i]);
    const struct source_thread *threads = replay_threads(sources->replay, &n);
    for (size_t i = 0; i < n && !err; i++)
        err = inventory_add_thread(&sources->inventory, &threads[i]);
    return err;
}

static int add_replay(struct sources *sources)
{
    struct source *source = NULL;
    int err = replay_source_new(sources->replay, &source);
    if (!err)
        err = sources_wrap(sources, source, &source);
    if (!err)
        err = sources_route_all(sources, source);
    if (!err)
        err = source_set_route_probes(sources->set, source);
    if (!err)
        err = source_set_route_samples(sources->set, source);
    return err;
}

int sources_init_replayed(struct sources *sources, const struct sources_config *config, char *error,
                          size_t error_size)
{
    const char *file = config->plan->options->replay_file;
    sources->name = "replay";
    if (replay_open(file, &sources->replay, error, error_size) != 0)
        return -EINVAL;
    learn_machine(sources->replay, config->facts);
    int err = copy_inventory(sources);
    if (!err)
        err = add_replay(sources);
    if (err)
        snprintf(error, error_size, "cannot replay %s: %s", file, strerror(-err));
    return err;
}
