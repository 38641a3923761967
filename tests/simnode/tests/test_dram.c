/* One channel against hand-computed command sequences. Clocks throughout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/simnode/model/dram.h"
#include "tests/simnode/model/simclock.h"

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

/* Requests by bank and row; 'app' tells them apart. */
static struct request request_at(unsigned bank, uint64_t row, int app)
{
    return (struct request){.kind = REQUEST_READ, .bank = bank, .row = row, .app = app};
}

/* Steps from *clock until a command is issued; *clock is then its clock. */
static struct dram_command next_command(struct dram_channel *channel, uint64_t *clock)
{
    for (;;) {
        uint64_t next;
        struct dram_command command = dram_step(channel, *clock, &next);

        if (command.kind != DRAM_NOTHING || next == SIM_NEVER)
            return command;
        assert_true(next > *clock);
        *clock = next;
    }
}

#define expect(channel, at, what, whose)                                                           \
    do {                                                                                           \
        struct dram_command command_ = next_command(channel, &clock);                              \
        assert_int_equal(command_.kind, what);                                                     \
        assert_int_equal(command_.request->app, whose);                                            \
        assert_int_equal(clock, at);                                                               \
        clock++;                                                                                   \
    } while (0)

static void test_closed_bank_row_hit_and_row_conflict(void **state)
{
    struct dram_config config = simple_config();
    struct dram_channel channel;
    struct request first = request_at(0, 7, 0), hit = request_at(0, 7, 1);
    struct request conflict = request_at(0, 8, 2);
    struct dram_command command;
    uint64_t clock = 100;

    (void)state;
    assert_int_equal(dram_init(&channel, &config, 4), 0);
    /* Closed: ACT at once, RD after tRCD 6, data after CL 5 + burst 4. */
    dram_push(&channel, &first, clock);
    expect(&channel, 100, DRAM_ACT, 0);
    command = next_command(&channel, &clock);
    assert_int_equal(command.kind, DRAM_READ);
    assert_int_equal(clock, 106);
    assert_int_equal(command.data_clock, 115);
    /* Hit: RD at once. */
    clock = 200;
    dram_push(&channel, &hit, clock);
    command = next_command(&channel, &clock);
    assert_int_equal(command.kind, DRAM_READ);
    assert_int_equal(clock, 200);
    assert_int_equal(command.data_clock, 209);
    /* Conflict right after: PRE waits for tRTP 3, ACT for tRP 7, RD for tRCD 6. */
    clock = 201;
    dram_push(&channel, &conflict, clock);
    expect(&channel, 203, DRAM_PRE, 2);
    expect(&channel, 210, DRAM_ACT, 2);
    expect(&channel, 216, DRAM_READ, 2);
    dram_release(&channel);
}

static void test_first_ready_then_first_come(void **state)
{
    struct dram_config config = simple_config();
    struct dram_channel channel;
    struct request opener = request_at(0, 1, 0), other_row = request_at(0, 2, 1);
    struct request hit = request_at(0, 1, 2), later_hit = request_at(0, 1, 3);
    uint64_t clock = 0;

    (void)state;
    assert_int_equal(dram_init(&channel, &config, 4), 0);
    dram_push(&channel, &opener, 0);
    expect(&channel, 0, DRAM_ACT, 0);
    expect(&channel, 6, DRAM_READ, 0);
    /* The conflict is older, the hits are ready: they pass it, in their own order. */
    dram_push(&channel, &other_row, 7);
    dram_push(&channel, &hit, 7);
    dram_push(&channel, &later_hit, 7);
    expect(&channel, 10, DRAM_READ, 2); /* the bus is free after burst 4 */
    expect(&channel, 14, DRAM_READ, 3);
    expect(&channel, 17, DRAM_PRE, 1); /* tRTP 3 after the last read; tRAS 15 is over */
    expect(&channel, 24, DRAM_ACT, 1);
    expect(&channel, 30, DRAM_READ, 1);
    assert_int_equal(channel.precharges, 1);
    dram_release(&channel);
}

