#include "exporter/blackbox/pack.h"

#include <string.h>

/* ---- numbers and texts ---- */

enum { U64_BYTES = 10 };

static size_t put_u64(uint8_t *to, uint64_t value)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        to[n++] = (uint8_t)(value | 0x80);
    to[n++] = (uint8_t)value;
    return n;
}

void pack_u64(struct textbuf *out, uint64_t value)
{
    uint8_t bytes[U64_BYTES];
    textbuf_add(out, (const char *)bytes, put_u64(bytes, value));
}

uint64_t unpack_u64(struct unpack *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && in->at < in->end; shift += 7) {
        uint8_t byte = *in->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    in->failed = true;
    return 0;
}

void pack_text(struct textbuf *out, const char *text)
{
    size_t len = strlen(text);
    pack_u64(out, len);
    textbuf_add(out, text, len + 1);
}

const char *unpack_text(struct unpack *in)
{
    uint64_t len = unpack_u64(in);
    const char *text = (const char *)in->at;
    if (in->failed || len >= (uint64_t)(in->end - in->at) || text[len] != '\0') {
        in->failed = true;
        return "";
    }
    in->at += len + 1;
    return text;
}

/* ---- readings ---- */

/* The only lines of which there are many: into one buffer, and added once. */
static void pack_reading(struct textbuf *out, const struct recording_read *read)
{
    uint8_t bytes[(6 + GROUP_MAX_ROLES) * U64_BYTES + RECORDING_MAX_KEY + 1];
    size_t len = strnlen(read->key, RECORDING_MAX_KEY), n = put_u64(bytes, len);
    memcpy(bytes + n, read->key, len);
    n += len;
    bytes[n++] = '\0';
    n += put_u64(bytes + n, read->group);
    n += put_u64(bytes + n, pack_signed(read->cpu));
    n += put_u64(bytes + n, read->present);
    n += put_u64(bytes + n, read->enabled_ns);
    n += put_u64(bytes + n, read->running_ns);
    for (size_t i = 0; i < group_descs[read->group].n; i++)
        if (read->present >> i & 1)
            n += put_u64(bytes + n, read->values[i]);
    textbuf_add(out, (const char *)bytes, n);
}

static void unpack_reading(struct unpack *in, struct recording_line *out)
{
    struct recording_read *read = &out->read;
    read->key = unpack_text(in);
    uint64_t group = unpack_u64(in);
    if (strlen(read->key) > RECORDING_MAX_KEY || group >= GROUP_COUNT) {
        in->failed = true;
        return;
    }
    read->group = (enum group)group;
    read->cpu = (int)unpack_signed(unpack_u64(in));
    read->present = (uint32_t)unpack_u64(in);
    read->enabled_ns = unpack_u64(in);
    read->running_ns = unpack_u64(in);
    for (size_t i = 0; i < group_descs[group].n; i++)
        read->values[i] = read->present >> i & 1 ? unpack_u64(in) : 0;
}

/* ---- the others: one walk, which writes a line or reads one ---- */

struct walk {
    struct textbuf *out; /* writing; NULL: reading */
    struct unpack *in;
};

static void walk_u64(const struct walk *walk, uint64_t *value)
{
    if (walk->out)
        pack_u64(walk->out, *value);
    else
        *value = unpack_u64(walk->in);
}

static void walk_text(const struct walk *walk, const char **text)
{
    if (walk->out)
        pack_text(walk->out, *text);
    else
        *text = unpack_text(walk->in);
}

static void walk_key(const struct walk *walk, const char **key)
{
    walk_text(walk, key);
    if (walk->in)
        walk->in->failed |= strlen(*key) > RECORDING_MAX_KEY;
}

/* What both ends have as it lies in memory, being one program. */
static void walk_bytes(const struct walk *walk, void *bytes, size_t n)
{
    struct unpack *in = walk->in;
    if (walk->out) {
        textbuf_add(walk->out, bytes, n);
    } else if ((size_t)(in->end - in->at) < n) {
        in->failed = true;
    } else {
        memcpy(bytes, in->at, n);
        in->at += n;
    }
}

