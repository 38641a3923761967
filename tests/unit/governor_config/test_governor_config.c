#include <unistd.h>

#include "exporter/governor/config/config.h"
#include "tests/unit/support/governor_start.h"
#include "tests/unit/support/unit.h"

#define PATTERN(pod)                                                                               \
    "{\"governor\":1,\"classes\":[{\"name\":\"a\",\"role\":\"protected\",\"match\":[{"             \
    "\"namespace\":\"a\",\"pod\":\"" pod "\",\"container\":\"c\"}]}]}"
#define CLASSES                                                                                    \
    "\"classes\":["                                                                                \
    "{\"name\":\"web\",\"role\":\"protected\",\"match\":[{\"namespace\":\"shop\",\"pod\":\"*\","   \
    "\"container\":\"cart\"}]},"                                                                   \
    "{\"name\":\"batch\",\"role\":\"best_effort\",\"match\":[{\"namespace\":\"batch-*\","          \
    "\"pod\":\"*\",\"container\":\"*\"},{\"namespace\":\"ci\",\"pod\":\"run-1\","                  \
    "\"container\":\"build\"}],\"cpu\":{\"base_cores\":1.5,\"step_cores\":0.25}}]"

TEST(the_least_there_is)
{
    struct config *config = governor_start_config("{\"governor\":1,\"classes\":[]}");
    assert_false(config->enforce);
    assert_string_equal(config->state_directory, "/run/interference_governor");
    assert_string_equal(config->exporter.socket, "/run/interference_exporter/exporter.sock");
    assert_int_equal(config->exporter.user, 0);
    assert_int_equal(config->stale_ns, 3500000000U);
    assert_int_equal(config->dead_ns, 10000000000U);
    assert_int_equal(config->limits.claims, 64);
    assert_float_equal(config->limits.writes_per_second, 50, 0);
    assert_int_equal(config->limits.cuts_per_10m, 20);
    assert_int_equal(config->quota_period_ms, 0);
    assert_false(config->enabled[POLICY_THRESHOLD]);
    assert_int_equal(config->threshold.calibrate, CALIBRATE_BASELINE);
    assert_false(config->threshold.experiment);
    assert_float_equal(config->threshold.window_seconds, 1, 0);
    config_free(config);
}

TEST(everything)
{
    struct config *config = governor_start_config(
        "{\"governor\":1,\"mode\":\"enforce\",\"exporter\":{\"socket\":\"/run/"
        "e.sock\",\"uid\":65534,"
        "\"stale\":\"2s\",\"dead\":\"5s\"},\"state_directory\":\"/s\"," CLASSES ",\"policies\":{"
        "\"threshold\":{\"classes\":[\"batch\"],\"mode\":\"paper\",\"factor\":1.1,"
        "\"calibrate\":\"throttle\",\"window\":\"250ms\","
        "\"confirm\":[3,5],\"calm\":4,\"over_share\":0.02,\"hold\":\"5s\",\"futile\":\"60s\","
        "\"culprit_share\":0,\"sure\":0.8,\"experiment\":true}},"
        "\"limits\":{\"claims\":8,\"writes_per_second\":5,\"cuts_per_10m\":3,"
        "\"quota_period_ms\":10}}");
    const struct threshold_config *threshold = &config->threshold;
    assert_true(config->enforce && config->enabled[POLICY_THRESHOLD]);
    assert_string_equal(config->exporter.socket, "/run/e.sock");
    assert_int_equal(config->exporter.user, 65534);
    assert_int_equal(config->dead_ns, 5000000000U);
    assert_int_equal(config->quota_period_ms, 10);
    assert_int_equal(config->n_classes, 2);
    assert_float_equal(config->classes[1].base_cores, 1.5, 0);
    assert_float_equal(config->classes[1].step_cores, 0.25, 0);
    assert_int_equal(config->owners[1][KNOB_CPU], POLICY_THRESHOLD);
    assert_int_equal(config->owners[0][KNOB_CPU], POLICY_NONE);
    assert_int_equal(threshold->mode, CONTROL_PAPER);
    assert_int_equal(threshold->calibrate, CALIBRATE_THROTTLE);
    assert_float_equal(threshold->window_seconds, 0.25, 0);
    assert_float_equal(threshold->factor, 1.1, 1e-6);
    assert_true(threshold->experiment);
    assert_float_equal(threshold->culprit_share, 0, 0);
    assert_float_equal(threshold->sure, 0.8, 0);
    assert_int_equal(threshold->safe.confirm, 3);
    assert_int_equal(threshold->safe.confirm_of, 5);
    assert_int_equal(threshold->safe.calm, 4);
    assert_float_equal(threshold->safe.over_share, 0.02, 0);
    assert_float_equal(threshold->safe.hold_seconds, 5, 0);
    assert_float_equal(threshold->safe.hold_max_seconds, 150, 0);
    assert_float_equal(threshold->futile_seconds, 60, 0);
    assert_int_equal(config->limits.claims, 8);
    config_free(config);
}

