/*
 * Discovery over the kernel's own cgroups with real processes: v2, and v1 where a hierarchy is
 * mounted. Needs root; everything happens below a directory of the test's own.
 */
#include <fcntl.h>
#include <ftw.h>
#include <linux/sched.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/containers/cgroups/walk.h"
#include "tests/unit/support/unit.h"
#include "tests/unit/support/world.h"

#define ID_A "aaaa0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
#define ID_B "bbbb0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"

struct real {
    char v2[128], v1[128]; /* directories of the test's own; "" where there is no such mount */
    struct cgroup_hierarchy v2_mount;
    pid_t child; /* 0: none */
};

/* ---- the machine ---- */

static int remove_directory(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    if (type == FTW_DP)
        rmdir(path);
    return 0;
}

static bool find_mount(const char *type, const char *options, char *out, size_t size)
{
    FILE *file = fopen("/proc/self/mounts", "re");
    char line[4096], point[256], kind[64], opts[1024];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        found = sscanf(line, "%*s %255s %63s %1023s", point, kind, opts) == 3 &&
                strcmp(kind, type) == 0 && (!options || strstr(opts, options));
    }
    if (file)
        fclose(file);
    if (found)
        snprintf(out, size, "%s", point);
    return found;
}

static void make_own(char *out, size_t size, const char *mount)
{
    int n = snprintf(out, size, "%s/ie-test-%d", mount, (int)getpid());
    if (n < 0 || (size_t)n >= size || mkdir(out, 0755) != 0)
        *out = '\0';
}

static int setup(void **state)
{
    struct real *real = calloc(1, sizeof *real);
    if (!real)
        return -1;
    if (find_mount("cgroup2", NULL, real->v2_mount.path, sizeof real->v2_mount.path)) {
        real->v2_mount.version = 2;
        make_own(real->v2, sizeof real->v2, real->v2_mount.path);
    }
    char mount[96];
    if (find_mount("cgroup", "freezer", mount, sizeof mount) ||
        find_mount("cgroup", "pids", mount, sizeof mount))
        make_own(real->v1, sizeof real->v1, mount);
    *state = real;
    return 0;
}

static void stop_child(struct real *real)
{
    if (real->child <= 0)
        return;
    kill(real->child, SIGKILL);
    waitpid(real->child, NULL, 0);
    real->child = 0;
}

static int teardown(void **state)
{
    struct real *real = *state;
    stop_child(real);
    if (*real->v2)
        nftw(real->v2, remove_directory, 16, FTW_DEPTH | FTW_PHYS);
    if (*real->v1)
        nftw(real->v1, remove_directory, 16, FTW_DEPTH | FTW_PHYS);
    free(real);
    return 0;
}

/* Moves a new process there by writing its pid, as runtimes do. */
static void start_process(struct real *real, const char *top, const char *cgroup)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s/cgroup.procs", top, cgroup);
    real->child = fork();
    assert_true(real->child >= 0);
    if (real->child == 0) {
        for (;;)
            pause();
    }
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(dprintf(fd, "%d\n", (int)real->child) > 0);
    close(fd);
}

/* A process that starts there: nothing writes to a control file. */
static bool start_born_process(struct real *real, const char *top, const char *cgroup)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s", top, cgroup);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    struct clone_args args = {
        .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)fd};
    long pid = syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0) {
        for (;;)
            pause();
    }
    close(fd);
    real->child = (pid_t)pid;
    return pid > 0;
}

/* Some events come from a worker of the kernel, a moment later. */
static void wait_for_event(struct world *w)
{
    struct pollfd p = {.fd = discovery_fd(w->discovery), .events = POLLIN};
    assert_int_equal(poll(&p, 1, 20000), 1);
    world_settle(w);
}

/* ---- tests ---- */

static void found_by_its_event(struct real *real, struct world *w)
{
    world_start(w);
    world_mkdir(w, "/docker/" ID_A "/payload");
    /* The event is there when mkdir returns: nothing is left to waiting. */
    world_settle(w);
    const struct container *c = world_find(w, "/docker/" ID_A);
    assert_non_null(c);
    assert_int_equal(c->cgroup_id, world_id(w, "/docker/" ID_A));
    struct stat st;
    assert_int_equal(fstat(c->cgroup_fd, &st), 0);
    assert_int_equal(st.st_ino, c->cgroup_id);
    assert_string_equal(world_mapped(w, world_id(w, "/docker/" ID_A "/payload")), "/docker/" ID_A);
    world_appear(w, "/docker/" ID_A "/second");
    uint64_t second = world_id(w, "/docker/" ID_A "/second");
    assert_string_equal(world_mapped(w, second), "/docker/" ID_A);

    world_rmdir(w, "/docker/" ID_A "/payload");
    world_rmdir(w, "/docker/" ID_A "/second");
    world_rmdir(w, "/docker/" ID_A);
    world_settle(w);
    assert_int_equal(c->state, CONTAINER_ENDED);
    assert_true(fcntl(c->cgroup_fd, F_GETFD) >= 0);
    assert_string_equal(world_mapped(w, second), "/docker/" ID_A); /* for a while */
    world_appear(w, "/docker/" ID_A);
    assert_int_equal(world_find(w, "/docker/" ID_A)->state, CONTAINER_LIVE);
    assert_int_not_equal(world_find(w, "/docker/" ID_A)->cgroup_id, c->cgroup_id);
    world_rmdir(w, "/docker/" ID_A);
    world_settle(w);
    assert_int_equal(world_monitored(w), 0);
}

