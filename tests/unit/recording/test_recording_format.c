/* One line of a recording: every kind, every way to be malformed, with its message. */
#include "exporter/source/recording/format.h"
#include "tests/unit/support/unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct recording_line parse(const char *text)
{
    struct recording_line line;
    char error[256] = "";
    if (recording_parse_line(text, strlen(text), &line, error, sizeof error))
        fail_msg("%s\n  %s", text, error);
    return line;
}

TEST(test_header)
{
    struct recording_line line =
        parse("{\"recording\":1,\"machine\":{\"microarchitecture\":\"clx\","
              "\"base_frequency_hz\":2.1e9,\"cache_cycles\":44,\"cache_seconds\":3e-8,\"llc_hit_"
              "cycles\":20,"
              "\"cas_latency_seconds\":1.43e-8,\"sockets\":2,\"numa_nodes\":3,\"cpus\":48,"
              "\"colour\":\"blue\"},\"interval_ns\":1000000000}");
    const struct machine *machine = &line.header.machine;

    assert_int_equal(line.kind, RECORDING_HEADER);
    assert_string_equal(machine->microarchitecture, "clx");
    assert_true(machine->base_frequency_hz == 2.1e9);
    assert_true(machine->cache_cycles == 44);
    assert_true(machine->cache_seconds == 3e-8);
    assert_true(machine->llc_hit_cycles == 20);
    assert_true(machine->cas_latency_seconds == 1.43e-8);
    assert_int_equal(machine->sockets, 2);
    assert_int_equal(machine->numa_nodes, 3);
    assert_int_equal(machine->cpus, 48);
    assert_int_equal(line.header.interval_ns, 1000000000);
    recording_line_release(&line);

    line = parse("{\"recording\":1,\"machine\":{\"own_events\":true},\"interval_ns\":1}");
    assert_true(line.header.machine.own_events && !line.header.machine.guest);
    recording_line_release(&line);
    line = parse("{\"recording\":1,\"machine\":{\"guest\":true},\"interval_ns\":1}");
    assert_true(line.header.machine.guest);
    recording_line_release(&line);

    line = parse("{\"recording\":1,\"machine\":{\"socket_cpus\":[\"0-1,4\",\"\",\"3,65535\"]},"
                 "\"interval_ns\":1}");
    assert_int_equal(machine_numa_node_of(&line.header.machine, 0), -1);
    static const int socket_of[] = {0, 0, -1, 2, 0, -1};
    for (int cpu = 0; cpu < 6; cpu++)
        assert_int_equal(machine_socket_of(&line.header.machine, cpu), socket_of[cpu]);
    recording_line_release(&line);

    line = parse("{\"recording\":1,\"machine\":{\"numa_node_cpus\":[\"\",\"2-3\",\"0\"]},"
                 "\"interval_ns\":1}");
    static const int node_of[] = {2, -1, 1, 1};
    for (int cpu = 0; cpu < 4; cpu++) {
        assert_int_equal(machine_numa_node_of(&line.header.machine, cpu), node_of[cpu]);
        assert_int_equal(machine_socket_of(&line.header.machine, cpu), -1);
    }
    recording_line_release(&line);

    /* Unknown facts. */
    line = parse("{\"interval_ns\":1e9,\"machine\":{},\"recording\":1}");
    assert_string_equal(line.header.machine.microarchitecture, "");
    assert_true(line.header.machine.base_frequency_hz == 0);
    assert_int_equal(line.header.machine.cpus, 0);
    recording_line_release(&line);
}

