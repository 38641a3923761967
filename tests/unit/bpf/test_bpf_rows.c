/* Which CPUs a container has rows for, on machines of 2, 128 and 512 CPUs. */
#include "exporter/source/bpf/rows.h"
#include "tests/unit/support/unit.h"

enum { MOST = 512 };

static const size_t machines[] = {2, 128, MOST};
enum { MACHINES = sizeof machines / sizeof *machines };

/* Where a container has run, and how often that was asked. */
struct machine {
    bool ran[MOST];
    size_t asked[MOST], all;
};

static bool has_run(const void *context, int cpu)
{
    struct machine *machine = (struct machine *)(uintptr_t)context;
    assert_in_range(cpu, 0, MOST - 1);
    machine->asked[cpu]++;
    machine->all++;
    return machine->ran[cpu];
}

/* How many were asked. */
static size_t find(struct bpf_rows *rows, struct machine *machine)
{
    size_t before = machine->all;
    bpf_rows_find(rows, has_run, machine);
    return machine->all - before;
}

static void assert_rows(const struct bpf_rows *rows, const uint16_t *cpus, size_t n)
{
    assert_int_equal(rows->n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(rows->cpus[i], cpus[i]);
}

TEST(test_where_it_has_run)
{
    static const uint16_t cpus[] = {5, 100, 0, 7, 127};
    struct machine machine = {0};
    struct bpf_rows rows;
    assert_int_equal(bpf_rows_init(&rows, 128), 0);
    find(&rows, &machine);
    assert_rows(&rows, NULL, 0);
    machine.ran[5] = machine.ran[100] = true;
    find(&rows, &machine);
    assert_rows(&rows, cpus, 2);
    for (size_t i = 2; i < 5; i++) { /* earlier rows stay where they are */
        machine.ran[cpus[i]] = true;
        find(&rows, &machine);
        assert_rows(&rows, cpus, i + 1);
    }
    bpf_rows_release(&rows);
}

/* One look at each CPU without a row, and none at the others: the work grows with the CPUs, not
 * with their square. */
TEST(test_asks_once)
{
    for (size_t m = 0; m < MACHINES; m++) {
        size_t n = machines[m], all = 0;
        struct machine machine = {0};
        struct bpf_rows rows;
        assert_int_equal(bpf_rows_init(&rows, n), 0);
        for (size_t have = 0; have < n; have += n / 2) {
            assert_int_equal(rows.n, have);
            for (size_t cpu = 0; cpu < n / 2; cpu++)
                machine.ran[(2 * cpu + 2 * have / n) % n] = true;
            all += find(&rows, &machine);
        }
        assert_int_equal(all, n + n / 2);
        assert_int_equal(find(&rows, &machine), 0);
        assert_int_equal(rows.n, n);
        for (size_t cpu = 0; cpu < n; cpu++) {
            assert_in_range(machine.asked[cpu], 1, 2);
            machine.asked[rows.cpus[cpu]] = 1;
        }
        for (size_t cpu = 0; cpu < n; cpu++) /* each has one row */
            assert_int_equal(machine.asked[cpu], 1);
        bpf_rows_release(&rows);
    }
}

TEST(test_room)
{
    static const struct {
        size_t possible, n, room;
    } cases[] = {{2, 0, 2},    {2, 2, 2},       {128, 0, 8},     {128, 7, 8},
                 {128, 8, 16}, {128, 127, 128}, {128, 128, 128}, {512, 128, 136}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bpf_rows rows = {.n = cases[i].n, .possible = cases[i].possible};
        assert_int_equal(bpf_rows_room(&rows), cases[i].room);
    }
}
