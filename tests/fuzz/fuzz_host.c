/* What the kernel says of the host: nothing outside the text is read, and shares are shares. */
#include "exporter/host/host.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = without_nul(data, size);
    double ratio = -1;
    uint64_t all = 7, steal = 7;
    int err = pressure_parse(text, size, &ratio);
    if (err ? ratio != -1 : !(ratio >= 0 && ratio <= 1))
        abort();
    err = cpu_times_parse(text, size, &all, &steal);
    if (err ? all != 7 || steal != 7 : steal > all)
        abort();
    free(text);
    return 0;
}
