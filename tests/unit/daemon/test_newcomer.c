/*
 * A collector that nothing else knows: this file, in place of collectors/table.c, is all that there
 * is of it. Its flags, needs and page are found by the exporter as they are here.
 */
#include "collectors/contract/collector.h"
#include "tests/unit/support/daemon_rig.h"
#include "tests/unit/support/unit.h"

/* ---- the collector ---- */

struct config {
    size_t answer;
    bool aloud;
};

static const struct option_flag options[] = {
    {.name = "collector.newcomer.answer",
     .type = FLAG_COUNT,
     .offset = offsetof(struct config, answer),
     .min = 1,
     .max = 100,
     .fallback = "7",
     .unit = "NUMBER",
     .help = "What is answered."},
    {.name = "collector.newcomer.aloud",
     .type = FLAG_BOOL,
     .offset = offsetof(struct config, aloud),
     .help = "Answer aloud."},
    {.name = NULL},
};

static const struct metric_desc answer_desc = {.name = "interference_newcomer_answer",
                                               .type = METRIC_GAUGE,
                                               .number = METRIC_U64,
                                               .labels = "",
                                               .help = "What is answered."};
static const struct metric_desc *const metrics[] = {&answer_desc, NULL};

struct newcomer {
    const struct config *config;
    struct series *series;
};

static void newcomer_sampling(const void *config, struct sampling_request *request)
{
    request->period = ((const struct config *)config)->answer;
    request->wanted[ACCESS_LOAD] = true;
}

static bool newcomer_probe(const struct collector_env *env, struct verdict *why)
{
    return true;
}

static int newcomer_start(const struct collector_env *env, struct collector_status *status,
                          void **out)
{
    struct newcomer *self = calloc(1, sizeof *self);
    struct family *family;
    assert_non_null(self);
    self->config = env->config;
    assert_int_equal(store_family(env->store, &answer_desc, "newcomer", &family), 0);
    assert_int_equal(series_new(family, NULL, NULL, 0, &self->series), 0);
    *out = self;
    return 0;
}

static int newcomer_collect(void *opaque, const struct tick *tick)
{
    struct newcomer *self = opaque;
    series_set_u64(self->series, self->config->answer);
    return 0;
}

static void newcomer_stop(void *opaque)
{
    struct newcomer *self = opaque;
    if (self)
        series_free(self->series);
    free(self);
}

static int newcomer_render(void *opaque, const char *source, struct textbuf *out)
{
    const struct newcomer *self = opaque;
    textbuf_printf(out, "{\"source\": \"%s\", \"answer\": %zu}", source,
                   self ? self->config->answer : 0);
    return 0;
}

static const struct collector_page page = {
    .path = "/api/v1/newcomer",
    .handler = "newcomer",
    .title = "What is answered",
    .render = newcomer_render,
};

static const struct collector_ops newcomer_collector = {
    .name = "newcomer",
    .summary = "an answer",
    .default_on = COLLECTOR_ON,
    .needs = NEEDS_PROBE | NEEDS_SAMPLES,
    .options = options,
    .metrics = metrics,
    .page = &page,
    .sampling = newcomer_sampling,
    .probe = newcomer_probe,
    .start = newcomer_start,
    .collect = newcomer_collect,
    .stop = newcomer_stop,
};

/* Another one that samples, off by default: needs of several are put together. */

static void stores_sampling(const void *config, struct sampling_request *request)
{
    request->period = 11;
    request->wanted[ACCESS_STORE] = true;
}

static const struct collector_ops stores_collector = {
    .name = "stores",
    .summary = "stores",
    .default_on = COLLECTOR_OFF,
    .needs = NEEDS_SAMPLES,
    .metrics = (const struct metric_desc *const[]){NULL},
    .sampling = stores_sampling,
    .probe = newcomer_probe,
    .start = newcomer_start,
    .collect = newcomer_collect,
    .stop = newcomer_stop,
};

