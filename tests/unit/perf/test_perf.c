/*
 * The perf source on a fake PMU: opening, reading, refusals in words.
 */
#include <unistd.h>

#include "collectors/events/events.h"
#include "exporter/source/perf/group.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/perf_fixture.h"
#include "tests/unit/support/unit.h"

PERF_TEST(test_counts_per_cpu)
{
    struct perf_reading out;
    uint64_t one, two;
    perf_fixture_start(fixture);
    uint64_t a = perf_fixture_open(fixture, "a", GROUP_CORE, &one);
    uint64_t b = perf_fixture_open(fixture, "b", GROUP_CORE, &two);
    assert_int_not_equal(a, b);
    assert_int_equal(fixture->pmu.open, 2 * 2 * 7);
    assert_int_equal(fixture->source->ops->open_counters(fixture->source), 28);
    assert_int_equal(fixture->source->ops->width(fixture->source, a), 2);
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), FULL);

    fake_pmu_run(&fixture->pmu, one, 0, 0, 700);
    fake_pmu_run(&fixture->pmu, one, 0, 1, 40);
    fake_pmu_run(&fixture->pmu, two, 0, 1, 3);
    perf_fixture_assert_core(perf_fixture_row(fixture, a, GROUP_CORE, 0, &out), FULL, 700, 700);
    perf_fixture_assert_core(perf_fixture_row(fixture, a, GROUP_CORE, 1, &out), FULL, 40, 40);
    perf_fixture_assert_core(perf_fixture_row(fixture, b, GROUP_CORE, 0, &out), FULL, 0, 0);
    perf_fixture_assert_core(perf_fixture_row(fixture, b, GROUP_CORE, 1, &out), FULL, 3, 3);
    assert_int_equal(out.reading.n, 2);
    fake_pmu_run(&fixture->pmu, two, 0, 1, 4);
    perf_fixture_assert_core(perf_fixture_row(fixture, b, GROUP_CORE, 1, &out), FULL, 7, 7);

    fixture->source->ops->close(fixture->source, a);
    assert_int_equal(fixture->pmu.open, 14);
    assert_int_equal(fixture->source->ops->open_counters(fixture->source), 14);
    perf_fixture_assert_core(perf_fixture_row(fixture, b, GROUP_CORE, 1, &out), FULL, 7, 7);
}

/* Nothing counts before the group is whole, and no event asks for what needs privilege. */
PERF_TEST(test_attributes)
{
    uint64_t inode;
    perf_fixture_start(fixture);
    perf_fixture_open(fixture, "a", GROUP_CORE, &inode);
    size_t leaders = 0;
    for (int i = 0; i < FAKE_PMU_EVENTS; i++) {
        const struct fake_event *event = &fixture->pmu.events[i];
        if (!event->used)
            continue;
        assert_int_equal(event->attr.read_format, PERF_FORMAT_GROUP |
                                                      PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                      PERF_FORMAT_TOTAL_TIME_RUNNING);
        assert_int_equal(event->attr.disabled, event->leader == i);
        assert_int_equal(event->cgroup, inode);
        assert_false(event->attr.inherit || event->attr.exclude_kernel || event->attr.pinned);
        assert_true(event->enabled);
        leaders += event->leader == i;
    }
    assert_int_equal(leaders, 2);
}

/* What is sampled in user mode of the host only is counted so as well: the one is to be a share of
 * the other. */
PERF_TEST(test_sampled_groups_count_user_mode)
{
    static const enum group sampled[] = {GROUP_STORES, GROUP_LOADS};
    uint64_t inode;
    size_t n = 0;
    perf_fixture_start(fixture);
    for (size_t i = 0; i < sizeof sampled / sizeof *sampled; i++)
        perf_fixture_open(fixture, i ? "b" : "a", sampled[i], &inode);
    for (int i = 0; i < FAKE_PMU_EVENTS; i++) {
        const struct fake_event *event = &fixture->pmu.events[i];
        if (!event->used)
            continue;
        assert_true(event->attr.exclude_kernel && event->attr.exclude_hv &&
                    event->attr.exclude_guest);
        n++;
    }
    assert_int_equal(n, 4);
}

