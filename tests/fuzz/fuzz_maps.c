/* Another process's maps and mountinfo: the kernel writes the lines, other programs choose the
 * paths. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/source/accesses/maps.h"
#include "exporter/source/pmem/pmem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *rest = text;
    size_t len = size;
    struct maps_line line;
    int more;
    while ((more = maps_next(&rest, &len, &line)) != 0) {
        if (rest + len != text + size)
            abort();
        if (more > 0 &&
            (line.end <= line.start || line.path < text ||
             line.path + line.path_len > text + size || memchr(line.path, '\n', line.path_len)))
            abort();
    }
    char type[16];
    for (uint32_t minor = 0; minor < 4; minor++)
        if (mountinfo_type(text, size, 0, minor, type, sizeof type) == 0 &&
            (type[0] == '\0' || strlen(type) >= sizeof type || strchr(type, ' ')))
            abort();
    return 0;
}
