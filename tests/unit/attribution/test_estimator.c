/* Rules of the estimator, one by one. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/attribution_rig.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

/* On for `on` of every `of` ticks. */
static double square(unsigned t, unsigned on, unsigned of)
{
    return t % of < on ? 1 : 0;
}

/* Container 0 makes +20 %, container 1 goes on and off as well and makes nothing. */
static double two(unsigned t, double x[2])
{
    static uint64_t seed = 1;
    x[0] = square(t, 20, 47);
    x[1] = square(t, 13, 31);
    return 150 * exp(0.18 * x[0] + 0.02 * rig_normal(&seed));
}

static void run_two(struct attribution_rig *rig, unsigned from, unsigned to)
{
    for (unsigned t = from; t < to; t++) {
        double x[2], latency_ns = two(t, x);
        attribution_rig_tick(rig, latency_ns, x, 2, 0.1);
    }
}

TEST(without_a_reading_nothing_changes)
{
    (void)state;
    struct attribution_rig *rig = attribution_rig_new(NULL), *before = malloc(sizeof *before);
    assert_non_null(before);
    run_two(rig, 0, 100);
    memcpy(before, rig, sizeof *rig);
    static const double none[] = {0, -1, -150, NAN, INFINITY, -INFINITY, 1e300, 1e-300};
    static const double x[] = {1, 1};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(attribution_begin(&rig->domain, none[i]), -EINVAL);
        attribution_rig_tick(rig, none[i], x, 2, 0.1);
    }
    /* Nor outside of a tick. */
    assert_int_equal(attribution_add(&rig->domain, &rig->member[0], 1), -EINVAL);
    attribution_rest(&rig->domain, 1);
    attribution_end(&rig->domain, &rig->scratch);
    assert_memory_equal(before, rig, sizeof *rig);
    free(before);
    free(rig);
}

TEST(what_is_no_activity_is_refused)
{
    (void)state;
    struct attribution_rig *rig = attribution_rig_new(NULL);
    run_two(rig, 0, 100);
    struct attribution_member before = rig->member[0];
    static const double none[] = {-1e-9, NAN, INFINITY, 1.1 * ATTRIBUTION_ACTIVITY_MAX};
    assert_int_equal(attribution_begin(&rig->domain, 150), 0);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(attribution_add(&rig->domain, &rig->member[0], none[i]), -EINVAL);
        attribution_rest(&rig->domain, none[i]);
    }
    assert_memory_equal(&before, &rig->member[0], sizeof before);
    assert_true(rig->domain.rest_deviation == 0);
    free(rig);
}

TEST(a_container_that_was_not_read_is_charged_nothing)
{
    (void)state;
    struct attribution_rig *rig = attribution_rig_new(NULL);
    run_two(rig, 0, 201); /* 200 % 47 = 12: container 0 is on */
    const struct attribution_slot *slot = attribution_candidate(&rig->domain, &rig->member[0]);
    assert_non_null(slot);
    assert_true(slot->caused_ns > 10);
    struct attribution_member before = rig->member[0];
    double x[] = {NAN, 0};
    attribution_rig_tick(rig, 180, x, 2, 0.1);
    assert_ptr_equal(attribution_candidate(&rig->domain, &rig->member[0]), slot);
    assert_true(slot->caused_ns == 0 && rig->domain.z[before.slot] == 0);
    assert_int_equal(slot->state, ATTRIBUTION_UNKNOWN);
    assert_memory_equal(&before, &rig->member[0], sizeof before);
    free(rig);
}

TEST(nothing_is_named_while_learning)
{
    (void)state;
    struct attribution_rig *rig = attribution_rig_new(NULL);
    for (unsigned t = 0; t < 60; t++) {
        double x[2], latency_ns = two(t, x);
        attribution_rig_tick(rig, latency_ns, x, 2, 0.1);
        assert_int_equal(attribution_rig_state(rig, 0), ATTRIBUTION_UNKNOWN);
    }
    /* 60 % 47 = 13: it is on in the first tick after. */
    assert_true(attribution_candidate(&rig->domain, &rig->member[0])->score > 4);
    run_two(rig, 60, 61);
    assert_int_equal(attribution_rig_state(rig, 0), ATTRIBUTION_NAMED);
    assert_int_equal(attribution_rig_state(rig, 1), ATTRIBUTION_UNKNOWN);
    free(rig);
}

/* ---- candidates ---- */

