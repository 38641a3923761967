/* Flags: every one of the contract, every error message, and the table itself. */
#include "exporter/base/clock.h"
#include "exporter/options/options.h"
#include "exporter/options/table.h"
#include "tests/support/flag_member.h"
#include "tests/unit/support/unit.h"

enum { MAX_ARGS = 40 };

struct outcome {
    int err;
    struct options options;
    char error[512];
};

/* argv from the arguments, ended by NULL. */
static struct outcome parse(const char *first, ...)
{
    struct outcome outcome = {.err = 1};
    char *argv[MAX_ARGS] = {(char *)"interference_exporter"};
    int argc = 1;
    va_list args;
    va_start(args, first);
    for (const char *arg = first; arg; arg = va_arg(args, const char *))
        argv[argc++] = (char *)arg;
    va_end(args);
    outcome.err = options_parse(&outcome.options, argc, argv, outcome.error, sizeof outcome.error);
    return outcome;
}

static struct options good(const char *first, const char *second)
{
    struct outcome outcome = parse(first, second, NULL);
    if (outcome.err)
        fail_msg("%s %s: %s", first ? first : "", second ? second : "", outcome.error);
    return outcome.options;
}

/* What a flag of a collector has set. */
static bool is_set(const struct options *o, const char *flag)
{
    return *(const bool *)flag_member(o, flag);
}

static double number(const struct options *o, const char *flag)
{
    return *(const double *)flag_member(o, flag);
}

static size_t count(const struct options *o, const char *flag)
{
    return *(const size_t *)flag_member(o, flag);
}

static size_t collector_index(const char *name)
{
    for (size_t i = 0; collector_table[i]; i++) {
        if (strcmp(collector_table[i]->name, name) == 0)
            return i;
    }
    fail_msg("no collector %s", name);
    return 0;
}

TEST(test_defaults)
{
    struct options o = good(NULL, NULL);
    assert_int_equal(o.n_listen, 1);
    assert_string_equal(o.listen[0], ":10066");
    assert_string_equal(o.telemetry_path, "/metrics");
    assert_int_equal(o.max_requests, 40);
    assert_false(o.disable_exporter_metrics || o.systemd_socket || o.openmetrics_created);
    assert_null(o.web_config_file);
    for (size_t i = 0; i < COLLECTORS_MAX; i++)
        assert_int_equal(o.collector[i], SWITCH_DEFAULT);
    assert_false(o.disable_defaults);
    assert_false(is_set(&o, "collector.core_latency.histogram"));
    assert_true(number(&o, "collector.core_latency.threshold-factor") == 1.25);
    assert_true(number(&o, "collector.imc_rpq.cas-latency") == 0);
    assert_null(o.procfs);
    assert_null(o.sysfs);
    assert_null(o.cgroupfs);
    assert_null(o.rootfs);
    assert_int_equal(o.interval_ns, 1000000000);
    assert_null(o.include);
    assert_null(o.exclude);
    assert_int_equal(o.containers_max, 4096);
    assert_int_equal(o.linger_ns, 120000000000);
    assert_int_equal(o.linger_max, 2048);
    assert_false(o.all_cgroups || o.nested);
    assert_int_equal(o.names, NAMES_AUTO);
    assert_null(o.thresholds_file);
    assert_null(o.events_file);
    assert_int_equal(o.source, SOURCE_AUTO);
    assert_null(o.replay_file);
    assert_null(o.record_file);
    assert_false(o.replay_max_speed || o.once || o.help || o.version);
    assert_int_equal(o.replay_skip_ns, 0);
    assert_int_equal(o.log_level, LOG_LEVEL_INFO);
    assert_int_equal(o.log_format, LOG_FORMAT_LOGFMT);
}

TEST(test_no_arguments_at_all)
{
    struct options options;
    char error[64];
    assert_int_equal(options_parse(&options, 0, (char *[]){NULL}, error, sizeof error), 0);
    assert_int_equal(options.containers_max, 4096);
}

