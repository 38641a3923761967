/* Model asm on quanta made by hand; the worked number is FORMULAS.md section 3. */
#include "tests/unit/support/slowdown_rig.h"
#include "tests/unit/support/unit.h"

RIG_TEST(the_worked_number_of_asm, slowdown_rig_setup)
{
    rig_container(rig, "a");
    rig_quantum(rig, worked_quantum);
    assert_true(fabs(rig_asm_ratio(rig) - 1.2626263) < 1e-6);
    /* 6.8182e-3 per cycle at 5 million cycles in a millisecond. */
    double rate = rig_value(rig, C("alone_llc_access_rate_hertz"), "model=\"asm\"");
    assert_true(fabs(rate - 7500.0 / 1100000 * 5e9) < 1);
    assert_true(rig_value(rig, C("slowdown_observed_cycles"), "model=\"asm\"") == 5e6);
    rig_quantum(rig, (struct quantum){.epochs = 125,
                                      .accesses = 54000,
                                      .queueing = 25000}); /* the next quantum stands for itself */
    assert_true(rig_asm_ratio(rig) == 1);
    rig_quantum(rig, worked_quantum);
    assert_true(fabs(rig_asm_ratio(rig) - 1.2626263) < 1e-6);
    assert_true(rig_value(rig, C("slowdown_observed_cycles"), "model=\"asm\"") == 15e6);
}

RIG_TEST(quanta_without_an_estimate_are_counted, slowdown_rig_setup)
{
    rig_container(rig, "a");
    rig_quantum(rig, (struct quantum){.accesses = 27000, .queueing = 25000});
    assert_true(isnan(rig_asm_ratio(rig)));
    assert_int_equal(rig->status.discarded[DISCARD_NO_EPOCH], 1);
    rig_quantum(rig, (struct quantum){.epochs = 125, .queueing = 25000});
    assert_int_equal(rig->status.discarded[DISCARD_NO_MISSES], 1);
    rig_quantum(rig, (struct quantum){.epochs = 125, .accesses = 27000, .queueing = 5000000});
    assert_int_equal(rig->status.discarded[DISCARD_DENOMINATOR], 1);
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_ASM_EPOCHS);
    memset(g->count, 0, sizeof g->count);
    rig_quantum(rig, worked_quantum);
    assert_int_equal(rig->status.discarded[DISCARD_RESET], 1);
    assert_true(isnan(rig_asm_ratio(rig)));
    assert_true(rig_value(rig, C("slowdown_observed_cycles"), "model=\"asm\"") == 0);
    rig_quantum(rig, worked_quantum);
    assert_true(fabs(rig_asm_ratio(rig) - 1.2626263) < 1e-6);
    g->no_reading = true;
    rig_tick(rig);
    assert_true(isnan(rig_asm_ratio(rig)));
}
