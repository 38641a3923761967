/*
 * Names without the API server: from the runtimes' state files, or from the kubelet's log links.
 */
#ifndef IE_CONTAINERS_NAMES_H
#define IE_CONTAINERS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/base/fsroot.h"
#include "exporter/containers/path.h"

enum names_mode { NAMES_AUTO, NAMES_RUNTIME, NAMES_LOGS, NAMES_NONE };

struct container_names {
    char namespace_[254], pod[254], name[254], pod_uid[64];
    char image[512];
    bool sandbox; /* a pause container: not monitored */
};

/*
 * 0 with *out; -ENOENT when nothing is known yet (ask again later); -EINVAL for state that cannot
 * be understood (truncated, too large, not JSON).
 */
int names_lookup(const struct fsroot *fs, enum names_mode mode, const struct cgroup_path_info *info,
                 struct container_names *out);

/* One parser per format, for lookup and for fuzzing. 0 or -EINVAL; -ENOENT when the names are not
 * in it. */
int names_parse_oci_config(const char *json, size_t len, struct container_names *out);
int names_parse_docker_config(const char *json, size_t len, struct container_names *out);
/* "<pod>_<namespace>_<container>-<id>.log" */
int names_parse_log_link(const char *file, size_t len, struct container_names *out, char id[65]);

#endif
