#include "tests/simnode/model/workload.h"

#include <errno.h>
#include <stdlib.h>

enum { LINE = 64 };

static int init_streams(struct workload *workload)
{
    const struct workload_spec *spec = workload->spec;
    size_t n = (size_t)spec->streams;

    workload->stream_lines = calloc(n, sizeof(*workload->stream_lines));
    if (!workload->stream_lines)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        workload->stream_lines[i] = workload->lines / n * i;
    return 0;
}

static int init_phases(struct workload *workload, uint64_t seed)
{
    const struct workload_spec *spec = workload->spec;

    workload->phases = calloc(spec->n_phases, sizeof(*workload->phases));
    if (!workload->phases)
        return -ENOMEM;
    for (size_t i = 0; i < spec->n_phases; i++) {
        int err = workload_init(&workload->phases[i], spec->phases[i].spec, mix64(seed + i));

        if (err)
            return err;
    }
    workload->phase_left = (uint64_t)spec->phases[0].instructions;
    return 0;
}

static bool is_kernel(enum workload_kind kind)
{
    return kind >= WORKLOAD_FFT;
}

static int init_kernel(struct workload *workload, uint64_t seed)
{
    static const enum kernel_kind kinds[] = {
        [WORKLOAD_FFT] = KERNEL_FFT,     [WORKLOAD_RADIX] = KERNEL_RADIX, [WORKLOAD_LU] = KERNEL_LU,
        [WORKLOAD_OCEAN] = KERNEL_OCEAN, [WORKLOAD_HASH] = KERNEL_HASH,
    };
    const struct workload_spec *spec = workload->spec;

    workload->kernel = malloc(sizeof(*workload->kernel));
    if (!workload->kernel)
        return -ENOMEM;
    kernel_init(workload->kernel, kinds[spec->kind], (uint64_t)spec->bytes, spec->store_share,
                seed);
    return 0;
}

int workload_init(struct workload *workload, const struct workload_spec *spec, uint64_t seed)
{
    int err = 0;

    *workload = (struct workload){.spec = spec};
    rng_seed(&workload->rng, seed);
    workload->lines = spec->bytes >= LINE ? (uint64_t)spec->bytes / LINE : 1;
    /* Gaps are uniform from 0 to twice the mean. */
    workload->gap_range = (uint64_t)(2 * (spec->instructions_per_access - 1) + 0.5) + 1;
    if (spec->kind == WORKLOAD_TRACE && !spec->from_start)
        workload->position = (size_t)rng_below(&workload->rng, spec->trace->n);
    if (spec->kind == WORKLOAD_STREAM)
        err = init_streams(workload);
    else if (spec->kind == WORKLOAD_PHASES)
        err = init_phases(workload, seed);
    else if (is_kernel(spec->kind))
        err = init_kernel(workload, seed);
    if (err)
        workload_release(workload);
    return err;
}

void workload_release(struct workload *workload)
{
    if (workload->phases)
        for (size_t i = 0; i < workload->spec->n_phases; i++)
            workload_release(&workload->phases[i]);
    free(workload->phases);
    free(workload->stream_lines);
    free(workload->kernel);
    *workload = (struct workload){0};
}

/*
 * Element number n of a permutation of 'lines' elements: bits are mixed one to one within the next
 * power of two, again until the result is below 'lines'.
 */
static uint64_t permuted(uint64_t n, uint64_t lines)
{
    unsigned bits = 1;

    while (1ULL << bits < lines)
        bits++;

    uint64_t mask = (1ULL << bits) - 1;

    do {
        n = (n * 0x9e3779b97f4a7c15ULL + 0x7f4a7c15) & mask;
        n ^= n >> (bits + 1) / 2;
        n = (n * 0xbf58476d1ce4e5b9ULL) & mask;
        n ^= n >> (bits + 1) / 2;
    } while (n >= lines);
    return n;
}

