#include "tests/simnode/scenario/scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simnode/scenario/parts.h"

#define S(member) offsetof(struct scenario, member)

static const struct field top_fields[] = {
    {"scenario", FIELD_OTHER, 0, 0, 0},
    {"seed", FIELD_INT, S(seed), 0, 1e15},
    {"ticks", FIELD_INT, S(ticks), 1, 1e9},
    {"tick_cycles", FIELD_INT, S(tick_cycles), 1000, 1e13},
    {"stretch", FIELD_INT, S(stretch), 1, 1e6},
    {"epochs", FIELD_OTHER, 0, 0, 0},
    {"ats_sets", FIELD_INT, S(ats_sets), 0, 1 << 20},
    {"truth_slowdown", FIELD_BOOL, S(truth_slowdown), 0, 0},
    {"truth_caused", FIELD_BOOL, S(truth_caused), 0, 0},
    {"monitoring_groups", FIELD_BOOL, S(monitoring_groups), 0, 0},
    {"frequency_changes", FIELD_OTHER, 0, 0, 0},
    {"effects", FIELD_OTHER, 0, 0, 0},
    {"machine", FIELD_OTHER, 0, 0, 0},
    {"classes", FIELD_OTHER, 0, 0, 0},
    {"workloads", FIELD_OTHER, 0, 0, 0},
    {"containers", FIELD_OTHER, 0, 0, 0},
    {"actions", FIELD_OTHER, 0, 0, 0},
};

static const struct field epoch_fields[] = {
    {"length_cycles", FIELD_INT, S(epoch_cycles), 100, 1e12},
    {"order", FIELD_OTHER, 0, 0, 0},
};

#define E(member)                                                                                  \
    {                                                                                              \
#member, FIELD_BOOL, offsetof(struct effects_spec, member), 0, 0                           \
    }
static const struct field effect_fields[] = {
    E(mabs), E(super_queue),       E(llc_busy),         E(dirty_evictions),
    E(tlb),  E(remote_cache_hits), E(prefetch_merging),
};

static const struct field class_fields[] = {
    {"name", FIELD_TEXT, offsetof(struct class_spec, name), 0, 0},
    {"llc_ways", FIELD_OTHER, 0, 0, 0},
    {"mba_percent", FIELD_REAL, offsetof(struct class_spec, mba_percent), 0.1, 100},
};

static const struct field change_fields[] = {
    {"tick", FIELD_INT, offsetof(struct frequency_change, tick), 1, 1e9},
    {"core_frequency_hz", FIELD_REAL, offsetof(struct frequency_change, core_hz), 1e6, 1e11},
};

static int read_epochs(struct field_reader *reader, json_t *object, struct scenario *out)
{
    json_t *order = json_object_get(object, "order");
    const char *name = json_string_value(order);

    if (!object)
        return 0;
    field_enter(reader, "epochs", 0);
    int err = fields_read(reader, object, epoch_fields, FIELD_COUNT(epoch_fields), out);
    if (!err && out->epoch_cycles == 0)
        err = field_error(reader, "length_cycles", "must be given");
    if (!err && out->tick_cycles % out->epoch_cycles != 0)
        err = field_error(reader, "length_cycles", "tick_cycles must be a multiple of it");
    if (!err && order) {
        if (name && strcmp(name, "round_robin") == 0)
            out->epoch_order = EPOCHS_ROUND_ROBIN;
        else if (!name || strcmp(name, "random") != 0)
            err = field_error(reader, "order", "must be \"random\" or \"round_robin\"");
    }
    field_leave(reader);
    return err;
}

int scenario_read_ways(struct field_reader *reader, json_t *value,
                       const struct machine_spec *machine, uint32_t *out)
{
    const char *text = json_string_value(value);
    char *end = NULL;

    if (!value)
        return 0;

    unsigned long mask = text ? strtoul(text, &end, 16) : 0;

    if (!text || *text == '\0' || *end || mask == 0 || mask >> machine->llc.ways)
        return field_error(reader, "llc_ways", "must be a hexadecimal mask of the %lld ways",
                           (long long)machine->llc.ways);
    *out = (uint32_t)mask;
    return 0;
}