TEST(policies_by_slowdown)
{
    struct config *config = governor_start_config(
        "{\"governor\":1,\"classes\":[{\"name\":\"web\",\"role\":\"protected\","
        "\"slowdown_bound\":1.5,\"match\":[{\"namespace\":\"shop\",\"pod\":\"*\","
        "\"container\":\"*\"}]},{\"name\":\"batch\",\"role\":\"best_effort\",\"match\":[{"
        "\"namespace\":\"*\",\"pod\":\"*\",\"container\":\"*\"}],\"llc\":{\"floor_ways\":3},"
        "\"mba\":{\"floor_percent\":30}}],\"policies\":{\"ways\":{\"classes\":[\"batch\"],"
        "\"mode\":\"bound\",\"step\":\"5s\",\"model\":\"shadow\"},\"mba\":{\"enabled\":false,"
        "\"culprit_share\":0.2}}}");
    assert_true(config->classes[0].slowdown_bound == 1.5);
    assert_true(config->enabled[POLICY_WAYS] && !config->enabled[POLICY_MBA]);
    assert_int_equal(config->ways.model, VIEW_SHADOW);
    assert_true(config->ways.step_seconds == 5 && config->mba.step_seconds == 10);
    assert_true(config->mba.culprit_share == 0.2);
    assert_int_equal(config->owners[1][KNOB_WAYS], POLICY_WAYS);
    assert_int_equal(config->owners[1][KNOB_MBA], POLICY_NONE);
    assert_true(config_floor(config, 1, KNOB_CPU) == 1 && config_floor(config, 1, KNOB_WAYS) == 3 &&
                config_floor(config, 1, KNOB_MBA) == 30);
    config_free(config);
}

TEST(writers_to_persistent_memory)
{
    struct config *config =
        governor_start_config("{\"governor\":1," CLASSES ",\"policies\":{\"nvmm_cores\":{"
                              "\"classes\":[\"batch\"],\"cpus\":\"13-15\"}}}");
    const struct nvmm_config *nvmm = &config->nvmm;
    assert_true(config->enabled[POLICY_NVMM_CORES] && nvmm->dimms == 1 &&
                nvmm->expiry_seconds == 0.2);
    assert_true(nvmm->engage.engage_writers == 8 && nvmm->engage.release_writers == 4);
    assert_true(CPU_COUNT(&nvmm->cpus) == 3 && CPU_ISSET(13, &nvmm->cpus));
    assert_int_equal(config->owners[1][KNOB_AFFINITY], POLICY_NVMM_CORES);
    config_free(config);
    config = governor_start_config(
        "{\"governor\":1," CLASSES ",\"policies\":{\"nvmm_cores\":{\"enabled\":false,"
        "\"cpus\":\"0\",\"dimms\":6,\"engage\":10,\"expiry\":\"3s\",\"engage_after\":"
        "\"1s\",\"release_after\":\"9s\"}}}");
    assert_true(!config->enabled[POLICY_NVMM_CORES] && config->nvmm.dimms == 6);
    assert_true(config->nvmm.engage.release_writers == 5 && config->nvmm.expiry_seconds == 3);
    assert_true(config->nvmm.engage.engage_seconds == 1 &&
                config->nvmm.engage.release_seconds == 9);
    assert_int_equal(config->owners[1][KNOB_AFFINITY], POLICY_NONE);
    config_free(config);
}

