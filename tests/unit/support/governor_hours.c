#include "tests/unit/support/governor_hours.h"

#include "exporter/governor/decide/policies/policy.h"
#include "tests/unit/support/draw.h"
#include "tests/unit/support/fake_knobs.h"
#include "tests/unit/support/governor_start.h"
#include "tests/unit/support/unit.h"

#define SECOND UINT64_C(1000000000)

enum { CONTAINERS = HOURS_VICTIMS + HOURS_TENANTS };

static const struct log no_log = {.fd = -1};

struct node {
    const struct hours_model *model;
    struct governor_rig rig;
    struct fake_knobs fake;
    struct actuators actuators;
    struct journal journal;
    struct enforcer *enforcer;
    struct config *config;
    struct policies policies;
    struct view_container containers[CONTAINERS];
    struct governed governed[CONTAINERS];
    char paths[CONTAINERS][32], pods[CONTAINERS][32];
    size_t n_victims, n;
    uint64_t seed;
    double spare; /* of the pair of normal numbers; NaN: none */
    struct hours_result result;
};

static double normal(struct node *node)
{
    double spare = node->spare;
    node->spare = NAN;
    if (!isnan(spare))
        return spare;
    double radius = sqrt(-2 * log(1 - draw_unit(&node->seed)));
    double angle = 2 * 3.14159265358979323846 * draw_unit(&node->seed);
    node->spare = radius * sin(angle);
    return radius * cos(angle);
}

static void decided(void *context, const struct decision *decision)
{
    struct node *node = context;
    node->result.cuts += decision->action == ACTION_CUT;
}

/* ---- the node ---- */

static void read_config(struct node *node)
{
    const struct hours_model *model = node->model;
    char text[2048];
    snprintf(text, sizeof text,
             "{\"governor\":1,\"mode\":\"enforce\",\"state_directory\":\"%s\",\"classes\":[{"
             "\"name\":\"web\",\"role\":\"protected\",\"match\":[{\"namespace\":\"shop\",\"pod\":"
             "\"*\",\"container\":\"*\"}]},{\"name\":\"batch\",\"role\":\"best_effort\",\"match\":["
             "{\"namespace\":\"job*\",\"pod\":\"*\",\"container\":\"*\"}],\"cpu\":{\"base_cores\":"
             "%g,\"step_cores\":%g}}],\"policies\":{\"threshold\":{\"classes\":[\"batch\"]%s}}}",
             node->rig.state, model->base > 0 ? model->base : 1,
             model->step > 0 ? model->step : 0.5, model->keys ? model->keys : "");
    node->config = governor_start_config(text);
}

static const struct view_container empty = {.container_id = "",
                                            .pod = "cart-0",
                                            .container = "cart",
                                            .qos_class = "",
                                            .latency_seconds = NAN,
                                            .baseline_seconds = NAN,
                                            .memory_reads = NAN,
                                            .llc_reads = NAN,
                                            .cycles = NAN,
                                            .reference_cycles = NAN,
                                            .caused_latency_seconds = NAN,
                                            .caused_wait_seconds = NAN,
                                            .probability = NAN};

static void make_containers(struct node *node)
{
    const struct hours_model *model = node->model;
    for (size_t i = 0; i < node->n; i++) {
        struct view_container *container = &node->containers[i];
        *container = empty;
        container->cgroup_id = 1000 + i;
        container->path = node->paths[i];
        if (i < node->n_victims) {
            snprintf(node->paths[i], sizeof node->paths[i], "/victim%zu", i);
            container->namespace_ = "shop";
            container->baseline_seconds = model->normal * 1e-9;
            container->memory_reads = 0;
            continue;
        }
        size_t tenant = i - node->n_victims;
        const struct hours_tenant *of = &model->tenants[tenant];
        snprintf(node->paths[i], sizeof node->paths[i], "/%zu", tenant);
        snprintf(node->pods[i], sizeof node->pods[i], "job%c", (char)('a' + tenant));
        container->namespace_ = of->unheld ? "nobody" : of->namespace_ ? of->namespace_ : "jobs";
        container->pod = of->pod ? of->pod : node->pods[i];
        container->container = of->container ? of->container : "work";
        container->memory_reads = container->reference_cycles = 0;
        container->caused_latency_seconds = of->named > 0 ? 0 : NAN;
        fake_knobs_make(&node->fake, tenant, of->cores);
    }
}

static void start(struct node *node)
{
    const struct hours_model *model = node->model;
    governor_rig_init(&node->rig, 2);
    fake_knobs_init(&node->fake);
    node->fake.cpus = 64;
    node->actuators = fake_knobs_actuators(&node->fake);
    node->n_victims = model->n_victims ? model->n_victims : 1;
    node->n = node->n_victims + model->n_tenants;
    node->seed = model->seed ? model->seed : DRAW_SEED;
    node->spare = NAN;
    read_config(node);
    governor_start_journal(&node->rig, model->dry ? NULL : &node->rig.write, &node->journal);
    node->fake.journal = model->dry ? NULL : &node->journal;
    const struct enforcer_config config = {.dry = model->dry,
                                           .limits = node->config->limits,
                                           .log = &no_log,
                                           .decided = decided,
                                           .context = node};
    assert_int_equal(enforcer_new(&config, &node->journal, &node->actuators, &node->enforcer), 0);
    assert_int_equal(policies_init(&node->policies, node->config), 0);
    make_containers(node);
}

