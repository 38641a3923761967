/* The table of processes by number that the tables of what is known of each stand on. */
#include "exporter/source/accesses/process_table.h"
#include "tests/unit/support/unit.h"

static const uint64_t second = 1000000000;

struct process {
    struct pid_entry entry; /* first */
    uint64_t number;
};

static void count_release(void *context, struct pid_entry *entry)
{
    size_t *released = context;
    assert_int_equal(((struct process *)entry)->number, entry->pid * 3);
    ++*released;
}

static struct process *add(struct pid_table *table, uint32_t pid)
{
    struct process *process = (struct process *)pid_table_add(table, pid);
    assert_int_equal(process->entry.pid, pid);
    assert_int_equal(process->entry.died_ns, 0);
    assert_int_equal(process->number, 0);
    process->number = pid * 3;
    return process;
}

static void assert_known(const struct pid_table *table, uint32_t pid, bool known)
{
    const struct process *process = (const struct process *)pid_table_find(table, pid);
    assert_int_equal(process != NULL, known);
    if (process)
        assert_int_equal(process->number, pid * 3);
}

/* Whatever goes, the others are still found: in an order of its own, and by the thousand. */
TEST(what_is_removed)
{
    enum { MAX = 1000 };
    size_t released = 0;
    struct pid_table table = {.release = count_release, .context = &released};
    bool known[MAX + 1] = {0};
    uint32_t seed = 1;
    assert_int_equal(pid_table_init(&table, MAX, sizeof(struct process)), 0);
    assert_int_equal(pid_table_slots(&table), 2048);
    assert_known(&table, 0, false);
    size_t n = 0, removed = 0;
    for (int step = 0; step < 20000; step++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t pid = 1 + (seed >> 12) % MAX;
        if (known[pid]) {
            pid_table_remove(&table, pid_table_find(&table, pid));
            removed++;
            n--;
        } else {
            add(&table, pid);
            n++;
        }
        known[pid] = !known[pid];
        assert_int_equal(table.n, n);
        if (step % 500 == 0)
            for (uint32_t other = 1; other <= MAX; other++)
                assert_known(&table, other, known[other]);
    }
    assert_int_equal(released, removed);
    pid_table_release(&table);
    assert_int_equal(released, removed + n);
    assert_int_equal(pid_table_slots(&table), 0);
}

TEST(the_dead_are_kept_for_a_second)
{
    struct pid_table table = {0};
    assert_int_equal(pid_table_init(&table, 8, sizeof(struct process)), 0);
    for (uint32_t pid = 1; pid <= 5; pid++)
        add(&table, pid);
    pid_table_on_exit(&table, pid_table_find(&table, 1), 1, 2 * second);
    pid_table_on_exit(&table, pid_table_find(&table, 2), 2, 3 * second);
    pid_table_on_exit(&table, pid_table_find(&table, 3), 3, 3 * second);
    pid_table_on_life(&table, pid_table_find(&table, 3)); /* the number is another process's */
    pid_table_on_life(&table, pid_table_find(&table, 4)); /* was never dead */
    pid_table_settle(&table, 3 * second);
    assert_int_equal(table.n, 5);
    pid_table_settle(&table, 3 * second + 1);
    assert_known(&table, 1, false);
    assert_int_equal(table.n, 4);
    pid_table_settle(&table, 4 * second);
    assert_known(&table, 2, true);
    pid_table_settle(&table, 4 * second + 1);
    assert_known(&table, 2, false);
    pid_table_settle(&table, 100 * second);
    for (uint32_t pid = 3; pid <= 5; pid++)
        assert_known(&table, pid, true);
    assert_int_equal(table.dead, 0);

    /* Another wave: what died first counts, though the last one is long ago. */
    for (uint32_t pid = 5; pid >= 3; pid--)
        pid_table_on_exit(&table, pid_table_find(&table, pid), pid, (200 - pid) * second);
    pid_table_remove(&table, pid_table_find(&table, 4));
    assert_int_equal(table.dead, 2);
    pid_table_settle(&table, 197 * second);
    assert_known(&table, 5, false);
    assert_known(&table, 3, true);
    pid_table_settle(&table, 300 * second);
    assert_int_equal(table.n, 0);
    pid_table_release(&table);
}

/* A first thread that ends does not end what its others do. */
TEST(headless)
{
    struct pid_table table = {0};
    assert_int_equal(pid_table_init(&table, 8, sizeof(struct process)), 0);
    struct pid_entry *entry = &add(&table, 7)->entry;
    pid_table_on_exit(&table, entry, 8, second); /* a thread */
    assert_int_equal(entry->died_ns, 0);
    pid_table_on_exit(&table, entry, 7, 2 * second);
    pid_table_on_run(&table, entry, 2 * second); /* its last access */
    assert_int_equal(entry->died_ns, 2 * second);
    pid_table_on_run(&table, entry, 2 * second + 1);
    assert_int_equal(entry->died_ns, 0);
    assert_int_equal(table.dead, 0);
    pid_table_settle(&table, 10 * second);
    assert_known(&table, 7, true);
    /* Any of the others may be the last. */
    pid_table_on_exit(&table, entry, 9, 11 * second);
    pid_table_on_run(&table, entry, 11 * second + 1);
    pid_table_on_exit(&table, entry, 10, 12 * second);
    pid_table_settle(&table, 13 * second + 1);
    assert_known(&table, 7, false);
    /* A process with a first thread has not ended with another. */
    entry = &add(&table, 7)->entry;
    pid_table_on_exit(&table, entry, 7, 20 * second);
    pid_table_on_life(&table, entry);
    pid_table_on_exit(&table, entry, 8, 21 * second);
    assert_int_equal(entry->died_ns, 0);
    assert_int_equal(table.dead, 0);
    pid_table_release(&table);
}
