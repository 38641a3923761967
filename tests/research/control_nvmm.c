/* A7: writers to persistent memory on cores of their own (Schmidt 2022, sections 5.3.2, 5.4.3). */
#include "tests/research/control.h"

#include <math.h>

#include "tests/simnode/formulas/theory.h"

enum { CPUS = CONTROL_NVMM_CPUS, WORKERS = CONTROL_NVMM_WORKERS };

static const unsigned writers[] = {1, 2, 4, 8, 16, 32};
enum { ROWS = sizeof(writers) / sizeof(writers[0]), OF_ONE = 0, OF_8 = 3, OF_16, OF_32 };

/* The policy as in the thesis, which never asks how many there are; and with the governor's
 * defaults. */
enum { UNMANAGED, MANAGED, DEFAULTS, ARMS };
static const char *const policies[ARMS] = {
    [MANAGED] = "\"engage\":0,\"engage_after\":\"0s\"", [DEFAULTS] = "\"engage\":8"};

struct simulated {
    bool run;
    double time;    /* of those that compute, summed, over that without writers */
    double through; /* the same of all that they get done together */
    double bytes;   /* that writers store */
    unsigned kept;  /* writers that the governor keeps, at the end */
};

/* With the time without writers as 1. */
static double unmanaged(unsigned n)
{
    return control_nvmm_fair_time(CPUS, WORKERS, n, CPUS);
}

static double managed(unsigned n)
{
    return control_nvmm_fair_time(CPUS, WORKERS, n, CONTROL_NVMM_WRITER_CPUS);
}

/* --- simulated --- */

static void take(struct simulated *out, const struct control_nvmm_outcome *run, double alone)
{
    double sum = 0, time = 0;

    for (int i = 0; i < WORKERS; i++) {
        sum += run->rates[i] / alone / WORKERS;
        time += alone / run->rates[i] / WORKERS;
    }
    *out = (struct simulated){
        .run = true, .time = time, .through = 1 / sum, .bytes = run->bytes, .kept = run->kept};
}

static int simulate(const struct reproduction *r, struct simulated out[ARMS][ROWS])
{
    unsigned seconds = r->reduced ? 4 : 12;
    struct control_nvmm_plan plan = {0};
    struct control_nvmm_outcome run;
    int err = control_nvmm_run(&plan, seconds, &run);
    double alone = run.rates[0];

    for (int arm = 0; arm < ARMS; arm++)
        for (size_t i = 0; i < ROWS && !err; i++) {
            if (r->reduced && (arm == DEFAULTS || i != OF_16))
                continue;
            plan = (struct control_nvmm_plan){.writers = writers[i], .policy = policies[arm]};
            err = control_nvmm_run(&plan, seconds, &run);
            if (!err)
                take(&out[arm][i], &run, alone);
        }
    return err;
}

/* --- tables --- */

static double percent(double now, double before)
{
    return (now / before - 1) * 100;
}

/* 0 for less than what is shown of it. */
static double shorter_by(double now, double before)
{
    double by = -percent(now, before);

    return fabs(by) < 0.05 ? 0 : by;
}

static void put_number(struct reproduction *r, const struct simulated *of, double number)
{
    if (of->run)
        fprintf(r->out, " %.4f |", number);
    else
        fputs(" - |", r->out);
}

static void put_rows(struct reproduction *r, struct simulated of[ARMS][ROWS])
{
    for (size_t i = 0; i < ROWS; i++) {
        const struct simulated *none = &of[UNMANAGED][i], *kept = &of[MANAGED][i];

        fprintf(r->out, "| %u | %.4f |", writers[i], unmanaged(writers[i]));
        put_number(r, none, none->time);
        fprintf(r->out, " %.4f |", managed(writers[i]));
        put_number(r, kept, kept->time);
        put_number(r, &of[DEFAULTS][i], of[DEFAULTS][i].time);
        if (none->run && kept->run)
            fprintf(r->out, " %.1f | %.1f | %+.1f |\n",
                    shorter_by(managed(writers[i]), unmanaged(writers[i])),
                    shorter_by(kept->time, none->time), percent(kept->bytes, none->bytes));
        else
            fputs(" - | - | - |\n", r->out);
    }
}