static void test_priority_goes_before_row_hits(void **state)
{
    struct dram_config config = simple_config();
    struct dram_channel channel;
    struct request opener = request_at(0, 1, 0), hit = request_at(0, 1, 0);
    struct request chosen = request_at(0, 2, 1), elsewhere = request_at(3, 9, 2);
    uint64_t clock = 0;

    (void)state;
    assert_int_equal(dram_init(&channel, &config, 4), 0);
    dram_push(&channel, &opener, 0);
    expect(&channel, 0, DRAM_ACT, 0);
    expect(&channel, 6, DRAM_READ, 0);
    dram_push(&channel, &hit, 7);
    dram_push(&channel, &chosen, 7);
    dram_prioritise(&channel, 1);
    assert_true(dram_priority_waits_behind_other(&channel));
    /* Its bank prepares its row (tRAS 15) although a hit waits; other banks use the free clocks. */
    dram_push(&channel, &elsewhere, 7);
    expect(&channel, 7, DRAM_ACT, 2);
    expect(&channel, 13, DRAM_READ, 2);
    expect(&channel, 15, DRAM_PRE, 1);
    assert_false(dram_priority_waits_behind_other(&channel));
    expect(&channel, 22, DRAM_ACT, 1);
    expect(&channel, 28, DRAM_READ, 1);
    assert_false(dram_priority_waits_behind_other(&channel)); /* nothing of it waits */
    /* Without its requests the rest goes on: row 2 must go for row 1. */
    expect(&channel, 37, DRAM_PRE, 0);
    dram_release(&channel);
}

static void test_between_banks_ready_reads_then_age(void **state)
{
    struct dram_config config = simple_config();
    struct dram_channel channel;
    struct request opener = request_at(0, 1, 0), hit = request_at(0, 1, 3);
    struct request older = request_at(5, 1, 1), younger = request_at(2, 1, 2);
    uint64_t clock = 0;

    (void)state;
    assert_int_equal(dram_init(&channel, &config, 4), 0);
    dram_push(&channel, &opener, 0);
    expect(&channel, 0, DRAM_ACT, 0);
    expect(&channel, 6, DRAM_READ, 0);
    /* At 20 all three are ready: the read first, though it is the youngest; then by age. */
    dram_push(&channel, &older, 20);
    dram_push(&channel, &younger, 20);
    dram_push(&channel, &hit, 20);
    clock = 20;
    expect(&channel, 20, DRAM_READ, 3);
    expect(&channel, 21, DRAM_ACT, 1);
    expect(&channel, 23, DRAM_ACT, 2);
    dram_release(&channel);
}

static void test_exclusive_priority_leaves_nothing_to_others(void **state)
{
    struct dram_config config = simple_config();
    struct dram_channel channel;
    struct request opener = request_at(0, 1, 0), hit = request_at(0, 1, 0);
    struct request chosen = request_at(0, 2, 1), elsewhere = request_at(3, 9, 2);
    uint64_t clock = 0;

    (void)state;
    config.priority_exclusive = true;
    assert_int_equal(dram_init(&channel, &config, 4), 0);
    dram_push(&channel, &opener, 0);
    expect(&channel, 0, DRAM_ACT, 0);
    expect(&channel, 6, DRAM_READ, 0);
    dram_push(&channel, &hit, 7);
    dram_push(&channel, &elsewhere, 7);
    dram_push(&channel, &chosen, 7);
    dram_prioritise(&channel, 1);
    expect(&channel, 15, DRAM_PRE, 1);
    expect(&channel, 22, DRAM_ACT, 1);
    expect(&channel, 28, DRAM_READ, 1);
    /* Only then the others. */
    expect(&channel, 29, DRAM_ACT, 2);
    dram_release(&channel);
}

