/* From a process to its cgroup: the kernel's text, and real processes, also seen from the test's
 * own cgroup namespace. */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/containers/cgroups/process.h"
#include "tests/unit/support/unit.h"

static void check_path(const char *text, const char *controller, const char *want)
{
    const char *path = NULL;
    size_t len = 0;
    int err = process_cgroup_path(text, strlen(text), controller, &path, &len);
    assert_int_equal(err, want ? 0 : -ENOENT);
    if (!want)
        return;
    assert_int_equal(len, strlen(want));
    assert_memory_equal(path, want, len);
}

TEST(lines_of_the_kernel)
{
    static const char hybrid[] = "9:name=systemd:/\n4:net_cls,perf_event:/docker/1:2\n"
                                 "3:perf_events:/no\n0::/docker/2\n";
    check_path(hybrid, "", "/docker/2");
    check_path(hybrid, "perf_event", "/docker/1:2");
    check_path("0::/a", "", "/a");
    check_path("0::/a\n", "perf_event", NULL);
    check_path("12:perf_event:/x\n", "perf_event", "/x");
    check_path("12:perf_event,cpu:/x\n", "perf_event", "/x");
    check_path("12:cpu,perf_event,cpuset:/x\n", "perf_event", "/x");
    check_path("12:xperf_event:/x\n10:cpu:/y\n", "perf_event", NULL);
    check_path("10:cpu:/y\n", "", NULL);
    check_path("10:cpu:/y\n4:memory:/z\n", "memory", "/z");
    check_path("", "", NULL);
    check_path("0::\n", "", NULL);
    check_path("0:\n0\n\n::/x\n", "", NULL);
}

static void check_resolved(const char *root, const char *path, int err, const char *want)
{
    char out[32] = "untouched";
    assert_int_equal(process_cgroup_resolve(root, path, strlen(path), out, sizeof out), err);
    if (!err)
        assert_string_equal(out, want);
}

TEST(paths_from_a_namespace)
{
    check_resolved("", "/", 0, "");
    check_resolved("", "/a/b", 0, "/a/b");
    check_resolved("/k/p/c", "/", 0, "/k/p/c");
    check_resolved("/k/p/c", "/../d", 0, "/k/p/d");
    check_resolved("/k/p/c", "/../../..", 0, "");
    check_resolved("/k/p/c", "/../../../system/x", 0, "/system/x");
    check_resolved("/k/p/c", "/../../../../x", -EINVAL, NULL);
    check_resolved("/k", "/..a/...", 0, "/k/..a/...");
    check_resolved("", "/0123456789012345678901234567890", -ENAMETOOLONG, NULL);
    check_resolved("", "/012345678901234567890123456789", 0, "/012345678901234567890123456789");
}

/* ---- real processes ---- */

struct rig {
    struct fsroot fs;
    struct process_cgroups cgroups;
    char top[8300], child[8400]; /* two cgroups, one below the other */
};

static bool rig_init(struct rig *rig)
{
    char error[512] = "";
    *rig = (struct rig){0};
    assert_int_equal(fsroot_init(&rig->fs, NULL, NULL, NULL, NULL), 0);
    if (process_cgroups_init(&rig->cgroups, &rig->fs, error, sizeof error) != 0) {
        print_message("%s\n", error);
        return false;
    }
    snprintf(rig->top, sizeof rig->top, "%s%s/ie-process-cgroup-%d", rig->cgroups.hierarchy.path,
             rig->cgroups.root, (int)getpid());
    snprintf(rig->child, sizeof rig->child, "%s/child", rig->top);
    if (mkdir(rig->top, 0755) != 0 || mkdir(rig->child, 0755) != 0) {
        print_message("no cgroup can be made: %s\n", strerror(errno));
        rmdir(rig->top);
        return false;
    }
    return true;
}

static void rig_release(struct rig *rig)
{
    rmdir(rig->child);
    rmdir(rig->top);
    fsroot_release(&rig->fs);
}

static void enter(const char *cgroup)
{
    char path[8500];
    snprintf(path, sizeof path, "%s/cgroup.procs", cgroup);
    FILE *file = fopen(path, "we");
    if (!file || fprintf(file, "%d", (int)getpid()) < 0 || fclose(file) != 0)
        _exit(2);
}

static uint64_t inode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_ino;
}

/* A process in the lower cgroup that waits for its end. */
static pid_t start_below(const struct rig *rig, int *ready)
{
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        enter(rig->child);
        if (write(pipes[1], "x", 1) != 1)
            _exit(3);
        for (;;)
            pause();
    }
    char c;
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &c, 1), 1);
    *ready = pipes[0];
    return pid;
}

/* As tests have it: the exporter is to see a part of the tree only. */
TEST(a_part_of_the_hierarchy)
{
    struct rig rig;
    if (!rig_init(&rig)) {
        fsroot_release(&rig.fs);
        skip();
    }
    struct process_cgroups cgroups;
    char error[512];
    uint64_t id = 0;
    int ready;
    pid_t pid = start_below(&rig, &ready);
    rig.fs.path[FSROOT_CGROUP] = strdup(rig.top);
    assert_int_equal(process_cgroups_init(&cgroups, &rig.fs, error, sizeof error), 0);
    assert_string_equal(cgroups.hierarchy.path, rig.cgroups.hierarchy.path);
    assert_int_equal(process_cgroup_id(&cgroups, (uint32_t)pid, clock_mono_ns(), &id), 0);
    assert_int_equal(id, inode_of(rig.child));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(ready);
    rig_release(&rig);
}

