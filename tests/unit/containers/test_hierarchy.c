/* Finding the hierarchy that counts: by path, and among what is mounted, in mount namespaces. */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/containers/cgroups/walk.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

/* ---- a path was given ---- */

static const struct layout {
    const char *files[4];
    int result, version;
    const char *below;
} layouts[] = {
    {{"cgroup/cgroup.controllers"}, 0, 2, ""},
    {{"cgroup/unified/cgroup.controllers", "cgroup/memory/tasks"}, 0, 2, "/unified"},
    {{"cgroup/unified/cgroup.controllers", "cgroup/perf_event/tasks"}, 0, 1, "/perf_event"},
    {{"cgroup/perf_event/tasks", "cgroup/memory/tasks"}, 0, 1, "/perf_event"},
    {{"cgroup/net_cls,perf_event/tasks"}, 0, 1, "/net_cls,perf_event"},
    {{"cgroup/tasks"}, 0, 1, ""}, /* the perf_event mount itself */
    {{"cgroup/cgroup.controllers", "cgroup/perf_event/cgroup.controllers"}, 0, 2, ""},
    {{"cgroup/memory/tasks", "cgroup/xperf_event/tasks"}, -ENOENT, 0, ""},
    {{"cgroup/perf_event/other"}, -ENOENT, 0, ""},
    {{"other/x"}, -ENOENT, 0, ""},
};

static void by_path(void **state)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        struct fixture f;
        char path[256], error[512] = "", want[512];
        fixture_init(&f);
        for (int k = 0; k < 4 && layouts[i].files[k]; k++)
            fixture_write(&f, layouts[i].files[k], "\n");
        snprintf(path, sizeof path, "%s/cgroup%s", f.root, i % 2 ? "/" : "");
        f.fs.path[FSROOT_CGROUP] = strdup(path);
        struct cgroup_hierarchy found = {.version = 7};
        int err = cgroup_hierarchy_find(&f.fs, &found, error, sizeof error);
        if (err != layouts[i].result)
            fail_msg("layout %zu: %d (%s)", i, err, error);
        if (err) {
            assert_int_equal(found.version, 7);
            assert_non_null(strstr(error, path));
        } else {
            assert_int_equal(found.version, layouts[i].version);
            snprintf(want, sizeof want, "%s/cgroup%s", f.root, layouts[i].below);
            char real[4096], real_want[4096];
            assert_non_null(realpath(found.path, real));
            assert_non_null(realpath(want, real_want));
            assert_string_equal(real, real_want);
            assert_int_not_equal(found.path[strlen(found.path) - 1], '/');
            assert_string_equal(found.controller, "");
        }
        fixture_release(&f);
    }
}

