/*
 * The replay cursor and its source, over the hand-written recordings of tests/replay and over
 * broken ones made here. Windows go the collectors' way: source set, then window_read.
 */
#include <unistd.h>

#include "collectors/parts/window_read.h"
#include "exporter/source/recording/replay.h"
#include "exporter/source/source_set.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/recordings.h"
#include "tests/unit/support/unit.h"
#include "tests/unit/support/wanderer.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define REPLAYS IE_SOURCE_DIR "/tests/replay/"

/* A recording with a source set over it, as main wires them. */
struct playing {
    struct replay *replay;
    struct source *source; /* the set's */
    struct source_set *set;
    struct tick tick;
    struct collector_status books;
};

static void play(struct playing *p, const char *path)
{
    char error[512] = "";
    memset(p, 0, sizeof *p);
    if (replay_open(path, &p->replay, error, sizeof error))
        fail_msg("%s", error);
    assert_int_equal(replay_source_new(p->replay, &p->source), 0);
    p->set = set_over(p->source);
}

static void stop(struct playing *p)
{
    source_set_free(p->set);
    replay_free(p->replay);
}

static bool advance(struct playing *p)
{
    char error[512] = "";
    int got = replay_next(p->replay, &p->tick, error, sizeof error);
    if (got < 0)
        fail_msg("%s", error);
    if (got == 1)
        assert_int_equal(source_set_begin(p->set, &p->tick), 0);
    return got == 1;
}

/* ---- windows of the hand-written recordings ---- */

enum { NO_LINE = -ENODATA };

struct window_row {
    uint64_t tick;
    const char *key;
    int status; /* enum window_status, or NO_LINE */
    uint64_t cycles, ref_cycles, reads, occupancy;
};

struct window_table {
    const char *file;
    const struct window_row *rows;
    size_t n;
};

static const struct window_row worked[] = {
    {1, "c1", WINDOW_OK, 2100000000, 2100000000, 1000000, 124500000},
    {1, "c2", WINDOW_OK, 2600000000, 2100000000, 1000000, 156900000},
    {2, "c1", WINDOW_OK, 2100000000, 2100000000, 1000000, 124500000},
    {2, "c2", WINDOW_OK, 2600000000, 2100000000, 1000000, 156900000},
    {3, "c1", WINDOW_OK, 2100000000, 2100000000, 1000000, 124500000},
    {3, "c2", WINDOW_OK, 2600000000, 2100000000, 1000000, 156900000},
};

static const struct window_row multiplexed[] = {
    {1, "c1", WINDOW_OK, 2100000000, 2100000000, 1000000, 124500000},
    /* CPU 0: 1,575,000,000 / 0.75 and so on; CPU 1: 262,500,000 * 4 and so on. */
    {2, "c1", WINDOW_OK, 2100000000u + 1050000000, 2100000000u + 1050000000, 1000000 + 500000,
     124500000 + 62250000},
    /* CPU 0 holds; CPU 1 by 10/3: 630,000,001 -> 2,100,000,003.3, 100,000 -> 333,333.3 */
    {3, "c1", WINDOW_OK, 2100000003, 2100000000, 333333, 41500000},
};

static const struct window_row starved[] = {
    {1, "c1", WINDOW_OK, 2100000000, 2100000000, 1000000, 124500000},
    {1, "c2", WINDOW_OK, 5200000000, 4200000000, 2000000, 313800000},
    {2, "c1", WINDOW_STARVED, 0, 0, 0, 0},
    {2, "c2", WINDOW_OK, 2600000000, 2100000000, 1000000, 156900000},
    {3, "c1", WINDOW_OK, 2100000000, 2100000000, 1000000, 124500000},
    {3, "c2", WINDOW_OK, 5200000000, 4200000000, 2000000, 313800000},
};

