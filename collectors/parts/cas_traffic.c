#include "collectors/parts/cas_traffic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Windows of other lengths than this are of other moments. */
static const double alike = 1.5;

/* ---- opening ---- */

static bool is_controller(const struct source_unit *unit)
{
    return strcmp(unit->kind, "imc") == 0;
}

/* 0, also for a channel that the unit does not have; otherwise why not all are counted. */
static int open_unit(struct cas_traffic *cas, const struct source_unit *unit, struct verdict *why)
{
    const struct scope scope = {.kind = SCOPE_UNIT,
                                .key = unit->key,
                                .cgroup_fd = -1,
                                .unit = unit,
                                .channel = unit->channel};
    if (unit->socket < 0 || unit->socket >= MACHINE_SOCKETS) {
        verdict_set(why, REASON_NO_DEVICE, "the number of socket %d is too high", unit->socket);
        return -ERANGE;
    }
    struct cas_unit *made = &cas->units[cas->n];
    int err = source_set_open(cas->sources, &scope, GROUP_CAS, &made->handle, why);
    if (err == -ENODEV && unit->channel > 0)
        return 0;
    if (err)
        return err;
    made->socket = unit->socket;
    cas->n++;
    return 0;
}

static int count_sockets(const struct cas_traffic *cas)
{
    unsigned seen = 0;
    for (size_t i = 0; i < cas->n; i++)
        seen |= 1u << cas->units[i].socket;
    return __builtin_popcount(seen);
}

static int open_all(struct cas_traffic *cas, const struct collector_env *env, struct verdict *why)
{
    const struct inventory *inventory = env->inventory;
    const struct machine *machine = &env->facts->machine;
    bool any = false;
    for (size_t i = 0; i < inventory->n_units; i++)
        any |= is_controller(&inventory->units[i]);
    if (any && machine->pmem_dimms > 0) {
        verdict_set(why, REASON_NO_DEVICE, "they do not count persistent memory's traffic");
        return -ENODEV;
    }
    cas->units = calloc(inventory->n_units + 1, sizeof *cas->units);
    if (!cas->units) {
        verdict_set(why, REASON_NO_DEVICE, "out of memory");
        return -ENOMEM;
    }
    for (size_t i = 0; i < inventory->n_units; i++) {
        int err = 0;
        if (is_controller(&inventory->units[i]))
            err = open_unit(cas, &inventory->units[i], why);
        if (err)
            return err;
    }
    if (cas->n > 0 && count_sockets(cas) < machine->sockets) {
        verdict_set(why, REASON_NO_DEVICE, "controllers of %d of %d sockets", count_sockets(cas),
                    machine->sockets);
        return -ENODEV;
    }
    return 0;
}

bool cas_traffic_open(struct cas_traffic *cas, const struct collector_env *env, struct verdict *why)
{
    *cas = (struct cas_traffic){.sources = env->sources};
    if (open_all(cas, env, why) != 0) {
        cas_traffic_close(cas);
        return false;
    }
    return true;
}

void cas_traffic_close(struct cas_traffic *cas)
{
    for (size_t i = 0; i < cas->n; i++)
        source_set_close(cas->sources, cas->units[i].handle);
    free(cas->units);
    *cas = (struct cas_traffic){0};
}

/* ---- a tick ---- */

/* False: nobody knows. */
static bool read_unit(struct cas_traffic *cas, const struct cas_unit *unit, double *seconds)
{
    struct group_window window;
    if (source_set_read(cas->sources, unit->handle, &window) != 0 ||
        window_status(window.sum) != WINDOW_OK || (window.sum->present & 3) != 3)
        return false;
    *seconds = (double)window.sum->enabled_ns * 1e-9;
    double rate = ((double)window.sum->count[0] + (double)window.sum->count[1]) / *seconds;
    cas->rate[unit->socket] += rate;
    cas->rate[SOCKETS_ALL] += rate;
    return true;
}

void cas_traffic_read(struct cas_traffic *cas)
{
    double shortest = 0, longest = 0;
    memset(cas->rate, 0, sizeof cas->rate);
    cas->known = cas->n > 0;
    /* All of them, also when one has failed: else the others' next windows would reach back. */
    for (size_t i = 0; i < cas->n; i++) {
        double seconds = 0;
        cas->known &= read_unit(cas, &cas->units[i], &seconds);
        shortest = i == 0 || seconds < shortest ? seconds : shortest;
        longest = seconds > longest ? seconds : longest;
    }
    /* Where nothing moves while this program runs, the counters are dead. */
    cas->known = cas->known && longest <= alike * shortest && cas->rate[SOCKETS_ALL] > 0;
    cas->seconds = longest;
}

bool cas_traffic_covers(const struct cas_traffic *cas, double window_seconds)
{
    return cas->known && window_seconds <= alike * cas->seconds;
}
