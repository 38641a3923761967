/* Serrano's own experiment: equation 4 from three samples, and its two errors. */
#include <math.h>

#include "tests/research/placement.h"
#include "tests/simnode/formulas/theory.h"

enum { REGIONS = 3, DISTRIBUTIONS = 8, KERNELS = 5, TABLE_KERNELS = 4 };

/* Shares of pages in the own memory, the board's other, the other board. */
static const double distributions[DISTRIBUTIONS][REGIONS] = {
    {1, 0, 0},         {0.5, 0.5, 0}, {0, 1, 0},       {0.75, 0, 0.25},
    {0.5, 0.25, 0.25}, {0.5, 0, 0.5}, {0.25, 0, 0.75}, {0, 0, 1},
};
static const int samples[REGIONS] = {0, 2, 7}; /* of the distributions */

struct predicted {
    struct placement_run runs[DISTRIBUTIONS];
    double by_pages[DISTRIBUTIONS], by_reads[DISTRIBUTIONS]; /* T as equation 4 has it */
};

static bool is_sample(int distribution)
{
    return distribution == samples[0] || distribution == samples[1] || distribution == samples[2];
}

static void write_memory(const double share[REGIONS], char *out, size_t size)
{
    size_t len = 0;

    for (int node = 0; node < REGIONS; node++)
        if (share[node] > 0)
            len += (size_t)snprintf(out + len, size - len, "%s{\"node\":%d,\"share\":%g}",
                                    len ? "," : "", node, share[node]);
}

static uint64_t instructions(const struct reproduction *r)
{
    return r->reduced ? 500000 : 3000000;
}

static int run_all(const struct reproduction *r, const struct placement_machine *machine,
                   const struct placement_subject *kernel, struct placement_run *runs)
{
    struct placement_window window = {.instructions = instructions(r)};

    for (int i = 0; i < DISTRIBUTIONS; i++) {
        char memory[128];

        write_memory(distributions[i], memory, sizeof(memory));

        int err = placement_run(machine, kernel, memory, &window, &runs[i]);

        if (err)
            return err;
    }
    return 0;
}

/* What the paper counts as C: waiting for reads and for room to write. */
static double waiting(const struct placement_run *run)
{
    return run->stalls + run->store_stalls;
}

static void predict(struct predicted *p)
{
    double c[REGIONS], k = 0;

    for (int x = 0; x < REGIONS; x++) {
        const struct placement_run *sample = &p->runs[samples[x]];

        c[x] = waiting(sample);
        k += (sample->cycles - c[x]) / REGIONS;
    }
    for (int i = 0; i < DISTRIBUTIONS; i++) {
        const double *reads = p->runs[i].reads_from;
        double all = reads[0] + reads[1] + reads[2], f[REGIONS];

        for (int x = 0; x < REGIONS; x++)
            f[x] = reads[x] / all;
        p->by_pages[i] = placement_weighted(c, distributions[i], REGIONS, k);
        p->by_reads[i] = placement_weighted(c, f, REGIONS, k);
    }
}

static double error_of(double estimate, double truth)
{
    return 100 * (estimate / truth - 1);
}

/* --- the paper's table --- */

static void write_cells(struct reproduction *r, const char *kernel, const char *what,
                        const struct predicted *p, const double *t)
{
    fprintf(r->out, "| %s | %s |", kernel, what);
    for (int i = 0; i < DISTRIBUTIONS; i++) {
        if (!t)
            fprintf(r->out, " %.4f |", (double)p->runs[i].instructions / p->runs[i].cycles);
        else
            fprintf(r->out, " %+.2f |", error_of(t[i], p->runs[i].cycles));
    }
    fputs("\n", r->out);
}

