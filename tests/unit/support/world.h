/*
 * Discovery with its table and map over a fake tree, under the test's own clock.
 */
#ifndef IE_TESTS_WORLD_H
#define IE_TESTS_WORLD_H

#include "exporter/containers/discovery/discovery.h"
#include "tests/unit/support/fixture.h"

#define WORLD_MS UINT64_C(1000000)
#define WORLD_S UINT64_C(1000000000)

enum world_layout { WORLD_V2, WORLD_V1, WORLD_HYBRID };

struct world {
    struct fixture fixture;
    char top[256]; /* where the hierarchy that counts is */
    struct log log;
    struct container_limits limits;
    struct discovery_config config; /* what world_start uses; may be changed before */
    bool no_samples;                /* discovery has no map */
    struct container_table *table;
    struct cgroup_map *map;
    struct discovery *discovery;
    uint64_t now_ns;
    /* Seen in diffs since the start. */
    size_t added, named, renamed, ended, forgotten;
};

/* An empty hierarchy of this layout. */
void world_init(struct world *world, enum world_layout layout);
/* A hierarchy that is there: 'cgroupfs' is what --path.cgroupfs would say (NULL: discovered), top
 * the directory of its root. */
void world_init_real(struct world *world, const char *cgroupfs, const char *top);
void world_start(struct world *world);
void world_release(struct world *world);

/* Directories of the hierarchy. 'cgroup' starts with a slash. */
void world_mkdir(struct world *world, const char *cgroup); /* with its parents */
void world_rmdir(struct world *world, const char *cgroup); /* with its files, not its children */
void world_write(struct world *world, const char *cgroup, const char *file, const char *text);
/* A file below the host's root, copied from tests/fixtures/containers. */
void world_host_file(struct world *world, const char *path, const char *fixture_file);

/* What the loop would do until there is nothing to do at this moment: events, timers, diffs. */
void world_settle(struct world *world);
/* A cgroup, with its parents, and then that. */
void world_appear(struct world *world, const char *cgroup);
/* Lets time pass, stopping at each deadline. */
void world_pass(struct world *world, uint64_t ns);
/* The loop's tick: what ended is read for the last time. */
void world_read_ended(struct world *world);

/* The container with this path that is not forgotten, live ones first; NULL: none. */
const struct container *world_find(const struct world *world, const char *cgroup);
size_t world_monitored(const struct world *world);
/* The cgroup's id as the kernel gives it. */
uint64_t world_id(const struct world *world, const char *cgroup);
/* The path of the container that the map gives for a cgroup; NULL: none. */
const char *world_mapped(const struct world *world, uint64_t cgroup_id);

/* 64 hex digits that differ by n. */
const char *world_hex(unsigned n, char out[65]);

#endif
