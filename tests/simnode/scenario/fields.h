/*
 * JSON objects into structs by table, with messages that name file, line and key.
 */
#ifndef IE_SIMNODE_SCENARIO_FIELDS_H
#define IE_SIMNODE_SCENARIO_FIELDS_H

#include <jansson.h>
#include <stddef.h>

enum { FIELD_DEPTH = 8 };

enum field_kind {
    FIELD_INT,  /* int64_t */
    FIELD_REAL, /* double */
    FIELD_BOOL, /* bool */
    FIELD_TEXT, /* char *, owned by the struct; replaced when given */
    FIELD_OTHER /* read by other code; only known here */
};

struct field {
    const char *key;
    enum field_kind kind;
    size_t offset;
    double min, max; /* of numbers, both allowed */
};

/* Where in the document we are; elements are borrowed. */
struct field_reader {
    const char *name, *text;
    size_t len;
    struct {
        const char *key; /* NULL: an element of an array */
        size_t index;
    } path[FIELD_DEPTH];
    size_t depth;
    char *error;
    size_t error_size;
};

void field_enter(struct field_reader *reader, const char *key, size_t index);
void field_leave(struct field_reader *reader);

/* Writes "NAME:LINE: KEY: message"; returns -EINVAL. 'key' may be NULL: the current place itself.
 */
__attribute__((format(printf, 3, 4))) int field_error(struct field_reader *reader, const char *key,
                                                      const char *format, ...);

/* Absent keys leave the struct as it is; unknown ones are an error. 0, -EINVAL, -ENOMEM. */
int fields_read(struct field_reader *reader, json_t *object, const struct field *fields, size_t n,
                void *out);

#define FIELD_COUNT(table) (sizeof(table) / sizeof((table)[0]))

#endif