/* Lines, and how they are written again; NULL: as they are. So each member is where it belongs. */
static const char *const written[][2] = {
    {"{\"container\":{\"key\":\"c1\",\"cgroup\":\"/kubepods/a\",\"id\":\"0123\","
     "\"namespace\":\"shop\",\"pod\":\"cart-0\",\"container\":\"cart\",\"image\":\"i:1\","
     "\"pod_uid\":\"u-1\",\"runtime\":\"containerd\",\"qos_class\":\"burstable\","
     "\"pending\":true,\"found_mono_ns\":7}}",
     NULL},
    {"{\"container\":{\"tick\":\"not a first-class key in here\",\"key\":\"123456789012345678901234"
     "5678901\"}}",
     "{\"container\":{\"key\":\"1234567890123456789012345678901\",\"cgroup\":\"\",\"id\":\"\","
     "\"namespace\":\"\",\"pod\":\"\",\"container\":\"\",\"image\":\"\",\"pod_uid\":\"\"}}"},
    {"{\"unit\":{\"key\":\"imc3\",\"kind\":\"imc\",\"socket\":1,\"imc\":3}}", NULL},
    {"{\"thread\":{\"key\":\"p0\",\"kind\":\"probe\",\"initiator_numa_node\":1,"
     "\"target_numa_node\":2}}",
     NULL},
    {"{\"thread\":{\"key\":\"p0\",\"kind\":\"probe\",\"initiator_numa_node\":1,"
     "\"target_numa_node\":2,\"cpu\":0}}",
     NULL},
    {"{\"pages\":\"c1\",\"numa_node\":1,\"bytes\":8388608}", NULL},
    {"{\"activity\":\"c1\",\"cpu\":1,\"cpu_time_ns\":812000000}", NULL},
    {"{\"cpu_time_ns\":9223372036854775807,\"activity\":\"host\",\"why\":[]}",
     "{\"activity\":\"" RECORDING_MACHINE_KEY "\",\"cpu_time_ns\":9223372036854775807}"},
    {" {\"tick\":1,\"mono_ns\":1000000000,\"wall_ns\":1790000000000000001}\r",
     "{\"tick\":1,\"mono_ns\":1000000000,\"wall_ns\":1790000000000000001}"},
    {"{\"read\":\"c1\",\"group\":\"core\",\"cpu\":3,\"enabled_ns\":1000000001,\"running_ns\":5e8,"
     "\"values\":{\"l3_miss_reads\":7,\"cycles\":2.1e9,\"ref_cycles\":9223372036854775807,"
     "\"stores\":-1,\"no_role\":\"x\"}}",
     "{\"read\":\"c1\",\"group\":\"core\",\"cpu\":3,\"enabled_ns\":1000000001,"
     "\"running_ns\":500000000,\"values\":{\"cycles\":2100000000,"
     "\"ref_cycles\":9223372036854775807,\"l3_miss_reads\":7}}"},
    {"{\"read\":\"imc0\",\"group\":\"rpq\",\"enabled_ns\":0,\"running_ns\":0,\"values\":{}}", NULL},
    {"{\"sample\":\"c1\",\"access\":\"store\",\"pid\":7,\"tid\":8,\"ip\":4198400,"
     "\"addr\":140000000000,\"bytes\":64,\"medium\":\"nvmm\",\"mono_ns\":12}",
     NULL},
    {"{\"sample\":\"c1\",\"access\":\"load\"}",
     "{\"sample\":\"c1\",\"access\":\"load\",\"pid\":0,\"tid\":0,\"size\":\"unreadable\","
     "\"medium\":\"unknown\",\"mono_ns\":0}"},
    {"{\"sample\":\"c1\",\"access\":\"load\",\"pid\":0,\"tid\":0,\"size\":\"repeated\","
     "\"medium\":\"other\",\"mono_ns\":12}",
     NULL},
    {"{\"lost\":12,\"access\":\"load\"}", "{\"lost\":12,\"access\":\"load\",\"settled_ns\":0}"},
    {"{\"lost\":0,\"access\":\"store\",\"throttles\":3,\"period\":10007,\"settled_ns\":0}", NULL},
    {"{\"probe\":{\"initiator_numa_node\":0,\"target_numa_node\":1,\"latency_ns\":88.5}}",
     "{\"probe\":{\"initiator_numa_node\":0,\"target_numa_node\":1,\"latency_ns\":88.5}}"},
    {"{\"probe\":{\"initiator_numa_node\":0,\"target_numa_node\":0,\"latency_ns\":88.5,"
     "\"llc_hit_ns\":21.5,\"l2_hit_ns\":5.5,\"cpu\":2}}",
     NULL},
    {"{\"gone\":\"c1\"}", NULL},
    {"{\"mark\":\"waits\",\"key\":\"c1\"}", NULL},
    {"{\"mark\":\"asked\"}", "{\"mark\":\"asked\",\"key\":\"\"}"},
    {"{\"learned\":\"00ff4a\"}", NULL},
};

