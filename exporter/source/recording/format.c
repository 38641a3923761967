#include "exporter/source/recording/format.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "exporter/source/recording/fields.h"

/* Sizes of machines, far above what exists: a number beyond is a mistake. */
enum { MAX_CPUS = 65535, MAX_NODES = 4095 };

static const char *take_key(struct fields *in, const char *name)
{
    const char *key = fields_text(in, name, FIELD_REQUIRED);
    size_t len = strlen(key);
    if (len == 0 || len > RECORDING_MAX_KEY)
        fields_fail(in, "%s: \"%s\" must have 1 to %d bytes", in->line, name, RECORDING_MAX_KEY);
    return key;
}

/* Where "cpu" is optional; -1: it is not there. */
static int take_cpu(struct fields *in)
{
    return fields_has(in, "cpu") ? fields_int(in, "cpu", FIELD_REQUIRED, MAX_CPUS) : -1;
}

static void parse_header(struct fields *in, struct recording_line *out)
{
    struct machine *machine = &out->header.machine;
    uint64_t version = fields_whole(in, "recording", FIELD_REQUIRED);
    if (version != 1)
        fields_fail(in, "recording version %llu is not supported; only version 1 is",
                    (unsigned long long)version);
    out->header.interval_ns = fields_whole(in, "interval_ns", FIELD_REQUIRED);
    if (out->header.interval_ns == 0)
        fields_fail(in, "recording: \"interval_ns\" must not be 0");

    in->object = fields_member(in, "machine", FIELD_REQUIRED);
    in->line = "machine";
    if (!json_is_object(in->object)) {
        fields_fail(in, "recording: \"machine\" must be an object");
        return;
    }
    const char *name = fields_text(in, "microarchitecture", FIELD_OPTIONAL);
    if (strlen(name) >= sizeof machine->microarchitecture)
        fields_fail(in, "machine: \"microarchitecture\" is longer than %zu bytes",
                    sizeof machine->microarchitecture - 1);
    else
        memcpy(machine->microarchitecture, name, strlen(name) + 1);
    machine->base_frequency_hz = fields_real(in, "base_frequency_hz", FIELD_OPTIONAL, 0);
    machine->cache_cycles = fields_real(in, "cache_cycles", FIELD_OPTIONAL, 0);
    machine->cache_seconds = fields_real(in, "cache_seconds", FIELD_OPTIONAL, 0);
    machine->l2_fill_cycles = fields_real(in, "l2_fill_cycles", FIELD_OPTIONAL, 0);
    machine->l3_fill_cycles = fields_real(in, "l3_fill_cycles", FIELD_OPTIONAL, 0);
    machine->llc_hit_cycles = fields_real(in, "llc_hit_cycles", FIELD_OPTIONAL, 0);
    machine->cas_latency_seconds = fields_real(in, "cas_latency_seconds", FIELD_OPTIONAL, 0);
    machine->own_events = fields_flag(in, "own_events");
    machine->guest = fields_flag(in, "guest");
    machine->sockets = fields_int(in, "sockets", FIELD_OPTIONAL, MAX_NODES);
    machine->numa_nodes = fields_int(in, "numa_nodes", FIELD_OPTIONAL, MAX_NODES);
    machine->cpus = fields_int(in, "cpus", FIELD_OPTIONAL, MAX_CPUS);
    machine->pmem_dimms = fields_int(in, "pmem_dimms", FIELD_OPTIONAL, MAX_CPUS);
    topology_parse(in, machine);
}

