#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exporter/source/probe/buffer.h"
#include "exporter/source/probe/probe.h"
#include "exporter/source/probe/topology.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

enum { BUFFER_BYTES = 2 * CHASE_HUGE_BYTES };

TEST(test_numa_maps)
{
    static const char text[] =
        "55d0a000 default file=/bin/cat mapped=6 N0=6 kernelpagesize_kB=4\n"
        "7f1200000000 prefer:1 anon=1024 dirty=1024 N1=1024 kernelpagesize_kB=4\n"
        "7f1300000000 default anon=1024 dirty=1024 N0=1000 N12=24 kernelpagesize_kB=4\n"
        "7f1400000000 default\n"
        "7f1500000000 default file=/N3=x\\040N3=1 anon=2 N2=2";
    size_t len = sizeof text - 1;
    assert_int_equal(chase_numa_maps_check(text, len, 0x7f1200000000, 1), 0);
    assert_int_equal(chase_numa_maps_check(text, len, 0x7f1200000000, 0), -ENXIO);
    assert_int_equal(chase_numa_maps_check(text, len, 0x7f1300000000, 0), -ENXIO);
    assert_int_equal(chase_numa_maps_check(text, len, 0x7f1400000000, 0), -ENOENT);
    assert_int_equal(chase_numa_maps_check(text, len, 0x7f1500000000, 2), 0);
    assert_int_equal(chase_numa_maps_check(text, len, 0x7f12, 1), -ENOENT);
    assert_int_equal(chase_numa_maps_check(text, 0, 0x7f12, 1), -ENOENT);
}

static int first_allowed_cpu(void)
{
    struct chase_allowed allowed;
    int cpu = 0;
    chase_allowed_read(&allowed);
    while (!chase_bit(allowed.cpus, cpu))
        cpu++;
    return cpu;
}

