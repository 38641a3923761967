/*
 * A governor beside a simulated node, whose containers have the quotas that it writes. The first
 * container is protected, the others are best effort; of two CPUs each.
 */
#ifndef IE_SIMNODE_TESTS_GOVERNED_NODE_H
#define IE_SIMNODE_TESTS_GOVERNED_NODE_H

#include "tests/simnode/tests/test_support.h"
#include "tests/unit/support/governor_document.h"
#include "tests/unit/support/governor_start.h"

#define SECOND UINT64_C(1000000000)

enum { GOVERNED = 3 };

struct governed_node {
    const char *const *names;
    const char *const *paths;
    struct scenario *scenario;
    struct simnode *node;
    struct governor_rig rig;
    struct config *config;
    struct governor *governor; /* the test's to start */
    struct decision last;
};

/* base: the best effort's; threshold: more members of that policy. */
static inline void governed_node_init(struct governed_node *on, const char *scenario,
                                      const char *const names[GOVERNED],
                                      const char *const paths[GOVERNED], double base,
                                      const char *threshold)
{
    char text[1024];
    *on = (struct governed_node){.names = names, .paths = paths};
    on->scenario = parse_scenario(scenario);
    on->node = new_node(on->scenario);
    governor_rig_init(&on->rig, 2);
    for (int i = 0; i < GOVERNED; i++)
        governor_rig_cgroup(&on->rig, paths[i], "200000 100000");
    snprintf(text, sizeof text,
             "{\"governor\":1,\"mode\":\"enforce\",\"state_directory\":\"%s\",\"classes\":["
             "{\"name\":\"web\",\"role\":\"protected\",\"match\":[{\"namespace\":\"*\","
             "\"pod\":\"*\",\"container\":\"%s\"}]},{\"name\":\"batch\",\"role\":"
             "\"best_effort\",\"match\":[{\"namespace\":\"*\",\"pod\":\"*\",\"container\":"
             "\"*\"}],\"cpu\":{\"base_cores\":%g}}],\"policies\":{\"threshold\":{"
             "\"classes\":[\"batch\"],%s}}}",
             on->rig.state, names[0], base, threshold);
    on->config = governor_start_config(text);
}

static inline void governed_node_release(struct governed_node *on)
{
    governor_start_undo(on->governor, on->config, &on->rig);
    release(on->node, on->scenario);
}

static inline double governed_node_cores(const struct governed_node *on, int container)
{
    char text[64];
    governor_rig_quota(&on->rig, on->paths[container], text);
    return strtod(text, NULL) / 1e5;
}

static inline void governed_node_container(const struct governed_node *on, int i,
                                           const char *members, struct textbuf *out)
{
    char pod[32];
    snprintf(pod, sizeof pod, "%s-0", on->names[i]);
    governor_document_container(out, "jobs", pod, on->names[i], on->paths[i],
                                governor_rig_inode(&on->rig, on->paths[i]), members);
}

#endif
