/* Who may make cgroups, in his container or below his own service manager, takes no other one's
 * place, name or room. */
#include <sys/stat.h>

#include "tests/unit/support/unit.h"
#include "tests/unit/support/world.h"

#define VICTIM "aaaa0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
#define EVIL "eeee0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
#define VICTIM_UID "11112222-3333-4444-5555-666677778888" /* of the fixture's pod */
#define EVIL_UID "eeee2222-3333-4444-5555-666677778888"
#define VICTIM_POD "/kubepods/burstable/pod" VICTIM_UID
#define OUTER "/kubepods/besteffort/pod" EVIL_UID "/" EVIL
#define MANAGER "/user.slice/user-1000.slice/user@1000.service"
#define CONTAINERD "run/containerd/io.containerd.runtime.v2.task/k8s.io/"

static int setup(void **state)
{
    static struct world world;
    world_init(&world, WORLD_V2);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    world_release(*state);
    return 0;
}

static void make_inside(struct world *w, const char *parent, unsigned from, unsigned to)
{
    char path[512], id[65];
    for (unsigned i = from; i < to; i++) {
        snprintf(path, sizeof path, "%s/%s", parent, world_hex(i, id));
        world_mkdir(w, path);
    }
}

static unsigned count_inside(const struct world *w, const char *parent)
{
    unsigned n = 0;
    size_t cursor = 0;
    const struct container *c;
    while ((c = container_table_next(w->table, &cursor))) {
        if (c->state == CONTAINER_LIVE && strncmp(c->path, parent, strlen(parent)) == 0 &&
            c->path[strlen(parent)] == '/')
            n++;
    }
    return n;
}

static unsigned count_watches(const struct world *w)
{
    char path[64], line[256];
    unsigned n = 0;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", discovery_fd(w->discovery));
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        n += strncmp(line, "inotify", 7) == 0;
    fclose(file);
    return n;
}

/* ---- by default ---- */

TEST_ON(what_is_inside_is_part_of_its_container, struct world *w, setup, teardown)
{
    world_start(w);
    char path[512] = OUTER, id[65];
    world_mkdir(w, path);
    for (unsigned i = 0; i < 4; i++) {
        snprintf(path + strlen(path), sizeof path - strlen(path), "/%s", world_hex(i, id));
        world_appear(w, path);
        assert_string_equal(world_mapped(w, world_id(w, path)), OUTER);
    }
    assert_int_equal(world_monitored(w), 1);
    world_pass(w, 100 * WORLD_S);
    assert_int_equal(w->added, 1);
}

/* Samples need the ids of all directories; without them a container's inside is not looked at. */
TEST_ON(nothing_below_a_container_is_watched, struct world *w, setup, teardown)
{
    w->no_samples = true;
    world_start(w);
    world_appear(w, OUTER);
    unsigned watches = count_watches(w);
    make_inside(w, OUTER, 0, 300);
    world_appear(w, OUTER "/a/b/c");
    world_pass(w, 100 * WORLD_S);
    assert_int_equal(count_watches(w), watches);
    assert_int_equal(world_monitored(w), 1);
    assert_int_equal(discovery_refused(w->discovery, REFUSED_DIRECTORY), 0);
    for (unsigned i = 0; i < 300; i++) {
        char path[512], id[65];
        snprintf(path, sizeof path, OUTER "/%s", world_hex(i, id));
        world_rmdir(w, path);
    }
    world_rmdir(w, OUTER "/a/b/c");
    world_rmdir(w, OUTER "/a/b");
    world_rmdir(w, OUTER "/a");
    world_rmdir(w, OUTER);
    world_settle(w); /* its parent's watch tells */
    assert_int_equal(w->ended, 1);
}

/* ---- names ---- */

static void check_victim(const struct world *w)
{
    const struct container *c = world_find(w, VICTIM_POD "/" VICTIM);
    assert_non_null(c);
    assert_true(c->named);
    assert_string_equal(c->short_id, "aaaa01234567");
    assert_string_equal(c->name, w->config.names == NAMES_NONE ? VICTIM : "cart");
}

static void check_impostor(const struct world *w, const char *path)
{
    const struct container *c = world_find(w, path);
    assert_non_null(c);
    assert_true(c->named);
    assert_string_equal(c->namespace_, "");
    assert_string_equal(c->pod, "");
    assert_string_equal(c->name, strrchr(path, '/') + 1);
    assert_string_equal(c->id, "");
    assert_string_not_equal(c->short_id, "aaaa01234567");
    assert_string_not_equal(c->pod_uid, VICTIM_UID);
}

