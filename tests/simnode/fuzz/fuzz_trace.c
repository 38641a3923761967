/* Traces from outside. */
#include <stdlib.h>

#include "tests/simnode/model/workload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trace *trace = NULL;
    char error[256] = "";

    if (trace_parse("f", (const char *)data, size, &trace, error, sizeof(error)) == 0) {
        if (trace->n == 0)
            abort();
    } else if (!error[0] || trace) {
        abort();
    }
    trace_free(trace);
    return 0;
}
