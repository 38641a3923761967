/* --web.listen-address: an accepted address fits, and can be composed again. */
#include <stdio.h>

#include "exporter/http/http.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char address[40], again[40], text[64];
    uint16_t port, port_again;
    char *input = with_nul(data, size);
    if (http_parse_listen(input, address, sizeof address, &port) == 0) {
        bool six = strchr(address, ':') != NULL;
        snprintf(text, sizeof text, six ? "[%s]:%u" : "%s:%u", address, (unsigned)port);
        if (http_parse_listen(text, again, sizeof again, &port_again) != 0 || port_again != port ||
            strcmp(again, address) != 0)
            __builtin_trap();
    }
    const char *path = http_unix_path(input);
    if (path && (path != input + strlen("unix:") || path[0] != '/' || strlen(path) > 107))
        __builtin_trap();
    free(input);
    return 0;
}
