/* The governor's metrics: the definitions, what is there from the start, and the page in the tree.
 */
#include "exporter/expose/expose.h"
#include "exporter/governor/serve/self_metrics.h"
#include "tests/support/governor_reference.h"
#include "tests/unit/support/dry_run.h"
#include "tests/unit/support/unit.h"

struct scene {
    struct dry_run run;
    struct governor_metrics *metrics;
    uint64_t tick, learned;
    const struct policy_calibration *calibrations;
    size_t n_calibrations;
};

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    dry_run_init(&scene->run);
    assert_int_equal(governor_metrics_new(scene->run.store, &scene->metrics), 0);
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    governor_metrics_free(scene->metrics);
    dry_run_release(&scene->run);
    free(scene);
    return 0;
}

/* A tick with a wish for the only container; 0: it is not seen. Returns the page, to be freed. */
static char *page_of(struct scene *scene, double wanted)
{
    const struct subject subject = {
        .container_id = "0a1b", .name = "jobs/batch-0/batch", .path = "/0", .floor = 1};
    const struct because because = {.cause = ""};
    struct governor_facts facts = {.state = {.enforcer = scene->run.enforcer,
                                             .liveness = &scene->run.liveness,
                                             .ticks = ++scene->tick,
                                             .policies.calibrations = scene->calibrations,
                                             .policies.n_calibrations = scene->n_calibrations},
                                   .now_ns = 2000000001};
    const struct tick tick = {.number = scene->tick, .wall_ns = 1};
    struct textbuf text = TEXTBUF_INIT;
    enforcer_begin(scene->run.enforcer, scene->tick, scene->tick * 1000000000, 1);
    if (wanted > 0)
        enforcer_want(enforcer_see(scene->run.enforcer, KNOB_CPU, &subject), wanted, &because);
    enforcer_commit(scene->run.enforcer);
    facts.state.open = enforcer_open(scene->run.enforcer);
    facts.state.policies.counts.calibrations[CALIBRATION_LEARNED] = scene->learned;
    governor_metrics_update(scene->metrics, &facts);
    assert_int_equal(store_publish(scene->run.store, &tick), 0);
    struct snapshot *snapshot = store_acquire(scene->run.store);
    assert_int_equal(expose_render(snapshot, EXPOSE_TEXT_004, NULL, 0, false, &text), 0);
    snapshot_release(snapshot);
    return text.data;
}

static void expect_line(const char *page, const char *line)
{
    if (!strstr(page, line))
        fail_msg("no \"%s\" in\n%s", line, page);
}

#define CONTAINER "{namespace=\"jobs\",pod=\"batch-0\",container=\"batch\",container_id=\"0a1b\"} "

TEST_ON(claims_come_and_go, struct scene *scene, setup, teardown)
{
    char *page = page_of(scene, 1.5);
    expect_line(page, "interference_governor_container_cpu_quota_cores" CONTAINER "1.5\n");
    expect_line(page, "interference_governor_container_cpu_quota_original_cores" CONTAINER "4\n");
    expect_line(page, "interference_governor_claims{actuator=\"cpu\"} 1\n");
    expect_line(page, "interference_governor_decisions_total{policy=\"threshold\",action=\"cut\","
                      "outcome=\"dry_run\"} 1\n");
    expect_line(page, "interference_governor_mode{mode=\"observe\"} 1\n");
    expect_line(page, "interference_governor_exporter_data_age_seconds 2\n");
    free(page);
    page = page_of(scene, 2);
    expect_line(page, "interference_governor_container_cpu_quota_cores" CONTAINER "2\n");
    free(page);
    page = page_of(scene, 0);
    assert_null(strstr(page, "container_cpu_quota_cores{"));
    expect_line(page, "interference_governor_released_total{reason=\"vanished\"} 1\n");
    free(page);
}

TEST_WITH(everything_is_there_with_0, setup, teardown)
{
    static const char *const lines[] = {
        "dead_man_total{reason=\"stale\"} 0\n",
        "dead_man_total{reason=\"replay\"} 0\n",
        "errors_total{actuator=\"cpu\",op=\"apply\",reason=\"ebusy\"} 0\n",
        "foreign_writes_total{actuator=\"cpu\",kind=\"changed\"} 0\n",
        "released_total{reason=\"futile\"} 0\n",
        "limit_hits_total{limit=\"rate\"} 0\n",
        "restores_total{outcome=\"failed\"} 0\n",
        "futile_total 0\n",
        "calibrating 0\n",
        "calibrations_total{outcome=\"too_few\"} 0\n",
        "journal_open_claims 0\n",
        "mode{mode=\"paused\"} 0\n",
    };
    char *page = page_of(*state, 0);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char line[128];
        snprintf(line, sizeof line, "interference_governor_%s", lines[i]);
        expect_line(page, line);
    }
    free(page);
}

TEST_ON(what_is_learned, struct scene *scene, setup, teardown)
{
    const struct policy_calibration list[] = {{.phase = CALIBRATION_LEARNED},
                                              {.phase = CALIBRATION_HOLDING}};
    scene->calibrations = list;
    scene->n_calibrations = 2;
    char *page = page_of(scene, 0);
    expect_line(page, "interference_governor_calibrating 1\n");
    free(page);
    scene->n_calibrations = 1;
    scene->learned = 1;
    page = page_of(scene, 0);
    expect_line(page, "interference_governor_calibrating 0\n");
    expect_line(page, "interference_governor_calibrations_total{outcome=\"learned\"} 1\n");
    free(page);
}

TEST(definitions_are_valid)
{
    for (size_t i = 0; i < GOVERNOR_METRICS; i++)
        assert_true(metric_valid(&governor_descs[i]));
}

TEST(the_page_in_the_tree)
{
    struct textbuf page = TEXTBUF_INIT;
    char *committed = calloc(1, 65536);
    FILE *file = fopen(IE_SOURCE_DIR "/exporter/governor/METRICS.md", "re");
    assert_non_null(file);
    assert_true(fread(committed, 1, 65535, file) > 0);
    fclose(file);
    assert_int_equal(governor_reference_write(&page), 0);
    assert_string_equal(page.data, committed);
    textbuf_release(&page);
    free(committed);
}