static void all_cgroups_by_events(struct real *real, struct world *w)
{
    w->config.all_cgroups = true;
    world_start(w);
    world_appear(w, "/parent/work");
    assert_int_equal(world_monitored(w), 2); /* both may be about to get a process */
    world_pass(w, 5 * WORLD_S); /* not a young candidate any more: only events can tell */
    assert_int_equal(world_monitored(w), 0);
    start_process(real, w->top, "/parent/work");
    wait_for_event(w);
    const struct container *c = world_find(w, "/parent/work");
    assert_non_null(c);
    assert_string_equal(c->name, "work");
    assert_true(c->named);
    stop_child(real);
    world_pass(w, 60 * WORLD_S);
    assert_int_equal(world_monitored(w), 1); /* until its cgroup goes */
    world_rmdir(w, "/parent/work");
    world_settle(w);
    assert_int_equal(world_monitored(w), 0);

    /* Its only process has ended before anybody looks. */
    world_appear(w, "/parent/short");
    start_process(real, w->top, "/parent/short");
    stop_child(real);
    world_settle(w);
    assert_true(world_find(w, "/parent/short")->named);
    world_pass(w, 5 * WORLD_S);
    assert_int_equal(world_monitored(w), 1);
    world_rmdir(w, "/parent/short");
    world_settle(w);
    assert_int_equal(world_monitored(w), 0);
}

enum { DEEP = 21, NAME_BYTES = 200 }; /* both fit into a container's share */

/* Directories one below the other, each with a descriptor. */
static void make_deep(struct world *w, const char *top, int fds[DEEP + 1])
{
    char path[512], name[NAME_BYTES + 1];
    memset(name, 'x', NAME_BYTES);
    name[NAME_BYTES] = '\0';
    snprintf(path, sizeof path, "%s%s", w->top, top);
    fds[0] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < DEEP; i++) {
        assert_int_equal(mkdirat(fds[i], name, 0755), 0);
        fds[i + 1] = openat(fds[i], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(fds[i + 1] >= 0);
    }
}

static void remove_deep(int fds[DEEP + 1])
{
    char name[NAME_BYTES + 1];
    memset(name, 'x', NAME_BYTES);
    name[NAME_BYTES] = '\0';
    for (int i = DEEP; i > 0; i--) {
        close(fds[i]);
        assert_int_equal(unlinkat(fds[i - 1], name, AT_REMOVEDIR), 0);
    }
    close(fds[0]);
}

static uint64_t id_of(int fd)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    return st.st_ino;
}

