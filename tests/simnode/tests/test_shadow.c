/* Shadow clocks against what they stand for: the same instructions, run alone. */
#include "tests/simnode/tests/test_support.h"

enum { TICK = 2000000 };

#define MACHINE "'machine':{'preset':'asm','llc':{'bytes':524288,'ways':16}}"

#define VICTIMS                                                                                    \
    "'chase':{'kind':'chase','bytes':33554432,'instructions_per_access':30},"                      \
    "'warm':{'kind':'random','bytes':393216,'instructions_per_access':30,'dependence':0.3},"       \
    "'line':{'kind':'stream','bytes':67108864,'instructions_per_access':40},"                      \
    "'writes':{'kind':'random','bytes':33554432,'instructions_per_access':26,'store_share':0.3}"

static struct scenario *scenario_of(const char *victim, const char *more, bool hogs)
{
    char text[2048];

    snprintf(text, sizeof(text),
             "{'scenario':1,'tick_cycles':%d,'epochs':{'length_cycles':10000},%s,"
             "'workloads':{" VICTIMS ",'hog':{'kind':'random','bytes':67108864,"
             "'instructions_per_access':25}},"
             "'containers':[{'key':'v','workload':'%s','cpus':[0]}%s]}",
             TICK, more, victim,
             hogs ? ",{'key':'h','workload':'hog','cpus':[1],'seed':7},"
                    "{'key':'i','workload':'hog','cpus':[2],'seed':8}"
                  : "");
    return parse_scenario(text);
}

/* Cycles that so many instructions take alone. */
static double alone_cycles(const char *victim, const char *more, uint64_t instructions)
{
    struct scenario *scenario = scenario_of(victim, more, false);
    struct simnode *node = new_node(scenario);
    uint64_t before = 0, now = 0, steps = 0;

    for (; now < instructions; steps++) {
        assert_int_equal(simnode_run_cycles(node, 1000), 0);
        before = now;
        now = instructions_of(node, 0);
    }
    release(node, scenario);
    return 1000 * ((double)steps -
                   (double)(now - instructions) / (double)(now - before ? now - before : 1));
}

/* Writes that its controller keeps back and lets go together are followed less well. */
static const struct {
    const char *name;
    double tolerance;
} victims[] = {{"chase", 0.02}, {"warm", 0.02}, {"line", 0.02}, {"writes", 0.07}};

TEST(test_alone_the_shadow_keeps_pace)
{
    for (size_t i = 0; i < sizeof(victims) / sizeof(victims[0]); i++) {
        struct scenario *scenario = scenario_of(victims[i].name, MACHINE, false);
        struct simnode *node = new_node(scenario);

        assert_int_equal(simnode_run_tick(node), 0);
        double shadow = (double)total_of(node, 0, GROUP_ASM_EPOCHS, ROLE_SHADOW_CYCLES) / TICK;
        double cache = (double)total_of(node, 0, GROUP_ASM_EPOCHS, ROLE_SHADOW_CACHE_CYCLES) / TICK;

        if (fabs(shadow - 1) > victims[i].tolerance || fabs(cache - 1) > 0.001)
            fail_msg("%s: %.4f, %.4f", victims[i].name, shadow, cache);
        release(node, scenario);
    }
}

static void check_beside_hogs(const char *more, double more_tolerance)
{
    for (size_t i = 0; i < sizeof(victims) / sizeof(victims[0]); i++) {
        struct scenario *scenario = scenario_of(victims[i].name, more, true);
        struct simnode *node = new_node(scenario);

        assert_int_equal(simnode_run_tick(node), 0);
        double shadow = (double)total_of(node, 0, GROUP_ASM_EPOCHS, ROLE_SHADOW_CYCLES);
        double cache = (double)total_of(node, 0, GROUP_ASM_EPOCHS, ROLE_SHADOW_CACHE_CYCLES);
        double alone = alone_cycles(victims[i].name, more, instructions_of(node, 0));

        if (TICK < 1.3 * alone)
            fail_msg("%s is not hurt: %.0f of %d", victims[i].name, alone, TICK);
        if (fabs(shadow / alone - 1) > victims[i].tolerance + more_tolerance)
            fail_msg("%s: %.0f, alone %.0f", victims[i].name, shadow, alone);
        assert_true(cache <= TICK * 1.001 && cache > shadow);
        release(node, scenario);
    }
}

TEST(test_beside_hogs_the_shadow_is_the_time_alone)
{
    check_beside_hogs(MACHINE, 0.02);
}

TEST(test_sampled_tags_do_nearly_as_well)
{
    check_beside_hogs(MACHINE ",'ats_sets':64", 0.06);
}

/* Loads that nobody waits for are hidden; those that come late are not. */
TEST(test_a_prefetcher_is_followed)
{
    const char *more = "'machine':{'preset':'asm','prefetcher':{'degree':4,'distance':24}}";
    struct scenario *scenario = scenario_of("line", more, true);
    struct simnode *node = new_node(scenario);

    assert_int_equal(simnode_run_tick(node), 0);
    double shadow = (double)total_of(node, 0, GROUP_ASM_EPOCHS, ROLE_SHADOW_CYCLES);
    double alone = alone_cycles("line", more, instructions_of(node, 0));

    if (TICK < 1.3 * alone || fabs(shadow / alone - 1) > 0.06)
        fail_msg("%.0f, alone %.0f", shadow, alone);
    release(node, scenario);
}
