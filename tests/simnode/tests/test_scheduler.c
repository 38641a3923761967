/* Threads that share the CPUs of a simulated node, and the governor's knob of them. */
#include "tests/simnode/tests/test_support.h"

#include "tests/simnode/control/scheduler.h"

struct rig {
    struct scenario *scenario;
    struct simnode *node;
    struct scheduler scheduler;
    cpu_set_t cpus; /* the last one of three */
    struct scheduler_knobs knobs;
    struct actuator actuator;
};

static void init(struct rig *rig, unsigned n_threads, unsigned n_cpus)
{
    struct actuators actuators;

    rig->scenario = parse_scenario(
        "{'scenario':1,'tick_cycles':10000,'machine':{'preset':'clx','cores_per_socket':4},"
        "'workloads':{'c':{'kind':'compute'}},'containers':["
        "{'key':'a','workload':'c','cpus':[0]},{'key':'b','workload':'c','cpus':[1]},"
        "{'key':'c','workload':'c','cpus':[2]},{'key':'d','workload':'c','cpus':[3]}]}");
    rig->node = new_node(rig->scenario);
    assert_int_equal(scheduler_init(&rig->scheduler, rig->node, n_threads, n_cpus), 0);
    CPU_ZERO(&rig->cpus);
    CPU_SET(2, &rig->cpus);
    rig->knobs = (struct scheduler_knobs){.scheduler = &rig->scheduler, .cpus = &rig->cpus};
    scheduler_actuators(&rig->knobs, &actuators);
    rig->actuator = actuators.of[KNOB_AFFINITY];
}

static void rig_release(struct rig *rig)
{
    simnode_free(rig->node);
    scenario_free(rig->scenario);
}

static void run(struct rig *rig, unsigned slices)
{
    for (unsigned i = 0; i < slices; i++)
        assert_int_equal(scheduler_run_slice(&rig->scheduler), 0);
}

static uint64_t instructions(const struct rig *rig, size_t thread)
{
    struct simnode_truth truth;

    simnode_truth(rig->node, thread, &truth);
    return truth.instructions;
}

static void expect_work(const struct rig *rig, const uint64_t *work)
{
    for (unsigned i = 0; i < rig->scheduler.n_threads; i++)
        assert_int_equal(rig->scheduler.threads[i].work, work[i]);
}

/* Who has a CPU for half of the slices does half of the work. */
TEST(test_queues_are_shared_evenly)
{
    static const uint64_t half[] = {100, 100, 100, 100}, uneven[] = {100, 200, 200, 100};
    struct rig rig;

    init(&rig, 4, 2);
    run(&rig, 200);
    expect_work(&rig, half);
    rig_release(&rig);
    init(&rig, 4, 3); /* two of them share one, and nobody moves */
    run(&rig, 200);
    expect_work(&rig, uneven);
    assert_true(instructions(&rig, 1) > 0);
    assert_in_range(instructions(&rig, 0) * 1000 / instructions(&rig, 1), 490, 510);
    rig_release(&rig);
}

TEST(test_a_queue_that_is_two_shorter_is_gone_to)
{
    static const uint64_t all[] = {20, 20};
    struct rig rig;

    init(&rig, 2, 2);
    rig.scheduler.threads[1].cpu = 0;
    run(&rig, 20);
    expect_work(&rig, all);
    rig_release(&rig);
}

static struct claim claim_of(int tid)
{
    return (struct claim){.knob = KNOB_AFFINITY, .path = "/x", .tid = tid};
}

TEST(test_threads_are_kept_on_cpus_and_given_back)
{
    struct claim claim = claim_of(SCHEDULER_FIRST_TID + 2), nobody = claim_of(7);
    enum claim_restored restored;
    struct rig rig;

    init(&rig, 4, 3);
    const struct actuator_ops *ops = rig.actuator.ops;
    void *self = rig.actuator.self;

    assert_int_equal(ops->claim(self, 1, &nobody), -ENOENT);
    assert_int_equal(ops->claim(self, 1, &claim), 0);
    assert_string_equal(claim.original, "all");
    assert_true(claim.least == 1 && claim.most == 3);
    ops->format(self, &claim, 1, claim.set);
    assert_string_equal(claim.set, "2");
    memcpy(claim.from, claim.original, sizeof(claim.from));
    for (int tid = 0; tid < 4; tid += 2) { /* 0 and 2; 3 may go to where 0 was */
        claim.tid = SCHEDULER_FIRST_TID + tid;
        assert_int_equal(ops->apply(self, &claim), 0);
        assert_int_equal(ops->apply(self, &claim), -ESTALE);
    }
    run(&rig, 20);
    assert_int_equal(rig.scheduler.threads[0].cpu, 2);
    assert_int_equal(rig.scheduler.threads[2].cpu, 2);
    assert_int_equal(rig.scheduler.threads[0].work + rig.scheduler.threads[2].work, 20);
    assert_int_equal(rig.scheduler.threads[1].work, 20);
    claim.tid = SCHEDULER_FIRST_TID;
    assert_int_equal(ops->release(self, &claim, &restored), 0);
    assert_int_equal(restored, RESTORED);
    assert_int_equal(ops->release(self, &claim, &restored), 0);
    assert_int_equal(restored, RESTORED_ALREADY);
    rig_release(&rig);
}