TEST(test_lines_are_written_as_they_were_read)
{
    for (size_t i = 0; i < COUNT(written); i++) {
        struct textbuf out = TEXTBUF_INIT;
        struct recording_line line = parse(written[i][0]);
        recording_line_text(&line, &out);
        textbuf_str(&out, "");
        const char *want = written[i][1] ? written[i][1] : written[i][0];
        assert_int_equal(out.data[out.len - 1], '\n');
        out.data[out.len - 1] = '\0';
        assert_string_equal(out.data, want);
        recording_line_release(&line);
        textbuf_release(&out);
    }
}

/* What no line of ours says: of samples the period, and what the line left out. */
TEST(test_what_is_not_written)
{
    struct recording_line line = parse("{\"sample\":\"c1\",\"access\":\"store\",\"period\":10007}");
    assert_int_equal(line.sample.period, 10007);
    assert_false(line.sample.timed);
    recording_line_release(&line);
    line = parse("{\"sample\":\"c1\",\"access\":\"load\",\"bytes\":0,\"mono_ns\":12}");
    assert_true(line.sample.timed);
    recording_line_release(&line);
    line = parse("{\"lost\":12,\"access\":\"load\"}");
    assert_false(line.lost.settled);
    recording_line_release(&line);
    line = parse("{\"lost\":0,\"access\":\"store\",\"settled_ns\":0}");
    assert_true(line.lost.settled);
    recording_line_release(&line);
    line = parse("{\"gone\":\"c\\u00e4rt\"}");
    assert_string_equal(line.gone.key, "c\xc3\xa4rt");
    recording_line_release(&line);
}

/* Each group's roles land at the index that group_descs gives them. */
TEST(test_read_of_every_group)
{
    for (int group = 0; group < GROUP_COUNT; group++) {
        const struct group_desc *desc = &group_descs[group];
        char text[1024];
        if (group == GROUP_ACTIVITY || group == GROUP_PAGES) /* have lines of their own */
            continue;
        int n = snprintf(text, sizeof text,
                         "{\"read\":\"k\",\"group\":\"%s\",\"enabled_ns\":1,\"running_ns\":1,"
                         "\"values\":{",
                         desc->name);
        for (size_t i = desc->n; i-- > 0;)
            n += snprintf(text + n, sizeof text - (size_t)n, "\"%s\":%zu%s",
                          role_name(desc->roles[i]), 100 + i, i ? "," : "}}");
        struct recording_line line = parse(text);
        assert_int_equal(line.read.group, group);
        assert_int_equal(line.read.present, (1u << desc->n) - 1);
        for (size_t i = 0; i < desc->n; i++)
            assert_int_equal(line.read.values[i], 100 + i);
        recording_line_release(&line);
    }
}

static uint64_t cycles_of(const char *number)
{
    char text[256];
    snprintf(text, sizeof text,
             "{\"read\":\"k\",\"group\":\"core\",\"enabled_ns\":1,\"running_ns\":1,"
             "\"values\":{\"cycles\":%s}}",
             number);
    struct recording_line line = parse(text);
    uint64_t value = line.read.values[0];
    recording_line_release(&line);
    return value;
}

TEST(test_counts_up_to_2_63)
{
    assert_true(cycles_of("0") == 0);
    assert_true(cycles_of("-0") == 0);
    assert_true(cycles_of("0.0") == 0);
    assert_true(cycles_of("1e0") == 1);
    assert_true(cycles_of("2100000000.0") == 2100000000);
    assert_true(cycles_of("9007199254740993") == 9007199254740993); /* no double has this value */
    assert_true(cycles_of("9223372036854775807") == INT64_MAX);
    assert_true(cycles_of("9223372036854775808") == 1ull << 63);
    assert_true(cycles_of("9.223372036854775808e18") == 1ull << 63);
}

