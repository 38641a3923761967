/* The kernel's numa_maps: whatever it says, nothing outside the text is read. */
#include "exporter/source/probe/buffer.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = without_nul(data, size);
    int err = chase_numa_maps_check(text, size, 0x7f1200000000, 1);
    if (err > 0)
        abort();
    free(text);
    return 0;
}
