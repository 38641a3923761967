/* The slowdown models against numbers worked by hand: FORMULAS.md section 3. */
#include "collectors/formulas/slowdown.h"
#include "tests/unit/support/unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %.12g, want %.12g within %g", got, want, tolerance);
}

/* ---- asm ---- */

/* The worked number; ATS hit fraction 0.8 as 160 of 200 sampled accesses. */
#define WORKED                                                                                     \
    .quantum_cycles = 5000000, .accesses = 27000, .epoch_count = 125, .epoch_length = 10000,       \
    .hits = 5000, .misses = 2500, .hit_time = 75000, .miss_time = 375000, .ats_hits = 160,         \
    .ats_misses = 40, .queueing_cycles = 25000

TEST(the_worked_number)
{
    const struct slowdown_asm_counts counts = {WORKED};
    struct slowdown_asm got;
    assert_int_equal(slowdown_asm(&counts, &got), SLOWDOWN_OK);
    assert_near(got.contention_misses, 1000, 1e-9);
    assert_near(got.excess_cycles, 135000, 1e-6);
    assert_near(got.queueing_delay_cycles, 10, 1e-12);
    assert_near(got.alone_rate, 6.8182e-3, 5e-8);
    assert_near(got.shared_rate, 5.4e-3, 1e-12);
    assert_near(got.ratio, 1.2626, 5e-5);
    assert_near(got.raw, got.ratio, 0);
}

TEST(full_tags_and_sampled_tags_with_their_ratio_agree)
{
    const struct slowdown_asm_counts sampled = {WORKED};
    struct slowdown_asm_counts full = sampled;
    full.ats_hits = 6000;
    full.ats_misses = 1500;
    struct slowdown_asm a, b;
    assert_int_equal(slowdown_asm(&sampled, &a), SLOWDOWN_OK);
    assert_int_equal(slowdown_asm(&full, &b), SLOWDOWN_OK);
    assert_near(a.ratio, b.ratio, 1e-12);
}

/* 7500 accesses, 4500 of them hits by the tags: fewer than the 5000 seen. No excess, and 3000
 * misses wait 10 cycles each: 7500 / (1250000 - 30000) / 5.4e-3 = 1.13843. */
TEST(negative_contention_counts_as_none)
{
    struct slowdown_asm_counts counts = {WORKED};
    counts.ats_hits = 120;
    counts.ats_misses = 80;
    struct slowdown_asm got;
    assert_int_equal(slowdown_asm(&counts, &got), SLOWDOWN_OK);
    assert_true(got.contention_misses == 0);
    assert_true(got.excess_cycles == 0);
    assert_near(got.ratio, 1.13843, 5e-6);
}

/* The alone rate is below the shared one: 7500 / 1100000 against 0.01. */
TEST(a_result_below_one_is_one)
{
    struct slowdown_asm_counts counts = {WORKED};
    counts.accesses = 50000;
    struct slowdown_asm got;
    assert_int_equal(slowdown_asm(&counts, &got), SLOWDOWN_OK);
    assert_true(got.ratio == 1);
    assert_near(got.raw, 0.68182, 5e-6);
}

/* Misses that overlap cost 100 cycles less than hits, 1000 times: the time alone is longer. */
TEST(misses_may_cost_less_than_hits)
{
    struct slowdown_asm_counts counts = {WORKED};
    counts.hit_time = 5000 * 250;
    struct slowdown_asm got;
    assert_int_equal(slowdown_asm(&counts, &got), SLOWDOWN_OK);
    assert_near(got.excess_cycles, -100000, 1e-6);
    assert_near(got.alone_rate, 7500.0 / 1335000, 1e-12);
}

/* A stream never hits, alone neither: nothing needs the time of a hit.
 * 2500 / (1250000 - 2500 * 10) / (9000 / 5000000) = 1.13379. */
TEST(without_hits_and_contention_the_time_of_a_hit_is_not_needed)
{
    struct slowdown_asm_counts counts = {WORKED};
    counts.accesses = 9000;
    counts.hits = counts.hit_time = counts.ats_hits = 0;
    struct slowdown_asm got;
    assert_int_equal(slowdown_asm(&counts, &got), SLOWDOWN_OK);
    assert_near(got.ratio, 1.13379, 5e-6);
}

/* The worked number with up to two counts changed. */
#define AT(member) offsetof(struct slowdown_asm_counts, member)