static int read_classes(struct field_reader *reader, json_t *array, struct scenario *out)
{
    size_t n = json_array_size(array);
    int err = 0;

    if (!array)
        return 0;
    if (!json_is_array(array))
        return field_error(reader, "classes", "must be a list");
    out->classes = calloc(n + 1, sizeof(*out->classes));
    if (!out->classes)
        return -ENOMEM;
    field_enter(reader, "classes", 0);
    for (size_t i = 0; !err && i < n; i++) {
        struct class_spec *class = &out->classes[out->n_classes++];
        json_t *object = json_array_get(array, i);

        field_enter(reader, NULL, i);
        class->llc_ways = 0xffffffff;
        class->mba_percent = 100;
        err = fields_read(reader, object, class_fields, FIELD_COUNT(class_fields), class);
        if (!err && !class->name)
            err = field_error(reader, "name", "must be given");
        if (!err)
            err = scenario_read_ways(reader, json_object_get(object, "llc_ways"), &out->machine,
                                     &class->llc_ways);
        field_leave(reader);
    }
    field_leave(reader);
    return err;
}

static int read_changes(struct field_reader *reader, json_t *array, struct scenario *out)
{
    size_t n = json_array_size(array);
    int err = 0;

    if (!array)
        return 0;
    out->frequency_changes = calloc(n + 1, sizeof(*out->frequency_changes));
    if (!out->frequency_changes)
        return -ENOMEM;
    field_enter(reader, "frequency_changes", 0);
    for (size_t i = 0; !err && i < n; i++) {
        struct frequency_change *change = &out->frequency_changes[out->n_frequency_changes++];

        field_enter(reader, NULL, i);
        err = fields_read(reader, json_array_get(array, i), change_fields,
                          FIELD_COUNT(change_fields), change);
        if (!err && (!change->tick || change->core_hz <= 0))
            err = field_error(reader, NULL, "needs tick and core_frequency_hz");
        field_leave(reader);
    }
    field_leave(reader);
    return err;
}

static int read_effects(struct field_reader *reader, json_t *object, struct scenario *out)
{
    if (!object)
        return 0;
    field_enter(reader, "effects", 0);
    int err = fields_read(reader, object, effect_fields, FIELD_COUNT(effect_fields), &out->effects);
    field_leave(reader);
    return err;
}

/* What an alone run depends on beside its container. */
static char *machine_text(json_t *root)
{
    json_t *both = json_object();
    char *text = NULL;

    for (const char *const *key =
             (const char *const[]){"machine", "effects", "frequency_changes", "classes", NULL};
         both && *key; key++)
        if (json_object_get(root, *key))
            json_object_set(both, *key, json_object_get(root, *key));
    if (both)
        text = json_dumps(both, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(both);
    return text;
}

static int read_all(struct field_reader *reader, json_t *root, const char *folder,
                    struct scenario *out)
{
    if (json_is_object(root) && json_integer_value(json_object_get(root, "scenario")) != 1)
        return field_error(reader, "scenario", "must be 1, the format's version");
    int err = fields_read(reader, root, top_fields, FIELD_COUNT(top_fields), out);
    if (!err)
        err = scenario_read_machine(reader, json_object_get(root, "machine"), &out->machine);
    if (!err)
        err = read_effects(reader, json_object_get(root, "effects"), out);
    if (!err)
        err = read_epochs(reader, json_object_get(root, "epochs"), out);
    if (!err)
        err = read_changes(reader, json_object_get(root, "frequency_changes"), out);
    if (!err)
        err = read_classes(reader, json_object_get(root, "classes"), out);
    if (!err)
        err = scenario_read_workloads(reader, json_object_get(root, "workloads"), folder, out);
    if (!err)
        err = scenario_read_containers(reader, json_object_get(root, "containers"), out);
    if (!err)
        err = scenario_read_actions(reader, json_object_get(root, "actions"), out);
    if (!err &&
        (double)out->ticks * (double)out->tick_cycles > SCENARIO_MAX_SECONDS * out->machine.core_hz)
        err = field_error(reader, "ticks", "the run lasts more than an hour of simulated time");
    if (!err && (double)out->ticks * (double)out->tick_cycles * (double)out->stretch >
                    SCENARIO_MAX_STRETCHED_SECONDS * out->machine.core_hz)
        err = field_error(reader, "stretch", "the recording lasts more than thirty days");
    if (!err && out->ats_sets &&
        (uint64_t)out->ats_sets > (uint64_t)(out->machine.llc.bytes / 64 / out->machine.llc.ways))
        err = field_error(reader, "ats_sets", "the last-level cache has fewer sets");
    if (!err && out->truth_slowdown && out->n_frequency_changes)
        err = field_error(reader, "truth_slowdown",
                          "is not defined where the frequency changes: an alone run has one");
    if (!err && !(out->machine_text = machine_text(root)))
        err = -ENOMEM;
    return err;
}

int scenario_parse(const char *name, const char *text, size_t len, struct scenario **out,
                   char *error, size_t error_size)
{
    const char *slash = strrchr(name, '/');
    char *folder = strndup(name, slash ? (size_t)(slash + 1 - name) : 0);
    char *copy = strndup(text, len);
    struct scenario *scenario = calloc(1, sizeof(*scenario));
    struct field_reader reader = {
        .name = name, .text = copy, .len = len, .error = error, .error_size = error_size};
    json_error_t problem;
    json_t *root = NULL;
    int err = -ENOMEM;

    *error = '\0';
    if (!folder || !copy || !scenario)
        goto out;
    root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &problem);
    if (!root) {
        snprintf(error, error_size, "%s:%d: %s", name, problem.line > 0 ? problem.line : 1,
                 problem.text);
        err = -EINVAL;
        goto out;
    }
    scenario->seed = 1;
    scenario->ticks = 10;
    scenario->tick_cycles = 5000000;
    scenario->stretch = 1;
    err = read_all(&reader, root, folder, scenario);
out:
    if (err && !*error)
        snprintf(error, error_size, "%s: %s", name, strerror(-err));
    json_decref(root);
    free(folder);
    free(copy);
    if (err)
        scenario_free(scenario);
    else
        *out = scenario;
    return err;
}

