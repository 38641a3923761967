/* The kernel's ring buffer records; the first byte chooses the sample type. */
#include <linux/perf_event.h>

#include "exporter/source/sampler/record.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint64_t type = KERNEL_RECORD_SAMPLE_TYPE | (data[0] & 1u ? PERF_SAMPLE_WEIGHT : 0) |
                    (data[0] & 2u ? PERF_SAMPLE_CGROUP : 0) |
                    (data[0] & 4u ? PERF_SAMPLE_DATA_SRC : 0);
    const uint8_t *at = data + 1;
    size_t left = size - 1, taken;
    struct kernel_record record;
    while (kernel_record_parse(at, left, type, &record, &taken) == 0) {
        if (taken == 0 || taken > left || (unsigned)record.kind >= KERNEL_RECORD_KINDS)
            abort();
        if (record.kind == KERNEL_RECORD_MMAP &&
            ((const uint8_t *)record.mmap.path < at ||
             (const uint8_t *)record.mmap.path + record.mmap.path_len >= at + taken ||
             memchr(record.mmap.path, '\0', record.mmap.path_len)))
            abort();
        at += taken;
        left -= taken;
    }
    return 0;
}
