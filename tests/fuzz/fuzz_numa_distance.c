/* The kernel's distances of a NUMA node: nothing outside the text is read, and what is no list of
 * so many distances leaves the room as it was. */
#include "exporter/source/machine.h"
#include "exporter/source/perf/detect.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = without_nul(data, size);
    for (size_t n = 0; n <= MACHINE_NODES; n++) {
        uint8_t out[MACHINE_NODES] = {0};
        int err = numa_distances_parse(text, size, out, n);
        for (size_t i = 0; i < MACHINE_NODES; i++)
            if ((out[i] != 0) != (err == 0 && i < n))
                abort();
    }
    free(text);
    return 0;
}
