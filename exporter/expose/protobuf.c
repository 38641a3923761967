#include "exporter/expose/protobuf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the wire format ---- */

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2 };

size_t wire_varint_size(uint64_t value)
{
    size_t n = 1;
    while (value >>= 7)
        n++;
    return n;
}

char *wire_varint(char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (char)(value | 0x80);
    *at++ = (char)value;
    return at;
}

static char *tag(char *at, unsigned field, unsigned type)
{
    return wire_varint(at, field << 3 | type);
}

char *wire_u64(char *at, unsigned field, uint64_t value)
{
    return wire_varint(tag(at, field, VARINT), value);
}

char *wire_s64(char *at, unsigned field, int64_t value)
{
    return wire_u64(at, field, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

char *wire_double(char *at, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    at = tag(at, field, FIXED64);
    for (size_t i = 0; i < sizeof bits; i++, bits >>= 8)
        *at++ = (char)bits;
    return at;
}

char *wire_bytes(char *at, unsigned field, const char *bytes, size_t n)
{
    at = wire_varint(tag(at, field, LENGTH), n);
    memcpy(at, bytes, n);
    return at + n;
}

char *wire_open(char *at, unsigned field)
{
    return tag(at, field, LENGTH) + 1;
}

char *wire_close(char *start, char *end)
{
    size_t len = (size_t)(end - start), extra = wire_varint_size(len) - 1;
    if (extra > 0)
        memmove(start + extra, start, len);
    wire_varint(start - 1, len);
    return end + extra;
}

/* Numbers of fields. */
enum { FAMILY_NAME = 1, FAMILY_HELP, FAMILY_TYPE, FAMILY_METRIC, FAMILY_UNIT };
enum {
    METRIC_LABEL_FIELD = 1,
    METRIC_GAUGE_FIELD,
    METRIC_COUNTER_FIELD,
    METRIC_HISTOGRAM_FIELD = 7
};
enum { LABEL_NAME = 1, LABEL_VALUE };
enum { NUMBER_VALUE = 1, COUNTER_CREATED = 3 };
enum { BUCKET_CUMULATIVE = 1, BUCKET_UPPER };
enum { SPAN_OFFSET = 1, SPAN_LENGTH };
enum { TIMESTAMP_SECONDS = 1, TIMESTAMP_NANOS };
enum {
    HISTOGRAM_COUNT = 1,
    HISTOGRAM_SUM,
    HISTOGRAM_BUCKET,
    HISTOGRAM_SCHEMA = 5,
    HISTOGRAM_ZERO_THRESHOLD,
    HISTOGRAM_ZERO_COUNT,
    HISTOGRAM_POSITIVE_SPAN = 12,
    HISTOGRAM_POSITIVE_DELTA,
    HISTOGRAM_CREATED = 15
};

static char *add_label(char *at, const char *name, size_t name_len, const char *value,
                       size_t value_len)
{
    char *start = wire_open(at, METRIC_LABEL_FIELD);
    at = wire_bytes(start, LABEL_NAME, name, name_len);
    at = wire_bytes(at, LABEL_VALUE, value, value_len);
    return wire_close(start, at);
}

/* A label whose value is still escaped: what it means is never longer. */
static char *add_escaped_label(char *at, const struct label_slice *label)
{
    char *start = wire_open(at, METRIC_LABEL_FIELD);
    at = wire_bytes(start, LABEL_NAME, label->name, label->name_len);
    char *value = wire_open(at, LABEL_VALUE);
    at = value;
    for (const char *p = label->value, *end = p + label->value_len; p < end; p++)
        *at++ = *p != '\\' ? *p : *++p == 'n' ? '\n' : *p;
    return wire_close(start, wire_close(value, at));
}

static char *add_labels(char *at, const struct sample *sample)
{
    size_t n = 0;
    const struct label *labels = sample->common ? labelset_labels(sample->common, &n) : NULL;
    for (size_t i = 0; i < n; i++)
        at = add_label(at, labels[i].name, strlen(labels[i].name), labels[i].value,
                       strlen(labels[i].value));
    struct label_slice own;
    for (const char *text = sample->own; labels_next(&text, sample->own + sample->own_len, &own);)
        at = add_escaped_label(at, &own);
    return at;
}

static char *add_created(char *at, unsigned field, uint64_t wall_ns)
{
    if (wall_ns == 0)
        return at;
    char *start = wire_open(at, field);
    at = wire_u64(start, TIMESTAMP_SECONDS, wall_ns / 1000000000);
    if (wall_ns % 1000000000 > 0)
        at = wire_u64(at, TIMESTAMP_NANOS, wall_ns % 1000000000);
    return wire_close(start, at);
}

static char *add_number(char *at, const struct metric_desc *desc, const struct sample *sample)
{
    bool counter = desc->type == METRIC_COUNTER;
    double value = desc->type == METRIC_INFO       ? 1
                   : desc->number == METRIC_DOUBLE ? sample->number
                                                   : (double)sample->u64;
    char *start = wire_open(at, counter ? METRIC_COUNTER_FIELD : METRIC_GAUGE_FIELD);
    at = wire_double(start, NUMBER_VALUE, value);
    if (counter)
        at = add_created(at, COUNTER_CREATED, sample->created_wall_ns);
    return wire_close(start, at);
}

static char *add_classic(char *at, const struct metric_desc *desc,
                         const struct histogram *histogram)
{
    uint64_t total = 0;
    for (size_t i = 0; i <= desc->n_edges; i++) {
        total += histogram->buckets[i];
        char *start = wire_open(at, HISTOGRAM_BUCKET);
        at = wire_u64(start, BUCKET_CUMULATIVE, total);
        at = wire_double(at, BUCKET_UPPER, i < desc->n_edges ? desc->edges[i] : INFINITY);
        at = wire_close(start, at);
    }
    return at;
}

static char *add_span(char *at, int64_t offset, uint64_t length)
{
    char *start = wire_open(at, HISTOGRAM_POSITIVE_SPAN);
    at = wire_s64(start, SPAN_OFFSET, offset);
    return wire_close(start, wire_u64(at, SPAN_LENGTH, length));
}

/* Each run of buckets that are not empty: the first one's offset is its index, the others' are the
 * empty buckets before them. */
static char *add_spans(char *at, const struct histogram *histogram)
{
    int64_t index = (int64_t)histogram->zero_exponent * (1 << histogram->schema) + 1, end = 0;
    for (size_t i = 0, length; i < NATIVE_BUCKETS; i += length + 1) {
        for (length = 0; i + length < NATIVE_BUCKETS && histogram->native[i + length]; length++)
            ;
        if (length == 0)
            continue;
        at = add_span(at, index + (int64_t)i - end, length);
        end = index + (int64_t)(i + length);
    }
    return at;
}

static char *add_deltas(char *at, const struct histogram *histogram)
{
    uint64_t before = 0;
    for (size_t i = 0; i < NATIVE_BUCKETS; i++) {
        if (!histogram->native[i])
            continue;
        at = wire_s64(at, HISTOGRAM_POSITIVE_DELTA, (int64_t)(histogram->native[i] - before));
        before = histogram->native[i];
    }
    return at;
}

static char *add_histogram(char *at, const struct metric_desc *desc, const struct sample *sample)
{
    const struct histogram *histogram = sample->histogram;
    char *start = wire_open(at, METRIC_HISTOGRAM_FIELD);
    at = wire_u64(start, HISTOGRAM_COUNT, histogram->count);
    at = wire_double(at, HISTOGRAM_SUM, histogram->sum);
    at = add_classic(at, desc, histogram);
    at = wire_s64(at, HISTOGRAM_SCHEMA, histogram->schema);
    at = wire_double(at, HISTOGRAM_ZERO_THRESHOLD, ldexp(1, histogram->zero_exponent));
    at = wire_u64(at, HISTOGRAM_ZERO_COUNT, histogram->zero);
    if (histogram->count == 0)
        at = add_span(at, 0, 0); /* or it would be taken for a classic one */
    at = add_deltas(add_spans(at, histogram), histogram);
    at = add_created(at, HISTOGRAM_CREATED, sample->created_wall_ns);
    return wire_close(start, at);
}

/* The most that a sample may take. A label has at least four bytes of text besides name and value,
 * and three tags and lengths here. */
static size_t sample_bound(const struct metric_desc *desc, const struct sample *sample)
{
    size_t len = 0;
    if (sample->common)
        labelset_text(sample->common, &len);
    size_t bound = (len + sample->own_len + 4) * (1 + 3 * WIRE_FIELD / 4) + 16 * WIRE_FIELD;
    if (desc->type == METRIC_HISTOGRAM)
        bound += (desc->n_edges + 1 + NATIVE_BUCKETS) * 3 * WIRE_FIELD;
    return bound;
}

static void add_sample(struct textbuf *out, const struct metric_desc *desc,
                       const struct sample *sample)
{
    if (textbuf_reserve(out, sample_bound(desc, sample)))
        return;
    char *start = wire_open(out->data + out->len, FAMILY_METRIC);
    char *at = add_labels(start, sample);
    at = desc->type == METRIC_HISTOGRAM ? add_histogram(at, desc, sample)
                                        : add_number(at, desc, sample);
    at = wire_close(start, at);
    *at = '\0';
    out->len = (size_t)(at - out->data);
}

static void add_head(struct textbuf *out, const struct metric_desc *desc, const char *suffix)
{
    static const unsigned types[] = {
        [METRIC_COUNTER] = 0, [METRIC_GAUGE] = 1, [METRIC_INFO] = 1, [METRIC_HISTOGRAM] = 4};
    char name[METRIC_NAME_MAX + 16];
    size_t len = (size_t)snprintf(name, sizeof name, "%s%s", desc->name, suffix);
    size_t help = strlen(desc->help);
    if (textbuf_reserve(out, len + help + 4 * WIRE_FIELD))
        return;
    char *at = wire_bytes(out->data + out->len, FAMILY_NAME, name, len);
    at = wire_bytes(at, FAMILY_HELP, desc->help, help);
    at = wire_u64(at, FAMILY_TYPE, types[desc->type]);
    out->len = (size_t)(at - out->data);
}

/* The length of what follows 'start', where 'room' bytes were left for it: as many as are mostly
 * right, for a large family is not to be moved. */
static void put_length(struct textbuf *out, size_t start, size_t room)
{
    size_t len = out->len - start - room, size = wire_varint_size(len);
    if (textbuf_reserve(out, WIRE_VARINT))
        return;
    if (size != room)
        memmove(out->data + start + size, out->data + start + room, len);
    wire_varint(out->data + start, len);
    out->len = start + size + len;
    out->data[out->len] = '\0';
}

void protobuf_add_family(struct textbuf *out, const struct snapshot_family *family,
                         const char *suffix)
{
    const struct metric_desc *desc = family->desc;
    size_t start = out->len, room = wire_varint_size(256 + 128 * family->n);
    if (textbuf_reserve(out, room))
        return;
    out->len += room;
    add_head(out, desc, suffix);
    struct sample sample;
    for (size_t at = 0; snapshot_next(family, &at, &sample);)
        add_sample(out, desc, &sample);
    const char *unit = metric_unit(desc);
    size_t len = strlen(unit);
    if (len > 0 && textbuf_reserve(out, len + WIRE_FIELD) == 0)
        out->len = (size_t)(wire_bytes(out->data + out->len, FAMILY_UNIT, unit, len) - out->data);
    put_length(out, start, room);
}