TEST(test_buffer_is_where_it_should_be)
{
    struct chase_buffer buffer;
    struct verdict why = {REASON_OK, ""};
    struct fsroot fs;
    assert_int_equal(fsroot_init(&fs, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(
        chase_buffer_init(&buffer, &fs, BUFFER_BYTES, 0, first_allowed_cpu(), true, &why), 0);
    assert_int_equal((uintptr_t)buffer.base % CHASE_HUGE_BYTES, 0);
    assert_true(chase_buffer_in_place(&buffer));
    if (buffer.verifiable) {
        buffer.node = 1; /* as if the kernel had moved it */
        assert_false(chase_buffer_in_place(&buffer));
    }
    chase_buffer_release(&buffer);
    assert_null(buffer.base);
    /* A node that no machine has. */
    assert_true(chase_buffer_init(&buffer, &fs, BUFFER_BYTES, 1000, -1, false, &why) < 0);
    assert_int_not_equal(why.reason, REASON_OK);
    assert_non_null(strstr(why.words, "NUMA node 1000"));
    fsroot_release(&fs);
}

static size_t count_entries(const char *path)
{
    size_t n = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static size_t probe_threads(void)
{
    size_t n = 0;
    DIR *dir = opendir("/proc/self/task");
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (!file)
            continue;
        n += fgets(name, sizeof name, file) && strncmp(name, "probe-node", 10) == 0;
        fclose(file);
    }
    closedir(dir);
    return n;
}

/* A joined thread may show in /proc for a moment. */
static bool probe_threads_vanish(void)
{
    for (int i = 0; i < 10000 && probe_threads() > 0; i++)
        usleep(1000);
    return probe_threads() == 0;
}

static size_t virtual_pages(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return pages;
}

static const struct log quiet = {.fd = -1};

static struct source *start_source(const struct fsroot *fs, uint64_t interval_ns)
{
    struct probe_config config = {.fs = fs, .log = &quiet, .interval_ns = interval_ns};
    struct source *source = NULL;
    struct verdict why = {REASON_COUNT, ""};
    int err = probe_source_new(&config, &source, &why);
    if (err)
        print_message("%s\n", why.words);
    assert_int_equal(err, 0);
    assert_int_equal(why.reason, REASON_OK);
    return source;
}

TEST(test_source_starts_and_stops_without_a_trace)
{
    struct fsroot fs;
    size_t fds = 0, pages = 0;
    assert_int_equal(fsroot_init(&fs, NULL, NULL, NULL, NULL), 0);
    for (int i = 0; i < 12; i++) {
        struct source *source = start_source(&fs, i % 2 ? 3600000000000U : 1000000);
        assert_true(probe_threads() > 0);
        source->ops->free(source);
        assert_true(probe_threads_vanish());
        if (i == 3) {
            fds = count_entries("/proc/self/fd");
            pages = virtual_pages();
        }
    }
    assert_int_equal(count_entries("/proc/self/fd"), fds);
    /* Eight leaked buffers would be 8192 pages. */
    assert_in_range(virtual_pages(), 0, pages + 4096);
    fsroot_release(&fs);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Collects until 'n' readings have come; a minute is for machines that have other things to do. */
static size_t wait_for_readings(struct source *source, struct probe_reading *out, size_t n)
{
    size_t have = 0;
    for (double end = now_s() + 60; have < n && now_s() < end;) {
        size_t got = 0;
        assert_int_equal(source->ops->probes(source, out + have, n - have, &got), 0);
        have += got;
        usleep(2000);
    }
    return have;
}

TEST(test_source_measures)
{
    struct probe_reading readings[4];
    struct fsroot fs;
    size_t n_threads, n = 99;
    assert_int_equal(fsroot_init(&fs, NULL, NULL, NULL, NULL), 0);
    struct source *source = start_source(&fs, 10000000);
    const struct source_thread *threads = probe_source_threads(source, &n_threads);
    assert_true(n_threads >= 1);
    assert_int_equal(wait_for_readings(source, readings, 4), 4);
    for (size_t i = 0; i < 4; i++) {
        bool known = false;
        for (size_t t = 0; t < n_threads; t++)
            known |= threads[t].initiator_numa_node == readings[i].initiator_numa_node &&
                     threads[t].cpu == readings[i].cpu;
        assert_true(known);
        assert_true(readings[i].latency_ns > 10 && readings[i].latency_ns < 100000);
    }
    assert_int_equal(source->ops->probes(source, readings, 0, &n), 0);
    assert_int_equal(n, 0);
    for (size_t t = 0; t < n_threads; t++)
        assert_true(probe_source_cpu_ns(source, t) > 0);
    assert_int_equal(probe_source_cpu_ns(source, n_threads), 0);
    assert_true(probe_source_buffer_bytes(source) >= 4 << 20);
    source->ops->free(source);
    fsroot_release(&fs);
}

TEST(test_threads_are_named_and_pinned)
{
    struct fsroot fs;
    size_t n_threads;
    assert_int_equal(fsroot_init(&fs, NULL, NULL, NULL, NULL), 0);
    struct source *source = start_source(&fs, 3600000000000U);
    const struct source_thread *threads = probe_source_threads(source, &n_threads);
    for (size_t i = 0; i < n_threads; i++) {
        char path[64], name[32] = "", want[32];
        cpu_set_t cpus;
        snprintf(path, sizeof path, "self/task/%d/comm", threads[i].tid);
        assert_int_equal(fsroot_read(&fs, FSROOT_PROC, path, name, sizeof name, NULL), 0);
        snprintf(want, sizeof want, "probe-node%d\n", threads[i].initiator_numa_node);
        assert_string_equal(name, want);
        snprintf(want, sizeof want, "p%zu", i);
        assert_string_equal(threads[i].key, want);
        assert_string_equal(threads[i].kind, "probe");
        assert_int_equal(sched_getaffinity(threads[i].tid, sizeof cpus, &cpus), 0);
        assert_int_equal(CPU_COUNT(&cpus), 1);
        assert_true(threads[i].cpu >= 0 && CPU_ISSET(threads[i].cpu, &cpus));
        assert_int_equal(sched_getscheduler(threads[i].tid), SCHED_OTHER);
    }
    source->ops->free(source);
    fsroot_release(&fs);
}

TEST(test_stop_does_not_wait_for_the_interval)
{
    struct fsroot fs;
    assert_int_equal(fsroot_init(&fs, NULL, NULL, NULL, NULL), 0);
    struct source *source = start_source(&fs, 3600000000000U);
    double start = now_s();
    source->ops->free(source);
    assert_true(now_s() - start < 200);
    fsroot_release(&fs);
}

/* Two initiators on the sysfs of a machine whose node 1 this machine does not have: its memory is
 * left out with a reason, and both measure node 0. */
TEST(test_target_without_memory_is_left_out)
{
    struct fixture fixture;
    struct probe_reading readings[32];
    char cpu[16], said[2048] = "";
    int from[2] = {0, 0}, ends[2];
    size_t n_threads;
    if (access("/sys/devices/system/node/node1", F_OK) == 0)
        skip();
    fixture_init(&fixture);
    snprintf(cpu, sizeof cpu, "%d\n", first_allowed_cpu());
    fixture_write(&fixture, "sys/devices/system/node/online", "0-1\n");
    fixture_write(&fixture, "sys/devices/system/node/has_memory", "0-1\n");
    fixture_write(&fixture, "sys/devices/system/node/node0/cpulist", "%s", cpu);
    fixture_write(&fixture, "sys/devices/system/node/node1/cpulist", "%s", cpu);
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    struct log log = {.fd = ends[1], .level = LOG_LEVEL_INFO, .format = LOG_FORMAT_LOGFMT};
    struct probe_config config = {.fs = &fixture.fs, .log = &log, .interval_ns = 5000000};
    struct source *source = NULL;
    struct verdict why;
    assert_int_equal(probe_source_new(&config, &source, &why), 0);
    probe_source_threads(source, &n_threads);
    assert_int_equal(n_threads, 2);
    assert_true(read(ends[0], said, sizeof said - 1) > 0);
    assert_non_null(strstr(said, "NUMA node 1 is not measured"));
    double start = now_s();
    do { /* one of the two may have no CPU for a while */
        assert_int_equal(wait_for_readings(source, readings, 32), 32);
        for (size_t i = 0; i < 32; i++) {
            assert_int_equal(readings[i].target_numa_node, 0);
            from[readings[i].initiator_numa_node]++;
        }
    } while ((from[0] == 0 || from[1] == 0) && now_s() - start < 60);
    assert_true(from[0] > 0 && from[1] > 0);
    source->ops->free(source);
    close(ends[0]);
    close(ends[1]);
    fixture_release(&fixture);
}

/* The kernel moves the thread when its cpuset shrinks or its CPU goes: here we do it. */
TEST(test_thread_comes_back_when_moved)
{
    struct probe_reading readings[4];
    struct fsroot fs;
    cpu_set_t home, elsewhere, now;
    size_t n_threads;
    bool back = false;
    assert_int_equal(sched_getaffinity(0, sizeof elsewhere, &elsewhere), 0);
    if (CPU_COUNT(&elsewhere) < 2)
        skip();
    assert_int_equal(fsroot_init(&fs, NULL, NULL, NULL, NULL), 0);
    struct source *source = start_source(&fs, 10000000);
    int tid = probe_source_threads(source, &n_threads)->tid;
    assert_int_equal(sched_getaffinity(tid, sizeof home, &home), 0);
    CPU_XOR(&elsewhere, &elsewhere, &home);
    assert_int_equal(sched_setaffinity(tid, sizeof elsewhere, &elsewhere), 0);
    for (double end = now_s() + 60; !back && now_s() < end;) {
        usleep(10000);
        assert_int_equal(sched_getaffinity(tid, sizeof now, &now), 0);
        back = CPU_EQUAL(&now, &home);
    }
    assert_true(back);
    assert_int_equal(wait_for_readings(source, readings, 4), 4);
    source->ops->free(source);
    fsroot_release(&fs);
}

/* As the seccomp filters of container runtimes do without SYS_NICE. */
static int forbid_memory_policy(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mbind, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_get_mempolicy, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_move_pages, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        return -errno;
    return 0;
}

/* The child's exit status: 0, or the step that failed; 77 where filters cannot be had. */
static int measure_without_memory_policy(void)
{
    struct chase_buffer buffer;
    struct probe_reading reading;
    struct verdict why;
    struct fsroot fs;
    if (forbid_memory_policy() < 0)
        return 77;
    if (fsroot_init(&fs, NULL, NULL, NULL, NULL) < 0)
        return 1;
    /* The first touch places, numa_maps proves. */
    if (access("/proc/self/numa_maps", R_OK) == 0) {
        if (chase_buffer_init(&buffer, &fs, BUFFER_BYTES, 0, first_allowed_cpu(), false, &why) != 0)
            return 2;
        if (buffer.verifiable || !chase_buffer_in_place(&buffer))
            return 3;
        chase_buffer_release(&buffer);
    }
    /* A node without CPUs cannot be had so; the reason names the remedy. */
    if (chase_buffer_init(&buffer, &fs, BUFFER_BYTES, 1, -1, false, &why) != -EPERM ||
        why.reason != REASON_NO_PERMISSION || !strstr(why.words, "seccomp"))
        return 4;
    struct probe_config config = {.fs = &fs, .log = &quiet, .interval_ns = 10000000};
    struct source *source;
    if (probe_source_new(&config, &source, &why) != 0)
        return 5;
    if (wait_for_readings(source, &reading, 1) != 1)
        return 6;
    source->ops->free(source);
    fsroot_release(&fs);
    return 0;
}

TEST(test_measures_where_mbind_is_forbidden)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(measure_without_memory_policy());
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST(test_refusals_have_reasons)
{
    struct fixture fixture;
    struct source *source = (struct source *)&fixture;
    struct verdict why;
    fixture_init(&fixture);
    struct probe_config config = {.fs = &fixture.fs, .log = &quiet, .interval_ns = 1000000000};
    fixture_write(&fixture, "sys/devices/system/node/online", "0\n");
    fixture_write(&fixture, "sys/devices/system/node/node0/cpulist", "0-15\n");
    fixture_write(&fixture, "sys/devices/system/cpu/isolated", "0-15\n");
    assert_int_equal(probe_source_new(&config, &source, &why), -ENODEV);
    assert_int_equal(why.reason, REASON_NO_DEVICE);
    assert_non_null(strstr(why.words, "isolated"));
    fixture_write(&fixture, "sys/devices/system/node/online", "0-\n");
    assert_int_equal(probe_source_new(&config, &source, &why), -EINVAL);
    assert_non_null(strstr(why.words, "sysfs"));
    assert_ptr_equal(source, &fixture);
    fixture_release(&fixture);
}

TEST(test_source_counts_no_events)
{
    struct fsroot fs;
    assert_int_equal(fsroot_init(&fs, NULL, NULL, NULL, NULL), 0);
    struct source *source = start_source(&fs, 3600000000000U);
    assert_null(source->ops->check);
    assert_null(source->ops->open);
    assert_null(source->ops->width);
    assert_null(source->ops->read);
    assert_null(source->ops->close);
    source->ops->free(source);
    fsroot_release(&fs);
}