TEST(classes_are_found)
{
    bool literal;
    struct config *config = governor_start_config("{\"governor\":1," CLASSES "}");
    assert_int_equal(config_class_of(config, "shop", "cart-0", "cart", "", &literal), 0);
    assert_false(literal);
    assert_int_equal(config_class_of(config, "batch-1", "x", "y", "", &literal), 1);
    assert_int_equal(config_class_of(config, "ci", "run-1", "build", "", &literal), 1);
    assert_true(literal);
    assert_int_equal(config_class_of(config, "ci", "run-2", "build", "", &literal), CLASS_NONE);
    assert_int_equal(config_class_of(config, "shop", "cart-0", "sidecar", "", &literal),
                     CLASS_NONE);
    assert_int_equal(config_class_of(config, "", "", "", "", &literal), CLASS_NONE);
    config_free(config);
}

/* A service has no namespace and no pod that a match could name. */
TEST(what_is_in_no_pod_is_named_by_its_own_name)
{
    bool literal = false;
    struct config *config = governor_start_config(
        "{\"governor\":1,\"classes\":[{\"name\":\"host\",\"role\":\"best_effort\",\"match\":[{"
        "\"namespace\":\"*\",\"pod\":\"*\",\"container\":\"backup.service\"},{\"namespace\":"
        "\"\",\"pod\":\"\",\"container\":\"*.service\"},{\"namespace\":\"*\",\"pod\":\"*\","
        "\"container\":\"later.service\"},{\"namespace\":\"\",\"pod\":\"\",\"container\":"
        "\"at\\\\\\\\x2d.service\"}]}]}");
    assert_int_equal(config_class_of(config, "", "", "backup.service", "", &literal), 0);
    assert_true(literal);
    assert_int_equal(config_class_of(config, "", "", "kubelet.service", "", &literal), 0);
    assert_false(literal);
    /* Behind a wildcard that fits, too; and with a backslash, as systemd's names may have. */
    assert_int_equal(config_class_of(config, "", "", "later.service", "", &literal), 0);
    assert_true(literal);
    assert_int_equal(config_class_of(config, "", "", "at\\x2d.service", "", &literal), 0);
    assert_true(literal);
    literal = true;
    assert_int_equal(config_class_of(config, "jobs", "x", "backup.service", "", &literal), 0);
    assert_false(literal);
    config_free(config);
}

/* A class of quality of service beside the names; who writes guaranteed means it. */
TEST(classes_by_quality_of_service)
{
    bool literal;
    struct config *config = governor_start_config(
        "{\"governor\":1,\"classes\":[{\"name\":\"web\",\"role\":\"protected\",\"match\":[{"
        "\"namespace\":\"*\",\"pod\":\"*\",\"container\":\"*\",\"qos_class\":\"burstable\"}]},{"
        "\"name\":\"rest\",\"role\":\"best_effort\",\"match\":[{\"namespace\":\"jobs\",\"pod\":"
        "\"*\",\"container\":\"*\",\"qos_class\":\"guaranteed\"},{\"namespace\":\"*\",\"pod\":\"*"
        "\","
        "\"container\":\"*\",\"qos_class\":\"besteffort\"}]}],\"policies\":{\"threshold\":{"
        "\"classes\":[\"rest\"]}}}");
    assert_int_equal(config_class_of(config, "shop", "a", "b", "burstable", &literal), 0);
    assert_int_equal(config_class_of(config, "jobs", "a", "b", "guaranteed", &literal), 1);
    assert_true(literal);
    assert_int_equal(config_class_of(config, "shop", "a", "b", "besteffort", &literal), 1);
    assert_false(literal);
    assert_int_equal(config_class_of(config, "shop", "a", "b", "guaranteed", &literal), CLASS_NONE);
    assert_int_equal(config_class_of(config, "", "", "x.service", "", &literal), CLASS_NONE);
    config_free(config);
}

