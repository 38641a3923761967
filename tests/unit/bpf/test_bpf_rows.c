/* Which CPUs a container has rows for, and which of them are read, on machines of 2 to 512 CPUs. */
#include "exporter/source/bpf/rows.h"
#include "exporter/source/window.h"
#include "tests/unit/support/unit.h"

enum { MOST = 512 };

/* What a container has on each CPU, and which of these was asked. */
struct container {
    struct bpf_rows rows;
    uint64_t count[MOST];
    int refuses; /* a CPU; -1: none */
    size_t asked;
    bool asked_of[MOST];
};

static void container_begin(struct container *it, size_t cpus)
{
    *it = (struct container){.refuses = -1};
    assert_int_equal(bpf_rows_init(&it->rows, cpus), 0);
}

static int read_row(const void *context, int cpu, struct reading_row *out)
{
    struct container *it = (struct container *)(uintptr_t)context;
    assert_in_range(cpu, 0, it->rows.possible - 1);
    it->asked++;
    it->asked_of[cpu] = true;
    if (cpu == it->refuses)
        return -EAGAIN;
    *out = (struct reading_row){
        .cpu = cpu, .present = 7, .enabled_ns = it->count[cpu], .running_ns = it->count[cpu]};
    out->count[0] = it->count[cpu];
    return 0;
}