static void parse_container(struct fields *in, struct recording_line *out)
{
    struct recording_container *container = &out->container;
    fields_enter(in);
    container->key = take_key(in, "key");
    container->cgroup = fields_text(in, "cgroup", FIELD_OPTIONAL);
    container->id = fields_text(in, "id", FIELD_OPTIONAL);
    container->namespace_ = fields_text(in, "namespace", FIELD_OPTIONAL);
    container->pod = fields_text(in, "pod", FIELD_OPTIONAL);
    container->container = fields_text(in, "container", FIELD_OPTIONAL);
    container->image = fields_text(in, "image", FIELD_OPTIONAL);
    container->pod_uid = fields_text(in, "pod_uid", FIELD_OPTIONAL);
    container->runtime = fields_text(in, "runtime", FIELD_OPTIONAL);
    container->qos_class = fields_text(in, "qos_class", FIELD_OPTIONAL);
    container->pending = fields_flag(in, "pending");
    container->found_mono_ns = fields_whole(in, "found_mono_ns", FIELD_OPTIONAL);
}

static void parse_unit(struct fields *in, struct recording_line *out)
{
    fields_enter(in);
    take_key(in, "key");
    fields_word(in, "key", out->unit.key, sizeof out->unit.key);
    fields_word(in, "kind", out->unit.kind, sizeof out->unit.kind);
    out->unit.socket = fields_int(in, "socket", FIELD_REQUIRED, MAX_NODES);
    out->unit.imc = fields_int(in, "imc", FIELD_REQUIRED, MAX_NODES);
    out->unit.cache_bytes = fields_whole(in, "cache_bytes", FIELD_OPTIONAL);
}

static void parse_thread(struct fields *in, struct recording_line *out)
{
    fields_enter(in);
    take_key(in, "key");
    fields_word(in, "key", out->thread.key, sizeof out->thread.key);
    fields_word(in, "kind", out->thread.kind, sizeof out->thread.kind);
    out->thread.initiator_numa_node =
        fields_int(in, "initiator_numa_node", FIELD_REQUIRED, MAX_NODES);
    out->thread.target_numa_node = fields_int(in, "target_numa_node", FIELD_REQUIRED, MAX_NODES);
    out->thread.cpu = take_cpu(in);
}

static void parse_tick(struct fields *in, struct recording_line *out)
{
    out->tick.number = fields_whole(in, "tick", FIELD_REQUIRED);
    if (out->tick.number == 0)
        fields_fail(in, "tick: numbers start at 1");
    out->tick.mono_ns = fields_whole(in, "mono_ns", FIELD_REQUIRED);
    out->tick.wall_ns = fields_whole(in, "wall_ns", FIELD_REQUIRED);
}

static void parse_values(struct fields *in, struct recording_read *read)
{
    const struct group_desc *desc = &group_descs[read->group];
    json_t *values = fields_member(in, "values", FIELD_REQUIRED);
    if (!json_is_object(values)) {
        fields_fail(in, "read: \"values\" must be an object");
        return;
    }
    for (size_t i = 0; i < desc->n; i++) {
        const char *role = role_name(desc->roles[i]);
        const json_t *value = json_object_get(values, role);
        if (!value)
            continue;
        read->values[i] = fields_whole_value(in, role, value);
        read->present |= 1u << i;
    }
}

static void parse_read(struct fields *in, struct recording_line *out)
{
    struct recording_read *read = &out->read;
    read->key = take_key(in, "read");
    const char *group = fields_text(in, "group", FIELD_REQUIRED);
    read->enabled_ns = fields_whole(in, "enabled_ns", FIELD_REQUIRED);
    read->running_ns = fields_whole(in, "running_ns", FIELD_REQUIRED);
    read->cpu = take_cpu(in);
    if (in->failed)
        return;
    if (group_parse(group, strlen(group), &read->group) || !recording_has_times(read->group)) {
        fields_fail(in, "read: unknown group \"%s\"", group);
        return;
    }
    parse_values(in, read);
}

static void parse_activity(struct fields *in, struct recording_line *out)
{
    struct recording_read *read = &out->read;
    read->key = take_key(in, "activity");
    read->group = GROUP_ACTIVITY;
    read->cpu = take_cpu(in);
    read->present = 1;
    read->values[0] = fields_whole(in, "cpu_time_ns", FIELD_REQUIRED);
}

