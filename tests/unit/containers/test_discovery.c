/* Discovery over fake trees: every path shape, names early, late and never, races, lost events. */
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/support/unit.h"
#include "tests/unit/support/world.h"

#define ID_A "aaaa0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
#define ID_B "bbbb0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
#define UID "11112222-3333-4444-5555-666677778888"
#define UID_ "11112222_3333_4444_5555_666677778888"
#define POD "/kubepods/burstable/pod" UID
#define POD_SLICE "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice"
#define CONTAINERD "run/containerd/io.containerd.runtime.v2.task/k8s.io/"
#define CRIO "run/containers/storage/overlay-containers/"

static struct world the_world;

/* An empty v2 hierarchy; discovery has not begun. */
static int empty(void **state)
{
    world_init(&the_world, WORLD_V2);
    *state = &the_world;
    return 0;
}

static int started(void **state)
{
    empty(state);
    world_start(&the_world);
    return 0;
}

static int end(void **state)
{
    world_release(*state);
    return 0;
}

/* ---- shapes ---- */

static const struct shape {
    const char *cgroup;
    const char *host_path, *host_file;
    const char *namespace_, *pod, *name, *image, *pod_uid, *runtime, *qos_class;
} shapes[] = {
    {POD "/" ID_A, CONTAINERD ID_A "/config.json", "containerd-container.json", "shop", "cart-0",
     "cart", "registry.example/shop/cart:1.4.2", UID, "containerd", "burstable"},
    {"/kubepods/pod" UID "/" ID_A, CONTAINERD ID_A "/config.json", "containerd-container.json",
     "shop", "cart-0", "cart", "registry.example/shop/cart:1.4.2", UID, "containerd", "guaranteed"},
    {POD_SLICE "/cri-containerd-" ID_A ".scope", CONTAINERD ID_A "/config.json",
     "containerd-container.json", "shop", "cart-0", "cart", "registry.example/shop/cart:1.4.2", UID,
     "containerd", "burstable"},
    {POD_SLICE "/crio-" ID_A ".scope", CRIO ID_A "/userdata/config.json", "crio-container.json",
     "shop", "cart-0", "cart", "registry.example/shop/cart:1.4.2", UID, "cri-o", "burstable"},
    {POD "/crio-" ID_A, CRIO ID_A "/userdata/config.json", "crio-container.json", "shop", "cart-0",
     "cart", "registry.example/shop/cart:1.4.2", UID, "cri-o", "burstable"},
    {POD_SLICE "/docker-" ID_A ".scope", "var/lib/docker/containers/" ID_A "/config.v2.json",
     "docker-kubernetes.json", "shop", "cart-0", "cart", "sha256:4567", UID, "docker", "burstable"},
    {"/system.slice/docker-" ID_A ".scope", "var/lib/docker/containers/" ID_A "/config.v2.json",
     "docker-plain.json", "", "", "web", "nginx:1.27", "", "docker", ""},
    {"/docker/" ID_A, "var/lib/docker/containers/" ID_A "/config.v2.json", "docker-no-labels.json",
     "", "", "web", "nginx:1.27", "", "docker", ""},
    {"/machine.slice/libpod-" ID_A ".scope",
     "var/lib/containers/storage/overlay-containers/containers.json", "podman-containers.json", "",
     "", "web1", "docker.io/library/nginx:1.27", "", "podman", ""},
    {"/libpod_parent/libpod-" ID_A,
     "run/containers/storage/overlay-containers/volatile-containers.json", "podman-containers.json",
     "", "", "web1", "docker.io/library/nginx:1.27", "", "podman", ""},
    {"/libpod_parent/libpod-payload-" ID_A,
     "var/lib/containers/storage/overlay-containers/containers.json", "podman-containers.json", "",
     "", "web1", "docker.io/library/nginx:1.27", "", "podman", ""},
};

