/* Writers to persistent memory on CPUs of their own: from the exporter's documents to threads. */
#include "tests/unit/support/fake_threads.h"
#include "tests/unit/support/governor_document.h"
#include "tests/unit/support/governor_start.h"
#include "tests/unit/support/unit.h"

#define SECOND UINT64_C(1000000000)
#define WRITER RIG_CONTAINER("0a1b")

enum { WRITERS = 12 };

/* A container of the document, and whether its threads may be moved. */
static const struct place {
    const char *namespace_, *name, *path;
} places[] = {{"jobs", "writer", WRITER},
              {"shop", "db", RIG_CONTAINER("00db")},
              {"kube-system", "etcd", RIG_CONTAINER("e7cd")},
              {"other", "loner", RIG_CONTAINER("104e")}};
enum { PLACES = sizeof places / sizeof *places };

struct thread {
    int tid;
    size_t place;
    uint64_t stored_ns; /* 0: never */
};

struct scene {
    struct governor_rig rig;
    struct fake_threads fake;
    struct config *config;
    struct governor *governor;
    uint64_t now_ns, tick, interval_ns;
    struct thread threads[520];
    size_t n;
    bool silent;        /* about writers */
    bool old_exporter;  /* it does not say how often it tells of them */
    uint64_t frozen_ns; /* the list of writers is of then; 0: it is new in each tick */
    struct decision last;
};

static struct config *config_of(const struct scene *scene, const char *policy)
{
    char text[2048];
    snprintf(text, sizeof text,
             "{\"governor\":1,\"mode\":\"enforce\",\"state_directory\":\"%s\",\"classes\":["
             "{\"name\":\"web\",\"role\":\"protected\",\"match\":[{\"namespace\":\"shop\","
             "\"pod\":\"*\",\"container\":\"*\"}]},"
             "{\"name\":\"batch\",\"role\":\"best_effort\",\"match\":[{\"namespace\":\"jobs\","
             "\"pod\":\"*\",\"container\":\"*\"},{\"namespace\":\"kube-system\",\"pod\":\"*\","
             "\"container\":\"*\"}]}],\"policies\":{%s}}",
             scene->rig.state, policy);
    return governor_start_config(text);
}

static const char policy[] = "\"nvmm_cores\":{\"classes\":[\"batch\"],\"cpus\":\"5-7\"}";

static void start(struct scene *scene, bool enforce)
{
    governor_free(scene->governor);
    config_free(scene->config);
    scene->config = config_of(scene, policy);
    scene->governor =
        governor_start(&scene->rig, scene->config, enforce, scene->now_ns, &scene->last);
}

static int add(struct scene *scene, size_t place)
{
    int tid = fake_threads_join(&scene->fake, places[place].path, "all");
    scene->threads[scene->n++] = (struct thread){.tid = tid, .place = place};
    return tid;
}

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    governor_rig_init(&scene->rig, 2);
    fake_threads_init(&scene->fake, &scene->rig);
    for (size_t i = 0; i < PLACES; i++)
        governor_rig_cgroup(&scene->rig, places[i].path, "max 100000");
    for (int i = 0; i < WRITERS; i++)
        add(scene, 0);
    scene->now_ns = 1000 * SECOND;
    scene->interval_ns = SECOND;
    start(scene, true);
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(scene->fake.wrong, 0);
    governor_start_undo(scene->governor, scene->config, &scene->rig);
    free(scene);
    return 0;
}

static void add_containers(const struct scene *scene, struct textbuf *out)
{
    const struct governor_document_tick head = {
        .number = scene->tick, .mono_ns = scene->now_ns, .interval_ns = scene->interval_ns};
    governor_document_begin(out, &head);
    for (size_t i = 0; i < PLACES; i++) {
        char pod[32];
        snprintf(pod, sizeof pod, "%s-0", places[i].name);
        governor_document_container(out, places[i].namespace_, pod, places[i].name, places[i].path,
                                    governor_rig_inode(&scene->rig, places[i].path), NULL);
    }
}