static const struct window_row reset[] = {
    {1, "c1", WINDOW_OK, 10500000000, 10500000000, 5000000, 622500000},
    {1, "c2", WINDOW_OK, 5200000000, 4200000000, 2000000, 313800000},
    {2, "c1", WINDOW_RESET, 0, 0, 0, 0},
    {2, "c2", WINDOW_OK, 5200000000, 4200000000, 2000000, 313800000},
    {3, "c1", WINDOW_OK, 2100000000, 2100000000, 1000000, 124500000},
    {3, "c2", WINDOW_RESET, 0, 0, 0, 0},
    {4, "c1", WINDOW_OK, 2100000000, 2100000000, 1000000, 124500000},
    {4, "c2", WINDOW_OK, 5200000000, 4200000000, 2000000, 313800000},
};

static const struct window_row idle[] = {
    {1, "c1", WINDOW_OK, 2100000000, 2100000000, 1000000, 124500000},
    {1, "c2", WINDOW_IDLE, 0, 0, 0, 0},
    {2, "c1", WINDOW_IDLE, 0, 0, 0, 0},
    {2, "c2", WINDOW_OK, 2600000000, 2100000000, 0, 0},
    {3, "c1", NO_LINE, 0, 0, 0, 0},
    {3, "c2", WINDOW_IDLE, 0, 0, 0, 0},
    /* Reaches back over the tick without a line. */
    {4, "c1", WINDOW_OK, 4200000000, 4200000000, 2000000, 249000000},
    {4, "c2", WINDOW_OK, 2600000000, 2100000000, 1000000, 156900000},
};

static const struct window_row late[] = {
    {1, "c1", NO_LINE, 0, 0, 0, 0},
    /* The first reading reaches back to the opening. */
    {2, "c1", WINDOW_OK, 3150000000, 3150000000, 1500000, 186750000},
    {3, "c1", WINDOW_OK, 2100000000u + 840000000, 2100000000u + 840000000, 1000000 + 400000,
     124500000 + 49800000},
    {3, "c2", WINDOW_OK, 780000000, 630000000, 300000, 47070000},
    {4, "c1", WINDOW_OK, 2100000000, 2100000000, 1000000, 124500000},
    {4, "c2", WINDOW_OK, 2600000000, 2100000000, 1000000, 156900000},
    {4, "c3", WINDOW_OK, 130000000, 105000000, 50000, 7845000},
    {5, "c1", WINDOW_OK, 2100000000, 2100000000, 1000000, 124500000},
    {5, "c2", WINDOW_OK, 520000000, 420000000, 200000, 31380000},
    {6, "c1", WINDOW_OK, 2100000000, 2100000000, 1000000, 124500000},
};

#define TABLE(name)                                                                                \
    {                                                                                              \
#name ".jsonl", name, COUNT(name)                                                          \
    }
static const struct window_table tables[] = {TABLE(worked), TABLE(multiplexed), TABLE(starved),
                                             TABLE(reset),  TABLE(idle),        TABLE(late)};

static void check_window(struct playing *p, const char *file, const struct window_row *want,
                         group_handle handle)
{
    static const enum role roles[] = {ROLE_CYCLES, ROLE_REF_CYCLES, ROLE_L3_MISS_READS,
                                      ROLE_L3_MISS_READ_OCCUPANCY};
    const uint64_t counts[] = {want->cycles, want->ref_cycles, want->reads, want->occupancy};
    enum window_status status;
    struct window_sum sum;
    int error = window_read(p->set, handle, &p->books, &sum, &status);
    int got = error ? error : (int)status;
    if (got != want->status)
        fail_msg("%s tick %d %s: got %d, want %d", file, (int)want->tick, want->key, got,
                 want->status);
    if (got != WINDOW_OK)
        return;
    for (size_t i = 0; i < COUNT(roles); i++) {
        uint64_t count = 0;
        assert_true(window_count(&sum, GROUP_CORE, roles[i], &count));
        if (count != counts[i])
            fail_msg("%s tick %d %s %s: got %llu, want %llu", file, (int)want->tick, want->key,
                     role_name(roles[i]), (unsigned long long)count, (unsigned long long)counts[i]);
    }
}