TEST(admission_does_not_look_at_the_latency)
{
    (void)state;
    enum { N = 200 };
    struct attribution_rig *calm = attribution_rig_new(NULL), *wild = attribution_rig_new(NULL);
    uint64_t seed = 1;
    for (unsigned t = 0; t < 300; t++) {
        double x[N], noise = rig_normal(&seed);
        for (unsigned i = 0; i < N; i++)
            x[i] = (double)(i + 1) / N * rig_uniform(&seed);
        attribution_rig_tick(calm, 150, x, N, 0);
        attribution_rig_tick(wild, 150 * exp(0.3 * x[0] + 0.1 * noise), x, N, 0);
        for (unsigned i = 0; i < N; i++)
            assert_int_equal(!attribution_candidate(&calm->domain, &calm->member[i]),
                             !attribution_candidate(&wild->domain, &wild->member[i]));
    }
    assert_int_equal(attribution_candidates(&calm->domain), 64);
    assert_non_null(attribution_candidate(&calm->domain, &calm->member[N - 1]));
    assert_null(attribution_candidate(&calm->domain, &calm->member[0]));
    free(calm);
    free(wild);
}

/* Container i alternates by `swing[i]` each tick. */
static void alternate(struct attribution_rig *rig, unsigned n, const double *swing, unsigned ticks)
{
    double x[RIG_CONTAINERS];
    for (unsigned t = 0; t < ticks; t++) {
        for (unsigned i = 0; i < n; i++)
            x[i] = t % 2 ? swing[i] : 0;
        attribution_rig_tick(rig, 150, x, n, 0);
    }
}

TEST(a_slot_is_taken_only_by_one_that_varies_twice_as_much)
{
    (void)state;
    struct attribution_config config = attribution_config_cpu_time();
    config.slots = 2;
    struct attribution_rig *rig = attribution_rig_new(&config);
    /* All variances grow from 0 by the same steps, so that their ratios are constant. */
    const double swing[] = {0.5, 1, 0.6, 0.8};
    alternate(rig, 2, swing, 100);
    assert_non_null(attribution_candidate(&rig->domain, &rig->member[0]));
    assert_non_null(attribution_candidate(&rig->domain, &rig->member[1]));
    alternate(rig, 3, swing, 2000); /* (0.6 / 0.5)^2 is less than 2 */
    assert_null(attribution_candidate(&rig->domain, &rig->member[2]));
    alternate(rig, 4, swing, 4000); /* (0.8 / 0.5)^2 is more */
    assert_non_null(attribution_candidate(&rig->domain, &rig->member[3]));
    assert_null(attribution_candidate(&rig->domain, &rig->member[0]));
    assert_non_null(attribution_candidate(&rig->domain, &rig->member[1]));
    assert_int_equal(attribution_candidates(&rig->domain), 2);
    free(rig);
}

TEST(a_container_that_hardly_varies_is_no_candidate)
{
    (void)state;
    struct attribution_rig *rig = attribution_rig_new(NULL);
    const double swing[] = {0.013, 0.03}; /* its sd is half of it; more in the first ticks */
    alternate(rig, 2, swing, 500);
    assert_null(attribution_candidate(&rig->domain, &rig->member[0]));
    assert_non_null(attribution_candidate(&rig->domain, &rig->member[1]));
    free(rig);
}

TEST(a_new_candidate_knows_nothing_of_the_slots_past)
{
    (void)state;
    struct attribution_config config = attribution_config_cpu_time();
    config.slots = 2;
    struct attribution_rig *rig = attribution_rig_new(&config);
    run_two(rig, 0, 211); /* 210 is no multiple of 5 ticks after one */
    unsigned slot = rig->member[0].slot, other = rig->member[1].slot;
    assert_true(rig->domain.beta[slot] > 0.1 && rig->domain.b[slot] > 0);
    attribution_forget(&rig->domain, &rig->member[0]);
    assert_int_equal(attribution_candidates(&rig->domain), 1);
    double other_beta = rig->domain.beta[other];
    assert_true(rig->domain.readings % 5 == 1);

    double x[3] = {0, 0, 0};
    attribution_rig_tick(rig, 150, x, 2, 0.1); /* the same member, new */
    assert_null(attribution_candidate(&rig->domain, &rig->member[0]));
    x[0] = 4;
    attribution_rig_tick(rig, 150, x, 2, 0.1);
    const struct attribution_slot *s = attribution_candidate(&rig->domain, &rig->member[0]);
    assert_non_null(s);
    assert_int_equal(rig->member[0].slot, slot);
    assert_true(rig->domain.z[slot] == 4); /* the edge is in */
    assert_true(rig->domain.g[slot][slot] == 16);
    assert_true(rig->domain.beta[slot] == 0 && rig->domain.beta[other] == other_beta);
    assert_true(rig->domain.variance[slot] == 0.3 * 0.3 && rig->domain.p[slot][slot] == 0.3 * 0.3);
    assert_true(rig->domain.p[1][0] == 0);
    assert_true(s->caused_ns == 0 && s->state == ATTRIBUTION_UNKNOWN && s->support <= 1.0000001);
    free(rig);
}

