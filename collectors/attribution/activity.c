#include "collectors/attribution/activity.h"

#include <string.h>

/* -1: not known. */
static int node_of_cpu(const struct machine *machine, int cpu)
{
    if (cpu < 0)
        return -1;
    return machine->numa_nodes == 1 ? 0 : machine_numa_node_of(machine, cpu);
}

void activity_add(struct activity *out, const struct activity_nodes *nodes, int cpu, double rate)
{
    /* A machine with one NUMA node has one domain, whatever its number. */
    bool one = nodes->machine->numa_nodes == 1;
    int node = node_of_cpu(nodes->machine, cpu);
    out->all += rate;
    out->placed &= node >= 0;
    for (size_t i = 0; i < nodes->n; i++)
        if ((node < 0 || one || nodes->at[i].numa_node == node) &&
            (cpu < 0 || cpu != nodes->at[i].probe_cpu))
            out->on[i] += rate;
}

bool activity_of_window(const struct group_window *window, const struct activity_nodes *nodes,
                        double seconds, struct activity *out)
{
    memset(out, 0, sizeof *out);
    out->placed = true;
    for (size_t i = 0; i < window->after->n; i++) {
        const struct reading_row *now = reading_row(window->after, i);
        if (!now->present)
            continue;
        uint64_t earlier = 0;
        if (i < window->before->n && reading_row(window->before, i)->present)
            earlier = reading_row(window->before, i)->enabled_ns;
        if (now->enabled_ns < earlier)
            return false;
        if (now->enabled_ns > earlier)
            activity_add(out, nodes, now->cpu,
                         (double)(now->enabled_ns - earlier) * 1e-9 / seconds);
    }
    return true;
}