static int read_file(const char *path, char **out, size_t *len)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t used = 0, cap = 0, n;
    int err = 0;

    if (!file)
        return -errno;
    do {
        if (cap - used < 4096) {
            char *bigger = realloc(text, cap * 2 + 8192);

            if (!bigger) {
                err = -ENOMEM;
                break;
            }
            text = bigger;
            cap = cap * 2 + 8192;
        }
        n = fread(text + used, 1, cap - used, file);
        used += n;
    } while (n > 0);
    if (!err && ferror(file))
        err = errno ? -errno : -EIO;
    fclose(file);
    if (err) {
        free(text);
        return err;
    }
    *out = text;
    *len = used;
    return 0;
}

int scenario_read(const char *path, struct scenario **out, char *error, size_t error_size)
{
    char *text = NULL;
    size_t len = 0;
    int err = read_file(path, &text, &len);

    if (err) {
        snprintf(error, error_size, "%s: %s", path, strerror(-err));
        return err;
    }
    err = scenario_parse(path, text, len, out, error, error_size);
    free(text);
    return err;
}

static void free_workload(struct workload_spec *spec)
{
    for (size_t i = 0; spec->phases && i < spec->n_phases; i++)
        free(spec->phases[i].workload);
    free(spec->phases);
    free(spec->name);
    free(spec->file);
    free(spec->text);
    trace_free(spec->trace);
}

static void free_container(struct container_spec *spec)
{
    free(spec->key);
    free(spec->namespace_);
    free(spec->pod);
    free(spec->container);
    free(spec->id);
    free(spec->cpus);
    free(spec->memory);
    free(spec->pauses);
}

void scenario_free(struct scenario *scenario)
{
    if (!scenario)
        return;
    for (size_t i = 0; i < scenario->n_workloads; i++)
        free_workload(&scenario->workloads[i]);
    for (size_t i = 0; i < scenario->n_containers; i++)
        free_container(&scenario->containers[i]);
    for (size_t i = 0; i < scenario->n_classes; i++)
        free(scenario->classes[i].name);
    free(scenario->workloads);
    free(scenario->containers);
    free(scenario->classes);
    free(scenario->frequency_changes);
    free(scenario->actions);
    free(scenario->machine.microarchitecture);
    free(scenario->machine_text);
    free(scenario);
}