/* Other hierarchies than perf's, beside it below the path that was given. */
static void other_mounts(void **state)
{
    static const struct {
        const char *files[3];
        const char *cpuacct, *unified; /* below the path; NULL: not there */
    } cases[] = {
        {{"cgroup/cgroup.controllers"}, NULL, ""},
        {{"cgroup/unified/cgroup.controllers", "cgroup/cpu,cpuacct/tasks"},
         "/cpu,cpuacct",
         "/unified"},
        {{"cgroup/perf_event/tasks", "cgroup/cpuacct/tasks"}, "/cpuacct", NULL},
        {{"cgroup/perf_event/tasks", "cgroup/cpuacctx/tasks", "cgroup/cpu/tasks"}, NULL, NULL},
        {{"cgroup/tasks"}, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        char path[256], found[512], want[512];
        fixture_init(&f);
        for (int k = 0; k < 3 && cases[i].files[k]; k++)
            fixture_write(&f, cases[i].files[k], "\n");
        snprintf(path, sizeof path, "%s/cgroup", f.root);
        f.fs.path[FSROOT_CGROUP] = strdup(path);
        for (int v2 = 0; v2 < 2; v2++) {
            const char *below = v2 ? cases[i].unified : cases[i].cpuacct;
            snprintf(want, sizeof want, "%s%s", below ? path : "", below ? below : "");
            assert_int_equal(cgroup_mount_find(&f.fs, v2 ? "" : "cpuacct", found, sizeof found),
                             below ? 0 : -ENOENT);
            assert_string_equal(found, want);
            assert_int_equal(cgroup_mount_find(&f.fs, v2 ? "" : "cpuacct", found, 4), -ENOENT);
            assert_string_equal(found, "");
        }
        fixture_release(&f);
    }
}

/* ---- the plain walk ---- */

static void walk_while_it_changes(void **state)
{
    struct fixture f;
    fixture_init(&f);
    fixture_mkdir(&f, "cgroup/a/1/x");
    fixture_mkdir(&f, "cgroup/a/2");
    fixture_mkdir(&f, "cgroup/b");
    fixture_write(&f, "cgroup/a/file", "x");
    struct cgroup_hierarchy h = {.version = 2};
    snprintf(h.path, sizeof h.path, "%s/cgroup", f.root);
    struct cgroup_walk *walk;
    struct cgroup_walk_entry entry;
    assert_int_equal(cgroup_walk_new(&h, "/", WALK_CHEAPLY, &walk), 0);
    char seen[512] = "";
    for (int i = 0; i < 100 && cgroup_walk_next(walk, &entry) == 1; i++) {
        strcat(strcat(seen, entry.path), " ");
        /* A directory's children are looked for after it was handed out. */
        if (strcmp(entry.path, "/b") == 0)
            fixture_mkdir(&f, "cgroup/b/late");
        if (strcmp(entry.path, "/a/1") == 0) {
            char gone[256];
            snprintf(gone, sizeof gone, "%s/cgroup/a/1/x", f.root);
            assert_int_equal(rmdir(gone), 0);
        }
    }
    cgroup_walk_free(walk);
    assert_non_null(strstr(seen, "/ "));
    assert_non_null(strstr(seen, "/a "));
    assert_non_null(strstr(seen, "/a/1 "));
    assert_non_null(strstr(seen, "/a/2 "));
    assert_non_null(strstr(seen, "/b /b/late "));
    assert_null(strstr(seen, "/a/1/x"));
    assert_null(strstr(seen, "file"));

    assert_int_equal(cgroup_walk_new(&h, "/a", WALK_CHEAPLY, &walk), 0);
    assert_int_equal(cgroup_walk_next(walk, &entry), 1);
    assert_string_equal(entry.path, "/a");
    assert_int_equal(cgroup_walk_next(walk, &entry), 1);
    assert_true(entry.inode != 0);
    cgroup_walk_free(walk); /* in the middle */
    assert_int_equal(cgroup_walk_new(&h, "/none", WALK_CHEAPLY, &walk), 0);
    assert_int_equal(cgroup_walk_next(walk, &entry), 1);
    assert_int_equal(cgroup_walk_next(walk, &entry), 0);
    assert_int_equal(cgroup_walk_next(walk, &entry), 0);
    cgroup_walk_free(walk);
    cgroup_walk_free(NULL);
    fixture_release(&f);
}

/* ---- what is mounted, in mount namespaces ---- */

/* The child's results, as exit codes: 0 good, 77 cannot be tried here. */
static int find_here(struct cgroup_hierarchy *found, char *error, size_t size)
{
    struct fsroot fs;
    if (fsroot_init(&fs, NULL, NULL, NULL, NULL) != 0)
        return -ENOMEM;
    int err = cgroup_hierarchy_find(&fs, found, error, size);
    fsroot_release(&fs);
    return err;
}

static int without_cgroups(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return 77;
    FILE *mounts = fopen("/proc/self/mounts", "re");
    char line[4096], points[64][256];
    int n = 0;
    while (mounts && n < 64 && fgets(line, sizeof line, mounts)) {
        char type[64];
        if (sscanf(line, "%*s %255s %63s", points[n], type) == 2 && !strncmp(type, "cgroup", 6))
            n++;
    }
    if (mounts)
        fclose(mounts);
    while (n > 0) {
        if (umount2(points[--n], MNT_DETACH) != 0)
            return 77;
    }
    return 0;
}

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static int none_mounted(const char *folder)
{
    struct cgroup_hierarchy found = {.version = 7};
    char error[512] = "";
    CHECK(find_here(&found, error, sizeof error) == -ENOENT);
    CHECK(strstr(error, "v2, or v1 perf_event") && strstr(error, "mounted: none"));
    CHECK(found.version == 7);
    return 0;
}

static int only_v2(const char *folder)
{
    if (mount("cgroup2", folder, "cgroup2", 0, NULL) != 0)
        return 77;
    struct cgroup_hierarchy found;
    char error[512] = "";
    CHECK(find_here(&found, error, sizeof error) == 0);
    CHECK(found.version == 2);
    CHECK(strcmp(found.path, folder) == 0);
    CHECK(*found.controller);
    CHECK(found.cgroups < 1000000);
    found.cgroups = 0; /* however many there are on this machine */
    struct cgroup_walk *walk;
    struct cgroup_walk_entry entry;
    CHECK(cgroup_walk_new(&found, "/", WALK_FIRST, &walk) == 0);
    CHECK(cgroup_walk_next(walk, &entry) == 1);
    CHECK(strcmp(entry.path, "/") == 0);
    while (cgroup_walk_next(walk, &entry) == 1)
        CHECK(entry.path[0] == '/' && entry.path[1] != '/' && entry.path[1] != '\0');
    cgroup_walk_free(walk);
    return 0;
}

/* A named hierarchy has no controller: neither v2 nor perf_event. */
static int only_other_v1(const char *folder)
{
    if (mount("none", folder, "cgroup", 0, "none,name=ie-test") != 0)
        return 77;
    struct cgroup_hierarchy found;
    char error[512] = "";
    CHECK(find_here(&found, error, sizeof error) == -ENOENT);
    CHECK(strstr(error, "name=ie-test at ") && strstr(error, folder));
    return 0;
}

/* To mount the real v1 perf_event would take it from the whole machine: a table of mounts that
 * says so stands in. */
static int v1_perf_event(const char *folder)
{
    char table[512], path[512], text[2048];
    struct stat st;
    CHECK(stat(folder, &st) == 0);
    unsigned major = major(st.st_dev), minor = minor(st.st_dev);
    snprintf(text, sizeof text,
             "1 0 %u:%u / %s/memory rw - cgroup a rw,memory\n"
             "2 0 %u:%u / %s/unified rw - cgroup2 b rw\n"
             "3 0 %u:%u / %s/perf_event rw - cgroup c rw,perf_event\n",
             major, minor, folder, major, minor, folder, major, minor, folder);
    static const char *const files[] = {"memory/tasks", "unified/cgroup.controllers",
                                        "perf_event/tasks"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        *strrchr(path, '/') = '\0';
        CHECK(mkdir(path, 0755) == 0);
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        CHECK(fd >= 0);
        close(fd);
    }
    snprintf(path, sizeof path, "%s/perf_event/docker/x", folder);
    *strrchr(path, '/') = '\0';
    CHECK(mkdir(path, 0755) == 0);
    snprintf(table, sizeof table, "%s/mounts", folder);
    int fd = open(table, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    if (mount(table, "/proc/self/mountinfo", NULL, MS_BIND, NULL) != 0)
        return 77;
    struct cgroup_hierarchy found;
    char error[512] = "";
    int err = find_here(&found, error, sizeof error);
    CHECK(err == 0);
    CHECK(found.version == 1);
    CHECK(strcmp(found.controller, "") == 0); /* libcgroup's table has none of them */
    CHECK(found.cgroups > 0);
    snprintf(path, sizeof path, "%s/perf_event", folder);
    CHECK(strcmp(found.path, path) == 0);
    struct cgroup_walk *walk;
    struct cgroup_walk_entry entry;
    CHECK(cgroup_walk_new(&found, "/", WALK_FIRST, &walk) == 0);
    CHECK(cgroup_walk_next(walk, &entry) == 1 && strcmp(entry.path, "/") == 0);
    CHECK(cgroup_walk_next(walk, &entry) == 1 && strcmp(entry.path, "/docker") == 0);
    CHECK(cgroup_walk_next(walk, &entry) == 0);
    cgroup_walk_free(walk);
    return 0;
}

/* Whether the hierarchy that is found is mounted here, and can be walked. */
static bool finds(const char *wanted)
{
    struct cgroup_hierarchy found;
    char error[512] = "";
    struct cgroup_walk *walk;
    struct cgroup_walk_entry entry;
    if (find_here(&found, error, sizeof error) != 0 ||
        cgroup_walk_new(&found, "/", WALK_FIRST, &walk) != 0)
        fprintf(stderr, "%s\n", error);
    else if (strcmp(found.path, wanted) != 0)
        fprintf(stderr, "%s, not %s\n", found.path, wanted);
    else {
        bool root = cgroup_walk_next(walk, &entry) == 1 && strcmp(entry.path, "/") == 0;
        cgroup_walk_free(walk);
        return root;
    }
    return false;
}

/* Mounts v2 below a folder of this name. 0, or 77. */
static int mount_v2(const char *folder, const char *name, char path[512])
{
    snprintf(path, 512, "%s/%s", folder, name);
    return mkdir(path, 0755) == 0 && mount("cgroup2", path, "cgroup2", 0, NULL) == 0 ? 0 : 77;
}

/* As an image builder leaves it: /sys bound into its chroot, before the one that everybody uses. */
static int in_a_chroot_as_well(const char *folder)
{
    char chroot[512], usual[512];
    if (mount_v2(folder, "in-a-chroot-of-someone", chroot) || mount_v2(folder, "usual", usual))
        return 77;
    CHECK(finds(usual));
    return 0;
}

/* The service's own view of the file system has the folder of the chroot closed. */
static int the_first_is_out_of_reach(const char *folder)
{
    char first[512], second[512], error[512] = "";
    if (mount_v2(folder, "a", first) || mount_v2(folder, "second", second))
        return 77;
    if (mount("none", first, "tmpfs", 0, NULL) != 0)
        return 77;
    CHECK(finds(second));
    if (umount2(second, 0) != 0)
        return 77;
    struct cgroup_hierarchy found;
    CHECK(find_here(&found, error, sizeof error) == -ENOENT);
    CHECK(strstr(error, "v2 at ") && strstr(error, first) && strstr(error, "mounted over it"));
    return 0;
}

static int below_what_was_mounted_later(const char *folder)
{
    char inner[512], outer[512], error[512] = "";
    snprintf(outer, sizeof outer, "%s/outer", folder);
    CHECK(mkdir(outer, 0755) == 0);
    if (mount_v2(outer, "inner", inner) || mount("none", outer, "tmpfs", 0, NULL) != 0)
        return 77;
    struct cgroup_hierarchy found;
    CHECK(find_here(&found, error, sizeof error) == -ENOENT);
    CHECK(strstr(error, inner) && strstr(error, "cannot be reached: No such file"));
    return 0;
}

/* The governor writes. */
static int one_that_can_be_written(const char *folder)
{
    char first[512], second[512];
    if (mount_v2(folder, "a", first) || mount_v2(folder, "second", second))
        return 77;
    if (mount(NULL, first, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0)
        return 77;
    CHECK(finds(second));
    if (umount2(second, 0) != 0)
        return 77;
    CHECK(finds(first)); /* better than none */
    return 0;
}

/* A container's own cgroup, bound to where it looks for the hierarchy; and a name with a space. */
static int the_whole_before_a_part(const char *folder)
{
    char whole[512], part[512], group[600];
    if (mount_v2(folder, "the whole one", whole))
        return 77;
    snprintf(part, sizeof part, "%s/part", folder);
    snprintf(group, sizeof group, "%s/ie-test-%d", whole, (int)getpid());
    CHECK(mkdir(part, 0755) == 0);
    if (mkdir(group, 0755) != 0)
        return 77;
    bool bound = mount(group, part, NULL, MS_BIND, NULL) == 0, right = finds(whole);
    bool alone = umount2(whole, MNT_DETACH) == 0 && finds(part);
    bool gone = umount2(part, 0) == 0 && mount("cgroup2", whole, "cgroup2", 0, NULL) == 0 &&
                rmdir(group) == 0;
    CHECK(right && alone && gone);
    return bound ? 0 : 77;
}

static void in_namespace(int (*test)(const char *folder))
{
    struct fixture f;
    fixture_init(&f);
    fixture_mkdir(&f, "mount");
    char folder[128];
    snprintf(folder, sizeof folder, "%s/mount", f.root);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        int result = without_cgroups();
        _exit(result ? result : test(folder));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    fixture_release(&f);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip(); /* needs root */
    assert_int_equal(WEXITSTATUS(status), 0);
}

struct trial {
    int (*test)(const char *folder);
};

static void in_namespaces(void **state)
{
    in_namespace(((const struct trial *)*state)->test);
}

int main(void)
{
#define IN_NAMESPACE(test)                                                                         \
    {                                                                                              \
#test, in_namespaces, NULL, NULL, &(struct trial)                                          \
        {                                                                                          \
            test                                                                                   \
        }                                                                                          \
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_path),
        cmocka_unit_test(other_mounts),
        cmocka_unit_test(walk_while_it_changes),
        IN_NAMESPACE(none_mounted),
        IN_NAMESPACE(only_v2),
        IN_NAMESPACE(only_other_v1),
        IN_NAMESPACE(v1_perf_event),
        IN_NAMESPACE(in_a_chroot_as_well),
        IN_NAMESPACE(the_first_is_out_of_reach),
        IN_NAMESPACE(below_what_was_mounted_later),
        IN_NAMESPACE(one_that_can_be_written),
        IN_NAMESPACE(the_whole_before_a_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
