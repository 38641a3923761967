/* memory.numa_stat: in a container's namespaces other programs may stand in for the kernel. */
#include "exporter/source/memory/memory.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct numa_stat stat, again;
    if (numa_stat_parse((const char *)data, size, 4096, &stat) != 0)
        return 0;
    for (int node = 0; node < NUMA_STAT_NODES; node++)
        check((stat.nodes >> node & 1) || stat.bytes[node] == 0);
    /* Pages or bytes: the same nodes. */
    check(numa_stat_parse((const char *)data, size, 1, &again) == 0 && again.nodes == stat.nodes);
    return 0;
}
