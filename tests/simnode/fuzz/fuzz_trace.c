/* Traces from outside: every text is read or refused with a message, and what is read can run,
 * whatever its addresses. */
#include "tests/fuzz/fuzz.h"
#include "tests/simnode/model/simnode.h"

/* A cache of one line, so that write-backs leave it; two containers and a container of two. */
static const char machine[] =
    "{\"scenario\":1,\"tick_cycles\":1000,\"machine\":{\"preset\":\"asm\",\"sockets\":1,"
    "\"cores_per_socket\":4,\"l1\":{\"bytes\":64,\"ways\":1},\"llc\":{\"bytes\":1024,\"ways\":4}},"
    "\"workloads\":{\"t\":{\"kind\":\"compute\"}},\"containers\":["
    "{\"key\":\"a\",\"workload\":\"t\",\"cpus\":[0,1]},{\"key\":\"b\",\"workload\":\"t\",\"cpus\":["
    "2]}]}";

static void run(struct trace *trace)
{
    struct scenario *scenario = NULL;
    struct simnode *node;
    char error[256];

    if (scenario_parse("f", machine, strlen(machine), &scenario, error, sizeof(error)) != 0)
        abort();
    scenario->workloads[0].kind = WORKLOAD_TRACE;
    scenario->workloads[0].trace = trace; /* the scenario's from here on */
    if (simnode_new(scenario, &node) != 0)
        abort();
    simnode_run_cycles(node, 2000);
    simnode_free(node);
    scenario_free(scenario);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trace *trace = NULL;
    char error[256] = "";

    if (trace_parse("f", (const char *)data, size, &trace, error, sizeof(error)) == 0) {
        if (trace->n == 0)
            abort();
        run(trace);
    } else if (!error[0] || trace) {
        abort();
    }
    return 0;
}
