#include <sys/stat.h>

#include "exporter/source/event/file.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

static int parse(const char *text, struct events_file *out, char *error, size_t size)
{
    error[0] = '\0';
    return events_file_parse(text, strlen(text), out, error, size);
}

/* The contract's own example. */
TEST(test_contract_example)
{
    static const char text[] =
        "{\"machine\":{\"base_frequency_hz\":2.1e9,\"cache_seconds\":3e-8,\"cache_cycles\":44},"
        "\"roles\":{\"cycles\":\"uprobe:PATH:0xOFFSET\",\"stores\":\"software:page-faults\","
        "\"loads\":\"tracepoint:SYS:NAME\",\"rpq_inserts\":\"pmu:NAME/event=0x10,umask=0x1/\","
        "\"l3_miss_reads\":\"pfm:clx::OFFCORE_REQUESTS:L3_MISS_DEMAND_DATA_RD\"}}";
    struct events_file file;
    char error[256];
    assert_int_equal(parse(text, &file, error, sizeof error), 0);
    assert_true(file.base_frequency_hz == 2.1e9);
    assert_true(file.cache_cycles == 44);
    assert_true(file.cache_seconds == 3e-8);
    assert_true(file.llc_hit_cycles == 0);
    assert_string_equal(file.event[ROLE_CYCLES], "uprobe:PATH:0xOFFSET");
    assert_string_equal(file.event[ROLE_STORES], "software:page-faults");
    assert_string_equal(file.event[ROLE_LOADS], "tracepoint:SYS:NAME");
    assert_string_equal(file.event[ROLE_RPQ_INSERTS], "pmu:NAME/event=0x10,umask=0x1/");
    assert_string_equal(file.event[ROLE_L3_MISS_READS],
                        "pfm:clx::OFFCORE_REQUESTS:L3_MISS_DEMAND_DATA_RD");
    assert_null(file.event[ROLE_REF_CYCLES]);
    events_file_release(&file);
    assert_null(file.event[ROLE_CYCLES]);
    assert_int_equal(parse("{}", &file, error, sizeof error), 0);
    assert_true(file.base_frequency_hz == 0);
    events_file_release(&file);
}

TEST(test_errors)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "line "},
        {"{", "line "},
        {"{\"roles\":{}}x", "line 1: "},
        {"[]", "line 1: the file must be an object"},
        {"{\"roles\":{\n\"cycles\":\"software:dummy\",\n\"foo\":\"x\"}}",
         "line 3: unknown role \"foo\""},
        {"{\"roles\":{\n\"cycles\":7}}", "line 2: role \"cycles\" needs the text of an event"},
        {"{\"roles\":{\"cycles\":\"\"}}", "line 1: role \"cycles\" needs the text of an event"},
        {"{\"roles\":{\"cycles\":null}}", "role \"cycles\" needs"},
        {"{\"roles\":{\"cycles\":\"a\\u0000b\"}}", "line "},
        {"{\"roles\":{\"cycles\":\"a\",\n\"cycles\":\"b\"}}", "line 2: "},
        {"{\n\"roles\":[]}", "line 2: \"roles\" must be an object"},
        {"{\"machine\":7}", "line 1: \"machine\" must be an object"},
        {"{\"machine\":{\n\n\"cpus\":7}}", "line 3: unknown machine fact \"cpus\""},
        {"{\"machine\":{\"cache_cycles\":\"44\"}}", "\"cache_cycles\" must be a number above 0"},
        {"{\"machine\":{\"cache_cycles\":0}}", "above 0"},
        {"{\"machine\":{\"cache_seconds\":3e-8}}", "needs \"cache_cycles\""},
        {"{\"machine\":{\"base_frequency_hz\":-1}}", "above 0"},
        {"{\"machine\":{\"base_frequency_hz\":1e12}}", "at most 1e+11"},
        {"{\"rolls\":{}}", "line 1: unknown key \"rolls\""},
        /* A key spelled with escapes has no line, but a message. */
        {"{\"r\\u006flls\":{}}", "unknown key \"rolls\""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct events_file file, untouched;
        char error[256];
        memset(&file, 0x5a, sizeof file);
        untouched = file;
        assert_int_equal(parse(bad[i].text, &file, error, sizeof error), -EINVAL);
        if (strncmp(error, bad[i].message, strlen(bad[i].message)) != 0 &&
            !(strncmp(bad[i].message, "line", 4) != 0 && strstr(error, bad[i].message)))
            fail_msg("%s: \"%s\"", bad[i].text, error);
        assert_memory_equal(&file, &untouched, sizeof file);
    }
}

TEST(test_short_error_buffer)
{
    struct events_file file;
    for (size_t size = 1; size < 40; size++) {
        char error[40];
        memset(error, 'x', sizeof error);
        assert_int_equal(parse("{\"roles\":{\"foo\":1}}", &file, error, size), -EINVAL);
        assert_true(memchr(error, '\0', size) != NULL);
        for (size_t i = size; i < sizeof error; i++)
            assert_int_equal(error[i], 'x');
    }
}

FIXTURE_TEST(test_load, fixture)
{
    struct events_file file;
    char path[128], error[512];

    fixture_write(fixture, "host/events.json", "{\"roles\":{\"cycles\":\"software:dummy\"}}");
    snprintf(path, sizeof path, "%s/host/events.json", fixture->root);
    assert_int_equal(events_file_load(path, &file, error, sizeof error), 0);
    assert_string_equal(file.event[ROLE_CYCLES], "software:dummy");
    events_file_release(&file);

    fixture_write(fixture, "host/events.json", "{\"roles\":{\n\"bar\":\"software:dummy\"}}");
    assert_int_equal(events_file_load(path, &file, error, sizeof error), -EINVAL);
    assert_non_null(strstr(error, "events.json: line 2: unknown role \"bar\""));

    snprintf(path, sizeof path, "%s/host/missing.json", fixture->root);
    assert_int_equal(events_file_load(path, &file, error, sizeof error), -ENOENT);
    assert_non_null(strstr(error, "missing.json: No such file"));

    snprintf(path, sizeof path, "%s/host", fixture->root);
    assert_int_equal(events_file_load(path, &file, error, sizeof error), -EISDIR);
}

TEST(test_size_limit)
{
    const size_t size = (1 << 20) + 1;
    struct events_file file;
    char error[256];
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, ' ', size);
    memcpy(text, "{}", 2);
    assert_int_equal(events_file_parse(text, size - 1, &file, error, sizeof error), 0);
    assert_int_equal(events_file_parse(text, size, &file, error, sizeof error), -EINVAL);
    assert_non_null(strstr(error, "1 MiB"));
    free(text);
}

TEST(the_files_text_wins_over_the_tables)
{
    struct events_file file = {
        .event = {[ROLE_LOADS] = (char *)(uintptr_t) "software:page-faults"}};
    const struct event_table table = {
        .event = {[ROLE_LOADS] = "perf_raw::r81d0", [ROLE_STORES] = "perf_raw::r82d0"}};

    assert_string_equal(event_text(&file, &table, ROLE_LOADS), "software:page-faults");
    assert_string_equal(event_text(&file, &table, ROLE_STORES), "perf_raw::r82d0");
    assert_null(event_text(&file, &table, ROLE_CYCLES));
    assert_string_equal(event_text(NULL, &table, ROLE_LOADS), "perf_raw::r81d0");
    assert_string_equal(event_text(&file, NULL, ROLE_LOADS), "software:page-faults");
    assert_null(event_text(&file, NULL, ROLE_STORES));
    assert_null(event_text(NULL, NULL, ROLE_LOADS));
}
