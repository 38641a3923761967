/*
 * How fast the simulation is: core-cycles per second of one host core, four simulated cores.
 * simnode_bench [TICKS]; a tick is 5 million cycles.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/simnode/model/simnode.h"

enum { DEFAULT_TICKS = 6 };

static const struct {
    const char *name, *workloads[4];
} mixes[] = {
    {"compute", {"compute", "compute", "compute", "light"}},
    {"mixed", {"stream", "random", "loop", "compute"}},
    {"memory-bound", {"stream", "random", "stream", "chase"}},
    {"cache hits, worst case", {"loop", "loop", "loop", "loop"}},
};

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int run_mix(size_t mix, int ticks)
{
    static const char workloads[] =
        "\"compute\":{\"kind\":\"compute\",\"instructions_per_access\":6},"
        "\"light\":{\"kind\":\"random\",\"bytes\":1048576,\"instructions_per_access\":50},"
        "\"stream\":{\"kind\":\"stream\",\"bytes\":67108864,\"instructions_per_access\":25,"
        "\"store_share\":0.2},"
        "\"random\":{\"kind\":\"random\",\"bytes\":33554432,\"instructions_per_access\":30,"
        "\"dependence\":0.3,\"hot_bytes\":524288,\"hot_share\":0.7},"
        "\"chase\":{\"kind\":\"chase\",\"bytes\":67108864},"
        "\"loop\":{\"kind\":\"loop\",\"bytes\":262144,\"instructions_per_access\":10}";
    char json[2048], error[256];
    struct scenario *scenario;
    struct simnode *node;

    int n = snprintf(json, sizeof(json),
                     "{\"scenario\":1,\"epochs\":{\"length_cycles\":10000},"
                     "\"machine\":{\"preset\":\"asm\"},\"effects\":{\"super_queue\":true},"
                     "\"workloads\":{%s},\"containers\":[",
                     workloads);
    for (int i = 0; i < 4; i++)
        n += snprintf(json + n, sizeof(json) - (size_t)n,
                      "%s{\"key\":\"%d\",\"workload\":\"%s\",\"cpus\":[%d],\"seed\":%d}",
                      i ? "," : "", i, mixes[mix].workloads[i], i, i + 1);
    snprintf(json + n, sizeof(json) - (size_t)n, "]}");
    if (scenario_parse("bench", json, strlen(json), &scenario, error, sizeof(error))) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    int err = simnode_new(scenario, &node);
    double start = cpu_seconds();
    for (int i = 0; i < ticks && !err; i++)
        err = simnode_run_tick(node);
    if (!err)
        printf("| %-22s | %6.1f |\n", mixes[mix].name,
               4.0 * ticks * (double)scenario->tick_cycles / (cpu_seconds() - start) / 1e6);
    simnode_free(node);
    scenario_free(scenario);
    return err != 0;
}

int main(int argc, char **argv)
{
    int ticks = argc > 1 ? atoi(argv[1]) : DEFAULT_TICKS;

    printf("| four cores, epochs on  | million core-cycles per CPU second |\n|---|---|\n");
    for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++)
        if (run_mix(i, ticks))
            return 1;
    return 0;
}
