#include "exporter/daemon/counting.h"

size_t counting_containers(size_t found, size_t max)
{
    size_t wanted = found > SIZE_MAX / 2 ? SIZE_MAX : 2 * found;
    if (wanted < COUNTING_LEAST)
        wanted = COUNTING_LEAST;
    return wanted < max ? wanted : max;
}

bool counting_by_bpf(const struct counting_load *load, struct verdict *why)
{
    double groups = (double)load->containers * (double)(1 + load->more_groups);
    double readings = groups * (double)load->cpus;
    /* Each container's group holds a directory, too. */
    double descriptors =
        (double)load->containers * (double)load->cpus * (double)load->events + groups;
    double ms = readings * COUNTING_READ_NS / 1e6;
    double most_ms = (double)load->interval_ns / COUNTING_TICK_PART / 1e6;
    if (load->events == 0) {
        verdict_set(why, REASON_OK, "containers have no counters here");
        return false;
    }
    if (descriptors > (double)load->descriptors) {
        verdict_set(why, REASON_OK,
                    "cgroup events of %zu containers on %zu CPUs would take %.0f file "
                    "descriptors, of which counters may have %zu",
                    load->containers, load->cpus, descriptors, load->descriptors);
        return true;
    }
    if (ms > most_ms) {
        verdict_set(why, REASON_OK,
                    "to read cgroup events of %zu containers on %zu CPUs would take %.1f ms in "
                    "each tick, which is more than %.1f",
                    load->containers, load->cpus, ms, most_ms);
        return true;
    }
    verdict_set(why, REASON_OK,
                "cgroup events of %zu containers on %zu CPUs fit: %.0f file descriptors, and "
                "%.1f ms in each tick",
                load->containers, load->cpus, descriptors, ms);
    return false;
}