PERF_TEST(test_steady_read_allocates_nothing)
{
    struct perf_reading out;
    uint64_t inode;
    perf_fixture_start(fixture);
    uint64_t handle = perf_fixture_open(fixture, "a", GROUP_CORE, &inode);
    perf_fixture_begin(fixture);
    uint64_t mallocs = malloc_count();
    size_t opens = fixture->pmu.opens;
    for (int tick = 0; tick < 100; tick++) {
        fake_pmu_run(&fixture->pmu, inode, 0, 0, 1000000);
        perf_fixture_begin(fixture);
        assert_int_equal(perf_fixture_read(fixture, handle, GROUP_CORE, &out), 0);
    }
    assert_int_equal(malloc_count(), mallocs);
    assert_int_equal(fixture->pmu.opens, opens);
}

/* Handles are found again in any order of closing, by themselves and by what is done to all. */
PERF_TEST(test_handles)
{
    const struct source_ops *ops;
    struct perf_reading out;
    uint64_t inode, handles[20];
    perf_fixture_start(fixture);
    ops = fixture->source->ops;
    for (int i = 0; i < 20; i++)
        handles[i] = perf_fixture_open(fixture, "a", GROUP_STORES, &inode);
    assert_int_equal(ops->open_counters(fixture->source), 40);
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < i; j++)
            assert_int_not_equal(handles[i], handles[j]);
    ops->close(fixture->source, handles[7]);
    ops->close(fixture->source, handles[0]);
    ops->close(fixture->source, handles[19]);
    assert_int_equal(ops->open_counters(fixture->source), 34);
    handles[7] = perf_fixture_open(fixture, "a", GROUP_STORES, &inode);
    assert_int_equal(perf_fixture_read(fixture, handles[7], GROUP_STORES, &out), 0);

    fake_pmu_set_online(&fixture->pmu, 2, true);
    fixture_write(&fixture->tree, "sys/devices/system/cpu/online", "0-2\n");
    perf_fixture_begin(fixture);
    assert_int_equal(ops->open_counters(fixture->source), 18 * 3);
    assert_int_equal(ops->width(fixture->source, handles[18]), 3);

    out.reading.cap = 1;
    assert_int_equal(ops->read(fixture->source, handles[7], &out.reading), -ENOSPC);
    for (int i = 1; i < 19; i++)
        ops->close(fixture->source, handles[i]);
    assert_int_equal(ops->open_counters(fixture->source), 0);
}

/* Opening events takes a context, not the source of the kernel's counters. */
PERF_TEST(test_a_context_opens_events)
{
    struct perf_context context = {.fs = &fixture->tree.fs,
                                   .log = &fixture->log,
                                   .kernel = &fixture->pmu.kernel,
                                   .fd_limit = 4};
    struct encoded_event loads;
    const struct encoded_event *events[] = {&loads};
    const struct perf_target target = {.pid = -1, .cpu = 1};
    struct verdict why;
    size_t failed;
    int fd;
    assert_int_equal(encode_event(&fixture->tree.fs, "perf_raw::r81d0", &loads, &why), 0);
    assert_int_equal(perf_events_open(&context, GROUP_LOADS, 1, events, &target, &fd, &failed), 0);
    assert_int_equal(context.open_counters, 1);
    assert_int_equal(fixture->pmu.open, 1);
    assert_int_equal(perf_fd_budget(&context, GROUP_LOADS, 1, 3, &why), 0);
    assert_int_equal(perf_fd_budget(&context, GROUP_LOADS, 1, 4, &why), -EMFILE);
    perf_events_close(&context, GROUP_LOADS, &fd);
    assert_int_equal(context.open_counters, 0);
    encoded_event_release(&loads);
}

