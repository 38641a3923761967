/* Recordings: readable by the exporter, with the truth; alone runs. */
#include "tests/simnode/test_support.h"

#include <math.h>
#include <unistd.h>

#include "exporter/source/recording.h"
#include "tests/simnode/record.h"

#define TWO_CONTAINERS                                                                             \
    "{'scenario':1,'ticks':5,'tick_cycles':500000,'truth_slowdown':true,"                          \
    "'epochs':{'length_cycles':10000},'machine':{'preset':'asm'},"                                 \
    "'effects':{'super_queue':true},"                                                              \
    "'workloads':{'r':{'kind':'random','bytes':33554432,'instructions_per_access':30,"             \
    "'dependence':0.4,'store_share':0.2},"                                                         \
    "'s':{'kind':'stream','bytes':33554432,'instructions_per_access':20}},"                        \
    "'containers':[{'key':'r','workload':'r','cpus':[0],'sample_period':200}"

struct seen {
    int lines[RECORDING_UNKNOWN + 1];
    struct recording_truth truths[16];
    size_t n_truths;
    double probe_ns;
};

/* Runs a scenario and reads its recording back with the exporter's parser. */
static void record_and_parse(const char *text, const char *folder, struct seen *seen)
{
    struct scenario *scenario = parse_scenario(text);
    struct alone_runs *runs;
    FILE *file = tmpfile();
    char *line = NULL, error[256];
    size_t size = 0;
    ssize_t len;

    *seen = (struct seen){0};
    assert_non_null(file);
    assert_int_equal(alone_runs_new(folder, &runs), 0);
    assert_int_equal(record_run(scenario, runs, file), 0);
    alone_runs_free(runs);
    rewind(file);
    while ((len = getline(&line, &size, file)) > 0) {
        struct recording_line parsed;
        int err = recording_parse_line(line, (size_t)len, &parsed, error, sizeof(error));

        if (err)
            print_error("%s: %s", error, line);
        assert_int_equal(err, 0);
        seen->lines[parsed.kind]++;
        if (parsed.kind == RECORDING_PROBE)
            seen->probe_ns = parsed.probe.latency_ns;
        if (parsed.kind == RECORDING_TRUTH && seen->n_truths < 16) {
            seen->truths[seen->n_truths] = parsed.truth;
            seen->truths[seen->n_truths++].key = parsed.truth.key[0] == 'r' ? "r" : "s";
        }
        recording_line_release(&parsed);
    }
    free(line);
    fclose(file);
    scenario_free(scenario);
}

static void test_alone_is_not_slowed_down(void **state)
{
    struct seen seen;

    (void)state;
    record_and_parse(TWO_CONTAINERS "]}", NULL, &seen);
    assert_int_equal(seen.n_truths, 5);
    for (size_t i = 0; i < 5; i++)
        assert_float_equal(seen.truths[i].slowdown, 1.0, 0.01);
    assert_int_equal(seen.lines[RECORDING_HEADER], 1);
    assert_int_equal(seen.lines[RECORDING_UNIT], 1);
    assert_int_equal(seen.lines[RECORDING_CONTAINER], 1);
    assert_int_equal(seen.lines[RECORDING_TICK], 5);
    assert_int_equal(seen.lines[RECORDING_READ], 5 * (5 + 1));
    assert_true(seen.lines[RECORDING_SAMPLE] > 5);
    assert_int_equal(seen.lines[RECORDING_UNKNOWN], 0);
}

static void test_a_neighbour_slows_down_and_comes_and_goes(void **state)
{
    struct seen seen;

    (void)state;
    record_and_parse(TWO_CONTAINERS ",{'key':'s','workload':'s','cpus':[1],'start_tick':2,"
                                    "'stop_tick':3}]}",
                     NULL, &seen);
    assert_int_equal(seen.n_truths, 7);
    assert_int_equal(seen.lines[RECORDING_GONE], 1);
    assert_int_equal(seen.lines[RECORDING_CONTAINER], 2);
    assert_float_equal(seen.truths[0].slowdown, 1.0, 0.01); /* r in tick 1 */
    assert_true(seen.truths[3].slowdown > 1.1);             /* r in tick 3 */
    assert_true(seen.truths[4].slowdown > 1.1);             /* s, of its own instructions */
    assert_string_equal(seen.truths[4].key, "s");
    assert_true(seen.truths[6].slowdown < 1.1); /* r in tick 5, alone again */
}

static void test_alone_runs_are_kept_on_disk(void **state)
{
    char folder[] = "/tmp/simnode-alone-XXXXXX", command[128];
    struct seen first, second;
    char path[128];

    (void)state;
    assert_non_null(mkdtemp(folder));
    record_and_parse(TWO_CONTAINERS ",{'key':'s','workload':'s','cpus':[1]}]}", folder, &first);
    snprintf(command, sizeof(command), "ls %s | wc -l", folder);

    FILE *count = popen(command, "r");
    int n = 0;

    assert_non_null(count);
    assert_int_equal(fscanf(count, "%d", &n), 1);
    pclose(count);
    assert_int_equal(n, 2);
    record_and_parse(TWO_CONTAINERS ",{'key':'s','workload':'s','cpus':[1]}]}", folder, &second);
    assert_int_equal(first.n_truths, 10);
    for (size_t i = 0; i < 10; i++)
        assert_true(first.truths[i].slowdown == second.truths[i].slowdown);
    snprintf(path, sizeof(path), "rm -r %s", folder);
    assert_int_equal(system(path), 0);
}

static void test_a_probe_and_pmm_stores(void **state)
{
    struct seen seen;

    (void)state;
    record_and_parse("{'scenario':1,'ticks':2,'tick_cycles':500000,"
                     "'machine':{'preset':'clx','cores_per_socket':2},"
                     "'workloads':{'c':{'kind':'chase','bytes':67108864},"
                     "'w':{'kind':'stream','bytes':4194304,'store_share':1,'nt_share':0.5}},"
                     "'containers':[{'key':'p','workload':'c','cpus':[0],'probe':true},"
                     "{'key':'s','workload':'w','cpus':[1],'memory':[{'node':0,'medium':'pmm'}]}]}",
                     NULL, &seen);
    assert_int_equal(seen.lines[RECORDING_THREAD], 1);
    assert_int_equal(seen.lines[RECORDING_CONTAINER], 1);
    assert_int_equal(seen.lines[RECORDING_PROBE], 2);
    assert_true(seen.probe_ns > 80 && seen.probe_ns < 100);
    assert_int_equal(seen.n_truths, 4);
    assert_true(isnan(seen.truths[1].slowdown));
    /* Half the stores write 8 bytes, half 64: 36 on average. */
    assert_true(seen.truths[3].nvmm_store_bytes > 36 * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone_is_not_slowed_down),
        cmocka_unit_test(test_a_neighbour_slows_down_and_comes_and_goes),
        cmocka_unit_test(test_alone_runs_are_kept_on_disk),
        cmocka_unit_test(test_a_probe_and_pmm_stores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