static void add_writers(const struct scene *scene, struct textbuf *out)
{
    uint64_t made_ns = scene->frozen_ns ? scene->frozen_ns : scene->now_ns;
    textbuf_printf(out, "{\"monotonic_seconds\":%.9f,\"window_seconds\":1,",
                   (double)made_ns * 1e-9);
    if (!scene->old_exporter)
        textbuf_printf(out, "\"interval_seconds\":%.9f,", (double)scene->interval_ns * 1e-9);
    textbuf_str(out, "\"containers\":[");
    for (size_t place = 0; place < PLACES; place++) {
        textbuf_printf(out, "%s{\"container_id\":\"%.*s\",\"processes\":[{\"pid\":1,\"threads\":[",
                       place ? "," : "", RIG_LABEL(places[place].path));
        const char *comma = "";
        for (size_t i = 0; i < scene->n; i++) {
            const struct thread *thread = &scene->threads[i];
            if (thread->place != place || !thread->stored_ns)
                continue;
            textbuf_printf(out, "%s{\"tid\":%d,\"last_store_seconds_ago\":%.9f}", comma,
                           thread->tid, (double)(made_ns - thread->stored_ns) * 1e-9);
            comma = ",";
        }
        textbuf_str(out, "]}]}");
    }
    textbuf_str(out, "]}");
}

static void take(struct scene *scene)
{
    struct textbuf text = TEXTBUF_INIT, threads = TEXTBUF_INIT;
    struct view view = {0};
    struct writers writers = {0};
    char error[256] = "";
    add_containers(scene, &text);
    add_writers(scene, &threads);
    governor_document_view(&text, &view);
    assert_int_equal(textbuf_finish(&threads), 0);
    assert_int_equal(writers_parse(threads.data, threads.len, &writers, error, sizeof error), 0);
    if (!scene->silent)
        governor_take_writers(scene->governor, &writers);
    governor_take(scene->governor, &view, scene->now_ns, scene->now_ns);
    writers_release(&writers);
    view_release(&view);
    textbuf_release(&threads);
}

/* A second, or what a tick takes, in which the first n threads store. */
static void tick(struct scene *scene, size_t n)
{
    scene->now_ns += scene->interval_ns;
    scene->tick++;
    for (size_t i = 0; i < n && !scene->frozen_ns; i++)
        scene->threads[i].stored_ns = scene->now_ns - scene->interval_ns / 10;
    take(scene);
}

static void ticks(struct scene *scene, int n, size_t writers)
{
    for (int i = 0; i < n; i++)
        tick(scene, writers);
}

static size_t kept(struct scene *scene)
{
    size_t n = 0;
    for (size_t i = 0; i < scene->n; i++) {
        char cpus[CLAIM_TEXT_MAX];
        fake_threads_cpus(&scene->fake, scene->threads[i].tid, cpus);
        n += strcmp(cpus, "5-7") == 0;
    }
    return n;
}

static struct policy_writers look(const struct scene *scene)
{
    struct governor_state state;
    governor_look(scene->governor, &state);
    assert_non_null(state.policies.writers);
    return *state.policies.writers;
}

/* It acts on the fifth fresh tick, which is the first of five seconds. */
static void engage(struct scene *scene)
{
    ticks(scene, 9, WRITERS);
    assert_int_equal(kept(scene), 0);
    tick(scene, WRITERS);
    assert_int_equal(kept(scene), WRITERS);
}

TEST_ON(many_writers_are_kept_together, struct scene *scene, setup, teardown)
{
    engage(scene);
    assert_int_equal(scene->last.policy, POLICY_NVMM_CORES);
    assert_int_equal(scene->last.knob, KNOB_AFFINITY);
    assert_int_equal(scene->last.action, ACTION_CUT);
    assert_true(scene->last.tid > 0);
    assert_true(scene->last.measured == WRITERS && scene->last.limit == 8);
    assert_int_equal(look(scene).n, WRITERS);
    assert_true(look(scene).expiry_seconds == 2.1);
    unsigned sets = scene->fake.sets;
    ticks(scene, 50, WRITERS);
    assert_int_equal(scene->fake.sets, sets);
    assert_int_equal(governor_stop(scene->governor, 0), 0);
    assert_int_equal(kept(scene), 0);
}

TEST_ON(few_writers_are_let_alone, struct scene *scene, setup, teardown)
{
    ticks(scene, 100, 8);
    assert_int_equal(scene->fake.sets, 0);
    assert_int_equal(look(scene).n, 8);
}

