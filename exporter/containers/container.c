#include "exporter/containers/container.h"

const char *cgroup_refusal_name(enum cgroup_refusal why)
{
    static const char *const names[CGROUP_REFUSALS] = {
        [REFUSED_DIRECTORY] = "directories",
        [REFUSED_PLACE] = "places",
        [REFUSED_WATCH] = "watches",
    };
    return names[why];
}
