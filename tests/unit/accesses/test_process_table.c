/* Which cgroup processes are in, and which program they run. */
#include "exporter/source/accesses/process_table.h"
#include "tests/unit/support/unit.h"

#define S UINT64_C(1000000000)

enum { OURS = 500 };

TEST(many_processes)
{
    struct process_table *table;
    assert_int_equal(process_table_new(0, &table), -EINVAL);
    assert_int_equal(process_table_new(100, &table), 0);
    assert_null(process_table_get(table, 0, 0));
    for (uint32_t pid = 1; pid <= 10000; pid++) {
        struct known_process *process = process_table_get(table, pid, 0);
        assert_int_equal(process->entry.pid, pid);
        process->cgroup_id = pid;
        assert_non_null(process_table_get(table, 1, 0)); /* who is used all the time stays */
        assert_true(process_table_count(table) <= 100);
    }
    size_t found = 0;
    for (uint32_t pid = 1; pid <= 10000; pid++) {
        const struct known_process *process = process_table_find(table, pid);
        if (process)
            assert_int_equal(process->cgroup_id, pid);
        found += process != NULL;
    }
    assert_int_equal(found, process_table_count(table));
    assert_non_null(process_table_find(table, 1));
    /* The dead go, but not at once. */
    for (uint32_t pid = 1; pid <= 10000; pid++) {
        const struct kernel_record record = {
            .kind = KERNEL_RECORD_EXIT, .pid = pid, .tid = pid, .time_ns = 5 * S + pid};
        process_table_apply(table, &record);
    }
    process_table_settle(table, 6 * S);
    assert_int_equal(process_table_count(table), 100);
    process_table_settle(table, 7 * S);
    assert_int_equal(process_table_count(table), 0);
    process_table_free(table);
}

/* For that the first thread ends, and the process lives on under its number. */
TEST(another_thread_runs_a_program)
{
    struct process_table *table;
    assert_int_equal(process_table_new(100, &table), 0);
    for (uint32_t pid = 1; pid <= 2; pid++) {
        process_table_get(table, pid, 0)->cgroup_id = OURS;
        const struct kernel_record exit = {
            .kind = KERNEL_RECORD_EXIT, .pid = pid, .tid = pid, .time_ns = 5 * S};
        process_table_apply(table, &exit);
    }
    const struct kernel_record exec = {
        .kind = KERNEL_RECORD_EXEC, .pid = 1, .tid = 1, .time_ns = 5 * S + 1};
    process_table_apply(table, &exec);
    process_table_apply(table, &exec);
    process_table_settle(table, 7 * S);
    assert_int_equal(process_table_count(table), 1);
    assert_non_null(process_table_find(table, 1));
    assert_int_equal(process_table_find(table, 1)->cgroup_id, OURS);
    /* It ends like any other. */
    const struct kernel_record exit = {
        .kind = KERNEL_RECORD_EXIT, .pid = 1, .tid = 1, .time_ns = 8 * S};
    process_table_apply(table, &exit);
    process_table_settle(table, 10 * S);
    assert_int_equal(process_table_count(table), 0);
    process_table_free(table);
}