/* Paths longer than PATH_MAX: no system call takes them at once. */
static void below_a_container_at_any_depth(struct real *real, struct world *w)
{
    int before[DEEP + 1], later[DEEP + 1];
    char self[512];
    fixture_mkdir(&w->fixture, "proc");
    snprintf(self, sizeof self, "%s/proc/self", w->fixture.root);
    assert_int_equal(symlink("/proc/self", self), 0);
    world_mkdir(w, "/docker/" ID_A "/before");
    world_mkdir(w, "/docker/" ID_A "/later");
    make_deep(w, "/docker/" ID_A "/before", before);
    world_start(w);
    assert_string_equal(world_mapped(w, id_of(before[DEEP])), "/docker/" ID_A);
    make_deep(w, "/docker/" ID_A "/later", later); /* only events tell */
    world_settle(w);
    assert_string_equal(world_mapped(w, id_of(later[DEEP])), "/docker/" ID_A);
    assert_int_equal(mkdirat(later[DEEP], "y", 0755), 0);
    world_settle(w);
    int fd = openat(later[DEEP], "y", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_string_equal(world_mapped(w, id_of(fd)), "/docker/" ID_A);
    close(fd);
    assert_int_equal(unlinkat(later[DEEP], "y", AT_REMOVEDIR), 0);
    remove_deep(before);
    remove_deep(later);
    world_settle(w);
    world_pass(w, 60 * WORLD_S);
    assert_int_equal(w->discovery ? cgroup_map_size(w->map) : 0, 3);
}

typedef void (*real_test)(struct real *real, struct world *w);

static void on_v2(void **state, real_test test)
{
    struct real *real = *state;
    if (!*real->v2)
        skip();
    struct world w;
    world_init_real(&w, real->v2, real->v2);
    test(real, &w);
    world_release(&w);
}

/* Any v1 hierarchy walks and tells like that of perf_event, which would have to be taken from the
 * whole machine. */
static void on_v1(void **state, real_test test)
{
    struct real *real = *state;
    if (!*real->v1)
        skip();
    struct world w;
    world_init_real(&w, real->v1, real->v1);
    test(real, &w);
    assert_int_equal(discovery_hierarchy(w.discovery)->version, 1);
    world_release(&w);
}

TEST_WITH(v2_events, setup, teardown)
{
    on_v2(state, found_by_its_event);
}

TEST_WITH(v1_events, setup, teardown)
{
    on_v1(state, found_by_its_event);
}

TEST_WITH(v2_any_depth, setup, teardown)
{
    on_v2(state, below_a_container_at_any_depth);
}

TEST_WITH(v1_any_depth, setup, teardown)
{
    on_v1(state, below_a_container_at_any_depth);
}

TEST_WITH(v2_all_cgroups, setup, teardown)
{
    on_v2(state, all_cgroups_by_events);
}

TEST_WITH(v1_all_cgroups, setup, teardown)
{
    on_v1(state, all_cgroups_by_events);
}

TEST_ON(born_in_its_cgroup, struct real *real, setup, teardown)
{
    if (!*real->v2)
        skip();
    struct world w;
    world_init_real(&w, real->v2, real->v2);
    w.config.all_cgroups = true;
    world_start(&w);
    world_appear(&w, "/work");
    world_pass(&w, 5 * WORLD_S);
    bool born = start_born_process(real, w.top, "/work");
    if (born) {
        wait_for_event(&w);
        assert_non_null(world_find(&w, "/work"));
    }
    stop_child(real);
    world_release(&w);
    if (!born)
        skip(); /* before Linux 5.7 */
}

/* libcgroup finds the hierarchy and walks it; what it says is what the plain walk says. */
TEST_ON(through_libcgroup, struct real *real, setup, teardown)
{
    char perf[64];
    if (!*real->v2 || find_mount("cgroup", "perf_event", perf, sizeof perf))
        skip(); /* then the v1 hierarchy counts, and our cgroups are not in it */
    struct world w;
    world_init_real(&w, NULL, real->v2);
    world_mkdir(&w, "/docker/" ID_A "/payload");
    world_mkdir(&w, "/x/docker/" ID_B);
    world_start(&w);
    struct cgroup_hierarchy h = *discovery_hierarchy(w.discovery);
    assert_int_equal(h.version, 2);
    assert_true(*h.controller);
    assert_string_equal(h.path, real->v2_mount.path);
    assert_true(h.cgroups >= 7 && h.cgroups < 1000000);
    h.cgroups = 0; /* few enough for libcgroup, however many there are on this machine */
    char cgroup[256];
    const char *own = real->v2 + strlen(h.path);
    snprintf(cgroup, sizeof cgroup, "%s/docker/" ID_A, own);
    assert_non_null(world_find(&w, cgroup));
    snprintf(cgroup, sizeof cgroup, "%s/x/docker/" ID_B, own);
    assert_non_null(world_find(&w, cgroup));

    size_t counts[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        struct cgroup_walk *walk;
        struct cgroup_walk_entry entry;
        assert_int_equal(cgroup_walk_new(&h, "/", i ? WALK_CHEAPLY : WALK_FIRST, &walk), 0);
        while (cgroup_walk_next(walk, &entry) == 1) {
            if (strncmp(entry.path, own, strlen(own)) == 0)
                counts[i]++;
        }
        cgroup_walk_free(walk);
    }
    assert_int_equal(counts[0], 7);
    assert_int_equal(counts[1], 7);
    world_release(&w);
}

static void churn(struct world *w, unsigned from, unsigned to)
{
    char id[65], path[128], child[160];
    for (unsigned i = from; i < to; i++) {
        snprintf(path, sizeof path, "/docker/%s", world_hex(i, id));
        snprintf(child, sizeof child, "%s/payload", path);
        world_mkdir(w, child);
        if (i % 4)
            world_settle(w);
        world_pass(w, 30 * WORLD_MS);
        world_rmdir(w, child);
        world_rmdir(w, path);
        if (i % 3 == 0)
            world_settle(w);
        if (i % 33 == 0)
            world_read_ended(w);
    }
    world_settle(w);
    world_read_ended(w);
    world_pass(w, 200 * WORLD_S);
}

static void nothing_leaks(struct real *real, struct world *w)
{
    w->limits.linger_ns = 5 * WORLD_S;
    world_start(w);
    churn(w, 0, 300);
    size_t fds = fixture_open_fds(), memory = mallinfo2().uordblks;
    size_t slots = container_table_slots(w->table);
    churn(w, 300, 2300);
    assert_int_equal(world_monitored(w), 0);
    assert_int_equal(container_table_count(w->table, CONTAINERS_LINGERING), 0);
    assert_int_equal(cgroup_map_size(w->map), 0);
    assert_int_equal(fixture_open_fds(), fds);
    assert_true(container_table_slots(w->table) <= slots + 8);
    assert_true(mallinfo2().uordblks <= memory + 65536); /* 0 under a sanitizer */
    assert_int_equal(w->added, 2300);
    assert_int_equal(w->ended, 2300);
    assert_int_equal(w->forgotten, 2300);
}

TEST_WITH(v2_churn, setup, teardown)
{
    on_v2(state, nothing_leaks);
}

TEST_WITH(v1_churn, setup, teardown)
{
    on_v1(state, nothing_leaks);
}
