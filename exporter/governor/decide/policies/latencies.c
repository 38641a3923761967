#include "exporter/governor/decide/policies/latencies.h"

void latencies_add(struct latencies *latencies, const struct view_container *container)
{
    double grown = view_grown(latencies->counted, container->memory_reads);
    latencies->counted = container->memory_reads;
    if (isnan(container->latency_seconds))
        return;
    latencies->last = container->latency_seconds;
    latencies->n++;
    if (!(grown > 0))
        return;
    latencies->reads += grown;
    latencies->reads_latency += grown * container->latency_seconds;
}

double latencies_end(struct latencies *latencies)
{
    bool joined = latencies->n > 1 && latencies->reads > 0;
    double latency = joined ? latencies->reads_latency / latencies->reads : latencies->last;
    *latencies = (struct latencies){.counted = latencies->counted, .last = NAN};
    return latency;
}
