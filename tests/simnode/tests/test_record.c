/* Recordings: readable by the exporter, with the truth; alone runs. */
#include "tests/simnode/tests/test_support.h"

#include <unistd.h>

#include "exporter/source/recording/format.h"
#include "tests/simnode/recording/record.h"

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
    int pmem_dimms;
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
        if (parsed.kind == RECORDING_HEADER)
            seen->pmem_dimms = parsed.header.machine.pmem_dimms;
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

TEST(test_alone_is_not_slowed_down)
{
    struct seen seen;

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

TEST(test_a_neighbour_slows_down_and_comes_and_goes)
{
    struct seen seen;

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

TEST(test_alone_runs_are_kept_on_disk)
{
    char folder[] = "/tmp/simnode-alone-XXXXXX", command[128];
    struct seen first, second;
    char path[128];

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

TEST(test_a_probe_and_pmm_stores)
{
    struct seen seen;

    record_and_parse("{'scenario':1,'ticks':2,'tick_cycles':500000,"
                     "'machine':{'preset':'clx','cores_per_socket':2},"
                     "'workloads':{'c':{'kind':'chase','bytes':67108864},"
                     "'w':{'kind':'stream','bytes':4194304,'store_share':1,'nt_share':0.5}},"
                     "'containers':[{'key':'p','workload':'c','cpus':[0],'probe':true},"
                     "{'key':'s','workload':'w','cpus':[1],'memory':[{'node':0,'medium':'pmm'}]}]}",
                     NULL, &seen);
    assert_int_equal(seen.pmem_dimms, 2); /* one a socket */
    assert_int_equal(seen.lines[RECORDING_THREAD], 1);
    assert_int_equal(seen.lines[RECORDING_CONTAINER], 1);
    assert_int_equal(seen.lines[RECORDING_PROBE], 2);
    assert_true(seen.probe_ns > 80 && seen.probe_ns < 100);
    assert_int_equal(seen.n_truths, 4);
    assert_true(isnan(seen.truths[1].slowdown));
    /* Half the stores write 8 bytes, half 64: 36 on average. */
    assert_true(seen.truths[3].nvmm_store_bytes > 36 * 1000);
}

static FILE *recording_of(const char *text);
static bool next_line(FILE *file, struct recording_line *out);

/* An AMD's recording: fills alone, and what a hit takes; the container and the probe alike. */
TEST(test_fills)
{
    FILE *file = recording_of("{'scenario':1,'ticks':2,'tick_cycles':370000,"
                              "'machine':{'preset':'zen4','cores_per_socket':8},"
                              "'workloads':{'c':{'kind':'chase','bytes':67108864}},"
                              "'containers':[{'key':'p','workload':'c','cpus':[0],'probe':true},"
                              "{'key':'c','workload':'c','cpus':[1]}]}");
    struct recording_line line;
    int of_container = 0, of_probe = 0;

    while (next_line(file, &line)) {
        if (line.kind == RECORDING_HEADER) {
            assert_string_equal(line.header.machine.microarchitecture, "zen4");
            assert_true(line.header.machine.l2_fill_cycles == 10);
            assert_true(line.header.machine.l3_fill_cycles == 46);
        }
        if (line.kind == RECORDING_READ && line.read.group != GROUP_RPQ) {
            assert_int_equal(line.read.group, GROUP_FILLS);
            assert_int_equal(line.read.present, 0x7f);
            of_container += line.read.key[0] == 'c';
            of_probe += line.read.key[0] == 'p';
        }
        recording_line_release(&line);
    }
    assert_int_equal(of_container, 2);
    assert_int_equal(of_probe, 2);
    fclose(file);
}

static FILE *recording_of(const char *text)
{
    struct scenario *scenario = parse_scenario(text);
    FILE *file = tmpfile();

    assert_non_null(file);
    assert_int_equal(record_run(scenario, NULL, file), 0);
    scenario_free(scenario);
    rewind(file);
    return file;
}

static bool next_line(FILE *file, struct recording_line *out)
{
    char *line = NULL, error[256];
    size_t size = 0;
    ssize_t len = getline(&line, &size, file);

    if (len > 0)
        assert_int_equal(recording_parse_line(line, (size_t)len, out, error, sizeof(error)), 0);
    free(line);
    return len > 0;
}

static void assert_stretched(const struct recording_line *a, const struct recording_line *b)
{
    assert_int_equal(a->kind, b->kind);
    if (a->kind == RECORDING_HEADER) {
        assert_int_equal(b->header.interval_ns, 1000 * a->header.interval_ns);
    } else if (a->kind == RECORDING_TICK) {
        assert_int_equal(b->tick.mono_ns, 1000 * a->tick.mono_ns);
        assert_int_equal(b->tick.wall_ns - a->tick.wall_ns, 999 * a->tick.mono_ns);
    } else if (a->kind == RECORDING_READ) {
        assert_int_equal(b->read.enabled_ns, 1000 * a->read.enabled_ns);
        assert_int_equal(b->read.present, a->read.present);
        for (size_t i = 0; i < group_descs[a->read.group].n; i++)
            if (group_descs[a->read.group].roles[i] == ROLE_EPOCH_LENGTH)
                assert_int_equal(b->read.values[i], a->read.values[i]);
            else
                assert_int_equal(b->read.values[i], 1000 * a->read.values[i]);
    } else if (a->kind == RECORDING_SAMPLE) {
        assert_int_equal(b->sample.period, 1000 * a->sample.period);
        assert_int_equal(b->sample.sample.bytes, a->sample.sample.bytes);
    } else if (a->kind == RECORDING_TRUTH) {
        assert_int_equal(b->truth.nvmm_store_bytes, 1000 * a->truth.nvmm_store_bytes);
    }
}

TEST(test_a_stretched_tick_is_many_alike)
{
#define STRETCHED(more)                                                                            \
    "{'scenario':1,'ticks':3,'tick_cycles':420000," more                                           \
    "'epochs':{'length_cycles':10000},'machine':{'preset':'clx','cores_per_socket':2},"            \
    "'workloads':{'w':{'kind':'random','store_share':0.5}},"                                       \
    "'containers':[{'key':'w','workload':'w','cpus':[0],'sample_period':50,"                       \
    "'memory':[{'node':0,'medium':'pmm'}]}]}"
    FILE *plain = recording_of(STRETCHED("")),
         *stretched = recording_of(STRETCHED("'stretch':1000,"));
    struct recording_line a, b;
    int seen[RECORDING_UNKNOWN + 1] = {0};

    while (next_line(plain, &a)) {
        assert_true(next_line(stretched, &b));
        assert_stretched(&a, &b);
        seen[a.kind]++;
        recording_line_release(&a);
        recording_line_release(&b);
    }
    assert_false(next_line(stretched, &b));
    assert_true(seen[RECORDING_READ] > 3 && seen[RECORDING_SAMPLE] > 3);
    assert_int_equal(seen[RECORDING_TRUTH], 3);
    fclose(plain);
    fclose(stretched);
}
