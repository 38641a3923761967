/*
 * Akiyama 2017, table II, on the simulated node: how a program that needs memory bandwidth scales
 * with its threads, natively and under an emulator whose every access is delayed by NOPs.
 */
#include <math.h>

#include "tests/research/placement.h"

enum { THREADS = 8, SEEDS = 4, CYCLES = 300000, WARM_UP_CYCLES = 50000 };

/* A line is eight numbers; natively, two and a half instructions each. */
enum { LINE_NUMBERS = 8, NATIVE_INSTRUCTIONS = 20 };

/* What one guest access took under the paper's emulator, in NOPs: its emulated row is close to
 * n / (1 + d / 77) with d = 4 (n - 2), the NOPs it chose. */
#define EMULATED_NOPS 77

static const double paper_native[THREADS] = {1, 1.92, 2.73, 3.49, 4.33, 4.99, 5.57, 6.02};
static const double paper_emulated[THREADS] = {1, 1.99, 2.90, 3.71, 4.42, 4.98, 5.53, 6.07};

/* Its E5-2699 v3, four channels of DDR4-2133; and its two E5-2603, four of DDR3. */
static const struct placement_machine native = {
    "native",
    "\"preset\":\"clx\",\"sockets\":1,\"cores_per_socket\":18,\"core_frequency_hz\":2.3e9,"
    "\"base_frequency_hz\":2.3e9,\"prefetcher\":{\"degree\":2},"
    "\"memory\":{\"channels\":4,\"clock_hz\":1.0665e9},\"pmm\":{\"dimms\":0}",
    "\"super_queue\":true,\"prefetch_merging\":true"};
static const struct placement_machine emulating = {
    "emulating",
    "\"preset\":\"clx\",\"cores_per_socket\":4,\"core_frequency_hz\":1.8e9,"
    "\"base_frequency_hz\":1.8e9,\"prefetcher\":{\"degree\":2},"
    "\"memory\":{\"channels\":4,\"preset\":\"ddr3-1333\"},\"pmm\":{\"dimms\":0}",
    "\"super_queue\":true,\"prefetch_merging\":true"};

/*
 * Lines a cycle of all threads, each of so many instructions. The mean of some draws: how streams
 * lie against each other in the banks makes a difference.
 */
static int throughput(const struct reproduction *r, const struct placement_machine *machine,
                      unsigned threads, double instructions, double *out)
{
    unsigned cycles = r->reduced ? CYCLES / 3 : CYCLES;
    struct placement_window window = {.warm_up_cycles = WARM_UP_CYCLES, .cycles = cycles};
    char workloads[256];

    snprintf(workloads, sizeof(workloads),
             "\"w\":{\"kind\":\"stream\",\"instructions_per_access\":%g}", instructions);
    *out = 0;
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        struct placement_subject subject = {"matvec", workloads, threads, seed};
        struct placement_run run;
        int err = placement_run(machine, &subject, "{\"node\":0}", &window, &run);

        if (err)
            return err;
        *out += (double)run.instructions / instructions / cycles / SEEDS;
    }
    return 0;
}

/* Speed-up over one thread without NOPs; nops NULL: none. */
static int scaling(const struct reproduction *r, const struct placement_machine *machine,
                   double instructions, const unsigned *nops, double out[THREADS])
{
    for (unsigned n = 1; n <= THREADS; n++) {
        int err = throughput(r, machine, n, instructions + (nops ? LINE_NUMBERS * nops[n - 1] : 0),
                             &out[n - 1]);

        if (err)
            return err;
    }
    for (int n = THREADS - 1; n >= 0; n--)
        out[n] /= out[0];
    return 0;
}

static void write_row(struct reproduction *r, const char *name, const double row[THREADS])
{
    fprintf(r->out, "| %s |", name);
    for (int n = 0; n < THREADS; n++)
        fprintf(r->out, " %.2f |", row[n]);
    fputs(" |\n", r->out);
}

static void write_nops(struct reproduction *r, const char *name, const unsigned nops[THREADS])
{
    fprintf(r->out, "| %s |", name);
    for (int n = 0; n < THREADS; n++)
        fprintf(r->out, " %u |", nops[n]);
    fputs(" |\n", r->out);
}

/* Means and worsts of |a / b - 1| in per cent, from two threads on. */
static double write_errors(struct reproduction *r, const char *name, const double *a,
                           const double *b)
{
    double worst = 0, sum = 0;

    fprintf(r->out, "| %s | |", name);
    for (int n = 1; n < THREADS; n++) {
        double error = 100 * (a[n] / b[n] - 1);

        fprintf(r->out, " %+.2f %% |", error);
        sum += fabs(error);
        worst = fmax(worst, fabs(error));
    }
    fprintf(r->out, " %.2f, %.2f %% |\n", sum / (THREADS - 1), worst);
    return worst;
}

static void write_head(struct reproduction *r)
{
    fputs("| threads | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | mean, worst |\n"
          "|---|---|---|---|---|---|---|---|---|---|\n",
          r->out);
}

int reproduce_delay(struct reproduction *r)
{
    double native_row[THREADS], emulated_row[THREADS], ours_row[THREADS], worst;
    unsigned theirs[THREADS], ours[THREADS];
    /* Short runs see less of how streams lie against each other. */
    double by_chance = r->reduced ? 10 : 0;
    int err = scaling(r, &native, NATIVE_INSTRUCTIONS, NULL, native_row);

    for (unsigned n = 1; n <= THREADS; n++) {
        theirs[n - 1] = n > 2 ? (n - 2) * 4 : 0;
        ours[n - 1] = (unsigned)fmax(0, round(EMULATED_NOPS * (n / native_row[n - 1] - 1)));
    }
    if (!err)
        err = scaling(r, &emulating, LINE_NUMBERS * EMULATED_NOPS, theirs, emulated_row);
    if (!err)
        err = scaling(r, &emulating, LINE_NUMBERS * EMULATED_NOPS, ours, ours_row);
    if (err)
        return err;
    write_head(r);
    write_row(r, "paper: native", paper_native);
    write_row(r, "simulated: native", native_row);
    write_row(r, "paper: emulated", paper_emulated);
    write_row(r, "simulated: emulated", emulated_row);
    write_nops(r, "NOPs of both", theirs);
    write_row(r, "ours: emulated", ours_row);
    write_nops(r, "its NOPs", ours);
    worst = write_errors(r, "paper: emulated against native", paper_emulated, paper_native);
    expect_that(r, fabs(worst - 6.3) < 0.05, "the paper's worst error is 6.30 %%: %.2f", worst);
    worst = write_errors(r, "simulated: the same", emulated_row, native_row);
    expect_that(r, worst < 8 + by_chance, "NOPs chosen by hand come within 8 %%: %.2f", worst);
    worst = write_errors(r, "ours: the same", ours_row, native_row);
    expect_that(r, worst < 1, "NOPs computed come within 1 %%: %.2f", worst);
    worst = write_errors(r, "simulated against paper: native", native_row, paper_native);
    expect_that(r, worst < 6 + by_chance, "the native row is like the paper's: %.2f", worst);
    worst = write_errors(r, "simulated against paper: emulated", emulated_row, paper_emulated);
    expect_that(r, worst < 3, "so is the emulated row: %.2f", worst);
    return 0;
}