TEST(whom_is_evicted_leaves_nothing_to_the_next)
{
    (void)state;
    struct attribution_config config = attribution_config_cpu_time();
    config.slots = 1;
    struct attribution_rig *rig = attribution_rig_new(&config);
    double x[2] = {0, 0};
    for (unsigned t = 0; t < 201; t++) {
        x[0] = square(t, 10, 20);
        attribution_rig_tick(rig, 150 * (1 + 0.2 * x[0]), x, 2, 0);
    }
    assert_true(rig->domain.beta[0] > 0.1);
    x[1] = 40;
    attribution_rig_tick(rig, 150, x, 2, 0);
    const struct attribution_slot *s = attribution_candidate(&rig->domain, &rig->member[1]);
    assert_non_null(s);
    assert_true(rig->domain.z[0] == 40 && rig->domain.g[0][0] == 1600);
    assert_true(rig->domain.beta[0] == 0 && rig->domain.raw[0] == 0 && s->caused_ns == 0);
    assert_true(rig->domain.b[0] == 40 * rig->domain.recent[0]);
    assert_true(rig->domain.g[ATTRIBUTION_REST][0] == 40 * rig->domain.z[ATTRIBUTION_REST]);
    free(rig);
}

TEST(the_evicted_belong_to_the_rest_at_once)
{
    (void)state;
    struct attribution_config config = attribution_config_cpu_time();
    config.slots = 1;
    struct attribution_rig *rig = attribution_rig_new(&config);
    double x[2] = {1, 0};
    for (unsigned t = 0; t < 300; t++) {
        x[0] = 1 + 0.1 * (t % 2);
        attribution_rig_tick(rig, 150, x, 2, 0);
    }
    assert_non_null(attribution_candidate(&rig->domain, &rig->member[0]));
    double mean = rig->member[0].mean;
    x[0] = 1.1;
    x[1] = 3;
    attribution_rig_tick(rig, 150, x, 2, 0);
    assert_null(attribution_candidate(&rig->domain, &rig->member[0]));
    assert_non_null(attribution_candidate(&rig->domain, &rig->member[1]));
    assert_true(fabs(rig->domain.z[ATTRIBUTION_REST] - (1.1 - mean)) < 1e-12);
    assert_true(fabs(rig->domain.rest_activity - 1.1) < 1e-12);
    assert_true(rig->domain.above[ATTRIBUTION_REST] < 1e-12); /* it did all that before */
    free(rig);
}

TEST(the_order_of_adding_does_not_matter)
{
    (void)state;
    enum { N = 100 };
    struct attribution_rig *rig = attribution_rig_new(NULL), *other = attribution_rig_new(NULL);
    uint64_t seed = 3;
    for (unsigned t = 0; t < 200; t++) {
        double x[N], latency_ns = 150 * exp(0.05 * rig_normal(&seed));
        for (unsigned i = 0; i < N; i++)
            x[i] = (double)(1 + i) / N * rig_uniform(&seed);
        attribution_rig_tick(rig, latency_ns, x, N, 0);
        assert_int_equal(attribution_begin(&other->domain, latency_ns), 0);
        for (unsigned i = N; i-- > 0;)
            attribution_add(&other->domain, &other->member[i], x[i]);
        attribution_rest(&other->domain, 0);
        attribution_end(&other->domain, &other->scratch);
    }
    for (unsigned i = 0; i < N; i++)
        assert_true(fabs(attribution_rig_beta(rig, i) - attribution_rig_beta(other, i)) < 1e-9);
    free(rig);
    free(other);
}

/* ---- what is said of whom ---- */

