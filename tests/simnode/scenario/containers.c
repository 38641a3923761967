/* The containers of a scenario. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simnode/model/rng.h"
#include "tests/simnode/scenario/parts.h"

#define C(member) offsetof(struct container_spec, member)

static const struct field container_fields[] = {
    {"key", FIELD_TEXT, C(key), 0, 0},
    {"namespace", FIELD_TEXT, C(namespace_), 0, 0},
    {"pod", FIELD_TEXT, C(pod), 0, 0},
    {"container", FIELD_TEXT, C(container), 0, 0},
    {"id", FIELD_TEXT, C(id), 0, 0},
    {"probe", FIELD_BOOL, C(probe), 0, 0},
    {"prefetch", FIELD_BOOL, C(prefetch), 0, 0},
    {"workload", FIELD_OTHER, 0, 0, 0},
    {"class", FIELD_OTHER, 0, 0, 0},
    {"cpus", FIELD_OTHER, 0, 0, 0},
    {"memory", FIELD_OTHER, 0, 0, 0},
    {"pauses", FIELD_OTHER, 0, 0, 0},
    {"page_bytes", FIELD_INT, C(page_bytes), 4096, 1 << 30},
    {"start_tick", FIELD_INT, C(start_tick), 0, 1e15},
    {"stop_tick", FIELD_INT, C(stop_tick), 0, 1e15},
    {"seed", FIELD_INT, C(seed), 0, 1e15},
    {"sample_period", FIELD_INT, C(sample_period), 0, 1e12},
    {"wander_cycles", FIELD_INT, C(wander_cycles), 0, 1e12},
};

#define L(member) offsetof(struct placement_spec, member)

static const struct field placement_fields[] = {
    {"node", FIELD_INT, L(node), 0, 7},
    {"medium", FIELD_OTHER, 0, 0, 0},
    {"share", FIELD_REAL, L(share), 0, 1},
};

static const struct field pause_fields[] = {
    {"from_tick", FIELD_INT, offsetof(struct pause_spec, from_tick), 1, 1e15},
    {"to_tick", FIELD_INT, offsetof(struct pause_spec, to_tick), 1, 1e15},
    {"asleep", FIELD_BOOL, offsetof(struct pause_spec, asleep), 0, 0},
};

static int find_workload(struct field_reader *reader, json_t *value, struct scenario *scenario,
                         struct container_spec *spec)
{
    const char *name = json_string_value(value);

    for (size_t i = 0; name && i < scenario->n_workloads; i++)
        if (strcmp(scenario->workloads[i].name, name) == 0)
            spec->workload = &scenario->workloads[i];
    return spec->workload
               ? 0
               : field_error(reader, "workload", "there is no workload \"%s\"", name ? name : "");
}

static int find_class(struct field_reader *reader, json_t *value, struct scenario *scenario,
                      struct container_spec *spec)
{
    const char *name = json_string_value(value);

    if (!value)
        return 0;
    for (size_t i = 0; name && i < scenario->n_classes; i++)
        if (strcmp(scenario->classes[i].name, name) == 0)
            spec->class = &scenario->classes[i];
    return spec->class ? 0
                       : field_error(reader, "class", "there is no class \"%s\"", name ? name : "");
}

static bool cpu_taken(const struct scenario *scenario, const struct container_spec *spec,
                      int64_t cpu)
{
    /* One container may follow another on a CPU, but no two run there at once. */
    for (size_t i = 0; i < scenario->n_containers; i++) {
        const struct container_spec *other = &scenario->containers[i];
        bool apart = (other->stop_tick && other->stop_tick < spec->start_tick) ||
                     (spec->stop_tick && spec->stop_tick < other->start_tick);

        for (size_t j = 0; j < other->n_cpus; j++)
            if (other->cpus[j] == cpu && (other == spec || !apart))
                return true;
    }
    return false;
}

static int read_cpus(struct field_reader *reader, json_t *array, struct scenario *scenario,
                     struct container_spec *spec)
{
    int64_t cpus = scenario->machine.sockets * scenario->machine.cores_per_socket;
    size_t n = json_array_size(array);

