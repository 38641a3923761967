/* The kernel's files of CPU time, whole and broken. */
#include "exporter/source/activity/file.h"
#include "tests/unit/support/unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const uint64_t untouched = 77;

TEST(test_cpu_stat)
{
    static const struct {
        const char *text;
        int err;
        uint64_t ns;
    } cases[] = {
        {"usage_usec 812345\nuser_usec 800000\nsystem_usec 12345\nnr_periods 0\n", 0, 812345000},
        {"core_sched.force_idle_usec 3\nusage_usec 7\n", 0, 7000},
        {"usage_usec 0\n", 0, 0},
        {"usage_usec 18446744073709551\n", 0, UINT64_C(18446744073709551000)},
        {"usage_usec 18446744073709552\n", -EINVAL, untouched},
        {"usage_usec 99999999999999999999\n", -EINVAL, untouched},
        {"usage_usec -1\n", -EINVAL, untouched},
        {"usage_usec 1 2\n", -EINVAL, untouched},
        {"usage_usec \n", -EINVAL, untouched},
        /* The controller cpu of v1. */
        {"nr_periods 0\nnr_throttled 0\nthrottled_time 0\n", -ENODATA, untouched},
        {"usage_usec_x 1\n", -ENODATA, untouched},
        {"usage_usec 81", -ENODATA, untouched}, /* a line has an end */
        {"", -ENODATA, untouched},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t ns = untouched;
        assert_int_equal(cpu_stat_parse(cases[i].text, strlen(cases[i].text), &ns), cases[i].err);
        assert_true(ns == cases[i].ns);
    }
}

TEST(test_usage)
{
    uint64_t ns = untouched;
    static const char *const bad[] = {
        "", "\n", "12", "12 \n", "12\n\n", "-1\n", "18446744073709551616\n"};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(cpuacct_usage_parse(bad[i], strlen(bad[i]), &ns), -EINVAL);
    assert_int_equal(ns, untouched);
    assert_int_equal(cpuacct_usage_parse("18446744073709551615\n", 21, &ns), 0);
    assert_true(ns == UINT64_MAX);
}

TEST(test_percpu)
{
    uint64_t ns[3] = {untouched, untouched, untouched};
    size_t n = untouched;
    static const char *const bad[] = {"", "\n", "1 2", "1  2 \n", "1 x\n", "1 2 \n3", " 1 \n"};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(cpuacct_percpu_parse(bad[i], strlen(bad[i]), ns, 3, &n), -EINVAL);
    assert_int_equal(ns[0], untouched);
    assert_int_equal(n, untouched);

    assert_int_equal(cpuacct_percpu_parse("5 0 332608777 \n", 15, ns, 2, &n), 0);
    assert_int_equal(n, 3);
    assert_int_equal(ns[0], 5);
    assert_int_equal(ns[1], 0);
    assert_int_equal(ns[2], untouched); /* no room */
    assert_int_equal(cpuacct_percpu_parse("9\n", 2, ns, 3, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(ns[0], 9);
    assert_int_equal(cpuacct_percpu_parse("9\n", 2, NULL, 0, &n), 0);
}

/* User, nice, system, irq and softirq; neither idle, iowait nor steal, and guests once. */
TEST(test_proc_stat)
{
    static const char text[] = "cpu  1313511 266615 447998 603033 8986 0 6931 8544 0 0\n"
                               "cpu0 1 20 300 4000 50000 600000 7000000 80000000 1 20\n"
                               "cpu17 10 0 0 5 5 0 0 5 10 0\n"
                               "intr 1 2 3\ncpu18 1 1 1 1 1 1 1\n";
    struct cpu_time times[3] = {{-7, 0}, {-7, 0}, {-7, 0}};
    size_t n;
    assert_int_equal(proc_stat_parse(text, strlen(text), 100, times, 3, &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(times[0].cpu, 0);
    assert_true(times[0].ns == UINT64_C(7600321) * 10000000);
    assert_int_equal(times[1].cpu, 17);
    assert_int_equal(times[1].ns, 100000000);
    assert_int_equal(times[2].cpu, -7);
    /* Cut off within the second CPU: it is not there. */
    assert_int_equal(proc_stat_parse(text, 120, 1000, times, 3, &n), 0);
    assert_int_equal(n, 1);
    assert_true(times[0].ns == UINT64_C(7600321) * 1000000);
}

TEST(test_broken_proc_stat)
{
    static const struct {
        const char *text;
        int err;
    } cases[] = {
        {"", -ENODATA},
        {"cpu  1 2 3 4 5 6 7\n", -ENODATA},
        {"intr 1\ncpu0 1 2 3 4 5 6 7\n", -ENODATA},
        {"cpu0 1 2 3 4 5 6 7", -ENODATA},
        {"cpu0 1 2 3 4 5 6\n", -EINVAL},
        {"cpu0 1 2 3 4 5 6 7x\n", -EINVAL},
        {"cpu0 1 2 3 4 5 6 7\ncpux 1 2 3 4 5 6 7\n", -EINVAL},
        {"cpu99999 1 2 3 4 5 6 7\n", -EINVAL},
        {"cpu0 18446744073709551615 2 3 4 5 6 7\n", -EINVAL},
        {"cpu0 1844674407371 0 0 4 5 0 0\n", -EINVAL},
    };
    struct cpu_time time = {.cpu = -7};
    size_t n = untouched;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(proc_stat_parse(cases[i].text, strlen(cases[i].text), 100, &time, 1, &n),
                         cases[i].err);
    assert_int_equal(time.cpu, -7);
    assert_int_equal(n, untouched);
}
