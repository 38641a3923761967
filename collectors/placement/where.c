#include "collectors/placement/where.h"

#include <errno.h>
#include <math.h>

#include "collectors/parts/container_group.h"
#include "collectors/parts/window_read.h"

bool placement_where_asks(const struct placement_where *where)
{
    return where->machine->numa_nodes > 1;
}

void placement_where_open(struct placement_where *where, struct placement_asked *asked,
                          const struct container *container)
{
    struct verdict why;
    if (!placement_where_asks(where) || asked->group)
        return;
    int err = container_group_open(where->sources, where->status, container, where->group, 0,
                                   &asked->group, &why);
    if (!err || err == -ESRCH)
        return;
    if (!(where->said >> why.reason & 1))
        log_warn(where->log, "placement", "%s has no prediction: %s", container->path, why.words);
    where->said |= UINT32_C(1) << why.reason;
    where->why = why;
}

void placement_where_close(struct placement_where *where, struct placement_asked *asked)
{
    if (asked->group)
        source_set_close(where->sources, asked->group);
    asked->group = 0;
}

/* Its descriptor was called in, say. A mix that nobody renews is not where the memory is now;
 * except of a cgroup that is gone: it was its last. */
static void lose(struct placement_where *where, struct placement_asked *asked, int err)
{
    placement_where_close(where, asked);
    if (err == -ESRCH)
        return;
    asked->mix = (struct placement_mix){.by_pages = false};
    where->status->wants_reconcile = true; /* which opens it again, or finds out why not */
}

static int read_loads(struct placement_where *where, struct placement_asked *asked)
{
    struct window_sum sum;
    enum window_status status;
    int err = window_read(where->sources, asked->group, where->status, &sum, &status);
    if (!err && status == WINDOW_OK)
        placement_mix_loads(&asked->mix, &sum);
    return err;
}

static int read_pages(struct placement_where *where, struct placement_asked *asked)
{
    struct group_window window;
    int err = source_set_read(where->sources, asked->group, &window);
    if (!err)
        placement_mix_pages(&asked->mix, window.after);
    return err;
}

void placement_where_read(struct placement_where *where, struct placement_asked *asked)
{
    int err = -ENODATA;
    if (asked->group)
        err = where->group == GROUP_STALLS ? read_loads(where, asked) : read_pages(where, asked);
    if (err && err != -ENODATA)
        lose(where, asked, err);
}

void placement_where_clear(struct placement_where *where)
{
    verdict_clear(&where->why);
    where->said = 0;
}

/* ---- the mix ---- */

void placement_mix_pages(struct placement_mix *mix, const struct reading *reading)
{
    mix->by_pages = true;
    for (int node = 0; node <= PLACEMENT_NODES; node++)
        mix->bytes[node] = 0;
    for (size_t k = 0; k < reading->n; k++) {
        const struct reading_row *row = reading_row(reading, k);
        bool near = row->cpu >= 0 && row->cpu < PLACEMENT_NODES;
        if (row->present)
            mix->bytes[near ? row->cpu : PLACEMENT_NODES] += (double)row->count[0];
    }
}

void placement_mix_loads(struct placement_mix *mix, const struct window_sum *sum)
{
    uint64_t local = 0, remote = 0, pmm = 0;
    window_count(sum, GROUP_STALLS, ROLE_LOADS_LOCAL_DRAM, &local);
    window_count(sum, GROUP_STALLS, ROLE_LOADS_REMOTE_DRAM, &remote);
    window_count(sum, GROUP_STALLS, ROLE_LOADS_LOCAL_PMM, &pmm);
    if (local == 0 && remote == 0 && pmm == 0)
        return;
    mix->by_loads = true;
    mix->local = (double)local;
    mix->remote = (double)remote;
    mix->pmm = (double)pmm;
}

enum kind { LOCAL, REMOTE, PMM, KINDS };

static enum kind kind_of(uint32_t with_cpus, int initiator, int target)
{
    if (target == initiator)
        return LOCAL;
    return with_cpus >> target & 1 ? REMOTE : PMM;
}

/* Means over the targets of each kind; NaN: there is none, or one of them is not known. */
static void kinds_from(const struct placement_latencies *latencies, int initiator,
                       double seconds[KINDS])
{
    double sum[KINDS] = {0};
    int n[KINDS] = {0};
    for (int t = 0; t < PLACEMENT_NODES; t++) {
        if (!latencies->known[t])
            continue;
        enum kind kind = kind_of(latencies->with_cpus, initiator, t);
        sum[kind] += latencies->seconds[initiator][t];
        n[kind]++;
    }
    for (int kind = 0; kind < KINDS; kind++)
        seconds[kind] = n[kind] > 0 ? sum[kind] / n[kind] : NAN;
}

static enum placement_status loads_now(const struct placement_mix *mix,
                                       const struct placement_latencies *latencies, int initiator,
                                       double *seconds)
{
    const double loads[KINDS] = {[LOCAL] = mix->local, [REMOTE] = mix->remote, [PMM] = mix->pmm};
    double kinds[KINDS], mean, sum = 0;
    int first = initiator, last = initiator, n = 0;
    if (initiator == PLACEMENT_ANYWHERE) {
        first = 0;
        last = PLACEMENT_NODES - 1;
    }
    for (int i = first; i <= last; i++) {
        if (!placement_latencies_from(latencies, i))
            continue;
        kinds_from(latencies, i, kinds);
        enum placement_status status = placement_mean_latency(loads, kinds, KINDS, &mean);
        if (status != PLACEMENT_OK)
            return status;
        sum += mean;
        n++;
    }
    if (n == 0)
        return PLACEMENT_UNKNOWN;
    *seconds = sum / n;
    return PLACEMENT_OK;
}

static enum placement_status pages_now(const struct placement_mix *mix,
                                       const struct placement_latencies *latencies, int initiator,
                                       double *seconds)
{
    double from[PLACEMENT_NODES + 1];
    for (int t = 0; t < PLACEMENT_NODES; t++)
        from[t] = latencies->seconds[initiator][t];
    from[PLACEMENT_NODES] = NAN;
    return placement_mean_latency(mix->bytes, from, PLACEMENT_NODES + 1, seconds);
}

enum placement_status placement_mix_now(const struct placement_mix *mix,
                                        const struct placement_latencies *latencies,
                                        const struct machine *machine, int initiator,
                                        double *seconds)
{
    if (machine->numa_nodes > 1 || latencies->nodes > 1) {
        if (mix->by_loads)
            return loads_now(mix, latencies, initiator, seconds);
        return mix->by_pages ? pages_now(mix, latencies, initiator, seconds) : PLACEMENT_UNKNOWN;
    }
    for (int t = 0; t < PLACEMENT_NODES; t++) {
        if (isnan(latencies->seconds[initiator][t]))
            continue;
        *seconds = latencies->seconds[initiator][t];
        return PLACEMENT_OK;
    }
    return PLACEMENT_UNKNOWN;
}