static void parse_pages(struct fields *in, struct recording_line *out)
{
    struct recording_read *read = &out->read;
    read->key = take_key(in, "pages");
    read->group = GROUP_PAGES;
    read->cpu = fields_int(in, "numa_node", FIELD_REQUIRED, MAX_NODES);
    read->present = 1;
    read->values[0] = fields_whole(in, "bytes", FIELD_REQUIRED);
}

static enum access take_access(struct fields *in)
{
    enum access access = ACCESS_STORE;
    if (access_parse(fields_text(in, "access", FIELD_REQUIRED), &access))
        fields_fail(in, "%s: \"access\" must be \"store\" or \"load\"", in->line);
    return access;
}

static enum medium take_medium(struct fields *in)
{
    enum medium medium = MEDIUM_UNKNOWN;
    const char *text = fields_text(in, "medium", FIELD_OPTIONAL);
    if (*text && medium_parse(text, &medium))
        fields_fail(in, "%s: \"medium\" must be \"nvmm\", \"other\" or \"unknown\"", in->line);
    return medium;
}

/* Why the bytes of an access are not known. */
static enum access_size take_size(struct fields *in)
{
    enum access_size size = ACCESS_SIZE_UNREADABLE;
    const char *text = fields_text(in, "size", FIELD_OPTIONAL);
    if (*text && (access_size_parse(text, &size) || size == ACCESS_SIZE_KNOWN))
        fields_fail(in, "%s: \"size\" must say why there are no bytes", in->line);
    return size;
}

static void parse_sample(struct fields *in, struct recording_line *out)
{
    struct recording_sample *line = &out->sample;
    struct access_sample *sample = &line->sample;
    line->key = take_key(in, "sample");
    line->timed = fields_has(in, "mono_ns");
    line->period = fields_whole(in, "period", FIELD_OPTIONAL);
    sample->time_ns = fields_whole(in, "mono_ns", FIELD_OPTIONAL);
    sample->ip = fields_whole(in, "ip", FIELD_OPTIONAL);
    sample->address = fields_whole(in, "addr", FIELD_OPTIONAL);
    sample->pid = (uint32_t)fields_int(in, "pid", FIELD_OPTIONAL, INT_MAX);
    sample->tid = (uint32_t)fields_int(in, "tid", FIELD_OPTIONAL, INT_MAX);
    sample->access = take_access(in);
    sample->medium = take_medium(in);
    sample->bytes = (uint32_t)fields_int(in, "bytes", FIELD_OPTIONAL, INT_MAX);
    sample->size = sample->bytes > 0 ? ACCESS_SIZE_KNOWN : take_size(in);
}

static void parse_lost(struct fields *in, struct recording_line *out)
{
    struct recording_lost *lost = &out->lost;
    lost->count = fields_whole(in, "lost", FIELD_REQUIRED);
    lost->access = take_access(in);
    lost->throttles = fields_whole(in, "throttles", FIELD_OPTIONAL);
    lost->period = fields_whole(in, "period", FIELD_OPTIONAL);
    lost->settled = fields_has(in, "settled_ns");
    lost->settled_ns = fields_whole(in, "settled_ns", FIELD_OPTIONAL);
}

static void parse_probe(struct fields *in, struct recording_line *out)
{
    fields_enter(in);
    out->probe.initiator_numa_node =
        fields_int(in, "initiator_numa_node", FIELD_REQUIRED, MAX_NODES);
    out->probe.target_numa_node = fields_int(in, "target_numa_node", FIELD_REQUIRED, MAX_NODES);
    out->probe.latency_ns = fields_real(in, "latency_ns", FIELD_REQUIRED, 0);
    if (out->probe.latency_ns == 0)
        fields_fail(in, "probe: \"latency_ns\" must not be 0");
    out->probe.llc_hit_ns = fields_real(in, "llc_hit_ns", FIELD_OPTIONAL, 0);
    out->probe.l2_hit_ns = fields_real(in, "l2_hit_ns", FIELD_OPTIONAL, 0);
    out->probe.cpu = take_cpu(in);
}

static void parse_gone(struct fields *in, struct recording_line *out)
{
    out->gone.key = take_key(in, "gone");
}

