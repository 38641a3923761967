/* Persistent memory: a target that can also be short of bandwidth. */
#include <math.h>

#include "tests/research/placement.h"
#include "tests/simnode/formulas/theory.h"

#define PMM "{\"node\":0,\"medium\":\"pmm\"}"
enum { GRANULE = 256 };
static const double core_hz = 2.1e9, read_bytes_per_second = 6.6e9; /* of the preset */

static const struct placement_subject subjects[] = {
    {"chase", "\"w\":{\"kind\":\"chase\"}", 1, 0},
    {"random", "\"w\":{\"kind\":\"random\",\"instructions_per_access\":12}", 1, 0},
    {"random, half dependent",
     "\"w\":{\"kind\":\"random\",\"dependence\":0.5,\"instructions_per_access\":12}", 1, 0},
    {"random, seldom", "\"w\":{\"kind\":\"random\",\"instructions_per_access\":200}", 1, 0},
    {"random, a third stores",
     "\"w\":{\"kind\":\"random\",\"store_share\":0.33,\"instructions_per_access\":12}", 1, 0},
    {"stream of 4", "\"w\":{\"kind\":\"stream\",\"streams\":4,\"instructions_per_access\":20}", 1,
     0},
};

struct estimates {
    double latency, by_reads, by_lines;
};

static struct estimates estimate(const struct placement_run *now,
                                 const struct placement_latencies *l, double pmm)
{
    double seconds = now->cycles / core_hz;
    struct estimates e = {.latency = placement_ratio(now, l, pmm, NULL)};

    e.by_reads =
        fmax(e.latency, placement_bandwidth(now->reads / seconds, GRANULE, read_bytes_per_second));
    e.by_lines = fmax(
        e.latency, placement_bandwidth(now->llc_misses / seconds, GRANULE, read_bytes_per_second));
    return e;
}

int placement_persistent(struct reproduction *r)
{
    struct placement_window window = placement_window_of(r, 1000000, 2000000);
    struct placement_latencies l;
    double pmm;
    int err = placement_latencies(&xeon, &l);

    if (!err)
        err = placement_latency(&xeon, PMM, &pmm);
    if (err)
        return err;
    fprintf(
        r->out,
        "\n"
        "## Persistent memory\n"
        "\n"
        "From DRAM to one persistent DIMM (a chase sees %.0f and %.0f cycles) that gives 6.6\n"
        "GB/s, 256 bytes for each line of a random read. By the latency alone; by the larger of\n"
        "that and of what the bandwidth allows, for the reads or for all lines at 256 bytes.\n"
        "\n"
        "| program | true | latency | and reads | and lines |\n"
        "|---|---|---|---|---|\n",
        l.of[0], pmm);
    for (size_t i = 0; !err && i < COUNT(subjects); i++) {
        struct placement_run now, there;

        err = placement_run(&xeon, &subjects[i], placement_places[0], &window, &now);
        if (!err)
            err = placement_repeat(&xeon, &subjects[i], PMM, &now, &there);
        if (err)
            break;

        double truth = there.cycles / now.cycles;
        struct estimates e = estimate(&now, &l, pmm);

        fprintf(r->out, "| %s | %.2f | %.2f | %.2f | %.2f |\n", subjects[i].name, truth, e.latency,
                e.by_reads, e.by_lines);
        if (i == 1) {
            expect_that(r, e.latency < 0.6 * truth, "latency alone is too low: %.2f of %.2f",
                        e.latency, truth);
            expect_that(r, fabs(e.by_reads / truth - 1) < 0.1, "the bandwidth binds: %.2f of %.2f",
                        e.by_reads, truth);
        }
    }
    return err;
}