PERF_TEST(test_missing_hardware)
{
    struct verdict why;
    fixture->pmu.no_pmu = true;
    perf_fixture_start(fixture);
    perf_fixture_refuses(fixture, SCOPE_CGROUP, GROUP_CORE, REASON_NO_PMU, "virtual machine");

    /* There is a PMU, but no table for the CPU; then neither. */
    fixture->config.table = NULL;
    perf_fixture_start(fixture);
    perf_fixture_refuses(fixture, SCOPE_CGROUP, GROUP_CORE, REASON_UNSUPPORTED_CPU,
                         "--events.file");
    char path[128];
    snprintf(path, sizeof path, "%s/sys/bus/event_source/devices/cpu/type", fixture->tree.root);
    assert_int_equal(unlink(path), 0);
    perf_fixture_start(fixture);
    perf_fixture_refuses(fixture, SCOPE_CGROUP, GROUP_CORE, REASON_NO_PMU, "");

    /* A table without persistent memory still has the stalls group; none has asm_epochs. */
    fixture->config.table = &event_table_skx;
    fixture->pmu.no_pmu = false;
    perf_fixture_start(fixture);
    assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_STALLS, &why));
    assert_int_equal(perf_source_roles(fixture->source, GROUP_STALLS), 0xf);
    perf_fixture_refuses(fixture, SCOPE_CGROUP, GROUP_ASM_EPOCHS, REASON_UNSUPPORTED_CPU, "");
}

/* Counting oneself may be allowed where counting containers is not. */
PERF_TEST(test_permission)
{
    struct verdict why;
    fixture->pmu.system_wide_error = -EACCES;
    perf_fixture_start(fixture);
    assert_true(perf_fixture_check(fixture, SCOPE_THREAD, GROUP_CORE, &why));
    assert_false(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_int_equal(why.reason, REASON_NO_PERMISSION);
    assert_non_null(strstr(why.words, "kernel.perf_event_paranoid is 2"));
    assert_non_null(strstr(why.words, "CAP_PERFMON"));
    fixture_write(&fixture->tree, "proc/sys/kernel/perf_event_paranoid", "3\n");
    perf_fixture_start(fixture);
    assert_false(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_non_null(strstr(why.words, "Debian"));
    assert_non_null(strstr(why.words, "CAP_SYS_ADMIN"));
}

/* The kernel refuses before it looks for the PMU, which many virtual machines do not have. */
PERF_TEST(test_permission_for_what_is_not_there)
{
    char path[128];
    fixture->pmu.error = -EACCES;
    fixture_write(&fixture->tree, "sys/bus/event_source/devices/software/type", "1\n");
    perf_fixture_start(fixture);
    perf_fixture_refuses(fixture, SCOPE_CGROUP, GROUP_CORE, REASON_NO_PERMISSION, "");

    snprintf(path, sizeof path, "%s/sys/bus/event_source/devices/cpu/type", fixture->tree.root);
    assert_int_equal(unlink(path), 0);
    for (int error = -EACCES; error != 0; error = error == -EACCES ? -EPERM : 0) {
        fixture->pmu.error = error;
        perf_fixture_start(fixture);
        perf_fixture_refuses(fixture, SCOPE_CGROUP, GROUP_CORE, REASON_NO_PMU, "bare metal");
    }

    /* A software event is there; a sysfs that shows nothing tells nothing. */
    fixture->file.event[ROLE_CYCLES] = "software:cpu-clock";
    perf_fixture_start(fixture);
    perf_fixture_refuses(fixture, SCOPE_CGROUP, GROUP_CORE, REASON_NO_PERMISSION, "");
    fixture->file.event[ROLE_CYCLES] = NULL;
    snprintf(path, sizeof path, "%s/sys/bus/event_source/devices/software/type",
             fixture->tree.root);
    assert_int_equal(unlink(path), 0);
    perf_fixture_start(fixture);
    perf_fixture_refuses(fixture, SCOPE_CGROUP, GROUP_CORE, REASON_NO_PERMISSION, "");
}

PERF_TEST(test_cgroup_refusals)
{
    struct verdict why;
    uint64_t inode, handle = 77;
    char path[256];
    int fd = perf_fixture_cgroup(fixture, "a", &inode);
    struct scope scope = {.kind = SCOPE_CGROUP, .key = "/a", .cgroup_fd = fd};
    perf_fixture_start(fixture);
    assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));

    fixture->pmu.cgroup_error = -ENOENT;
    assert_int_equal(fixture->source->ops->open(fixture->source, &scope, GROUP_CORE, &handle, &why),
                     -ENOENT);
    assert_int_equal(why.reason, REASON_NO_DEVICE);
    assert_non_null(strstr(why.words, "cgroup.subtree_control"));

    snprintf(path, sizeof path, "%s/host/cgroup/a/cgroup.procs", fixture->tree.root);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(fixture->source->ops->open(fixture->source, &scope, GROUP_CORE, &handle, &why),
                     -ESRCH);
    assert_non_null(strstr(why.words, "/a is gone"));
    assert_int_equal(handle, 77);
    assert_int_equal(fixture->pmu.open, 0);
    close(fd);
}

