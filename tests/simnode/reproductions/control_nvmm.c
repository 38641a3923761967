/* A7: writers to persistent memory on cores of their own (Schmidt 2022, sections 5.3.2, 5.4.3). */
#include "tests/simnode/reproductions/control.h"

#include <math.h>

#include "collectors/formulas/control_nvmm.h"

enum { CPUS = 16, WORKERS = 16, WRITER_CPUS = 3 };

static const unsigned writers[] = {1, 2, 4, 8, 16, 32};
enum { ROWS = sizeof(writers) / sizeof(writers[0]) };

/* With the time without writers as 1. */
static double unmanaged(unsigned n)
{
    return control_nvmm_fair_time(CPUS, WORKERS, n, CPUS);
}

static double managed(unsigned n)
{
    return control_nvmm_fair_time(CPUS, WORKERS, n, WRITER_CPUS);
}

static void put_rows(struct reproduction *r)
{
    for (size_t i = 0; i < ROWS; i++) {
        unsigned n = writers[i];

        fprintf(r->out, "| %u | %.4f |", n, unmanaged(n));
        if (i == 0)
            fputs(" - |", r->out);
        else
            fprintf(r->out, " %+.1f |", (unmanaged(n) / unmanaged(writers[i - 1]) - 1) * 100);
        fprintf(r->out, " %.4f | %.1f |\n", managed(n), (1 - managed(n) / unmanaged(n)) * 100);
    }
}

int control_table_nvmm(struct reproduction *r)
{
    double growth = (managed(32) / managed(1) - 1) * 100;
    double better = (1 - managed(16) / unmanaged(16)) * 100;

    fprintf(r->out,
            "\n## Writers to persistent memory on cores of their own (Schmidt 2022)\n\n"
            "%d CPUs, %d threads that compute, W that write. Time of those that compute, without "
            "writers 1, if\nall CPUs are shared fairly and nothing is lost:\n\n"
            "| W | unmanaged | per doubling, percent | on %d CPUs | shorter by, percent |\n"
            "|---|---|---|---|---|\n",
            CPUS, WORKERS, WRITER_CPUS);
    put_rows(r);
    fprintf(r->out,
            "\n| | thesis, measured | fair shares alone | simulated |\n|---|---|---|---|\n"
            "| unmanaged, per doubling up to 16 writers | +5 to 30 %% | %+.1f to %+.1f %% | - |\n"
            "| unmanaged, the next doubling | about +50 %% | %+.1f %% | - |\n"
            "| managed, from 1 to 32 writers | +27.12 %% | %+.1f %% | - |\n"
            "| managed, at 16 writers, shorter by | 31.01 %% | %.1f %% | - |\n",
            (unmanaged(2) / unmanaged(1) - 1) * 100, (unmanaged(16) / unmanaged(8) - 1) * 100,
            (unmanaged(32) / unmanaged(16) - 1) * 100, growth, better);
    control_text_nvmm(r);
    /* The thesis's numbers cannot be better than what costs nothing. */
    expect_that(r, growth < 27.12, "fair shares grow less than the thesis: %.2f", growth);
    expect_that(r, better > 31.01, "fair shares gain more than the thesis: %.2f", better);
    return 0;
}