static void check_shape(const struct world *w, const struct shape *shape)
{
    const struct container *c = world_find(w, shape->cgroup);
    if (!c)
        fail_msg("%s: not found", shape->cgroup);
    assert_true(c->named);
    assert_string_equal(c->namespace_, shape->namespace_);
    assert_string_equal(c->pod, shape->pod);
    assert_string_equal(c->name, shape->name);
    assert_string_equal(c->image, shape->image);
    assert_string_equal(c->pod_uid, shape->pod_uid);
    assert_string_equal(c->runtime, shape->runtime);
    assert_string_equal(c->qos_class, shape->qos_class);
    assert_string_equal(c->id, ID_A);
    assert_string_equal(c->short_id, "aaaa01234567");
    assert_int_equal(c->cgroup_id, world_id(w, shape->cgroup));
    struct stat st;
    assert_int_equal(fstat(c->cgroup_fd, &st), 0);
    assert_int_equal(st.st_ino, c->cgroup_id);
    assert_string_equal(world_mapped(w, c->cgroup_id), shape->cgroup);
    assert_int_equal(world_monitored(w), 1);
}

/* Each shape, there at the start and made later, in each layout of the hierarchies. */
TEST(every_shape)
{
    for (size_t i = 0; i < 2 * 3 * sizeof shapes / sizeof *shapes; i++) {
        const struct shape *shape = &shapes[i / 6];
        bool late = i % 2;
        struct world w;
        world_init(&w, (enum world_layout)(i / 2 % 3));
        world_host_file(&w, shape->host_path, shape->host_file);
        if (!late)
            world_mkdir(&w, shape->cgroup);
        world_start(&w);
        assert_int_equal(discovery_hierarchy(w.discovery)->version, i / 2 % 3 == WORLD_V1 ? 1 : 2);
        if (late) {
            assert_int_equal(world_monitored(&w), 0);
            world_mkdir(&w, shape->cgroup); /* all its folders at once, before any event is read */
            world_settle(&w);
        }
        check_shape(&w, shape);
        world_rmdir(&w, shape->cgroup);
        world_settle(&w);
        assert_int_equal(world_monitored(&w), 0);
        assert_int_equal(w.ended, 1);
        world_release(&w);
    }
}

TEST_ON(payloads_and_nests, struct world *w, empty, end)
{
    w->config.nested = true;
    world_start(w);
    world_mkdir(w, "/docker/" ID_A "/init/deep");
    world_mkdir(w, "/docker/" ID_A "/docker/" ID_B "/payload");
    world_mkdir(w, "/machine.slice/libpod-" ID_A ".scope/libpod-payload-" ID_A);
    world_appear(w, "/system.slice/ssh.service");
    assert_int_equal(world_monitored(w), 3);
    assert_string_equal(world_mapped(w, world_id(w, "/docker/" ID_A "/init/deep")),
                        "/docker/" ID_A);
    assert_string_equal(world_mapped(w, world_id(w, "/docker/" ID_A "/docker")), "/docker/" ID_A);
    assert_string_equal(world_mapped(w, world_id(w, "/docker/" ID_A "/docker/" ID_B "/payload")),
                        "/docker/" ID_A "/docker/" ID_B);
    assert_string_equal(
        world_mapped(w, world_id(w, "/machine.slice/libpod-" ID_A ".scope/libpod-payload-" ID_A)),
        "/machine.slice/libpod-" ID_A ".scope");
    assert_null(world_mapped(w, world_id(w, "/docker")));
    assert_null(world_mapped(w, world_id(w, "/system.slice/ssh.service")));

    /* An id stays known for a while after its cgroup: samples may be on their way. */
    uint64_t payload = world_id(w, "/docker/" ID_A "/docker/" ID_B "/payload");
    world_rmdir(w, "/docker/" ID_A "/docker/" ID_B "/payload");
    world_settle(w);
    assert_string_equal(world_mapped(w, payload), "/docker/" ID_A "/docker/" ID_B);
    world_pass(w, 9 * WORLD_S);
    assert_non_null(world_mapped(w, payload));
    world_pass(w, 40 * WORLD_S);
    assert_null(world_mapped(w, payload));
}

/* ---- names ---- */