static void finish(struct node *node)
{
    struct policy_report report = {.tries = false};
    policies_report(&node->policies, &report);
    node->result.futile = (unsigned)report.counts.futile;
    node->result.over_limit = node->fake.wrong;
    policies_release(&node->policies);
    enforcer_free(node->enforcer);
    journal_close(&node->journal);
    config_free(node->config);
    governor_rig_release(&node->rig);
}

/* ---- a second ---- */

static double cores_of(const struct node *node, size_t tenant, double seconds)
{
    const struct hours_model *model = node->model;
    const struct hours_tenant *of = &model->tenants[tenant];
    double quota = model->held > 0 && !of->unheld ? fmin(model->held, of->cores)
                                                  : fake_knobs_value(&node->fake, tenant);
    double demand = of->demand ? of->demand(model, seconds) : of->cores;
    return fmin(quota, demand);
}

static void run_tenants(struct node *node, double seconds, double *cores)
{
    for (size_t i = 0; i < node->model->n_tenants; i++) {
        const struct hours_tenant *of = &node->model->tenants[i];
        struct view_container *container = &node->containers[node->n_victims + i];
        cores[i] = cores_of(node, i, seconds);
        container->reference_cycles += cores[i] * 1e9;
        container->memory_reads += cores[i] * (of->reads > 0 ? of->reads : 1e6);
        container->caused_latency_seconds += cores[i] * of->named * 1e-9;
        node->result.cores[i] += cores[i];
        node->result.free[i] += fake_knobs_is_original(&node->fake, i);
    }
}

static void run_victims(struct node *node, double seconds, const double *cores)
{
    const struct hours_model *model = node->model;
    for (size_t i = 0; i < node->n_victims; i++) {
        double truly = model->latency(model, i, cores, seconds);
        double seen = truly * (1 + model->noise * normal(node));
        double theta = model->normal * node->config->threshold.factor;
        node->containers[i].latency_seconds = seen * 1e-9;
        node->containers[i].memory_reads += 1e6;
        node->result.over[i] += seen >= theta;
        node->result.truly_over[i] += truly >= theta;
        node->result.latency[i] += truly;
    }
}

static void see(struct node *node, size_t i)
{
    const struct view_container *container = &node->containers[i];
    struct governed *governed = &node->governed[i];
    bool literal;
    *governed = (struct governed){.container = container};
    governed->class = config_class_of(node->config, container->namespace_, container->pod,
                                      container->container, container->qos_class, &literal);
    if (governed->class == CLASS_NONE || config_is_protected(node->config, governed->class))
        return;
    const struct subject subject = {.container_id = "",
                                    .name = container->pod,
                                    .path = container->path,
                                    .floor = config_floor(node->config, governed->class, KNOB_CPU),
                                    .policy = POLICY_THRESHOLD};
    governed->holdings[KNOB_CPU] = enforcer_see(node->enforcer, KNOB_CPU, &subject);
}

static void govern(struct node *node, unsigned second)
{
    uint64_t now_ns = (1000 + second) * SECOND;
    enforcer_begin(node->enforcer, second + 1, now_ns, now_ns);
    for (size_t i = 0; i < node->n; i++)
        see(node, i);
    const struct policy_tick tick = {.enforcer = node->enforcer,
                                     .governed = node->governed,
                                     .n = node->n,
                                     .now = 1000.0 + second,
                                     .interval = 1,
                                     .base_hz = 1e9};
    policies_decide(&node->policies, &tick);
    enforcer_commit(node->enforcer);
}

struct hours_result hours_run(const struct hours_model *model)
{
    static struct node node; /* large */
    node = (struct node){.model = model};
    unsigned seconds = model->seconds ? model->seconds : HOURS_SECONDS;
    double cores[HOURS_TENANTS];
    start(&node);
    for (unsigned second = 0; second < seconds; second++) {
        run_tenants(&node, second, cores);
        run_victims(&node, second, cores);
        if (!(model->held > 0))
            govern(&node, second);
    }
    for (size_t i = 0; i < model->n_tenants; i++) {
        node.result.cores[i] /= seconds;
        node.result.free[i] /= seconds;
        node.result.quota[i] = fake_knobs_value(&node.fake, i);
    }
    for (size_t i = 0; i < node.n_victims; i++) {
        node.result.over[i] /= seconds;
        node.result.truly_over[i] /= seconds;
        node.result.latency[i] /= seconds;
    }
    finish(&node);
    return node.result;
}
