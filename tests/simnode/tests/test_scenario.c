/* Scenarios and traces: what is read, and what is said of bad ones. */
#include "tests/simnode/tests/test_support.h"

#include <unistd.h>
#include <zlib.h>

#define GOOD_TAIL                                                                                  \
    "'workloads':{'w':{'kind':'compute'}},\n"                                                      \
    "'containers':[{'key':'a','workload':'w','cpus':[0]}]}"

static void expect_error(const char *text, const char *message)
{
    char *json = with_quotes(text), *want = strdup(message), error[512] = "";
    struct scenario *scenario = NULL;
    int err = scenario_parse("s.json", json, strlen(json), &scenario, error, sizeof(error));

    assert_int_equal(err, -EINVAL);
    assert_null(scenario);
    if (strcmp(error, want) != 0)
        print_error("got:  %s\nwant: %s\n", error, want);
    assert_string_equal(error, want);
    free(json);
    free(want);
}

TEST(test_errors_name_line_and_key)
{
    expect_error("{'scenario':\n}", "s.json:2: unexpected token near '}'");
    expect_error("{'scenario':1,\n\n'machine':}", "s.json:3: unexpected token near '}'");
    expect_error("{}", "s.json:1: scenario: must be 1, the format's version");
    expect_error("[]", "s.json:1: must be an object");
    expect_error("{'scenario':1,\n'seeed':4}", "s.json:2: seeed: unknown key");
    expect_error("{'scenario':1,\n'ticks':0}",
                 "s.json:2: ticks: must be between 1 and 1000000000, is 0");
    expect_error("{'scenario':1,\n'ticks':100,'tick_cycles':1000000000,"
                 "'machine':{'core_frequency_hz':2e7}," GOOD_TAIL,
                 "s.json:2: ticks: the run lasts more than an hour of simulated time");
    expect_error("{'scenario':1,\n'stretch':1000000,'ticks':1000,'tick_cycles':50000000,"
                 "'machine':{}," GOOD_TAIL,
                 "s.json:2: stretch: the recording lasts more than thirty days");
    expect_error("{'scenario':1,\n'ticks':1.5}", "s.json:2: ticks: must be a whole number");
    expect_error("{'scenario':1,'machine':{\n'core':{\n'window':0}}," GOOD_TAIL,
                 "s.json:3: machine.core.window: must be between 1 and 4096, is 0");
    expect_error("{'scenario':1,'machine':{\n'preset':'z80'}," GOOD_TAIL,
                 "s.json:2: machine.preset: must be \"asm\", \"clx\", \"zen4\" or \"serrano\"");
    expect_error("{'scenario':1,'machine':{'memory':{\n'timing':{'refi':10,'rfc':10}}}," GOOD_TAIL,
                 "s.json:1: machine.memory: timing needs rfc < refi");
    expect_error("{'scenario':1,'machine':{'llc':\n{'bytes':1000}}," GOOD_TAIL,
                 "s.json:1: machine.llc: bytes must be a multiple of 64 x ways");
    expect_error("{'scenario':1,'machine':{'cores_per_socket':6,\n'llc':{'cores':4}}," GOOD_TAIL,
                 "s.json:2: machine.llc: cores_per_socket must be a multiple of cores");
    expect_error("{'scenario':1,'machine':{'preset':'zen4',\n"
                 "'core':{'mab_delay_cycles':11}}," GOOD_TAIL,
                 "s.json:2: machine.core: mab_delay_cycles is longer than a look into the L2");
    expect_error("{'scenario':1,'machine':{},'effects':{'tlb':true,\n'magic':true}," GOOD_TAIL,
                 "s.json:2: effects.magic: unknown key");
    expect_error("{'scenario':1,'machine':{},\n'epochs':{'length_cycles':3000}," GOOD_TAIL,
                 "s.json:2: epochs.length_cycles: tick_cycles must be a multiple of it");
    expect_error("{'scenario':1,'machine':{},'classes':[{'name':'x'},\n{'name':'y',"
                 "'llc_ways':'1ffff'}]," GOOD_TAIL,
                 "s.json:2: classes[1].llc_ways: must be a hexadecimal mask of the 16 ways");
}