TEST_ON(names_come_late, struct world *w, started, end)
{
    world_appear(w, POD "/" ID_A);
    const struct container *c = world_find(w, POD "/" ID_A);
    assert_non_null(c); /* counted from the start */
    assert_false(c->named);
    world_pass(w, 300 * WORLD_MS);
    assert_false(c->named);
    /* Being written: not taken for whole. */
    fixture_write(&w->fixture, "host/" CONTAINERD ID_A "/config.json", "{\"annotations\":{");
    world_pass(w, 300 * WORLD_MS);
    assert_false(c->named);
    world_host_file(w, CONTAINERD ID_A "/config.json", "containerd-container.json");
    world_pass(w, 1300 * WORLD_MS);
    assert_true(c->named);
    assert_string_equal(c->name, "cart");
    assert_int_equal(w->named, 1);
    assert_int_equal(w->renamed, 0);
    assert_int_equal(w->forgotten, 0);
}

TEST_ON(names_never_come, struct world *w, started, end)
{
    world_appear(w, POD_SLICE "/cri-containerd-" ID_A ".scope");
    world_pass(w, 1999 * WORLD_MS);
    const struct container *c = world_find(w, POD_SLICE "/cri-containerd-" ID_A ".scope");
    assert_false(c->named);
    world_pass(w, 1 * WORLD_MS);
    assert_true(c->named);
    assert_string_equal(c->name, "cri-containerd-" ID_A ".scope");
    assert_string_equal(c->namespace_, "");
    assert_string_equal(c->runtime, "containerd");
    assert_string_equal(c->pod_uid, UID);
    assert_string_equal(c->short_id, "aaaa01234567");
    /* An hour later they come after all. */
    world_pass(w, 3600 * WORLD_S);
    assert_int_equal(w->renamed, 0);
    world_host_file(w, CONTAINERD ID_A "/config.json", "containerd-container.json");
    world_pass(w, 600 * WORLD_S);
    assert_int_equal(w->renamed, 1);
    assert_string_equal(c->name, "cart");
    assert_string_equal(c->pod, "cart-0");
}

TEST_ON(no_names_wanted, struct world *w, empty, end)
{
    w->config.names = NAMES_NONE;
    world_host_file(w, CONTAINERD ID_A "/config.json", "containerd-container.json");
    world_start(w);
    world_appear(w, POD "/" ID_A);
    const struct container *c = world_find(w, POD "/" ID_A);
    assert_true(c->named); /* there is nothing to wait for */
    assert_string_equal(c->name, ID_A);
    assert_string_equal(c->pod, "");
}

/* What became known in the last moment of a container that lived for a moment. */
TEST_ON(names_at_the_end, struct world *w, started, end)
{
    world_appear(w, POD "/" ID_A);
    world_host_file(w, CONTAINERD ID_A "/config.json", "containerd-container.json");
    world_rmdir(w, POD "/" ID_A);
    world_settle(w);
    const struct container *c = world_find(w, POD "/" ID_A);
    assert_int_equal(c->state, CONTAINER_ENDED);
    assert_true(c->named);
    assert_string_equal(c->name, "cart");
    assert_true(fcntl(c->cgroup_fd, F_GETFD) >= 0);
    world_read_ended(w);
    assert_int_equal(c->state, CONTAINER_LINGERING);
}

TEST(sandboxes_by_their_state)
{
    static const struct {
        const char *cgroup, *host_path, *host_file;
    } cases[] = {
        {POD "/" ID_A, CONTAINERD ID_A "/config.json", "containerd-sandbox.json"},
        {POD_SLICE "/crio-" ID_A ".scope", CRIO ID_A "/userdata/config.json", "crio-sandbox.json"},
        {POD "/" ID_A, "var/lib/docker/containers/" ID_A "/config.v2.json", "docker-sandbox.json"},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        struct world w;
        world_init(&w, WORLD_V2);
        world_start(&w);
        if (i % 2 == 0)
            world_host_file(&w, cases[i / 2].host_path, cases[i / 2].host_file);
        world_appear(&w, cases[i / 2].cgroup);
        assert_int_equal(world_monitored(&w), i % 2);
        if (i % 2) /* its state comes after it was counted for a while */
            world_host_file(&w, cases[i / 2].host_path, cases[i / 2].host_file);
        world_pass(&w, 100 * WORLD_S);
        assert_int_equal(world_monitored(&w), 0);
        assert_int_equal(w.named, 0);
        assert_int_equal(w.forgotten, i % 2);
        assert_null(world_mapped(&w, world_id(&w, cases[i / 2].cgroup)));
        assert_int_equal(container_table_count(w.table, CONTAINERS_EXCLUDED), 0);
        world_rmdir(&w, cases[i / 2].cgroup);
        world_pass(&w, 100 * WORLD_S);
        assert_int_equal(w.ended, 0);
        world_release(&w);
    }
}

