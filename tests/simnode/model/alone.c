#include "tests/simnode/model/alone.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/simnode/model/rng.h"
#include "tests/simnode/model/simnode.h"

/* Between two points of a curve instructions are taken as evenly spread. */
#define STEP_CYCLES 10000ULL
#define MAX_CYCLES 1000000000000ULL

struct alone_run {
    struct alone_run *next;
    char *key;
    struct scenario scenario; /* shares all but 'containers' with the scenario it was made from */
    struct container_spec *containers;
    size_t container;
    struct simnode *node; /* NULL: the curve came from the folder */
    uint64_t *retired;    /* after (i + 1) steps */
    size_t n, cap, saved;
};

struct alone_runs {
    const char *folder;
    struct alone_run *first;
};

int alone_runs_new(const char *folder, struct alone_runs **out)
{
    struct alone_runs *runs = calloc(1, sizeof(*runs));

    if (!runs)
        return -ENOMEM;
    runs->folder = folder;
    *out = runs;
    return 0;
}

/* --- what a run depends on --- */

/* What the file holds, not only its name. */
static void append_trace(json_t *list, const struct workload_spec *spec)
{
    if (spec->trace)
        json_array_append_new(list, json_sprintf("%016" PRIx64, spec->trace->digest));
}

static json_t *list_of(const struct container_spec *spec)
{
    json_t *list = json_array();

    for (size_t i = 0; i < spec->n_cpus; i++)
        json_array_append_new(list, json_integer(spec->cpus[i]));
    for (size_t i = 0; i < spec->n_memory; i++)
        json_array_append_new(
            list, json_pack("{s:I,s:b,s:f}", "node", (json_int_t)spec->memory[i].node, "pmm",
                            (int)spec->memory[i].pmm, "share", spec->memory[i].share));
    append_trace(list, spec->workload);
    for (size_t i = 0; i < spec->workload->n_phases; i++) {
        json_array_append_new(list, json_string(spec->workload->phases[i].spec->text));
        append_trace(list, spec->workload->phases[i].spec);
    }
    return list;
}

static char *key_of(const struct scenario *scenario, const struct container_spec *spec)
{
    json_t *key = json_pack(
        "{s:s,s:s,s:s,s:o,s:I,s:I,s:I,s:b}", "machine", scenario->machine_text, "workload",
        spec->workload->text, "class", spec->class ? spec->class->name : "", "lists", list_of(spec),
        "page_bytes", (json_int_t)spec->page_bytes, "seed", (json_int_t)spec->seed, "wander_cycles",
        (json_int_t)spec->wander_cycles, "prefetch", (int)spec->prefetch);
    char *text = key ? json_dumps(key, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

    json_decref(key);
    return text;
}

static int make_scenario(struct alone_run *run, const struct scenario *scenario, size_t container)
{
    run->scenario = *scenario;
    run->container = container;
    run->containers = calloc(scenario->n_containers, sizeof(*run->containers));
    if (!run->containers)
        return -ENOMEM;
    for (size_t i = 0; i < scenario->n_containers; i++) {
        run->containers[i] = scenario->containers[i];
        run->containers[i].stop_tick = 0;
        /* The others never come. */
        run->containers[i].start_tick = i == container ? 0 : INT64_MAX;
        run->containers[i].sample_period = 0;
        run->containers[i].n_pauses = 0;
    }
    run->scenario.containers = run->containers;
    run->scenario.epoch_cycles = 0;
    run->scenario.n_actions = 0;
    return 0;
}

/* --- the folder --- */

static void path_of(const struct alone_runs *runs, const struct alone_run *run, char *out,
                    size_t size)
{
    uint64_t hash = 1;

    for (const char *c = run->key; *c; c++)
        hash = mix64(hash ^ (unsigned char)*c);
    snprintf(out, size, "%s/%016" PRIx64 ".alone", runs->folder, hash);
}

static int append(struct alone_run *run, uint64_t retired)
{
    if (run->n == run->cap) {
        size_t cap = run->cap ? run->cap * 2 : 1024;
        uint64_t *bigger = realloc(run->retired, cap * sizeof(*bigger));

        if (!bigger)
            return -ENOMEM;
        run->retired = bigger;
        run->cap = cap;
    }
    run->retired[run->n++] = retired;
    return 0;
}

/* First line: the key, against collisions; then a number a line. */
static void load(const struct alone_runs *runs, struct alone_run *run)
{
    char path[4096], *line = NULL;
    size_t size = 0;

    if (!runs->folder)
        return;
    path_of(runs, run, path, sizeof(path));
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    ssize_t len = getline(&line, &size, file);
    if (len > 0 && (size_t)len == strlen(run->key) + 1 &&
        strncmp(line, run->key, strlen(run->key)) == 0)
        while (getline(&line, &size, file) > 0 && append(run, strtoull(line, NULL, 10)) == 0)
            ;
    run->saved = run->n;
    free(line);
    fclose(file);
}

static void save(const struct alone_runs *runs, const struct alone_run *run)
{
    char path[4096], temporary[4200];

    if (!runs->folder || run->n <= run->saved)
        return;
    path_of(runs, run, path, sizeof(path));
    snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid());
    FILE *file = fopen(temporary, "w");
    if (!file)
        return;
    fprintf(file, "%s\n", run->key);
    for (size_t i = 0; i < run->n; i++)
        fprintf(file, "%" PRIu64 "\n", run->retired[i]);
    bool bad = ferror(file);
    if (fclose(file) != 0 || bad || rename(temporary, path) != 0)
        unlink(temporary);
}

