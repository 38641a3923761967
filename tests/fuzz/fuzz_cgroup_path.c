/* Cgroup paths: for any bytes, the parser does what its header promises. */
#include "exporter/containers/cgroups/path.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cgroup_path_info info, again;
    cgroup_path_parse((const char *)data, size, &info);
    size_t id = strlen(info.id), uid = strlen(info.pod_uid);
    check(id == 0 || id == CONTAINER_ID_LENGTH);
    check(strspn(info.id, "0123456789abcdef") == id);
    check(uid == 0 || uid == 32 || uid == 36);
    check(strspn(info.pod_uid, "0123456789abcdef-") == uid);
    check(id > 0 || (!info.is_container && !info.inside_container && !*info.runtime));
    check(info.is_container || info.inside_container || id == 0);
    check(uid == 0 || *info.qos_class);
    check(info.is_claimed || !info.inside_container);

    /* A child of a container is inside it, whatever it is called. */
    if (!info.is_container)
        return 0;
    char *child = malloc(size + 6);
    if (!child)
        return 0;
    memcpy(child, data, size);
    memcpy(child + size, "/child", 6);
    cgroup_path_parse(child, size + 6, &again);
    check(!again.is_container && again.inside_container && strcmp(again.id, info.id) == 0);
    free(child);
    return 0;
}
