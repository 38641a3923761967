/* Accept and Accept-Encoding: any bytes get an answer. */
#include "exporter/expose/expose.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = with_nul(data, size);
    if (expose_negotiate(text) >= EXPOSE_FORMATS)
        __builtin_trap();
    if (expose_accepts_gzip(text) && !strpbrk(text, "gG*"))
        __builtin_trap();
    free(text);
    return 0;
}
