/* One channel against hand-computed command sequences. Clocks throughout. */
#include "tests/simnode/model/dram.h"
#include "tests/simnode/model/simclock.h"
#include "tests/unit/support/unit.h"

static struct dram_config simple_config(void)
{
    return (struct dram_config){
        .clock_hz = 1e9,
        .timing = {.cl = 5,
                   .cwl = 4,
                   .rcd = 6,
                   .rp = 7,
                   .ras = 15,
                   .rrd = 2,
                   .faw = 20,
                   .ccd = 4,
                   .burst = 4,
                   .wr = 8,
                   .wtr = 3,
                   .rtp = 3},
        .banks = 8,
        .row_bytes = 1024,
        .read_queue = 8,
        .write_queue = 4,
        .write_high = 3,
        .write_low = 1,
    };
}

/* A channel, and what has been pushed into it. */
struct scene {
    struct dram_config config; /* a test changes it before begin() */
    struct dram_channel channel;
    struct request requests[16];
    size_t n;
    uint64_t clock;
};

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    scene->config = simple_config();
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    dram_release(&scene->channel);
    free(scene);
    return 0;
}

#define DRAM_TEST(name) TEST_ON(name, struct scene *s, setup, teardown)

static void begin(struct scene *s, unsigned apps)
{
    dram_release(&s->channel);
    s->n = 0;
    s->clock = 0;
    assert_int_equal(dram_init(&s->channel, &s->config, apps), 0);
}

/* By bank and row; 'app' tells requests apart. */
static struct request *make(struct scene *s, enum request_kind kind, unsigned bank, uint64_t row,
                            int app)
{
    assert_true(s->n < sizeof s->requests / sizeof *s->requests);
    struct request *request = &s->requests[s->n++];
    *request = (struct request){.kind = kind, .bank = bank, .row = row, .app = app};
    return request;
}

/* A read that comes at this clock; false if there is no place for it in the queue. */
static bool push(struct scene *s, unsigned bank, uint64_t row, int app, uint64_t at)
{
    return dram_push(&s->channel, make(s, REQUEST_READ, bank, row, app), at);
}

/* Steps until a command is issued, at the clock that it is then. */
static struct dram_command next_command(struct scene *s)
{
    for (;;) {
        uint64_t next;
        struct dram_command command = dram_step(&s->channel, s->clock, &next);

        if (command.kind != DRAM_NOTHING || next == SIM_NEVER)
            return command;
        assert_true(next > s->clock);
        s->clock = next;
    }
}

#define expect(s, at, what, whose)                                                                 \
    do {                                                                                           \
        struct dram_command command_ = next_command(s);                                            \
        assert_int_equal(command_.kind, what);                                                     \
        assert_int_equal(command_.request->app, whose);                                            \
        assert_int_equal((s)->clock, at);                                                          \
        (s)->clock++;                                                                              \
    } while (0)

/* Application 0 has opened row 1 of bank 0, and read. */
static void begin_open(struct scene *s)
{
    begin(s, 4);
    push(s, 0, 1, 0, 0);
    expect(s, 0, DRAM_ACT, 0);
    expect(s, 6, DRAM_READ, 0);
}

DRAM_TEST(test_closed_bank_row_hit_and_row_conflict)
{
    struct dram_command command;
    begin(s, 4);
    s->clock = 100;
    /* Closed: ACT at once, RD after tRCD 6, data after CL 5 + burst 4. */
    push(s, 0, 7, 0, s->clock);
    expect(s, 100, DRAM_ACT, 0);
    command = next_command(s);
    assert_int_equal(command.kind, DRAM_READ);
    assert_int_equal(s->clock, 106);
    assert_int_equal(command.data_clock, 115);
    /* Hit: RD at once. */
    s->clock = 200;
    push(s, 0, 7, 1, s->clock);
    command = next_command(s);
    assert_int_equal(command.kind, DRAM_READ);
    assert_int_equal(s->clock, 200);
    assert_int_equal(command.data_clock, 209);
    /* Conflict right after: PRE waits for tRTP 3, ACT for tRP 7, RD for tRCD 6. */
    s->clock = 201;
    push(s, 0, 8, 2, s->clock);
    expect(s, 203, DRAM_PRE, 2);
    expect(s, 210, DRAM_ACT, 2);
    expect(s, 216, DRAM_READ, 2);
}

DRAM_TEST(test_first_ready_then_first_come)
{
    begin_open(s);
    /* The conflict is older, the hits are ready: they pass it, in their own order. */
    push(s, 0, 2, 1, 7);
    push(s, 0, 1, 2, 7);
    push(s, 0, 1, 3, 7);
    expect(s, 10, DRAM_READ, 2); /* the bus is free after burst 4 */
    expect(s, 14, DRAM_READ, 3);
    expect(s, 17, DRAM_PRE, 1); /* tRTP 3 after the last read; tRAS 15 is over */
    expect(s, 24, DRAM_ACT, 1);
    expect(s, 30, DRAM_READ, 1);
    assert_int_equal(s->channel.precharges, 1);
}