/* With an open row that another still reads, and a drain of writes under way. */
static void test_priority_after_rows_finishes_what_is_begun(void **state)
{
    struct dram_config config = simple_config();
    struct dram_channel channel;
    struct request opener = request_at(0, 1, 0), hit = request_at(0, 1, 0);
    struct request chosen = request_at(0, 2, 1), older = request_at(0, 3, 2);
    struct request later = request_at(0, 3, 3), elsewhere = request_at(5, 1, 1);
    uint64_t clock = 0;

    (void)state;
    config.priority_after_rows = true;
    assert_int_equal(dram_init(&channel, &config, 4), 0);
    dram_push(&channel, &opener, 0);
    expect(&channel, 0, DRAM_ACT, 0);
    expect(&channel, 6, DRAM_READ, 0);
    dram_push(&channel, &older, 7);
    dram_push(&channel, &chosen, 7);
    dram_push(&channel, &hit, 7);
    dram_prioritise(&channel, 1);
    expect(&channel, 10, DRAM_READ, 0);
    expect(&channel, 15, DRAM_PRE, 1); /* then the prioritised one, though it is not the oldest */
    expect(&channel, 22, DRAM_ACT, 1);
    expect(&channel, 28, DRAM_READ, 1);
    expect(&channel, 37, DRAM_PRE, 2);
    expect(&channel, 44, DRAM_ACT, 2);
    /* Other banks, too. */
    dram_push(&channel, &elsewhere, 50);
    dram_push(&channel, &later, 50);
    clock = 50;
    expect(&channel, 50, DRAM_READ, 2);
    expect(&channel, 51, DRAM_ACT, 1);
    dram_release(&channel);
}

/* The queue is full of others, and the prioritised read waits before it: only they can make room.
 */
static void test_exclusive_priority_needs_a_place_in_the_queue(void **state)
{
    struct dram_config config = simple_config();
    struct dram_channel channel;
    struct request first = request_at(0, 1, 0), second = request_at(0, 1, 0);
    struct request chosen = request_at(3, 9, 1);
    uint64_t clock = 0;

    (void)state;
    config.priority_exclusive = true;
    config.read_queue = 2;
    assert_int_equal(dram_init(&channel, &config, 4), 0);
    dram_prioritise(&channel, 1);
    assert_true(dram_push(&channel, &first, 0));
    assert_true(dram_push(&channel, &second, 0));
    assert_false(dram_push(&channel, &chosen, 0));
    expect(&channel, 0, DRAM_ACT, 0);
    expect(&channel, 6, DRAM_READ, 0);
    expect(&channel, 7, DRAM_ACT, 1); /* in the queue now, and alone */
    expect(&channel, 13, DRAM_READ, 1);
    expect(&channel, 17, DRAM_READ, 0);
    dram_release(&channel);
}

static void test_four_activate_window(void **state)
{
    struct dram_config config = simple_config();
    struct dram_channel channel;
    struct request requests[5];
    uint64_t clock = 0, acts[5];
    int n = 0;

    (void)state;
    assert_int_equal(dram_init(&channel, &config, 8), 0);
    for (int i = 0; i < 5; i++) {
        requests[i] = request_at((unsigned)i, 1, i);
        dram_push(&channel, &requests[i], 0);
    }
    while (n < 5) {
        if (next_command(&channel, &clock).kind == DRAM_ACT)
            acts[n++] = clock;
        clock++;
    }
    assert_int_equal(acts[0], 0);
    assert_int_equal(acts[1], 2); /* tRRD */
    assert_int_equal(acts[2], 4);
    assert_true(acts[3] >= 6);
    assert_int_equal(acts[4], 20); /* tFAW after the first */
    dram_release(&channel);
}