TEST(nobody_is_charged_beyond_the_range_that_was_seen)
{
    (void)state;
    struct attribution_rig *rig = attribution_rig_new(NULL);
    uint64_t seed = 5;
    double x[1] = {0};
    for (unsigned t = 0; t < 600; t++) {
        x[0] = 10 + 0.5 * square(t, 20, 47);
        attribution_rig_tick(rig, 150 * exp(0.18 * x[0] + 0.02 * rig_normal(&seed)), x, 1, 0);
        const struct attribution_slot *s = attribution_candidate(&rig->domain, &rig->member[0]);
        assert_true(!s || rig->domain.above[0] <= 0.5 + 1e-9);
        assert_true(!s ||
                    s->caused_ns <= 0.5 * rig->domain.beta[0] * rig->domain.latency_ns + 1e-9);
    }
    assert_true(rig->domain.beta[0] > 0.12); /* it is known, and would make most of the latency */
    free(rig);
}

/* Who starts once and stays is the ledger's to name (test_ledger.c). */
TEST(one_start_is_a_suspicion)
{
    (void)state;
    struct attribution_rig *rig = attribution_rig_new(NULL);
    uint64_t seed = 11;
    unsigned suspected = 0;
    for (unsigned t = 0; t < 120; t++) {
        double x = t < 100 ? 0 : 1;
        attribution_rig_tick(rig, 150 * exp(0.12 * x + 0.03 * rig_normal(&seed)), &x, 1, 0);
        const struct attribution_slot *s = attribution_candidate(&rig->domain, &rig->member[0]);
        if (!s || s->state == ATTRIBUTION_UNKNOWN)
            continue;
        assert_true(s->support < 1.3 && s->score >= 4);
        assert_int_equal(s->state, ATTRIBUTION_SUSPECTED);
        suspected++;
    }
    assert_true(suspected > 0);
    free(rig);
}

/* A job that comes, hurts at once and stays; a service that comes where nothing changes. */
TEST(who_comes_was_at_nothing_before)
{
    (void)state;
    struct attribution_rig *rig = attribution_rig_new(NULL);
    unsigned suspected_after = 0;
    for (unsigned t = 0; t < 300 && !suspected_after; t++) {
        double x[4] = {0.3 + 0.1 * ((t / 9) % 2), 0.5, 1, 1}, noise = 0.01 * sin(t * 1.7);
        unsigned n = t < 150 ? 2 : t < 200 ? 3 : 4;
        attribution_rig_tick(rig, 150 * exp(noise + (n > 3 ? 0.3 : 0)), x, n, 0.1);
        for (unsigned i = 0; i < 3; i++)
            assert_int_not_equal(attribution_rig_state(rig, i), ATTRIBUTION_NAMED);
        if (attribution_rig_state(rig, 3) == ATTRIBUTION_SUSPECTED)
            suspected_after = t - 199;
    }
    assert_in_range(suspected_after, 1, 30);
    free(rig);
}

TEST(several_starts_that_agree_are_a_name)
{
    (void)state;
    struct attribution_rig *rig = attribution_rig_new(NULL);
    uint64_t seed = 11;
    unsigned below = 0;
    for (unsigned t = 0; t < 600; t++) {
        double x = t < 60 ? 0 : square(t, 5, 40);
        attribution_rig_tick(rig, 150 * exp(0.1 * x + 0.04 * rig_normal(&seed)), &x, 1, 0);
        const struct attribution_slot *s = attribution_candidate(&rig->domain, &rig->member[0]);
        below += s && s->state == ATTRIBUTION_NAMED && s->score < 6;
        assert_true(!s || s->state != ATTRIBUTION_NAMED || s->support >= 1.3);
    }
    assert_true(below > 0);
    assert_true(attribution_candidate(&rig->domain, &rig->member[0])->support > 3);
    free(rig);
}

/* Container 0 makes 15 %; container 1 is on when it is, until `apart`. */
static void run_pair(struct attribution_rig *rig, unsigned from, unsigned to, unsigned apart,
                     unsigned *together)
{
    static uint64_t seed = 17;
    for (unsigned t = from; t < to; t++) {
        double x[2] = {square(t, 20, 47), t < apart ? square(t, 20, 47) : square(t, 13, 31)};
        attribution_rig_tick(rig, 150 * exp(0.14 * x[0] + 0.02 * rig_normal(&seed)), x, 2, 0);
        assert_int_not_equal(attribution_rig_state(rig, 1), ATTRIBUTION_NAMED);
        if (t < apart)
            assert_int_not_equal(attribution_rig_state(rig, 0), ATTRIBUTION_NAMED);
        *together += attribution_rig_state(rig, 0) == ATTRIBUTION_IN_GROUP &&
                     attribution_rig_state(rig, 1) == ATTRIBUTION_IN_GROUP;
    }
}

