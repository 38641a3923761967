/* What the kernel says of the host: nothing outside the text is read, and shares are shares. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/host/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1); /* no NUL behind it to run into */
    double ratio = -1;
    uint64_t all = 7, steal = 7;
    if (!text)
        return 0;
    memcpy(text, data, size);
    int err = pressure_parse(text, size, &ratio);
    if (err ? ratio != -1 : !(ratio >= 0 && ratio <= 1))
        abort();
    err = cpu_times_parse(text, size, &all, &steal);
    if (err ? all != 7 || steal != 7 : steal > all)
        abort();
    free(text);
    return 0;
}
