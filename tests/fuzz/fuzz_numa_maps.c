/* The kernel's numa_maps: whatever it says, nothing outside the text is read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/source/probe/buffer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1); /* no NUL behind it to run into */
    if (!text)
        return 0;
    memcpy(text, data, size);
    int err = chase_numa_maps_check(text, size, 0x7f1200000000, 1);
    if (err > 0)
        abort();
    free(text);
    return 0;
}
