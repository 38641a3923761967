/*
 * The kernel's files of waits and bounds: as the kernel writes them, cut off, and wrong.
 */
#include "exporter/source/waits/parse.h"
#include "tests/unit/support/unit.h"

TEST(lines_of_numbers)
{
    static const struct {
        const char *text, *key;
        int err;
        uint64_t value;
    } table[] = {
        {"usage_usec 90\nnr_periods 12\nnr_throttled 3\n", "nr_periods", 0, 12},
        {"nr_periods 12\nnr_throttled 3\n", "nr_throttled", 0, 3},
        {"nr_periods_x 1\nnr_periods 18446744073709551615\n", "nr_periods", 0, UINT64_MAX},
        {"usage_usec 90\n", "nr_periods", -ENODATA, 7},
        {"nr_periods 12", "nr_periods", -ENODATA, 7}, /* cut off: not 12, perhaps */
        {"", "nr_periods", -ENODATA, 7},
        {"nr_periods 18446744073709551616\n", "nr_periods", -EINVAL, 7},
        {"nr_periods x\n", "nr_periods", -EINVAL, 7},
        {"nr_periods 1 2\n", "nr_periods", -EINVAL, 7},
        {"nr_periods -1\n", "nr_periods", -EINVAL, 7},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        uint64_t value = 7;
        assert_int_equal(flat_parse(table[i].text, strlen(table[i].text), table[i].key, &value),
                         table[i].err);
        assert_int_equal(value, table[i].value);
    }
}

TEST(pressure)
{
    static const char text[] = "some avg10=1.53 avg60=0.87 avg300=0.73 total=153512\n"
                               "full avg10=0.00 avg60=0.00 avg300=0.00 total=42\n";
    static const char *const bad[] = {
        "some avg10=0.00 avg60=0.00 avg300=0.00\n",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=x\n",
        "some total=1 2\n",
        "some total=18446744073709551615\n", /* microseconds */
        "some total=1\nfull total=\n",
    };
    struct pressure_totals out = {.some_ns = 7};
    assert_int_equal(pressure_totals_parse(text, sizeof text - 1, &out), 0);
    assert_int_equal(out.some_ns, 153512000);
    assert_true(out.has_full && out.full_ns == 42000);
    /* Up to the end of the first line: a kernel before 5.13, or half a file. */
    const char *end = strchr(text, '\n') + 1;
    for (size_t len = 0; len < sizeof text - 1; len++) {
        int err = pressure_totals_parse(text, len, &out);
        assert_int_equal(err, len < (size_t)(end - text) ? -ENODATA : 0);
        assert_true(err || !out.has_full);
    }
    out.some_ns = 7;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(pressure_totals_parse(bad[i], strlen(bad[i]), &out), -EINVAL);
    assert_int_equal(out.some_ns, 7);
}

TEST(limits)
{
    static const struct {
        const char *text;
        int err;
        uint64_t quota;
    } table[] = {
        {"max 100000\n", -ENODATA, 7},
        {"20000 100000\n", 0, 200000000},
        {"250000 100000\n", 0, 2500000000},
        {"1 0\n", -EINVAL, 7},
        {"20000\n", -EINVAL, 7},
        {"20000 100000", -EINVAL, 7},
        {"", -EINVAL, 7},
        {"18446744073709551615 1\n", -EINVAL, 7},
    };
    uint64_t value = 7;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        uint64_t quota = 7;
        assert_int_equal(cpu_max_parse(table[i].text, strlen(table[i].text), &quota), table[i].err);
        assert_int_equal(quota, table[i].quota);
    }
    assert_int_equal(single_parse("max\n", 4, &value), -ENODATA);
    assert_int_equal(single_parse("-1\n", 3, &value), -ENODATA);
    assert_int_equal(single_parse("12", 2, &value), -EINVAL);
    assert_int_equal(single_parse("12 3\n", 5, &value), -EINVAL);
    assert_int_equal(value, 7);
    assert_int_equal(single_parse("12\n", 3, &value), 0);
    assert_int_equal(value, 12);
}

TEST(steal)
{
    static const char text[] = "cpu  9 9 9 9 9 9 9 9 9 9\n"
                               "cpu0 1 2 3 4 5 6 7 80 9 10\n"
                               "cpu1 1 2 3 4 5 6 7 20 9 10\n"
                               "cpu52 1 2 3 4 5 6 7 30 9 10\n"
                               "intr 1\n";
    struct steal_totals out;
    assert_int_equal(steal_parse(text, sizeof text - 1, 100, &out), 0);
    assert_int_equal(out.ns[0], 1100000000); /* CPUs 0 and 52 */
    assert_int_equal(out.cpus[0], 2);
    assert_int_equal(out.ns[1], 200000000);
    assert_int_equal(out.cpus[2], 0);
    static const char old[] = "cpu0 1 2 3 4 5 6 7\n", none[] = "intr 1\n", bad[] = "cpu0 1 x\n";
    assert_int_equal(steal_parse(old, sizeof old - 1, 100, &out), -ENODATA);
    assert_int_equal(steal_parse(none, sizeof none - 1, 100, &out), -ENODATA);
    assert_int_equal(steal_parse(bad, sizeof bad - 1, 100, &out), -EINVAL);
    assert_int_equal(out.cpus[0], 2);
}

TEST(cpus_and_delays)
{
    uint64_t set = 7, delay = 7;
    size_t cpus = 7;
    assert_int_equal(cpu_set_parse("0,2-3,52\n", 9, &set, &cpus), 0);
    assert_int_equal(set, 0xd);
    assert_int_equal(cpus, 4);
    assert_int_equal(cpu_set_parse("\n", 1, &set, &cpus), -ENODATA);
    assert_int_equal(cpu_set_parse("x\n", 2, &set, &cpus), -EINVAL);
    assert_int_equal(cpus, 4);
    assert_int_equal(schedstat_parse("5 1234 2\n", 9, &delay), 0);
    assert_int_equal(delay, 1234);
    assert_int_equal(schedstat_parse("5 99\n", 5, &delay), -EINVAL);
    assert_int_equal(delay, 1234);
}
