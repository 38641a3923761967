#include "collectors/attribution/lanes/total.h"

#include <math.h>

static const uint64_t patience_ns = 60ull * 1000000000ull;
/* A longer window is of other moments than the containers'. */
static const double alike = 1.5;

void traffic_total_open(struct traffic_total *total, const struct collector_env *env)
{
    struct verdict why = {0};
    *total = (struct traffic_total){0};
    if (!cas_traffic_open(&total->cas, env, &why))
        log_info(env->log, "attribution",
                 "memory traffic is that of the containers, without the host's own, since the "
                 "memory controllers do not tell it: %s",
                 why.words);
}

void traffic_total_read(struct traffic_total *total, const struct tick *tick)
{
    cas_traffic_read(&total->cas);
    total->known =
        total->cas.known && total->cas.seconds * 1e9 <= alike * (double)tick->interval_ns;
    if (total->known)
        total->counted_ns = tick->mono_ns;
    total->counted = total->counted_ns > 0 && tick->mono_ns - total->counted_ns <= patience_ns;
}

/* The socket whose memory is the node's; -1: there is none. */
static int socket_of(const struct machine *machine, int numa_node)
{
    if (machine->numa_nodes == 1)
        return SOCKETS_ALL;
    if (!sockets_are_apart(machine) || machine->numa_nodes != machine->sockets)
        return -1;
    for (int cpu = 0; cpu < MACHINE_CPUS; cpu++)
        if (machine_numa_node_of(machine, cpu) == numa_node)
            return machine_socket_of(machine, cpu);
    return -1;
}

bool traffic_total_of(const struct traffic_total *total, const struct machine *machine,
                      int numa_node, double *lines_per_second)
{
    int socket = socket_of(machine, numa_node);
    if (!total->counted || socket < 0)
        return false;
    *lines_per_second = total->known ? total->cas.rate[socket] : NAN;
    return true;
}

void traffic_total_measure(struct traffic_total *total, const struct attribution_context *in,
                           const struct tick *tick)
{
    traffic_total_read(total, tick);
    for (size_t i = 0; i < in->nodes.n; i++) {
        double everybody = NAN;
        bool counted = traffic_total_of(total, in->nodes.machine, in->node[i]->number, &everybody);
        attribution_node_measure(in->node[i], counted, everybody);
    }
}
