/*
 * What a cgroup path says about the container in it (EVENTS.md, "Containers"). Pure.
 */
#ifndef IE_CONTAINERS_PATH_H
#define IE_CONTAINERS_PATH_H

#include <stdbool.h>
#include <stddef.h>

struct cgroup_path_info {
    bool is_container;     /* the last component itself is one */
    bool inside_container; /* an earlier component is one: this is a payload's child cgroup, unless
                              the last component is a container with another id */
    char id[65];           /* of the container that the path lies in or is; "" if none */
    char pod_uid[37];      /* with dashes; a static pod's 32 hex digits as they are; "" if none */
    const char *runtime;   /* constant: "containerd", "cri-o", "docker", "podman", or "" */
    const char *qos_class; /* constant: "guaranteed", "burstable", "besteffort", or "" */
};

/* Never fails: a path that says nothing gives an empty info. */
void cgroup_path_parse(const char *path, size_t len, struct cgroup_path_info *out);

#endif