/* With the logs alone, a pod's container that never gets a link is its sandbox. */
TEST_ON(sandboxes_by_their_logs, struct world *w, empty, end)
{
    w->config.names = NAMES_LOGS;
    world_start(w);
    fixture_mkdir(&w->fixture, "host/var/log/pods/shop_cart-0_" UID);
    world_mkdir(w, POD "/" ID_A);
    world_appear(w, POD "/" ID_B);
    assert_int_equal(world_monitored(w), 2);
    world_pass(w, 700 * WORLD_MS);
    fixture_link(&w->fixture, "host/var/log/containers/cart-0_shop_cart-" ID_A ".log",
                 "/var/log/pods/shop_cart-0_" UID "/cart/0.log");
    world_pass(w, 1500 * WORLD_MS);
    assert_int_equal(world_monitored(w), 1);
    assert_int_equal(w->named, 1);
    assert_int_equal(w->forgotten, 1);
    assert_string_equal(world_find(w, POD "/" ID_A)->name, "cart");
    /* The pod's logs go before the sandbox does: that makes no container of it. */
    char path[512];
    snprintf(path, sizeof path, "%s/host/var/log/pods/shop_cart-0_" UID, w->fixture.root);
    assert_int_equal(rmdir(path), 0);
    world_pass(w, 3600 * WORLD_S);
    assert_int_equal(world_monitored(w), 1);
    /* It was none: its container was only slow to start. */
    fixture_link(&w->fixture, "host/var/log/containers/cart-0_shop_slow-" ID_B ".log",
                 "/var/log/pods/shop_cart-0_" UID "/slow/0.log");
    world_pass(w, 600 * WORLD_S);
    assert_int_equal(world_monitored(w), 2);
    assert_string_equal(world_find(w, POD "/" ID_B)->name, "slow");
}

/* A tick carries the time it was due, which may be before the last event. */
TEST_ON(time_a_little_back, struct world *w, empty, end)
{
    w->config.names = NAMES_LOGS;
    world_start(w);
    fixture_mkdir(&w->fixture, "host/var/log/pods/shop_cart-0_" UID);
    world_appear(w, POD "/" ID_A);
    for (int i = 0; i < 10; i++) {
        discovery_advance(w->discovery, w->now_ns - 500 * WORLD_MS);
        world_pass(w, 20 * WORLD_MS);
    }
    assert_int_equal(world_monitored(w), 1); /* young still: not taken for a sandbox */
    assert_int_equal(w->named, 0);
}

/* ---- filters and limits ---- */

TEST_ON(excluded_and_over_the_limit, struct world *w, empty, end)
{
    w->limits.max = 2;
    w->limits.exclude = "shop/.*";
    world_host_file(w, CONTAINERD ID_A "/config.json", "containerd-container.json");
    world_start(w);
    size_t fds = fixture_open_fds();
    world_appear(w, POD "/" ID_A);
    assert_int_equal(container_table_count(w->table, CONTAINERS_EXCLUDED), 1);
    assert_int_equal(fixture_open_fds(), fds);
    char id[4][65], path[4][128];
    for (unsigned i = 0; i < 4; i++) {
        snprintf(path[i], sizeof path[i], "/docker/%s", world_hex(i, id[i]));
        world_mkdir(w, path[i]);
        char child[160];
        snprintf(child, sizeof child, "%s/child", path[i]);
        world_appear(w, child);
    }
    world_pass(w, 3 * WORLD_S);
    assert_int_equal(world_monitored(w), 2);
    assert_int_equal(container_table_count(w->table, CONTAINERS_OVER_LIMIT), 2);
    assert_int_equal(fixture_open_fds(), fds + 2);
    char child[160];
    snprintf(child, sizeof child, "%s/child", path[2]);
    uint64_t child_id = world_id(w, child);
    assert_null(world_mapped(w, child_id));

    snprintf(child, sizeof child, "%s/child", path[0]);
    world_rmdir(w, child);
    world_rmdir(w, path[0]);
    world_settle(w);
    world_read_ended(w);
    assert_int_equal(world_monitored(w), 2);
    const struct container *c = world_find(w, path[2]); /* the oldest that waited */
    assert_non_null(c);
    struct stat st;
    assert_int_equal(fstat(c->cgroup_fd, &st), 0);
    assert_int_equal(st.st_ino, c->cgroup_id);
    assert_string_equal(world_mapped(w, child_id), path[2]); /* with its children */
    world_rmdir(w, POD "/" ID_A);
    world_settle(w);
    assert_int_equal(container_table_count(w->table, CONTAINERS_EXCLUDED), 0);
}