TEST(test_truth)
{
    struct recording_line line =
        parse("{\"truth\":{\"key\":\"c1\",\"tick\":4,\"latency_ns\":80.238,\"slowdown\":1.26,"
              "\"nvmm_store_bytes\":9}}");
    assert_int_equal(line.kind, RECORDING_TRUTH);
    assert_string_equal(line.truth.key, "c1");
    assert_int_equal(line.truth.tick, 4);
    assert_true(line.truth.latency_ns == 80.238);
    assert_true(line.truth.slowdown == 1.26);
    assert_int_equal(line.truth.nvmm_store_bytes, 9);
    recording_line_release(&line);

    line = parse("{\"truth\":{\"key\":\"c1\"}}");
    assert_true(isnan(line.truth.latency_ns));
    assert_true(isnan(line.truth.slowdown));
    recording_line_release(&line);
}

TEST(test_unknown_lines_are_ignored)
{
    struct recording_line line = parse("{}");
    assert_int_equal(line.kind, RECORDING_UNKNOWN);
    recording_line_release(&line);
    line = parse("{\"comment\":\"hello\",\"big\":18446744073709551616}");
    assert_int_equal(line.kind, RECORDING_UNKNOWN);
    recording_line_release(&line);
}

/* ---- malformed ---- */

#define READ "{\"read\":\"c1\",\"group\":\"core\",\"enabled_ns\":1,\"running_ns\":1,"
#define UNIT "{\"unit\":{\"key\":\"u\",\"kind\":\"imc\","
#define KEY32 "12345678901234567890123456789012"