TEST(test_booleans)
{
    static const struct {
        const char *name;
        size_t offset;
    } flags[] = {
        {"web.disable-exporter-metrics", offsetof(struct options, disable_exporter_metrics)},
        {"web.systemd-socket", offsetof(struct options, systemd_socket)},
        {"web.openmetrics-created", offsetof(struct options, openmetrics_created)},
        {"collector.disable-defaults", offsetof(struct options, disable_defaults)},
        {"containers.all-cgroups", offsetof(struct options, all_cgroups)},
        {"containers.nested", offsetof(struct options, nested)},
        {"once", offsetof(struct options, once)},
        {"doctor", offsetof(struct options, doctor)},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        char on[64], off[64];
        snprintf(on, sizeof on, "--%s", flags[i].name);
        snprintf(off, sizeof off, "--no-%s", flags[i].name);
        struct options only = good(on, NULL), last_off = good(on, off), last_on = good(off, on);
        assert_true(*((bool *)((char *)&only + flags[i].offset)));
        assert_false(*((bool *)((char *)&last_off + flags[i].offset)));
        assert_true(*((bool *)((char *)&last_on + flags[i].offset)));
    }
    assert_true(good("--help", NULL).help);
    assert_true(good("--version", NULL).version);
}

/* --flag value must give the same as --flag=value. */
static struct options both(const char *flag, const char *value)
{
    char joined[256];
    size_t skip = (size_t)snprintf(joined, sizeof joined, "%s=", flag);
    strcpy(joined + skip, value);
    struct options apart = good(flag, value), one = good(joined, NULL);
    for (size_t at = 0; at + sizeof(char *) <= sizeof one; at += sizeof(char *)) {
        const char **word = (const char **)((char *)&one + at);
        if (*word == joined + skip)
            *word = value;
    }
    assert_memory_equal(&apart, &one, sizeof one);
    return apart;
}

TEST(test_texts)
{
    assert_string_equal(both("--path.procfs", "/host/proc").procfs, "/host/proc");
    assert_string_equal(both("--path.sysfs", "/host/sys").sysfs, "/host/sys");
    assert_string_equal(both("--path.cgroupfs", "/host/cgroup").cgroupfs, "/host/cgroup");
    assert_string_equal(both("--path.rootfs", "/host").rootfs, "/host");
    assert_string_equal(both("--thresholds.file", "t.json").thresholds_file, "t.json");
    assert_string_equal(both("--web.config.file", "w.yml").web_config_file, "w.yml");
    assert_string_equal(both("--events.file", "e.json").events_file, "e.json");
    assert_string_equal(both("--source.record.file", "r.jsonl").record_file, "r.jsonl");
    assert_string_equal(both("--containers.include", "shop/.*").include, "shop/.*");
    assert_string_equal(both("--containers.exclude", "(a|b)/x/y").exclude, "(a|b)/x/y");
    assert_string_equal(both("--web.telemetry-path", "/m.x/y_z-1~").telemetry_path, "/m.x/y_z-1~");
    assert_string_equal(good("--events.file=--odd", NULL).events_file, "--odd");
    assert_string_equal(good("--events.file=a=b", NULL).events_file, "a=b");
    assert_string_equal(good("--events.file", "-").events_file, "-");
}

TEST(test_numbers)
{
    assert_int_equal(both("--web.max-requests", "0").max_requests, 0);
    assert_int_equal(both("--web.max-requests", "100000").max_requests, 100000);
    assert_int_equal(both("--containers.max", "1").containers_max, 1);
    assert_int_equal(both("--containers.max", "100000").containers_max, 100000);
    assert_int_equal(both("--containers.linger-max", "0").linger_max, 0);
    assert_int_equal(both("--containers.linger", "0s").linger_ns, 0);
    assert_int_equal(both("--containers.linger", "24h").linger_ns, 86400000000000);
    assert_int_equal(both("--sampling.interval", "100ms").interval_ns, 100000000);
    assert_int_equal(both("--sampling.interval", "1h").interval_ns, 3600000000000);
    struct options o = both("--collector.core_latency.threshold-factor", "1.5");
    assert_true(number(&o, "collector.core_latency.threshold-factor") == 1.5);
}

