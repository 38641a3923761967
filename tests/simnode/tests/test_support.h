/* Small machines for tests. Scenarios are written with ' for ". */
#ifndef IE_SIMNODE_TESTS_TEST_SUPPORT_H
#define IE_SIMNODE_TESTS_TEST_SUPPORT_H

#include "tests/simnode/model/sim.h"
#include "tests/simnode/model/simnode.h"
#include "tests/simnode/scenario/scenario.h"
#include "tests/unit/support/unit.h"

/* One clock of 1 ns everywhere; L1 of one line found in 1 cycle, LLC of 64 KiB in 20. */
#define TINY_MACHINE                                                                               \
    "'machine':{'preset':'asm','sockets':1,'cores_per_socket':4,'core_frequency_hz':1e9,"          \
    "'base_frequency_hz':1e9,'l1':{'bytes':64,'ways':1},'llc':{'bytes':65536,'ways':16},"          \
    "'memory':{'clock_hz':1e9,'request_ns':3,'return_ns':2,'row_bytes':1024,'banks':8,"            \
    "'timing':{'cl':5,'cwl':4,'rcd':6,'rp':7,'ras':15,'rrd':2,'faw':20,'ccd':4,'burst':4,"         \
    "'wr':8,'wtr':3,'rtp':3,'refi':0}}}"

static inline char *with_quotes(const char *text)
{
    char *copy = strdup(text);

    assert_non_null(copy);
    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    return copy;
}

static inline struct scenario *parse_scenario(const char *text)
{
    char *json = with_quotes(text), error[512];
    struct scenario *scenario = NULL;
    int err = scenario_parse("test.json", json, strlen(json), &scenario, error, sizeof(error));

    if (err)
        print_error("%s\n", error);
    assert_int_equal(err, 0);
    free(json);
    return scenario;
}

/* Makes a workload of the scenario a trace. */
static inline void set_trace(struct scenario *scenario, size_t workload, const char *text)
{
    struct workload_spec *spec = &scenario->workloads[workload];
    char error[256];

    spec->kind = WORKLOAD_TRACE;
    spec->from_start = true;
    assert_int_equal(trace_parse("t", text, strlen(text), &spec->trace, error, sizeof(error)), 0);
}

static inline struct simnode *new_node(const struct scenario *scenario)
{
    struct simnode *node;

    assert_int_equal(simnode_new(scenario, &node), 0);
    return node;
}

static inline void release(struct simnode *node, struct scenario *scenario)
{
    simnode_free(node);
    scenario_free(scenario);
}

static inline void run_ticks(struct simnode *node, int n)
{
    for (int i = 0; i < n; i++)
        assert_int_equal(simnode_run_tick(node), 0);
}

/* That a container has retired. */
static inline uint64_t instructions_of(struct simnode *node, size_t container)
{
    struct simnode_truth truth;

    simnode_truth(node, container, &truth);
    return truth.instructions;
}

/* A core-group total of a container. */
static inline uint64_t total_of(struct simnode *node, size_t container, enum group group,
                                enum role role)
{
    struct simnode_reading reading;

    assert_int_equal(simnode_read_container(node, container, group, &reading), 0);
    return reading.values[group_index(group, role)];
}

#endif
