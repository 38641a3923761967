/*
 * Names without the API server: from the runtimes' state files, or from the kubelet's log links.
 *
 * Who may start a pod, build an image or make a cgroup chooses texts that end up in these files, so
 * a pod's names are believed only where the pod's UID stands beside them and is that of the
 * cgroup's path, which the kubelet made. What lies inside a container, or below a user's service
 * manager, has no names: its path is the tenant's.
 *
 * State files hold the container's environment. Only the names below are decoded and kept from a
 * file that was read; the buffer is wiped.
 */
#ifndef IE_CONTAINERS_NAMES_NAMES_H
#define IE_CONTAINERS_NAMES_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/fsroot.h"
#include "exporter/containers/cgroups/path.h"

/* auto: from the state files, and from the logs what these do not tell. */
enum names_mode { NAMES_AUTO, NAMES_RUNTIME, NAMES_LOGS, NAMES_NONE };

struct container_names {
    char namespace_[254], pod[254], name[254], pod_uid[64]; /* "" when not known */
    char image[512];
    const char *runtime; /* constant: the runtime whose state has them; "" if the logs do */
    bool sandbox;        /* a pause container: not monitored */
    /* Only the pod is known, by its log folder; the container has no log link. It is just starting,
     * or it is the sandbox, which never gets one. */
    bool pod_only;
    /* With pod_only: the pod has links that are cut within the id or before it. One of them may be
     * this container's, so it need not be the sandbox. */
    bool cut_links;
};

/* Loop thread only. However many names are asked for, the kubelet's folders are read at most eight
 * times at once and then twice a second, and two hundred state files a second. */
struct names;

/* fs is borrowed. 0 or -ENOMEM. */
int names_new(const struct fsroot *fs, enum names_mode mode, struct names **out);
/* Accepts NULL. */
void names_free(struct names *names);

/*
 * 0 with *out; -ENOENT when nothing is known yet (ask again later); -EINVAL for state that cannot
 * be understood (truncated, larger than 1 MiB, not JSON, not a regular file). Any other -errno (no
 * memory, no descriptors, too many lookups) means the same as -ENOENT for the moment. now_ns must
 * not go back.
 */
int names_lookup(struct names *names, const struct cgroup_path_info *info, uint64_t now_ns,
                 struct container_names *out);

/* How often one of the kubelet's folders was read, for tests. */
uint64_t names_readings(const struct names *names);

/*
 * One parser per format, for lookup and for fuzzing. 0 with *out; -EINVAL for malformed text;
 * -ENOENT when the names are not in it.
 */
/* Whose annotations count: CRI-O copies a pod's own into the file, containerd's among them. */
enum names_dialect { DIALECT_CONTAINERD, DIALECT_CRIO };
/* config.json of containerd's shim and of CRI-O */
int names_parse_oci_config(const char *json, size_t len, enum names_dialect dialect,
                           struct container_names *out);
/* config.v2.json of docker. Labels are the kubelet's only if it started the container; otherwise
 * they are whatever the image's author wrote. */
int names_parse_docker_config(const char *json, size_t len, bool by_kubelet,
                              struct container_names *out);
/* containers.json of podman's storage: all containers in one file */
int names_parse_storage_index(const char *json, size_t len, const char *id,
                              struct container_names *out);
/* "/var/log/pods/<namespace>_<pod>_<uid>/<container>/<n>.log", what a log link points to */
int names_parse_log_target(const char *path, size_t len, struct container_names *out);
/*
 * Whether this is the log link of the container with these names and this id:
 * "<pod>_<namespace>_<container>-<id>.log", which the kubelet cuts before the suffix at 255 bytes.
 * The digits of the id that are left, 0 to 64; -1: it is another one's.
 */
int names_match_log_link(const char *file, size_t len, const struct container_names *names,
                         const char *id);
/* "<namespace>_<pod>_<uid>", a folder in /var/log/pods */
int names_parse_pod_folder(const char *file, size_t len, struct container_names *out);

#endif