TEST(test_choices)
{
    assert_int_equal(both("--containers.names", "auto").names, NAMES_AUTO);
    assert_int_equal(both("--containers.names", "runtime").names, NAMES_RUNTIME);
    assert_int_equal(both("--containers.names", "logs").names, NAMES_LOGS);
    assert_int_equal(both("--containers.names", "none").names, NAMES_NONE);
    assert_int_equal(both("--source", "auto").source, SOURCE_AUTO);
    assert_int_equal(both("--source", "perf").source, SOURCE_PERF);
    assert_int_equal(both("--source", "bpf").source, SOURCE_BPF);
    assert_int_equal(both("--log.level", "debug").log_level, LOG_LEVEL_DEBUG);
    assert_int_equal(both("--log.level", "info").log_level, LOG_LEVEL_INFO);
    assert_int_equal(both("--log.level", "warn").log_level, LOG_LEVEL_WARN);
    assert_int_equal(both("--log.level", "error").log_level, LOG_LEVEL_ERROR);
    assert_int_equal(both("--log.format", "logfmt").log_format, LOG_FORMAT_LOGFMT);
    assert_int_equal(both("--log.format", "json").log_format, LOG_FORMAT_JSON);
    assert_true(both("--source.replay.speed", "max").replay_max_speed);
    assert_false(both("--source.replay.speed", "1").replay_max_speed);
    assert_int_equal(both("--source.replay.skip", "7m").replay_skip_ns, 420000000000);
    const char *histogram = "--collector.core_latency.histogram";
    struct options o = both(histogram, "container");
    assert_true(is_set(&o, histogram + 2));
    o = both(histogram, "node");
    assert_false(is_set(&o, histogram + 2));
}

TEST(test_listen)
{
    struct options o = good("--web.listen-address=127.0.0.1:0", NULL);
    assert_int_equal(o.n_listen, 1); /* the default is gone */
    assert_string_equal(o.listen[0], "127.0.0.1:0");

    o = good("--web.listen-address=unix:/run/x/http", NULL);
    assert_int_equal(o.n_listen, 1);
    assert_string_equal(o.listen[0], "unix:/run/x/http");
    o = good("--web.listen-address=127.0.0.1:1", "--web.listen-address=[::1]:2");
    assert_int_equal(o.n_listen, 2);
    assert_string_equal(o.listen[0], "127.0.0.1:1");
    assert_string_equal(o.listen[1], "[::1]:2");

    char *argv[OPTIONS_MAX_LISTEN + 2] = {(char *)"x"};
    for (int i = 1; i <= OPTIONS_MAX_LISTEN + 1; i++)
        argv[i] = (char *)"--web.listen-address=:9";
    char error[256];
    assert_int_equal(options_parse(&o, OPTIONS_MAX_LISTEN + 1, argv, error, sizeof error), 0);
    assert_int_equal(o.n_listen, OPTIONS_MAX_LISTEN);
    assert_int_equal(options_parse(&o, OPTIONS_MAX_LISTEN + 2, argv, error, sizeof error), -EINVAL);
    assert_string_equal(error, "--web.listen-address: given more than 16 times");
}

TEST(test_last_wins)
{
    assert_int_equal(good("--containers.max=3", "--containers.max=4").containers_max, 4);
    assert_string_equal(good("--events.file=a", "--events.file=b").events_file, "b");
    assert_int_equal(good("--source=replay", "--source=perf").source, SOURCE_PERF);
}

TEST(test_collectors)
{
    for (size_t i = 0; collector_table[i]; i++) {
        char on[64], off[64];
        snprintf(on, sizeof on, "--collector.%s", collector_table[i]->name);
        snprintf(off, sizeof off, "--no-collector.%s", collector_table[i]->name);
        struct options o = good(on, NULL);
        for (size_t j = 0; collector_table[j]; j++)
            assert_int_equal(o.collector[j], i == j ? SWITCH_ON : SWITCH_DEFAULT);
        assert_int_equal(good(off, NULL).collector[i], SWITCH_OFF);
        assert_int_equal(good(on, off).collector[i], SWITCH_OFF);
        assert_int_equal(good(off, on).collector[i], SWITCH_ON);
    }
    assert_int_equal(good("--no-collector.probe", NULL).collector[collector_index("probe")],
                     SWITCH_OFF);
}

