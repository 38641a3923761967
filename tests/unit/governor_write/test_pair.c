/* What the process that decides may not do, for all that it is user 0: each is tried. And what the
 * writer may be asked for by another configuration. */
#include <fcntl.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/governor/bursts.h"
#include "exporter/governor/pair.h"
#include "exporter/service/confine.h"
#include "tests/unit/support/governor_rig.h"
#include "tests/unit/support/governor_start.h"
#include "tests/unit/support/tries.h"
#include "tests/unit/support/unit.h"

#define WORKER RIG_CONTAINER("aaaa")

static const struct governor_rig *node; /* of the test that runs */
static char quota[4200], folder[4096];

static int try_write(void)
{
    return open(quota, O_WRONLY);
}

static int try_truncate(void)
{
    return open(quota, O_RDONLY | O_TRUNC) + truncate(quota, 0) == -2 ? -1 : 0;
}

static int try_make(void)
{
    char path[5000];
    snprintf(path, sizeof path, "%s/other", folder);
    return mkdir(path, 0700) == -1 && open(path, O_RDWR | O_CREAT, 0600) == -1 ? -1 : 0;
}

static int try_remove(void)
{
    char path[5000];
    snprintf(path, sizeof path, "%s/other", folder);
    return unlink(quota) == -1 && rmdir(folder) == -1 && rename(quota, path) == -1 ? -1 : 0;
}

static int try_change_mode(void)
{
    int fd = open(quota, O_RDONLY);
    return fd >= 0 && fchmod(fd, 0777) == -1 && chmod(quota, 0777) == -1 ? -1 : 0;
}

static int try_affinity(void)
{
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof cpus, &cpus) == 0 &&
                   sched_setaffinity(getppid(), sizeof cpus, &cpus) == -1 &&
                   sched_setaffinity(0, sizeof cpus, &cpus) == -1
               ? -1
               : 0;
}

static int try_memory(void)
{
    char byte = 0;
    struct iovec part = {&byte, 1}, there = {&byte, 1};
    return (int)process_vm_writev(getppid(), &part, 1, &there, 1, 0);
}

static int try_limits(void)
{
    return (int)syscall(SYS_prlimit64, getppid(), 7, NULL, NULL);
}

/* Of user 0 it would reach whoever it names. */
static int try_signal_by_file(void)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        ends[0] = memfd_create("page", MFD_CLOEXEC); /* whose owner may be set, too */
    struct f_owner_ex owner = {F_OWNER_PID, getppid()};
    return ends[0] >= 0 && fcntl(ends[0], F_SETOWN, getppid()) == -1 &&
                   fcntl(ends[0], F_SETOWN_EX, &owner) == -1 &&
                   fcntl(ends[0], F_SETSIG, SIGTERM) == -1 &&
                   syscall(SYS_fcntl, ends[0], F_SETOWN | UINT64_C(1) << 40, getppid()) == -1 &&
                   fcntl(ends[0], F_GETFL) != -1
               ? -1
               : 0;
}

static int try_listen(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return listen(fd, 1);
}

static int try_read_elsewhere(void)
{
    return open("/etc/passwd", O_RDONLY) + open("/etc", O_RDONLY | O_DIRECTORY) + 1;
}

static int try_family(int family)
{
    return socket(family, SOCK_STREAM, 0);
}

static int try_other_families(void)
{
    return try_family(AF_INET) + try_family(AF_INET6) + try_family(AF_NETLINK) + 2;
}

/* ---- the only way out ---- */

static int listen_on_loopback(struct sockaddr_in *out)
{
    socklen_t len = sizeof *out;
    *out = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)out, len), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)out, &len), 0);
    return fd;
}

static int connect_to(const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    return fd < 0 ? -1 : connect(fd, (const struct sockaddr *)address, sizeof *address);
}