#define HEAD "{'scenario':1,'machine':{'sockets':1},\n"

TEST(test_errors_in_workloads_and_containers)
{
    expect_error(HEAD "'workloads':{}}",
                 "s.json:2: workloads: must be an object with at least one workload");
    expect_error(
        HEAD "'workloads':{'w':{'kind':'chaise'}}}",
        "s.json:2: workloads.w.kind: must be chase, stream, random, loop, compute, phases, "
        "trace, fft, radix, lu, ocean or hash");
    expect_error(HEAD "'workloads':{'w':{'kind':'lu',\n'bytes':4095}}}",
                 "s.json:3: workloads.w.bytes: must be at least 4096 for a kernel");
    expect_error(HEAD "'workloads':{'w':{'kind':'random',\n'store_share':2}}}",
                 "s.json:3: workloads.w.store_share: must be between 0 and 1, is 2");
    expect_error(HEAD "'workloads':{'w':{'kind':'phases',\n'phases':[{'workload':'v',"
                      "'instructions':1}]}}}",
                 "s.json:3: workloads.w.phases: there is no workload \"v\" without phases");
    expect_error(
        HEAD "'workloads':{'w':{'kind':'random','hot_share':0.5}}}",
        "s.json:2: workloads.w.hot_bytes: must be given with hot_share, and at most bytes");
    expect_error(HEAD "'workloads':{'w':{'kind':'compute'}}}",
                 "s.json:1: containers: must be a list with at least one container");
    expect_error(HEAD "'workloads':{'w':{'kind':'compute'}},\n'containers':[\n"
                      "{'key':'a','workload':'w','cpus':[0]},\n{'key':'a','workload':'w',"
                      "'cpus':[1]}]}",
                 "s.json:5: containers[1].key: another container has the key \"a\"");
    expect_error(HEAD "'workloads':{'w':{'kind':'compute'}},\n'containers':[\n"
                      "{'key':'a','workload':'x','cpus':[0]}]}",
                 "s.json:4: containers[0].workload: there is no workload \"x\"");
    expect_error("{'scenario':1,'machine':{'core_frequency_hz':1e6},"
                 "'workloads':{'w':{'kind':'compute'}},\n'containers':["
                 "{'key':'a','workload':'w','cpus':[0],'wander_cycles':4e9}]}",
                 "s.json:2: containers[0].wander_cycles: is more than an hour of simulated time");
    expect_error(HEAD "'workloads':{'w':{'kind':'compute'}},\n'containers':["
                      "{'key':'a','workload':'w','cpus':[4]}]}",
                 "s.json:3: containers[0].cpus: must be whole numbers from 0 to 3");
    expect_error(HEAD "'workloads':{'w':{'kind':'compute'}},'containers':["
                      "{'key':'a','workload':'w','cpus':[2]},\n{'key':'b','workload':'w',"
                      "'cpus':[2]}]}",
                 "s.json:3: containers[1].cpus: CPU 2 runs another thread already");
    expect_error(HEAD "'workloads':{'w':{'kind':'compute'}},'containers':[{'key':'a',"
                      "'workload':'w','cpus':[0],\n'memory':[{'node':0,'share':0.5}]}]}",
                 "s.json:3: containers[0].memory: the shares sum to 0.5, not 1");
    expect_error(HEAD "'workloads':{'w':{'kind':'compute'}},'containers':[{'key':'a',"
                      "'workload':'w','cpus':[0],\n'memory':[{'node':1}]}]}",
                 "s.json:3: containers[0].memory[0].node: the machine has 1 node(s)");
    expect_error(HEAD "'workloads':{'w':{'kind':'compute'}},'containers':[{'key':'a',"
                      "'workload':'w','cpus':[0],\n'memory':[{'medium':'pmm'}]}]}",
                 "s.json:3: containers[0].memory[0].medium: the machine has no pmm dimms");
    expect_error(HEAD "'workloads':{'w':{'kind':'compute'}},'containers':[{'key':'a',"
                      "'workload':'w','cpus':[0],\n'pauses':[{'from_tick':3,'to_tick':2}]}]}",
                 "s.json:3: containers[0].pauses[0].to_tick: a pause needs from_tick and a later "
                 "to_tick");
    expect_error("{'scenario':1,'ats_sets':64,'machine':{},\n'workloads':{'w':{'kind':'compute'}},'"
                 "containers':[{"
                 "'key':'a','workload':'w','cpus':[0],\n'pauses':[{'from_tick':1,'to_tick':2}]}]}",
                 "s.json:3: containers[0].pauses: are not possible with epochs or ats_sets");
    expect_error(
        "{'scenario':1,'truth_caused':true,'machine':{},\n'workloads':{'w':{'kind':'compute'}},"
        "'containers':[{},{},{},{},{},{},{},{},{}]}",
        "s.json:2: containers: are more than 8, too many for truth_caused");
}