TEST(test_source_and_replay)
{
    struct options o = good("--source.replay.file=f", NULL);
    assert_int_equal(o.source, SOURCE_REPLAY);
    assert_string_equal(o.replay_file, "f");
    assert_int_equal(good("--source=replay", "--source.replay.file=f").source, SOURCE_REPLAY);
    assert_int_equal(good("--source.replay.file=f", "--source=auto").source, SOURCE_REPLAY);
    o = good("--source.replay.file=f", "--source.record.file=g");
    assert_string_equal(o.record_file, "g");
    /* Help is printed whatever else is wrong. */
    assert_true(good("--source=replay", "--help").help);
}

static const struct {
    const char *first, *second, *error;
} errors[] = {
    {"x", NULL, "unexpected argument \"x\": only flags are accepted"},
    {"", NULL, "unexpected argument \"\": only flags are accepted"},
    {"a\nb", NULL, "unexpected argument \"a\\nb\": only flags are accepted"},
    {"-", NULL, "unknown flag \"-\"; --help lists all"},
    {"--", NULL, "unknown flag \"--\"; --help lists all"},
    {"--=", NULL, "unknown flag \"--\"; --help lists all"},
    {"-=x", NULL, "unknown flag \"-\"; --help lists all"},
    {"-h", NULL, "unknown flag \"-h\" (did you mean \"--help\"?)"},
    {"-once", NULL, "unknown flag \"-once\" (did you mean \"--once\"?)"},
    {"--frobnicate", NULL, "unknown flag \"--frobnicate\"; --help lists all"},
    {"--frobnicate=3", NULL, "unknown flag \"--frobnicate\"; --help lists all"},
    {"--web.listen-addres=:1", NULL,
     "unknown flag \"--web.listen-addres\" (did you mean \"--web.listen-address\"?)"},
    {"--listen-address", ":1",
     "unknown flag \"--listen-address\" (did you mean \"--web.listen-address\"?)"},
    {"--sampling=1s", NULL, "unknown flag \"--sampling\" (did you mean \"--sampling.interval\"?)"},
    {"--collector.core-latency", NULL,
     "unknown flag \"--collector.core-latency\" (did you mean \"--collector.core_latency\"?)"},
    {"--no-colector.probe", NULL,
     "unknown flag \"--no-colector.probe\" (did you mean \"--no-collector.probe\"?)"},
    {"--collector.nobody", NULL, "unknown flag \"--collector.nobody\"; --help lists all"},
    {"--collector.", NULL,
     "unknown flag \"--collector.\" (did you mean \"--collector.disable-defaults\"?)"},
    {"--no-", NULL, "unknown flag \"--no-\"; --help lists all"},
    {"--no-help", NULL, "unknown flag \"--no-help\"; --help lists all"},
    {"--no-log.level", NULL, "unknown flag \"--no-log.level\" (did you mean \"--log.level\"?)"},
    {"--once=true", NULL, "--once takes no value"},
    {"--no-once=", NULL, "--no-once takes no value"},
    {"--help=1", NULL, "--help takes no value"},
    {"--collector.probe=1", NULL, "--collector.probe takes no value"},
    {"--no-collector.probe=1", NULL, "--no-collector.probe takes no value"},
    {"--web.config.file", NULL, "--web.config.file needs a value"},
    {"--thresholds.file", NULL, "--thresholds.file needs a value"},
    {"--thresholds.file=", NULL, "--thresholds.file needs a value"},
    {"--thresholds.file", "", "--thresholds.file needs a value"},
    {"--thresholds.file", "--once", "--thresholds.file needs a value"},
    {"--containers.max=many", NULL, "--containers.max: \"many\" is not a whole number"},
    {"--containers.max=-1", NULL, "--containers.max: \"-1\" is not a whole number"},
    {"--containers.max=1.5", NULL, "--containers.max: \"1.5\" is not a whole number"},
    {"--containers.max=0", NULL, "--containers.max: \"0\" is not between 1 and 100000"},
    {"--containers.max=100001", NULL, "--containers.max: \"100001\" is not between 1 and 100000"},
    {"--containers.max=18446744073709551617", NULL,
     "--containers.max: \"18446744073709551617\" is not between 1 and 100000"},
    {"--containers.linger-max=1000001", NULL,
     "--containers.linger-max: \"1000001\" is not between 0 and 1000000"},
    {"--web.max-requests=100001", NULL,
     "--web.max-requests: \"100001\" is not between 0 and 100000"},
    {"--collector.core_latency.threshold-factor=x", NULL,
     "--collector.core_latency.threshold-factor: \"x\" is not a number"},
    {"--collector.core_latency.threshold-factor=0x10", NULL,
     "--collector.core_latency.threshold-factor: \"0x10\" is not a number"},
    {"--collector.core_latency.threshold-factor=nan", NULL,
     "--collector.core_latency.threshold-factor: \"nan\" is not a number"},
    {"--collector.core_latency.threshold-factor=1e999", NULL,
     "--collector.core_latency.threshold-factor: \"1e999\" is not a number"},
    {"--collector.core_latency.threshold-factor=0.9", NULL,
     "--collector.core_latency.threshold-factor: \"0.9\" is not between 1 and 100"},
    {"--collector.core_latency.histogram=both", NULL,
     "--collector.core_latency.histogram: \"both\" is not one of node, container"},
#define NOT_A_TIER                                                                                 \
    " is not a name of up to 16 small letters, digits and underscores and a duration, such as "    \
    "cxl=250ns"
    {"--collector.placement.tier=cxl", NULL, "--collector.placement.tier: \"cxl\"" NOT_A_TIER},
    {"--collector.placement.tier==250ns", NULL,
     "--collector.placement.tier: \"=250ns\"" NOT_A_TIER},
    {"--collector.placement.tier=cxl=250", NULL,
     "--collector.placement.tier: \"cxl=250\"" NOT_A_TIER},
    {"--collector.placement.tier=CXL=250ns", NULL,
     "--collector.placement.tier: \"CXL=250ns\"" NOT_A_TIER},
    {"--collector.placement.tier=1st=250ns", NULL,
     "--collector.placement.tier: \"1st=250ns\"" NOT_A_TIER},
    {"--collector.placement.tier=c-l=250ns", NULL,
     "--collector.placement.tier: \"c-l=250ns\"" NOT_A_TIER},
    {"--collector.placement.tier=a234567890123456x=1us", NULL,
     "--collector.placement.tier: \"a234567890123456x=1us\"" NOT_A_TIER},
    {"--collector.placement.tier=node1=250ns", NULL,
     "--collector.placement.tier: \"node1=250ns\" has the name of a NUMA node"},
    {"--collector.placement.tier=cxl=9.9ns", NULL,
     "--collector.placement.tier: \"cxl=9.9ns\" is not between 10ns and 100us"},
    {"--collector.placement.tier=cxl=101us", NULL,
     "--collector.placement.tier: \"cxl=101us\" is not between 10ns and 100us"},
    {"--collector.placement.tier=cxl=250ns", "--collector.placement.tier=cxl=300ns",
     "--collector.placement.tier: \"cxl=300ns\" has a name that was given already"},
    {"--sampling.interval=5", NULL,
     "--sampling.interval: \"5\" is not a duration such as 500ms, 1.5s, 2m or 1h30m"},
    {"--sampling.interval=99ms", NULL, "--sampling.interval: \"99ms\" is not between 100ms and 1h"},
    {"--sampling.interval=61m", NULL, "--sampling.interval: \"61m\" is not between 100ms and 1h"},
    {"--sampling.interval=200.0000005ms", NULL,
     "--sampling.interval: \"200.0000005ms\" is finer than a nanosecond"},
    {"--containers.linger=25h", NULL, "--containers.linger: \"25h\" is not between 0s and 24h"},
    {"--containers.names=docker", NULL,
     "--containers.names: \"docker\" is not one of auto, runtime, logs, none"},
    {"--containers.include=(", NULL,
     "--containers.include: \"(\" is not a regular expression: Unmatched ( or \\("},
    {"--containers.exclude=[a", NULL,
     "--containers.exclude: \"[a\" is not a regular expression: Unmatched [, [^, [:, [., or [="},
    {"--web.listen-address=10066", NULL,
     "--web.listen-address: \"10066\" is not an address such as :10066, 127.0.0.1:10066, "
     "[::1]:10066 or unix:/run/interference_exporter/http"},
    {"--web.listen-address=unix:http", NULL,
     "--web.listen-address: \"unix:http\" is not an address such as :10066, 127.0.0.1:10066, "
     "[::1]:10066 or unix:/run/interference_exporter/http"},
    {"--web.listen-address=:65536", NULL,
     "--web.listen-address: \":65536\" is not an address such as :10066, 127.0.0.1:10066, "
     "[::1]:10066 or unix:/run/interference_exporter/http"},
    {"--web.telemetry-path=metrics", NULL,
     "--web.telemetry-path: \"metrics\" is not a path of letters, digits, -, ., _, ~ and / that "
     "begins with /"},
    {"--web.telemetry-path=/m?x", NULL,
     "--web.telemetry-path: \"/m?x\" is not a path of letters, digits, -, ., _, ~ and / that "
     "begins with /"},
    {"--web.telemetry-path=/", NULL, "--web.telemetry-path: \"/\" is the path of another page"},
    {"--web.telemetry-path=/-/ready", NULL,
     "--web.telemetry-path: \"/-/ready\" is the path of another page"},
    {"--web.telemetry-path=/api/v1/status", NULL,
     "--web.telemetry-path: \"/api/v1/status\" is the path of another page"},
    {"--source=ebpf", NULL, "--source: \"ebpf\" is not one of auto, perf, bpf, replay"},
    {"--source=bpf", "--source.replay.file=f", "--source.replay.file contradicts --source=bpf"},
    {"--source=replay", NULL, "--source=replay needs --source.replay.file"},
    {"--source=perf", "--source.replay.file=f", "--source.replay.file contradicts --source=perf"},
    {"--source.replay.file=f", "--source.record.file=f",
     "--source.record.file would overwrite --source.replay.file"},
    {"--state.file=f", "--once", "--state.file contradicts --once"},
    {"--blackbox.directory=d", "--once", "--blackbox.directory contradicts --once"},
    {"--open=f", "--once", "--open goes with neither --source.replay.file nor --once"},
    {"--open=f", "--source.replay.file=f",
     "--open goes with neither --source.replay.file nor --once"},
    {"--report=html", "--once", "--report and --anonymise go with --open only"},
    {"--open=f", "--report=pdf", "--report: the format is html"},
    {"--open=f", "--source=perf", "--source.replay.file contradicts --source=perf"},
    {"--state.file=f", "--doctor", "--state.file contradicts --once"},
    {"--json", NULL, "--json goes with --doctor only"},
    {"--doctor", "--source.replay.file=f",
     "--doctor contradicts a replay: it is about this machine"},
    {"--process.user=65534", "--containers.names=runtime",
     "--process.user contradicts --containers.names=runtime: the runtimes' state is root's"},
    {"--process.user=4294967295", NULL,
     "--process.user: \"4294967295\" is not between 0 and 4294967294"},
    {"--source.replay.speed=2", NULL, "--source.replay.speed: \"2\" is not one of 1, max"},
    {"--log.level=loud", NULL, "--log.level: \"loud\" is not one of debug, info, warn, error"},
    {"--log.format=xml", NULL, "--log.format: \"xml\" is not one of logfmt, json"},
};

