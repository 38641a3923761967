/* The workloads of a scenario. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simnode/scenario/parts.h"

#define W(member) offsetof(struct workload_spec, member)

static const struct field workload_fields[] = {
    {"kind", FIELD_OTHER, 0, 0, 0},
    {"bytes", FIELD_INT, W(bytes), 64, 1LL << 35},
    {"instructions_per_access", FIELD_REAL, W(instructions_per_access), 1, 1e9},
    {"store_share", FIELD_REAL, W(store_share), 0, 1},
    {"nt_share", FIELD_REAL, W(nt_share), 0, 1},
    {"store_bytes", FIELD_INT, W(store_bytes), 1, 64},
    {"dependence", FIELD_REAL, W(dependence), 0, 1},
    {"streams", FIELD_INT, W(streams), 1, 1024},
    {"stride_bytes", FIELD_INT, W(stride_bytes), 1, 1 << 30},
    {"hot_bytes", FIELD_INT, W(hot_bytes), 64, 1LL << 35},
    {"hot_share", FIELD_REAL, W(hot_share), 0, 1},
    {"sequential", FIELD_BOOL, W(sequential), 0, 0},
    {"shared", FIELD_BOOL, W(shared), 0, 0},
    {"phases", FIELD_OTHER, 0, 0, 0},
    {"file", FIELD_TEXT, W(file), 0, 0},
    {"from_start", FIELD_BOOL, W(from_start), 0, 0},
};

#define P(member) offsetof(struct workload_phase, member)

static const struct field phase_fields[] = {
    {"workload", FIELD_TEXT, P(workload), 0, 0},
    {"instructions", FIELD_INT, P(instructions), 1, 1e15},
};

static const struct {
    const char *name;
    struct workload_spec defaults;
} kinds[] = {
    [WORKLOAD_CHASE] = {"chase", {.bytes = 1 << 28, .instructions_per_access = 1}},
    [WORKLOAD_STREAM] = {"stream", {.bytes = 1 << 28, .instructions_per_access = 4}},
    [WORKLOAD_RANDOM] = {"random", {.bytes = 1 << 28, .instructions_per_access = 8}},
    [WORKLOAD_LOOP] = {"loop", {.bytes = 1 << 20, .instructions_per_access = 8}},
    [WORKLOAD_COMPUTE] = {"compute", {.bytes = 1 << 14, .instructions_per_access = 20}},
    [WORKLOAD_PHASES] = {"phases", {.instructions_per_access = 1}},
    [WORKLOAD_TRACE] = {"trace", {.instructions_per_access = 1}},
    [WORKLOAD_FFT] = {"fft", {.bytes = 1 << 22, .instructions_per_access = 4}},
    [WORKLOAD_RADIX] = {"radix", {.bytes = 1 << 22, .instructions_per_access = 3}},
    [WORKLOAD_LU] = {"lu", {.bytes = 1 << 20, .instructions_per_access = 3}},
    [WORKLOAD_OCEAN] = {"ocean", {.bytes = 1 << 22, .instructions_per_access = 3}},
    [WORKLOAD_HASH] = {"hash",
                       {.bytes = 1 << 22, .instructions_per_access = 8, .store_share = 0.25}},
};

static int read_kind(struct field_reader *reader, json_t *object, struct workload_spec *spec)
{
    const char *name = json_string_value(json_object_get(object, "kind"));

    for (size_t i = 0; name && i < FIELD_COUNT(kinds); i++) {
        if (strcmp(name, kinds[i].name) != 0)
            continue;

        char *own = spec->name;

        *spec = kinds[i].defaults;
        spec->name = own;
        spec->kind = (enum workload_kind)i;
        spec->store_bytes = 8;
        spec->streams = 1;
        spec->stride_bytes = 64;
        return 0;
    }
    return field_error(
        reader, "kind",
        "must be chase, stream, random, loop, compute, phases, trace, fft, radix, lu, "
        "ocean or hash");
}

static int read_phases(struct field_reader *reader, json_t *array, struct workload_spec *spec)
{
    int err = 0;

    if (!json_is_array(array) || json_array_size(array) == 0)
        return field_error(reader, "phases", "must be a list with at least one phase");
    spec->n_phases = json_array_size(array);
    spec->phases = calloc(spec->n_phases, sizeof(*spec->phases));
    if (!spec->phases)
        return -ENOMEM;
    field_enter(reader, "phases", 0);
    for (size_t i = 0; !err && i < spec->n_phases; i++) {
        field_enter(reader, NULL, i);
        err = fields_read(reader, json_array_get(array, i), phase_fields, FIELD_COUNT(phase_fields),
                          &spec->phases[i]);
        if (!err && (!spec->phases[i].workload || !spec->phases[i].instructions))
            err = field_error(reader, NULL, "needs workload and instructions");
        field_leave(reader);
    }
    field_leave(reader);
    return err;
}

static int read_trace(struct field_reader *reader, const char *folder, struct workload_spec *spec)
{
    char path[4096];

    if (!spec->file)
        return field_error(reader, NULL, "a trace needs a file");
    snprintf(path, sizeof(path), "%s%s", spec->file[0] == '/' ? "" : folder, spec->file);
    return trace_read(path, &spec->trace, reader->error, reader->error_size);
}

static int check_workload(struct field_reader *reader, const struct workload_spec *spec)
{
    if (spec->hot_share > 0 && (spec->hot_bytes == 0 || spec->hot_bytes > spec->bytes))
        return field_error(reader, "hot_bytes", "must be given with hot_share, and at most bytes");
    if (spec->kind == WORKLOAD_STREAM && spec->bytes / 64 < spec->streams)
        return field_error(reader, "streams", "more streams than lines");
    if (spec->kind >= WORKLOAD_FFT && spec->bytes < KERNEL_MIN_BYTES)
        return field_error(reader, "bytes", "must be at least %d for a kernel", KERNEL_MIN_BYTES);
    return 0;
}

static int read_workload(struct field_reader *reader, const char *name, json_t *object,
                         const char *folder, struct workload_spec *spec)
{
    spec->name = strdup(name);
    if (!spec->name)
        return -ENOMEM;
    if (!json_is_object(object))
        return field_error(reader, NULL, "must be an object");
    int err = read_kind(reader, object, spec);
    if (!err)
        err = fields_read(reader, object, workload_fields, FIELD_COUNT(workload_fields), spec);
    if (!err && spec->kind == WORKLOAD_PHASES)
        err = read_phases(reader, json_object_get(object, "phases"), spec);
    if (!err && spec->kind == WORKLOAD_TRACE)
        err = read_trace(reader, folder, spec);
    if (!err)
        err = check_workload(reader, spec);
    if (!err && !(spec->text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS)))
        err = -ENOMEM;
    return err;
}

static int resolve_phases(struct field_reader *reader, struct scenario *scenario,
                          struct workload_spec *spec)
{
    for (size_t i = 0; i < spec->n_phases; i++) {
        for (size_t j = 0; j < scenario->n_workloads; j++)
            if (strcmp(scenario->workloads[j].name, spec->phases[i].workload) == 0)
                spec->phases[i].spec = &scenario->workloads[j];
        if (!spec->phases[i].spec || spec->phases[i].spec->kind == WORKLOAD_PHASES) {
            field_enter(reader, spec->name, 0);

            int err = field_error(reader, "phases", "there is no workload \"%s\" without phases",
                                  spec->phases[i].workload);

            field_leave(reader);
            return err;
        }
    }
    return 0;
}

int scenario_read_workloads(struct field_reader *reader, json_t *object, const char *folder,
                            struct scenario *out)
{
    const char *name;
    json_t *value;
    int err = 0;

    field_enter(reader, "workloads", 0);
    if (!json_is_object(object) || json_object_size(object) == 0) {
        err = field_error(reader, NULL, "must be an object with at least one workload");
        goto out;
    }
    out->workloads = calloc(json_object_size(object), sizeof(*out->workloads));
    if (!out->workloads) {
        err = -ENOMEM;
        goto out;
    }
    json_object_foreach(object, name, value)
    {
        field_enter(reader, name, 0);
        err = read_workload(reader, name, value, folder, &out->workloads[out->n_workloads++]);
        field_leave(reader);
        if (err)
            goto out;
    }
    for (size_t i = 0; !err && i < out->n_workloads; i++)
        err = resolve_phases(reader, out, &out->workloads[i]);
out:
    field_leave(reader);
    return err;
}
