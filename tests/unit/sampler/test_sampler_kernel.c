/* Samples of the real kernel: page faults, each of them a sample. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/support/sampler_rig.h"
#include "tests/unit/support/unit.h"

#if defined(__x86_64__)
void store_one_byte(char *at);
__asm__(".text\n.globl store_one_byte\n.type store_one_byte,@function\n"
        "store_one_byte:\n movb $1,(%rdi)\n ret\n.size store_one_byte,.-store_one_byte\n");

enum { PAGES = 500 };

static _Noreturn void touch_pages(int in, void *where)
{
    char c, *at;
    if (read(in, &c, 1) != 1) /* until the parent knows whom to expect */
        _exit(1);
    at = mmap(where, PAGES * rings_page_size(), PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (at == MAP_FAILED)
        _exit(1);
    madvise(at, PAGES * rings_page_size(), MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        store_one_byte(at + i * rings_page_size() + i);
    _exit(0);
}

static void check_faults(const struct sampler_rig *rig, pid_t child, uint64_t where)
{
    size_t faults = 0;
    uint64_t mapped_ns = 0;
    for (size_t i = 0; i < rig->seen.n; i++) {
        const struct kernel_record *r = &rig->seen.at[i];
        if ((pid_t)r->pid != child)
            continue;
        if (r->kind == KERNEL_RECORD_MMAP && r->mmap.start == where) {
            assert_int_equal(r->mmap.length, PAGES * rings_page_size());
            assert_true(r->mmap.writable && !r->mmap.shared && r->mmap.inode == 0);
            mapped_ns = r->time_ns;
        }
        if (r->kind != KERNEL_RECORD_SAMPLE || r->sample.address < where ||
            r->sample.address >= where + PAGES * rings_page_size())
            continue;
        assert_int_equal(r->sample.address, where + faults * rings_page_size() + faults);
        assert_int_equal(r->sample.ip, (uintptr_t)store_one_byte);
        assert_true(r->sample.user && r->sample.cgroup_id != 0);
        assert_true(mapped_ns != 0 && mapped_ns <= r->time_ns);
        faults++;
    }
    assert_int_equal(faults, PAGES);
}

/* False: samples of the whole machine's page faults were more than were read in time. */
static bool try_page_faults(void)
{
    struct sampler_rig rig;
    bool whole = false;
    struct fsroot fs;
    struct verdict why;
    int pipes[2], status = -1;
    int cpus[64], n = 0;
    sampler_rig_init(&rig);
    assert_int_equal(fsroot_init(&fs, NULL, NULL, NULL, NULL), 0);
    for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF) && n < 64; cpu++)
        cpus[n++] = (int)cpu;
    struct encoded_event event;
    assert_int_equal(encode_event(&fs, "software:page-faults", &event, &why), 0);
    rig.config.kernel = &perf_kernel_linux;
    rig.config.events[0].event = &event;
    rig.config.cpus = cpus;
    rig.config.n_cpus = (size_t)n;
    rig.config.events[0].period = 1;
    rig.config.events[0].data_pages = 512;
    rig.config.clock = NULL;
    rig.config.events[0].mappings = rig.config.events[0].cgroup = true;
    rig.config.clock = NULL;
    /* A free place, for the child to map. */
    void *where =
        mmap(NULL, PAGES * rings_page_size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(where != MAP_FAILED);
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        touch_pages(pipes[0], where);
    rig.seen.child = child;
    rig.seen.late_is_fine = true; /* a stopped virtual CPU */
    int err = sampler_new(&rig.config, &rig.sampler);
    if (!err) {
        assert_int_equal(sampler_start(rig.sampler), 0);
        assert_int_equal(write(pipes[1], "x", 1), 1);
        waitpid(child, &status, 0);
        for (int i = 0; i < 60000; i++) { /* its exit was the last that it did */
            pthread_mutex_lock(&rig.seen.lock);
            bool ended = rig.seen.child_ended;
            pthread_mutex_unlock(&rig.seen.lock);
            if (ended || sampler_counts(rig.sampler, 0).lost > 0)
                break;
            usleep(1000);
        }
        struct sampler_counts counts = sampler_counts(rig.sampler, 0);
        sampler_free(rig.sampler);
        rig.sampler = NULL;
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        assert_int_equal(counts.broken, 0);
        whole = counts.lost == 0 && rig.seen.n < RIG_MAX_SEEN;
        if (whole) {
            assert_true(rig.seen.child_ended);
            check_faults(&rig, child, (uintptr_t)where);
        }
    }
    close(pipes[1]);
    close(pipes[0]);
    if (err)
        waitpid(child, NULL, 0);
    munmap(where, PAGES * rings_page_size());
    encoded_event_release(&event);
    fsroot_release(&fs);
    sampler_rig_release(&rig);
    if (err) {
        print_message("no system-wide sampling here: %s\n", strerror(-err));
        assert_true(err == -EACCES || err == -EPERM);
        skip();
    }
    return whole;
}

TEST(real_page_faults)
{
    for (int i = 0; i < 20; i++)
        if (try_page_faults())
            return;
    fail_msg("samples were lost each time");
}
#endif
