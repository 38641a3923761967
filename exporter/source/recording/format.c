#include "exporter/source/recording/format.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double two_to_53 = 9007199254740992.0;
static const double two_to_63 = 9223372036854775808.0;

/* The members of one line, taken one by one. The first thing that is wrong sticks. */
struct fields {
    const char *line; /* the first-class key, for messages */
    json_t *object;
    char *error;
    size_t error_size;
    bool failed;
    /* Some integer of the line does not fit jansson's, so all were read as doubles. */
    bool rounded;
};

enum need { REQUIRED, OPTIONAL };

static void fail(struct fields *in, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void fail(struct fields *in, const char *format, ...)
{
    if (in->failed)
        return;
    in->failed = true;
    va_list args;
    va_start(args, format);
    vsnprintf(in->error, in->error_size, format, args);
    va_end(args);
}

static json_t *member(struct fields *in, const char *key, enum need need)
{
    json_t *value = json_object_get(in->object, key);

    if (!value && need == REQUIRED)
        fail(in, "%s: \"%s\" is missing", in->line, key);
    return value;
}

static const char *take_text(struct fields *in, const char *key, enum need need)
{
    json_t *value = member(in, key, need);

    if (!value)
        return "";
    if (!json_is_string(value)) {
        fail(in, "%s: \"%s\" must be a string", in->line, key);
        return "";
    }
    return json_string_value(value);
}

static const char *take_key(struct fields *in, const char *name)
{
    const char *key = take_text(in, name, REQUIRED);
    size_t len = strlen(key);

    if (len == 0 || len > RECORDING_MAX_KEY)
        fail(in, "%s: \"%s\" must have 1 to %d bytes", in->line, name, RECORDING_MAX_KEY);
    return key;
}

static void take_word(struct fields *in, const char *key, char *out, size_t size)
{
    const char *text = take_text(in, key, REQUIRED);

    if (strlen(text) >= size)
        fail(in, "%s: \"%s\" is longer than %zu bytes", in->line, key, size - 1);
    else
        memcpy(out, text, strlen(text) + 1);
}

static bool take_flag(struct fields *in, const char *key)
{
    json_t *value = member(in, key, OPTIONAL);

    if (value && !json_is_boolean(value))
        fail(in, "%s: \"%s\" must be true or false", in->line, key);
    return value && json_is_true(value);
}

/* A whole number from 0 to 2^63, written as an integer or as a real. */
static uint64_t whole_value(struct fields *in, const char *key, const json_t *value)
{
    if (json_is_integer(value)) {
        json_int_t whole = json_integer_value(value);
        if (whole < 0)
            fail(in, "%s: \"%s\" is negative", in->line, key);
        return (uint64_t)whole;
    }
    if (!json_is_real(value)) {
        fail(in, "%s: \"%s\" must be a number", in->line, key);
        return 0;
    }
    double real = json_real_value(value);
    if (real < 0)
        fail(in, "%s: \"%s\" is negative", in->line, key);
    else if (!(real <= two_to_63))
        fail(in, "%s: \"%s\" is larger than 2^63", in->line, key);
    else if (real != floor(real))
        fail(in, "%s: \"%s\" must be a whole number", in->line, key);
    else if (in->rounded && real > two_to_53 && real < two_to_63)
        fail(in, "%s: \"%s\" beside an integer larger than 2^63 cannot be read exactly", in->line,
             key);
    else
        return (uint64_t)real;
    return 0;
}

static uint64_t take_whole(struct fields *in, const char *key, enum need need)
{
    json_t *value = member(in, key, need);

    return value ? whole_value(in, key, value) : 0;
}

static int take_int(struct fields *in, const char *key, enum need need, int max)
{
    uint64_t value = take_whole(in, key, need);

    if (value > (uint64_t)max)
        fail(in, "%s: \"%s\" is larger than %d", in->line, key, max);
    return in->failed ? 0 : (int)value;
}

/* A finite number that is not negative; 'absent' when it is not there. */
static double take_real(struct fields *in, const char *key, enum need need, double absent)
{
    json_t *value = member(in, key, need);

    if (!value)
        return absent;
    if (!json_is_number(value)) {
        fail(in, "%s: \"%s\" must be a number", in->line, key);
        return absent;
    }
    double real = json_number_value(value);
    if (!isfinite(real) || real < 0)
        fail(in, "%s: \"%s\" is negative", in->line, key);
    return real;
}

/* Sizes of machines, far above what exists: a number beyond is a mistake. */
enum { MAX_CPUS = 65535, MAX_NODES = 4095 };

/* Lines such as {"unit":{...}}: their members are inside. */
static void enter(struct fields *in)
{
    json_t *inner = json_object_get(in->object, in->line);

    if (!json_is_object(inner))
        fail(in, "\"%s\" must be an object", in->line);
    in->object = inner;
}

static void parse_header(struct fields *in, struct recording_line *out)
{
    struct machine *machine = &out->header.machine;

    uint64_t version = take_whole(in, "recording", REQUIRED);
    if (version != 1)
        fail(in, "recording version %llu is not supported, only 1", (unsigned long long)version);
    out->header.interval_ns = take_whole(in, "interval_ns", REQUIRED);
    if (out->header.interval_ns == 0)
        fail(in, "recording: \"interval_ns\" must not be 0");

    in->object = member(in, "machine", REQUIRED);
    in->line = "machine";
    if (!json_is_object(in->object)) {
        fail(in, "recording: \"machine\" must be an object");
        return;
    }
    const char *name = take_text(in, "microarchitecture", OPTIONAL);
    if (strlen(name) >= sizeof machine->microarchitecture)
        fail(in, "machine: \"microarchitecture\" is longer than %zu bytes",
             sizeof machine->microarchitecture - 1);
    else
        memcpy(machine->microarchitecture, name, strlen(name) + 1);
    machine->base_frequency_hz = take_real(in, "base_frequency_hz", OPTIONAL, 0);
    machine->cache_cycles = take_real(in, "cache_cycles", OPTIONAL, 0);
    machine->llc_hit_cycles = take_real(in, "llc_hit_cycles", OPTIONAL, 0);
    machine->cas_latency_seconds = take_real(in, "cas_latency_seconds", OPTIONAL, 0);
    machine->sockets = take_int(in, "sockets", OPTIONAL, MAX_NODES);
    machine->numa_nodes = take_int(in, "numa_nodes", OPTIONAL, MAX_NODES);
    machine->cpus = take_int(in, "cpus", OPTIONAL, MAX_CPUS);
    machine->pmem_dimms = take_int(in, "pmem_dimms", OPTIONAL, MAX_CPUS);
}

static void parse_container(struct fields *in, struct recording_line *out)
{
    struct recording_container *container = &out->container;

    enter(in);
    container->key = take_key(in, "key");
    container->cgroup = take_text(in, "cgroup", OPTIONAL);
    container->id = take_text(in, "id", OPTIONAL);
    container->namespace_ = take_text(in, "namespace", OPTIONAL);
    container->pod = take_text(in, "pod", OPTIONAL);
    container->container = take_text(in, "container", OPTIONAL);
    container->image = take_text(in, "image", OPTIONAL);
    container->pod_uid = take_text(in, "pod_uid", OPTIONAL);
    container->runtime = take_text(in, "runtime", OPTIONAL);
    container->qos_class = take_text(in, "qos_class", OPTIONAL);
    container->pending = take_flag(in, "pending");
    container->found_mono_ns = take_whole(in, "found_mono_ns", OPTIONAL);
}

static void parse_unit(struct fields *in, struct recording_line *out)
{
    enter(in);
    take_key(in, "key");
    take_word(in, "key", out->unit.key, sizeof out->unit.key);
    take_word(in, "kind", out->unit.kind, sizeof out->unit.kind);
    out->unit.socket = take_int(in, "socket", REQUIRED, MAX_NODES);
    out->unit.imc = take_int(in, "imc", REQUIRED, MAX_NODES);
}

static void parse_thread(struct fields *in, struct recording_line *out)
{
    enter(in);
    take_key(in, "key");
    take_word(in, "key", out->thread.key, sizeof out->thread.key);
    take_word(in, "kind", out->thread.kind, sizeof out->thread.kind);
    out->thread.initiator_numa_node = take_int(in, "initiator_numa_node", REQUIRED, MAX_NODES);
    out->thread.target_numa_node = take_int(in, "target_numa_node", REQUIRED, MAX_NODES);
}

static void parse_tick(struct fields *in, struct recording_line *out)
{
    out->tick.number = take_whole(in, "tick", REQUIRED);
    if (out->tick.number == 0)
        fail(in, "tick: numbers start at 1");
    out->tick.mono_ns = take_whole(in, "mono_ns", REQUIRED);
    out->tick.wall_ns = take_whole(in, "wall_ns", REQUIRED);
}

static void parse_values(struct fields *in, struct recording_read *read)
{
    const struct group_desc *desc = &group_descs[read->group];
    json_t *values = member(in, "values", REQUIRED);

    if (!json_is_object(values)) {
        fail(in, "read: \"values\" must be an object");
        return;
    }
    for (size_t i = 0; i < desc->n; i++) {
        const char *role = role_name(desc->roles[i]);
        const json_t *value = json_object_get(values, role);
        if (!value)
            continue;
        read->values[i] = whole_value(in, role, value);
        read->present |= 1u << i;
    }
}

static void parse_read(struct fields *in, struct recording_line *out)
{
    struct recording_read *read = &out->read;

    read->key = take_key(in, "read");
    const char *group = take_text(in, "group", REQUIRED);
    read->enabled_ns = take_whole(in, "enabled_ns", REQUIRED);
    read->running_ns = take_whole(in, "running_ns", REQUIRED);
    read->cpu = json_object_get(in->object, "cpu") ? take_int(in, "cpu", REQUIRED, MAX_CPUS) : -1;
    if (in->failed)
        return;
    if (group_parse(group, strlen(group), &read->group)) {
        fail(in, "read: unknown group \"%s\"", group);
        return;
    }
    parse_values(in, read);
}

static enum access take_access(struct fields *in)
{
    enum access access = ACCESS_STORE;

    if (access_parse(take_text(in, "access", REQUIRED), &access))
        fail(in, "%s: \"access\" must be \"store\" or \"load\"", in->line);
    return access;
}

static enum medium take_medium(struct fields *in)
{
    enum medium medium = MEDIUM_UNKNOWN;
    const char *text = take_text(in, "medium", OPTIONAL);

    if (*text && medium_parse(text, &medium))
        fail(in, "%s: \"medium\" must be \"nvmm\", \"other\" or \"unknown\"", in->line);
    return medium;
}

/* Of an access whose bytes are not told. */
static enum access_size take_size(struct fields *in)
{
    enum access_size size = ACCESS_SIZE_UNREADABLE;
    const char *text = take_text(in, "size", OPTIONAL);

    if (*text && (access_size_parse(text, &size) || size == ACCESS_SIZE_KNOWN))
        fail(in, "%s: \"size\" must say why there are no bytes", in->line);
    return size;
}

static void parse_sample(struct fields *in, struct recording_line *out)
{
    struct recording_sample *line = &out->sample;
    struct access_sample *sample = &line->sample;

    line->key = take_key(in, "sample");
    line->timed = json_object_get(in->object, "mono_ns") != NULL;
    line->period = take_whole(in, "period", OPTIONAL);
    sample->time_ns = take_whole(in, "mono_ns", OPTIONAL);
    sample->ip = take_whole(in, "ip", OPTIONAL);
    sample->address = take_whole(in, "addr", OPTIONAL);
    sample->pid = (uint32_t)take_int(in, "pid", OPTIONAL, INT_MAX);
    sample->tid = (uint32_t)take_int(in, "tid", OPTIONAL, INT_MAX);
    sample->access = take_access(in);
    sample->medium = take_medium(in);
    sample->bytes = (uint32_t)take_int(in, "bytes", OPTIONAL, INT_MAX);
    sample->size = sample->bytes > 0 ? ACCESS_SIZE_KNOWN : take_size(in);
}

static void parse_lost(struct fields *in, struct recording_line *out)
{
    struct recording_lost *lost = &out->lost;

    lost->count = take_whole(in, "lost", REQUIRED);
    lost->access = take_access(in);
    lost->throttles = take_whole(in, "throttles", OPTIONAL);
    lost->period = take_whole(in, "period", OPTIONAL);
    lost->settled = json_object_get(in->object, "settled_ns") != NULL;
    lost->settled_ns = take_whole(in, "settled_ns", OPTIONAL);
}

static void parse_probe(struct fields *in, struct recording_line *out)
{
    enter(in);
    out->probe.initiator_numa_node = take_int(in, "initiator_numa_node", REQUIRED, MAX_NODES);
    out->probe.target_numa_node = take_int(in, "target_numa_node", REQUIRED, MAX_NODES);
    out->probe.latency_ns = take_real(in, "latency_ns", REQUIRED, 0);
    if (out->probe.latency_ns == 0)
        fail(in, "probe: \"latency_ns\" must not be 0");
    out->probe.llc_hit_ns = take_real(in, "llc_hit_ns", OPTIONAL, 0);
}

static void parse_gone(struct fields *in, struct recording_line *out)
{
    out->gone.key = take_key(in, "gone");
}

static void parse_truth(struct fields *in, struct recording_line *out)
{
    enter(in);
    out->truth.key = take_key(in, "key");
    out->truth.tick = take_whole(in, "tick", OPTIONAL);
    out->truth.latency_ns = take_real(in, "latency_ns", OPTIONAL, NAN);
    out->truth.slowdown = take_real(in, "slowdown", OPTIONAL, NAN);
    out->truth.nvmm_store_bytes = take_whole(in, "nvmm_store_bytes", OPTIONAL);
}

struct line_type {
    const char *key; /* whose presence makes the line what it is */
    enum recording_kind kind;
    void (*parse)(struct fields *in, struct recording_line *out);
};

/* The frequent ones first. */
static const struct line_type line_types[] = {
    {"read", RECORDING_READ, parse_read},
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
                fail(in, "a line cannot be both \"%s\" and \"%s\"", found->key, key);
                return NULL;
            }
            found = &line_types[i];
        }
    }
    return found;
}

/* The line as a JSON object, or NULL with the message. */
static json_t *load(struct fields *in, const char *text, size_t len)
{
    json_error_t why;

    if (len == 0) {
        fail(in, "the line is empty");
        return NULL;
    }
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);

    if (!root && json_error_code(&why) == json_error_numeric_overflow) {
        root = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &why);
        in->rounded = root != NULL;
    }
    if (!root)
        fail(in, "malformed JSON at column %d: %s", why.column, why.text);
    else if (!json_is_object(root))
        fail(in, "a line must be an object");
    return root;
}

int recording_parse_line(const char *text, size_t len, struct recording_line *out, char *error,
                         size_t error_size)
{
    struct fields in = {.error = error, .error_size = error_size};
    struct recording_line line = {.kind = RECORDING_UNKNOWN};
    json_t *root = load(&in, text, len);

    if (!in.failed) {
        in.object = root;
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
