/* Closed loops: the governor's `ways` and `mba` beside the paper's schemes. */
#include <math.h>
#include <string.h>

#include "tests/research/control_loop.h"

#define EVERYBODY "{\"namespace\":\"*\",\"pod\":\"*\",\"container\":\"*\"}"
/* A step is a second, so that there are enough of them. */
#define FAIR(policies)                                                                             \
    "\"classes\":[{\"name\":\"peers\",\"role\":\"best_effort\",\"match\":[" EVERYBODY              \
    "],\"llc\":{\"floor_ways\":1},\"mba\":{\"floor_percent\":10}}],"                               \
    "\"limits\":{\"cuts_per_10m\":63},\"policies\":{" policies "}"
#define MBA_FAIRLY                                                                                 \
    "\"mba\":{\"classes\":[\"peers\"],\"mode\":\"fair\",\"step\":\"1s\",\"model\":\"shadow\"}"

/* --- peers --- */

static const struct arm {
    const char *name, *policy;  /* policy: the governor's; NULL: none */
    enum control_scheme scheme; /* in the simulator; SCHEME_NONE: none */
    bool quick;
} arms[] = {
    {"nobody governs", NULL, SCHEME_NONE, true},
    {"ASM-Cache", NULL, SCHEME_ASM_CACHE, true},
    {"the governor's `mba`", FAIR(MBA_FAIRLY), SCHEME_NONE, true},
    {"ASM-Mem", NULL, SCHEME_ASM_MEM, true},
    {"epochs, equally often", NULL, SCHEME_UNIFORM, false},
    {"ASM-Cache-Mem", NULL, SCHEME_ASM_CACHE_MEM, false},
};

enum {
    NOBODY,
    ASM_CACHE,
    MBA,
    ASM_MEM,
    ARMS = sizeof(arms) / sizeof(arms[0]),
    WORKLOADS = 10,
    TICKS = 120, /* of a million cycles; for a test, of half a million: */
    FEW_TICKS = 40
};

/* Sums over workloads. */
struct sum {
    double value, square;
};

struct peers {
    struct sum greatest, speedup, slowest, others;
    double changes;
};

static void add(struct sum *sum, double value)
{
    sum->value += value;
    sum->square += value * value;
}

static double mean(const struct sum *sum, unsigned n)
{
    return sum->value / n;
}

static double error(const struct sum *sum, unsigned n)
{
    double middle = mean(sum, n);

    return sqrt(fmax(0, sum->square / n - middle * middle) / (n - 1.0));
}

/* Beside nobody's: of who is slowest then, and of the others. */
static void compare(const struct loop_outcome *nobody, const struct loop_outcome *with,
                    struct peers *out)
{
    unsigned slowest = 0;
    double greatest = 0, sum = 0, others = 0;

    for (unsigned i = 0; i < LOOP_CORES; i++) {
        slowest = nobody->slowdown[i] > nobody->slowdown[slowest] ? i : slowest;
        greatest = fmax(greatest, with->slowdown[i]);
        sum += with->slowdown[i];
    }
    for (unsigned i = 0; i < LOOP_CORES; i++)
        others += i == slowest ? 0 : with->slowdown[i] / nobody->slowdown[i] - 1;
    add(&out->greatest, greatest);
    add(&out->speedup, LOOP_CORES / sum);
    add(&out->slowest, (with->slowdown[slowest] / nobody->slowdown[slowest] - 1) * 100);
    add(&out->others, others / (LOOP_CORES - 1) * 100);
    out->changes += (double)with->changes;
}

static int run_workload(struct reproduction *r, struct control_alone *alone, unsigned index,
                        struct peers out[ARMS])
{
    size_t apps[SLOW_MAX_CORES];
    struct loop_plan plan = {.cores = LOOP_CORES,
                             .apps = apps,
                             .ticks = r->reduced ? FEW_TICKS : TICKS,
                             .tick_cycles = r->reduced ? SLOW_ROW_CYCLES / 2 : SLOW_ROW_CYCLES};
    struct loop_outcome nobody, with;
    int err = 0;

