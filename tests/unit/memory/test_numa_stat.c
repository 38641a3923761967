/* memory.numa_stat of both cgroup versions, as a kernel writes it, and as none does. */
#include "exporter/source/memory/memory.h"
#include "tests/unit/support/unit.h"

static int parse(const char *text, struct numa_stat *out)
{
    return numa_stat_parse(text, strlen(text), 4096, out);
}

TEST(v2_is_what_is_addressed_in_bytes)
{
    struct numa_stat got;
    assert_int_equal(parse("anon N0=104857600 N1=4096\n"
                           "file N0=999999999 N1=0\n"
                           "shmem N0=5000 N1=0\n"
                           "file_mapped N0=8192 N1=7\n"
                           "anon_thp N0=1 N1=1\n"
                           "inactive_anon N0=1 N1=1\n",
                           &got),
                     0);
    assert_int_equal(got.nodes, 3);
    assert_int_equal(got.bytes[0], 104857600 + 8192);
    assert_int_equal(got.bytes[1], 4096 + 7);
}

TEST(v1_is_the_sum_over_the_children_in_pages)
{
    struct numa_stat got;
    assert_int_equal(parse("total=44 N0=40 N2=4\nfile=4 N0=4 N2=0\nanon=40 N0=36 N2=4\n"
                           "unevictable=0 N0=0 N2=0\nhierarchical_total=144 N0=100 N2=44\n"
                           "hierarchical_file=4 N0=4 N2=0\nhierarchical_anon=140 N0=96 N2=44\n",
                           &got),
                     0);
    assert_int_equal(got.nodes, 5);
    assert_int_equal(got.bytes[0], 96 * 4096);
    assert_int_equal(got.bytes[2], 44 * 4096);
    /* Before Linux 3.18 there were no sums. */
    assert_int_equal(parse("total=44 N0=44\nfile=4 N0=4\nanon=40 N0=40\n", &got), 0);
    assert_int_equal(got.bytes[0], 40 * 4096);
}

TEST(a_line_without_its_end_does_not_count)
{
    struct numa_stat got;
    assert_int_equal(parse("anon N0=1\nfile_mapped N0=2", &got), 0);
    assert_int_equal(got.bytes[0], 1);
    assert_int_equal(parse("anon N0=1", &got), -ENODATA);
}

TEST(nodes_without_a_place_are_left_out)
{
    struct numa_stat got;
    assert_int_equal(parse("anon N63=3 N64=5 N18446744073709551615=5\n", &got), 0);
    assert_true(got.nodes == UINT64_C(1) << 63);
    assert_int_equal(got.bytes[63], 3);
}

TEST(what_no_kernel_writes_is_refused)
{
    static const struct {
        const char *text;
        int err;
    } rows[] = {
        {"", -ENODATA},
        {"\n\n", -ENODATA},
        {"file N0=1\n", -ENODATA},
        {"anonymous N0=1\n", -ENODATA},
        {"total=1 N0=1\nfile=1 N0=1\n", -ENODATA},
        {"anon N0=\n", -EINVAL},
        {"anon N0\n", -EINVAL},
        {"anon N=1\n", -EINVAL},
        {"anon N0=1 \n", -EINVAL},
        {"anon N0=-1\n", -EINVAL},
        {"anon N0=1 M1=1\n", -EINVAL},
        {"anon N0=18446744073709551616\n", -EINVAL},
        {"anon N0=18446744073709551615\nfile_mapped N0=1\n", -EINVAL},
        {"total=1 N0=1\nhierarchical_anon=1 N0=18446744073709551615\n", -EINVAL},
    };
    struct numa_stat before, got;
    memset(&before, 7, sizeof before);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        got = before;
        if (parse(rows[i].text, &got) != rows[i].err)
            fail_msg("%s", rows[i].text);
        assert_memory_equal(&got, &before, sizeof got);
    }
}
