/* Samples from the kernel to the loop: page faults take the place of precise stores, a directory
 * that of persistent memory. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/source/accesses/accesses.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

enum { PAGES = 300, MAX_TAKEN = 1 << 16, TAG = 77, CGROUP = 1000 };

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

struct rig {
    struct medium_rule rule; /* first: files below 'directory' are persistent memory */
    char directory[64];
    struct fsroot fs;
    struct log log;
    struct events_file file;
    struct sample_owners owners;
    uint32_t pid; /* whose samples are wanted */
    struct perf_samples_config config;
    struct source *source;
    struct access_sample *taken;
    size_t n;
    uint64_t lost;
};

static enum medium rig_mapping(struct medium_rule *rule, pid_t pid, const struct maps_line *line,
                               enum access access)
{
    const struct rig *rig = (const struct rig *)rule;
    size_t len = strlen(rig->directory);
    return line->path_len > len && memcmp(line->path, rig->directory, len) == 0 ? MEDIUM_NVMM
                                                                                : MEDIUM_OTHER;
}

static uint64_t rig_owner(void *context, uint64_t cgroup_id)
{
    return cgroup_id == CGROUP ? TAG : 0;
}

/* Ours are this test and its children. */
static int rig_cgroup(void *context, uint32_t pid, uint32_t tid, uint64_t time_ns,
                      uint64_t *cgroup_id)
{
    const struct rig *rig = context;
    char relative[32], text[1024];
    int parent = 0;
    snprintf(relative, sizeof relative, "%" PRIu32 "/stat", pid);
    int err = fsroot_read(&rig->fs, FSROOT_PROC, relative, text, sizeof text, NULL);
    if (err)
        return err;
    const char *name_end = strrchr(text, ')');
    if (!name_end || sscanf(name_end, ") %*c %d", &parent) != 1)
        return -EINVAL;
    *cgroup_id = parent == getpid() || pid == (uint32_t)getpid() ? CGROUP : 1;
    return 0;
}

/* A sanitizer makes reading code slow; what it may take is another test's matter. */
static uint64_t no_time(void *context)
{
    return 0;
}