static void drain(const struct dram_config *config, int priority_app)
{
    struct dram_channel channel;
    struct request reads[2] = {request_at(0, 1, 0), request_at(0, 1, 0)};
    struct request writes[3];
    uint64_t clock = 0;

    assert_int_equal(dram_init(&channel, config, 4), 0);
    dram_prioritise(&channel, priority_app);
    for (int i = 0; i < 3; i++) {
        writes[i] = request_at(1, 1, 1);
        writes[i].kind = REQUEST_WRITE;
    }
    dram_push(&channel, &reads[0], 0);
    dram_push(&channel, &writes[0], 0);
    dram_push(&channel, &writes[1], 0);
    expect(&channel, 0, DRAM_ACT, 0); /* two writes: below high, reads first */
    dram_push(&channel, &writes[2], 1);
    dram_push(&channel, &reads[1], 1);
    expect(&channel, 2, DRAM_ACT, 1); /* three: drain down to one */
    expect(&channel, 8, DRAM_WRITE, 1);
    expect(&channel, 12, DRAM_WRITE, 1);
    /* Back to reads: CWL 4 + burst 4 + tWTR 3 after the last write. */
    expect(&channel, 23, DRAM_READ, 0);
    expect(&channel, 27, DRAM_READ, 0);
    expect(&channel, 34, DRAM_WRITE, 1); /* no reads left; CL + burst + 2 - CWL after the read */
    assert_int_equal(channel.cas_writes, 3);
    dram_release(&channel);
}

static void test_writes_drain_between_high_and_low(void **state)
{
    struct dram_config config = simple_config();

    (void)state;
    drain(&config, -1);
    config.priority_after_rows = true;
    drain(&config, 0); /* whose reads wait */
}

static void test_a_full_queue_holds_reads_before_it(void **state)
{
    struct dram_config config = simple_config();
    struct dram_channel channel;
    struct request a = request_at(0, 1, 0), b = request_at(0, 1, 1);
    uint64_t clock = 0;

    (void)state;
    config.read_queue = 1;
    assert_int_equal(dram_init(&channel, &config, 4), 0);
    assert_true(dram_push(&channel, &a, 0));
    assert_false(dram_push(&channel, &b, 0));
    assert_int_equal(channel.inserts, 1);
    expect(&channel, 0, DRAM_ACT, 0);

    struct dram_command command = next_command(&channel, &clock);

    assert_int_equal(command.kind, DRAM_READ);
    assert_ptr_equal(command.inserted, &b);
    assert_int_equal(channel.inserts, 2);
    dram_release(&channel);
}

static void test_refresh_closes_rows_and_blocks(void **state)
{
    struct dram_config config = simple_config();
    struct dram_channel channel;
    struct request before = request_at(0, 1, 0), after = request_at(0, 1, 1);
    uint64_t clock = 0;

    (void)state;
    config.timing.refi = 1000;
    config.timing.rfc = 50;
    assert_int_equal(dram_init(&channel, &config, 4), 0);
    dram_push(&channel, &before, 0);
    expect(&channel, 0, DRAM_ACT, 0);
    expect(&channel, 6, DRAM_READ, 0);
    clock = 1010;
    dram_push(&channel, &after, clock); /* its row was open */
    expect(&channel, 1050, DRAM_ACT, 1);
    expect(&channel, 1056, DRAM_READ, 1);
    dram_release(&channel);
}

static void test_idle_rows_are_closed(void **state)
{
    struct dram_config config = simple_config();
    struct dram_channel channel;
    struct request first = request_at(0, 1, 0), late = request_at(0, 2, 1);
    uint64_t clock = 0;

    (void)state;
    config.page_idle_clocks = 100;
    assert_int_equal(dram_init(&channel, &config, 4), 0);
    dram_push(&channel, &first, 0);
    expect(&channel, 0, DRAM_ACT, 0);
    expect(&channel, 6, DRAM_READ, 0);
    clock = 300;
    dram_push(&channel, &late, clock);
    expect(&channel, 300, DRAM_ACT, 1); /* no precharge to pay */
    dram_release(&channel);
}

static void test_locating_is_one_to_one(void **state)
{
    struct dram_config config = simple_config();
    bool seen[8][4][16] = {{{false}}}; /* 8 banks, 4 rows, 16 lines of a row */

    (void)state;
    for (int hash = 0; hash < 2; hash++) {
        config.bank_hash = hash;
        for (uint64_t n = 0; n < 8 * 4 * 16; n++) {
            struct request request = {0};

            dram_locate(&config, n, &request);
            assert_true(request.bank < 8 && request.row < 4);
            assert_int_equal(seen[request.bank][request.row][n % 16], hash);
            seen[request.bank][request.row][n % 16] = !hash;
        }
    }
}