static void walk_container(const struct walk *walk, struct recording_container *c)
{
    const char **texts[] = {&c->cgroup, &c->id,      &c->namespace_, &c->pod,      &c->container,
                            &c->image,  &c->pod_uid, &c->runtime,    &c->qos_class};
    uint64_t pending = c->pending;
    walk_key(walk, &c->key);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        walk_text(walk, texts[i]);
    walk_u64(walk, &pending);
    walk_u64(walk, &c->found_mono_ns);
    c->pending = pending != 0;
}

static void walk_sample(const struct walk *walk, struct recording_sample *sample)
{
    walk_key(walk, &sample->key);
    walk_bytes(walk, &sample->sample, sizeof sample->sample);
    walk_u64(walk, &sample->period);
    sample->timed = true;
}

/* False: there are none of this kind. */
static bool walk_line(const struct walk *walk, struct recording_line *line)
{
    switch (line->kind) {
    case RECORDING_HEADER:
        walk_bytes(walk, &line->header, sizeof line->header);
        break;
    case RECORDING_CONTAINER:
        walk_container(walk, &line->container);
        break;
    case RECORDING_UNIT:
        walk_bytes(walk, &line->unit, sizeof line->unit);
        break;
    case RECORDING_THREAD:
        walk_bytes(walk, &line->thread, sizeof line->thread);
        break;
    case RECORDING_TICK:
        walk_u64(walk, &line->tick.number);
        walk_u64(walk, &line->tick.mono_ns);
        walk_u64(walk, &line->tick.wall_ns);
        break;
    case RECORDING_SAMPLE:
        walk_sample(walk, &line->sample);
        break;
    case RECORDING_LOST:
        walk_bytes(walk, &line->lost, sizeof line->lost);
        break;
    case RECORDING_PROBE:
        walk_bytes(walk, &line->probe, sizeof line->probe);
        break;
    case RECORDING_GONE:
        walk_key(walk, &line->gone.key);
        break;
    case RECORDING_MARK:
        walk_text(walk, &line->mark.why);
        walk_key(walk, &line->mark.key);
        break;
    default:
        return false;
    }
    return true;
}

static bool ends(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

static bool is_truth_value(const bool *value)
{
    uint8_t byte;
    memcpy(&byte, value, 1);
    return byte <= 1;
}

/* A mark's is part of a file's name. */
static bool is_word(const char *text)
{
    size_t len = strlen(text);
    return len > 0 && len <= RECORDING_MAX_KEY &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz_") == len;
}

/* Whether what was read as it lay in memory can have been a line: who sent it may be in the hands
 * of another. */
static bool is_possible(const struct recording_line *line)
{
    const struct machine *machine = &line->header.machine;
    const struct access_sample *sample = &line->sample.sample;
    switch (line->kind) {
    case RECORDING_HEADER:
        return ends(machine->microarchitecture, sizeof machine->microarchitecture) &&
               is_truth_value(&machine->own_events) && is_truth_value(&machine->guest);
    case RECORDING_UNIT:
        return ends(line->unit.key, sizeof line->unit.key) &&
               ends(line->unit.kind, sizeof line->unit.kind);
    case RECORDING_THREAD:
        return ends(line->thread.key, sizeof line->thread.key) &&
               ends(line->thread.kind, sizeof line->thread.kind);
    case RECORDING_SAMPLE:
        return sample->access < ACCESS_KINDS && sample->medium < MEDIA &&
               sample->size < ACCESS_SIZES;
    case RECORDING_LOST:
        return line->lost.access < ACCESS_KINDS;
    case RECORDING_MARK:
        return is_word(line->mark.why);
    default:
        return true;
    }
}

void pack_line(struct textbuf *out, const struct recording_line *line)
{
    const struct walk walk = {.out = out};
    struct recording_line copy;
    textbuf_char(out, (char)line->kind);
    if (line->kind == RECORDING_READ) {
        pack_reading(out, &line->read);
        return;
    }
    copy = *line;
    walk_line(&walk, &copy);
}

bool unpack_line(struct unpack *in, struct recording_line *out)
{
    const struct walk walk = {.in = in};
    uint8_t kind = 0;
    walk_bytes(&walk, &kind, 1);
    *out = (struct recording_line){.kind = (enum recording_kind)kind};
    if (in->failed)
        return false;
    if (out->kind == RECORDING_READ)
        unpack_reading(in, out);
    else if (!walk_line(&walk, out) || in->failed || !is_possible(out))
        in->failed = true;
    return !in->failed;
}