/* Its last store was 0.1 s before its last tick: 2.1 s are over in the second. */
TEST_ON(who_stops_writing_is_given_back, struct scene *scene, setup, teardown)
{
    engage(scene);
    tick(scene, 10);
    assert_int_equal(kept(scene), WRITERS);
    tick(scene, 10);
    assert_int_equal(kept(scene), 10);
    assert_string_equal(scene->last.why, "calm");
    tick(scene, 11);
    assert_int_equal(kept(scene), 11);
}

/* 0.2 s, and a tick. */
TEST_ON(with_short_ticks_it_is_given_back_soon, struct scene *scene, setup, teardown)
{
    scene->interval_ns = SECOND / 10;
    ticks(scene, 60, WRITERS);
    assert_int_equal(kept(scene), WRITERS);
    assert_true(look(scene).expiry_seconds == 0.3);
    ticks(scene, 2, 10);
    assert_int_equal(kept(scene), WRITERS);
    tick(scene, 10);
    assert_int_equal(kept(scene), 10);
    assert_string_equal(scene->last.why, "calm");
    scene->old_exporter = true;
    tick(scene, 10);
    assert_true(look(scene).expiry_seconds == 2.1);
}

TEST_ON(with_few_left_all_are_given_back_after_a_minute, struct scene *scene, setup, teardown)
{
    engage(scene);
    ticks(scene, 3, 4);
    assert_int_equal(kept(scene), 4);
    ticks(scene, 59, 4);
    assert_int_equal(kept(scene), 4);
    tick(scene, 4);
    assert_int_equal(kept(scene), 0);
    assert_string_equal(scene->last.why, "unmanaged");
}

