#include "exporter/governor/see/exemptions.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "exporter/containers/cgroups/path.h"
#include "exporter/containers/cgroups/process.h"
#include "exporter/governor/terms/claim.h"

int exemptions_init(struct exemptions *exemptions, const struct fsroot *fs, bool allow_replay,
                    char *error, size_t error_size)
{
    *exemptions = (struct exemptions){.allow_replay = allow_replay};
    int err = cgroup_hierarchy_find(fs, &exemptions->counted, error, error_size);
    if (err && !allow_replay)
        return err;
    exemptions->own_cgroup = process_cgroup_find_own(fs);
    return 0;
}

static const struct view_container *find(const struct view *view, uint64_t cgroup)
{
    for (size_t i = 0; i < view->n && cgroup; i++)
        if (view->containers[i].cgroup_id == cgroup)
            return &view->containers[i];
    return NULL;
}

struct programs exemptions_programs(const struct exemptions *exemptions, const struct view *view)
{
    return (struct programs){.governor = find(view, exemptions->own_cgroup),
                             .exporter = find(view, view->own_cgroup),
                             .exporter_known = view->own_cgroup != 0};
}

static bool is_of_pod(const struct view_container *container, const struct view_container *program)
{
    return program && (container == program ||
                       (container->pod[0] && strcmp(container->pod, program->pod) == 0 &&
                        strcmp(container->namespace_, program->namespace_) == 0));
}

/* It does not say which it is: it is where the governor is. */
static bool may_be_exporter(const struct view_container *container, const struct programs *programs)
{
    return !programs->exporter_known && programs->governor && container->namespace_[0] &&
           strcmp(container->namespace_, programs->governor->namespace_) == 0;
}

/* Of many services, or of all: the root. */
static bool is_slice(const char *path)
{
    static const char ending[] = ".slice";
    size_t len = strlen(path), n = sizeof ending - 1;
    return strcmp(path, "/") == 0 || (len >= n && strcmp(path + len - n, ending) == 0);
}

/* The exporter's label: the beginning of the id that is in the path. */
static bool has_id(const struct view_container *container, const struct cgroup_path_info *info)
{
    enum { LABEL = 12 };
    return strlen(container->container_id) == LABEL &&
           memcmp(container->container_id, info->id, LABEL) == 0;
}

/* Of a pod with names, of whose folder it is. Below "kubepods" nothing else is anybody's: of whom
 * nobody has said yet who it is may be of kube-system, or protected. */
static bool is_of_named_pod(const struct view_container *container,
                            const struct cgroup_path_info *info)
{
    return info->is_container && has_id(container, info) && info->pod_uid[0] &&
           strcmp(info->pod_uid, container->pod_uid) == 0 && container->namespace_[0] &&
           container->pod[0];
}

/* A container of no pod; or a service, a session, of which the exporter may count each
 * (--containers.all-cgroups) and gives it the name of its cgroup, if it is meant literally. */
static bool is_of_no_pod(const struct view_container *container,
                         const struct cgroup_path_info *info, bool literal)
{
    const char *slash = strrchr(container->path, '/');
    if (container->namespace_[0] || container->pod[0])
        return false;
    if (info->is_container)
        return has_id(container, info);
    return literal && !is_slice(container->path) && slash &&
           strcmp(slash + 1, container->container) == 0;
}

bool exemptions_is_its_own(const struct exemptions *exemptions,
                           const struct view_container *container, bool literal)
{
    struct cgroup_path_info info;
    if (exemptions->allow_replay)
        return true;
    cgroup_path_parse(container->path, strlen(container->path), &info);
    return info.pod_uid[0] || strstr(container->path, "kubepods")
               ? is_of_named_pod(container, &info)
               : is_of_no_pod(container, &info, literal);
}

const char *exemptions_why(const struct exemptions *exemptions,
                           const struct view_container *container, const struct programs *programs,
                           bool literal)
{
    const char *why = NULL;
    if (!exemptions_is_its_own(exemptions, container, literal))
        why = "its cgroup cannot be that of a container of this name, or it is none";
    else if (is_of_pod(container, programs->governor))
        why = "it is the governor, or in its pod";
    else if (is_of_pod(container, programs->exporter))
        why = "it is the exporter, or in its pod";
    else if (may_be_exporter(container, programs))
        why = "it is in the governor's namespace, and the exporter does not say which it is";
    else if (strcmp(container->namespace_, "kube-system") == 0)
        why = "it is of kube-system";
    else if (strcmp(container->qos_class, "guaranteed") == 0 && !literal)
        why = "its pod is of QoS class guaranteed, which no match names";
    return why;
}

bool exemptions_same_cgroup(const struct exemptions *exemptions,
                            const struct view_container *container)
{
    char path[sizeof exemptions->counted.path + CLAIM_PATH_MAX];
    struct stat st;
    if (!claim_path_is_safe(container->path))
        return false;
    if (exemptions->recorded)
        return true;
    if (!container->cgroup_id)
        return exemptions->allow_replay;
    int n = snprintf(path, sizeof path, "%s%s", exemptions->counted.path, container->path);
    return n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0 &&
           st.st_ino == container->cgroup_id;
}
