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

/* A pod's, of which nobody has said yet, or says at all, which it is: of kube-system, protected. Or
 * no container: a service, a slice, a session, of which the exporter may count each
 * (--containers.all-cgroups). It gives names to nothing but containers. A slice is never one. */
static bool is_unnamed(const struct exemptions *exemptions, const struct view_container *container,
                       bool literal)
{
    struct cgroup_path_info info;
    if (exemptions->allow_replay || container->namespace_[0])
        return false;
    cgroup_path_parse(container->path, strlen(container->path), &info);
    return strstr(container->path, "kubepods") ||
           (!info.is_container && (!literal || is_slice(container->path)));
}

bool exemptions_cover(const struct exemptions *exemptions, const struct view_container *container,
                      const struct programs *programs, bool literal)
{
    return is_unnamed(exemptions, container, literal) || is_of_pod(container, programs->governor) ||
           is_of_pod(container, programs->exporter) || may_be_exporter(container, programs) ||
           strcmp(container->namespace_, "kube-system") == 0 ||
           (strcmp(container->qos_class, "guaranteed") == 0 && !literal);
}

bool exemptions_same_cgroup(const struct exemptions *exemptions,
                            const struct view_container *container)
{
    char path[sizeof exemptions->counted.path + CLAIM_PATH_MAX];
    struct stat st;
    if (!claim_path_is_safe(container->path))
        return false;
    if (!container->cgroup_id)
        return exemptions->allow_replay;
    int n = snprintf(path, sizeof path, "%s%s", exemptions->counted.path, container->path);
    return n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0 &&
           st.st_ino == container->cgroup_id;
}