/* They count as writers; only threads of the policy's classes are moved. */
TEST_ON(whose_threads_are_moved, struct scene *scene, setup, teardown)
{
    int others[3];
    for (size_t i = 0; i < 3; i++)
        others[i] = add(scene, i + 1);
    ticks(scene, 10, WRITERS + 3);
    assert_int_equal(kept(scene), WRITERS);
    assert_int_equal(look(scene).n, WRITERS + 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(fake_threads_is_original(&scene->fake, others[i]));
}

/* There is room for 512. */
TEST_ON(threads_beyond_the_table_are_counted, struct scene *scene, setup, teardown)
{
    struct governor_state state_now;
    while (scene->n < 515) { /* they have ended since the list was made */
        scene->threads[scene->n] = (struct thread){.tid = 100000 + (int)scene->n};
        scene->n++;
    }
    ticks(scene, 5, 515); /* the fifth is the first that counts */
    governor_look(scene->governor, &state_now);
    assert_int_equal(enforcer_counts(state_now.enforcer)->limited[GUARD_TABLE], 3);
    assert_int_equal(look(scene).n, 515);
}

TEST_ON(a_list_that_stands_still_is_forgotten, struct scene *scene, setup, teardown)
{
    engage(scene);
    scene->silent = true;
    tick(scene, WRITERS);
    assert_int_equal(kept(scene), WRITERS);
    tick(scene, WRITERS);
    assert_int_equal(kept(scene), 0);
    assert_int_equal(look(scene).n, 0);
    scene->silent = false;
    ticks(scene, 9, WRITERS);
    assert_int_equal(kept(scene), WRITERS);
    scene->frozen_ns = scene->now_ns;
    tick(scene, WRITERS);
    assert_int_equal(kept(scene), WRITERS);
    tick(scene, WRITERS);
    assert_int_equal(kept(scene), 0);
}

TEST_ON(observing_nobody_is_moved, struct scene *scene, setup, teardown)
{
    start(scene, false);
    ticks(scene, 20, WRITERS);
    assert_int_equal(scene->fake.sets, 0);
    assert_int_equal(scene->last.outcome, OUTCOME_DRY_RUN);
    assert_string_equal(scene->last.to, "5-7");
}

TEST_ON(a_dead_exporter_lets_everybody_go, struct scene *scene, setup, teardown)
{
    engage(scene);
    for (int i = 0; i < 11; i++)
        governor_take(scene->governor, NULL, scene->now_ns += SECOND, 0);
    assert_int_equal(kept(scene), 0);
}

TEST_ON(killed_everybody_is_given_back_at_the_start, struct scene *scene, setup, teardown)
{
    engage(scene);
    start(scene, true); /* frees the first one, which puts nothing back */
    assert_int_equal(kept(scene), 0);
}

TEST_ON(another_configuration, struct scene *scene, setup, teardown)
{
    char error[256] = "";
    engage(scene);
    struct config *other = config_of(scene, "\"nvmm_cores\":{\"classes\":[\"batch\"],\"cpus\":"
                                            "\"6\",\"engage\":2}");
    assert_int_equal(governor_reload(scene->governor, other, error, sizeof error), 0);
    config_free(scene->config);
    scene->config = other;
    tick(scene, WRITERS);
    assert_int_equal(kept(scene), 0);
    ticks(scene, 6, WRITERS);
    char cpus[CLAIM_TEXT_MAX];
    fake_threads_cpus(&scene->fake, scene->threads[0].tid, cpus);
    assert_string_equal(cpus, "6");
    struct config *none = config_of(scene, "\"nvmm_cores\":{\"enabled\":false}");
    assert_int_equal(governor_reload(scene->governor, none, error, sizeof error), 0);
    config_free(scene->config);
    scene->config = none;
    tick(scene, WRITERS);
    assert_true(fake_threads_is_original(&scene->fake, scene->threads[0].tid));
    other = config_of(scene, policy);
    assert_int_equal(governor_reload(scene->governor, other, error, sizeof error), -EINVAL);
    assert_non_null(strstr(error, "restart"));
    config_free(other);
}

TEST_ON(a_container_that_came_after_another, struct scene *scene, setup, teardown)
{
    engage(scene);
    governor_rig_remove(&scene->rig, WRITER);
    governor_rig_cgroup(&scene->rig, WRITER, "max 100000");
    ticks(scene, 3, 0);
    assert_int_equal(kept(scene), 0);
}

/* ---- the document ---- */

static int parse(struct writers *writers, const char *text)
{
    char error[256] = "";
    int err = writers_parse(text, strlen(text), writers, error, sizeof error);
    assert_true((err == 0) == (error[0] == '\0'));
    return err;
}

TEST(the_document)
{
    struct writers writers = {0};
    assert_int_equal(
        parse(
            &writers,
            "{\"source\":\"perf\",\"monotonic_seconds\":12.5,\"interval_seconds\":0.25,"
            "\"window_seconds\":1.0,"
            "\"containers\":[{\"processes\":[{\"pid\":9,\"threads\":[{\"tid\":11,"
            "\"last_store_seconds_ago\":0.25,\"store\":{\"bytes_per_second\":1}},{\"tid\":12,"
            "\"last_store_seconds_ago\":null},{\"tid\":13}]}],\"container_id\":\"0a1b\"},"
            "{\"container_id\":\"\",\"processes\":[{\"threads\":[{\"tid\":14,"
            "\"last_store_seconds_ago\":0}]}]},{\"container_id\":\"0a1b2c3d4e5f00000\","
            "\"processes\":[{\"threads\":[{\"tid\":15,\"last_store_seconds_ago\":0}]}]},"
            "{\"container_id\":\"c\",\"processes\":[{\"threads\":[{\"tid\":-1,"
            "\"last_store_seconds_ago\":0},{\"tid\":1.5,\"last_store_seconds_ago\":0},{\"tid\":16,"
            "\"last_store_seconds_ago\":-1},{\"tid\":17,\"last_store_seconds_ago\":0}]}]}]}"),
        0);
    assert_int_equal(writers.n, 2);
    assert_true(writers.monotonic_ns == 12500000000U && writers.window_ns == SECOND);
    assert_true(writers.interval_ns == SECOND / 4);
    assert_int_equal(writers.list[0].tid, 11);
    assert_string_equal(writers.list[0].container_id, "0a1b");
    assert_true(writers.list[0].stored_seconds_ago == 0.25);
    assert_int_equal(writers.list[1].tid, 17);
    assert_int_equal(parse(&writers, "{\"monotonic_seconds\":null,\"containers\":[]}"), 0);
    assert_true(writers.n == 0 && writers.monotonic_ns == 0);
    assert_int_equal(parse(&writers, "{}"), -EINVAL);
    assert_int_equal(parse(&writers, "{\"containers\":{}}"), -EINVAL);
    assert_int_equal(parse(&writers, "[]"), -EINVAL);
    assert_int_equal(parse(&writers, "{\"containers\":[]"), -EINVAL);
    writers_release(&writers);
}
