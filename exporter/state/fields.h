/*
 * A walk over the fields of something learned, which writes them as bytes or reads them back: one
 * function per struct does both, so that the two cannot differ.
 *
 * Little-endian, without padding; floating point exact to the last bit. What is read is believed
 * only within the range that the field can have: with anything else, or too few bytes, the walk
 * fails for good, and every field read after that is 0. Pure.
 */
#ifndef IE_STATE_FIELDS_H
#define IE_STATE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct state_fields {
    const uint8_t *from; /* reading; NULL: writing */
    uint8_t *to;         /* writing; NULL: only the length is wanted */
    size_t size;         /* bytes at from, or room at to */
    size_t at;           /* bytes walked; when writing, also beyond the room */
    bool failed;
    uint64_t mono_ns; /* when it was written: nothing in it can be later */
};

static inline bool state_reading(const struct state_fields *fields)
{
    return fields->from != NULL;
}

/* When reading: the walk fails unless this holds. */
void state_check(struct state_fields *fields, bool holds);

/* When reading, a value above 'max' fails. */
void state_u8(struct state_fields *fields, uint8_t *value, uint8_t max);
void state_u32(struct state_fields *fields, uint32_t *value, uint32_t max);
void state_u64(struct state_fields *fields, uint64_t *value, uint64_t max);
void state_bool(struct state_fields *fields, bool *value);
/* Every value is a possible one. */
void state_u16s(struct state_fields *fields, uint16_t *values, size_t n);

/* When reading, one outside min to max fails, and so does NaN. */
void state_double(struct state_fields *fields, double *value, double min, double max);
void state_float(struct state_fields *fields, float *value, float min, float max);

void state_bytes(struct state_fields *fields, void *bytes, size_t n);

/* Reading: that nothing failed and nothing is left over. Writing: that there was room. */
bool state_fits(const struct state_fields *fields);

#endif