static void next_chase(struct workload *workload, struct op *out)
{
    workload->position = workload->position + 1 < workload->lines ? workload->position + 1 : 0;
    out->line = workload->spec->sequential ? workload->position
                                           : permuted(workload->position, workload->lines);
    out->dependent = true;
}

static uint64_t next_stream(struct workload *workload)
{
    const struct workload_spec *spec = workload->spec;
    uint64_t *at = &workload->stream_lines[workload->turn];
    uint64_t line = *at, step = (uint64_t)(spec->stride_bytes + LINE - 1) / LINE;

    *at = line + step < workload->lines ? line + step : (line + step) % workload->lines;
    if (++workload->turn == (size_t)spec->streams)
        workload->turn = 0;
    return line;
}

static uint64_t next_random(struct workload *workload)
{
    const struct workload_spec *spec = workload->spec;
    uint64_t lines = workload->lines;

    if (spec->hot_share > 0 && rng_chance(&workload->rng, spec->hot_share))
        lines = (uint64_t)spec->hot_bytes / LINE;
    return rng_below(&workload->rng, lines ? lines : 1);
}

static void next_kernel(struct workload *workload, struct op *out)
{
    struct kernel_access access;

    kernel_next(workload->kernel, &access);
    out->line = access.byte / LINE;
    out->kind = access.store ? OP_STORE : OP_LOAD;
    out->dependent = access.dependent;
}

static void next_trace(struct workload *workload, struct op *out)
{
    const struct trace *trace = workload->spec->trace;
    const struct trace_access *access = &trace->accesses[workload->position];

    if (workload->owes_writeback) {
        workload->owes_writeback = false;
        *out = (struct op){.line = access->write_line, .kind = OP_WRITEBACK};
    } else {
        *out = (struct op){.bubble = access->bubble, .line = access->read_line, .counts = true};
        workload->owes_writeback = access->has_writeback;
    }
    if (!workload->owes_writeback && ++workload->position == trace->n)
        workload->position = 0;
}

static void next_phase(struct workload *workload, struct op *out)
{
    const struct workload_spec *spec = workload->spec;

    workload_next(&workload->phases[workload->turn], out);

    uint64_t instructions = out->bubble + out->counts;

    if (instructions < workload->phase_left) {
        workload->phase_left -= instructions;
        return;
    }
    if (++workload->turn == spec->n_phases)
        workload->turn = 0;
    workload->phase_left = (uint64_t)spec->phases[workload->turn].instructions;
}

void workload_next(struct workload *workload, struct op *out)
{
    const struct workload_spec *spec = workload->spec;

    if (spec->kind == WORKLOAD_TRACE) {
        next_trace(workload, out);
        return;
    }
    if (spec->kind == WORKLOAD_PHASES) {
        next_phase(workload, out);
        return;
    }
    *out = (struct op){.kind = OP_LOAD, .counts = true};
    if (workload->gap_range > 1)
        out->bubble = rng_below(&workload->rng, workload->gap_range);
    if (workload->kernel) {
        next_kernel(workload, out);
        return;
    }
    switch (spec->kind) {
    case WORKLOAD_CHASE:
        next_chase(workload, out);
        break;
    case WORKLOAD_STREAM:
    case WORKLOAD_LOOP:
        out->line = spec->kind == WORKLOAD_STREAM ? next_stream(workload) : workload->position;
        if (spec->kind == WORKLOAD_LOOP && ++workload->position == workload->lines)
            workload->position = 0;
        break;
    default:
        out->line = next_random(workload);
        break;
    }
    if (spec->store_share > 0 && rng_chance(&workload->rng, spec->store_share)) {
        out->kind = spec->nt_share > 0 && rng_chance(&workload->rng, spec->nt_share) ? OP_NT_STORE
                                                                                     : OP_STORE;
        out->dependent = false;
    } else if (!out->dependent && spec->dependence > 0) {
        out->dependent = rng_chance(&workload->rng, spec->dependence);
    }
}
