/*
 * Attribution names somebody who does nothing, on a simulated node whose memory answers by itself:
 * who only stores makes a protected container wait, and reads nothing.
 */
#include "tests/simnode/tests/governed_node.h"

#define CORES 2.0

enum { SHOP, STORER, INNOCENT, CALM = 12, TICKS = 60 };

static const char *const names[GOVERNED] = {"shop", "storer", "innocent"};
static const char *const paths[GOVERNED] = {RIG_CONTAINER("540b"), RIG_CONTAINER("5704"),
                                            RIG_CONTAINER("1440")};

struct scene {
    struct governed_node on;
    struct simnode_truth truth[GOVERNED];
    uint64_t ticks;
    double latency, baseline; /* of shop, seconds */
    double caused, probability;
};

/* A second of the governor's, with the quotas that are set. */
static void run_node(struct scene *scene)
{
    const struct simnode_truth before = scene->truth[SHOP];
    for (int i = STORER; i < GOVERNED; i++)
        assert_int_equal(
            simnode_set_quota(scene->on.node, (size_t)i, governed_node_cores(&scene->on, i)), 0);
    assert_int_equal(simnode_run_tick(scene->on.node), 0);
    for (int i = 0; i < GOVERNED; i++)
        simnode_truth(scene->on.node, (size_t)i, &scene->truth[i]);
    scene->latency = (scene->truth[SHOP].latency_ns_sum - before.latency_ns_sum) /
                     (double)(scene->truth[SHOP].reads - before.reads) * 1e-9;
    scene->ticks++;
}

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    struct governed_node *on = &scene->on;
    governed_node_init(
        on,
        "{'scenario':1,'tick_cycles':240000,'machine':{'preset':'clx','cores_per_socket':8,"
        "'memory':{'channels':1}},'workloads':{'chase':{'kind':'chase','bytes':268435456},"
        "'store':{'kind':'stream','bytes':268435456,'instructions_per_access':80,"
        "'store_share':1,'nt_share':1},"
        "'compute':{'kind':'compute'}},'containers':["
        "{'key':'shop','workload':'chase','cpus':[0,5]},"
        "{'key':'storer','workload':'store','cpus':[1,2],'start_tick':13},"
        "{'key':'innocent','workload':'compute','cpus':[3,4]}]}",
        names, paths, 0.2, "\"factor\":1.1");
    on->governor = governor_start(&on->rig, on->config, true, 1000 * SECOND, &on->last);
    for (int i = 0; i < CALM; i++) {
        run_node(scene);
        scene->baseline += i < 2 ? 0 : scene->latency / (CALM - 2);
    }
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

static void add_container(const struct scene *scene, int i, struct textbuf *out)
{
    char members[160], *end = members;
    end += sprintf(end, "\"cpu_seconds_per_second\":%g,", governed_node_cores(&scene->on, i));
    if (i == INNOCENT)
        sprintf(end, "\"suspicion\":\"named\",\"caused_probability_ratio\":%g,",
                scene->probability);
    governed_node_container(&scene->on, i, members, out);
    governor_document_value(out, "memory_reads_total", (double)scene->truth[i].reads);
    if (i == SHOP)
        governor_document_latency(out, scene->latency, scene->baseline);
    if (i == INNOCENT)
        governor_document_labelled(out, "caused_latency_seconds_total", "numa_node", "0",
                                   scene->caused);
}

static void tick(struct scene *scene)
{
    struct textbuf text = TEXTBUF_INIT;
    struct view view = {0};
    run_node(scene);
    uint64_t now_ns = (1000 + scene->ticks) * SECOND;
    scene->caused += fmax(scene->latency - scene->baseline, 0);
    const struct governor_document_tick head = {
        .number = scene->ticks, .mono_ns = now_ns - SECOND / 10, .own_cgroup_id = 1};
    governor_document_begin(&text, &head);
    for (int i = 0; i < GOVERNED; i++)
        add_container(scene, i, &text);
    governor_document_view(&text, &view);
    governor_take(scene->on.governor, &view, now_ns, now_ns);
    view_release(&view);
}

/* How much of its CPUs each has in the second half, and in how many ticks the innocent had
 * less. */
static unsigned run(struct scene *scene, double probability)
{
    double innocent = 0, storer = 0, uncut = 0, end = 0;
    struct governor_state look;
    unsigned cut = 0;
    scene->probability = probability;
    for (int i = 0; i < TICKS; i++) {
        tick(scene);
        uncut += i < 3 ? scene->latency / 3 : 0;
        cut += governed_node_cores(&scene->on, INNOCENT) < CORES;
        if (i < TICKS / 2)
            continue;
        innocent += governed_node_cores(&scene->on, INNOCENT);
        storer += governed_node_cores(&scene->on, STORER);
        end += scene->latency / (TICKS / 2);
    }
    governor_look(scene->on.governor, &look);
    print_message("probability %.2f: calm %.1f ns, at first %.1f, later %.1f; innocent %.2f cores "
                  "later, cut in %u ticks, storer %.2f\n",
                  probability, scene->baseline * 1e9, uncut * 1e9, end * 1e9,
                  innocent / (TICKS / 2), cut, storer / (TICKS / 2));
    assert_true(uncut > 1.15 * scene->baseline && end > 1.15 * scene->baseline);
    assert_true(innocent == CORES * (TICKS / 2));
    assert_int_equal(look.policies.counts.futile > 0, cut > 0);
    /* What nobody names, and reads nothing, is found by nobody: to cut an innocent is no help. */
    assert_true(storer == CORES * (TICKS / 2));
    return cut;
}

TEST_WITH(who_is_not_surely_named_is_not_cut, setup, teardown)
{
    assert_int_equal(run(*state, 0.85), 0);
}

TEST_WITH(who_is_wrongly_named_is_tried_and_given_back, setup, teardown)
{
    assert_in_range(run(*state, 0.97), 1, TICKS / 3);
}
