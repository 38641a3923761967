#include "tests/research/slowdown_set.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- running --- */

struct work {
    const struct reproduction *reproduction;
    const struct slow_variant *variant;
    unsigned workloads;
    bool plain; /* also without epochs, where there are some */
};

static struct slow_variant without_epochs(const struct slow_variant *variant)
{
    struct slow_variant plain = *variant;

    plain.epoch_cycles = 0;
    return plain;
}

static int run_task(const void *context, unsigned task)
{
    const struct work *work = context;
    const struct slow_range range = slow_range_of(work->variant);
    const struct slow_variant plain = without_epochs(work->variant);
    const char *folder = work->reproduction->folder;
    unsigned n = (unsigned)range.n, workload = (task - n) % work->workloads;
    bool second = task >= n + work->workloads;
    struct slow_alone alone = {0};
    struct slow_run run = {0};
    int err;

    if (task < n) {
        err = slow_alone_get(folder, work->variant, range.first + task, SLOW_ALL_WAYS, &alone);
        slow_alone_release(&alone);
    } else {
        err = slow_run_get(folder, second ? &plain : work->variant, work->reproduction->seed,
                           workload, &run);
        slow_run_release(&run);
    }
    if (!err)
        fprintf(stderr, "%u cores, %u MiB, E %u%s%s%s: run %u is there\n", work->variant->cores,
                work->variant->llc_mib, work->variant->epoch_cycles,
                work->variant->prefetch ? ", prefetcher" : "",
                work->variant->closed_rows ? ", rows closed" : "",
                work->variant->window ? ", small window" : "", task + 1);
    return err;
}

/* Everything that the set needs is in the folder afterwards. */
static int run_all(const struct work *work)
{
    unsigned tasks =
        (unsigned)slow_range_of(work->variant).n + work->workloads * (work->plain ? 2 : 1);

    return run_tasks(work->reproduction->jobs, tasks, run_task, work);
}

/* --- measuring --- */

static bool needs_epochs(int model)
{
    if (model == SLOW_SHADOW_PLAIN || model == SLOW_PASSIVE_SERIAL ||
        model == SLOW_PASSIVE_ALL_SERIAL)
        return false;
    return model == SLOW_ASM || model == SLOW_ASM_SAMPLED || model == SLOW_MISE ||
           model >= SLOW_ONE;
}

/* Fills in the models that are judged on this run. */
static void measure_instance(const struct slow_set *set, const struct slow_run *run, bool plain,
                             unsigned core, const struct slow_alone *alone,
                             struct slow_instance *out)
{
    static const uint64_t zero[SLOW_VALUES];
    double actual = 0, error[SLOW_MODELS] = {0}, bias[SLOW_MODELS] = {0};
    double terms[SLOW_TERMS] = {0};
    unsigned n_terms[SLOW_TERMS] = {0};
    unsigned moved = 0; /* quanta in which it got on; others have no slowdown */

    out->quanta = 0;
    for (unsigned row = set->quantum_rows; row <= run->rows; row += set->quantum_rows) {
        const uint64_t *after = slow_values(run, row - 1, core);
        const uint64_t *before =
            row > set->quantum_rows ? slow_values(run, row - 1 - set->quantum_rows, core) : zero;
        struct slow_quantum quantum;

        slow_estimate(before, after, set->variant.epoch_cycles, alone, &quantum);
        out->quanta++;
        for (int t = 0; t < SLOW_TERMS; t++) {
            terms[t] += isfinite(quantum.terms[t]) ? quantum.terms[t] : 0;
            n_terms[t] += isfinite(quantum.terms[t]);
        }
        if (isfinite(quantum.actual)) {
            actual += quantum.actual;
            moved++;
        } else {
            quantum.actual = NAN;
        }
        for (int m = 0; m < SLOW_MODELS; m++) {
            double e = quantum.estimate[m] / quantum.actual - 1;

            if (needs_epochs(m) == plain)
                continue;
            out->without[m] += isnan(e);
            error[m] += isnan(e) ? 0 : fabs(e);
            bias[m] += isnan(e) ? 0 : e;
        }
    }
    for (int t = 0; !plain && t < SLOW_TERMS; t++)
        out->terms[t] = n_terms[t] ? terms[t] / n_terms[t] : NAN;
    if (plain)
        out->plain_actual = actual / moved;
    else
        out->actual = actual / moved;
    for (int m = 0; m < SLOW_MODELS; m++) {
        double with = out->quanta - out->without[m];

        if (needs_epochs(m) == plain)
            continue;
        out->error[m] = with > 0 ? error[m] / with : NAN;
        out->bias[m] = with > 0 ? bias[m] / with : NAN;
    }
}

int slow_alone_all(const struct reproduction *reproduction, const struct slow_variant *variant,
                   struct slow_alone **out)
{
    struct slow_alone *alone = calloc(slow_n_apps, sizeof(*alone));
    struct slow_range range = slow_range_of(variant);
    int err = alone ? 0 : -ENOMEM;

    for (size_t i = range.first; !err && i < range.first + range.n; i++)
        err = slow_alone_get(reproduction->folder, variant, i, SLOW_ALL_WAYS, &alone[i]);
    *out = alone;
    return err;
}