    if (n == 0)
        return field_error(reader, "cpus", "must be a list of at least one CPU");
    if (n > 1u << SCENARIO_THREAD_BITS)
        return field_error(reader, "cpus", "are more than the %d threads that a container may have",
                           1 << SCENARIO_THREAD_BITS);
    spec->cpus = calloc(n, sizeof(*spec->cpus));
    if (!spec->cpus)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        json_t *value = json_array_get(array, i);
        int64_t cpu = json_integer_value(value);

        if (!json_is_integer(value) || cpu < 0 || cpu >= cpus)
            return field_error(reader, "cpus", "must be whole numbers from 0 to %lld",
                               (long long)cpus - 1);
        if (cpu_taken(scenario, spec, cpu))
            return field_error(reader, "cpus", "CPU %lld runs another thread already",
                               (long long)cpu);
        spec->cpus[spec->n_cpus++] = cpu;
    }
    return 0;
}

static int read_placement(struct field_reader *reader, json_t *object,
                          const struct machine_spec *machine, struct placement_spec *out)
{
    const char *medium = json_string_value(json_object_get(object, "medium"));

    out->share = 1;
    int err = fields_read(reader, object, placement_fields, FIELD_COUNT(placement_fields), out);
    if (err)
        return err;
    if (out->node >= machine->sockets)
        return field_error(reader, "node", "the machine has %lld node(s)",
                           (long long)machine->sockets);
    if (json_object_get(object, "medium") &&
        (!medium || (strcmp(medium, "dram") != 0 && strcmp(medium, "pmm") != 0)))
        return field_error(reader, "medium", "must be \"dram\" or \"pmm\"");
    out->pmm = medium && strcmp(medium, "pmm") == 0;
    if (out->pmm && machine->pmm.dimms == 0)
        return field_error(reader, "medium", "the machine has no pmm dimms");
    return 0;
}

static int read_memory(struct field_reader *reader, json_t *array, struct scenario *scenario,
                       struct container_spec *spec)
{
    size_t n = array ? json_array_size(array) : 1;
    double sum = 0;
    int err = 0;

    if (n == 0)
        return field_error(reader, "memory", "must be a list of at least one placement");
    spec->memory = calloc(n, sizeof(*spec->memory));
    if (!spec->memory)
        return -ENOMEM;
    spec->n_memory = n;
    if (!array) {
        spec->memory[0] = (struct placement_spec){
            .node = spec->cpus[0] / scenario->machine.cores_per_socket, .share = 1};
        return 0;
    }
    field_enter(reader, "memory", 0);
    for (size_t i = 0; !err && i < n; i++) {
        field_enter(reader, NULL, i);
        err =
            read_placement(reader, json_array_get(array, i), &scenario->machine, &spec->memory[i]);
        sum += spec->memory[i].share;
        field_leave(reader);
    }
    field_leave(reader);
    if (!err && fabs(sum - 1) > 1e-6)
        err = field_error(reader, "memory", "the shares sum to %g, not 1", sum);
    return err;
}

static int read_pauses(struct field_reader *reader, json_t *array, const struct scenario *scenario,
                       struct container_spec *spec)
{
    size_t n = json_array_size(array);
    int err = 0;

    if (!array)
        return 0;
    if (n == 0)
        return field_error(reader, "pauses", "must be a list of at least one pause");
    /* Shadow clocks would take a pause for a delay by neighbours. */
    if (scenario->epoch_cycles || scenario->ats_sets)
        return field_error(reader, "pauses", "are not possible with epochs or ats_sets");
    spec->pauses = calloc(n, sizeof(*spec->pauses));
    if (!spec->pauses)
        return -ENOMEM;
    spec->n_pauses = n;
    field_enter(reader, "pauses", 0);
    for (size_t i = 0; !err && i < n; i++) {
        field_enter(reader, NULL, i);
        err = fields_read(reader, json_array_get(array, i), pause_fields, FIELD_COUNT(pause_fields),
                          &spec->pauses[i]);
        if (!err &&
            (!spec->pauses[i].from_tick || spec->pauses[i].to_tick < spec->pauses[i].from_tick))
            err = field_error(reader, "to_tick", "a pause needs from_tick and a later to_tick");
        field_leave(reader);
    }
    field_leave(reader);
    return err;
}