/* ---- events and their gaps ---- */

TEST_ON(made_anew_under_the_same_name, struct world *w, started, end)
{
    world_appear(w, "/docker/" ID_A "/old");
    uint64_t id = world_find(w, "/docker/" ID_A)->cgroup_id;
    world_rmdir(w, "/docker/" ID_A "/old");
    world_rmdir(w, "/docker/" ID_A);
    world_mkdir(w, "/docker/spacer"); /* or the file system gives the same inode again */
    world_appear(w, "/docker/" ID_A "/new");
    assert_int_equal(world_monitored(w), 1);
    assert_int_equal(w->ended, 1);
    assert_int_equal(w->added, 2);
    const struct container *c = world_find(w, "/docker/" ID_A);
    assert_int_equal(c->state, CONTAINER_LIVE);
    assert_int_not_equal(c->cgroup_id, id);
    assert_string_equal(world_mapped(w, world_id(w, "/docker/" ID_A "/new")), "/docker/" ID_A);
    /* The new one's series wait until the old one's last counts are in. */
    world_pass(w, 3 * WORLD_S);
    assert_false(c->named);
    world_read_ended(w);
    assert_true(c->named);
}

TEST(renamed)
{
    struct world w;
    world_init(&w, WORLD_V1); /* where the kernel allows it */
    world_start(&w);
    world_appear(&w, "/docker/" ID_A "/child");
    char from[512], to[512];
    snprintf(from, sizeof from, "%s/docker/" ID_A, w.top);
    snprintf(to, sizeof to, "%s/docker/" ID_B, w.top);
    assert_int_equal(rename(from, to), 0);
    world_settle(&w);
    assert_int_equal(world_monitored(&w), 1);
    assert_int_equal(w.ended, 1);
    assert_int_equal(world_find(&w, "/docker/" ID_B)->state, CONTAINER_LIVE);
    world_appear(&w, "/docker/" ID_B "/second");
    world_pass(&w, 60 * WORLD_S);
    assert_string_equal(world_mapped(&w, world_id(&w, "/docker/" ID_B "/child")), "/docker/" ID_B);
    assert_string_equal(world_mapped(&w, world_id(&w, "/docker/" ID_B "/second")), "/docker/" ID_B);
    world_release(&w);
}

TEST_ON(gone_before_it_was_seen, struct world *w, started, end)
{
    for (int i = 0; i < 10; i++) {
        world_mkdir(w, "/docker/" ID_A);
        world_rmdir(w, "/docker/" ID_A);
    }
    world_settle(w);
    assert_int_equal(w->added, 0);
    /* Events that are older than the directory they are read for. */
    world_mkdir(w, "/docker/" ID_A);
    world_rmdir(w, "/docker/" ID_A);
    world_appear(w, "/docker/" ID_A);
    assert_int_equal(world_monitored(w), 1);
    assert_int_equal(w->added, 1);
    assert_int_equal(w->ended, 0);
}

/* One call does a bounded amount of work, however much there is. */
TEST_ON(bounded_work, struct world *w, started, end)
{
    char id[65], path[128];
    for (unsigned i = 0; i < 2000; i++) {
        snprintf(path, sizeof path, "/docker/%s", world_hex(i, id));
        world_mkdir(w, path);
    }
    size_t before = 0;
    int calls = 0;
    while (world_monitored(w) < 2000) {
        discovery_handle(w->discovery, w->now_ns);
        assert_true(world_monitored(w) - before <= 512);
        before = world_monitored(w);
        assert_true(++calls < 1000);
    }
    assert_true(calls >= 4);
    world_settle(w);
    assert_int_equal(w->added, 2000);
}

