/*
 * What a cgroup path says about the container in it (EVENTS.md, "Containers"). Pure.
 */
#ifndef IE_CONTAINERS_CGROUPS_PATH_H
#define IE_CONTAINERS_CGROUPS_PATH_H

#include <stdbool.h>
#include <stddef.h>

enum { CONTAINER_ID_LENGTH = 64 };

struct cgroup_path_info {
    bool is_container;     /* the last component itself is one */
    bool inside_container; /* an earlier component is one: this is a payload's child cgroup, unless
                              is_container says that it is a container inside another one */
    bool is_delegated;     /* the last component is a user's service manager: what lies below it
                              that user made and named */
    bool is_claimed;       /* lies inside a container or below such a manager: who made it may have
                              given it any id */
    char id[CONTAINER_ID_LENGTH + 1]; /* of the innermost container on the path; "" if none */
    char pod_uid[37];      /* with dashes; a static pod's 32 hex digits as they are; "" if none.
                              Inside a container it is that of the outermost one */
    const char *runtime;   /* constant: "containerd", "cri-o", "docker", "podman", or "" */
    const char *qos_class; /* constant: "guaranteed", "burstable", "besteffort", or "" */
};

/*
 * Never fails: a path that says nothing gives an empty info.
 *
 * The innermost container wins. A component that repeats the id of the container it lies in
 * (podman's payload cgroups) is not another container; one with a different id is (docker in
 * docker), and stays in the pod of the outer one. A pod of podman ("libpod_parent/<id>") is none.
 */
void cgroup_path_parse(const char *path, size_t len, struct cgroup_path_info *out);

#endif