static void expect_exit(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Landlock knows TCP since Linux 6.7. */
static bool knows_ports(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 4;
}

/* Who observes may have the exporter on a port of loopback: that one, and no other. */
TEST(test_the_decider_s_port)
{
    struct sockaddr_in exporter, other;
    struct client_address address;
    struct governor_rig rig;
    char url[64];
    const char *why;
    if (!confine_supported())
        skip();
    int fds[] = {listen_on_loopback(&exporter), listen_on_loopback(&other)};
    snprintf(url, sizeof url, "http://127.0.0.1:%u", ntohs(exporter.sin_port));
    assert_int_equal(client_address_of_url(url, &address, &why), 0);
    governor_rig_init(&rig, 2);
    pid_t pid = fork();
    if (pid == 0) {
        const struct log log = {.fd = STDERR_FILENO, .level = LOG_LEVEL_ERROR};
        bool ports = knows_ports();
        pair_confine_decider(&log, &rig.fs, "governor.json", &address);
        int bad = connect_to(&exporter) != 0 ? 1 : 0;
        if (try_family(AF_UNIX) != -1 || try_family(AF_INET6) != -1)
            bad |= 2;
        if (ports && connect_to(&other) != -1)
            bad |= 4;
        _exit(bad);
    }
    expect_exit(pid);
    close(fds[0]);
    close(fds[1]);
    governor_rig_release(&rig);
}

TEST(test_the_decider)
{
    static int (*const tries[])(void) = {
        try_write,       try_truncate,       try_make,           try_remove,
        try_change_mode, try_affinity,       try_memory,         try_limits,
        try_listen,      try_exec,           try_fork,           try_kill,
        try_thread_kill, try_signal_by_file, try_read_elsewhere, try_other_families};
    const struct client_address exporter = {.address.any.sa_family = AF_UNIX};
    char file[4200];
    struct governor_rig rig;
    if (!confine_supported())
        skip();
    governor_rig_init(&rig, 2);
    governor_rig_cgroup(&rig, "/kubepods", "max 100000");
    governor_rig_cgroup(&rig, "/kubepods/pod" RIG_POD_UID, "max 100000");
    governor_rig_cgroup(&rig, WORKER, "400000 100000");
    node = &rig;
    snprintf(folder, sizeof folder, "%s" WORKER, node->fs.path[FSROOT_CGROUP]);
    snprintf(quota, sizeof quota, "%s/cpu.max", folder);
    governor_rig_folder(&rig, "config");
    governor_rig_file(&rig, "config/governor.json", "{}");
    snprintf(file, sizeof file, "%s/config/governor.json", rig.root);
    pid_t pid = fork();
    if (pid == 0) {
        const struct log log = {.fd = STDERR_FILENO, .level = LOG_LEVEL_ERROR};
        int bad = 0;
        pair_confine_decider(&log, &rig.fs, file, &exporter);
        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
            if (tries[i]() != -1)
                bad = 10 + (int)i;
        /* And what it is for. */
        int fd = memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (open(quota, O_RDONLY) < 0 || open(file, O_RDONLY) < 0 ||
            fsroot_open(&rig.fs, FSROOT_PROC, "sys/kernel/random/boot_id", O_RDONLY) < 0 ||
            fsroot_open(&rig.fs, FSROOT_SYS, "devices/system/cpu/online", O_RDONLY) < 0 ||
            socket(AF_UNIX, SOCK_STREAM, 0) < 0 || fd < 0 || ftruncate(fd, 4096) != 0)
            bad = 40;
        _exit(bad);
    }
    expect_exit(pid);
    governor_rig_release(&rig);
}

/* Experiments measure after that. */
TEST(test_the_decider_may_measure)
{
    const struct log log = {.fd = STDERR_FILENO, .level = LOG_LEVEL_ERROR};
    struct client_address exporter;
    struct bursts *bursts = NULL;
    struct governor_rig rig;
    struct fsroot machine;
    const char *why;
    assert_int_equal(fsroot_init(&machine, NULL, NULL, NULL, NULL), 0);
    int err = bursts_new(&machine, &log, &bursts);
    fsroot_release(&machine);
    if (err == -ENOTSUP || !confine_supported()) {
        bursts_free(bursts);
        skip(); /* several NUMA nodes */
    }
    assert_int_equal(err, 0);
    assert_int_equal(client_address_of_socket("/run/x.sock", &exporter, &why), 0);
    governor_rig_init(&rig, 2);
    pid_t pid = fork();
    if (pid == 0) {
        const struct experiment_meter meter = bursts_meter(bursts);
        pair_confine_decider(&log, &rig.fs, "governor.json", &exporter);
        int bad = 50;
        for (int i = 0; i < 50 && bad; i++) { /* others may want the CPU */
            uint64_t began_ns = meter.now_ns(meter.context);
            double latency = meter.slot(meter.context);
            if (meter.now_ns(meter.context) - began_ns < EXPERIMENT_SLOT_MS * 1000000ULL)
                _exit(51);
            if (latency > 1e-9 && latency < 1e-4)
                bad = 0;
        }
        _exit(bad);
    }
    expect_exit(pid);
    bursts_free(bursts);
    governor_rig_release(&rig);
}

/* What this process may use of them is one alone. */
TEST(test_of_several_nodes_nothing_is_measured)
{
    static const char *const files[] = {"online", "has_memory"};
    const struct log log = {.fd = STDERR_FILENO, .level = LOG_LEVEL_ERROR};
    struct bursts *bursts = NULL;
    struct governor_rig rig;
    governor_rig_init(&rig, 2);
    governor_rig_folder(&rig, "sys/devices/system/node/node0");
    governor_rig_folder(&rig, "sys/devices/system/node/node1");
    for (size_t i = 0; i < 2; i++) {
        char path[64];
        snprintf(path, sizeof path, "sys/devices/system/node/%s", files[i]);
        governor_rig_file(&rig, path, "0-1\n");
        snprintf(path, sizeof path, "sys/devices/system/node/node%zu/cpulist", i);
        governor_rig_file(&rig, path, i == 0 ? "0-3\n" : "4-7\n");
    }
    assert_int_equal(bursts_new(&rig.fs, &log, &bursts), -ENOTSUP);
    governor_rig_release(&rig);
}

/* ---- another configuration ---- */

#define CONFIG(match, more, policies)                                                              \
    "{\"governor\":1,\"classes\":["                                                                \
    "{\"name\":\"web\",\"role\":\"protected\",\"match\":[{\"namespace\":\"shop\",\"pod\":\"*\","   \
    "\"container\":\"*\"}]},"                                                                      \
    "{\"name\":\"batch\",\"role\":\"best_effort\",\"match\":[{\"namespace\":\"*\",\"pod\":\"*\","  \
    "\"container\":\"" match "\"}]" more "}],\"policies\":{" policies "}}"
#define QUOTA "\"threshold\":{\"classes\":[\"batch\"]}"
#define THREADS(cpus) QUOTA ",\"nvmm_cores\":{\"classes\":[\"batch\"],\"cpus\":\"" cpus "\"}"

static void expect_change_of(bool writes, const char *before, const char *after,
                             const char *refused)
{
    struct config *first = governor_start_config(before), *config = governor_start_config(after);
    char error[256] = "";
    int err = pair_may_change(first, config, writes, error, sizeof error);
    assert_int_equal(err, refused ? -EINVAL : 0);
    if (refused && !strstr(error, refused))
        fail_msg("%s", error);
    config_free(first);
    config_free(config);
}

static void expect_change(const char *before, const char *after, const char *refused)
{
    expect_change_of(true, before, after, refused);
}

TEST(test_another_configuration)
{
    const char *first = CONFIG("a.service", ",\"cpu\":{\"base_cores\":1}", QUOTA);
    expect_change(first, first, NULL);
    expect_change(first, CONFIG("a.service", ",\"cpu\":{\"base_cores\":2}", QUOTA), NULL);
    expect_change(first, CONFIG("a.service", ",\"cpu\":{\"base_cores\":0.5}", QUOTA), "floor");
    expect_change(first, CONFIG("b*", "", QUOTA), NULL);
    expect_change(first, CONFIG("b.service", "", QUOTA), "another service");
    expect_change(first, CONFIG("a.service", "", THREADS("1-2")), "another kind");
    expect_change(CONFIG("*", "", THREADS("1-2")), CONFIG("*", "", THREADS("1-2")), NULL);
    expect_change(CONFIG("*", "", THREADS("1-2")), CONFIG("*", "", THREADS("1-3")), "other CPUs");
    expect_change(CONFIG("*", "", THREADS("1-2")), first, "another service");
    expect_change(CONFIG("*", "", THREADS("1-2")), CONFIG("*", "", QUOTA), NULL);
    char elsewhere[1024];
    snprintf(elsewhere, sizeof elsewhere, "{\"exporter\":{\"url\":\"http://127.0.0.1:1\"},%s",
             first + 1);
    expect_change(first, elsewhere, "another address");
    expect_change(elsewhere, elsewhere, NULL);
}