TEST(test_errors)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct options untouched, options;
        memset(&untouched, 0x5a, sizeof untouched);
        options = untouched;
        char *argv[] = {(char *)"x", (char *)errors[i].first, (char *)errors[i].second, NULL};
        char error[512] = "";
        int err = options_parse(&options, errors[i].second ? 3 : 2, argv, error, sizeof error);
        assert_string_equal(error, errors[i].error);
        assert_int_equal(err, -EINVAL);
        assert_memory_equal(&options, &untouched, sizeof options);
    }
}

TEST(test_options_of_collectors)
{
    const char *period = "--collector.pebs_nvmm.period", *loads = "collector.pebs_nvmm.loads";
    struct options o = good(NULL, NULL);
    assert_int_equal(count(&o, period + 2), 10007);
    assert_false(is_set(&o, loads));
    o = both(period, "2503");
    assert_int_equal(count(&o, period + 2), 2503);
    o = both(period, "1");
    assert_int_equal(count(&o, period + 2), 1);
    assert_int_equal(parse("--collector.pebs_nvmm.period=0", NULL).err, -EINVAL);
    assert_int_equal(parse("--collector.pebs_nvmm.period=2147483648", NULL).err, -EINVAL);
    o = good("--collector.pebs_nvmm.loads", NULL);
    assert_true(is_set(&o, loads));
    o = good("--no-collector.pebs_nvmm.loads", NULL);
    assert_false(is_set(&o, loads));
    o = good("--collector.imc_rpq.cas-latency=14.3ns", NULL);
    assert_true(number(&o, "collector.imc_rpq.cas-latency") == 1.43e-8);
}

