/* The ten largest pairs, found without making all of them. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "collectors/attribution/node/waits.h"
#include "tests/unit/support/unit.h"

enum { CONTAINERS = 40 };

static uint64_t seed;

static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / (double)(1ull << 53);
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static bool has(const struct waits_top *top, size_t slot)
{
    for (unsigned i = 0; i < top->n; i++)
        if (top->at[i].slot == slot)
            return true;
    return false;
}

static double wait_of(const struct waits *waits, size_t aggressor, size_t victim)
{
    const struct attribution_traffic *v = &waits->all[victim];
    if (aggressor == victim)
        return 0;
    return v->reads * attribution_caused_seconds(&waits->sums, &waits->all[aggressor], v);
}

/* By brute force: the ten largest of all, and the ten largest among those that were kept. */
static void compare(const struct waits *waits)
{
    static double all[CONTAINERS * CONTAINERS], kept[CONTAINERS * CONTAINERS];
    size_t n = 0, n_kept = 0;
    for (size_t i = 0; i < waits->n; i++)
        for (size_t v = 0; v < waits->n; v++) {
            all[n++] = wait_of(waits, i, v);
            if (has(&waits->aggressors, i) && has(&waits->burdened, v))
                kept[n_kept++] = wait_of(waits, i, v);
        }
    qsort(all, n, sizeof *all, descending);
    qsort(kept, n_kept, sizeof *kept, descending);
    for (size_t i = 0; i < WAITS_PAIRS && all[i] > 0; i++) {
        assert_true(i < n_kept);
        assert_true(all[i] == kept[i]);
    }
}

/* Of few containers, of many, of equals, and where the heaviest are the victims themselves. */
TEST(the_ten_largest_are_among_the_kept)
{
    (void)state;
    struct waits waits = {.n = 0};
    assert_int_equal(waits_reserve(&waits, CONTAINERS), 0);
    for (int round = 0; round < 200; round++) {
        waits.n = 1 + (size_t)round % CONTAINERS;
        for (size_t i = 0; i < waits.n; i++) {
            double weight = round % 3 == 0 ? floor(3 * uniform()) : exp(6 * uniform()) / 100;
            waits.all[i] = (struct attribution_traffic){
                .weight = weight,
                .reads = round % 5 == 0 ? 1e6 * weight : 1e6 * uniform(),
                .excess_seconds = uniform() < 0.3 ? 0 : 1e-7 * uniform(),
            };
        }
        waits_share(&waits);
        compare(&waits);
    }
    waits_release(&waits);
}

/* What all are charged with is what the victims waited, but for those who wait for themselves. */
TEST(all_charges_add_up_to_what_was_waited)
{
    (void)state;
    struct waits waits = {.n = 0};
    assert_int_equal(waits_reserve(&waits, CONTAINERS), 0);
    double wanted = 0, charged = 0;
    for (size_t i = 0; i < waits.n; i++) {
        waits.all[i] = (struct attribution_traffic){uniform(), 1e6 * uniform(), 1e-7 * uniform()};
        wanted += waits.all[i].reads * waits.all[i].excess_seconds;
    }
    waits_share(&waits);
    for (size_t i = 0; i < waits.n; i++)
        charged += attribution_wait_seconds(&waits.sums, &waits.all[i]);
    assert_true(fabs(charged / wanted - 1) < 1e-12);
    assert_true(fabs(waits.seconds / wanted - 1) < 1e-12);
    waits.n = 2;
    waits.all[0] = (struct attribution_traffic){0.029, 1e6, 1e-7};
    waits.all[1] = (struct attribution_traffic){0.031, 1e6, 2e-7};
    waits_share(&waits); /* the second waits for itself: beside it there are less than 3 % */
    assert_true(attribution_wait_seconds(&waits.sums, &waits.all[0]) == 0);
    assert_true(fabs(attribution_wait_seconds(&waits.sums, &waits.all[1]) / 0.1 - 1) < 1e-12);
    assert_true(fabs(waits.seconds / 0.1 - 1) < 1e-12);
    waits_release(&waits);
}

TEST(every_reason_has_words)
{
    (void)state;
    for (int i = 0; i < WAITS_KNOWN; i++)
        assert_non_null(waits_why_not((enum waits_state)i));
    assert_null(waits_why_not(WAITS_KNOWN));
}
