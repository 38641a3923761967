#include "tests/research/latency.h"

#define CHASE "\"chase\":{\"kind\":\"chase\",\"bytes\":268435456,\"sequential\":true}"
#define STRESS                                                                                     \
    "\"stress\":{\"kind\":\"stream\",\"bytes\":134217728,\"streams\":2,"                           \
    "\"instructions_per_access\":18,\"store_share\":0.3}"
#define STRESS_CPUS "[1,2,3,4,5,6,7,8,9,10,11,12]"

static const char LOCAL_CHASE[] =
    "\"key\":\"mlc\",\"workload\":\"chase\",\"prefetch\":false,\"cpus\":[0],"
    "\"memory\":[{\"node\":0}]";

unsigned latency_warm_up(const struct reproduction *r)
{
    return r->reduced ? REDUCED_WARM_UP : WARM_UP;
}

unsigned latency_windows(const struct reproduction *r)
{
    return r->reduced ? REDUCED_WINDOWS : WINDOWS;
}

int latency_run(const struct reproduction *r, const struct experiment *e, struct measurement *out)
{
    unsigned warm_up = e->warm_up ? e->warm_up : latency_warm_up(r);
    unsigned windows = e->windows ? e->windows : latency_windows(r);
    char load[256] = "", json[4096];

    if (e->loaded)
        snprintf(load, sizeof(load),
                 ",{\"key\":\"load\",\"workload\":\"stress\",\"class\":\"load\",\"prefetch\":false,"
                 "\"cpus\":%s,"
                 "\"start_tick\":%lld}",
                 STRESS_CPUS, (long long)e->load_from);
    snprintf(json, sizeof(json),
             "{\"scenario\":1,\"ticks\":%u,\"tick_cycles\":%d,"
             "\"machine\":{%s\"preset\":\"clx\"},\"effects\":{%s},"
             "\"classes\":[{\"name\":\"load\",\"mba_percent\":%g}],"
             "\"frequency_changes\":[%s],"
             "\"workloads\":{" CHASE "," STRESS "%s},\"containers\":[{%s}%s]}",
             warm_up + windows, r->reduced ? REDUCED_TICK_CYCLES : TICK_CYCLES,
             e->machine ? e->machine : "", e->effects ? e->effects : "",
             e->mba_percent > 0 ? e->mba_percent : 100.0, e->changes ? e->changes : "",
             e->workloads ? e->workloads : "", e->target ? e->target : LOCAL_CHASE, load);
    return measure(json, 0, warm_up, e->cache, out);
}

double error_percent(double estimate, double truth)
{
    return (estimate / truth - 1) * 100;
}
