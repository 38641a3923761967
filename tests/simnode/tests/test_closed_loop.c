/* The governor's knobs on a simulated node, and the loop through production code. */
#include "tests/simnode/tests/test_support.h"

#include "tests/simnode/control/actuate.h"
#include "tests/simnode/control/closed_loop.h"

enum { LC, HOG, COMPUTE, ALONE_TICKS = 24, HOG_IDLES = 49 };

/* The neighbours begin with this tick; the hog has no more work from that one on, 0: it always has.
 */
static struct scenario *make_scenario_with(int start_tick, int idle_tick)
{
    char text[1024], idle[64] = "";

    if (idle_tick > 0)
        snprintf(idle, sizeof(idle), ",'pauses':[{'from_tick':%d,'to_tick':1000}]", idle_tick);
    snprintf(
        text, sizeof(text),
        "{'scenario':1,'tick_cycles':100000,'stretch':21000,"
        "'machine':{'preset':'clx','cores_per_socket':8,'memory':{'channels':3}},'workloads':{"
        "'lc':{'kind':'random','bytes':268435456,'instructions_per_access':60,'dependence':0.5},"
        "'stream':{'kind':'stream','bytes':268435456,'instructions_per_access':4},"
        "'compute':{'kind':'compute'}},'containers':["
        "{'key':'lc','workload':'lc','cpus':[0]},"
        "{'key':'hog','workload':'stream','cpus':[1,2,3],'start_tick':%d%s},"
        "{'key':'compute','workload':'compute','cpus':[4,5,6],'start_tick':%d}]}",
        start_tick, idle, start_tick);
    return parse_scenario(text);
}

static struct scenario *make_scenario_from(int start_tick)
{
    return make_scenario_with(start_tick, 0);
}

static struct scenario *make_scenario(void)
{
    return make_scenario_from(ALONE_TICKS + 1);
}

/* --- knobs --- */

struct knobs_rig {
    struct scenario *scenario;
    struct simnode *node;
    struct node_knobs *knobs;
    struct actuators actuators;
};

static void knobs_init(struct knobs_rig *rig)
{
    rig->scenario = make_scenario();
    rig->node = new_node(rig->scenario);
    assert_int_equal(node_knobs_new(rig->node, rig->scenario, &rig->knobs), 0);
    node_knobs_actuators(rig->knobs, &rig->actuators);
    for (int i = 0; i <= ALONE_TICKS; i++)
        assert_int_equal(simnode_run_tick(rig->node), 0);
}

static void knobs_release(struct knobs_rig *rig)
{
    node_knobs_free(rig->knobs);
    simnode_free(rig->node);
    scenario_free(rig->scenario);
}

TEST(test_a_knob_is_claimed_turned_and_put_back)
{
    struct knobs_rig rig;
    struct claim claim = {.knob = KNOB_CPU, .path = "/hog"};
    enum claim_restored restored;
    enum claim_state found;
    char now[CLAIM_TEXT_MAX];

    knobs_init(&rig);

    const struct actuator_ops *ops = rig.actuators.of[KNOB_CPU].ops;
    void *self = rig.actuators.of[KNOB_CPU].self;

    assert_int_equal(ops->claim(self, 1, &claim), 0);
    assert_true(claim.least == 1 && claim.most == 3 && claim.value == 3);
    assert_string_equal(claim.original, "max");
    assert_int_equal(ops->check(self, &claim, &found, now), 0);
    assert_int_equal(found, CLAIM_OURS);
    strcpy(claim.from, claim.original);
    ops->format(self, &claim, 1.5, claim.set);
    assert_string_equal(claim.set, "1.5");
    assert_int_equal(ops->apply(self, &claim), 0);
    assert_true(node_knobs_value(rig.knobs, KNOB_CPU, HOG) == 1.5);
    assert_int_equal(ops->apply(self, &claim), -ESTALE); /* it is no longer as it was */
    assert_int_equal(ops->release(self, &claim, &restored), 0);
    assert_int_equal(restored, RESTORED);
    assert_true(node_knobs_value(rig.knobs, KNOB_CPU, HOG) == 3);
    assert_int_equal(ops->release(self, &claim, &restored), 0);
    assert_int_equal(restored, RESTORED_ALREADY);
    knobs_release(&rig);
}

