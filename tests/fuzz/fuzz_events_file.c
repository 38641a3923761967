
#include "exporter/source/event/file.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct events_file file;
    char error[128] = "";
    if (events_file_parse((const char *)data, size, &file, error, sizeof error)) {
        if (!error[0])
            abort(); /* a refusal without a reason */
        return 0;
    }
    if (file.base_frequency_hz < 0 || file.cache_cycles < 0 || file.llc_hit_cycles < 0)
        abort();
    events_file_release(&file);
    return 0;
}
