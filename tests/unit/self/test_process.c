/* What the kernel says about this process, compared with what the test itself knows and does. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "exporter/service/own_process.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

static struct own_process process;

static struct process_numbers now(void)
{
    struct process_numbers out;
    process_read(&process, &out);
    return out;
}

TEST(test_everything_is_known)
{
    struct process_numbers n = now();
    assert_int_equal(n.known,
                     PROCESS_MEMORY | PROCESS_OPEN_FDS | PROCESS_MAX_FDS | PROCESS_START_TIME);
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true(n.max_fds == limit.rlim_cur);
}

TEST(test_open_fds)
{
    if (!process.fds_have_size)
        skip(); /* this kernel is counted by readdir, see the fixture */
    uint64_t before = now().open_fds;
    int fds[5];
    for (int i = 0; i < 5; i++)
        assert_true((fds[i] = open("/", O_RDONLY)) >= 0);
    assert_int_equal(now().open_fds, before + 5);
    for (int i = 0; i < 5; i++)
        close(fds[i]);
    assert_int_equal(now().open_fds, before);
}

TEST(test_memory)
{
    const size_t bytes = 64 << 20;
    struct process_numbers before = now();
    char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    struct process_numbers mapped = now();
    assert_int_equal(mapped.virtual_memory_bytes - before.virtual_memory_bytes, bytes);
    memset(map, 1, bytes);
    /* Somewhat less than that at least: the kernel counts resident pages per CPU first. A
     * sanitizer's shadow comes on top. */
    assert_true(now().resident_memory_bytes >= mapped.resident_memory_bytes + bytes * 9 / 10);
    munmap(map, bytes);
    assert_int_equal(now().virtual_memory_bytes, before.virtual_memory_bytes);
}

TEST(test_cpu_and_start)
{
    struct process_numbers before = now();
    /* At least 20 ms of work, by the kernel's own account. */
    struct rusage usage;
    double used;
    volatile unsigned spin = 0;
    do {
        for (int i = 0; i < 100000; i++)
            spin++;
        getrusage(RUSAGE_SELF, &usage);
        used = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    } while (used < before.cpu_seconds + 0.02);
    struct process_numbers after = now();
    assert_true(after.cpu_seconds >= before.cpu_seconds + 0.019);

    /* The boot time has a resolution of a second. */
    double wall = (double)time(NULL);
    assert_true(after.start_time_seconds <= wall + 2);
    assert_true(after.start_time_seconds > wall - 600);
    assert_true(after.start_time_seconds == before.start_time_seconds);
}

TEST(test_reading_allocates_nothing)
{
    if (!malloc_count_works())
        skip();
    now();
    uint64_t before = malloc_count();
    for (int i = 0; i < 50; i++)
        now();
    assert_int_equal(malloc_count(), before);
}

/* ---- a made-up /proc, whose directory of descriptors has no telling size ---- */

static void put(const char *dir, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

TEST(test_fixture)
{
    char dir[] = "/tmp/test_process.XXXXXX", path[300];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/self", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/self/fd", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    /* 22nd field: 4242 ticks after boot. The name is made to mislead. */
    put(dir, "self/stat",
        "12 (a) R 1 (b c) S 1 12 12 0 -1 4194560 76 0 0 0 0 0 0 0 20 0 1 0 4242 2318336 213\n");
    put(dir, "self/statm", "1000 300 200 10 0 100 0\n");
    put(dir, "stat", "cpu  1 2 3\ncpu0 1 2 3\nintr 99 0\nctxt 7\nbtime 1790000000\nprocesses 1\n");
    put(dir, "self/fd/0", "");
    put(dir, "self/fd/1", "");

    struct fsroot fs;
    struct own_process fake;
    struct process_numbers n;
    assert_int_equal(fsroot_init(&fs, dir, NULL, NULL, NULL), 0);
    process_init(&fake, &fs);
    process_read(&fake, &n);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(n.virtual_memory_bytes, 1000 * page);
    assert_int_equal(n.resident_memory_bytes, 300 * page);
    assert_true(n.start_time_seconds == 1790000000 + 4242.0 / (double)sysconf(_SC_CLK_TCK));
    assert_false(fake.fds_have_size);
    assert_int_equal(n.open_fds, 2);
    /* Counted anew after some readings, not at each. */
    put(dir, "self/fd/2", "");
    int readings = 0;
    do {
        process_read(&fake, &n);
        readings++;
    } while (n.open_fds != 3 && readings < 100);
    assert_in_range(readings, 10, 15);
    process_release(&fake);

    /* Truncated and senseless files only make numbers unknown. */
    put(dir, "self/stat", "12 (a) R 1 2");
    put(dir, "self/statm", "x");
    process_init(&fake, &fs);
    process_read(&fake, &n);
    assert_int_equal(n.known, PROCESS_OPEN_FDS | PROCESS_MAX_FDS);
    process_release(&fake);
    fsroot_release(&fs);

    char command[300];
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(fsroot_init(&fs, dir, NULL, NULL, NULL), 0);
    process_init(&fake, &fs);
    process_read(&fake, &n);
    assert_int_equal(n.known, PROCESS_MAX_FDS);
    process_release(&fake);
    process_release(&fake);
    fsroot_release(&fs);
}

static int start(void **state)
{
    struct fsroot fs;
    if (fsroot_init(&fs, NULL, NULL, NULL, NULL))
        return -1;
    process_init(&process, &fs);
    fsroot_release(&fs);
    return 0;
}

static int stop(void **state)
{
    process_release(&process);
    return 0;
}

TESTS_SHARE(start, stop)
