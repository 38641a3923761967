/* Whatever is fed to the estimator: never NaN, never negative, and all parts add up. */
#include <math.h>
#include <stdlib.h>

#include "collectors/attribution/regression/posterior.h"
#include "tests/unit/support/attribution_rig.h"
#include "tests/unit/support/unit.h"

static void check_candidate(const struct attribution_domain *d, unsigned i)
{
    const struct attribution_slot *s = &d->slots[i];
    assert_true(s->caused_ns >= 0 && isfinite(s->caused_ns));
    assert_true(s->sd_ns >= 0 && isfinite(s->sd_ns));
    assert_true(s->se > 0 && isfinite(s->se) && isfinite(s->score));
    assert_true(s->support >= 0 && isfinite(s->support));
    assert_true(d->beta[i] >= 0 && isfinite(d->beta[i]) && isfinite(d->raw[i]));
    /* Readings only add to what is known: never less certain than before any. */
    assert_true(d->variance[i] > 0 && d->variance[i] <= d->p[i][i] * (1 + 1e-3));
    assert_true(d->p[i][i] <= d->config.tau * d->config.tau * (1 + 1e-3));
}

static void check(const struct attribution_domain *d)
{
    double sum = d->rest_caused_ns, named = 0, grouped = 0;
    assert_true(isfinite(d->latency_ns) && d->latency_ns > 0 && d->effect >= 0);
    assert_true(isfinite(d->noise) && d->noise > 0 && d->inflation >= 1 && d->inflation < 10);
    assert_true(d->rest_caused_ns >= 0);
    for (unsigned i = 0; i < d->config.slots; i++) {
        if (!d->slots[i].ticket)
            continue;
        check_candidate(d, i);
        sum += d->slots[i].caused_ns;
        named += d->slots[i].state == ATTRIBUTION_NAMED ? d->slots[i].caused_ns : 0;
    }
    double all = d->latency_ns * -expm1(-d->effect);
    assert_true(fabs(sum - all) <= 1e-9 * d->latency_ns);
    for (unsigned i = 0; i < d->n_groups; i++)
        grouped += d->groups[i].caused_ns;
    assert_true(named + grouped <= all * (1 + 1e-9));
}

static double hostile(uint64_t *seed)
{
    static const double values[] = {0,     0,    1,   1,   1e-300, 5e-324,   1e-13, 1e6,
                                    -1e-9, 1e-6, 256, 0.5, 1e300,  INFINITY, NAN,   -1};
    double u = rig_uniform(seed);
    if (u < 0.3)
        return values[(unsigned)(u / 0.3 * 16)];
    return u < 0.6 ? exp(60 * (rig_uniform(seed) - 0.8)) : rig_uniform(seed);
}

TEST(any_activity_and_any_latency)
{
    (void)state;
    for (uint64_t run = 1; run <= 6; run++) {
        uint64_t seed = run * 104729;
        struct attribution_rig *rig = attribution_rig_new(NULL);
        unsigned n = run % 3 == 0 ? RIG_CONTAINERS : 3 * (unsigned)run;
        for (unsigned t = 0; t < 300; t++) {
            double x[RIG_CONTAINERS], latency_ns = 100 * exp(3 * rig_normal(&seed));
            if (rig_uniform(&seed) < 0.1)
                latency_ns = fabs(hostile(&seed)) * 1e-9;
            for (unsigned i = 0; i < n; i++)
                x[i] = i % 2 || i == 0 ? hostile(&seed)
                                       : x[i / 2] * (i % 4 ? 1 : 1e3); /* many alike */
            if (attribution_begin(&rig->domain, latency_ns) != 0)
                continue;
            for (unsigned i = 0; i < n; i++)
                attribution_add(&rig->domain, &rig->member[i], x[i]);
            attribution_rest(&rig->domain, hostile(&seed));
            attribution_end(&rig->domain, &rig->scratch);
            check(&rig->domain);
            if (rig_uniform(&seed) < 0.1)
                attribution_forget(&rig->domain, &rig->member[(unsigned)(n * rig_uniform(&seed))]);
        }
        free(rig);
    }
}

/* Enormous and exactly alike: their matrix has no inverse in floating point. */
TEST(activities_that_cannot_be_told_apart_at_all)
{
    (void)state;
    struct attribution_rig *rig = attribution_rig_new(NULL);
    for (unsigned t = 0; t < 500; t++) {
        double x[40], on = t % 7 < 3 ? ATTRIBUTION_ACTIVITY_MAX : 0;
        for (unsigned i = 0; i < 40; i++)
            x[i] = on;
        attribution_rig_tick(rig, 150 * (1 + (on > 0)), x, 40, on);
        check(&rig->domain);
        for (unsigned i = 0; i < 40; i++)
            assert_int_not_equal(attribution_rig_state(rig, i), ATTRIBUTION_NAMED);
    }
    free(rig);
}