/* More events than the kernel keeps. */
TEST_ON(overflow, struct world *w, started, end)
{
    char id[65], path[128];
    world_appear(w, "/docker/" ID_A);
    unsigned max = 0;
    FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
    if (file) {
        if (fscanf(file, "%u", &max) != 1)
            max = 0;
        fclose(file);
    }
    if (max == 0 || max > 100000)
        skip();
    for (unsigned i = 0; i < max / 2 + 10; i++) {
        snprintf(path, sizeof path, "/docker/%u", i);
        world_mkdir(w, path);
        world_rmdir(w, path);
    }
    /* What the queue had no room for: */
    world_rmdir(w, "/docker/" ID_A);
    for (unsigned i = 0; i < 50; i++) {
        snprintf(path, sizeof path, "/docker/%s", world_hex(i, id));
        world_mkdir(w, path);
    }
    world_settle(w);
    assert_int_equal(world_monitored(w), 50);
    assert_int_equal(w->ended, 1);
    /* And events work on. */
    world_appear(w, "/docker/" ID_B);
    assert_int_equal(world_monitored(w), 51);
}

/* In a user namespace of its own a process may lower the number of watches for itself. */
static int run_without_watches(void)
{
    if (unshare(CLONE_NEWUSER) != 0)
        return 77;
    int fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0 0 1", 5) != 5)
        return 77;
    close(fd);
    fd = open("/proc/sys/user/max_inotify_watches", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "3", 1) != 1)
        return 77;
    close(fd);

    int pipe_fds[2];
    struct world w;
    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) != 0)
        return 77;
    world_init(&w, WORLD_V2);
    w.config.nested = true;
    w.log.fd = pipe_fds[1];
    world_mkdir(&w, "/docker/" ID_A "/a/b/c");
    world_start(&w);
    assert_int_equal(world_monitored(&w), 1);
    world_appear(&w, "/docker/" ID_A "/a/b/c/docker/" ID_B);
    assert_int_equal(world_monitored(&w), 1); /* nobody told */
    world_pass(&w, 1000 * WORLD_MS);
    assert_int_equal(world_monitored(&w), 2);
    world_rmdir(&w, "/docker/" ID_A "/a/b/c/docker/" ID_B);
    world_pass(&w, 1000 * WORLD_MS);
    assert_int_equal(world_monitored(&w), 1);
    world_pass(&w, 100 * WORLD_S);
    char text[65536];
    ssize_t n = read(pipe_fds[0], text, sizeof text - 1);
    assert_true(n > 0);
    text[n] = '\0';
    const char *line = strstr(text, "max_user_watches");
    assert_non_null(line);
    assert_null(strstr(line + 1, "max_user_watches")); /* said once */
    world_release(&w);
    return 0;
}

TEST(no_more_watches)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        _exit(run_without_watches());
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- all cgroups ---- */

