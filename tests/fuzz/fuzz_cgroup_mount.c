/* Lines of mountinfo: the kernel writes them, whoever mounts chooses paths and sources. */
#include "exporter/containers/cgroups/mounts.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cgroup_mount mount = {.version = 7};
    int found = cgroup_mount_parse((const char *)data, size, &mount);
    if (found != 1 && mount.version != 7)
        abort();
    if (found == 1 && ((mount.version != 1 && mount.version != 2) || !mount.options[0] ||
                       strlen(mount.path) >= sizeof mount.path))
        abort();
    return 0;
}