static void check_table(const struct window_table *table)
{
    struct playing p;
    char path[512];
    group_handle handles[4] = {0}; /* by the digit of "c1" */
    size_t row = 0;

    snprintf(path, sizeof path, REPLAYS "%s", table->file);
    play(&p, path);
    while (advance(&p)) {
        assert_int_equal(p.tick.interval_ns, 1000000000);
        assert_int_equal(p.tick.mono_ns, p.tick.number * 1000000000);
        for (; row < table->n && table->rows[row].tick == p.tick.number; row++) {
            const struct window_row *want = &table->rows[row];
            group_handle *handle = &handles[want->key[1] - '0'];
            if (!*handle)
                *handle = open_key(p.set, SCOPE_CGROUP, want->key, GROUP_CORE);
            check_window(&p, table->file, want, *handle);
        }
    }
    assert_int_equal(row, table->n);
    stop(&p);
}

TEST(test_windows)
{
    for (size_t i = 0; i < COUNT(tables); i++)
        check_table(&tables[i]);
}

TEST(test_gone_container)
{
    const struct scope c2 = {.kind = SCOPE_CGROUP, .key = "c2", .cgroup_fd = -1};
    struct group_window window;
    struct verdict why;
    struct playing p;
    group_handle handle, other;

    play(&p, REPLAYS "late.jsonl");
    while (p.tick.number < 5)
        assert_true(advance(&p));
    handle = open_key(p.set, SCOPE_CGROUP, "c2", GROUP_CORE);
    assert_int_equal(source_set_read(p.set, handle, &window), 0); /* its last counts */
    assert_true(advance(&p));
    assert_int_equal(source_set_read(p.set, handle, &window), -ENODATA);
    assert_int_equal(source_set_open(p.set, &c2, GROUP_STALLS, &other, &why), -ENOENT);
    assert_string_equal(why.words, "the recording has nothing with the key c2");
    source_set_close(p.set, handle);
    assert_int_equal(source_set_open(p.set, &c2, GROUP_CORE, &other, &why), -ENOENT);
    stop(&p);
}

/* ---- everything that is not a container's ---- */

TEST(test_every_kind_of_line)
{
    struct group_window window;
    const struct probe_reading *probes;
    struct playing p;
    size_t n;

    play(&p, REPLAYS "lines.jsonl");
    assert_string_equal(replay_machine(p.replay)->microarchitecture, "clx");
    assert_true(replay_machine(p.replay)->base_frequency_hz == 2.1e9);
    assert_int_equal(replay_interval_ns(p.replay), 1000000000);
    assert_string_equal(replay_units(p.replay, &n)->key, "imc0");
    assert_int_equal(n, 1);
    assert_string_equal(replay_threads(p.replay, &n)->key, "p0");
    assert_int_equal(n, 1);

    assert_true(advance(&p));
    assert_true(p.tick.wall_ns == 1790000001000000000);
    probes = source_set_probes(p.set, &n);
    assert_int_equal(n, 2);
    assert_true(probes[0].latency_ns == 88.8);
    assert_true(probes[1].latency_ns == 89.1);

    group_handle imc = open_key(p.set, SCOPE_UNIT, "imc0", GROUP_RPQ);
    assert_int_equal(source_set_read(p.set, imc, &window), 0);
    assert_int_equal(window.after->n, 1);
    assert_int_equal(reading_row(window.after, 0)->cpu, -1);
    assert_int_equal(reading_row(window.after, 0)->count[2], 600000000);

    group_handle probe = open_key(p.set, SCOPE_THREAD, "p0", GROUP_CORE);
    assert_int_equal(source_set_read(p.set, probe, &window), 0);
    assert_int_equal(reading_row(window.after, 0)->enabled_ns, 100000);

    /* Roles that this machine did not count: stalls_l3_miss and loads_local_pmm. */
    group_handle stalls = open_key(p.set, SCOPE_CGROUP, "c1", GROUP_STALLS);
    assert_int_equal(source_set_read(p.set, stalls, &window), 0);
    assert_int_equal(reading_row(window.after, 0)->present, 1 << 0 | 1 << 2 | 1 << 3);

    group_handle epochs = open_key(p.set, SCOPE_CGROUP, "c1", GROUP_ASM_EPOCHS);
    assert_int_equal(source_set_read(p.set, epochs, &window), 0);
    assert_int_equal(reading_row(window.after, 0)->count[10], 10000);

    assert_true(advance(&p));
    probes = source_set_probes(p.set, &n);
    assert_int_equal(n, 1);
    assert_true(probes[0].latency_ns == 90.5);
    assert_int_equal(source_set_read(p.set, imc, &window), -ENODATA);
    assert_false(advance(&p));
    stop(&p);
}