static void put_simulated(struct reproduction *r, bool known, const char *format, double a,
                          double b)
{
    if (known)
        fprintf(r->out, format, a, b);
    else
        fputs(" - |\n", r->out);
}

static void put_thesis(struct reproduction *r, struct simulated of[ARMS][ROWS])
{
    const struct simulated *none = of[UNMANAGED], *kept = of[MANAGED];
    bool all = none[OF_32].run;

    fputs("\n| | thesis, measured | fair shares alone | simulated |\n|---|---|---|---|\n", r->out);
    fprintf(r->out,
            "| unmanaged, per doubling up to 16 writers | +5 to 30 %% | %+.1f to %+.1f %% |",
            percent(unmanaged(2), unmanaged(1)), percent(unmanaged(16), unmanaged(8)));
    put_simulated(r, all, " %+.1f to %+.1f %% |\n", percent(none[1].time, none[0].time),
                  percent(none[OF_16].time, none[OF_8].time));
    fprintf(r->out, "| unmanaged, the next doubling | about +50 %% | %+.1f %% |",
            percent(unmanaged(32), unmanaged(16)));
    put_simulated(r, all, " %+.1f %% |\n", percent(none[OF_32].time, none[OF_16].time), 0);
    fprintf(r->out, "| managed, from 1 to 32 writers | +27.12 %% | %+.1f %% |",
            percent(managed(32), managed(1)));
    put_simulated(r, all, " %+.1f %% |\n", percent(kept[OF_32].time, kept[OF_ONE].time), 0);
    fprintf(r->out, "| managed, at 16 writers, shorter by | 31.01 %% | %.1f %% |",
            -percent(managed(16), unmanaged(16)));
    put_simulated(r, kept[OF_16].run, " %.1f %% |\n", -percent(kept[OF_16].time, none[OF_16].time),
                  0);
    fputs("| managed, bytes stored, beyond 8 writers | up to +5.36 % | - |", r->out);
    put_simulated(r, all, " %+.1f, %+.1f %% |\n", percent(kept[OF_16].bytes, none[OF_16].bytes),
                  percent(kept[OF_32].bytes, none[OF_32].bytes));
}

static void expect(struct reproduction *r, struct simulated of[ARMS][ROWS])
{
    double growth = percent(managed(32), managed(1)), better = -percent(managed(16), unmanaged(16));
    const struct simulated *none = &of[UNMANAGED][OF_16], *kept = &of[MANAGED][OF_16];

    /* The thesis's numbers cannot be better than what costs nothing. */
    expect_that(r, growth < 27.12, "fair shares grow less than the thesis: %.2f", growth);
    expect_that(r, better > 31.01, "fair shares gain more than the thesis: %.2f", better);
    expect_that(r, fabs(none->time - unmanaged(16)) < 0.02,
                "shared evenly they take what fair shares say: %.4f", none->time);
    expect_that(r, kept->kept == 16 && kept->time < 0.75 * none->time,
                "kept together writers leave others more: %u, %.4f of %.4f", kept->kept, kept->time,
                none->time);
    expect_that(r, fabs(kept->through - managed(16)) < 0.02,
                "and the rest is theirs as fair shares say: %.4f", kept->through);
    if (!of[DEFAULTS][OF_8].run)
        return;
    expect_that(r, of[DEFAULTS][OF_8].kept == 0 && of[DEFAULTS][OF_16].kept == 16,
                "by default the policy begins above eight writers: %u, %u", of[DEFAULTS][OF_8].kept,
                of[DEFAULTS][OF_16].kept);
}

int control_table_nvmm(struct reproduction *r)
{
    struct simulated of[ARMS][ROWS] = {{{0}}};
    int err = simulate(r, of);

    if (err)
        return err;
    fprintf(r->out, "\n"
                    "## Writers to persistent memory on cores of their own (Schmidt 2022)\n"
                    "\n"
                    "| W | unmanaged: fair | simulated | managed: fair | simulated | by default | "
                    "shorter by, percent: fair | simulated | bytes stored, percent |\n"
                    "|---|---|---|---|---|---|---|---|---|\n");
    put_rows(r, of);
    put_thesis(r, of);
    expect(r, of);
    return 0;
}