/* The application of the next read; commands before it are not looked at. */
static int next_read(struct dram_channel *channel, uint64_t *clock)
{
    struct dram_command command;

    do {
        command = next_command(channel, clock);
        assert_int_not_equal(command.kind, DRAM_NOTHING);
        (*clock)++;
    } while (command.kind != DRAM_READ);
    return command.request->app;
}

/* A row is open. Five more reads of it by one application, and one of another row by another. */
static void test_a_batch_bounds_the_wait(void **state)
{
    static const int plain[] = {0, 0, 0, 0, 0, 1}, batches[] = {0, 0, 1, 0, 0, 0};
    struct dram_config config = simple_config();

    (void)state;
    for (int batched = 0; batched < 2; batched++) {
        struct request reads[6], opener = request_at(0, 7, 0);
        struct dram_channel channel;
        uint64_t clock = 0;

        config.batch_cap = batched ? 2 : 0;
        assert_int_equal(dram_init(&channel, &config, 2), 0);
        dram_push(&channel, &opener, 0);
        assert_int_equal(next_read(&channel, &clock), 0);
        for (int i = 0; i < 6; i++) {
            reads[i] = request_at(0, i == 4 ? 9 : 7, i == 4);
            dram_push(&channel, &reads[i], 0);
        }
        for (int i = 0; i < 6; i++)
            assert_int_equal(next_read(&channel, &clock), batched ? batches[i] : plain[i]);
        assert_int_equal(channel.marked, 0);
        dram_release(&channel);
    }
}

/* All rows differ. Application 0 has three reads in bank 0, 1 has one there and one in bank 1; 2
 * has two in bank 0. So 1 has one at most in a bank, 2 has two, 0 has three. */
static void test_the_shortest_of_a_batch_goes_first(void **state)
{
    static const struct {
        unsigned bank;
        int app;
    } pushed[] = {{0, 0}, {0, 0}, {0, 0}, {0, 1}, {1, 1}, {0, 2}, {0, 2}};
    static const int order[] = {1, 1, 2, 2, 0, 0, 0};
    struct dram_config config = simple_config();
    struct request reads[7];
    struct dram_channel channel;
    uint64_t clock = 0;

    (void)state;
    config.batch_cap = 5;
    assert_int_equal(dram_init(&channel, &config, 3), 0);
    for (int i = 0; i < 7; i++) {
        reads[i] = request_at(pushed[i].bank, (uint64_t)i + 1, pushed[i].app);
        dram_push(&channel, &reads[i], 0);
    }
    for (int i = 0; i < 7; i++)
        assert_int_equal(next_read(&channel, &clock), order[i]);
    dram_release(&channel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_bank_row_hit_and_row_conflict),
        cmocka_unit_test(test_first_ready_then_first_come),
        cmocka_unit_test(test_priority_goes_before_row_hits),
        cmocka_unit_test(test_between_banks_ready_reads_then_age),
        cmocka_unit_test(test_exclusive_priority_leaves_nothing_to_others),
        cmocka_unit_test(test_exclusive_priority_needs_a_place_in_the_queue),
        cmocka_unit_test(test_priority_after_rows_finishes_what_is_begun),
        cmocka_unit_test(test_four_activate_window),
        cmocka_unit_test(test_writes_drain_between_high_and_low),
        cmocka_unit_test(test_a_full_queue_holds_reads_before_it),
        cmocka_unit_test(test_refresh_closes_rows_and_blocks),
        cmocka_unit_test(test_idle_rows_are_closed),
        cmocka_unit_test(test_locating_is_one_to_one),
        cmocka_unit_test(test_a_batch_bounds_the_wait),
        cmocka_unit_test(test_the_shortest_of_a_batch_goes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