/* What is not given: a seed from the workload, names from the key. */
static int fill_in(struct container_spec *spec, int64_t seed, bool seed_given)
{
    uint64_t hash = (uint64_t)seed;
    char id[65];

    if (!seed_given) {
        for (const char *c = spec->workload->text; *c; c++)
            hash = mix64(hash ^ (unsigned char)*c);
        spec->seed = (int64_t)(hash >> 16);
    }
    hash = 0;
    for (const char *c = spec->key; *c; c++)
        hash = mix64(hash ^ (unsigned char)*c);
    for (int i = 0; i < 4; i++)
        snprintf(id + 16 * i, 17, "%016llx", (unsigned long long)mix64(hash + (uint64_t)i));
    if (!spec->namespace_)
        spec->namespace_ = strdup("sim");
    if (!spec->pod)
        spec->pod = strdup(spec->key);
    if (!spec->container)
        spec->container = strdup(spec->workload->name);
    if (!spec->id)
        spec->id = strdup(id);
    return spec->namespace_ && spec->pod && spec->container && spec->id ? 0 : -ENOMEM;
}

static int read_container(struct field_reader *reader, json_t *object, struct scenario *scenario,
                          struct container_spec *spec)
{
    spec->page_bytes = 2 << 20;
    spec->prefetch = true;
    int err = fields_read(reader, object, container_fields, FIELD_COUNT(container_fields), spec);
    if (!err && (!spec->key || !*spec->key))
        err = field_error(reader, "key", "must be given");
    for (size_t i = 0; !err && &scenario->containers[i] < spec; i++)
        if (strcmp(scenario->containers[i].key, spec->key) == 0)
            err = field_error(reader, "key", "another container has the key \"%s\"", spec->key);
    if (!err && (spec->page_bytes & (spec->page_bytes - 1)) != 0)
        err = field_error(reader, "page_bytes", "must be a power of two");
    if (!err && (double)spec->wander_cycles > SCENARIO_MAX_SECONDS * scenario->machine.core_hz)
        err = field_error(reader, "wander_cycles", "is more than an hour of simulated time");
    if (!err)
        err = find_workload(reader, json_object_get(object, "workload"), scenario, spec);
    if (!err)
        err = find_class(reader, json_object_get(object, "class"), scenario, spec);
    if (!err)
        err = read_cpus(reader, json_object_get(object, "cpus"), scenario, spec);
    if (!err)
        err = read_memory(reader, json_object_get(object, "memory"), scenario, spec);
    if (!err)
        err = read_pauses(reader, json_object_get(object, "pauses"), scenario, spec);
    if (!err)
        err = fill_in(spec, scenario->seed, json_object_get(object, "seed") != NULL);
    return err;
}

int scenario_read_containers(struct field_reader *reader, json_t *array, struct scenario *out)
{
    size_t n = json_array_size(array);
    int err = 0;

    if (n == 0)
        return field_error(reader, "containers", "must be a list with at least one container");
    if (out->truth_caused && n > SCENARIO_MAX_CAUSED)
        return field_error(reader, "containers", "are more than %d, too many for truth_caused",
                           SCENARIO_MAX_CAUSED);
    if (n > 1u << SCENARIO_CONTAINER_BITS)
        return field_error(reader, "containers", "are more than %d", 1 << SCENARIO_CONTAINER_BITS);
    out->containers = calloc(n, sizeof(*out->containers));
    if (!out->containers)
        return -ENOMEM;
    field_enter(reader, "containers", 0);
    for (size_t i = 0; !err && i < n; i++) {
        field_enter(reader, NULL, i);
        out->n_containers++;
        err = read_container(reader, json_array_get(array, i), out, &out->containers[i]);
        field_leave(reader);
    }
    field_leave(reader);
    return err;
}
