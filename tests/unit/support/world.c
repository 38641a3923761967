#include "tests/unit/support/world.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/support/unit.h"

static void init(struct world *world)
{
    *world = (struct world){
        .log = {.fd = -1},
        .limits = {.max = 5000,
                   .linger_ns = 120 * WORLD_S,
                   .linger_max = 2048,
                   .name_patience_ns = 2 * WORLD_S},
        .config = {.names = NAMES_AUTO, .open_candidates_max = 256},
        .now_ns = 1000 * WORLD_S,
    };
    fixture_init(&world->fixture);
}

static void set_cgroupfs(struct world *world, const char *path)
{
    world->fixture.fs.path[FSROOT_CGROUP] = strdup(path);
    assert_non_null(world->fixture.fs.path[FSROOT_CGROUP]);
}

void world_init(struct world *world, enum world_layout layout)
{
    static const char *const below[] = {
        [WORLD_V2] = "cgroup", [WORLD_V1] = "cgroup/perf_event", [WORLD_HYBRID] = "cgroup/unified"};
    char path[256];
    init(world);
    snprintf(world->top, sizeof world->top, "%s/%s", world->fixture.root, below[layout]);
    snprintf(path, sizeof path, "%s/%s", below[layout],
             layout == WORLD_V1 ? "tasks" : "cgroup.controllers");
    fixture_write(&world->fixture, path, "1\n");
    if (layout != WORLD_V2)
        fixture_write(&world->fixture, "cgroup/memory/tasks", "1\n");
    snprintf(path, sizeof path, "%s/cgroup", world->fixture.root);
    set_cgroupfs(world, path);
}

void world_init_real(struct world *world, const char *cgroupfs, const char *top)
{
    init(world);
    snprintf(world->top, sizeof world->top, "%s", top);
    if (cgroupfs)
        set_cgroupfs(world, cgroupfs);
}

void world_start(struct world *world)
{
    char error[512] = "";
    assert_int_equal(
        container_table_new(&world->limits, &world->log, &world->table, error, sizeof error), 0);
    assert_int_equal(cgroup_map_new(&world->map), 0);
    world->config.fs = &world->fixture.fs;
    world->config.log = &world->log;
    world->config.table = world->table;
    world->config.map = world->no_samples ? NULL : world->map;
    int err = discovery_new(&world->config, world->now_ns, &world->discovery, error, sizeof error);
    if (err)
        fail_msg("%s", error);
    world_settle(world);
}

void world_release(struct world *world)
{
    discovery_free(world->discovery);
    container_table_free(world->table);
    cgroup_map_free(world->map);
    fixture_release(&world->fixture);
}

/* ---- the tree ---- */

static void full_path(const struct world *world, const char *cgroup, const char *file, char *out,
                      size_t size)
{
    snprintf(out, size, "%s%s%s%s", world->top, cgroup, *file ? "/" : "", file);
}

void world_mkdir(struct world *world, const char *cgroup)
{
    char path[512];
    full_path(world, cgroup, "", path, sizeof path);
    for (char *p = path + strlen(world->top) + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
        *p = '/';
    }
    assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
}

void world_rmdir(struct world *world, const char *cgroup)
{
    static const char *const files[] = {"cgroup.procs", "cgroup.threads", "cgroup.events", "tasks"};
    char path[512];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        full_path(world, cgroup, files[i], path, sizeof path);
        unlink(path);
    }
    full_path(world, cgroup, "", path, sizeof path);
    assert_int_equal(rmdir(path), 0);
}

void world_write(struct world *world, const char *cgroup, const char *file, const char *text)
{
    char path[512];
    world_mkdir(world, cgroup);
    full_path(world, cgroup, file, path, sizeof path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

void world_host_file(struct world *world, const char *path, const char *fixture_file)
{
    char name[512], text[8192];
    snprintf(name, sizeof name, "%s/tests/fixtures/containers/%s", IE_SOURCE_DIR, fixture_file);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t n = read(fd, text, sizeof text);
    close(fd);
    assert_true(n > 0 && (size_t)n < sizeof text);
    snprintf(name, sizeof name, "host/%s", path);
    fixture_write(&world->fixture, name, "%.*s", (int)n, text);
}

/* ---- the loop ---- */

static void take_diff(struct world *world)
{
    struct container_diff diff;
    container_table_take_diff(world->table, &diff);
    world->added += diff.added.n;
    world->named += diff.named.n;
    world->renamed += diff.renamed.n;
    world->ended += diff.ended.n;
    world->forgotten += diff.forgotten.n;
}

static bool readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return fd >= 0 && poll(&p, 1, 0) > 0;
}

void world_settle(struct world *world)
{
    bool more = true;
    for (int i = 0; more; i++) {
        more = false;
        if (readable(discovery_fd(world->discovery))) {
            discovery_handle(world->discovery, world->now_ns);
            more = true;
        }
        if (discovery_deadline(world->discovery) <= world->now_ns) {
            discovery_advance(world->discovery, world->now_ns);
            more = true;
        }
        if (container_table_deadline(world->table) <= world->now_ns) {
            container_table_advance(world->table, world->now_ns);
            more = true;
        }
        take_diff(world);
        if (i > 100000)
            fail_msg("the loop does not come to rest");
    }
}

void world_appear(struct world *world, const char *cgroup)
{
    world_mkdir(world, cgroup);
    world_settle(world);
}

void world_pass(struct world *world, uint64_t ns)
{
    uint64_t end = world->now_ns + ns;
    for (;;) {
        uint64_t next = discovery_deadline(world->discovery);
        if (container_table_deadline(world->table) < next)
            next = container_table_deadline(world->table);
        if (next > end)
            break;
        if (next > world->now_ns)
            world->now_ns = next;
        world_settle(world);
    }
    world->now_ns = end;
    world_settle(world);
}

void world_read_ended(struct world *world)
{
    size_t cursor = 0;
    struct container *c;
    while ((c = container_table_next(world->table, &cursor)))
        container_table_read(world->table, c);
    world_settle(world);
}

/* ---- answers ---- */

const struct container *world_find(const struct world *world, const char *cgroup)
{
    size_t cursor = 0;
    const struct container *c, *found = NULL;
    while ((c = container_table_next(world->table, &cursor))) {
        if (strcmp(c->path, cgroup) == 0 && (!found || c->state == CONTAINER_LIVE))
            found = c;
    }
    return found;
}

size_t world_monitored(const struct world *world)
{
    return container_table_count(world->table, CONTAINERS_MONITORED);
}

uint64_t world_id(const struct world *world, const char *cgroup)
{
    char path[512];
    struct stat st;
    full_path(world, cgroup, "", path, sizeof path);
    assert_int_equal(stat(path, &st), 0);
    return st.st_ino;
}

const char *world_mapped(const struct world *world, uint64_t cgroup_id)
{
    uint32_t slot, gen;
    if (!cgroup_map_find(world->map, cgroup_id, &slot, &gen))
        return NULL;
    size_t cursor = 0;
    const struct container *c;
    while ((c = container_table_next(world->table, &cursor))) {
        if (c->slot == slot && c->gen == gen)
            return c->path;
    }
    return "(forgotten)";
}

const char *world_hex(unsigned n, char out[65])
{
    snprintf(out, 65, "%08x%056x", n * 2654435761U, n);
    return out;
}
