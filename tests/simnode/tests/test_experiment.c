/*
 * Experiments on a simulated node, whose memory answers by itself: the governor holds through
 * control files, the node's containers have these quotas, and a probe reads memory in each slot.
 */
#include "exporter/governor/decide/experiment.h"
#include "tests/simnode/tests/governed_node.h"

#define HOUR (3600 * SECOND)

enum { PROBE, HOG, INNOCENT, EXPERIMENTS = 10 };

static const char *const names[GOVERNED] = {"probe", "hog", "innocent"};
static const char *const paths[GOVERNED] = {RIG_CONTAINER("540b"), RIG_CONTAINER("4096"),
                                            RIG_CONTAINER("1440")};

struct scene {
    struct governed_node on;
    struct simnode_truth before;
    uint64_t now_ns, ticks, random;
    int suspect;
    bool phases; /* hog and innocent work more, and less, together */
    bool busy;   /* they work more */
};

/* Of a hundred. */
static unsigned draw(struct scene *scene)
{
    scene->random = scene->random * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)((scene->random >> 33) % 100);
}

static double slot(void *context)
{
    struct scene *scene = context;
    struct simnode_truth truth;
    if (scene->phases && draw(scene) < 5)
        scene->busy = !scene->busy; /* also within a pair */
    for (int i = HOG; i < GOVERNED; i++) {
        double works = scene->busy ? 1 : i == HOG ? 0.6 : 0.8;
        double cores = governed_node_cores(&scene->on, i) * works;
        assert_int_equal(simnode_set_quota(scene->on.node, (size_t)i, cores), 0);
    }
    assert_int_equal(simnode_run_tick(scene->on.node), 0);
    simnode_truth(scene->on.node, PROBE, &truth);
    uint64_t reads = truth.reads - scene->before.reads;
    double ns = truth.latency_ns_sum - scene->before.latency_ns_sum;
    assert_true(reads > 50);
    scene->before = truth;
    scene->now_ns += SECOND / 5;
    return ns / (double)reads * 1e-9;
}

static uint64_t now(void *context)
{
    return ((const struct scene *)context)->now_ns;
}

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    governed_node_init(
        &scene->on,
        "{'scenario':1,'tick_cycles':60000,'machine':{'preset':'clx','cores_per_socket':8,"
        "'memory':{'channels':2}},'workloads':{'chase':{'kind':'chase','bytes':268435456},"
        "'stream':{'kind':'stream','bytes':268435456,'instructions_per_access':8},"
        "'compute':{'kind':'compute'}},'containers':["
        "{'key':'probe','workload':'chase','cpus':[0]},"
        "{'key':'hog','workload':'stream','cpus':[1,2]},"
        "{'key':'innocent','workload':'compute','cpus':[3,4]}]}",
        names, paths, 0.1, "\"experiment\":true");
    run_ticks(scene->on.node, 10);
    simnode_truth(scene->on.node, PROBE, &scene->before);
    scene->now_ns = 1000 * SECOND;
    scene->busy = true;
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    governed_node_release(&scene->on);
    free(scene);
    return 0;
}

/* The exporter suspects one of them, which is a guess. */
static void tick(struct scene *scene)
{
    const struct experiment_meter meter = {slot, now, scene};
    struct textbuf text = TEXTBUF_INIT;
    struct view view = {0};
    uint64_t began_ns = scene->now_ns += SECOND;
    if (scene->phases && draw(scene) < 30)
        scene->busy = !scene->busy;
    const struct governor_document_tick head = {
        .number = ++scene->ticks, .mono_ns = began_ns - SECOND / 10, .own_cgroup_id = 1};
    governor_document_begin(&text, &head);
    for (int i = 0; i < GOVERNED; i++) {
        char members[128];
        snprintf(members, sizeof members,
                 "\"cpu_seconds_per_second\":%g,\"caused_probability_ratio\":%g,",
                 scene->busy ? 2. : 1.6, i == scene->suspect ? 0.8 : 0.1);
        governed_node_container(&scene->on, i, members, &text);
    }
    governor_document_view(&text, &view);
    governor_take(scene->on.governor, &view, began_ns, began_ns);
    governor_experiment(scene->on.governor, &view, &meter, began_ns);
    view_release(&view);
    scene->now_ns = began_ns;
}

/* One after the other, each by a governor of its own; how often each verdict came. */
static void experiment_with(struct scene *scene, int suspect, unsigned counts[EXPERIMENT_VERDICTS])
{
    struct governed_node *on = &scene->on;
    unsigned pairs = 0;
    double effect = 0;
    scene->suspect = suspect;
    memset(counts, 0, EXPERIMENT_VERDICTS * sizeof *counts);
    for (int i = 0; i < EXPERIMENTS; i++) {
        struct governor_state look;
        on->governor = governor_start(&on->rig, on->config, true, scene->now_ns, &on->last);
        scene->now_ns += HOUR;
        do {
            tick(scene);
            governor_look(on->governor, &look);
        } while (!look.experiment->results[0].owner);
        const struct experiment_result *result = &look.experiment->results[0];
        counts[result->verdict]++;
        pairs += result->pairs;
        effect += result->effect / EXPERIMENTS;
        assert_int_equal(look.open, 0);
        assert_true(result->held_seconds < 8.001);
        assert_int_equal(governor_stop(on->governor, scene->now_ns), 0);
        governor_free(on->governor);
        on->governor = NULL;
    }
    print_message("%s: effect %.4f, confirmed %u, refuted %u, undecided %u, abandoned %u of %d, "
                  "%u pairs\n",
                  names[suspect], effect, counts[EXPERIMENT_CONFIRMED], counts[EXPERIMENT_REFUTED],
                  counts[EXPERIMENT_UNDECIDED], counts[EXPERIMENT_ABANDONED], EXPERIMENTS, pairs);
}

TEST_WITH(who_does_it_is_confirmed, setup, teardown)
{
    unsigned counts[EXPERIMENT_VERDICTS];
    experiment_with(*state, HOG, counts);
    assert_int_equal(counts[EXPERIMENT_CONFIRMED], EXPERIMENTS);
}

TEST_WITH(who_only_computes_is_refuted, setup, teardown)
{
    unsigned counts[EXPERIMENT_VERDICTS];
    experiment_with(*state, INNOCENT, counts);
    assert_int_equal(counts[EXPERIMENT_REFUTED], EXPERIMENTS);
}

/* As the exporter sees it, one is as good an explanation as the other. */
TEST_ON(in_step_the_innocent_is_not_confirmed, struct scene *scene, setup, teardown)
{
    unsigned counts[EXPERIMENT_VERDICTS];
    scene->phases = true;
    scene->random = 1;
    experiment_with(scene, INNOCENT, counts);
    assert_int_equal(counts[EXPERIMENT_CONFIRMED], 0);
    assert_true(counts[EXPERIMENT_REFUTED] >= EXPERIMENTS * 8 / 10);
    experiment_with(scene, HOG, counts);
    assert_true(counts[EXPERIMENT_CONFIRMED] >= EXPERIMENTS * 8 / 10);
    assert_int_equal(counts[EXPERIMENT_REFUTED], 0);
}
