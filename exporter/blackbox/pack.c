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

/* What both ends have as it lies in memory, being one program. */
static void pack_bytes(struct textbuf *out, const void *bytes, size_t n)
{
    textbuf_add(out, bytes, n);
}

static void unpack_bytes(struct unpack *in, void *bytes, size_t n)
{
    if ((size_t)(in->end - in->at) < n) {
        in->failed = true;
        return;
    }
    memcpy(bytes, in->at, n);
    in->at += n;
}

/* ---- readings ---- */

bool reading_of_line(const struct recording_line *line, struct recording_read *out)
{
    switch (line->kind) {
    case RECORDING_READ:
        *out = line->read;
        return true;
    case RECORDING_ACTIVITY:
        *out = (struct recording_read){.key = line->activity.key,
                                       .group = GROUP_ACTIVITY,
                                       .cpu = line->activity.cpu,
                                       .present = 1,
                                       .values = {line->activity.cpu_time_ns}};
        return true;
    case RECORDING_PAGES:
        *out = (struct recording_read){.key = line->pages.key,
                                       .group = GROUP_PAGES,
                                       .cpu = line->pages.numa_node,
                                       .present = 1,
                                       .values = {line->pages.bytes}};
        return true;
    default:
        return false;
    }
}

void line_of_reading(const struct recording_read *read, struct recording_line *out)
{
    if (read->group == GROUP_ACTIVITY) {
        out->kind = RECORDING_ACTIVITY;
        out->activity = (struct recording_activity){read->key, read->cpu, read->values[0]};
    } else if (read->group == GROUP_PAGES) {
        out->kind = RECORDING_PAGES;
        out->pages = (struct recording_pages){read->key, read->cpu, read->values[0]};
    } else {
        out->kind = RECORDING_READ;
        out->read = *read;
    }
}

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
    struct recording_read read = {.key = unpack_text(in)};
    uint64_t group = unpack_u64(in);
    if (strlen(read.key) > RECORDING_MAX_KEY || group >= GROUP_COUNT) {
        in->failed = true;
        return;
    }
    read.group = (enum group)group;
    read.cpu = (int)unpack_signed(unpack_u64(in));
    read.present = (uint32_t)unpack_u64(in);
    read.enabled_ns = unpack_u64(in);
    read.running_ns = unpack_u64(in);
    for (size_t i = 0; i < group_descs[group].n; i++)
        read.values[i] = read.present >> i & 1 ? unpack_u64(in) : 0;
    line_of_reading(&read, out);
}

/* ---- the others ---- */

static void pack_container(struct textbuf *out, const struct recording_container *c)
{
    const char *const texts[] = {c->key,       c->cgroup, c->id,      c->namespace_, c->pod,
                                 c->container, c->image,  c->pod_uid, c->runtime,    c->qos_class};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        pack_text(out, texts[i]);
    pack_u64(out, c->pending);
    pack_u64(out, c->found_mono_ns);
}

static void unpack_container(struct unpack *in, struct recording_container *c)
{
    const char **texts[] = {&c->key,       &c->cgroup, &c->id,      &c->namespace_, &c->pod,
                            &c->container, &c->image,  &c->pod_uid, &c->runtime,    &c->qos_class};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = unpack_text(in);
    c->pending = unpack_u64(in) != 0;
    c->found_mono_ns = unpack_u64(in);
    in->failed |= strlen(c->key) > RECORDING_MAX_KEY;
}

static void pack_sample(struct textbuf *out, const struct recording_sample *sample)
{
    pack_text(out, sample->key);
    pack_bytes(out, &sample->sample, sizeof sample->sample);
    pack_u64(out, sample->period);
}

static void unpack_sample(struct unpack *in, struct recording_sample *sample)
{
    sample->key = unpack_text(in);
    unpack_bytes(in, &sample->sample, sizeof sample->sample);
    sample->period = unpack_u64(in);
    sample->timed = true;
}

void pack_line(struct textbuf *out, const struct recording_line *line)
{
    struct recording_read read;
    bool reading = reading_of_line(line, &read);
    textbuf_char(out, (char)(reading ? RECORDING_READ : line->kind));
    if (reading) {
        pack_reading(out, &read);
        return;
    }
    switch (line->kind) {
    case RECORDING_HEADER:
        pack_bytes(out, &line->header, sizeof line->header);
        break;
    case RECORDING_CONTAINER:
        pack_container(out, &line->container);
        break;
    case RECORDING_UNIT:
        pack_bytes(out, &line->unit, sizeof line->unit);
        break;
    case RECORDING_THREAD:
        pack_bytes(out, &line->thread, sizeof line->thread);
        break;
    case RECORDING_TICK:
        pack_u64(out, line->tick.number);
        pack_u64(out, line->tick.mono_ns);
        pack_u64(out, line->tick.wall_ns);
        break;
    case RECORDING_SAMPLE:
        pack_sample(out, &line->sample);
        break;
    case RECORDING_LOST:
        pack_bytes(out, &line->lost, sizeof line->lost);
        break;
    case RECORDING_PROBE:
        pack_bytes(out, &line->probe, sizeof line->probe);
        break;
    case RECORDING_GONE:
        pack_text(out, line->gone.key);
        break;
    case RECORDING_MARK:
        pack_text(out, line->mark.why);
        pack_text(out, line->mark.key);
        break;
    default:
        break;
    }
}

bool unpack_line(struct unpack *in, struct recording_line *out)
{
    uint8_t kind = 0;
    unpack_bytes(in, &kind, 1);
    *out = (struct recording_line){.kind = (enum recording_kind)kind};
    if (in->failed)
        return false;
    switch (out->kind) {
    case RECORDING_READ:
        unpack_reading(in, out);
        break;
    case RECORDING_HEADER:
        unpack_bytes(in, &out->header, sizeof out->header);
        break;
    case RECORDING_CONTAINER:
        unpack_container(in, &out->container);
        break;
    case RECORDING_UNIT:
        unpack_bytes(in, &out->unit, sizeof out->unit);
        break;
    case RECORDING_THREAD:
        unpack_bytes(in, &out->thread, sizeof out->thread);
        break;
    case RECORDING_TICK:
        out->tick.number = unpack_u64(in);
        out->tick.mono_ns = unpack_u64(in);
        out->tick.wall_ns = unpack_u64(in);
        break;
    case RECORDING_SAMPLE:
        unpack_sample(in, &out->sample);
        break;
    case RECORDING_LOST:
        unpack_bytes(in, &out->lost, sizeof out->lost);
        break;
    case RECORDING_PROBE:
        unpack_bytes(in, &out->probe, sizeof out->probe);
        break;
    case RECORDING_GONE:
        out->gone.key = unpack_text(in);
        in->failed |= strlen(out->gone.key) > RECORDING_MAX_KEY;
        break;
    case RECORDING_MARK:
        out->mark.why = unpack_text(in);
        out->mark.key = unpack_text(in);
        break;
    default:
        in->failed = true;
    }
    return !in->failed;
}
