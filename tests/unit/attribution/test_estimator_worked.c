/* The estimator against its worked table (ATTRIBUTION.md section 2): each figure of each tick. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectors/attribution/regression/estimator.h"
#include "tests/unit/support/unit.h"

struct row {
    double latency_ns, a, b;
    double level, sigma, inflation;
    double beta_a, beta_b, score_a, score_b, support_a;
    double caused_a, sd_a, caused_b, sd_b;
    enum attribution_state state_a, state_b;
};

/* As printed there; B's support is not. */
static const struct row table[] = {
    {150, 0.0, 0.5, 5.010635, 0.027386, 1.0000, 0.000000, 0.000000, 0.000, 0.000, 0.000, 0.0000,
     0.0000, 0.0000, 0.0000, 0, 0},
    {152, 0.0, 0.5, 5.015050, 0.025859, 1.0000, 0.000000, 0.000000, 0.000, 0.000, 0.000, 0.0000,
     0.0000, 0.0000, 0.0000, 0, 0},
    {149, 0.0, 0.0, 5.012274, 0.024515, 1.0000, 0.000000, 0.021630, 0.000, 0.447, 0.000, 0.0000,
     0.0000, 0.0000, 0.0000, 0, 0},
    {151, 0.0, 0.0, 5.013275, 0.023535, 1.0000, 0.000000, 0.009253, 0.000, 0.248, 0.000, 0.0000,
     0.0000, 0.0000, 0.0000, 0, 0},
    {181, 1.0, 0.0, 5.024580, 0.031811, 1.1407, 0.069468, 0.008436, 1.863, 0.158, 1.000, 10.4673,
     5.9959, 0.0000, 0.0000, 0, 0},
    {178, 1.0, 0.5, 5.047038, 0.042482, 1.7858, 0.118000, 0.057839, 2.722, 0.771, 1.000, 17.6995,
     7.4039, 2.1172, 2.7781, 0, 0},
    {182, 1.0, 0.5, 5.066659, 0.044343, 2.4265, 0.135733, 0.074748, 2.947, 0.865, 1.000, 20.6611,
     8.1387, 2.7770, 3.2591, 0, 0},
    {179, 1.0, 0.5, 5.080073, 0.043046, 2.7298, 0.140433, 0.079201, 3.183, 0.909, 1.000, 21.6797,
     8.0738, 2.9843, 3.3381, 0, 0},
    {150, 0.0, 0.5, 5.073129, 0.041841, 2.4106, 0.144228, 0.074838, 3.725, 0.958, 1.197, 0.0000,
     0.0000, 2.9580, 3.1432, 0, 0},
    {149, 0.0, 0.0, 5.066840, 0.040606, 2.5500, 0.142744, 0.068997, 3.758, 0.950, 1.286, 0.0000,
     0.0000, 0.0000, 0.0000, 0, 0},
    {151, 0.0, 0.0, 5.062710, 0.039797, 2.7312, 0.140739, 0.061264, 3.692, 0.873, 1.337, 0.0000,
     0.0000, 0.0000, 0.0000, 0, 0},
    {150, 0.0, 0.5, 5.058704, 0.038860, 2.5580, 0.143206, 0.056937, 4.078, 0.884, 1.441, 0.0000,
     0.0000, 2.1632, 2.4862, 0, 0},
    {180, 1.0, 0.5, 5.068294, 0.038205, 2.6341, 0.147405, 0.059839, 4.458, 0.937, 1.937, 21.9044,
     6.5831, 2.1724, 2.3577, 2, 0},
    {181, 1.0, 0.0, 5.076974, 0.039304, 2.6654, 0.156796, 0.041808, 4.927, 0.679, 2.296, 23.9015,
     6.8104, 0.0000, 0.0000, 2, 0},
    {179, 1.0, 0.0, 5.083875, 0.038866, 2.7715, 0.160707, 0.034363, 5.248, 0.579, 2.417, 24.8475,
     6.8641, 0.0000, 0.0000, 2, 0},
    {150, 0.0, 0.0, 5.079566, 0.037958, 2.8080, 0.160173, 0.032972, 5.418, 0.581, 2.602, 0.0000,
     0.0000, 0.0000, 0.0000, 0, 0},
};