/* Whatever their order: who is protected never loses. */
TEST(protected_classes_come_first)
{
    bool literal;
    struct config *config = governor_start_config(
        "{\"governor\":1,\"classes\":[{\"name\":\"rest\",\"role\":\"best_effort\",\"match\":[{"
        "\"namespace\":\"*\",\"pod\":\"*\",\"container\":\"*\"}]},{\"name\":\"ci\",\"role\":"
        "\"best_effort\",\"match\":[{\"namespace\":\"ci\",\"pod\":\"*\",\"container\":\"*\"}]},{"
        "\"name\":\"web\",\"role\":\"protected\",\"match\":[{\"namespace\":\"shop\",\"pod\":"
        "\"cart-0\",\"container\":\"cart\"}]}]}");
    assert_int_equal(config_class_of(config, "shop", "cart-0", "cart", "", &literal), 2);
    assert_true(literal);
    assert_int_equal(config_class_of(config, "ci", "run-1", "build", "", &literal), 0);
    assert_false(literal);
    config_free(config);
}

TEST(what_is_wrong_is_refused)
{
#define WITH(rest) "{\"governor\":1," CLASSES "," rest "}"
#define THRESHOLD(rest) WITH("\"policies\":{\"threshold\":{\"classes\":[\"batch\"]," rest "}}")
#define CLASS(rest) "{\"governor\":1,\"classes\":[{" rest "}]}"
#define NVMM(rest) WITH("\"policies\":{\"nvmm_cores\":{\"classes\":[\"batch\"]," rest "}}")
#define CLASSES_WITH_BOUND(policies)                                                               \
    "{\"governor\":1,\"classes\":[{\"name\":\"a\",\"role\":\"protected\",\"slowdown_bound\":"      \
    "2," MATCH "},{\"name\":\"b\",\"role\":\"best_effort\"," MATCH "}],\"policies\":{" policies    \
    "}}"
#define WITH_TWO(policies)                                                                         \
    "{\"governor\":1,\"classes\":[{\"name\":\"b\",\"role\":\"best_effort\"," MATCH                 \
    "},{\"name\":\"c\",\"role\":\"best_effort\"," MATCH "}],\"policies\":{" policies "}}"
#define MATCH "\"match\":[{\"namespace\":\"a\",\"pod\":\"b\",\"container\":\"c\"}]"
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "line 1"},
        {"[]", "the document: must be an object"},
        {"{\"classes\":[]}", "governor: must be 1"},
        {"{\"governor\":2,\"classes\":[]}", "governor: must be 1"},
        {"{\"governor\":1}", "classes: must be a list"},
        {"{\"governor\":1,\"governor\":1,\"classes\":[]}", "duplicate"},
        {THRESHOLD("\"sure\":0.5,\"experiment\":true"), "nobody is left to be confirmed"},
        {WITH("\"modus\":1"), "the document: unknown key \"modus\""},
        {WITH("\"mode\":\"act\""), "the document.mode: must be \"observe\" or \"enforce\""},
        {WITH("\"mode\":1"), "the document.mode: must be"},
        {WITH("\"state_directory\":\"here\""), "state_directory: must be an absolute path"},
        {WITH("\"exporter\":[]"), "exporter: must be an object"},
        {WITH("\"exporter\":{\"uri\":\"\"}"), "exporter: unknown key"},
        {WITH("\"exporter\":{\"url\":\"http://10.0.0.1:1\"}"), "exporter.url: must be on this"},
        {WITH("\"exporter\":{\"url\":\"https://127.0.0.1:1\"}"), "must begin with http://"},
        {WITH("\"exporter\":{\"url\":\"http://127.0.0.1\"}"), "exporter.url: must"},
        {WITH("\"exporter\":{\"socket\":\"e.sock\"}"), "exporter.socket: must be an absolute"},
        {WITH("\"exporter\":{\"socket\":\"/e\",\"url\":\"http://127.0.0.1:1\"}"), "either url or"},
        {WITH("\"exporter\":{\"uid\":0}"), "exporter.uid: must be"},
        {WITH("\"exporter\":{\"uid\":7,\"url\":\"http://127.0.0.1:1\"}"),
         "exporter.uid: is of a socket"},
        {WITH("\"exporter\":{\"stale\":\"20s\"}"), "exporter.dead: must be longer"},
        {WITH("\"exporter\":{\"stale\":5}"), "exporter.stale: must be a duration"},
        {WITH("\"policies\":{\"treshold\":{}}"), "policies: unknown key \"treshold\""},
        {WITH("\"policies\":{\"threshold\":{\"class\":[]}}"), "policies.threshold: unknown key"},
        {WITH("\"policies\":{\"threshold\":{}}"), "policies.threshold.classes: must name"},
        {WITH("\"policies\":{\"threshold\":{\"classes\":[\"web\"]}}"), "\"web\" is protected"},
        {WITH("\"policies\":{\"threshold\":{\"classes\":[\"x\"]}}"), "there is no class \"x\""},
        {THRESHOLD("\"factor\":0.9"), "policies.threshold.factor: must be a number between"},
        {THRESHOLD("\"factor\":\"2\""), "policies.threshold.factor"},
        {THRESHOLD("\"mode\":\"fast\""), "policies.threshold.mode: must be \"safe\" or \"paper\""},
        {THRESHOLD("\"confirm\":[4,3]"), "confirm: must be [n, of]"},
        {THRESHOLD("\"confirm\":[0,3]"), "confirm: must be [n, of]"},
        {THRESHOLD("\"confirm\":[2,33]"), "confirm: must be [n, of]"},
        {THRESHOLD("\"confirm\":2"), "confirm: must be [n, of]"},
        {THRESHOLD("\"calm\":1.5"), "calm: must be a whole number"},
        {THRESHOLD("\"hold\":\"2h\""), "hold: must be between"},
        {THRESHOLD("\"window\":\"0s\""), "policies.threshold.window: must be"},
        {THRESHOLD("\"calibrate\":true"), "policies.threshold.calibrate: must be \"baseline\" or"},
        {THRESHOLD("\"calibrate\":\"idle\""), "calibrate: must be \"baseline\" or \"throttle\""},
        {THRESHOLD("\"enabled\":1"), "enabled: must be true or false"},
        {WITH("\"policies\":{\"ways\":{\"classes\":[\"batch\"]}}"),
         "policies.ways: no protected class has a slowdown_bound"},
        {WITH("\"policies\":{\"mba\":{\"classes\":[\"batch\"]}}"),
         "policies.mba: no protected class has a slowdown_bound"},
        {WITH("\"policies\":{\"ways\":{\"classes\":[\"batch\"],\"mode\":\"qos\"}}"),
         "policies.ways.mode: must be \"bound\""},
        {WITH("\"policies\":{\"ways\":{\"classes\":[\"batch\"],\"mode\":\"fair\"}}"),
         "policies.ways.mode: there is no \"fair\" any more"},
        {WITH("\"policies\":{\"mba\":{\"classes\":[\"batch\"],\"mode\":\"qos\"}}"),
         "policies.mba.mode: must be \"bound\" or \"fair\""},
        {WITH("\"policies\":{\"ways\":{\"classes\":[\"batch\"],\"culprit_share\":1}}"),
         "policies.ways: unknown key"},
        {WITH("\"policies\":{\"epochs\":{\"classes\":[\"batch\"],\"share\":0.03}}"),
         "policies.epochs.share: must be"},
        {WITH_TWO("\"epochs\":{\"classes\":[\"b\"]}"),
         "policies.epochs.classes: \"c\" is missing: all best effort is held"},
        {CLASSES_WITH_BOUND("\"ways\":{\"classes\":[\"b\"]},\"epochs\":{\"classes\":[\"b\"]}"),
         "policies.epochs.classes: the ways of \"b\" belongs to policies.ways"},
        {WITH("\"policies\":{\"advice\":{\"classes\":[]}}"), "policies.advice: unknown key"},
        {WITH("\"policies\":{\"advice\":{\"ok_slowdown\":2}}"),
         "policies.advice.ok_slowdown: must be less"},
        {WITH("\"policies\":{\"mba\":{\"classes\":[\"web\"]}}"), "\"web\" is protected"},
        {WITH("\"policies\":{\"mba\":{\"enabled\":true}}"), "policies.mba.classes: must name"},
        {WITH("\"policies\":{\"mba\":{\"enabled\":false,\"model\":\"asm\"}}"),
         "policies.mba.model: must be \"passive\" or \"shadow\""},
        {CLASS("\"name\":\"a\",\"role\":\"best_effort\",\"slowdown_bound\":2," MATCH),
         "classes[0].slowdown_bound: only a protected class has one"},
        {CLASS("\"name\":\"a\",\"role\":\"protected\",\"slowdown_bound\":1," MATCH),
         "classes[0].slowdown_bound: must be"},
        {CLASS("\"name\":\"a\",\"role\":\"best_effort\",\"cores\":2," MATCH),
         "classes[0].cores: only a protected class has them"},
        {CLASS("\"name\":\"a\",\"role\":\"protected\",\"cores\":0," MATCH),
         "classes[0].cores: must be"},
        {CLASS("\"name\":\"a\",\"role\":\"protected\",\"llc\":{}," MATCH),
         "classes[0].llc: nothing is taken from a protected class"},
        {CLASS("\"name\":\"a\",\"role\":\"best_effort\",\"mba\":{\"floor\":1}," MATCH),
         "classes[0].mba: unknown key \"floor\""},
        {WITH("\"policies\":{\"nvmm_cores\":{\"classes\":[\"batch\"]}}"),
         "policies.nvmm_cores.cpus: is missing"},
        {NVMM("\"cpus\":\"\""), "cpus: must be a list of CPUs"},
        {NVMM("\"cpus\":\"3-1\""), "cpus: must be a list of CPUs"},
        {NVMM("\"cpus\":\"1024\""), "cpus: must be a list of CPUs"},
        {NVMM("\"cpus\":[1]"), "cpus: must be a text"},
        {NVMM("\"cpus\":\"1\",\"dimms\":0"), "dimms: must be a number between"},
        {NVMM("\"cpus\":\"1\",\"engage\":4,\"release\":5"), "release: must not be more"},
        {NVMM("\"cpus\":\"1\",\"expiry\":\"0.1s\""), "expiry: must be between 0.2s"},
        {WITH("\"policies\":{\"nvmm_cores\":{\"classes\":[\"web\"],\"cpus\":\"1\"}}"),
         "\"web\" is protected"},
        {WITH("\"limits\":{\"claims\":0}"), "limits.claims: must be"},
        {WITH("\"limits\":{\"claims\":2000}"), "limits.claims: must be"},
        {WITH("\"limits\":{\"cuts_per_10m\":64}"), "limits.cuts_per_10m: must be"},
        {WITH("\"limits\":{\"quota_period_ms\":9}"), "limits.quota_period_ms: must be"},
        {CLASS("\"name\":\"a\",\"role\":\"protected\",\"match\":[{\"namespace\":\"*\",\"pod\":"
               "\"*\",\"container\":\"*\"}]"),
         "classes[0].match[0]: protects everybody"},
        {WITH_TWO("\"threshold\":{\"classes\":[\"b\"]}"),
         "policies.threshold: no class is protected"},
        {CLASS("\"name\":\"a\",\"role\":\"protected\",\"match\":[{\"namespace\":\"*\",\"pod\":"
               "\"*\",\"container\":\"c\",\"qos_class\":\"best-effort\"}]"),
         "classes[0].match[0].qos_class: must be"},
        {CLASS(MATCH), "classes[0].name: is missing"},
        {CLASS("\"name\":\"a\"," MATCH), "classes[0].role: is missing"},
        {CLASS("\"name\":\"a\",\"role\":\"none\"," MATCH), "classes[0].role: must be"},
        {CLASS("\"name\":\"a\",\"role\":\"protected\""), "classes[0].match: must be a list"},
        {CLASS("\"name\":\"a\",\"role\":\"protected\",\"match\":[{\"pod\":\"*\"}]"),
         "classes[0].match[0]: must say namespace, pod and container"},
        {PATTERN("["), "match[0]: a pattern has a bracket or an escape that does not end"},
        {PATTERN("a[b"), "match[0]: a pattern"},
        {PATTERN("[!"), "match[0]: a pattern"},
        {PATTERN("[]"), "match[0]: a pattern"},
        {PATTERN("x\\\\"), "match[0]: a pattern"},
        {CLASS("\"name\":\"a\",\"role\":\"protected\",\"cpu\":{}," MATCH),
         "classes[0].cpu: nothing is taken from a protected class"},
        {CLASS("\"name\":\"a\",\"role\":\"best_effort\",\"cpu\":{\"base_cores\":0}," MATCH),
         "classes[0].cpu.base_cores: must be"},
        {CLASS("\"name\":\"a\",\"role\":\"best_effort\",\"cpu\":{\"base\":1}," MATCH),
         "classes[0].cpu: unknown key \"base\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char error[256] = "";
        struct config *config = NULL;
        assert_int_equal(
            config_parse(cases[i].text, strlen(cases[i].text), &config, error, sizeof error),
            -EINVAL);
        if (!strstr(error, cases[i].error) || strstr(error, "null"))
            fail_msg("%s\n\"%s\" for \"%s\"", cases[i].text, error, cases[i].error);
        assert_null(config);
    }
}

