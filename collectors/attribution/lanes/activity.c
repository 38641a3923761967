#include "collectors/attribution/lanes/activity.h"

#include <string.h>

/* What is not counted is missing from the traffic: a tenth of what ran, or a hundredth of a CPU,
 * which is little traffic whatever it did. */
static const double missing_share = 0.1, missing_cpus = 0.01;

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

/* ---- traffic ---- */

static bool counted(const struct window_sum *sum, enum role role, uint64_t *out)
{
    int i = group_index(GROUP_TRAFFIC, role);
    *out = sum->present & 1u << i ? sum->count[i] : 0;
    return sum->present & 1u << i;
}

/* Scaled, of one CPU. */
static bool lines_of(const struct window_sum *sum, double *out)
{
    uint64_t misses, rfo;
    if (!counted(sum, ROLE_LLC_MISSES, &misses))
        return false;
    counted(sum, ROLE_RFO, &rfo);
    *out = (double)misses + (double)(rfo < misses ? rfo : misses);
    return true;
}

static void sum_row(const struct group_window *window, size_t i, struct window_sum *sum)
{
    const struct reading_row *now = reading_row(window->after, i), *before = NULL;
    window_init(sum, group_descs[GROUP_TRAFFIC].n);
    if (i < window->before->n && reading_row(window->before, i)->present)
        before = reading_row(window->before, i);
    if (now->present)
        window_add(sum, before ? before->enabled_ns : 0, before ? before->running_ns : 0,
                   before ? before->count : NULL, now->enabled_ns, now->running_ns, now->count,
                   now->present & (before ? before->present : now->present));
}

enum traffic_window traffic_of_window(const struct group_window *window,
                                      const struct activity_nodes *nodes, double seconds,
                                      struct activity *out)
{
    double missing_ns = 0, enabled_ns = 0, lines;
    memset(out, 0, sizeof *out);
    out->placed = true;
    for (size_t i = 0; i < window->after->n; i++) {
        struct window_sum sum;
        sum_row(window, i, &sum);
        if (sum.reset)
            return TRAFFIC_RESET;
        enabled_ns += (double)sum.enabled_ns;
        if (sum.ran && lines_of(&sum, &lines))
            activity_add(out, nodes, reading_row(window->after, i)->cpu, lines / seconds);
        else
            missing_ns += (double)sum.enabled_ns;
    }
    bool starved =
        missing_ns > missing_share * enabled_ns && missing_ns * 1e-9 > missing_cpus * seconds;
    return starved ? TRAFFIC_STARVED : TRAFFIC_OK;
}