/* A directory of the victim's id, before it, beside it, and after it. */
TEST(nobody_is_a_victim_of_his_id)
{
    static const char *const impostors[] = {
        OUTER "/" VICTIM,
        OUTER "/kubepods/pod" VICTIM_UID "/" VICTIM,
        "/docker/" EVIL "/docker/" VICTIM,
        MANAGER "/" VICTIM,
        MANAGER "/kubepods/pod" VICTIM_UID "/cri-containerd-" VICTIM ".scope",
    };
    for (size_t i = 0; i < 8 * sizeof impostors / sizeof *impostors; i++) {
        struct world w;
        world_init(&w, WORLD_V2);
        w.config.nested = true;
        w.config.names = i & 1 ? NAMES_NONE : NAMES_AUTO;
        world_host_file(&w, CONTAINERD VICTIM "/config.json", "containerd-container.json");
        const char *impostor = impostors[i / 8];
        world_mkdir(&w, i & 2 ? impostor : VICTIM_POD "/" VICTIM);
        if (i & 4)
            world_start(&w);
        world_mkdir(&w, i & 2 ? VICTIM_POD "/" VICTIM : impostor);
        if (!(i & 4))
            world_start(&w);
        world_settle(&w);
        check_victim(&w);
        check_impostor(&w, impostor);
        world_release(&w);
    }
}

/* The same id in two cgroups of two owners: it is nobody's. */
TEST_ON(an_id_twice_is_nobodys, struct world *w, setup, teardown)
{
    w->config.names = NAMES_NONE;
    world_start(w);
    world_appear(w, "/docker/" VICTIM);
    assert_string_equal(world_find(w, "/docker/" VICTIM)->short_id, "aaaa01234567");
    world_appear(w, "/elsewhere/" VICTIM);
    static const char *const paths[] = {"/docker/" VICTIM, "/elsewhere/" VICTIM};
    for (size_t i = 0; i < 2; i++) {
        char inode[13];
        snprintf(inode, sizeof inode, "%012lx", (unsigned long)world_id(w, paths[i]));
        const struct container *c = world_find(w, paths[i]);
        assert_true(c->named);
        assert_string_equal(c->short_id, inode);
        assert_string_equal(c->id, "");
        assert_string_equal(c->runtime, "");
    }
}

/* ---- places ---- */

TEST_ON(everybody_has_his_places, struct world *w, setup, teardown)
{
    w->config.nested = true;
    w->limits.max = 64;
    world_start(w);
    world_mkdir(w, OUTER);
    make_inside(w, OUTER, 0, 200);
    world_settle(w);
    assert_int_equal(count_inside(w, OUTER), 16);
    assert_int_equal(discovery_refused(w->discovery, REFUSED_PLACE), 200 - 16);
    char path[128], id[65];
    for (unsigned i = 0; i < 40; i++) {
        snprintf(path, sizeof path, "/docker/%s", world_hex(1000 + i, id));
        world_mkdir(w, path);
    }
    world_settle(w);
    assert_int_equal(world_monitored(w), 1 + 16 + 40);
    assert_int_equal(container_table_count(w->table, CONTAINERS_OVER_LIMIT), 0);

    /* A place that becomes free is given to one that was refused, in time. */
    size_t cursor = 0;
    const struct container *c;
    while ((c = container_table_next(w->table, &cursor)) && count_inside(w, OUTER) == 16) {
        if (strncmp(c->path, OUTER "/", strlen(OUTER) + 1) == 0) {
            world_rmdir(w, c->path);
            world_settle(w);
        }
    }
    assert_int_equal(count_inside(w, OUTER), 15);
    world_pass(w, 100 * WORLD_S);
    assert_int_equal(count_inside(w, OUTER), 16);
}

/* New ones come with new series: sixteen at once, then ten a minute. */
TEST_ON(new_ones_are_rationed, struct world *w, setup, teardown)
{
    w->config.nested = true;
    world_start(w);
    world_appear(w, OUTER);
    char path[512], id[65];
    for (unsigned i = 0; i < 600; i++) {
        snprintf(path, sizeof path, OUTER "/%s", world_hex(i, id));
        world_appear(w, path);
        world_rmdir(w, path);
        world_settle(w);
        world_read_ended(w);
        world_pass(w, 100 * WORLD_MS);
    }
    assert_in_range(w->added, 1 + 16 + 9, 1 + 16 + 10);
}

