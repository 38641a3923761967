/* Addresses as programs have them, many threads, files that change: each line is its own thread's
 * and container's, and each copy of a trace goes its own way. */
#include <unistd.h>

#include "tests/simnode/model/alone.h"
#include "tests/simnode/tests/test_support.h"

/* A stack, a heap, a library, as Linux places them. */
#define HIGH_TRACE "0 140737488347136\n50 93824992231424 140737488351232\n50 140737353875456\n"

#define TWO_CONTAINERS                                                                             \
    "{'scenario':1,'tick_cycles':10000," TINY_MACHINE                                              \
    ",'workloads':{'t':{'kind':'compute'},'c':{'kind':'compute'}},"                                \
    "'containers':[{'key':'a','workload':'t','cpus':[0,1]},"                                       \
    "{'key':'b','workload':'c','cpus':[2]}]}"

TEST(test_high_addresses_are_their_containers)
{
    struct scenario *scenario = parse_scenario(TWO_CONTAINERS);

    set_trace(scenario, 0, HIGH_TRACE);
    set_trace(scenario, 1, "0 0\n1000000 0\n");
    struct simnode *node = new_node(scenario);
    assert_int_equal(simnode_run_tick(node), 0);
    /* Three lines for each of the two threads. */
    assert_int_equal(total_of(node, 0, GROUP_CORE, ROLE_L3_MISS_READS), 6);
    assert_int_equal(total_of(node, 1, GROUP_CORE, ROLE_L3_MISS_READS), 1);
    release(node, scenario);
}

TEST(test_threads_do_not_share_lines)
{
    struct scenario *scenario = parse_scenario(
        "{'scenario':1,'machine':{'preset':'asm','sockets':1,'cores_per_socket':256},"
        "'workloads':{'w':{'kind':'random','bytes':34359738368}},'containers':["
        "{'key':'a','workload':'w','cpus':[0]},{'key':'b','workload':'w','cpus':[1]}]}");
    struct container_spec *many = &scenario->containers[0];

    many->n_cpus = 255;
    many->cpus = realloc(many->cpus, many->n_cpus * sizeof(*many->cpus));
    assert_non_null(many->cpus);
    for (size_t i = 0; i < many->n_cpus; i++)
        many->cpus[i] = i == 0 ? 0 : (int64_t)i + 1;
    struct simnode *node = new_node(scenario);
    assert_int_equal(node->n_cores, 256);
    for (size_t i = 0; i < node->n_cores; i++) {
        const struct core *core = &node->cores[i];
        uint64_t last = core->line_base + (34359738368 / 64 - 1);

        assert_int_equal(core->line_base >> SPACE_LINES_SHIFT, core->container);
        assert_int_equal(last >> SPACE_LINES_SHIFT, core->container);
        if (i + 1 < node->n_cores)
            assert_true(last < node->cores[i + 1].line_base);
    }
    release(node, scenario);
}

TEST(test_too_many_threads_are_refused)
{
    char *text = malloc(1 << 16), *at = text, error[256];
    struct scenario *scenario = NULL;

    at += sprintf(at, "{\"scenario\":1,\"machine\":{\"preset\":\"asm\",\"sockets\":2,"
                      "\"cores_per_socket\":256},\"workloads\":{\"w\":{\"kind\":\"compute\"}},"
                      "\"containers\":[{\"key\":\"a\",\"workload\":\"w\",\"cpus\":[0");
    for (int i = 1; i < 257; i++)
        at += sprintf(at, ",%d", i);
    at += sprintf(at, "]}]}");
    assert_int_equal(
        scenario_parse("t", text, (size_t)(at - text), &scenario, error, sizeof(error)), -EINVAL);
    if (!strstr(error, "more than the 256 threads"))
        fail_msg("%s", error);
    free(text);
}

TEST(test_no_address_is_cut_short)
{
    struct trace *trace = NULL;
    char error[256];
    const char *text = "0 64\n0 140737488355328\n"; /* 2^47 */

    assert_int_equal(trace_parse("t", text, strlen(text), &trace, error, sizeof(error)), -EINVAL);
    assert_string_equal(error, "t:2: an address has more than 47 bits");
    assert_null(trace);
}

/* ---- copies ---- */

static struct workload workload_of(const struct workload_spec *spec, uint64_t seed)
{
    struct workload workload;

    assert_int_equal(workload_init(&workload, spec, seed), 0);
    return workload;
}

TEST(test_copies_start_where_their_seed_says)
{
    struct workload_spec spec = {.kind = WORKLOAD_TRACE, .instructions_per_access = 1};
    char text[4096], *at = text, error[256];
    uint64_t starts[8];
    bool differ = false;

    for (int i = 0; i < 100; i++)
        at += sprintf(at, "1 %d\n", i * 64);
    assert_int_equal(trace_parse("t", text, strlen(text), &spec.trace, error, sizeof(error)), 0);
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct workload a = workload_of(&spec, seed), b = workload_of(&spec, seed);
        struct op first, again, next;

        workload_next(&a, &first);
        workload_next(&b, &again);
        workload_next(&a, &next);
        assert_int_equal(first.line, again.line);
        assert_int_equal(next.line, (first.line + 1) % 100);
        starts[seed] = first.line;
        differ |= starts[seed] != starts[0];
        workload_release(&a);
        workload_release(&b);
    }
    assert_true(differ);
    spec.from_start = true;
    struct workload whole = workload_of(&spec, 5);
    struct op first;

    workload_next(&whole, &first);
    assert_int_equal(first.line, 0);
    workload_release(&whole);
    trace_free(spec.trace);
}

/* ---- files that change ---- */

static double cycles_alone(const char *folder, const char *trace, const char *phase)
{
    struct scenario *scenario = parse_scenario(
        "{'scenario':1,'tick_cycles':1000," TINY_MACHINE ",'workloads':{'t':{'kind':'compute'},"
        "'p':{'kind':'phases','phases':[{'workload':'t','instructions':1000}]}},"
        "'containers':[{'key':'a','workload':'t','cpus':[0]},"
        "{'key':'b','workload':'p','cpus':[1]}]}");
    struct alone_runs *runs;
    double cycles;

    set_trace(scenario, 0, trace);
    assert_int_equal(alone_runs_new(folder, &runs), 0);
    assert_int_equal(alone_cycles(runs, scenario, phase ? 1 : 0, 10000, &cycles), 0);
    alone_runs_free(runs);
    scenario_free(scenario);
    return cycles;
}

TEST(test_alone_runs_know_what_the_file_held)
{
    static const char *const light = "1000 0\n", *const heavy =
                                                     "0 0\n0 64000\n0 128000\n0 512000\n";
    char folder[] = "/tmp/simnode-addresses-XXXXXX", command[128];

    assert_non_null(mkdtemp(folder));
    for (int phases = 0; phases < 2; phases++) {
        const char *phase = phases ? "p" : NULL;
        double first = cycles_alone(folder, light, phase);
        double changed = cycles_alone(folder, heavy, phase);

        assert_true(changed != first);
        assert_true(cycles_alone(folder, light, phase) == first);
    }
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}