#define ACTION(head, action)                                                                       \
    "{'scenario':1," head "'machine':{'sockets':1},'workloads':{'w':{'kind':'compute'}},"          \
    "'containers':[{'key':'a','workload':'w','cpus':[0]}],\n'actions':[" action "]}"

TEST(test_errors_in_actions)
{
    expect_error(ACTION("", "{'container':'a','quota_cores':1}"),
                 "s.json:2: actions[0].tick: must be given");
    expect_error(ACTION("", "{'tick':1,'container':'b','quota_cores':1}"),
                 "s.json:2: actions[0].container: there is no container \"b\"");
    expect_error(ACTION("", "{'tick':1,'container':'a'}"),
                 "s.json:2: actions[0]: must be one of llc_ways, mba_percent, quota_cores, "
                 "epoch_weight");
    expect_error(ACTION("", "{'tick':1,'container':'a','quota_cores':1,'mba_percent':5}"),
                 "s.json:2: actions[0]: must be one of llc_ways, mba_percent, quota_cores, "
                 "epoch_weight");
    expect_error(ACTION("", "{'tick':1,'container':'a','llc_ways':'0'}"),
                 "s.json:2: actions[0].llc_ways: must be a hexadecimal mask of the 16 ways");
    expect_error(ACTION("'ats_sets':64,", "{'tick':1,'container':'a','quota_cores':1}"),
                 "s.json:2: actions[0].quota_cores: is not possible with epochs or ats_sets");
    expect_error(ACTION("", "{'tick':1,'container':'a','epoch_weight':1}"),
                 "s.json:2: actions[0].epoch_weight: needs epochs");
    expect_error(ACTION("'truth_caused':true,", ""),
                 "s.json:2: actions: are not possible with truth_caused");
}

TEST(test_truncations_are_errors)
{
    char *json =
        with_quotes("{'scenario':1,'machine':{'preset':'clx','memory':{'timing':{'cl':30}}},"
                    "'classes':[{'name':'x','llc_ways':'3'}]," GOOD_TAIL);
    size_t len = strlen(json);
    char error[256];

    for (size_t n = 0; n <= len; n++) {
        struct scenario *scenario = NULL;
        int err = scenario_parse("s", json, n, &scenario, error, sizeof(error));

        assert_int_equal(err, n == len ? 0 : -EINVAL);
        scenario_free(scenario);
    }
    free(json);
}