/* Turns a knob of the hog's to a value, and back; 'texts': before, then. */
static void turn(const struct knobs_rig *rig, enum knob knob, double floor, double value,
                 const char *const texts[2])
{
    const struct actuator_ops *ops = rig->actuators.of[knob].ops;
    void *self = rig->actuators.of[knob].self;
    struct claim claim = {.knob = knob, .path = "/hog"};
    enum claim_restored restored;

    assert_int_equal(ops->claim(self, floor, &claim), 0);
    assert_string_equal(claim.original, texts[0]);
    assert_true(claim.value == claim.most);
    strcpy(claim.from, claim.original);
    ops->format(self, &claim, value, claim.set);
    assert_string_equal(claim.set, texts[1]);
    assert_int_equal(ops->apply(self, &claim), 0);
    assert_true(node_knobs_value(rig->knobs, knob, HOG) == value);
    assert_int_equal(simnode_run_tick(rig->node), 0);
    assert_int_equal(ops->release(self, &claim, &restored), 0);
    assert_int_equal(restored, RESTORED);
    assert_true(node_knobs_value(rig->knobs, knob, HOG) == claim.most);
}

static uint64_t hog_instructions(const struct knobs_rig *rig)
{
    struct simnode_truth truth;

    simnode_truth(rig->node, HOG, &truth);
    return truth.instructions;
}

/* Each is a knob of its own, and the node feels it: a stream with a tenth of the bandwidth. */
TEST(test_ways_and_bandwidth_are_knobs_too)
{
    struct knobs_rig rig;
    struct claim claim = {.knob = KNOB_MBA, .path = "/hog"};

    knobs_init(&rig);
    uint64_t before = hog_instructions(&rig);
    assert_int_equal(simnode_run_tick(rig.node), 0);
    uint64_t free = hog_instructions(&rig) - before;
    turn(&rig, KNOB_WAYS, 2, 3, (const char *const[]){"7ff", "7"});
    before = hog_instructions(&rig);
    turn(&rig, KNOB_MBA, 5, 10, (const char *const[]){"100", "10"});
    uint64_t narrow = hog_instructions(&rig) - before;
    assert_true(narrow * 2 < free);
    assert_true(node_knobs_value(rig.knobs, KNOB_CPU, HOG) == 3);

    const struct actuator_ops *ops = rig.actuators.of[KNOB_MBA].ops;

    assert_int_equal(ops->claim(rig.actuators.of[KNOB_MBA].self, 15, &claim), 0);
    assert_true(claim.step == 10 && claim.least == 20 && claim.most == 100);
    knobs_release(&rig);
}

TEST(test_nobody_there_and_nothing_to_take)
{
    struct knobs_rig rig;
    struct claim claim = {.knob = KNOB_CPU, .path = "/nobody"};
    enum claim_state found;
    char now[CLAIM_TEXT_MAX];

    knobs_init(&rig);

    const struct actuator_ops *ops = rig.actuators.of[KNOB_CPU].ops;
    void *self = rig.actuators.of[KNOB_CPU].self;

    assert_int_equal(ops->claim(self, 1, &claim), -ENOENT);
    assert_int_equal(ops->check(self, &claim, &found, now), 0);
    assert_int_equal(found, CLAIM_GONE);
    strcpy(claim.path, "/hog");
    assert_int_equal(ops->claim(self, 3, &claim), -ERANGE);
    knobs_release(&rig);
}

/* --- the loop --- */

#define POLICY                                                                                     \
    "'classes':[{'name':'lc','role':'protected','match':[{'namespace':'*','pod':'*',"              \
    "'container':'lc'}]},{'name':'be','role':'best_effort','match':[{'namespace':'*','pod':'*',"   \
    "'container':'*'}]}],'policies':{'threshold':{'classes':['be'],'mode':'paper','factor':1.4}}"

static struct closed_loop *new_loop(const struct scenario *scenario)
{
    char *config = with_quotes(POLICY);
    struct closed_loop *loop;

    assert_int_equal(closed_loop_new(scenario, config, &loop), 0);
    free(config);
    return loop;
}

/* The hog is cut to one core and below, who computes gets all it can use, and nobody is touched
 * before there is anybody to protect from, or afterwards. */