    slow_draw(r->seed, index, &(struct slow_variant){.cores = LOOP_CORES}, apps);
    for (int i = 0; !err && i < ARMS; i++) {
        if (r->reduced && !arms[i].quick)
            continue;
        plan.policy = arms[i].policy;
        err = arms[i].scheme == SCHEME_NONE
                  ? loop_run(alone, r->folder, &plan, &with)
                  : loop_scheme(alone, r->folder, &plan, arms[i].scheme, 0, &with);
        if (i == NOBODY)
            nobody = with;
        if (!err)
            compare(&nobody, &with, &out[i]);
    }
    return err;
}

static void put_peers(struct reproduction *r, const struct peers of[ARMS], unsigned n)
{
    fprintf(r->out, "\n"
                    "| scheme | greatest slowdown | harmonic speedup | who is slowest with nobody, "
                    "time, %% | the others', %% | changes |\n"
                    "|---|---|---|---|---|---|\n");
    for (int i = 0; i < ARMS; i++) {
        const struct peers *p = &of[i];

        if (!(p->greatest.value > 0))
            continue;
        fprintf(r->out, "| %s | %.3f ± %.3f | %.4f ± %.4f |", arms[i].name, mean(&p->greatest, n),
                error(&p->greatest, n), mean(&p->speedup, n), error(&p->speedup, n));
        if (i == NOBODY)
            fputs(" - | - |", r->out);
        else
            fprintf(r->out, " %+.1f ± %.1f | %+.1f ± %.1f |", mean(&p->slowest, n),
                    error(&p->slowest, n), mean(&p->others, n), error(&p->others, n));
        if (arms[i].policy)
            fprintf(r->out, " %.0f |\n", p->changes / n);
        else
            fputs(" - |\n", r->out);
    }
}

static void expect_peers(struct reproduction *r, const struct peers of[ARMS])
{
    expect_that(r, of[MBA].changes > 0, "it changes something");
    expect_that(
        r, of[ASM_CACHE].greatest.value < of[MBA].greatest.value,
        "ASM-Cache, which knows curves, is fairer than the governor's bandwidth: %.3f, %.3f",
        of[ASM_CACHE].greatest.value, of[MBA].greatest.value);
    expect_that(r, of[MBA].greatest.value < of[NOBODY].greatest.value,
                "the governor's bandwidth is fairer than nobody: %.3f, %.3f",
                of[MBA].greatest.value, of[NOBODY].greatest.value);
    expect_that(r, of[ASM_MEM].others.value > of[MBA].others.value,
                "ASM-Mem's epochs cost the others more than less bandwidth: %.3f, %.3f",
                of[ASM_MEM].others.value, of[MBA].others.value);
    expect_that(r, of[MBA].slowest.value < 0, "less bandwidth for others helps the slowest: %.3f",
                of[MBA].slowest.value);
    expect_that(r, of[MBA].others.value > 0, "and costs them: %.3f", of[MBA].others.value);
}

int control_table_peers(struct reproduction *r)
{
    struct peers of[ARMS] = {0};
    struct control_alone alone = {0};
    unsigned n = r->reduced ? 1 : WORKLOADS;
    int err = 0;

    for (unsigned i = 0; !err && i < n; i++) {
        err = run_workload(r, &alone, r->reduced ? 1 : i, of);
        fprintf(stderr, "closed loop, workload %u: done\n", i + 1);
    }
    control_alone_release(&alone);
    if (err)
        return err;
    fputs("\n## Ways, bandwidth and epochs by the governor\n", r->out);
    put_peers(r, of, n);
    expect_peers(r, of);
    return 0;
}

int control_table_loops(struct reproduction *r)
{
    int err = control_table_peers(r);

    if (!err)
        err = control_table_bound(r);
    return err ? err : control_table_epochs(r);
}