/* Nobody saw series of what ended before it was read; its outer container has counted it. */
TEST_ON(what_nobody_saw_does_not_linger, struct world *w, setup, teardown)
{
    w->config.nested = true;
    world_start(w);
    char shorter[256], longer[256], id[65];
    snprintf(shorter, sizeof shorter, OUTER "/%s", world_hex(1, id));
    snprintf(longer, sizeof longer, OUTER "/%s", world_hex(2, id));
    world_appear(w, longer);
    world_read_ended(w);
    world_mkdir(w, shorter);
    world_appear(w, "/docker/" VICTIM);
    assert_int_equal(count_inside(w, OUTER), 2);
    world_rmdir(w, shorter);
    world_rmdir(w, longer);
    world_rmdir(w, "/docker/" VICTIM);
    world_settle(w);
    assert_non_null(world_find(w, shorter)); /* it is read once more */
    world_read_ended(w);
    assert_null(world_find(w, shorter));
    assert_non_null(world_find(w, longer));
    assert_non_null(world_find(w, "/docker/" VICTIM)); /* a runtime's: its last counts are shown */
    assert_int_equal(container_table_count(w->table, CONTAINERS_LINGERING), 2);
}

/* ---- directories ---- */

TEST_ON(everybody_has_his_directories, struct world *w, setup, teardown)
{
    world_start(w);
    world_appear(w, OUTER);
    unsigned watches = count_watches(w);
    char path[512];
    for (unsigned i = 0; i < 400; i++) {
        snprintf(path, sizeof path, OUTER "/%u", i);
        world_mkdir(w, path);
    }
    world_settle(w);
    assert_int_equal(count_watches(w), watches + 256);
    assert_int_equal(discovery_refused(w->discovery, REFUSED_DIRECTORY), 400 - 256);
    assert_null(world_mapped(w, world_id(w, OUTER "/300")));
    world_appear(w, VICTIM_POD "/" VICTIM "/init");
    assert_string_equal(world_mapped(w, world_id(w, VICTIM_POD "/" VICTIM "/init")),
                        VICTIM_POD "/" VICTIM);
    for (unsigned i = 0; i < 100; i++) {
        snprintf(path, sizeof path, OUTER "/%u", i);
        world_rmdir(w, path);
    }
    world_settle(w);
    world_pass(w, 100 * WORLD_S); /* the rescan finds what there is room for by now */
    assert_string_equal(world_mapped(w, world_id(w, OUTER "/300")), OUTER);
}

