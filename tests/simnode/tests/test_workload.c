/* Generators: every line as often as promised, the promised mix, repeatably. */
#include "tests/simnode/tests/test_support.h"

static struct workload_spec spec_of(enum workload_kind kind, int64_t bytes)
{
    return (struct workload_spec){.kind = kind,
                                  .bytes = bytes,
                                  .instructions_per_access = 1,
                                  .streams = 1,
                                  .stride_bytes = 64,
                                  .store_bytes = 8};
}

TEST(test_chase_visits_every_line_once_a_round)
{
    static const int64_t sizes[] = {1, 2, 3, 100, 1000, 4096};

    for (size_t s = 0; s < 2 * sizeof(sizes) / sizeof(sizes[0]); s++) {
        struct workload_spec spec = spec_of(WORKLOAD_CHASE, sizes[s / 2] * 64);
        struct workload workload;
        bool seen[4096] = {false};
        uint64_t in_order = 0, last = 0;

        spec.sequential = s % 2;
        assert_int_equal(workload_init(&workload, &spec, 3), 0);
        for (int64_t i = 0; i < sizes[s / 2]; i++) {
            struct op op;

            workload_next(&workload, &op);
            assert_true(op.dependent && op.kind == OP_LOAD && op.counts && op.bubble == 0);
            assert_true(op.line < (uint64_t)sizes[s / 2]);
            assert_false(seen[op.line]);
            seen[op.line] = true;
            in_order += op.line == last + 1;
            last = op.line;
        }
        if (sizes[s / 2] >= 1000)
            assert_true(spec.sequential ? in_order >= (uint64_t)sizes[s / 2] - 2
                                        : in_order < (uint64_t)sizes[s / 2] / 50);
        workload_release(&workload);
    }
}

TEST(test_random_mix)
{
    struct workload_spec spec = spec_of(WORKLOAD_RANDOM, 64 * 1000);
    uint64_t stores = 0, nt = 0, dependent = 0, hot = 0, instructions = 0, n = 200000;
    struct workload workload;

    spec.instructions_per_access = 7;
    spec.store_share = 0.4;
    spec.nt_share = 0.25;
    spec.dependence = 0.5;
    spec.hot_bytes = 64 * 10;
    spec.hot_share = 0.6;
    assert_int_equal(workload_init(&workload, &spec, 3), 0);
    for (uint64_t i = 0; i < n; i++) {
        struct op op;

        workload_next(&workload, &op);
        stores += op.kind != OP_LOAD;
        nt += op.kind == OP_NT_STORE;
        dependent += op.dependent;
        hot += op.line < 10;
        instructions += op.bubble + op.counts;
        assert_true(op.line < 1000);
    }
    assert_float_equal((double)stores / (double)n, 0.4, 0.01);
    assert_float_equal((double)nt / (double)stores, 0.25, 0.01);
    assert_float_equal((double)dependent / (double)(n - stores), 0.5, 0.01);
    assert_float_equal((double)hot / (double)n, 0.6 + 0.4 * 0.01, 0.01);
    assert_float_equal((double)instructions / (double)n, 7, 0.05);
    workload_release(&workload);
}

TEST(test_streams_take_turns)
{
    struct workload_spec spec = spec_of(WORKLOAD_STREAM, 64 * 100);
    struct workload workload;

    spec.streams = 2;
    spec.stride_bytes = 128;
    assert_int_equal(workload_init(&workload, &spec, 3), 0);
    for (uint64_t i = 0; i < 60; i++) {
        struct op op;

        workload_next(&workload, &op);
        assert_int_equal(op.line, (i / 2 * 2 + (i % 2) * 50) % 100);
        assert_false(op.dependent);
    }
    workload_release(&workload);
}

TEST(test_phases_change_by_instructions)
{
    struct workload_spec low = spec_of(WORKLOAD_LOOP, 640), high = spec_of(WORKLOAD_CHASE, 640);
    struct workload_phase phases[2] = {{.spec = &low, .instructions = 30},
                                       {.spec = &high, .instructions = 5}};
    struct workload_spec spec = spec_of(WORKLOAD_PHASES, 0);
    struct workload workload;

    spec.phases = phases;
    spec.n_phases = 2;
    assert_int_equal(workload_init(&workload, &spec, 3), 0);
    for (int i = 0; i < 140; i++) {
        struct op op;

        workload_next(&workload, &op);
        assert_int_equal(op.dependent, i % 35 >= 30);
    }
    workload_release(&workload);
}

TEST(test_a_seed_gives_one_sequence)
{
    struct workload_spec spec = spec_of(WORKLOAD_RANDOM, 64 * 1000);
    struct workload a, b, other;
    int same = 0;

    assert_int_equal(workload_init(&a, &spec, 3), 0);
    assert_int_equal(workload_init(&b, &spec, 3), 0);
    assert_int_equal(workload_init(&other, &spec, 4), 0);
    for (int i = 0; i < 1000; i++) {
        struct op x, y, z;

        workload_next(&a, &x);
        workload_next(&b, &y);
        workload_next(&other, &z);
        assert_int_equal(x.line, y.line);
        same += x.line == z.line;
    }
    assert_true(same < 20);
    workload_release(&a);
    workload_release(&b);
    workload_release(&other);
}
