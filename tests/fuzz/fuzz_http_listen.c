/* --web.listen-address: an accepted address fits, and can be composed again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/http/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char address[40], again[40], text[64];
    uint16_t port, port_again;
    char *input = malloc(size + 1);
    if (!input)
        return 0;
    memcpy(input, data, size);
    input[size] = '\0';
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