TEST_ON(all_cgroups, struct world *w, empty, end)
{
    w->config.all_cgroups = true;
    world_write(w, "/system.slice", "cgroup.procs", "");
    world_write(w, "/system.slice/ssh.service", "cgroup.procs", "12\n");
    world_write(w, "/system.slice/idle.service", "cgroup.procs", "");
    world_start(w);
    assert_int_equal(world_monitored(w), 1);
    const struct container *c = world_find(w, "/system.slice/ssh.service");
    assert_non_null(c);
    assert_true(c->named);
    assert_string_equal(c->name, "ssh.service");
    assert_string_equal(c->id, "");
    assert_string_equal(c->pod, "");
    assert_string_equal(c->runtime, "");
    char hex[32];
    snprintf(hex, sizeof hex, "%012llx",
             (unsigned long long)(c->cgroup_id & UINT64_C(0xffffffffffff)));
    assert_string_equal(c->short_id, hex);

    /* A new one has no processes yet; they come without an event that would tell. */
    world_mkdir(w, "/system.slice/new.service");
    world_write(w, "/system.slice/new.service", "cgroup.procs", "");
    world_settle(w);
    /* It is counted from now on, for what may come, but not shown. */
    assert_int_equal(world_monitored(w), 2);
    assert_false(world_find(w, "/system.slice/new.service")->named);
    uint64_t found_ns = world_find(w, "/system.slice/new.service")->found_mono_ns;
    char path[512], other[512];
    snprintf(path, sizeof path, "%s/system.slice/new.service/cgroup.procs", w->top);
    snprintf(other, sizeof other, "%s/host/procs", w->fixture.root);
    fixture_write(&w->fixture, "host/procs", "77\n");
    assert_int_equal(rename(other, path), 0);
    world_pass(w, 10 * WORLD_MS);
    assert_int_equal(world_monitored(w), 2);
    assert_true(world_find(w, "/system.slice/new.service")->named);
    assert_int_equal(world_find(w, "/system.slice/new.service")->found_mono_ns, found_ns);

    /* Nothing comes, for a second or before it goes: it was none. */
    world_write(w, "/system.slice/none.service", "cgroup.procs", "");
    world_settle(w);
    assert_int_equal(world_monitored(w), 3);
    world_pass(w, 990 * WORLD_MS);
    assert_int_equal(world_monitored(w), 3);
    world_pass(w, 20 * WORLD_MS);
    assert_int_equal(world_monitored(w), 2);
    world_write(w, "/system.slice/none.service/gone.service", "cgroup.procs", "");
    world_settle(w);
    assert_int_equal(world_monitored(w), 3);
    world_rmdir(w, "/system.slice/none.service/gone.service");
    world_settle(w);
    assert_int_equal(world_monitored(w), 2);
    assert_int_equal(w->ended, 0);

    /* One that stayed empty for long: its control file is written. */
    world_pass(w, 5 * WORLD_S);
    assert_int_equal(world_monitored(w), 2);
    world_write(w, "/system.slice/idle.service", "cgroup.procs", "9\n");
    world_settle(w);
    assert_int_equal(world_monitored(w), 3);

    /* A parent that has processes itself counts too; its children count with it or separately. */
    world_appear(w, "/system.slice/ssh.service/session");
    uint64_t session = world_id(w, "/system.slice/ssh.service/session");
    assert_string_equal(world_mapped(w, session), "/system.slice/ssh.service");
    world_write(w, "/system.slice/ssh.service/session", "cgroup.procs", "9\n");
    world_settle(w);
    assert_string_equal(world_mapped(w, session), "/system.slice/ssh.service/session");
    assert_int_equal(world_monitored(w), 4);
    world_pass(w, 2 * WORLD_S);

    /* What is a container by its path keeps its names. */
    world_host_file(w, CONTAINERD ID_A "/config.json", "containerd-container.json");
    world_appear(w, POD "/" ID_A);
    assert_string_equal(world_find(w, POD "/" ID_A)->name, "cart");
    assert_string_equal(world_find(w, POD "/" ID_A)->short_id, "aaaa01234567");
    world_pass(w, 2 * WORLD_S);
    assert_null(world_find(w, POD));
}

/* Nobody saw its process, which came and went: what it used tells, once, if it is its own. */
TEST_ON(all_cgroups_by_what_they_used, struct world *w, empty, end)
{
    static const struct {
        const char *cgroup, *stat;
        bool shown;
    } made[] = {
        {"/ran", "usage_usec 1000\nuser_usec 0\n", true},
        {"/idle", "usage_usec 0\nuser_usec 0\n", false},
        {"/other", "nr_periods 7\n", false},
        {"/above", "usage_usec 1000\n", false},
        {"/above/below", "usage_usec 1000\n", true},
    };
    w->config.all_cgroups = true;
    world_write(w, "/before", "cgroup.procs", "");
    world_write(w, "/before", "cpu.stat", "usage_usec 1000\n");
    world_start(w);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        world_write(w, made[i].cgroup, "cgroup.procs", "");
        world_write(w, made[i].cgroup, "cpu.stat", made[i].stat);
    }
    world_settle(w);
    world_pass(w, 2 * WORLD_S);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        assert_int_equal(world_find(w, made[i].cgroup) != NULL, made[i].shown);
    assert_true(world_find(w, "/ran")->named);
    world_write(w, "/idle", "cpu.stat", "usage_usec 1000\n");
    world_pass(w, 60 * WORLD_S);
    assert_int_equal(world_monitored(w), 2);
}

