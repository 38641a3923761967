#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/service/descriptors.h"
#include "tests/unit/support/unit.h"

static void check(size_t limit, size_t max, bool with_candidates, bool events,
                  struct descriptor_shares want)
{
    struct descriptor_shares shares = descriptors_share(limit, max, with_candidates, events);
    assert_int_equal(shares.containers, want.containers);
    assert_int_equal(shares.candidates, want.candidates);
    assert_int_equal(shares.counters, want.counters);
    assert_int_equal(shares.connections, want.connections);
}

/* containers, candidates, counters, connections */
TEST(plenty_takes_nothing_away)
{
    check(0, 512, true, true, (struct descriptor_shares){512, 256, SIZE_MAX, 256});
    check(0, 512, false, true, (struct descriptor_shares){512, 0, SIZE_MAX, 256});
    check(1048576, 512, false, true, (struct descriptor_shares){512, 0, 1048576 - 512 - 512, 256});
    check(1048576, 512, true, true, (struct descriptor_shares){512, 256, 1048576 - 512 - 768, 256});
    check(SIZE_MAX, 100000, true, true,
          (struct descriptor_shares){100000, 256, SIZE_MAX - 100000 - 768, 256});
}

TEST(a_low_limit_bounds_all)
{
    check(1024, 512, true, true, (struct descriptor_shares){128, 32, 608, 128});
    check(1024, 512, false, true, (struct descriptor_shares){128, 0, 640, 128});
    check(1024, 50, true, true, (struct descriptor_shares){50, 32, 686, 128});
    check(64, 512, true, true, (struct descriptor_shares){8, 2, 38, 8});
    check(7, 512, true, true, (struct descriptor_shares){1, 0, 4, 1});
    check(1, 512, true, true, (struct descriptor_shares){1, 0, 0, 1});
    check(64, 0, false, true, (struct descriptor_shares){0, 0, 48, 8});
}

/* One descriptor each: 20,000 are more than the 4,096 containers that are the default. */
TEST(without_events_a_container_takes_its_directory)
{
    check(20000, 4096, false, true, (struct descriptor_shares){2500, 0, 20000 - 2500 - 512, 256});
    check(20000, 4096, false, false, (struct descriptor_shares){4096, 0, 20000 - 4096 - 512, 256});
    check(20000, 100000, false, false,
          (struct descriptor_shares){6661, 0, 20000 - 6661 - 512, 256});
    check(1024, 512, true, false, (struct descriptor_shares){336, 32, 400, 128});
    check(64, 512, false, false, (struct descriptor_shares){16, 0, 24, 8});
    check(0, 512, false, false, (struct descriptor_shares){512, 0, SIZE_MAX, 256});
}

/* Whatever the limit is: together they leave something for listeners, sysfs and logs, the counters
 * have the largest part, and it would do for every container on one CPU; without events, for the
 * file with every container's CPU time. */
TEST(the_shares_never_exceed_the_whole)
{
    static const size_t allowed[] = {0, 1, 50, 512, 100000, SIZE_MAX};
    for (size_t limit = 64; limit <= 1048576; limit++) {
        for (size_t i = 0; i < 4 * sizeof allowed / sizeof *allowed; i++) {
            size_t max = allowed[i / 4];
            bool events = i / 2 % 2 == 0;
            struct descriptor_shares shares = descriptors_share(limit, max, i % 2, events);
            size_t rest = limit / 8 < 256 ? limit / 8 : 256;
            size_t all =
                shares.containers + shares.candidates + shares.counters + shares.connections;
            if (all + rest > limit || shares.counters < limit / (events ? 2 : 3) ||
                shares.containers > max || (events ? 4 : 1) * shares.containers > shares.counters ||
                shares.connections < 8 || (i % 2 == 0) != (shares.candidates == 0))
                fail_msg("limit %zu, containers %zu, candidates %zu, events %d", limit, max, i % 2,
                         events);
        }
    }
}

/* How many descriptors the kernel's table has room for; 0 where it does not say. */
static unsigned long fd_table_size(void)
{
    unsigned long size = 0;
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "FDSize: %lu", &size) == 1)
            break;
    if (file)
        fclose(file);
    return size;
}

TEST(the_limit_is_raised_to_the_hard_one)
{
    struct rlimit before, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = before;
    low.rlim_cur = before.rlim_max < 64 ? before.rlim_max : 64;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    assert_int_equal(descriptors_raise_limit(), before.rlim_max);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &low), 0);
    assert_int_equal(low.rlim_cur, before.rlim_max);

    /* Room for many descriptors, and none of them taken. */
    rlim_t wide = before.rlim_max < 16384 ? before.rlim_max : 16384;
    unsigned long size = fd_table_size();
    assert_true(size == 0 || size >= wide);
    assert_int_equal(fcntl((int)wide - 1, F_GETFD), -1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(all_but_some_are_closed)
{
    pid_t pid = fork();
    if (pid == 0) {
        int fds[5], keep[3];
        for (size_t i = 0; i < 5; i++)
            fds[i] = open("/dev/null", O_RDONLY);
        keep[0] = fds[3];
        keep[1] = STDERR_FILENO;
        keep[2] = fds[1];
        descriptors_close_all_but(keep, 3);
        unsigned left = 0;
        for (size_t i = 0; i < 5; i++)
            left |= (unsigned)(fcntl(fds[i], F_GETFD) >= 0) << i;
        _exit(fcntl(STDOUT_FILENO, F_GETFD) < 0 ? 99 : (int)left);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1 << 3 | 1 << 1);
}
