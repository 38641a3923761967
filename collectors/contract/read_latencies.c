#include "collectors/contract/read_latencies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"

int read_latencies_reserve(struct read_latencies *latencies, size_t n)
{
    size_t had = latencies->n;
    if (n <= had)
        return 0;
    if (array_reserve(&latencies->at, &latencies->n, n, sizeof *latencies->at))
        return -ENOMEM;
    memset(&latencies->at[had], 0, (latencies->n - had) * sizeof *latencies->at);
    return 0;
}

void read_latencies_release(struct read_latencies *latencies)
{
    free(latencies->at);
    *latencies = (struct read_latencies){.wanted = latencies->wanted};
}

struct read_latency *read_latencies_entry(struct read_latencies *latencies, size_t slot)
{
    return slot < latencies->n ? &latencies->at[slot] : NULL;
}

const struct read_latency *read_latencies_find(const struct read_latencies *latencies, size_t slot,
                                               uint64_t tick)
{
    bool known = slot < latencies->n && tick > 0 && latencies->at[slot].tick == tick;
    return known ? &latencies->at[slot] : NULL;
}