TEST(asm_without_an_estimate)
{
    static const struct {
        const char *name;
        enum slowdown_status status;
        size_t n;
        struct {
            size_t at;
            uint64_t value;
        } change[3];
    } cases[] = {
        {"no epoch", SLOWDOWN_NO_EPOCH, 1, {{AT(epoch_count), 0}}},
        {"epoch length unknown", SLOWDOWN_NO_EPOCH, 1, {{AT(epoch_length), 0}}},
        {"no quantum", SLOWDOWN_NO_ACCESSES, 1, {{AT(quantum_cycles), 0}}},
        {"no accesses", SLOWDOWN_NO_ACCESSES, 1, {{AT(accesses), 0}}},
        {"none in its epochs", SLOWDOWN_NO_ACCESSES, 2, {{AT(hits), 0}, {AT(misses), 0}}},
        {"none in the sampled sets",
         SLOWDOWN_NO_ACCESSES,
         2,
         {{AT(ats_hits), 0}, {AT(ats_misses), 0}}},
        {"no misses", SLOWDOWN_NO_MISSES, 2, {{AT(misses), 0}, {AT(miss_time), 0}}},
        {"contention but no hit", SLOWDOWN_NO_MISSES, 2, {{AT(hits), 0}, {AT(hit_time), 0}}},
        {"denominator 0: 120 x 10000 cycles = 7500 misses by the tags x 160 of queueing",
         SLOWDOWN_DENOMINATOR,
         3,
         {{AT(epoch_count), 120}, {AT(ats_hits), 0}, {AT(queueing_cycles), 400000}}},
        {"denominator below 0", SLOWDOWN_DENOMINATOR, 1, {{AT(queueing_cycles), 5000000}}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct slowdown_asm_counts counts = {WORKED};
        struct slowdown_asm got = {.ratio = -1};
        for (size_t k = 0; k < cases[i].n; k++)
            memcpy((char *)&counts + cases[i].change[k].at, &cases[i].change[k].value,
                   sizeof(uint64_t));
        enum slowdown_status status = slowdown_asm(&counts, &got);
        if (status != cases[i].status)
            fail_msg("%s: status %d", cases[i].name, status);
        assert_true(got.ratio == -1);
    }
}

/* ---- passive ---- */

static const struct slowdown_passive_counts passive_worked = {.cycles = 1000000000,
                                                              .active = 400000000,
                                                              .occupancy = 600000000,
                                                              .accesses = 4000000,
                                                              .misses = 2000000};
static const struct slowdown_passive_alone alone_worked = {
    .latency_cycles = 200, .miss_ratio = 0.4, .hit_cycles = 20};

TEST(the_worked_number_of_passive)
{
    struct slowdown_passive got;
    assert_int_equal(slowdown_passive(&passive_worked, &alone_worked, &got), SLOWDOWN_OK);
    assert_near(got.memory_excess, 1.333333e8, 50);
    assert_near(got.cache_excess, 4.533333e7, 50);
    assert_near(got.ratio, 1.217532, 5e-7);
}

TEST(a_container_as_it_is_alone_has_slowdown_one)
{
    struct slowdown_passive got;
    struct slowdown_passive_alone alone = alone_worked;
    alone.latency_cycles = 350; /* better than alone: noise */
    alone.miss_ratio = 0.6;
    assert_int_equal(slowdown_passive(&passive_worked, &alone, &got), SLOWDOWN_OK);
    assert_true(got.memory_excess == 0);
    assert_true(got.cache_excess == 0);
    assert_true(got.ratio == 1);
}

/* Faster memory than alone does not make the contention misses dearer: 4e5 * (200 - 20). */
TEST(the_exposed_time_is_never_stretched)
{
    struct slowdown_passive got;
    struct slowdown_passive_alone alone = alone_worked;
    alone.latency_cycles = 600;
    assert_int_equal(slowdown_passive(&passive_worked, &alone, &got), SLOWDOWN_OK);
    assert_near(got.cache_excess, 7.2e7, 1e-3);
    alone.hit_cycles = 250; /* dearer than the exposed part of a miss */
    assert_int_equal(slowdown_passive(&passive_worked, &alone, &got), SLOWDOWN_OK);
    assert_true(got.cache_excess == 0);
}

TEST(without_hit_cycles_only_the_memory_part_is_known)
{
    struct slowdown_passive got;
    struct slowdown_passive_alone alone = alone_worked;
    alone.hit_cycles = NAN;
    assert_int_equal(slowdown_passive(&passive_worked, &alone, &got), SLOWDOWN_OK);
    assert_near(got.memory_excess, 1.333333e8, 50);
    assert_true(isnan(got.cache_excess));
    assert_true(isnan(got.ratio));
}

TEST(without_the_ratio_alone_only_the_memory_part_is_known)
{
    struct slowdown_passive got;
    struct slowdown_passive_alone alone = alone_worked;
    alone.miss_ratio = NAN;
    assert_int_equal(slowdown_passive(&passive_worked, &alone, &got), SLOWDOWN_OK);
    assert_near(got.memory_excess, 1.333333e8, 50);
    assert_true(isnan(got.cache_excess));
    assert_true(isnan(got.ratio));
}

TEST(passive_without_an_estimate)
{
    static const struct {
        const char *name;
        struct slowdown_passive_counts counts;
        struct slowdown_passive_alone alone;
        enum slowdown_status status;
    } cases[] = {
        {"no cycles", {0, 4, 2, 600, 4}, {200, 0.4, 20}, SLOWDOWN_NO_ACCESSES},
        {"no accesses", {1000, 0, 0, 0, 0}, {200, 0.4, 20}, SLOWDOWN_NO_ACCESSES},
        {"no misses", {1000, 4, 0, 0, 0}, {200, 0.4, 20}, SLOWDOWN_NO_MISSES},
        {"misses of no duration", {1000, 4, 2, 0, 0}, {200, 0.4, 20}, SLOWDOWN_NO_MISSES},
        {"never calm", {1000, 4, 2, 600, 4}, {NAN, NAN, 20}, SLOWDOWN_UNKNOWN},
        {"no unloaded latency", {1000, 4, 2, 600, 4}, {NAN, 0.4, 20}, SLOWDOWN_UNKNOWN},
        {"unloaded latency 0", {1000, 4, 2, 600, 4}, {0, 0.4, 20}, SLOWDOWN_UNKNOWN},
        {"lost as many cycles as there were: 1000 = 2000 * (1 - 300 / 600)",
         {1000, 2, 2, 1200, 2000},
         {300, 1, 20},
         SLOWDOWN_DENOMINATOR},
        {"lost more", {1000, 2, 2, 1200, 3000}, {300, 1, 20}, SLOWDOWN_DENOMINATOR},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct slowdown_passive got = {.ratio = -1};
        enum slowdown_status status = slowdown_passive(&cases[i].counts, &cases[i].alone, &got);
        if (status != cases[i].status)
            fail_msg("%s: status %d", cases[i].name, status);
        assert_true(got.ratio == -1);
    }
}

static struct core_cache in_cycles(double cycles)
{
    return (struct core_cache){cycles, 0};
}

TEST(the_probe_less_the_caches)
{
    assert_near(slowdown_probe_latency(80.238095e-9, in_cycles(44), 2.1e9), 59.286e-9, 5e-13);
    assert_near(slowdown_probe_latency(103e-9, (struct core_cache){16, 30e-9}, 2e9), 65e-9, 1e-15);
    assert_true(isnan(slowdown_probe_latency(0, in_cycles(44), 2.1e9)));
    assert_true(isnan(slowdown_probe_latency(80e-9, in_cycles(0), 2.1e9)));
    assert_true(isnan(slowdown_probe_latency(80e-9, in_cycles(44), 0)));
    assert_true(isnan(slowdown_probe_latency(20e-9, in_cycles(44), 2.1e9)));
}

TEST(hits_cost_what_lies_beyond_the_look_up)
{
    assert_near(slowdown_hit_cycles(30e-9, in_cycles(44), 2.1e9), 19, 1e-9);
    /* 30 ns less 8 in the core and 20 outside, at 2 GHz. */
    assert_near(slowdown_hit_cycles(30e-9, (struct core_cache){16, 20e-9}, 2e9), 4, 1e-9);
    assert_true(slowdown_hit_cycles(20e-9, in_cycles(44), 2.1e9) == 0);
    assert_true(isnan(slowdown_hit_cycles(0, in_cycles(44), 2.1e9)));
    assert_true(isnan(slowdown_hit_cycles(30e-9, in_cycles(0), 2.1e9)));
    assert_true(isnan(slowdown_hit_cycles(30e-9, in_cycles(44), 0)));
}