TEST(who_moves_together_is_one_group_until_they_differ)
{
    (void)state;
    struct attribution_rig *rig = attribution_rig_new(NULL);
    unsigned together = 0;
    run_pair(rig, 0, 295, 4000, &together); /* 294 % 47 = 12: they are on */
    assert_true(together > 50);
    assert_int_equal(rig->domain.n_groups, 1);
    const struct attribution_group *group = &rig->domain.groups[0];
    assert_int_equal(group->members, 2);
    assert_true(group->score >= 4 && group->sd_ns > 0);
    assert_true(group->caused_ns > 10 && group->caused_ns < 30); /* of about 21 in truth */
    assert_int_equal(attribution_rig_state(rig, 0), ATTRIBUTION_IN_GROUP);
    assert_int_equal(attribution_rig_state(rig, 1), ATTRIBUTION_IN_GROUP);

    run_pair(rig, 295, 1800, 295, &together);
    unsigned after = 0;
    run_pair(rig, 1800, 1894, 295, &after); /* 1893 % 47 = 13 */
    assert_int_equal(after, 0);
    assert_int_equal(attribution_rig_state(rig, 0), ATTRIBUTION_NAMED);
    free(rig);
}

TEST(where_activities_add_up_to_a_constant_the_other_is_not_named)
{
    (void)state;
    struct attribution_rig *rig = attribution_rig_new(NULL);
    uint64_t seed = 23;
    for (unsigned t = 0; t < 900; t++) {
        double on = square(t, 20, 47), x[2] = {on, 2 - on};
        attribution_rig_tick(rig, 150 * exp(0.14 * x[0] + 0.02 * rig_normal(&seed)), x, 2, 0);
        assert_int_not_equal(attribution_rig_state(rig, 1), ATTRIBUTION_NAMED);
        assert_int_equal(rig->domain.n_groups, 0); /* they do not move together */
        assert_int_not_equal(attribution_rig_state(rig, 0), ATTRIBUTION_IN_GROUP);
    }
    /* Which of the two moved the latency, the one up or the other down, was never to be seen. */
    const struct attribution_domain *d = &rig->domain;
    const unsigned hog = rig->member[0].slot;
    assert_true(d->slots[hog].se == sqrt(d->p[hog][hog]) && d->slots[hog].se > 0.1);
    assert_true(sqrt(d->variance[hog]) < 0.03);
    assert_true(attribution_rig_beta(rig, 1) < 0.01);
    free(rig);
}

TEST(the_host_is_the_rest_and_never_a_container)
{
    (void)state;
    struct attribution_rig *rig = attribution_rig_new(NULL);
    uint64_t seed = 29;
    for (unsigned t = 0; t < 900; t++) {
        double host = 8 * square(t, 20, 47), x[2] = {square(t, 13, 31), 0.5};
        double latency_ns = 150 * exp(0.02 * host + 0.02 * rig_normal(&seed));
        attribution_rig_tick(rig, latency_ns, x, 2, host);
        assert_int_equal(attribution_rig_state(rig, 0), ATTRIBUTION_UNKNOWN);
        assert_int_equal(attribution_rig_state(rig, 1), ATTRIBUTION_UNKNOWN);
    }
    /* 899 % 47 = 6: it is on. 8 CPUs, 17 ns each of them a share of Y (1 - exp(-0.16)). */
    assert_true(rig->domain.rest_caused_ns > 10 && rig->domain.rest_caused_ns < 35);
    free(rig);
}

/* ---- who waits ---- */

/* In half an hour: readings in which somebody else slows memory down and one of these is
 * named, or they are a group; and those in which their effect is significant. */
struct waiting {
    unsigned accused, significant;
};

/* Services of two CPUs, there `from` some second on, that wait for memory half of their time, with
 * a load that varies by `jitter`, beside a neighbour that nobody sees. */