PERF_TEST(test_fd_exhaustion_leaves_nothing)
{
    struct verdict why;
    uint64_t inode, handle = 77;
    int fd = perf_fixture_cgroup(fixture, "a", &inode);
    struct scope scope = {.kind = SCOPE_CGROUP, .key = "/a", .cgroup_fd = fd};
    perf_fixture_start(fixture);
    assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
    int lowest = dup(fd);
    close(lowest);
    for (int k = 1; k <= 14; k++) {
        fixture->pmu.fail_open = k;
        assert_int_equal(
            fixture->source->ops->open(fixture->source, &scope, GROUP_CORE, &handle, &why),
            -EMFILE);
        assert_int_equal(why.reason, REASON_FD_LIMIT);
        assert_int_equal(fixture->pmu.open, 0);
        assert_int_equal(fixture->source->ops->open_counters(fixture->source), 0);
        assert_int_equal(handle, 77);
        int next = dup(fd); /* the copy of the cgroup's descriptor is closed as well */
        assert_int_equal(next, lowest);
        close(next);
    }
    fixture->pmu.fail_open = 15;
    assert_int_equal(fixture->source->ops->open(fixture->source, &scope, GROUP_CORE, &handle, &why),
                     0);
    close(fd);
}

PERF_TEST(test_out_of_memory)
{
    struct verdict why;
    uint64_t inode, handle = 77;
    if (!malloc_fail(0))
        skip();
    perf_fixture_start(fixture);
    assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
    int fd = perf_fixture_cgroup(fixture, "a", &inode), err = -ENOMEM, tries = 0;
    struct scope scope = {.kind = SCOPE_CGROUP, .key = "/a", .cgroup_fd = fd};
    for (; err; tries++) {
        malloc_fail((uint64_t)tries + 1);
        err = fixture->source->ops->open(fixture->source, &scope, GROUP_CORE, &handle, &why);
        malloc_fail(0);
        if (!err)
            break;
        assert_int_equal(err, -ENOMEM);
        assert_int_equal(handle, 77);
        assert_int_equal(why.reason, REASON_NO_DEVICE);
        assert_non_null(strstr(why.words, "annot allocate memory"));
        assert_int_equal(fixture->pmu.open, 0);
    }
    assert_true(tries > 1);
    close(fd);
}

PERF_TEST(test_fd_budget)
{
    struct verdict why;
    uint64_t inode, handle;
    fixture->config.fd_limit = 40;
    perf_fixture_start(fixture);
    perf_fixture_open(fixture, "a", GROUP_CORE, &inode);
    perf_fixture_open(fixture, "b", GROUP_CORE, &inode);
    int fd = perf_fixture_cgroup(fixture, "c", &inode);
    struct scope scope = {.kind = SCOPE_CGROUP, .key = "/c", .cgroup_fd = fd};
    assert_int_equal(fixture->source->ops->open(fixture->source, &scope, GROUP_CORE, &handle, &why),
                     -EMFILE);
    assert_int_equal(why.reason, REASON_FD_LIMIT);
    assert_non_null(strstr(why.words, "needs 14 more"));
    assert_non_null(strstr(why.words, "7 events on each of 2 CPUs"));
    assert_non_null(strstr(why.words, "30 of the 40"));
    close(fd);
}

PERF_TEST(test_exhaustion_at_check_is_not_final)
{
    struct verdict why;
    fixture->pmu.error = -EMFILE;
    perf_fixture_start(fixture);
    perf_fixture_refuses(fixture, SCOPE_CGROUP, GROUP_CORE, REASON_FD_LIMIT, "");
    fixture->pmu.error = 0;
    assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
}