static void parse_mark(struct fields *in, struct recording_line *out)
{
    out->mark.why = take_key(in, "mark");
    out->mark.key = fields_text(in, "key", FIELD_OPTIONAL);
    if (strlen(out->mark.key) > RECORDING_MAX_KEY)
        fields_fail(in, "mark: \"%s\" must have at most %d bytes", out->mark.key,
                    RECORDING_MAX_KEY);
}

static void parse_learned(struct fields *in, struct recording_line *out)
{
    const char *hex = out->learned.hex = fields_text(in, "learned", FIELD_REQUIRED);
    size_t len = strlen(hex);
    if (len % 2 != 0 || len > 2 * RECORDING_LEARNED_PIECE || strspn(hex, "0123456789abcdef") != len)
        fields_fail(in, "learned: must have at most %d bytes as hexadecimal digits",
                    RECORDING_LEARNED_PIECE);
}

static void parse_truth(struct fields *in, struct recording_line *out)
{
    fields_enter(in);
    out->truth.key = take_key(in, "key");
    out->truth.tick = fields_whole(in, "tick", FIELD_OPTIONAL);
    out->truth.latency_ns = fields_real(in, "latency_ns", FIELD_OPTIONAL, NAN);
    out->truth.slowdown = fields_real(in, "slowdown", FIELD_OPTIONAL, NAN);
    out->truth.nvmm_store_bytes = fields_whole(in, "nvmm_store_bytes", FIELD_OPTIONAL);
}

struct line_type {
    const char *key; /* whose presence makes the line what it is */
    enum recording_kind kind;
    void (*parse)(struct fields *in, struct recording_line *out);
};

/* The frequent ones first. */
static const struct line_type line_types[] = {
    {"read", RECORDING_READ, parse_read},
    {"activity", RECORDING_READ, parse_activity},
    {"sample", RECORDING_SAMPLE, parse_sample},
    {"truth", RECORDING_TRUTH, parse_truth},
    {"tick", RECORDING_TICK, parse_tick},
    {"container", RECORDING_CONTAINER, parse_container},
    {"gone", RECORDING_GONE, parse_gone},
    {"probe", RECORDING_PROBE, parse_probe},
    {"lost", RECORDING_LOST, parse_lost},
    {"recording", RECORDING_HEADER, parse_header},
    {"unit", RECORDING_UNIT, parse_unit},
    {"thread", RECORDING_THREAD, parse_thread},
    {"pages", RECORDING_READ, parse_pages},
    {"mark", RECORDING_MARK, parse_mark},
    {"learned", RECORDING_LEARNED, parse_learned},
};

/* NULL when no first-class key is there, or (with in->failed) more than one. */
static const struct line_type *find_type(struct fields *in)
{
    const struct line_type *found = NULL;
    const char *key;
    json_t *value;
    json_object_foreach(in->object, key, value)
    {
        for (size_t i = 0; i < sizeof line_types / sizeof *line_types; i++) {
            if (strcmp(key, line_types[i].key) != 0)
                continue;
            if (found) {
                fields_fail(in, "a line cannot be both \"%s\" and \"%s\"", found->key, key);
                return NULL;
            }
            found = &line_types[i];
        }
    }
    return found;
}

int recording_parse_line(const char *text, size_t len, struct recording_line *out, char *error,
                         size_t error_size)
{
    struct fields in = {.error = error, .error_size = error_size};
    struct recording_line line = {.kind = RECORDING_UNKNOWN};
    json_t *root = fields_load(&in, text, len);
    if (!in.failed) {
        const struct line_type *type = find_type(&in);
        if (type) {
            in.line = type->key;
            line.kind = type->kind;
            type->parse(&in, &line);
        }
    }
    if (in.failed) {
        json_decref(root);
        return -EINVAL;
    }
    line.owner = root;
    *out = line;
    return 0;
}

void recording_line_release(struct recording_line *line)
{
    json_decref(line->owner);
    line->owner = NULL;
}
