/*
 * A group counted on this machine's kernel: what it does where CPUs, events and memory fail.
 *
 * Takes root, and a kernel that takes the program; software events stand in for the PMU's.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "exporter/source/bpf/counter.h"

enum { CONTAINERS = 4 };

static struct perf_cpus cpus;

static void test_too_many_roles(void **state)
{
    (void)state;
    struct bpf_set *set = NULL;
    struct verdict why;
    assert_int_equal(bpf_set_new(BPF_ROLES_MAX + 1, 1, 1, &set, &why), -EINVAL);
    assert_null(set);
    assert_string_equal(why.words, "a BPF program counts 8 events at most, not 9");
}

/* The tables' size is tried before anything depends on it. */
static void test_too_many_containers(void **state)
{
    (void)state;
    struct verdict why;
    assert_int_equal(bpf_counter_try(&cpus, 7, UINT32_MAX, &why), -ENOMEM);
    assert_non_null(strstr(why.words, "lower --containers.max"));
}

static int setup(void **state)
{
    (void)state;
    struct fsroot fs;
    assert_int_equal(fsroot_init(&fs, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(perf_cpus_init(&cpus, &fs), 0);
    fsroot_release(&fs);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    perf_cpus_release(&cpus);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_many_roles),
        cmocka_unit_test(test_too_many_containers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
