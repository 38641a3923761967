/*
 * Attribution names somebody who does nothing, on a simulated node whose memory answers by itself:
 * who only stores makes a protected container wait, and reads nothing.
 */
#include "tests/simnode/tests/test_support.h"

#include "exporter/base/textbuf.h"
#include "tests/unit/support/governor_start.h"

#define SECOND UINT64_C(1000000000)
#define CORES 2.0

enum { SHOP, STORER, INNOCENT, CONTAINERS, CALM = 12, TICKS = 60 };

static const char *const names[CONTAINERS] = {"shop", "storer", "innocent"};
static const char *const paths[CONTAINERS] = {RIG_CONTAINER("540b"), RIG_CONTAINER("5704"),
                                              RIG_CONTAINER("1440")};

struct scene {
    struct scenario *scenario;
    struct simnode *node;
    struct governor_rig rig;
    struct config *config;
    struct governor *governor;
    struct decision last;
    struct simnode_truth truth[CONTAINERS];
    uint64_t ticks;
    double latency, baseline; /* of shop, seconds */
    double caused, probability;
};

static double quota(const struct scene *scene, int container)
{
    char text[64];
    governor_rig_quota(&scene->rig, paths[container], text);
    return strtod(text, NULL) / 1e5;
}

/* A second of the governor's, with the quotas that are set. */
static void run_node(struct scene *scene)
{
    const struct simnode_truth before = scene->truth[SHOP];
    for (int i = STORER; i < CONTAINERS; i++)
        assert_int_equal(simnode_set_quota(scene->node, (size_t)i, quota(scene, i)), 0);
    assert_int_equal(simnode_run_tick(scene->node), 0);
    for (int i = 0; i < CONTAINERS; i++)
        simnode_truth(scene->node, (size_t)i, &scene->truth[i]);
    scene->latency = (scene->truth[SHOP].latency_ns_sum - before.latency_ns_sum) /
                     (double)(scene->truth[SHOP].reads - before.reads) * 1e-9;
    scene->ticks++;
}

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    char text[1024];
    assert_non_null(scene);
    scene->scenario = parse_scenario(
        "{'scenario':1,'tick_cycles':240000,'machine':{'preset':'clx','cores_per_socket':8,"
        "'memory':{'channels':1}},'workloads':{'chase':{'kind':'chase','bytes':268435456},"
        "'store':{'kind':'stream','bytes':268435456,'instructions_per_access':80,"
        "'store_share':1,'nt_share':1},"
        "'compute':{'kind':'compute'}},'containers':["
        "{'key':'shop','workload':'chase','cpus':[0,5]},"
        "{'key':'storer','workload':'store','cpus':[1,2],'start_tick':13},"
        "{'key':'innocent','workload':'compute','cpus':[3,4]}]}");
    scene->node = new_node(scene->scenario);
    governor_rig_init(&scene->rig, 2);
    for (int i = 0; i < CONTAINERS; i++)
        governor_rig_cgroup(&scene->rig, paths[i], "200000 100000");
    snprintf(text, sizeof text,
             "{\"governor\":1,\"mode\":\"enforce\",\"state_directory\":\"%s\",\"classes\":["
             "{\"name\":\"web\",\"role\":\"protected\",\"match\":[{\"namespace\":\"*\","
             "\"pod\":\"*\",\"container\":\"shop\"}]},{\"name\":\"batch\",\"role\":"
             "\"best_effort\",\"match\":[{\"namespace\":\"*\",\"pod\":\"*\",\"container\":"
             "\"*\"}],\"cpu\":{\"base_cores\":0.2}}],\"policies\":{\"threshold\":{"
             "\"classes\":[\"batch\"],\"factor\":1.1}}}",
             scene->rig.state);
    scene->config = governor_start_config(text);
    scene->governor = governor_start(&scene->rig, scene->config, true, 1000 * SECOND, &scene->last);
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
    governor_start_undo(scene->governor, scene->config, &scene->rig);
    simnode_free(scene->node);
    scenario_free(scene->scenario);
    free(scene);
    return 0;
}

static void add_container(const struct scene *scene, int i, struct textbuf *out)
{
    textbuf_printf(out,
                   "%s{\"namespace\":\"jobs\",\"pod\":\"%s-0\",\"container\":\"%s\","
                   "\"container_id\":\"%.*s\",\"cgroup_id\":%llu,\"cpu_seconds_per_second\":%g,",
                   i > 0 ? "," : "", names[i], names[i], RIG_LABEL(paths[i]),
                   (unsigned long long)governor_rig_inode(&scene->rig, paths[i]), quota(scene, i));
    if (i == INNOCENT)
        textbuf_printf(out, "\"suspicion\":\"named\",\"caused_probability_ratio\":%g,",
                       scene->probability);
    textbuf_printf(out,
                   "\"values\":{\"interference_container_info\":[{\"labels\":{\"id\":\"%s\","
                   "\"pod_uid\":\"" RIG_POD_UID "\"},\"value\":1}],"
                   "\"interference_container_memory_reads_total\":%llu",
                   paths[i], (unsigned long long)scene->truth[i].reads);
    if (i == SHOP)
        textbuf_printf(out,
                       ",\"interference_container_memory_read_latency_seconds\":%g,"
                       "\"interference_container_memory_read_latency_baseline_seconds\":"
                       "[{\"labels\":{\"basis\":\"calm\"},\"value\":%g}]",
                       scene->latency, scene->baseline);
    if (i == INNOCENT)
        textbuf_printf(out,
                       ",\"interference_container_caused_latency_seconds_total\":[{\"labels\":{"
                       "\"numa_node\":\"0\"},\"value\":%.12f}]",
                       scene->caused);
    textbuf_str(out, "}}");
}

static void tick(struct scene *scene)
{
    struct textbuf text = TEXTBUF_INIT;
    struct view view = {0};
    char error[256] = "";
    run_node(scene);
    uint64_t now_ns = (1000 + scene->ticks) * SECOND;
    scene->caused += fmax(scene->latency - scene->baseline, 0);
    textbuf_printf(&text,
                   "{\"source\":\"perf\",\"own_cgroup_id\":1,\"tick\":{\"number\":%llu,"
                   "\"monotonic_seconds\":%.9f,\"interval_seconds\":1},\"containers\":[",
                   (unsigned long long)scene->ticks, (double)now_ns * 1e-9 - 0.1);
    for (int i = 0; i < CONTAINERS; i++)
        add_container(scene, i, &text);
    textbuf_str(&text, "]}");
    assert_int_equal(textbuf_finish(&text), 0);
    if (view_parse(text.data, text.len, &view, error, sizeof error))
        fail_msg("%s: %s", error, text.data);
    governor_take(scene->governor, &view, now_ns, now_ns);
    view_release(&view);
    textbuf_release(&text);
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
        cut += quota(scene, INNOCENT) < CORES;
        if (i < TICKS / 2)
            continue;
        innocent += quota(scene, INNOCENT);
        storer += quota(scene, STORER);
        end += scene->latency / (TICKS / 2);
    }
    governor_look(scene->governor, &look);
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