TEST(test_messages_are_one_line)
{
    char text[4000];
    memset(text, '\n', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct outcome outcome = parse(text, NULL);
    assert_int_equal(outcome.err, -EINVAL);
    assert_null(strchr(outcome.error, '\n'));
    assert_non_null(strstr(outcome.error, "...\": only flags"));

    memcpy(text, "--containers.names=", 19);
    outcome = parse(text, NULL);
    assert_null(strchr(outcome.error, '\n'));
    assert_non_null(strstr(outcome.error, "not one of auto"));
    memcpy(text, "--containers.mames\x1b\xff", 20);
    outcome = parse(text, NULL);
    assert_null(strchr(outcome.error, '\n'));
    assert_null(strchr(outcome.error, '\x1b'));

    memset(text, '(', sizeof text - 1);
    memcpy(text, "--containers.include=", 21);
    outcome = parse(text, NULL);
    assert_non_null(strstr(outcome.error, "...\" is not a regular expression: Unmatched"));
    static char longer[8000];
    memset(longer, '(', sizeof longer - 1);
    memcpy(longer, "--containers.include=", 21);
    outcome = parse(longer, NULL);
    assert_non_null(strstr(outcome.error, "...\" is longer than 4096 bytes"));

    /* A caller with little room gets the beginning. */
    char *argv[] = {(char *)"x", (char *)"--frobnicate"};
    char small[10];
    assert_int_equal(options_parse(&outcome.options, 2, argv, small, sizeof small), -EINVAL);
    assert_string_equal(small, "unknown f");
}

TEST(test_durations)
{
    static const struct {
        const char *text;
        uint64_t ns; /* UINT64_MAX: refused */
    } cases[] = {
        {"1s", 1000000000},
        {"500ms", 500000000},
        {"2m", 120000000000},
        {"1h30m", 5400000000000},
        {"1h0m0.5s", 3600500000000},
        {"1.5s", 1500000000},
        {"0.25ms", 250000},
        {"7us", 7000},
        {"14ns", 14},
        {".5us", 500},
        {"0s", 0},
        {"1000ms", 1000000000},
        {"5124h", 18446400000000000},
        {"5125h", UINT64_MAX},
        {"99999999999999999999s", UINT64_MAX},
        {"0.000000000000000000001s", UINT64_MAX},
        {"", UINT64_MAX},
        {"5", UINT64_MAX},
        {"0", UINT64_MAX},
        {"s", UINT64_MAX},
        {".s", UINT64_MAX},
        {"1.s", UINT64_MAX},
        {"1..5s", UINT64_MAX},
        {"1.2.3s", UINT64_MAX},
        {"-1s", UINT64_MAX},
        {"+1s", UINT64_MAX},
        {" 1s", UINT64_MAX},
        {"1s ", UINT64_MAX},
        {"1 s", UINT64_MAX},
        {"1e3s", UINT64_MAX},
        {"1d", UINT64_MAX},
        {"1sec", UINT64_MAX},
        {"1S", UINT64_MAX},
        {"30m1h", UINT64_MAX},
        {"1s1s", UINT64_MAX},
        {"1m30", UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t ps = 42;
        int err = duration_parse_ps(cases[i].text, &ps);
        bool refused = cases[i].ns == UINT64_MAX;
        if (err != (refused ? -EINVAL : 0) || ps != (refused ? 42 : cases[i].ns * 1000))
            fail_msg("\"%s\": %d, %llu", cases[i].text, err, (unsigned long long)ps);
    }
    uint64_t ps;
    assert_int_equal(duration_parse_ps("14.3ns", &ps), 0);
    assert_int_equal(ps, 14300);
}

struct names {
    char at[200][FLAG_NAME_MAX];
    size_t n;
};

static void collect_name(void *context, const char *name)
{
    struct names *names = context;
    for (size_t i = 0; i < names->n; i++)
        assert_string_not_equal(names->at[i], name);
    assert_true(names->n < 200);
    assert_true(strlen(name) < FLAG_NAME_MAX - 1);
    strcpy(names->at[names->n++], name);
}

TEST(test_tiers)
{
    const char *const four[] = {
        "--collector.placement.tier=cxl=250ns", "--collector.placement.tier=node=174.5ns",
        "--collector.placement.tier=a23456789012345_=100us",
        "--collector.placement.tier=node1x=10ns", "--collector.placement.tier=fifth=1us"};
    struct options o;
    char error[512];
    char *argv[6] = {(char *)(uintptr_t) "interference_exporter"};
    for (int i = 0; i < 5; i++)
        argv[i + 1] = (char *)(uintptr_t)four[i];
    assert_int_equal(options_parse(&o, 5, argv, error, sizeof error), 0);
    const struct option_latencies *tiers = flag_member(&o, "collector.placement.tier");
    assert_int_equal(tiers->n, 4);
    assert_string_equal(tiers->at[0].name, "cxl");
    assert_true(tiers->at[0].seconds == 250e-9 && tiers->at[1].seconds == 174.5e-9);
    assert_string_equal(tiers->at[2].name, "a23456789012345_");
    assert_int_equal(options_parse(&o, 6, argv, error, sizeof error), -EINVAL);
    assert_string_equal(error, "--collector.placement.tier: given more than 4 times");
}

TEST(test_table)
{
    static struct names names;
    flag_each_spelling(collect_name, &names);
    assert_true(names.n > 40);
    struct flag_walk walk = {0};
    const struct option_flag *flag;
    while ((flag = flag_next(&walk))) {
        size_t len = strlen(flag->help);
        assert_true(len > 0 && flag->help[len - 1] == '.');
        assert_int_equal(flag->choices != NULL,
                         flag->type == FLAG_CHOICE || flag->type == FLAG_EITHER);
        bool switches = flag->type == FLAG_BOOL || flag->type == FLAG_ACTION;
        assert_int_equal(!flag->unit && !flag->choices, switches);
        bool ranged = flag->type == FLAG_COUNT || flag->type == FLAG_NUMBER ||
                      flag->type == FLAG_DURATION || flag->type == FLAG_SECONDS ||
                      flag->type == FLAG_LATENCIES;
        assert_int_equal(flag->max > flag->min, ranged);
    }
}

/* Found by what is switched on, and within the room that a collector has. */
TEST(test_flags_of_collectors)
{
    struct flag_walk walk = {0};
    const struct option_flag *flag;
    size_t n = 0;
    while ((flag = flag_next(&walk))) {
        if (walk.collector == FLAG_OWN)
            continue;
        char prefix[64];
        snprintf(prefix, sizeof prefix, "collector.%s.", collector_table[walk.collector]->name);
        assert_int_equal(strncmp(flag->name, prefix, strlen(prefix)), 0);
        assert_true(flag->offset < COLLECTOR_CONFIG_BYTES);
        assert_int_not_equal(flag->type, FLAG_LISTEN);
        n++;
    }
    assert_true(n > 0);
}

TEST(test_help)
{
    char *text = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&text, &len);
    assert_non_null(file);
    options_print_help(file);
    fclose(file);

    assert_non_null(strstr(text, "\n  --web.listen-address=ADDRESS:PORT\n"));
    assert_non_null(strstr(text, "\n  --[no-]once\n"));
    assert_non_null(strstr(text, "\n  --help\n"));
    assert_non_null(strstr(text, "\n  --source=auto|perf|bpf|replay\n"));
    assert_non_null(strstr(text, "Between 100ms and 1h. Default: 1s.\n"));
    for (size_t i = 0; collector_table[i]; i++) {
        char line[96];
        snprintf(line, sizeof line, "\n  --[no-]collector.%s\n", collector_table[i]->name);
        assert_non_null(strstr(text, line));
        assert_non_null(strstr(
            text, collector_table[i]->default_on == COLLECTOR_ON ? "Default: on." : "Default: o"));
    }
    for (const char *line = text; *line;) {
        size_t width = strcspn(line, "\n");
        assert_true(width <= 104);
        line += width + (line[width] == '\n');
    }
    free(text);
}