/* Events that the kernel itself counts, from --events.file: no PMU needed, no watchdog minded. */
PERF_TEST(test_software_events)
{
    struct perf_reading out;
    struct verdict why;
    uint64_t inode;
    static char probe[] = "uprobe:/bin/x:0x10", faults[] = "software:page-faults";
    fixture->config.table = NULL;
    fixture->pmu.no_pmu = true;
    fixture->pmu.watchdog = true;
    fixture->file.event[ROLE_CYCLES] = fixture->file.event[ROLE_REF_CYCLES] = probe;
    fixture->file.event[ROLE_L3_MISS_READS] = faults;
    fixture->file.event[ROLE_L3_MISS_READ_OCCUPANCY] = faults;
    perf_fixture_start(fixture);
    assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_string_equal(why.words, ""); /* nothing was dropped: there is no text for it */
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), REQUIRED);
    uint64_t handle = perf_fixture_open(fixture, "a", GROUP_CORE, &inode);
    fake_pmu_run(&fixture->pmu, inode, 0, 0, 11);
    const struct reading_row *row = perf_fixture_row(fixture, handle, GROUP_CORE, 0, &out);
    assert_int_equal(row->present, REQUIRED);
    assert_int_equal(row->running_ns, 11);
    assert_true(row->count[CYCLES] > 0 && row->count[OCCUPANCY] > 0);
    assert_int_equal(row->count[INSTRUCTIONS], 0);

    /* ENOENT for such an event is not about hardware. */
    fixture->pmu.error = -ENOENT;
    perf_fixture_start(fixture);
    perf_fixture_refuses(fixture, SCOPE_CGROUP, GROUP_CORE, REASON_NO_DEVICE, "/bin/x");
}

PERF_TEST(test_bad_event_text)
{
    struct verdict why;
    static char bad[] = "software:nonsense";
    fixture->file.event[ROLE_LLC_READS] = bad;
    perf_fixture_start(fixture);
    /* An extra role: said in the log, the rest works. */
    assert_true(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_int_equal(perf_source_roles(fixture->source, GROUP_CORE), FULL & ~(1 << LLC));
    assert_int_equal(perf_fixture_logged(fixture, "llc_reads is not counted"), 1);
    fixture->file.event[ROLE_CYCLES] = bad;
    perf_fixture_start(fixture);
    assert_false(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_non_null(strstr(why.words, "software:nonsense"));
}

PERF_TEST(test_thread_scope)
{
    struct perf_reading out;
    struct verdict why;
    uint64_t handle;
    struct scope scope = {.kind = SCOPE_THREAD, .key = "p0", .cgroup_fd = -1, .tid = 4711};
    perf_fixture_start(fixture);
    assert_int_equal(fixture->source->ops->open(fixture->source, &scope, GROUP_CORE, &handle, &why),
                     0);
    assert_int_equal(fixture->pmu.open, 7);
    assert_int_equal(fixture->source->ops->width(fixture->source, handle), 1);
    for (int i = 0; i < FAKE_PMU_EVENTS; i++)
        if (fixture->pmu.events[i].used)
            assert_true(fixture->pmu.events[i].attr.exclude_kernel);
    fake_pmu_run(&fixture->pmu, 0, 4711, 1, 33);
    perf_fixture_assert_core(perf_fixture_row(fixture, handle, GROUP_CORE, -1, &out), FULL, 33, 33);
    assert_int_equal(out.reading.n, 1);
}

PERF_TEST(test_cpu_scope)
{
    struct perf_reading out;
    struct verdict why;
    uint64_t handle;
    struct scope scope = {.kind = SCOPE_CPU, .key = "cpu1", .cgroup_fd = -1, .cpu = 1};
    perf_fixture_start(fixture);
    assert_int_equal(fixture->source->ops->open(fixture->source, &scope, GROUP_CORE, &handle, &why),
                     0);
    fake_pmu_run(&fixture->pmu, 0, 0, 1, 21);
    fake_pmu_run(&fixture->pmu, 0, 0, 0, 5);
    perf_fixture_assert_core(perf_fixture_row(fixture, handle, GROUP_CORE, 1, &out), FULL, 21, 21);
    assert_int_equal(out.reading.n, 1);
}