static void run_on(struct container *it, size_t cpu)
{
    it->count[cpu]++;
    it->rows.changed[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

static struct reading reading_new(void)
{
    struct reading reading = {.cap = MOST, .stride_bytes = reading_stride(GROUP_CPI)};
    reading.rows = calloc(MOST, reading.stride_bytes);
    assert_non_null(reading.rows);
    return reading;
}

/* How many were asked; all rows are as of now. */
static size_t find_and_read(struct container *it, struct reading *out)
{
    it->asked = 0;
    bpf_rows_find(&it->rows);
    out->n = 0;
    assert_int_equal(bpf_rows_read(&it->rows, read_row, it, out), 0);
    assert_int_equal(out->n, it->rows.n);
    size_t all = 0;
    for (size_t cpu = 0; cpu < it->rows.possible; cpu++)
        all += it->count[cpu] > 0;
    assert_int_equal(out->n, all);
    for (size_t i = 0; i < out->n; i++) {
        const struct reading_row *row = reading_row(out, i);
        assert_int_equal(row->count[0], it->count[row->cpu]);
    }
    return it->asked;
}

TEST(rows_stay_where_they_are)
{
    static const uint16_t cpus[] = {5, 100, 0, 7, 127};
    struct container it;
    struct reading out = reading_new();
    container_begin(&it, 128);
    assert_int_equal(find_and_read(&it, &out), 0);
    run_on(&it, 100);
    run_on(&it, 5);
    find_and_read(&it, &out);
    for (size_t n = 3; n <= 5; n++) {
        run_on(&it, cpus[n - 1]);
        find_and_read(&it, &out);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(reading_row(&out, i)->cpu, cpus[i]);
    }
    free(out.rows);
    bpf_rows_release(&it.rows);
}

/* By turns into two readings, as groups are read: a row that has changed is written into both, and
 * no other is. */
TEST(only_what_has_changed_is_read)
{
    static const size_t machines[] = {2, 63, 64, 65, 128, MOST};
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
        size_t last = machines[m] - 1;
        struct container it;
        struct reading out[2] = {reading_new(), reading_new()};
        container_begin(&it, machines[m]);
        for (size_t cpu = 0; cpu <= last; cpu++)
            run_on(&it, cpu);
        assert_int_equal(find_and_read(&it, &out[0]), last + 1);
        assert_int_equal(find_and_read(&it, &out[1]), last + 1); /* a new one */
        assert_int_equal(find_and_read(&it, &out[0]), 0);
        memset(it.asked_of, 0, sizeof it.asked_of);
        run_on(&it, last);
        assert_int_equal(find_and_read(&it, &out[1]), 1);
        run_on(&it, 0);
        assert_int_equal(find_and_read(&it, &out[0]), 2);
        assert_int_equal(find_and_read(&it, &out[1]), 1);
        assert_int_equal(find_and_read(&it, &out[0]), 0);
        assert_true(it.asked_of[0] && it.asked_of[last]);
        for (int i = 0; i < 2; i++)
            free(out[i].rows);
        bpf_rows_release(&it.rows);
    }
}

/* The sum of a window over the rows that have changed is that over all of them: of CPUs that come
 * by and by, of readings that fail, and of what is written anew. */
TEST(sums_are_those_of_all_rows)
{
    struct container it;
    struct reading out[2] = {reading_new(), reading_new()};
    unsigned random = 1, fewer = 0;
    container_begin(&it, 128);
    for (int tick = 0; tick < 1000; tick++) {
        for (size_t n = (random = random * 1103515245 + 12345) >> 16 & 7; n > 0; n--)
            run_on(&it, (random = random * 1103515245 + 12345) >> 16 & 127);
        struct reading *now = &out[tick % 2];
        const struct reading *before = &out[!(tick % 2)];
        if (tick % 50 == 7) {
            it.refuses = reading_row(now, 0)->cpu;
            run_on(&it, (size_t)it.refuses);
            bpf_rows_find(&it.rows);
            assert_int_equal(bpf_rows_read(&it.rows, read_row, &it, now), -EAGAIN);
            it.refuses = -1;
        }
        if (tick % 50 == 20)
            bpf_rows_renew(&it.rows);
        find_and_read(&it, now);
        struct window_sum sum, of_all;
        struct reading plain = *now;
        plain.changed = NULL;
        window_sum_rows(&sum, GROUP_CPI, before, now);
        window_sum_rows(&of_all, GROUP_CPI, before, &plain);
        assert_memory_equal(&sum, &of_all, sizeof sum);
        fewer += now->n_changed < now->n && before->as_of + 1 == now->as_of;
    }
    assert_true(fewer > 900);
    for (int i = 0; i < 2; i++)
        free(out[i].rows);
    bpf_rows_release(&it.rows);
}

TEST(what_may_be_old_is_read_anew)
{
    struct container it;
    struct reading out[3] = {reading_new(), reading_new(), reading_new()};
    container_begin(&it, 128);
    for (size_t cpu = 0; cpu < 100; cpu++)
        run_on(&it, cpu);
    for (int i = 0; i < 3; i++) /* each is new */
        assert_int_equal(find_and_read(&it, &out[i]), 100);
    assert_int_equal(find_and_read(&it, &out[0]), 100); /* there was one more in between */

    find_and_read(&it, &out[1]);
    run_on(&it, 3);
    it.refuses = 3;
    assert_int_equal(bpf_rows_read(&it.rows, read_row, &it, &out[0]), -EAGAIN);
    it.refuses = -1;
    assert_int_equal(find_and_read(&it, &out[0]), 100);
    assert_int_equal(find_and_read(&it, &out[1]), 100);
    assert_int_equal(find_and_read(&it, &out[0]), 0);

    bpf_rows_renew(&it.rows);
    assert_int_equal(find_and_read(&it, &out[1]), 100);
    assert_int_equal(find_and_read(&it, &out[0]), 100);
    assert_int_equal(find_and_read(&it, &out[1]), 0);

    run_on(&it, 100);
    bpf_rows_find(&it.rows);
    out[0].cap = 100;
    assert_int_equal(bpf_rows_read(&it.rows, read_row, &it, &out[0]), -ENOSPC);
    out[0].cap = MOST;
    assert_int_equal(find_and_read(&it, &out[0]), 1);
    for (int i = 0; i < 3; i++)
        free(out[i].rows);
    bpf_rows_release(&it.rows);
}

TEST(room)
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