/* The line of the table. */
const struct collector_ops *const collector_table[] = {&newcomer_collector, &stores_collector,
                                                       NULL};

/* ---- how it is found ---- */

/* The plan of an exporter with these flags (NULL: none). */
static struct plan planned(const char *first, const char *second)
{
    static struct options parsed;
    char *argv[] = {"test", (char *)first, (char *)second};
    char error[512];
    struct plan plan;
    assert_int_equal(
        options_parse(&parsed, 1 + (first != NULL) + (second != NULL), argv, error, sizeof error),
        0);
    assert_int_equal(plan_init(&plan, &parsed, NULL, error, sizeof error), 0);
    plan_release(&plan);
    return plan;
}

TEST(its_needs_are_planned)
{
    struct plan plan = planned(NULL, NULL);
    assert_true(plan.wanted[0] && plan.probe && plan.samples);
    assert_false(plan.wanted[1] || plan.samples_by_name);
    assert_int_equal(plan.sampling.period, 7);
    assert_true(plan.sampling.wanted[ACCESS_LOAD]);
    assert_false(plan.sampling.wanted[ACCESS_STORE]);

    plan = planned("--collector.newcomer", "--collector.newcomer.answer=42");
    assert_true(plan.samples_by_name);
    assert_int_equal(plan.sampling.period, 42);

    plan = planned("--no-collector.newcomer", NULL);
    assert_false(plan.wanted[0] || plan.probe || plan.samples);
}

TEST(what_several_sample_is_put_together)
{
    struct plan plan = planned("--collector.stores", "--collector.newcomer.answer=42");
    assert_int_equal(plan.sampling.period, 11);
    assert_true(plan.sampling.wanted[ACCESS_LOAD] && plan.sampling.wanted[ACCESS_STORE]);
    plan = planned("--collector.stores", "--no-collector.newcomer");
    assert_false(plan.sampling.wanted[ACCESS_LOAD] || plan.probe);
}

TEST(its_flags_are_helped_with)
{
    char *text = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&text, &len);
    options_print_help(file);
    fclose(file);
    assert_non_null(
        strstr(text, "\n  --[no-]collector.newcomer\n        An answer. Default: on.\n"));
    assert_non_null(strstr(text,
                           "\n  --collector.newcomer.answer=NUMBER\n        What is answered. "
                           "Between 1 and 100. Default: 7.\n"));
    assert_non_null(strstr(text, "\n  --[no-]collector.newcomer.aloud\n"));
    free(text);

    struct options parsed;
    char *argv[] = {"test", "--collector.newcomer.answr=3"};
    char error[256];
    assert_int_not_equal(options_parse(&parsed, 2, argv, error, sizeof error), 0);
    assert_non_null(strstr(error, "did you mean \"--collector.newcomer.answer\"?"));
    argv[1] = "--collector.newcomer.answer=101";
    assert_int_not_equal(options_parse(&parsed, 2, argv, error, sizeof error), 0);
    assert_string_equal(error, "--collector.newcomer.answer: \"101\" is not between 1 and 100");
}

TEST(it_runs_and_has_its_page)
{
    struct daemon_rig d = {0};
    daemon_start(&d, "one", 3, 1000, "--collector.newcomer.answer=42");
    daemon_wait_for(&d, "\ninterference_newcomer_answer 42\n");
    daemon_expect(&d, "/api/v1/newcomer", "{\"source\": \"replay\", \"answer\": 42}");
    daemon_expect(&d, "/", "<a href=\"/api/v1/newcomer\">What is answered</a> (JSON)");
    daemon_expect(&d, "/api/v1/status", "\"name\": \"newcomer\"");
    daemon_expect(&d, "/metrics?collect[]=newcomer", "\ninterference_newcomer_answer 42\n");
    daemon_stop(&d);

    memset(&d, 0, sizeof d);
    daemon_start(&d, "one", 3, 1000, "--no-collector.newcomer");
    daemon_expect(&d, "/api/v1/newcomer", "\"answer\": 0}");
    daemon_stop(&d);
}