static void free_run(struct alone_run *run)
{
    simnode_free(run->node);
    free(run->containers);
    free(run->retired);
    free(run->key);
    free(run);
}

void alone_runs_free(struct alone_runs *runs)
{
    if (!runs)
        return;
    while (runs->first) {
        struct alone_run *run = runs->first;

        runs->first = run->next;
        save(runs, run);
        free_run(run);
    }
    free(runs);
}

/* --- running --- */

static int find_run(struct alone_runs *runs, const struct scenario *scenario, size_t container,
                    struct alone_run **out)
{
    char *key = key_of(scenario, &scenario->containers[container]);
    struct alone_run *run;

    if (!key)
        return -ENOMEM;
    for (run = runs->first; run; run = run->next) {
        if (strcmp(run->key, key) == 0) {
            free(key);
            *out = run;
            return 0;
        }
    }
    run = calloc(1, sizeof(*run));
    if (!run || make_scenario(run, scenario, container)) {
        free(run);
        free(key);
        return -ENOMEM;
    }
    run->key = key;
    load(runs, run);
    run->next = runs->first;
    runs->first = run;
    *out = run;
    return 0;
}

static int extend(struct alone_run *run, uint64_t instructions)
{
    int err;

    if (!run->node) {
        /* A curve from the folder cannot be continued, only made anew. */
        run->n = 0;
        err = simnode_new(&run->scenario, &run->node);
        if (err)
            return err;
    }
    while (run->n == 0 || run->retired[run->n - 1] < instructions) {
        struct simnode_truth truth;

        if (run->n * STEP_CYCLES > MAX_CYCLES)
            return -ETIME;
        err = simnode_run_cycles(run->node, STEP_CYCLES);
        if (err)
            return err;
        simnode_truth(run->node, run->container, &truth);
        err = append(run, truth.instructions);
        if (err)
            return err;
    }
    return 0;
}

int alone_cycles(struct alone_runs *runs, const struct scenario *scenario, size_t container,
                 uint64_t instructions, double *cycles)
{
    struct alone_run *run;
    int err = find_run(runs, scenario, container, &run);

    if (!err && (run->n == 0 || run->retired[run->n - 1] < instructions))
        err = extend(run, instructions);
    if (err)
        return err;

    size_t low = 0, high = run->n - 1; /* the first point with that many */

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (run->retired[middle] < instructions)
            low = middle + 1;
        else
            high = middle;
    }

    uint64_t before = low ? run->retired[low - 1] : 0, span = run->retired[low] - before;
    double part = span ? (double)(instructions - before) / (double)span : 0;

    *cycles = ((double)low + part) * (double)STEP_CYCLES;
    return 0;
}