TEST(test_check)
{
    struct verdict why;
    struct playing p;

    play(&p, REPLAYS "lines.jsonl");
    assert_true(source_set_check(p.set, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_true(source_set_check(p.set, SCOPE_UNIT, GROUP_RPQ, &why));
    assert_true(source_set_check(p.set, SCOPE_THREAD, GROUP_CORE, &why));
    assert_int_equal(why.reason, REASON_OK);
    assert_false(source_set_check(p.set, SCOPE_CPU, GROUP_CORE, &why));
    assert_int_equal(why.reason, REASON_NO_DEVICE);
    stop(&p);

    play(&p, REPLAYS "worked.jsonl");
    assert_true(source_set_check(p.set, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_false(source_set_check(p.set, SCOPE_UNIT, GROUP_RPQ, &why));
    assert_string_equal(why.words, "the recording has no memory controllers");
    assert_false(source_set_check(p.set, SCOPE_THREAD, GROUP_CORE, &why));
    assert_string_equal(why.words, "the recording has no probe threads");

    const struct scope unit = {.kind = SCOPE_UNIT, .key = "c1"};
    group_handle handle;

    /* Only what the recorded CPU has events for. */
    replay_source_lacks(p.source, 1u << GROUP_CORE);
    assert_false(source_set_check(p.set, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_int_equal(why.reason, REASON_UNSUPPORTED_CPU);
    assert_non_null(strstr(why.words, "clx"));
    assert_true(source_set_check(p.set, SCOPE_CGROUP, GROUP_FILLS, &why));
    assert_true(source_set_check(p.set, SCOPE_CGROUP, GROUP_STORES, &why));

    assert_int_equal(source_set_open(p.set, &unit, GROUP_RPQ, &handle, &why), -ENOENT);
    stop(&p);
}

/* A reading of the last tick is not handed out again when the recording is over. */
TEST(test_after_the_end)
{
    struct group_window window;
    const struct tick tick = {.number = 99};
    struct playing p;
    size_t n;

    play(&p, REPLAYS "worked.jsonl");
    while (advance(&p))
        ;
    group_handle handle = open_key(p.set, SCOPE_CGROUP, "c1", GROUP_CORE);
    assert_int_equal(source_set_begin(p.set, &tick), 0);
    assert_int_equal(source_set_read(p.set, handle, &window), -ENODATA);
    source_set_probes(p.set, &n);
    assert_int_equal(n, 0);
    stop(&p);
}

/* ---- the source's buffers ---- */

static void add_line(char *text, size_t size, const char *format, ...)
{
    size_t len = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + len, size - len, format, args);
    va_end(args);
}

/* Rows keep their place while CPUs come in any order, are missing, or come late. */
TEST(test_rows_keep_their_cpu)
{
    static const int order[3][5] = {{3, 1, -1}, {1, 3, 0, 2, -1}, {2, -1}};
    char text[4096] = HEADER CONTAINER("c1"), path[64];
    struct group_window window;
    struct playing p;

    for (int t = 0; t < 3; t++) {
        add_line(text, sizeof text, "{\"tick\":%d,\"mono_ns\":%d,\"wall_ns\":1}\n", t + 1, t + 1);
        for (int i = 0; order[t][i] >= 0; i++)
            add_line(text, sizeof text,
                     "{\"read\":\"c1\",\"group\":\"loads\",\"cpu\":%d,\"enabled_ns\":%d,"
                     "\"running_ns\":%d,\"values\":{\"loads\":%d}}\n",
                     order[t][i], t + 1, t + 1, 100 * (t + 1) + order[t][i]);
    }
    recording_write(path, text, strlen(text));
    play(&p, path);
    unlink(path);
    group_handle handle = open_key(p.set, SCOPE_CGROUP, "c1", GROUP_LOADS);

    static const struct {
        size_t n;
        int cpu[4];
        uint64_t count[4];
    } want[3] = {{2, {3, 1}, {103, 101}},
                 {4, {3, 1, 0, 2}, {203, 201, 200, 202}},
                 {4, {3, 1, 0, 2}, {203, 201, 200, 302}}};
    for (int t = 0; t < 3; t++) {
        assert_true(advance(&p));
        assert_int_equal(source_set_read(p.set, handle, &window), 0);
        assert_int_equal(window.after->n, want[t].n);
        assert_int_equal(window.before->n, t ? want[t - 1].n : 0);
        for (size_t i = 0; i < want[t].n; i++) {
            const struct reading_row *row = reading_row(window.after, i);
            assert_int_equal(row->cpu, want[t].cpu[i]);
            assert_int_equal(row->count[0], want[t].count[i]);
        }
    }
    stop(&p);
}

TEST(test_steady_reads_do_not_allocate)
{
    if (!malloc_count_works())
        skip();
    struct group_window window;
    struct playing p;

    play(&p, REPLAYS "worked.jsonl");
    assert_true(advance(&p));
    group_handle c1 = open_key(p.set, SCOPE_CGROUP, "c1", GROUP_CORE);
    group_handle c2 = open_key(p.set, SCOPE_CGROUP, "c2", GROUP_CORE);
    do {
        uint64_t before = malloc_count();
        assert_int_equal(source_set_read(p.set, c1, &window), 0);
        assert_int_equal(source_set_read(p.set, c2, &window), 0);
        assert_int_equal(malloc_count(), before);
    } while (advance(&p));
    stop(&p);
}

/* Handles that are closed after the cursor moved on, in any order, with a key that came back. */
TEST(test_handles_outlive_their_key)
{
    const char text[] = HEADER CONTAINER("c1") TICK(1) READ("c1", "") "{\"gone\":\"c1\"}\n" TICK(2)
        CONTAINER("c1") READ("c1", "\"cpu\":5,");
    const struct scope scope = {.kind = SCOPE_CGROUP, .key = "c1", .cgroup_fd = -1};
    struct replay *replay;
    struct source *source;
    struct tick tick;
    char path[64], error[256];
    uint64_t old, new;
    struct verdict why;
    uint64_t storage[64];
    struct reading out = {.cap = 2, .stride_bytes = reading_stride(GROUP_CORE), .rows = storage};

    recording_write(path, text, strlen(text));
    assert_int_equal(replay_open(path, &replay, error, sizeof error), 0);
    unlink(path);
    assert_int_equal(replay_source_new(replay, &source), 0);
    assert_int_equal(replay_next(replay, &tick, error, sizeof error), 1);
    assert_int_equal(source->ops->open(source, &scope, GROUP_CORE, &old, &why), 0);
    assert_int_equal(source->ops->read(source, old, &out), 0);
    assert_int_equal(replay_next(replay, &tick, error, sizeof error), 1);
    assert_int_equal(source->ops->open(source, &scope, GROUP_CORE, &new, &why), 0);
    assert_int_equal(source->ops->read(source, old, &out), -ENODATA);
    assert_int_equal(source->ops->read(source, new, &out), 0);
    assert_int_equal(reading_row(&out, 0)->cpu, 5);
    out.cap = 0;
    assert_int_equal(source->ops->read(source, new, &out), -ENOSPC);
    source->ops->close(source, old);
    source->ops->close(source, new);
    source->ops->free(source);
    replay_free(replay);
}