TEST(real_processes)
{
    struct rig rig;
    if (!rig_init(&rig)) {
        fsroot_release(&rig.fs);
        skip();
    }
    uint64_t id = 0, before = clock_mono_ns() - 50000000;
    int ready;
    struct timespec ticks = {.tv_nsec = 60000000}; /* starts are stamped in ticks of 10 ms */
    nanosleep(&ticks, NULL);
    pid_t pid = start_below(&rig, &ready);
    assert_int_equal(process_cgroup_id(&rig.cgroups, (uint32_t)pid, clock_mono_ns(), &id), 0);
    assert_int_equal(id, inode_of(rig.child));
    /* Before it began the number was not its. */
    assert_int_equal(process_cgroup_id(&rig.cgroups, (uint32_t)pid, before, &id), -ESRCH);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(process_cgroup_id(&rig.cgroups, (uint32_t)pid, clock_mono_ns(), &id), -ESRCH);
    close(ready);
    rig_release(&rig);
}

TEST(cut_paths)
{
    char path[PATH_MAX + 8] = "/a/bc";
    assert_int_equal(process_cgroup_whole(path, 5), 5);
    memset(path + 5, 'c', sizeof path - 5);
    assert_int_equal(process_cgroup_whole(path, PATH_MAX - 2), PATH_MAX - 2);
    assert_int_equal(process_cgroup_whole(path, PATH_MAX - 1), 2);
    assert_int_equal(process_cgroup_whole(path, sizeof path), 2);
    path[PATH_MAX - 2] = '/';
    assert_int_equal(process_cgroup_whole(path, PATH_MAX - 1), PATH_MAX - 2);
    path[0] = path[2] = path[PATH_MAX - 2] = 'c';
    assert_int_equal(process_cgroup_whole(path, PATH_MAX), 0);
}

enum { DEEP = 25, NAME_BYTES = 200 };

/* Deeper than the kernel writes: it is in a directory above, or the kernel refuses to tell. */
TEST(a_process_at_any_depth)
{
    struct rig rig;
    char name[NAME_BYTES + 1], pid_text[16];
    int fds[DEEP + 1], ready;
    bool found = false;
    if (!rig_init(&rig)) {
        fsroot_release(&rig.fs);
        skip();
    }
    memset(name, 'x', NAME_BYTES);
    name[NAME_BYTES] = '\0';
    fds[0] = open(rig.child, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < DEEP; i++) {
        assert_int_equal(mkdirat(fds[i], name, 0755), 0);
        fds[i + 1] = openat(fds[i], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    pid_t pid = start_below(&rig, &ready);
    int procs = openat(fds[DEEP], "cgroup.procs", O_WRONLY | O_CLOEXEC);
    int n = snprintf(pid_text, sizeof pid_text, "%d", (int)pid);
    assert_int_equal(write(procs, pid_text, (size_t)n), n);
    close(procs);
    uint64_t id = 0;
    int err = process_cgroup_id(&rig.cgroups, (uint32_t)pid, clock_mono_ns(), &id);
    for (int i = 1; i < DEEP && !found; i++) {
        struct stat st;
        assert_int_equal(fstat(fds[i], &st), 0);
        found = id == st.st_ino;
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(ready);
    for (int i = DEEP; i > 0; i--) {
        close(fds[i]);
        unlinkat(fds[i - 1], name, AT_REMOVEDIR);
    }
    close(fds[0]);
    rig_release(&rig);
    assert_true(err == -ENAMETOOLONG || (err == 0 && found));
}

/* An exporter in a container: its cgroup is the root of what it sees. */
TEST(from_a_namespace)
{
    struct rig rig;
    if (!rig_init(&rig)) {
        fsroot_release(&rig.fs);
        skip();
    }
    int ready, status = -1;
    pid_t other = start_below(&rig, &ready);
    uint64_t want = inode_of(rig.child), own = inode_of(rig.top);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct process_cgroups cgroups;
        char error[512];
        uint64_t id = 0;
        enter(rig.top);
        if (unshare(CLONE_NEWCGROUP) != 0)
            _exit(77);
        if (process_cgroups_init(&cgroups, &rig.fs, error, sizeof error) != 0)
            _exit(4);
        if (process_cgroup_id(&cgroups, (uint32_t)getpid(), UINT64_MAX / 2, &id) != 0 || id != own)
            _exit(5);
        if (process_cgroup_id(&cgroups, (uint32_t)other, UINT64_MAX / 2, &id) != 0 || id != want)
            _exit(6);
        /* What is above is written with "..". */
        if (process_cgroup_id(&cgroups, (uint32_t)getppid(), UINT64_MAX / 2, &id) != 0)
            _exit(7);
        char path[8400];
        snprintf(path, sizeof path, "%s%s", rig.cgroups.hierarchy.path, rig.cgroups.root);
        struct stat st;
        _exit(stat(path, &st) == 0 && id == st.st_ino ? 0 : 8);
    }
    waitpid(pid, &status, 0);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    close(ready);
    rig_release(&rig);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}