static struct waiting watch_waiting(double growth, unsigned n, double jitter, unsigned from)
{
    struct attribution_config config = attribution_config_cpu_time();
    config.growth = growth;
    struct attribution_rig *rig = attribution_rig_new(&config);
    struct waiting out = {0};
    uint64_t seed = 11;
    for (unsigned t = 0; t < 1800; t++) {
        double outside = 0.4 * square(t, 40, 90), x[3];
        for (unsigned i = 0; i < n; i++)
            x[i] = 2 * (1 + 0.5 * outside) * (1 + jitter * rig_normal(&seed));
        double latency_ns = 150 * (1 + outside) * exp(0.03 * rig_normal(&seed));
        attribution_rig_tick(rig, latency_ns, x, t < from ? 0 : n, NAN);
        bool accused = rig->domain.n_groups > 0, significant = false;
        for (unsigned i = 0; i < n; i++) {
            const struct attribution_slot *slot =
                attribution_candidate(&rig->domain, &rig->member[i]);
            accused |= slot && slot->state != ATTRIBUTION_UNKNOWN;
            significant |= slot && slot->score > 6;
        }
        out.accused += accused;
        out.significant += significant;
    }
    free(rig);
    return out;
}

TEST(who_waits_is_not_taken_for_the_cause)
{
    (void)state;
    double growth = attribution_config_cpu_time().growth;
    struct waiting one = watch_waiting(0, 1, 0.03, 0);
    assert_true(one.accused > 300 && one.significant > 300); /* else nothing is shown here */
    one = watch_waiting(growth, 1, 0.03, 0);
    assert_int_equal(one.accused, 0);
    assert_true(one.significant > 300);
    struct waiting several = watch_waiting(0, 3, 0.003, 0);
    assert_true(several.accused > 300);
    several = watch_waiting(growth, 3, 0.003, 0);
    assert_int_equal(several.accused, 0);
    struct waiting started = watch_waiting(growth, 1, 0.03, 120);
    assert_true(started.significant > 100);
    assert_int_equal(started.accused, 0);
}

/* Never idle, and twice as active at times. */
TEST(who_doubles_its_activity_is_named)
{
    (void)state;
    struct attribution_rig *rig = attribution_rig_new(NULL);
    unsigned on = 0, named = 0;
    uint64_t seed = 12;
    for (unsigned t = 0; t < 600; t++) {
        double now = square(t, 40, 90), x = (1 + now) * (1 + 0.03 * rig_normal(&seed));
        attribution_rig_tick(rig, 150 * (1 + 0.3 * x) * exp(0.03 * rig_normal(&seed)), &x, 1, NAN);
        on += t >= 120 && now > 0;
        named += t >= 120 && now > 0 && attribution_rig_state(rig, 0) == ATTRIBUTION_NAMED;
    }
    assert_true(named > 0.9 * on);
    free(rig);
}

/* ---- with a PMU ---- */

TEST(one_column_gives_the_pooled_slope_and_that_the_prior)
{
    (void)state;
    struct attribution_config config = attribution_config_pooled();
    struct attribution_rig *pooled = attribution_rig_new(&config),
                           *each = attribution_rig_new(NULL);
    uint64_t seed = 31;
    for (unsigned t = 0; t < 600; t++) {
        double x[2] = {0.5 * square(t, 20, 47), 0.2}, sum = x[0] + x[1];
        double latency_ns = 150 * exp(0.4 * sum + 0.02 * rig_normal(&seed));
        attribution_rig_tick(pooled, latency_ns, &sum, 1, NAN);
        double slope = attribution_rig_beta(pooled, 0);
        if (slope > 0)
            attribution_set_prior(&each->domain, slope, false);
        attribution_rig_tick(each, latency_ns, x, 2, NAN);
    }
    assert_true(fabs(attribution_rig_beta(pooled, 0) - 0.4) < 0.04);
    assert_true(attribution_candidate(&pooled->domain, &pooled->member[0])->score >= 4);
    assert_true(fabs(attribution_rig_beta(each, 0) - 0.4) < 0.04);

    /* One of which nothing was seen yet hurts as all do, from the next solve on. */
    for (unsigned t = 0; t < 6; t++) {
        double x[3] = {0, 0.2, t ? 0.02 : 0};
        attribution_rig_tick(each, 150 * exp(0.08), x, 3, NAN);
    }
    const struct attribution_config *prior = &each->domain.config;
    attribution_set_prior(&each->domain, 0.4, true);
    assert_true(prior->mu0 == 0.4 && prior->tau == 0.4 && prior->tau_rest == 0.4);
    attribution_set_prior(&each->domain, NAN, true);
    assert_true(prior->mu0 == 0 && prior->tau == 0.3 && prior->tau_rest == 0.02);
    free(pooled);
    free(each);
}