/* 1e-5, and half of the last printed digit. */
static void same(const char *what, int tick, double got, double want, double digit)
{
    if (fabs(got - want) <= 1e-5 * fabs(want) + digit / 2 * 1.000001)
        return;
    fail_msg("tick %d, %s: %.9g instead of %.9g", tick, what, got, want);
}

static void check_candidate(const struct attribution_domain *d, const struct attribution_member *m,
                            int tick, const char *who, const double want[4])
{
    static const struct attribution_slot nobody;
    const struct attribution_slot *slot = attribution_candidate(d, m);
    double beta = slot ? d->beta[m->slot] : 0;
    slot = slot ? slot : &nobody;
    same(who, tick, beta, want[0], 1e-6);
    same(who, tick, slot->score, want[1], 1e-3);
    same(who, tick, slot->caused_ns, want[2], 1e-4);
    same(who, tick, slot->sd_ns, want[3], 1e-4);
}

TEST(every_figure_of_the_table)
{
    (void)state;
    struct attribution_domain *d = malloc(sizeof *d);
    struct attribution_scratch *scratch = malloc(sizeof *scratch);
    assert_true(d && scratch);
    struct attribution_config config = attribution_config_cpu_time();
    config.learning = 0;
    config.solve_every = 1;
    assert_int_equal(attribution_init(d, &config), 0);
    struct attribution_member a = {0}, b = {0};
    for (int i = 0; i < (int)(sizeof table / sizeof *table); i++) {
        const struct row *row = &table[i];
        assert_int_equal(attribution_begin(d, row->latency_ns), 0);
        assert_int_equal(attribution_add(d, &a, row->a), 0);
        assert_int_equal(attribution_add(d, &b, row->b), 0);
        attribution_end(d, scratch);
        same("m_y", i + 1, d->level, row->level, 1e-6);
        same("sigma", i + 1, sqrt(d->noise), row->sigma, 1e-6);
        same("infl", i + 1, d->inflation, row->inflation, 1e-4);
        const double want_a[] = {row->beta_a, row->score_a, row->caused_a, row->sd_a};
        const double want_b[] = {row->beta_b, row->score_b, row->caused_b, row->sd_b};
        check_candidate(d, &a, i + 1, "A", want_a);
        check_candidate(d, &b, i + 1, "B", want_b);
        const struct attribution_slot *slot_a = attribution_candidate(d, &a);
        const struct attribution_slot *slot_b = attribution_candidate(d, &b);
        same("support_A", i + 1, slot_a ? slot_a->support : 0, row->support_a, 1e-3);
        assert_int_equal(slot_a ? slot_a->state : ATTRIBUTION_UNKNOWN, row->state_a);
        assert_int_equal(slot_b ? slot_b->state : ATTRIBUTION_UNKNOWN, row->state_b);
    }
    assert_int_equal(a.slot, 1);
    assert_int_equal(b.slot, 0);
    same("G_AA", 16, d->g[1][1], 4.605003444, 1e-9);
    same("G_AB", 16, d->g[1][0], 0.158623840, 1e-9);
    same("G_BB", 16, d->g[0][0], 1.218279826, 1e-9);
    same("b_A", 16, d->b[1], 0.750029834, 1e-9);
    same("b_B", 16, d->b[0], 0.067058892, 1e-9);
    same("V_A", 16, d->variance[1], 8.738219182e-04, 1e-13);
    same("V_B", 16, d->variance[0], 3.216534775e-03, 1e-12);
    same("P_AA", 16, d->p[1][1], 8.738219182e-04, 1e-13);
    same("P_AB", 16, d->p[1][0], -1.097255496e-04, 1e-13);
    same("lev", 16, d->present, 5.099874807, 1e-9);
    free(scratch);
    free(d);
}
