/* Another process's maps, mountinfo and auxv: the kernel writes them, other programs choose the
 * paths, and with privileges the numbers. */
#include <errno.h>

#include "exporter/source/accesses/maps.h"
#include "exporter/source/accesses/own_reader.h"
#include "tests/fuzz/fuzz.h"

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
    struct mount_line mount;
    rest = text;
    len = size;
    while ((more = mountinfo_next(&rest, &len, &mount)) != 0) {
        if (rest + len != text + size)
            abort();
        if (more > 0 &&
            (mount.type_len == 0 || mount.type < text ||
             mount.type + mount.type_len > text + size ||
             memchr(mount.type, '\n', mount.type_len) || memchr(mount.type, ' ', mount.type_len)))
            abort();
    }
    bool wide;
    int err = auxv_is_wide(data, size, &wide);
    if (err != 0 && err != -ENOEXEC)
        abort();
    return 0;
}