/* Who is named stays so while it does half of what it did then: in whatever unit. */
TEST(a_new_unit_of_who_is_named)
{
    (void)state;
    struct attribution_config config = attribution_config_cpu_time();
    struct attribution_rig *rig = attribution_rig_new(&config);
    rig->domain.slots[0].named_activity = 1;
    rig->domain.host_activity = 4;
    attribution_rescale(&rig->domain, 0.25, &rig->scratch);
    assert_true(rig->domain.slots[0].named_activity == 0.25f);
    assert_true(rig->domain.host_activity == 1);
    free(rig);
}

/* The same activities in another unit, from the middle on: nothing but beta is another number. The
 * prior is in the unit of the beginning, but so wide that it does not matter. */
TEST(a_new_unit_is_no_change)
{
    (void)state;
    struct attribution_config wide = attribution_config_cpu_time();
    wide.tau = wide.tau_rest = 1e4;
    struct attribution_rig *one = attribution_rig_new(&wide), *other = attribution_rig_new(&wide);
    uint64_t seed = 7;
    for (unsigned t = 0; t < 300; t++) {
        double factor = t < 150 ? 1 : 0.25;
        double x[3] = {square(t, 12, 25), 0.8 * square(t + 5, 17, 31),
                       0.3 + 0.1 * rig_uniform(&seed)};
        double y[3] = {x[0] * factor, x[1] * factor, x[2] * factor};
        double latency_ns = 150 * exp(0.2 * x[0] + 0.02 * rig_normal(&seed));
        if (t == 150) {
            attribution_rescale(&other->domain, factor, &other->scratch);
            for (int i = 0; i < 3; i++)
                attribution_member_rescale(&other->member[i], factor);
        }
        attribution_rig_tick(one, latency_ns, x, 3, NAN);
        attribution_rig_tick(other, latency_ns, y, 3, NAN);
        for (unsigned i = 0; i < 3; i++) {
            const struct attribution_slot *a = attribution_candidate(&one->domain, &one->member[i]);
            const struct attribution_slot *b =
                attribution_candidate(&other->domain, &other->member[i]);
            assert_true(!a == !b);
            if (!a)
                continue;
            assert_int_equal(a->state, b->state);
            assert_true(fabs(a->caused_ns - b->caused_ns) < 1e-4 * (a->caused_ns + 1));
            assert_true(fabs(a->score - b->score) < 1e-4 * (a->score + 1));
            assert_true(fabs(a->support - b->support) < 1e-4 * (a->support + 1));
        }
    }
    assert_int_equal(attribution_rig_state(other, 0), attribution_rig_state(one, 0));
    assert_true(attribution_rig_beta(other, 0) > 3 * attribution_rig_beta(one, 0));
    free(one);
    free(other);
}

TEST(configurations_that_cannot_work_are_refused)
{
    (void)state;
    struct attribution_domain *d = malloc(sizeof *d);
    assert_non_null(d);
    const struct attribution_config good = attribution_config_cpu_time();
    struct attribution_config bad[10];
    for (unsigned i = 0; i < 10; i++)
        bad[i] = good;
    bad[0].slots = 0;
    bad[1].slots = ATTRIBUTION_SLOTS + 1;
    bad[2].tau = 0;
    bad[3].tau = NAN;
    bad[4].tau_rest = -1;
    bad[5].mu0 = NAN;
    bad[6].mu0 = -1;
    bad[7].solve_every = 0;
    bad[8].growth = -1;
    bad[9].growth = NAN;
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(attribution_init(d, &bad[i]), -EINVAL);
    assert_int_equal(attribution_init(d, &good), 0);
    free(d);
}

TEST(ticks_allocate_nothing)
{
    (void)state;
    if (!malloc_count_works())
        skip();
    struct attribution_rig *rig = attribution_rig_new(NULL);
    uint64_t before = malloc_count();
    run_two(rig, 0, 100);
    attribution_forget(&rig->domain, &rig->member[0]);
    assert_int_equal(malloc_count(), before);
    free(rig);
}

TEST(it_is_as_small_as_promised)
{
    (void)state;
    assert_true(sizeof(struct attribution_domain) <= 80 * 1024);
    assert_true(sizeof(struct attribution_scratch) <= 180 * 1024);
    assert_true(sizeof(struct attribution_member) <= 80);
}
