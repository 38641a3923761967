#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collectors/events/events.h"
#include "exporter/daemon/sources.h"

/* The machine that was recorded; what its recording leaves out, its CPU's table may know. */
static void learn_machine(const struct replay *replay, struct facts *facts)
{
    struct machine *machine = &facts->machine;
    *machine = *replay_machine(replay);
    facts->cache_cycles_final = machine->cache_cycles > 0;
    const struct event_table *table = event_table_by_name(machine->microarchitecture);
    if (table && machine->cache_cycles == 0)
        machine->cache_cycles = table->cache_cycles;
    if (table)
        facts->cache_core_cycles = table->cache_core_cycles;
    if (table && machine->llc_hit_cycles == 0)
        machine->llc_hit_cycles = table->llc_hit_cycles;
    if (table) {
        facts->l1d_hit_cycles = table->l1d_hit_cycles;
        facts->l1d_hits_in_flight = table->l1d_hits_in_flight;
        facts->no_stalls = !table->event[ROLE_MEMORY_STALLS];
    }
    facts_settle_fills(facts);
}

static int add_unit(struct sources *sources, const struct source_unit *unit)
{
    if (sources->recorder)
        recorder_unit(sources->recorder, unit);
    return inventory_add_unit(&sources->inventory, unit);
}

static int add_thread(struct sources *sources, const struct source_thread *thread)
{
    if (sources->recorder)
        recorder_thread(sources->recorder, thread);
    return inventory_add_thread(&sources->inventory, thread);
}

static int copy_inventory(struct sources *sources)
{
    size_t n;
    int err = 0;
    const struct source_unit *units = replay_units(sources->replay, &n);
    for (size_t i = 0; i < n && !err; i++)
        err = add_unit(sources, &units[i]);
    const struct source_thread *threads = replay_threads(sources->replay, &n);
    for (size_t i = 0; i < n && !err; i++)
        err = add_thread(sources, &threads[i]);
    return err;
}

static bool has_events(const struct event_table *table, enum group group)
{
    const struct group_desc *desc = &group_descs[group];
    for (size_t i = 0; i < desc->n; i++)
        if ((desc->required >> i & 1) && !table->event[desc->roles[i]])
            return false;
    return true;
}

/* A CPU counts its reads of memory in one way: as reads, fills or loads; or not at all. Epochs
 * are the simulated node's, beside its core group. */
static uint32_t lacking_groups(const struct machine *machine)
{
    const struct event_table *table =
        machine->own_events ? NULL : event_table_by_name(machine->microarchitecture);
    uint32_t lacks = 0;
    if (table ? !has_events(table, GROUP_CORE) : machine->l3_fill_cycles > 0)
        lacks |= 1u << GROUP_CORE | 1u << GROUP_ASM_EPOCHS;
    if (table && !has_events(table, GROUP_FILLS))
        lacks |= 1u << GROUP_FILLS;
    /* Of Arm's two a recording has one. */
    if (!table || !has_events(table, GROUP_IN_FLIGHT))
        lacks |= 1u << GROUP_IN_FLIGHT;
    if (!table || !has_events(table, GROUP_MISSES))
        lacks |= 1u << GROUP_MISSES;
    return lacks;
}

static int add_replay(struct sources *sources)
{
    struct source *source = NULL;
    const struct machine *machine = replay_machine(sources->replay);
    int err = replay_source_new(sources->replay, &source);
    if (!err)
        replay_source_lacks(source, lacking_groups(machine));
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
    int err = replay_open(file, &sources->replay, error, error_size);
    if (err)
        return err == -ENOMEM ? err : -EINVAL;
    learn_machine(sources->replay, config->facts);
    err = sources_start_recorder(sources, config, replay_interval_ns(sources->replay), error,
                                 error_size);
    if (err)
        return err;
    err = copy_inventory(sources);
    if (!err)
        err = add_replay(sources);
    if (err)
        snprintf(error, error_size, "cannot replay %s: %s", file, strerror(-err));
    return err;
}