DRAM_TEST(test_priority_goes_before_row_hits)
{
    begin_open(s);
    push(s, 0, 1, 0, 7);
    push(s, 0, 2, 1, 7);
    dram_prioritise(&s->channel, 1);
    assert_true(dram_priority_waits_behind_other(&s->channel));
    /* Its bank prepares its row (tRAS 15) although a hit waits; other banks use the free clocks. */
    push(s, 3, 9, 2, 7);
    expect(s, 7, DRAM_ACT, 2);
    expect(s, 13, DRAM_READ, 2);
    expect(s, 15, DRAM_PRE, 1);
    assert_false(dram_priority_waits_behind_other(&s->channel));
    expect(s, 22, DRAM_ACT, 1);
    expect(s, 28, DRAM_READ, 1);
    assert_false(dram_priority_waits_behind_other(&s->channel)); /* nothing of it waits */
    /* Without its requests the rest goes on: row 2 must go for row 1. */
    expect(s, 37, DRAM_PRE, 0);
}

DRAM_TEST(test_between_banks_ready_reads_then_age)
{
    begin_open(s);
    /* At 20 all three are ready: the read first, though it is the youngest; then by age. */
    push(s, 5, 1, 1, 20);
    push(s, 2, 1, 2, 20);
    push(s, 0, 1, 3, 20);
    s->clock = 20;
    expect(s, 20, DRAM_READ, 3);
    expect(s, 21, DRAM_ACT, 1);
    expect(s, 23, DRAM_ACT, 2);
}

DRAM_TEST(test_exclusive_priority_leaves_nothing_to_others)
{
    s->config.priority_exclusive = true;
    begin_open(s);
    push(s, 0, 1, 0, 7);
    push(s, 3, 9, 2, 7);
    push(s, 0, 2, 1, 7);
    dram_prioritise(&s->channel, 1);
    expect(s, 15, DRAM_PRE, 1);
    expect(s, 22, DRAM_ACT, 1);
    expect(s, 28, DRAM_READ, 1);
    /* Only then the others. */
    expect(s, 29, DRAM_ACT, 2);
}

/* With an open row that another still reads, and a drain of writes under way. */
DRAM_TEST(test_priority_after_rows_finishes_what_is_begun)
{
    s->config.priority_after_rows = true;
    begin_open(s);
    push(s, 0, 3, 2, 7);
    push(s, 0, 2, 1, 7);
    push(s, 0, 1, 0, 7);
    dram_prioritise(&s->channel, 1);
    expect(s, 10, DRAM_READ, 0);
    expect(s, 15, DRAM_PRE, 1); /* then the prioritised one, though it is not the oldest */
    expect(s, 22, DRAM_ACT, 1);
    expect(s, 28, DRAM_READ, 1);
    expect(s, 37, DRAM_PRE, 2);
    expect(s, 44, DRAM_ACT, 2);
    /* Other banks, too. */
    push(s, 5, 1, 1, 50);
    push(s, 0, 3, 3, 50);
    s->clock = 50;
    expect(s, 50, DRAM_READ, 2);
    expect(s, 51, DRAM_ACT, 1);
}

/* The queue is full of others, and the prioritised read waits before it: only they can make room.
 */
DRAM_TEST(test_exclusive_priority_needs_a_place_in_the_queue)
{
    s->config.priority_exclusive = true;
    s->config.read_queue = 2;
    begin(s, 4);
    dram_prioritise(&s->channel, 1);
    assert_true(push(s, 0, 1, 0, 0));
    assert_true(push(s, 0, 1, 0, 0));
    assert_false(push(s, 3, 9, 1, 0));
    expect(s, 0, DRAM_ACT, 0);
    expect(s, 6, DRAM_READ, 0);
    expect(s, 7, DRAM_ACT, 1); /* in the queue now, and alone */
    expect(s, 13, DRAM_READ, 1);
    expect(s, 17, DRAM_READ, 0);
}

DRAM_TEST(test_four_activate_window)
{
    uint64_t acts[5];
    int n = 0;
    begin(s, 8);
    for (int i = 0; i < 5; i++)
        push(s, (unsigned)i, 1, i, 0);
    while (n < 5) {
        if (next_command(s).kind == DRAM_ACT)
            acts[n++] = s->clock;
        s->clock++;
    }
    assert_int_equal(acts[0], 0);
    assert_int_equal(acts[1], 2); /* tRRD */
    assert_int_equal(acts[2], 4);
    assert_true(acts[3] >= 6);
    assert_int_equal(acts[4], 20); /* tFAW after the first */
}