/* Long paths: fewer of them. */
TEST_ON(bytes_are_bounded_too, struct world *w, setup, teardown)
{
    world_start(w);
    world_mkdir(w, OUTER);
    char path[2048], name[252];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    size_t len = (size_t)snprintf(path, sizeof path, "%s" OUTER, w->top);
    for (int i = 0; i < 3; i++) {
        len += (size_t)snprintf(path + len, sizeof path - len, "/%s", name);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    for (unsigned i = 0; i < 200; i++) {
        snprintf(path + len, sizeof path - len, "/%u", i);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    world_settle(w);
    assert_in_range(discovery_refused(w->discovery, REFUSED_DIRECTORY), 40, 100);
    world_appear(w, VICTIM_POD "/" VICTIM "/init");
    assert_string_equal(world_mapped(w, world_id(w, VICTIM_POD "/" VICTIM "/init")),
                        VICTIM_POD "/" VICTIM);
}

/* Many containers, each with no more than its share, fill what there is: but for a tenth, which is
 * for containers that come later. */
TEST(a_tenth_is_left_for_others)
{
    for (int bytes = 0; bytes < 2; bytes++) {
        struct world w;
        world_init(&w, WORLD_V2);
        w.config.directories_max = bytes ? 0 : 400;
        w.config.path_bytes_max = bytes ? 400 * 80 : 0;
        world_start(&w);
        char path[256], id[65];
        for (unsigned i = 0; i < 10; i++) {
            int len = snprintf(path, sizeof path, "/docker/%s", world_hex(i, id));
            for (unsigned k = 0; k < 60; k++) {
                snprintf(path + len, sizeof path - (size_t)len, "/%u", k);
                world_appear(&w, path);
            }
        }
        assert_int_equal(world_monitored(&w), 10);
        if (!bytes) /* 360 with the root, /docker, and the six containers that had room */
            assert_int_equal(discovery_refused(w.discovery, REFUSED_DIRECTORY), 600 - (360 - 8));
        assert_true(discovery_refused(w.discovery, REFUSED_DIRECTORY) > 200);
        for (unsigned i = 0; i < 20; i++) {
            snprintf(path, sizeof path, "/docker/%s", world_hex(100 + i, id));
            world_appear(&w, path);
        }
        assert_int_equal(world_monitored(&w), 30);
        for (unsigned i = 0; i < 100; i++) { /* the whole is bounded all the same */
            snprintf(path, sizeof path, "/docker/%s", world_hex(200 + i, id));
            world_appear(&w, path);
        }
        assert_in_range(world_monitored(&w), 35, 50);
        world_release(&w);
    }
}

/* Half of root's watches are for its other daemons, and half of the rest for nobody's own. */
TEST_ON(watches_are_left_for_others, struct world *w, setup, teardown)
{
    fixture_write(&w->fixture, "proc/sys/fs/inotify/max_user_watches", "80\n");
    world_start(w);
    world_mkdir(w, OUTER);
    char path[512];
    for (unsigned i = 0; i < 100; i++) {
        snprintf(path, sizeof path, OUTER "/%u", i);
        world_mkdir(w, path);
    }
    world_settle(w);
    assert_int_equal(count_watches(w), 20);
    assert_true(discovery_refused(w->discovery, REFUSED_WATCH) >= 80);
    world_mkdir(w, VICTIM_POD "/" VICTIM); /* three directories, watched */
    world_settle(w);
    assert_non_null(world_find(w, VICTIM_POD "/" VICTIM));
    assert_int_equal(count_watches(w), 23);
    for (unsigned i = 0; i < 100; i++) {
        snprintf(path, sizeof path, "/plain/%u", i);
        world_mkdir(w, path);
    }
    world_settle(w);
    assert_int_equal(count_watches(w), 40);
    world_mkdir(w, OUTER "/99/later"); /* no watch tells */
    world_pass(w, 100 * WORLD_S);
    assert_string_equal(world_mapped(w, world_id(w, OUTER "/99/later")), OUTER);
    assert_int_equal(count_watches(w), 40);
}

TEST_ON(a_user_has_a_share_too, struct world *w, setup, teardown)
{
    world_host_file(w, "var/lib/containers/storage/overlay-containers/containers.json",
                    "podman-containers.json");
    world_start(w);
    world_appear(w, MANAGER "/user.slice/libpod-" VICTIM ".scope");
    check_impostor(w, MANAGER "/user.slice/libpod-" VICTIM ".scope");
    make_inside(w, MANAGER, 0, 300);
    world_settle(w);
    assert_int_equal(count_inside(w, MANAGER), 128);
    world_appear(w, "/machine.slice/libpod-" VICTIM ".scope");
    assert_string_equal(world_find(w, "/machine.slice/libpod-" VICTIM ".scope")->name, "web1");
}

TEST_ON(a_user_has_his_directories, struct world *w, setup, teardown)
{
    world_start(w);
    world_appear(w, MANAGER);
    char path[512];
    for (unsigned i = 0; i < 4200; i++) {
        snprintf(path, sizeof path, MANAGER "/%u", i);
        world_mkdir(w, path);
        if (i % 256 == 0)
            world_settle(w); /* before the queue of events is full */
    }
    world_settle(w);
    assert_int_equal(discovery_refused(w->discovery, REFUSED_DIRECTORY), 4200 - 4096);
}

TEST_ON(a_users_bytes_are_bounded_too, struct world *w, setup, teardown)
{
    world_start(w);
    char path[512], name[201];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (unsigned i = 0; i < 4000; i++) {
        snprintf(path, sizeof path, MANAGER "/%s/%s%04u", name, name, i);
        world_mkdir(w, path);
        if (i % 256 == 0)
            world_settle(w);
    }
    world_settle(w);
    /* 1 MiB; each has two names of 200 and those of the manager. */
    assert_in_range(4000 - discovery_refused(w->discovery, REFUSED_DIRECTORY), (1 << 20) / 480,
                    (1 << 20) / 440);
}

TEST_ON(a_users_new_ones_are_rationed, struct world *w, setup, teardown)
{
    world_start(w);
    char path[512], id[65];
    for (unsigned i = 0; i < 600; i++) {
        snprintf(path, sizeof path, MANAGER "/%s", world_hex(i, id));
        world_appear(w, path);
        world_rmdir(w, path);
        world_settle(w);
        world_read_ended(w);
        world_pass(w, 100 * WORLD_MS);
    }
    assert_in_range(w->added, 128 + 59, 128 + 61); /* 128 at once, then one a second */
}

/* A plain cgroup inside a container counts only with all of them, and takes one of its places. */
TEST_ON(all_cgroups_are_bounded_inside, struct world *w, setup, teardown)
{
    w->config.all_cgroups = true;
    w->limits.max = 64;
    world_start(w);
    char path[512];
    world_mkdir(w, OUTER);
    for (unsigned i = 0; i < 100; i++) {
        snprintf(path, sizeof path, OUTER "/%u", i);
        world_mkdir(w, path);
        world_write(w, path, "cgroup.procs", "7\n");
    }
    world_mkdir(w, "/system.slice/ssh.service");
    world_write(w, "/system.slice/ssh.service", "cgroup.procs", "8\n");
    world_settle(w);
    world_pass(w, 2 * WORLD_S);
    assert_int_equal(count_inside(w, OUTER), 16);
    assert_non_null(world_find(w, "/system.slice/ssh.service"));
}