TEST(patterns_of_fnmatch)
{
    static const char *const texts[] = {PATTERN("[a-c]*[0-9]"), PATTERN("[!]a]"), PATTERN("[]a]"),
                                        PATTERN("[[]"), PATTERN("\\\\[x")};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        config_free(governor_start_config(texts[i]));
}

TEST(a_file_that_cannot_be_read)
{
    char error[256] = "";
    struct config *config = NULL;
    assert_int_equal(config_load("/nonexistent", NULL, &config, error, sizeof error), -ENOENT);
    assert_non_null(strstr(error, "/nonexistent: "));
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
}

/* What a flag says stands; a file that names another one is refused. */
TEST(the_state_directory_that_is_given)
{
    const struct config_given given = {.state_directory = "/given"};
    char path[] = "/tmp/governor-config-XXXXXX", error[256] = "";
    struct config *config = NULL;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    write_file(path, WITH("\"exporter\":{}"));
    assert_int_equal(config_load(path, &given, &config, error, sizeof error), 0);
    assert_string_equal(config->state_directory, "/given");
    config_free(config);
    write_file(path, WITH("\"state_directory\":\"/given\""));
    assert_int_equal(config_load(path, &given, &config, error, sizeof error), 0);
    config_free(config);
    write_file(path, WITH("\"state_directory\":\"/run/interference_governor\""));
    assert_int_equal(config_load(path, &given, &config, error, sizeof error), -EINVAL);
    assert_non_null(strstr(error, "--state-directory says another one"));
    assert_int_equal(unlink(path), 0);
}

/* Whoever listens on a port first would say whom to restrict. */
TEST(over_tcp_it_only_looks)
{
    static const char tcp[] = "\"exporter\":{\"url\":\"http://127.0.0.1:1\"}";
    static const char *const modes[] = {"observe", "enforce"};
    char path[] = "/tmp/governor-config-XXXXXX", text[1024], error[256] = "";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    for (int enforce = 0; enforce < 2; enforce++)
        for (int mode = 0; mode < 2; mode++)
            for (int local = 0; local < 2; local++) {
                const struct config_given given = {.state_directory = "/given", .enforce = enforce};
                struct config *config = NULL;
                bool refused = enforce && mode && !local;
                snprintf(text, sizeof text, WITH("\"mode\":\"%s\",%s"), modes[mode],
                         local ? "\"exporter\":{}" : tcp);
                write_file(path, text);
                assert_int_equal(config_load(path, &given, &config, error, sizeof error),
                                 refused ? -EINVAL : 0);
                assert_true(!refused || strstr(error, "exporter.url: over TCP"));
                config_free(config);
            }
    assert_int_equal(unlink(path), 0);
}