/* Each line, and its message; a message that ends in "..." is the start of it. */
static const char *const malformed[][2] = {
    {"", "the line is empty"},
    {"   ", "malformed JSON at column 3: ..."},
    {"tick", "malformed JSON at column 4: ..."},
    {"{\"tick\":1,\"mono_ns\":5,\"wall_n", "malformed JSON at column 29: ..."},
    {"{\"tick\":1} {\"tick\":2}", "malformed JSON at column 12: ..."},
    {"{\"gone\":\"c\xff\"}", "malformed JSON at column ..."},
    {"{\"gone\":\"a\\u0000b\"}", "malformed JSON at column ..."},
    {"{\"gone\":1e999}", "malformed JSON at column ..."},
    {"{\"gone\":NaN}", "malformed JSON at column ..."},
    {"{\"gone\":\"a\",\"gone\":\"b\"}",
     "malformed JSON at column 18: duplicate object key near ..."},
    {"[]", "a line must be an object"},
    {"{\"gone\":\"a\",\"tick\":1}", "a line cannot be both \"gone\" and \"tick\""},

    {"{\"recording\":2,\"interval_ns\":1,\"machine\":{}}",
     "recording version 2 is not supported; only version 1 is"},
    {"{\"recording\":\"1\"}", "recording: \"recording\" must be a number"},
    {"{\"recording\":1,\"machine\":{}}", "recording: \"interval_ns\" is missing"},
    {"{\"recording\":1,\"machine\":{},\"interval_ns\":0}",
     "recording: \"interval_ns\" must not be 0"},
    {"{\"recording\":1,\"interval_ns\":1}", "recording: \"machine\" is missing"},
    {"{\"recording\":1,\"interval_ns\":1,\"machine\":[]}",
     "recording: \"machine\" must be an object"},
    {"{\"recording\":1,\"interval_ns\":1,\"machine\":{\"socket_cpus\":\"0\"}}",
     "machine: \"socket_cpus\" must be an array of at most 8 lists of CPUs"},
    {"{\"recording\":1,\"interval_ns\":1,\"machine\":{\"socket_cpus\":"
     "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]}}",
     "machine: \"socket_cpus\" must be an array of at most 8 lists of CPUs"},
    {"{\"recording\":1,\"interval_ns\":1,\"machine\":{\"socket_cpus\":[\"0\",1]}}",
     "machine: \"socket_cpus\" has no list of CPUs for socket 1"},
    {"{\"recording\":1,\"interval_ns\":1,\"machine\":{\"socket_cpus\":[\"1-0\"]}}",
     "machine: \"socket_cpus\" has no list of CPUs for socket 0"},
    {"{\"recording\":1,\"interval_ns\":1,\"machine\":{\"socket_cpus\":[\"0-3\",\"3\"]}}",
     "machine: \"socket_cpus\" has CPU 3 twice"},
    {"{\"recording\":1,\"interval_ns\":1,\"machine\":{\"numa_node_cpus\":7}}",
     "machine: \"numa_node_cpus\" must be an array of at most 64 lists of CPUs"},
    {"{\"recording\":1,\"interval_ns\":1,\"machine\":{\"numa_node_cpus\":[\"1\",\"1\"]}}",
     "machine: \"numa_node_cpus\" has CPU 1 twice"},
    {"{\"recording\":1,\"interval_ns\":1,\"machine\":{\"microarchitecture\":1}}",
     "machine: \"microarchitecture\" must be a string"},
    {"{\"recording\":1,\"interval_ns\":1,\"machine\":{\"microarchitecture\":\"0123456789abcdef\"}}",
     "machine: \"microarchitecture\" is longer than 15 bytes"},
    {"{\"recording\":1,\"interval_ns\":1,\"machine\":{\"base_frequency_hz\":\"2.1e9\"}}",
     "machine: \"base_frequency_hz\" must be a number"},
    {"{\"recording\":1,\"interval_ns\":1,\"machine\":{\"cache_cycles\":-1}}",
     "machine: \"cache_cycles\" is negative"},
    {"{\"recording\":1,\"interval_ns\":1,\"machine\":{\"cpus\":65536}}",
     "machine: \"cpus\" is larger than 65535"},

    {"{\"container\":\"c1\"}", "\"container\" must be an object"},
    {"{\"container\":{}}", "container: \"key\" is missing"},
    {"{\"container\":{\"key\":\"\"}}", "container: \"key\" must have 1 to 31 bytes"},
    {"{\"container\":{\"key\":\"" KEY32 "\"}}", "container: \"key\" must have 1 to 31 bytes"},
    {"{\"container\":{\"key\":\"c\",\"pod\":null}}", "container: \"pod\" must be a string"},
    {"{\"container\":{\"key\":\"c\",\"pending\":1}}",
     "container: \"pending\" must be true or false"},

    {"{\"unit\":[]}", "\"unit\" must be an object"},
    {"{\"unit\":{\"kind\":\"imc\"}}", "unit: \"key\" is missing"},
    {"{\"unit\":{\"key\":\"u\"}}", "unit: \"kind\" is missing"},
    {"{\"unit\":{\"key\":\"u\",\"kind\":\"0123456789abcdef\"}}",
     "unit: \"kind\" is longer than 15 bytes"},
    {UNIT "\"imc\":0}}", "unit: \"socket\" is missing"},
    {UNIT "\"socket\":0}}", "unit: \"imc\" is missing"},
    {UNIT "\"socket\":4096,\"imc\":0}}", "unit: \"socket\" is larger than 4095"},

    {"{\"thread\":1}", "\"thread\" must be an object"},
    {"{\"thread\":{\"key\":\"p\",\"kind\":\"probe\"}}",
     "thread: \"initiator_numa_node\" is missing"},
    {"{\"thread\":{\"key\":\"p\",\"kind\":\"probe\",\"initiator_numa_node\":0}}",
     "thread: \"target_numa_node\" is missing"},

    {"{\"tick\":0,\"mono_ns\":1,\"wall_ns\":1}", "tick: numbers start at 1"},
    {"{\"tick\":1.5,\"mono_ns\":1,\"wall_ns\":1}", "tick: \"tick\" must be a whole number"},
    {"{\"tick\":1,\"wall_ns\":1}", "tick: \"mono_ns\" is missing"},
    {"{\"tick\":1,\"mono_ns\":1}", "tick: \"wall_ns\" is missing"},
    {"{\"tick\":1,\"mono_ns\":true,\"wall_ns\":1}", "tick: \"mono_ns\" must be a number"},

    {"{\"activity\":1}", "activity: \"activity\" must be a string"},
    {"{\"activity\":\"c1\"}", "activity: \"cpu_time_ns\" is missing"},
    {"{\"activity\":\"c1\",\"cpu_time_ns\":-1}", "activity: \"cpu_time_ns\" is negative"},
    {"{\"activity\":\"c1\",\"cpu_time_ns\":1,\"cpu\":65536}",
     "activity: \"cpu\" is larger than 65535"},
    {"{\"activity\":\"" KEY32 "\",\"cpu_time_ns\":1}",
     "activity: \"activity\" must have 1 to 31 bytes"},
    {"{\"read\":\"c1\",\"group\":\"activity\",\"enabled_ns\":1,\"running_ns\":1,\"values\":{}}",
     "read: unknown group \"activity\""},
    {"{\"pages\":1}", "pages: \"pages\" must be a string"},
    {"{\"pages\":\"c1\",\"bytes\":1}", "pages: \"numa_node\" is missing"},
    {"{\"pages\":\"c1\",\"numa_node\":0}", "pages: \"bytes\" is missing"},
    {"{\"pages\":\"c1\",\"numa_node\":4096,\"bytes\":1}",
     "pages: \"numa_node\" is larger than 4095"},
    {"{\"read\":\"c1\",\"group\":\"pages\",\"enabled_ns\":1,\"running_ns\":1,\"values\":{}}",
     "read: unknown group \"pages\""},

    {"{\"read\":1}", "read: \"read\" must be a string"},
    {"{\"read\":\"c1\"}", "read: \"group\" is missing"},
    {"{\"read\":\"c1\",\"group\":\"core\"}", "read: \"enabled_ns\" is missing"},
    {"{\"read\":\"c1\",\"group\":\"core\",\"enabled_ns\":1}", "read: \"running_ns\" is missing"},
    {READ "\"cpu\":0}", "read: \"values\" is missing"},
    {READ "\"values\":[]}", "read: \"values\" must be an object"},
    {READ "\"cpu\":-1,\"values\":{}}", "read: \"cpu\" is negative"},
    {READ "\"cpu\":65536,\"values\":{}}", "read: \"cpu\" is larger than 65535"},
    {READ "\"cpu\":\"3\",\"values\":{}}", "read: \"cpu\" must be a number"},
    {"{\"read\":\"c1\",\"group\":\"cores\",\"enabled_ns\":1,\"running_ns\":1,\"values\":{}}",
     "read: unknown group \"cores\""},
    {"{\"read\":\"c1\",\"group\":\"core\",\"enabled_ns\":-1,\"running_ns\":1,\"values\":{}}",
     "read: \"enabled_ns\" is negative"},
    {READ "\"values\":{\"cycles\":-5}}", "read: \"cycles\" is negative"},
    {READ "\"values\":{\"cycles\":-5.0}}", "read: \"cycles\" is negative"},
    {READ "\"values\":{\"cycles\":null}}", "read: \"cycles\" must be a number"},
    {READ "\"values\":{\"cycles\":0.5}}", "read: \"cycles\" must be a whole number"},
    {READ "\"values\":{\"cycles\":9223372036854777856}}", "read: \"cycles\" is larger than 2^63"},
    {READ "\"values\":{\"cycles\":1e19}}", "read: \"cycles\" is larger than 2^63"},
    {READ "\"values\":{\"cycles\":9007199254740994,\"ref_cycles\":9223372036854775808}}",
     "read: \"cycles\" cannot be read exactly beside an integer larger than 2^63"},

    {"{\"sample\":\"c1\"}", "sample: \"access\" is missing"},
    {"{\"sample\":\"c1\",\"access\":\"fetch\"}",
     "sample: \"access\" must be \"store\" or \"load\""},
    {"{\"sample\":\"c1\",\"access\":\"load\",\"pid\":2147483648}",
     "sample: \"pid\" is larger than 2147483647"},
    {"{\"sample\":\"c1\",\"access\":\"load\",\"addr\":-1}", "sample: \"addr\" is negative"},
    {"{\"sample\":\"c1\",\"access\":\"load\",\"medium\":\"pmem\"}",
     "sample: \"medium\" must be \"nvmm\", \"other\" or \"unknown\""},
    {"{\"sample\":\"c1\",\"access\":\"load\",\"medium\":1}", "sample: \"medium\" must be a string"},
    {"{\"sample\":\"c1\",\"access\":\"load\",\"size\":\"known\"}",
     "sample: \"size\" must say why there are no bytes"},
    {"{\"sample\":\"c1\",\"access\":\"load\",\"bytes\":4294967296}",
     "sample: \"bytes\" is larger than 2147483647"},
    {"{\"sample\":\"c1\",\"access\":\"load\",\"mono_ns\":1.5}",
     "sample: \"mono_ns\" must be a whole number"},
    {"{\"lost\":1,\"access\":\"load\",\"settled_ns\":\"\"}",
     "lost: \"settled_ns\" must be a number"},
    {"{\"lost\":1,\"access\":\"load\",\"throttles\":-1}", "lost: \"throttles\" is negative"},
    {"{\"lost\":-1,\"access\":\"load\"}", "lost: \"lost\" is negative"},
    {"{\"lost\":1}", "lost: \"access\" is missing"},

    {"{\"probe\":88.8}", "\"probe\" must be an object"},
    {"{\"probe\":{\"initiator_numa_node\":0,\"target_numa_node\":0}}",
     "probe: \"latency_ns\" is missing"},
    {"{\"probe\":{\"initiator_numa_node\":0,\"target_numa_node\":0,\"latency_ns\":0}}",
     "probe: \"latency_ns\" must not be 0"},
    {"{\"probe\":{\"initiator_numa_node\":0,\"target_numa_node\":0,\"latency_ns\":-3}}",
     "probe: \"latency_ns\" is negative"},
    {"{\"gone\":7}", "gone: \"gone\" must be a string"},
    {"{\"truth\":7}", "\"truth\" must be an object"},
    {"{\"truth\":{\"tick\":1}}", "truth: \"key\" is missing"},
    {"{\"truth\":{\"key\":\"c\",\"slowdown\":\"1\"}}", "truth: \"slowdown\" must be a number"},
};