static void rig_init(struct rig *rig)
{
    *rig = (struct rig){.rule.mapping = rig_mapping, .log.fd = -1};
    const char *tmp = getenv("TMPDIR");
    snprintf(rig->directory, sizeof rig->directory, "%s/ie-samples-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(rig->directory));
    assert_int_equal(fsroot_init(&rig->fs, NULL, NULL, NULL, NULL), 0);
    rig->file.event[ROLE_STORES] = (char *)"software:page-faults";
    rig->owners = (struct sample_owners){.owner = rig_owner, .cgroup = rig_cgroup, .context = rig};
    rig->config = (struct perf_samples_config){.fs = &rig->fs,
                                               .cpu_ns = no_time,
                                               .log = &rig->log,
                                               .kernel = &perf_kernel_linux,
                                               .file = &rig->file,
                                               .rule = &rig->rule,
                                               .owners = &rig->owners,
                                               .period = 1,
                                               .asked_for = true,
                                               .no_cgroups = true};
    rig->taken = calloc(MAX_TAKEN, sizeof *rig->taken);
    assert_non_null(rig->taken);
}

static void rig_release(struct rig *rig)
{
    char path[128];
    if (rig->source)
        rig->source->ops->free(rig->source);
    snprintf(path, sizeof path, "%s/file", rig->directory);
    unlink(path);
    rmdir(rig->directory);
    fsroot_release(&rig->fs);
    free(rig->taken);
}

/* False where the kernel does not let us. */
static bool rig_start(struct rig *rig)
{
    struct verdict why = {0};
    assert_int_equal(perf_samples_new(&rig->config, &rig->source), 0);
    if (rig->source->ops->samples(rig->source, ACCESS_STORE, &why))
        return true;
    print_message("%s\n", why.words);
    assert_int_equal(why.reason, REASON_NO_PERMISSION);
    return false;
}

/* Everything until now. False when something was lost since the last time: the whole machine's
 * page faults are sampled here, and others may make very many. */
static bool rig_take(struct rig *rig)
{
    const struct source_ops *ops = rig->source->ops;
    uint64_t until = clock_mono_ns();
    struct sampling sampling;
    do {
        usleep(1000);
        ops->sampling(rig->source, ACCESS_STORE, &sampling);
        rig->n += ops->drain(rig->source, rig->taken + rig->n, MAX_TAKEN - rig->n);
    } while (sampling.settled_ns < until);
    uint64_t lost = sampling.lost + perf_samples_lost_mappings(rig->source);
    bool whole = lost == rig->lost;
    rig->lost = lost;
    return whole;
}

/* ---- a kernel with a PMU: page faults pass for precise stores ---- */

struct pmu {
    struct perf_kernel kernel; /* this machine's, but for the calls here */
    bool tells_clock, knows_no_cgroups, is_imprecise;
    size_t opened[2]; /* without and with the cgroup, at present */
    struct {
        int fd;
        bool cgroup;
    } fds[64];
};

static int pmu_open(void *context, const struct perf_event_attr *attr, pid_t pid, int cpu,
                    int group_fd, unsigned long flags)
{
    struct pmu *pmu = context;
    struct perf_event_attr stand_in = *attr;
    bool cgroup = (attr->sample_type & PERF_SAMPLE_CGROUP) != 0;
    if (attr->precise_ip == 0) /* the one for mappings */
        return perf_kernel_linux.event_open(NULL, attr, pid, cpu, group_fd, flags);
    assert_int_equal(attr->config, 0x82d0);
    assert_int_equal(attr->precise_ip, 2);
    if (pmu->is_imprecise)
        return -EOPNOTSUPP;
    if (pmu->knows_no_cgroups && cgroup)
        return -EINVAL;
    stand_in.type = PERF_TYPE_SOFTWARE;
    stand_in.config = PERF_COUNT_SW_PAGE_FAULTS;
    stand_in.precise_ip = 0;
    int fd = perf_kernel_linux.event_open(NULL, &stand_in, pid, cpu, group_fd, flags);
    for (size_t i = 0; fd >= 0 && i < 64; i++)
        if (pmu->fds[i].fd == 0) {
            pmu->fds[i].fd = fd;
            pmu->fds[i].cgroup = cgroup;
            pmu->opened[cgroup]++;
            break;
        }
    return fd;
}

static int pmu_close(void *context, int fd)
{
    struct pmu *pmu = context;
    for (size_t i = 0; i < 64; i++)
        if (pmu->fds[i].fd == fd) {
            pmu->opened[pmu->fds[i].cgroup]--;
            pmu->fds[i].fd = 0;
            break;
        }
    return perf_kernel_linux.close(NULL, fd);
}

static int pmu_map(void *context, int fd, size_t size, void **out)
{
    const struct pmu *pmu = context;
    int err = perf_kernel_linux.map(NULL, fd, size, out);
    struct perf_event_mmap_page *page = err ? NULL : *out;
    if (page && pmu->tells_clock) {
        page->cap_user_time_zero = 1;
        page->time_mult = 1;
    }
    return err;
}

/* Where the hardware collects samples, none has its cgroup; otherwise all have one, if the kernel
 * can give it. */
TEST(the_cgroup_where_it_is_cheap)
{
    for (int told = 0; told < 2; told++) {
        for (int old = 0; old < 2; old++) {
            struct rig rig;
            struct pmu pmu = {.kernel = perf_kernel_linux,
                              .tells_clock = told != 0,
                              .knows_no_cgroups = old != 0};
            pmu.kernel.event_open = pmu_open;
            pmu.kernel.close = pmu_close;
            pmu.kernel.map = pmu_map;
            pmu.kernel.context = &pmu;
            rig_init(&rig);
            rig.config.kernel = &pmu.kernel;
            rig.config.no_cgroups = false;
            rig.file.event[ROLE_STORES] = (char *)"perf_raw::r82d0";
            bool started = rig_start(&rig);
            size_t without = pmu.opened[false], with = pmu.opened[true];
            rig_release(&rig);
            if (!started)
                skip();
            if (told || old)
                assert_true(without > 0 && with == 0);
            else
                assert_true(without == 0 && with > 0);
            assert_int_equal(pmu.opened[false] + pmu.opened[true], 0);
        }
    }
}

/* ---- why not ---- */

TEST(reasons)
{
    struct rig rig;
    struct verdict why;
    rig_init(
        &rig); /* there is nothing to sample: then nothing is opened, whatever the events are */
    verdict_set(&rig.config.nothing, REASON_NO_DEVICE, "no such memory");
    assert_int_equal(perf_samples_new(&rig.config, &rig.source), 0);
    const struct source_ops *ops = rig.source->ops;
    assert_false(ops->samples(rig.source, ACCESS_STORE, &why));
    assert_int_equal(why.reason, REASON_NO_DEVICE);
    assert_string_equal(why.words, "no such memory");
    assert_false(ops->samples(rig.source, ACCESS_LOAD, &why));
    assert_int_equal(why.reason, REASON_DISABLED);
    assert_int_equal(ops->open_counters(rig.source), 0);
    assert_int_equal(ops->begin(rig.source, NULL), 0);
    assert_int_equal(ops->drain(rig.source, rig.taken, MAX_TAKEN), 0);
    rig_release(&rig);

    rig_init(&rig); /* nobody knows how stores are sampled here */
    rig.config.file = NULL;
    assert_int_equal(perf_samples_new(&rig.config, &rig.source), 0);
    assert_false(rig.source->ops->samples(rig.source, ACCESS_STORE, &why));
    assert_true(why.reason == REASON_NO_PMU || why.reason == REASON_UNSUPPORTED_CPU);
    rig_release(&rig);

    rig_init(&rig); /* a PMU that counts but has no precise samples */
    struct pmu pmu = {.kernel = perf_kernel_linux, .is_imprecise = true};
    pmu.kernel.event_open = pmu_open;
    pmu.kernel.context = &pmu;
    rig.config.kernel = &pmu.kernel;
    rig.file.event[ROLE_STORES] = (char *)"perf_raw::r82d0";
    assert_int_equal(perf_samples_new(&rig.config, &rig.source), 0);
    assert_false(rig.source->ops->samples(rig.source, ACCESS_STORE, &why));
    assert_true(why.reason == REASON_NO_PERMISSION ||
                (why.reason == REASON_NO_PMU && strstr(why.words, "PEBS")));
    rig_release(&rig);

    rig_init(&rig); /* loads that cannot be sampled take nothing from stores */
    rig.config.loads = true;
    if (rig_start(&rig)) {
        assert_false(rig.source->ops->samples(rig.source, ACCESS_LOAD, &why));
        assert_true(why.reason == REASON_NO_PMU || why.reason == REASON_UNSUPPORTED_CPU);
    }
    rig_release(&rig);
}

/* ---- CPUs that come and go ---- */

static bool opens(struct rig *rig, size_t events)
{
    for (int i = 0; i < 60000; i++) {
        if (rig->source->ops->open_counters(rig->source) == events)
            return true;
        usleep(1000);
    }
    return false;
}

TEST(cpus_come_and_go)
{
    struct rig rig;
    struct fixture f;
    rig_init(&rig);
    fixture_init(&f);
    fixture_write(&f, "sys/devices/system/cpu/online", "0\n");
    struct fsroot real = rig.fs;
    rig.fs.path[FSROOT_SYS] = f.fs.path[FSROOT_SYS];
    bool started = sysconf(_SC_NPROCESSORS_ONLN) > 1 && rig_start(&rig);
    if (started) {
        const struct source_ops *ops = rig.source->ops;
        const struct tick tick = {.number = 1};
        assert_true(opens(&rig, 2)); /* stores, and mappings */
        assert_int_equal(ops->begin(rig.source, &tick), 0);
        fixture_write(&f, "sys/devices/system/cpu/online", "0-1\n");
        assert_int_equal(ops->begin(rig.source, &tick), 0);
        assert_true(opens(&rig, 4));
        fixture_write(&f, "sys/devices/system/cpu/online", "0\n");
        assert_int_equal(ops->begin(rig.source, &tick), 0);
        assert_true(opens(&rig, 2));
        /* One that cannot be opened, which the loop says. */
        fixture_write(&f, "sys/devices/system/cpu/online", "0,4000\n");
        int err = 0;
        for (int i = 0; i < 60000 && !err; i++) {
            err = ops->begin(rig.source, &tick);
            usleep(1000);
        }
        assert_true(err == -ENODEV || err == -EINVAL);
        fixture_write(&f, "sys/devices/system/cpu/online", "0\n");
        for (int i = 0; i < 60000 && err; i++) {
            err = ops->begin(rig.source, &tick);
            usleep(1000);
        }
        assert_int_equal(err, 0);
    }
    rig.fs.path[FSROOT_SYS] = real.path[FSROOT_SYS];
    rig_release(&rig);
    fixture_release(&f);
    if (!started)
        skip();
}

/* ---- a process that stores ---- */

#if defined(__x86_64__)
void samples_store_1(char *at), samples_store_32(char *at);
__asm__(".text\n.globl samples_store_1\n.type samples_store_1,@function\n"
        "samples_store_1:\n movb $1,(%rdi)\n ret\n.size samples_store_1,.-samples_store_1\n"
        ".globl samples_store_32\n.type samples_store_32,@function\n"
        "samples_store_32:\n movl $1,(%rdi)\n ret\n.size samples_store_32,.-samples_store_32\n");

struct child {
    pid_t pid;
    int to, from;
};

static void child_tell(int fd)
{
    assert_int_equal(write(fd, "x", 1), 1);
}

static void child_hear(int fd)
{
    char c;
    assert_int_equal(read(fd, &c, 1), 1);
}

/* Runs 'work' when told, says so, and stays until told again. */
static struct child child_start(void (*work)(void *), void *context)
{
    int to[2], from[2];
    char c;
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(to[1]);
        if (read(to[0], &c, 1) != 1)
            _exit(1);
        work(context);
        if (write(from[1], "x", 1) != 1 || read(to[0], &c, 1) != 1)
            _exit(1);
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    return (struct child){pid, to[1], from[0]};
}

static void child_end(struct child *child)
{
    int status;
    child_tell(child->to);
    close(child->to);
    close(child->from);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

struct stores {
    const char *path; /* NULL: anonymous memory */
    void (*store)(char *at);
    char *where;
};

static void store_to_pages(void *context)
{
    struct stores *stores = context;
    size_t size = PAGES * page_size();
    int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    if (stores->path) {
        fd = open(stores->path, O_RDWR | O_CREAT, 0600);
        if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
            _exit(2);
        flags = MAP_SHARED;
    }
    char *at = mmap(stores->where, size, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0);
    if (at == MAP_FAILED)
        _exit(3);
    madvise(at, size, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        stores->store(at + i * page_size() + i);
}

static void check_stores(const struct rig *rig, const struct stores *stores, enum medium medium,
                         uint32_t bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < rig->n; i++) {
        const struct access_sample *s = &rig->taken[i];
        uint64_t first = (uintptr_t)stores->where;
        assert_int_equal(s->owner, TAG);
        if (s->pid != rig->pid || s->address < first || s->address >= first + PAGES * page_size())
            continue;
        assert_int_equal(s->address, first + n * page_size() + n);
        assert_int_equal(s->ip, (uintptr_t)stores->store);
        assert_int_equal(s->medium, medium);
        assert_int_equal(s->size, ACCESS_SIZE_KNOWN);
        assert_int_equal(s->bytes, bytes);
        n++;
    }
    assert_int_equal(n, PAGES);
}

TEST(stores_of_a_process)
{
    struct rig rig;
    char path[128];
    rig_init(&rig);
    snprintf(path, sizeof path, "%s/file", rig.directory);
    void *where = mmap(NULL, PAGES * page_size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(where != MAP_FAILED);
    const struct {
        struct stores stores;
        enum medium medium;
        uint32_t bytes;
    } cases[] = {
        {{path, samples_store_1, where}, MEDIUM_NVMM, 1},
        {{NULL, samples_store_32, where}, MEDIUM_OTHER, 4},
    };
    bool started = rig_start(&rig);
    for (size_t i = 0; i < sizeof cases / sizeof *cases && started; i++) {
        struct stores stores = cases[i].stores;
        bool whole = false;
        for (int attempt = 0; attempt < 20 && !whole; attempt++) {
            struct child child = child_start(store_to_pages, &stores);
            rig.pid = (uint32_t)child.pid;
            rig.n = 0;
            child_tell(child.to);
            child_hear(child.from);
            whole = rig_take(&rig);
            if (whole)
                check_stores(&rig, &stores, cases[i].medium, cases[i].bytes);
            child_end(&child);
        }
        assert_true(whole);
    }
    munmap(where, PAGES * page_size());
    rig_release(&rig);
    if (!started)
        skip();
}
#endif

/* If no collector needs samples, a missing privilege is no fault. */
TEST(without_its_privileges_it_is_off_unless_asked_for)
{
    struct verdict why = {0};
    struct fixture tree;
    struct rig rig;
    rig_init(&rig);
    fixture_init(&tree);
    char path[128];
    snprintf(path, sizeof path, "%s/proc/self", tree.root);
    fixture_mkdir(&tree, "proc");
    assert_int_equal(symlink("1", path), 0); /* another namespace's numbers */
    rig.config.fs = &tree.fs;
    for (int asked = 0; asked < 2; asked++) {
        rig.config.asked_for = asked;
        assert_int_equal(perf_samples_new(&rig.config, &rig.source), 0);
        assert_false(rig.source->ops->samples(rig.source, ACCESS_STORE, &why));
        assert_int_equal(why.reason, asked ? REASON_NO_PERMISSION : REASON_DISABLED);
        assert_non_null(strstr(why.words, "hostPID"));
        rig.source->ops->free(rig.source);
        rig.source = NULL;
    }
    fixture_release(&tree);
    rig_release(&rig);
}