/* What no event tells, the slow rescan finds. */
TEST_ON(all_cgroups_by_the_rescan, struct world *w, empty, end)
{
    w->config.all_cgroups = true;
    world_write(w, "/idle", "cgroup.procs", "");
    world_start(w);
    size_t fds = fixture_open_fds();
    world_pass(w, 2 * WORLD_S);
    assert_int_equal(fixture_open_fds(), fds - 1); /* it is not held open any more */
    char path[512], other[512];
    snprintf(path, sizeof path, "%s/idle/cgroup.procs", w->top);
    snprintf(other, sizeof other, "%s/host/procs", w->fixture.root);
    fixture_write(&w->fixture, "host/procs", "77\n");
    assert_int_equal(rename(other, path), 0);
    world_pass(w, 2 * WORLD_S);
    assert_int_equal(world_monitored(w), 0);
    world_pass(w, 30 * WORLD_S);
    assert_int_equal(world_monitored(w), 1);
}

/* ---- many ---- */

static void churn(struct world *w, unsigned from, unsigned to)
{
    char id[65], path[128], child[160], host[256];
    for (unsigned i = from; i < to; i++) {
        snprintf(path, sizeof path, "/docker/%s", world_hex(i, id));
        snprintf(child, sizeof child, "%s/child", path);
        snprintf(host, sizeof host, "var/lib/docker/containers/%s/config.v2.json", id);
        world_mkdir(w, child);
        if (i % 3 == 0)
            world_host_file(w, host, "docker-plain.json");
        world_pass(w, i % 7 * 10 * WORLD_MS);
        world_rmdir(w, child);
        world_rmdir(w, path);
        if (i % 5 == 0)
            world_settle(w);
        if (i % 11 == 0)
            world_read_ended(w);
        if (i % 3 == 0) {
            char full[512];
            snprintf(full, sizeof full, "%s/host/%s", w->fixture.root, host);
            assert_int_equal(unlink(full), 0);
            *strrchr(full, '/') = '\0';
            assert_int_equal(rmdir(full), 0);
        }
    }
    world_settle(w);
    world_read_ended(w);
    world_pass(w, 200 * WORLD_S);
}

TEST_ON(nothing_leaks, struct world *w, empty, end)
{
    w->limits.linger_ns = 5 * WORLD_S;
    world_start(w);
    churn(w, 0, 500);
    size_t fds = fixture_open_fds(), memory = mallinfo2().uordblks;
    size_t slots = container_table_slots(w->table);
    churn(w, 500, 2500);
    assert_int_equal(world_monitored(w), 0);
    assert_int_equal(container_table_count(w->table, CONTAINERS_LINGERING), 0);
    assert_int_equal(fixture_open_fds(), fds);
    assert_int_equal(cgroup_map_size(w->map), 0);
    assert_true(container_table_slots(w->table) <= slots + 8);
    assert_true(mallinfo2().uordblks <= memory + 65536); /* 0 under a sanitizer */
    assert_int_equal(w->added, w->forgotten);
    assert_int_equal(w->added, w->ended);
    assert_true(w->added > 1500);
}

TEST_ON(very_deep, struct world *w, empty, end)
{
    char path[512] = "/docker/" ID_A;
    world_mkdir(w, path);
    while (strlen(path) < 400)
        strcat(path, "/a");
    world_mkdir(w, path);
    world_start(w);
    assert_string_equal(world_mapped(w, world_id(w, path)), "/docker/" ID_A);
    while (strlen(path) > strlen("/docker/" ID_A)) {
        world_rmdir(w, path);
        *strrchr(path, '/') = '\0';
    }
    world_rmdir(w, path);
    world_settle(w);
    world_pass(w, 60 * WORLD_S);
    assert_int_equal(w->ended, 1);
    assert_int_equal(cgroup_map_size(w->map), 0);
}