TEST(ten_thousand_containers)
{
    (void)state;
    enum { N = 10000 };
    struct attribution_rig *rig = attribution_rig_new(NULL);
    struct attribution_member *members = calloc(N, sizeof *members);
    assert_non_null(members);
    uint64_t seed = 1;
    for (unsigned t = 0; t < 20; t++) {
        assert_int_equal(attribution_begin(&rig->domain, 150 + 10 * rig_uniform(&seed)), 0);
        for (unsigned i = 0; i < N; i++)
            attribution_add(&rig->domain, &members[i], rig_uniform(&seed));
        attribution_end(&rig->domain, &rig->scratch);
        check(&rig->domain);
    }
    assert_int_equal(attribution_candidates(&rig->domain), 64);
    unsigned seated = 0;
    for (unsigned i = 0; i < N; i++) {
        seated += attribution_candidate(&rig->domain, &members[i]) != NULL;
        attribution_forget(&rig->domain, &members[i]);
    }
    assert_int_equal(seated, 64);
    assert_int_equal(attribution_candidates(&rig->domain), 0);
    free(members);
    free(rig);
}

/* Who stops for ever must not leave numbers behind that are slow to multiply. */
TEST(nothing_decays_into_denormal_numbers)
{
    (void)state;
    struct attribution_rig *rig = attribution_rig_new(NULL);
    double x[2] = {1, 1};
    for (unsigned t = 0; t < 100000; t++) {
        x[0] = t < 200 && t % 20 < 10;
        x[1] = t % 20 < 10;
        attribution_rig_tick(rig, 150 + 10 * x[1], x, 2, 0);
    }
    const struct attribution_domain *d = &rig->domain;
    unsigned gone = rig->member[0].slot;
    assert_true(d->g[gone][gone] == 0 || d->g[gone][gone] > 1e-20);
    assert_true(d->g[1][0] == 0 || fabs(d->g[1][0]) > 1e-100);
    assert_true(d->z[gone] == 0 && rig->member[0].mean == 0 && rig->member[0].smoothed == 0);
    free(rig);
}

/* ---- the linear algebra ---- */

TEST(an_inverse_times_the_matrix_is_one)
{
    (void)state;
    static solve_matrix a, inverse;
    uint64_t seed = 7;
    for (unsigned n = 1; n <= ATTRIBUTION_COLUMNS; n += 8) {
        for (unsigned i = 0; i < n; i++)
            for (unsigned j = 0; j <= i; j++)
                a[i][j] = a[j][i] = (i == j ? n + 1 : 0) + rig_normal(&seed) / 2;
        for (unsigned i = 0; i < n; i++) /* of very different sizes */
            for (unsigned j = 0; j < n; j++)
                a[i][j] *= exp2((double)(i % 13) + (double)(j % 13));
        for (unsigned i = 0; i < n; i++)
            for (unsigned j = 0; j < n; j++)
                inverse[i][j] = j <= i ? a[i][j] : NAN; /* not to be read */
        assert_true(solve_invert(inverse, n));
        for (unsigned i = 0; i < n; i++)
            for (unsigned j = 0; j < n; j++) {
                double sum = 0;
                for (unsigned k = 0; k < n; k++)
                    sum += a[i][k] * (k >= j ? inverse[k][j] : inverse[j][k]);
                sum *= exp2((double)(j % 13) - (double)(i % 13));
                assert_true(fabs(sum - (i == j)) < 1e-9);
            }
    }
}

TEST(a_matrix_without_an_inverse_is_refused)
{
    (void)state;
    static solve_matrix a;
    static const double bad[][3] = {{1, 1, 1},   {1, 2, 1},        {0, 0, 1},   {-1, 0, 1},
                                    {1, NAN, 1}, {INFINITY, 0, 1}, {1, 0, NAN}, {1, 1, 1 + 1e-13}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        a[0][0] = bad[i][0];
        a[1][0] = bad[i][1];
        a[1][1] = bad[i][2];
        assert_false(solve_invert(a, 2));
    }
}

TEST(the_best_coefficients_that_are_not_negative)
{
    (void)state;
    static solve_matrix a = {{2, 1}, {1, 2}};
    double c[] = {3, 3}, x[] = {0, 0};
    solve_nonnegative(a, c, 2, 1e-12, x);
    assert_true(fabs(x[0] - 1) < 1e-9 && fabs(x[1] - 1) < 1e-9);
    /* Without the bound: 7/3 and -5/3. */
    double c2[] = {3, -1}, x2[] = {0, 5};
    solve_nonnegative(a, c2, 2, 1e-12, x2);
    assert_true(fabs(x2[0] - 1.5) < 1e-9 && x2[1] == 0);
}