TEST(test_values_and_defaults)
{
    struct scenario *s = parse_scenario(
        "{'scenario':1,'seed':5,'ticks':1e2,'machine':{'preset':'clx','core':{'window':64},"
        "'memory':{'preset':'ddr3-1333','timing':{'cl':9},'channels':3},'tlb':{'walk_cycles':7}},"
        "'effects':{'tlb':true},"
        "'workloads':{'w':{'kind':'stream','streams':4}},"
        "'containers':[{'key':'a','workload':'w','cpus':[25,26],"
        "'memory':[{'node':0,'medium':'pmm','share':0.25},{'node':1,'share':0.75}]},"
        "{'key':'b','workload':'w','cpus':[30]}]}");

    assert_int_equal(s->ticks, 100);
    assert_int_equal(s->machine.window, 64);
    assert_int_equal(s->machine.width, 4);
    assert_int_equal(s->machine.dram.timing.cl, 9);
    assert_int_equal(s->machine.dram.timing.rcd, 10);
    assert_int_equal(s->machine.channels, 3);
    assert_int_equal(s->machine.tlb_walk_cycles, 7);
    assert_int_equal(scenario_cache_cycles(&s->machine), 44);
    assert_true(s->effects.tlb && !s->effects.super_queue);
    assert_int_equal(s->workloads[0].streams, 4);
    assert_int_equal(s->containers[0].n_cpus, 2);
    assert_true(s->containers[0].memory[0].pmm);
    assert_int_equal(s->containers[1].memory[0].node, 1); /* where its first CPU is */
    assert_int_equal(s->containers[0].seed, s->containers[1].seed);
    assert_string_equal(s->containers[1].namespace_, "sim");
    assert_int_equal(strlen(s->containers[1].id), 64);
    scenario_free(s);
}

/* --- traces --- */

static void expect_trace_error(const char *text, const char *message)
{
    struct trace *trace = NULL;
    char error[256];

    assert_int_equal(trace_parse("t.txt", text, strlen(text), &trace, error, sizeof(error)),
                     -EINVAL);
    assert_null(trace);
    assert_string_equal(error, message);
}

#define EXPECTED                                                                                   \
    ": expected \"<instructions before it> <read address> [<write-back address>]\" in decimal"

TEST(test_trace_errors_name_the_line)
{
    expect_trace_error("", "t.txt:1: the trace has no access");
    expect_trace_error("\n\n", "t.txt:2: the trace has no access");
    expect_trace_error("1 64\n2\n", "t.txt:2" EXPECTED);
    expect_trace_error("1 64\n\n2 0x40\n", "t.txt:3" EXPECTED);
    expect_trace_error("1 64 128 192", "t.txt:1" EXPECTED);
    expect_trace_error("1 -64", "t.txt:1" EXPECTED);
    expect_trace_error("1 99999999999999999999999", "t.txt:1" EXPECTED);
    expect_trace_error("4294967296 64", "t.txt:1" EXPECTED);
}

static void check_trace(const struct trace *trace)
{
    assert_int_equal(trace->n, 3);
    assert_int_equal(trace->accesses[0].bubble, 3);
    assert_int_equal(trace->accesses[0].read_line, 2);
    assert_false(trace->accesses[0].has_writeback);
    assert_true(trace->accesses[1].has_writeback);
    assert_int_equal(trace->accesses[1].write_line, 20);
    assert_int_equal(trace->accesses[2].read_line, 1);
}

TEST(test_traces_plain_and_gzip)
{
    static const char text[] = "3 128\n0 64 1281\r\n7\t127";
    char path[] = "/tmp/simnode-trace-XXXXXX", error[256];
    int fd = mkstemp(path);
    struct trace *trace = NULL;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof(text) - 1), (int)sizeof(text) - 1);
    assert_int_equal(trace_read(path, &trace, error, sizeof(error)), 0);
    check_trace(trace);
    trace_free(trace);

    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, text, sizeof(text) - 1), (int)sizeof(text) - 1);
    assert_int_equal(gzclose(file), Z_OK);
    assert_int_equal(trace_read(path, &trace, error, sizeof(error)), 0);
    check_trace(trace);
    trace_free(trace);

    /* Cut short: an error, not a shorter trace. */
    off_t size = lseek(fd, 0, SEEK_END);

    trace = NULL;
    assert_int_equal(ftruncate(fd, size - 6), 0);
    assert_true(trace_read(path, &trace, error, sizeof(error)) < 0);
    assert_null(trace);
    assert_memory_equal(error, path, strlen(path));
    close(fd);
    unlink(path);
    assert_int_equal(trace_read(path, &trace, error, sizeof(error)), -ENOENT);
}