TEST(test_malformed)
{
    for (size_t i = 0; i < COUNT(malformed); i++) {
        const char *text = malformed[i][0], *want = malformed[i][1];
        struct recording_line line = {.kind = RECORDING_TICK, .owner = NULL};
        char error[256] = "";
        if (recording_parse_line(text, strlen(text), &line, error, sizeof error) != -EINVAL)
            fail_msg("accepted: %s", text);
        assert_int_equal(line.kind, RECORDING_TICK); /* untouched */
        assert_null(line.owner);
        const char *dots = strstr(want, "...");
        size_t n = dots ? (size_t)(dots - want) : sizeof error;
        if (strncmp(error, want, n) != 0)
            fail_msg("%s\n  says  %s\n  wants %s", text, error, want);
    }
}

/* The line is bytes with a length: what lies behind it is not looked at, and its NULs are bytes. */
TEST(test_length_is_respected)
{
    const char text[] = "{\"gone\":\"c1\"}garbage";
    const char nul[] = "{\"gone\":\0\"c1\"}";
    struct recording_line line;
    char error[16];

    assert_int_equal(recording_parse_line(text, 13, &line, error, sizeof error), 0);
    recording_line_release(&line);
    assert_int_equal(recording_parse_line(text, 14, &line, error, sizeof error), -EINVAL);
    assert_true(strlen(error) < sizeof error);
    assert_int_equal(recording_parse_line(nul, sizeof nul - 1, &line, error, sizeof error),
                     -EINVAL);
    for (size_t n = 0; n < 13; n++) {
        char *exact = malloc(n ? n : 1);
        memcpy(exact, text, n);
        assert_int_equal(recording_parse_line(exact, n, &line, error, sizeof error), -EINVAL);
        free(exact);
    }
}