void slow_alone_free(struct slow_alone *alone)
{
    for (size_t i = 0; alone && i < slow_n_apps; i++)
        slow_alone_release(&alone[i]);
    free(alone);
}

static int measure_set(const struct reproduction *reproduction, bool plain, struct slow_set *set)
{
    const struct slow_variant without = without_epochs(&set->variant);
    struct slow_alone *alone = NULL;
    int err = slow_alone_all(reproduction, &set->variant, &alone);

    set->n = 0;
    set->instances = calloc((size_t)set->workloads * set->variant.cores, sizeof(*set->instances));
    if (!err && !set->instances)
        err = -ENOMEM;
    for (unsigned w = 0; !err && w < set->workloads; w++) {
        struct slow_run run, run_without = {0};
        size_t apps[SLOW_MAX_CORES];

        slow_draw(reproduction->seed, w, &set->variant, apps);
        err = slow_run_get(reproduction->folder, &set->variant, reproduction->seed, w, &run);
        if (err)
            break;
        if (plain)
            err = slow_run_get(reproduction->folder, &without, reproduction->seed, w, &run_without);
        for (unsigned core = 0; !err && core < run.cores; core++) {
            struct slow_instance *instance = &set->instances[set->n++];

            instance->app = apps[core];
            measure_instance(set, &run, false, core, &alone[apps[core]], instance);
            if (plain)
                measure_instance(set, &run_without, true, core, &alone[apps[core]], instance);
        }
        slow_run_release(&run);
        slow_run_release(&run_without);
    }
    slow_alone_free(alone);
    return err;
}

int slow_set_make(const struct reproduction *reproduction, struct slow_variant variant, bool plain,
                  unsigned workloads, unsigned quantum_cycles, struct slow_set *out)
{
    const struct work work = {reproduction, &variant, workloads, plain && variant.epoch_cycles};
    int err = run_all(&work);

    *out = (struct slow_set){.variant = variant,
                             .workloads = workloads,
                             .quantum_rows = quantum_cycles / SLOW_ROW_CYCLES};
    return err ? err : measure_set(reproduction, plain, out);
}

/* --- statistics over instances --- */

bool slow_everyone(const struct slow_instance *instance, double a, double b)
{
    return true;
}

bool slow_of_intensity(const struct slow_instance *instance, double a, double b)
{
    return slow_apps[instance->app].intensity == (enum intensity)a;
}

bool slow_of_sensitivity(const struct slow_instance *instance, double a, double b)
{
    return slow_apps[instance->app].sensitivity == (enum sensitivity)a;
}

bool slow_slowed_between(const struct slow_instance *instance, double a, double b)
{
    return instance->actual >= a && instance->actual < b;
}

bool slow_one_stream(const struct slow_instance *instance, double a, double b)
{
    return strstr(slow_apps[instance->app].workload, "\"streams\":1,") != NULL;
}

bool slow_of_app(const struct slow_instance *instance, double a, double b)
{
    return instance->app == (size_t)a;
}

struct slow_statistics slow_statistics_of(const struct slow_set *set, int model,
                                          slow_chosen *choose, double a, double b)
{
    struct slow_statistics s = {0};
    double sum = 0, squares = 0, bias = 0, actual = 0;
    size_t under = 0;

    for (size_t i = 0; i < set->n; i++) {
        const struct slow_instance *instance = &set->instances[i];
        double error = instance->error[model];

        if (!choose(instance, a, b))
            continue;
        s.quanta += instance->quanta;
        s.without += instance->without[model];
        if (isnan(error))
            continue;
        s.n++;
        sum += error;
        squares += error * error;
        bias += instance->bias[model];
        actual += instance->actual;
        under += error < 0.2;
        if (error > s.largest)
            s.largest = error;
    }
    double n = (double)s.n;

    s.mean = sum / n;
    s.deviation = sqrt(fmax(0, squares / n - s.mean * s.mean));
    s.bias = bias / n;
    s.actual = actual / n;
    s.under_20 = (double)under / n;
    return s;
}

double slow_mean_error(const struct slow_set *set, int model)
{
    return slow_statistics_of(set, model, slow_everyone, 0, 0).mean;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

int slow_quartiles(const struct slow_set *set, struct slow_quartile out[SLOW_QUARTILES])
{
    double *actual = calloc(set->n, sizeof(*actual));

    if (!actual)
        return -ENOMEM;
    for (size_t i = 0; i < set->n; i++)
        actual[i] = set->instances[i].actual;
    qsort(actual, set->n, sizeof(*actual), by_value);
    for (size_t q = 0; q < SLOW_QUARTILES; q++) {
        bool last = q + 1 == SLOW_QUARTILES;
        double to = last ? INFINITY : actual[set->n * (q + 1) / SLOW_QUARTILES];

        out[q] = (struct slow_quartile){.from = actual[set->n * q / SLOW_QUARTILES],
                                        .to = to,
                                        .largest = last ? actual[set->n - 1] : to};
    }
    free(actual);
    return 0;
}
