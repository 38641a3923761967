#include "exporter/state/fields.h"

#include <endian.h>
#include <string.h>

void state_check(struct state_fields *fields, bool holds)
{
    fields->failed |= state_reading(fields) && !holds;
}

void state_bytes(struct state_fields *fields, void *bytes, size_t n)
{
    bool room = fields->at <= fields->size && n <= fields->size - fields->at;
    if (state_reading(fields)) {
        fields->failed |= !room;
        if (fields->failed) {
            memset(bytes, 0, n);
            return;
        }
        memcpy(bytes, fields->from + fields->at, n);
    } else if (room && fields->to) {
        memcpy(fields->to + fields->at, bytes, n);
    }
    fields->at += n;
}

/* The low 'n' bytes. */
static void number(struct state_fields *fields, uint64_t *value, size_t n)
{
    uint64_t little = htole64(*value);
    state_bytes(fields, &little, n);
    if (state_reading(fields))
        *value = le64toh(little) & UINT64_MAX >> (64 - 8 * n);
}

/* 0 instead of what cannot be. */
static void number_up_to(struct state_fields *fields, uint64_t *value, size_t n, uint64_t max)
{
    number(fields, value, n);
    state_check(fields, *value <= max);
    if (fields->failed)
        *value = 0;
}

void state_u8(struct state_fields *fields, uint8_t *value, uint8_t max)
{
    uint64_t wide = *value;
    number_up_to(fields, &wide, sizeof *value, max);
    *value = (uint8_t)wide;
}

void state_u32(struct state_fields *fields, uint32_t *value, uint32_t max)
{
    uint64_t wide = *value;
    number_up_to(fields, &wide, sizeof *value, max);
    *value = (uint32_t)wide;
}

void state_u64(struct state_fields *fields, uint64_t *value, uint64_t max)
{
    number_up_to(fields, value, sizeof *value, max);
}

void state_bool(struct state_fields *fields, bool *value)
{
    uint8_t byte = *value;
    state_u8(fields, &byte, 1);
    *value = byte;
}

void state_u16s(struct state_fields *fields, uint16_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = htole16(values[i]);
    state_bytes(fields, values, n * sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = le16toh(values[i]);
}

void state_double(struct state_fields *fields, double *value, double min, double max)
{
    uint64_t bits;
    memcpy(&bits, value, sizeof bits);
    number(fields, &bits, sizeof bits);
    memcpy(value, &bits, sizeof bits);
    state_check(fields, *value >= min && *value <= max);
    if (fields->failed)
        *value = 0;
}

void state_float(struct state_fields *fields, float *value, float min, float max)
{
    uint32_t bits;
    memcpy(&bits, value, sizeof bits);
    uint64_t wide = bits;
    number(fields, &wide, sizeof bits);
    bits = (uint32_t)wide;
    memcpy(value, &bits, sizeof bits);
    state_check(fields, *value >= min && *value <= max);
    if (fields->failed)
        *value = 0;
}

bool state_fits(const struct state_fields *fields)
{
    bool all = state_reading(fields) ? fields->at == fields->size : fields->at <= fields->size;
    return !fields->failed && all;
}
