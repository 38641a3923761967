/* memory.numa_stat: in a container's namespaces other programs may stand in for the kernel. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "exporter/source/memory/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct numa_stat stat, again;
    if (numa_stat_parse((const char *)data, size, 4096, &stat) != 0)
        return 0;
    for (int node = 0; node < NUMA_STAT_NODES; node++)
        require((stat.nodes >> node & 1) || stat.bytes[node] == 0);
    /* Pages or bytes: the same nodes. */
    require(numa_stat_parse((const char *)data, size, 1, &again) == 0 && again.nodes == stat.nodes);
    return 0;
}
