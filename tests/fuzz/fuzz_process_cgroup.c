/* Another process's cgroup and stat: the kernel writes the lines, other programs choose the names.
 */
#include "exporter/base/process_stat.h"
#include "exporter/containers/cgroups/process.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *path;
    size_t len;
    static const char *const controllers[] = {"", "perf_event"};
    for (size_t i = 0; i < 2; i++) {
        char out[64];
        if (process_cgroup_path(text, size, controllers[i], &path, &len) != 0)
            continue;
        if (path < text || path + len > text + size || len == 0 || *path != '/')
            abort();
        if (process_cgroup_resolve("/a/b", path, len, out, sizeof out) == 0 &&
            (strlen(out) >= sizeof out || (out[0] != '\0' && out[0] != '/')))
            abort();
    }
    char *copy = malloc(size + 1);
    uint64_t ticks;
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    copy[size] = '\0';
    process_start_ticks(copy, &ticks);
    free(copy);
    return 0;
}