TEST(test_the_culprit_is_cut)
{
    struct scenario *scenario = make_scenario_with(ALONE_TICKS + 1, HOG_IDLES);
    struct closed_loop *loop = new_loop(scenario);
    double hog = 0, compute = 0;

    for (int i = 0; i < ALONE_TICKS; i++)
        assert_int_equal(closed_loop_tick(loop), 0);
    assert_int_equal(closed_loop_changes(loop), 0);

    double alone = closed_loop_latency_ns(loop, LC);

    assert_true(alone > 60 && alone < 150);
    assert_true(fabs(closed_loop_baseline_ns(loop, LC) - alone) < 3);
    for (int i = 0; i < 24; i++) {
        assert_int_equal(closed_loop_tick(loop), 0);
        hog += i < 8 ? 0 : closed_loop_value(loop, KNOB_CPU, HOG) / 16;
        compute += i < 8 ? 0 : closed_loop_value(loop, KNOB_CPU, COMPUTE) / 16;
    }
    assert_true(closed_loop_changes(loop) > 5);
    assert_true(hog < 2);
    assert_true(compute > 2.5);
    for (int i = 0; i < 8; i++)
        assert_int_equal(closed_loop_tick(loop), 0);
    assert_true(closed_loop_value(loop, KNOB_CPU, HOG) == 3);
    assert_true(closed_loop_value(loop, KNOB_CPU, COMPUTE) == 3);

    uint64_t changes = closed_loop_changes(loop);

    for (int i = 0; i < 8; i++)
        assert_int_equal(closed_loop_tick(loop), 0);
    assert_int_equal(closed_loop_changes(loop), changes);
    closed_loop_free(loop);
    scenario_free(scenario);
}

/* The node is busy from the start: no window is calm, and what is normal for a container nobody
 * knows until best effort has been held. */
#define THROTTLE                                                                                   \
    "'classes':[{'name':'lc','role':'protected','match':[{'namespace':'*','pod':'*',"              \
    "'container':'lc'}]},{'name':'be','role':'best_effort','match':[{'namespace':'*','pod':'*',"   \
    "'container':'*'}],'cpu':{'base_cores':0.1}}],'policies':{'threshold':{'classes':['be'],"      \
    "'mode':'paper','factor':1.4,'calibrate':'%s'}}"

static struct closed_loop *new_calibrating(const struct scenario *scenario, const char *calibrate)
{
    char *quoted = with_quotes(THROTTLE), config[1024];
    struct closed_loop *loop;

    snprintf(config, sizeof(config), quoted, calibrate);
    free(quoted);
    assert_int_equal(closed_loop_new(scenario, config, &loop), 0);
    return loop;
}

static double alone_ns(void)
{
    struct scenario *scenario = make_scenario();
    struct closed_loop *loop;
    double sum = 0;

    assert_int_equal(closed_loop_new(scenario, NULL, &loop), 0);
    for (int i = 0; i < ALONE_TICKS; i++) {
        assert_int_equal(closed_loop_tick(loop), 0);
        sum += i < 4 ? 0 : closed_loop_latency_ns(loop, LC) / (ALONE_TICKS - 4);
    }
    closed_loop_free(loop);
    scenario_free(scenario);
    return sum;
}

TEST(test_theta_is_learned_where_nothing_is_calm)
{
    struct scenario *scenario = make_scenario_from(1);
    struct closed_loop *loop = new_calibrating(scenario, "baseline");
    double alone = alone_ns(), hog = 0, compute = 0;

    for (int i = 0; i < 24; i++)
        assert_int_equal(closed_loop_tick(loop), 0);
    assert_true(isnan(closed_loop_baseline_ns(loop, LC)));
    assert_true(closed_loop_latency_ns(loop, LC) > 1.5 * alone);
    assert_int_equal(closed_loop_changes(loop), 0);
    closed_loop_free(loop);
    loop = new_calibrating(scenario, "throttle");
    for (int i = 0; i < 56; i++) {
        assert_int_equal(closed_loop_tick(loop), 0);
        hog += i < 44 ? 0 : closed_loop_value(loop, KNOB_CPU, HOG) / 12;
        compute += i < 44 ? 0 : closed_loop_value(loop, KNOB_CPU, COMPUTE) / 12;
    }
    assert_true(fabs(closed_loop_learned_ns(loop, LC) - alone) < 0.05 * alone);
    assert_true(hog < 2);
    assert_true(compute > 2.5);
    closed_loop_free(loop);
    scenario_free(scenario);
}

/* Two runs of the same are the same, to the last instruction. */
TEST(test_it_is_deterministic)
{
    struct scenario *scenario = make_scenario();
    uint64_t instructions[2][3];

    for (int run = 0; run < 2; run++) {
        struct closed_loop *loop = new_loop(scenario);

        for (int i = 0; i < ALONE_TICKS + 6; i++)
            assert_int_equal(closed_loop_tick(loop), 0);
        for (size_t i = 0; i < 3; i++) {
            struct simnode_truth truth;

            simnode_truth(closed_loop_node(loop), i, &truth);
            instructions[run][i] = truth.instructions;
        }
        closed_loop_free(loop);
    }
    assert_memory_equal(instructions[0], instructions[1], sizeof(instructions[0]));
    assert_true(instructions[0][HOG] > 0);
    scenario_free(scenario);
}
