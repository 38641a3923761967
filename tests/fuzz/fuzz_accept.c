/* Accept and Accept-Encoding: any bytes get an answer. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/expose/expose.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (expose_negotiate(text) >= EXPOSE_FORMATS)
        __builtin_trap();
    if (expose_accepts_gzip(text) && !strpbrk(text, "gG*"))
        __builtin_trap();
    free(text);
    return 0;
}