static void drain(struct scene *s, int priority_app)
{
    begin(s, 4);
    dram_prioritise(&s->channel, priority_app);
    push(s, 0, 1, 0, 0);
    dram_push(&s->channel, make(s, REQUEST_WRITE, 1, 1, 1), 0);
    dram_push(&s->channel, make(s, REQUEST_WRITE, 1, 1, 1), 0);
    expect(s, 0, DRAM_ACT, 0); /* two writes: below high, reads first */
    dram_push(&s->channel, make(s, REQUEST_WRITE, 1, 1, 1), 1);
    push(s, 0, 1, 0, 1);
    expect(s, 2, DRAM_ACT, 1); /* three: drain down to one */
    expect(s, 8, DRAM_WRITE, 1);
    expect(s, 12, DRAM_WRITE, 1);
    /* Back to reads: CWL 4 + burst 4 + tWTR 3 after the last write. */
    expect(s, 23, DRAM_READ, 0);
    expect(s, 27, DRAM_READ, 0);
    expect(s, 34, DRAM_WRITE, 1); /* no reads left; CL + burst + 2 - CWL after the read */
    assert_int_equal(s->channel.cas_writes, 3);
}

DRAM_TEST(test_writes_drain_between_high_and_low)
{
    drain(s, -1);
    s->config.priority_after_rows = true;
    drain(s, 0); /* whose reads wait */
}

DRAM_TEST(test_a_full_queue_holds_reads_before_it)
{
    s->config.read_queue = 1;
    begin(s, 4);
    assert_true(push(s, 0, 1, 0, 0));
    assert_false(push(s, 0, 1, 1, 0));
    assert_int_equal(s->channel.inserts, 1);
    expect(s, 0, DRAM_ACT, 0);

    struct dram_command command = next_command(s);

    assert_int_equal(command.kind, DRAM_READ);
    assert_ptr_equal(command.inserted, &s->requests[1]);
    assert_int_equal(s->channel.inserts, 2);
}

DRAM_TEST(test_refresh_closes_rows_and_blocks)
{
    s->config.timing.refi = 1000;
    s->config.timing.rfc = 50;
    begin_open(s);
    s->clock = 1010;
    push(s, 0, 1, 1, s->clock); /* its row was open */
    expect(s, 1050, DRAM_ACT, 1);
    expect(s, 1056, DRAM_READ, 1);
}

DRAM_TEST(test_idle_rows_are_closed)
{
    s->config.page_idle_clocks = 100;
    begin_open(s);
    s->clock = 300;
    push(s, 0, 2, 1, s->clock);
    expect(s, 300, DRAM_ACT, 1); /* no precharge to pay */
}

DRAM_TEST(test_locating_is_one_to_one)
{
    bool seen[8][4][16] = {{{false}}}; /* 8 banks, 4 rows, 16 lines of a row */

    for (int hash = 0; hash < 2; hash++) {
        s->config.bank_hash = hash;
        for (uint64_t n = 0; n < 8 * 4 * 16; n++) {
            struct request request = {0};

            dram_locate(&s->config, n, &request);
            assert_true(request.bank < 8 && request.row < 4);
            assert_int_equal(seen[request.bank][request.row][n % 16], hash);
            seen[request.bank][request.row][n % 16] = !hash;
        }
    }
}

/* The application of the next read; commands before it are not looked at. */
static int next_read(struct scene *s)
{
    struct dram_command command;

    do {
        command = next_command(s);
        assert_int_not_equal(command.kind, DRAM_NOTHING);
        s->clock++;
    } while (command.kind != DRAM_READ);
    return command.request->app;
}

/* A row is open. Five more reads of it by one application, and one of another row by another. */
DRAM_TEST(test_a_batch_bounds_the_wait)
{
    static const int plain[] = {0, 0, 0, 0, 0, 1}, batches[] = {0, 0, 1, 0, 0, 0};
    for (int batched = 0; batched < 2; batched++) {
        s->config.batch_cap = batched ? 2 : 0;
        begin(s, 2);
        push(s, 0, 7, 0, 0);
        assert_int_equal(next_read(s), 0);
        for (int i = 0; i < 6; i++)
            push(s, 0, i == 4 ? 9 : 7, i == 4, 0);
        for (int i = 0; i < 6; i++)
            assert_int_equal(next_read(s), batched ? batches[i] : plain[i]);
        assert_int_equal(s->channel.marked, 0);
    }
}

/* All rows differ. Application 0 has three reads in bank 0, 1 has one there and one in bank 1; 2
 * has two in bank 0. So 1 has one at most in a bank, 2 has two, 0 has three. */
DRAM_TEST(test_the_shortest_of_a_batch_goes_first)
{
    static const struct {
        unsigned bank;
        int app;
    } pushed[] = {{0, 0}, {0, 0}, {0, 0}, {0, 1}, {1, 1}, {0, 2}, {0, 2}};
    static const int order[] = {1, 1, 2, 2, 0, 0, 0};
    s->config.batch_cap = 5;
    begin(s, 3);
    for (unsigned i = 0; i < 7; i++)
        push(s, pushed[i].bank, i + 1, pushed[i].app, 0);
    for (int i = 0; i < 7; i++)
        assert_int_equal(next_read(s), order[i]);
}
