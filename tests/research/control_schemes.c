/* A3: who gets which ways and whose requests go first (Subramanian 2015, sections 7.1 and 7.2). */
#include "tests/research/control_schemes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const struct scheme_machine machines[] = {
    {4, 1, 30, 40}, {8, 1, 10, 40}, {16, 1, 5, 40}, {4, 2, 10, 40}, {8, 2, 5, 40}, {16, 2, 5, 40},
};
static const struct scheme_machine reduced_machine = {4, 1, 1, 10};

enum { MACHINES = sizeof(machines) / sizeof(machines[0]), SHOWN = 5 /* workloads */ };

static struct slow_variant variant_of(const struct scheme_machine *machine)
{
    return (struct slow_variant){.cores = machine->cores,
                                 .channels = machine->channels,
                                 .llc_mib = 2,
                                 .mega_cycles = machine->mega_cycles};
}

/* --workloads is of 4 cores and a channel, --variant-workloads of the others. */
static unsigned workloads_of(const struct reproduction *r, const struct scheme_machine *machine)
{
    unsigned asked = machine == machines ? r->workloads : r->variant_workloads;
    unsigned n = asked && !r->reduced ? asked : machine->workloads;

    return n < SCHEME_WORKLOADS ? n : SCHEME_WORKLOADS;
}

/* Those that the reduced version has time for. */
static bool is_quick(enum control_scheme scheme)
{
    return scheme == SCHEME_NONE || scheme == SCHEME_ASM_CACHE || scheme == SCHEME_UNIFORM ||
           scheme == SCHEME_ASM_MEM || scheme == SCHEME_LATE_UNIFORM;
}

static int get_run(const struct reproduction *r, const struct scheme_machine *machine,
                   unsigned workload, enum control_scheme scheme, size_t apps[SLOW_MAX_CORES],
                   struct control_outcome *out)
{
    const struct control_plan plan = {
        .scheme = scheme, .variant = variant_of(machine), .apps = apps};

    slow_draw(r->seed, workload, &plan.variant, apps);
    return control_run(r->folder, &plan, out);
}

struct work {
    const struct reproduction *reproduction;
    const struct scheme_machine *machine;
};

/* Workload by workload: what is there when it is broken off is of all schemes. */
static int run_task(const void *context, unsigned task)
{
    const struct work *work = context;
    enum control_scheme scheme = (enum control_scheme)(task % CONTROL_SCHEMES);
    struct control_outcome outcome = {0};
    size_t apps[SLOW_MAX_CORES];
    int err;

    if (work->reproduction->reduced && !is_quick(scheme))
        return 0;
    err =
        get_run(work->reproduction, work->machine, task / CONTROL_SCHEMES, scheme, apps, &outcome);
    control_outcome_release(&outcome);
    if (!err && scheme == SCHEME_NONE)
        fprintf(stderr, "%u cores, %u channel(s): workload %u\n", work->machine->cores,
                work->machine->channels, task / CONTROL_SCHEMES + 1);
    return err;
}

/* Of these slowdowns. */
static void add(struct scheme_sample *sample, const double *slowdown, unsigned cores)
{
    double greatest = 0, sum = 0;

    for (unsigned core = 0; core < cores; core++) {
        greatest = fmax(greatest, slowdown[core]);
        sum += slowdown[core];
    }
    sample->greatest[sample->n] = greatest;
    sample->speedup[sample->n++] = cores / sum;
}

static int add_workload(struct reproduction *r, const struct scheme_machine *machine,
                        unsigned workload, enum control_scheme scheme, struct control_alone *alone,
                        struct scheme_result *out)
{
    const struct slow_variant variant = variant_of(machine);
    double whole[SLOW_MAX_CORES], warm[SLOW_MAX_CORES];
    struct control_outcome outcome = {0};
    size_t apps[SLOW_MAX_CORES];
    int err = get_run(r, machine, workload, scheme, apps, &outcome);

    for (unsigned core = 0; !err && core < machine->cores; core++) {
        const struct slow_alone *of = &alone->of[apps[core]];

        err = control_alone_get(alone, r->folder, &variant, apps[core]);
        if (err)
            break;
        whole[core] = control_slowdown(&outcome, core, 0, of);
        warm[core] = control_slowdown(&outcome, core, 1, of);
    }
    control_outcome_release(&outcome);
    if (err)
        return err;
    add(&out->whole, whole, machine->cores);
    add(&out->warm, warm, machine->cores);
    return 0;
}