static void check_fft_of_the_paper(struct reproduction *r)
{
    static const double c[REGIONS] = {44687, 62236, 166757}, k = 2721346.3;
    static const double table_2[DISTRIBUTIONS] = {0,          2774807.8, 2783582.3, 2796550.8,
                                                  2800938.05, 2827068.3, 2857585.8, 2888103.3};

    for (int i = 1; i < DISTRIBUTIONS; i++) {
        double t = placement_weighted(c, distributions[i], REGIONS, k);

        expect_that(r, fabs(t - table_2[i]) < 0.01, "table 2's FFT, distribution %d: %.2f", i, t);
    }
}

static void write_table_head(struct reproduction *r)
{
    fprintf(r->out, "## The paper's table\n"
                    "\n"
                    "| kernel | |");
    for (int i = 0; i < DISTRIBUTIONS; i++)
        fprintf(r->out, " %.0f/%.0f/%.0f |", 100 * distributions[i][0], 100 * distributions[i][1],
                100 * distributions[i][2]);
    fputs("\n|---|---|---|---|---|---|---|---|---|---|\n", r->out);
}

static void write_table(struct reproduction *r, const struct predicted *kernels)
{
    write_table_head(r);
    check_fft_of_the_paper(r);
    for (int i = 0; i < TABLE_KERNELS; i++) {
        const struct predicted *p = &kernels[i];

        write_cells(r, placement_kernels[i].name, "IPC", p, NULL);
        write_cells(r, "", "error, shares of reads", p, p->by_reads);
        write_cells(r, "", "error, shares of pages", p, p->by_pages);
    }
}

/* --- its two errors --- */

struct errors {
    struct placement_errors all;
    unsigned small; /* below 0.5 % */
};

static void add_error(struct errors *errors, double estimate, double truth)
{
    placement_add_error(&errors->all, estimate, truth);
    errors->small += fabs(error_of(estimate, truth)) < 0.5;
}

static void write_errors(struct reproduction *r, const struct errors *e)
{
    fprintf(r->out, " %.2f / %.2f %%, %.0f %% |", placement_mean_error(&e->all), e->all.worst,
            100.0 * e->small / e->all.n);
}

static void write_machine_errors(struct reproduction *r, const struct placement_machine *machine,
                                 const struct predicted *kernels, bool constant)
{
    struct errors by_pages = {{0}, 0}, by_reads = {{0}, 0};

    for (int kernel = 0; kernel < KERNELS; kernel++) {
        const struct predicted *p = &kernels[kernel];

        for (int i = 0; i < DISTRIBUTIONS; i++) {
            if (is_sample(i))
                continue;
            add_error(&by_pages, p->by_pages[i], p->runs[i].cycles);
            add_error(&by_reads, p->by_reads[i], p->runs[i].cycles);
        }
    }
    fprintf(r->out, "| %s |", machine->name);
    write_errors(r, &by_pages);
    write_errors(r, &by_reads);
    fputs("\n", r->out);
    expect_that(r, by_reads.all.worst <= (constant ? 0.5 : 6.5),
                "%s: equation 4 with shares of reads: %.2f %%", machine->name, by_reads.all.worst);
    expect_that(r, by_pages.all.sum > by_reads.all.sum, "%s: shares of pages are worse",
                machine->name);
}

static void write_errors_head(struct reproduction *r)
{
    fprintf(r->out, "\n"
                    "## Its two errors\n"
                    "\n"
                    "| memory, L2 | f: shares of pages | f: shares of reads, counted |\n"
                    "|---|---|---|\n");
}

int placement_regions(struct reproduction *r)
{
    struct predicted kernels[KERNELS];
    int step = r->reduced ? 3 : 1;

    for (int i = 0; i < 4; i += step) {
        for (int kernel = 0; kernel < KERNELS; kernel++) {
            int err =
                run_all(r, &serrano_machines[i], &placement_kernels[kernel], kernels[kernel].runs);

            if (err)
                return err;
            predict(&kernels[kernel]);
        }
        if (i == 0) {
            write_table(r, kernels);
            write_errors_head(r);
        }
        write_machine_errors(r, &serrano_machines[i], kernels, i < 2);
    }
    return 0;
}