static int run_machine(struct reproduction *r, const struct scheme_machine *machine,
                       struct scheme_result out[CONTROL_SCHEMES])
{
    const struct work work = {r, machine};
    unsigned workloads = workloads_of(r, machine);
    struct control_alone alone = {0};
    int err = run_tasks(r->jobs, workloads * CONTROL_SCHEMES, run_task, &work);

    for (int scheme = 0; !err && scheme < CONTROL_SCHEMES; scheme++) {
        if (r->reduced && !is_quick((enum control_scheme)scheme))
            continue;
        for (unsigned i = 0; !err && i < workloads; i++)
            err = add_workload(r, machine, i, (enum control_scheme)scheme, &alone, &out[scheme]);
    }
    control_alone_release(&alone);
    return err;
}

/* Which they are follows from the seed. */
static void put_workloads(struct reproduction *r, const struct scheme_machine *machine)
{
    const struct slow_variant variant = variant_of(machine);
    size_t apps[SLOW_MAX_CORES];
    unsigned n = workloads_of(r, machine), shown = n < SHOWN ? n : SHOWN;

    fprintf(r->out, "\nThe first %u of the workloads:\n", shown);
    for (unsigned i = 0; i < shown; i++) {
        slow_draw(r->seed, i, &variant, apps);
        fprintf(r->out, "\n%u.", i + 1);
        for (unsigned core = 0; core < machine->cores; core++)
            fprintf(r->out, " %s", slow_apps[apps[core]].name);
    }
    fputc('\n', r->out);
}

/* What holds for the few workloads that a test has time for, too. */
static void expect(struct reproduction *r, const struct scheme_result of[CONTROL_SCHEMES])
{
    double unfair[CONTROL_SCHEMES], fast[CONTROL_SCHEMES];

    for (int scheme = 0; scheme < CONTROL_SCHEMES; scheme++) {
        unfair[scheme] = scheme_unfairness(&of[scheme].whole);
        fast[scheme] = scheme_performance(&of[scheme].whole);
    }
    expect_that(r, unfair[SCHEME_ASM_CACHE] < unfair[SCHEME_NONE],
                "ASM-Cache is fairer than an undivided cache: %.3f, %.3f", unfair[SCHEME_ASM_CACHE],
                unfair[SCHEME_NONE]);
    expect_that(r, fast[SCHEME_ASM_CACHE] > fast[SCHEME_NONE],
                "ASM-Cache is faster than an undivided cache: %.4f, %.4f", fast[SCHEME_ASM_CACHE],
                fast[SCHEME_NONE]);
    expect_that(r, unfair[SCHEME_ASM_MEM] < unfair[SCHEME_UNIFORM],
                "epochs by slowdown are fairer than as many for everybody: %.3f, %.3f",
                unfair[SCHEME_ASM_MEM], unfair[SCHEME_UNIFORM]);
    expect_that(r, fast[SCHEME_LATE_UNIFORM] > fast[SCHEME_UNIFORM],
                "epochs cost less if open rows are finished first: %.4f, %.4f",
                fast[SCHEME_LATE_UNIFORM], fast[SCHEME_UNIFORM]);
}

static int run_machines(struct reproduction *r, const struct scheme_machine *some, size_t n,
                        struct scheme_result results[][CONTROL_SCHEMES])
{
    for (size_t m = 0; m < n; m++) {
        int err = run_machine(r, &some[m], results[m]);

        if (err)
            return err;
        fprintf(r->out, "\n%u cores, %u channel%s, %u workload%s of %u million cycles:\n",
                some[m].cores, some[m].channels, some[m].channels > 1 ? "s" : "",
                workloads_of(r, &some[m]), workloads_of(r, &some[m]) > 1 ? "s" : "",
                some[m].mega_cycles);
        scheme_put_results(r, results[m]);
        put_workloads(r, &some[m]);
        expect(r, results[m]);
    }
    if (!r->reduced)
        scheme_put_comparisons(r, some, n, results);
    return 0;
}

int control_table_schemes(struct reproduction *r)
{
    struct scheme_result(*results)[CONTROL_SCHEMES] = calloc(MACHINES, sizeof(*results));
    int err = -ENOMEM;

    fputs("\n## Ways and epochs (Subramanian 2015, sections 7.1 and 7.2)\n", r->out);
    if (results)
        err = run_machines(r, r->reduced ? &reduced_machine : machines, r->reduced ? 1 : MACHINES,
                           results);
    free(results);
    return err;
}
