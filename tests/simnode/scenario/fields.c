#include "tests/simnode/scenario/fields.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void field_enter(struct field_reader *reader, const char *key, size_t index)
{
    if (reader->depth < FIELD_DEPTH) {
        reader->path[reader->depth].key = key;
        reader->path[reader->depth].index = index;
    }
    reader->depth++;
}

void field_leave(struct field_reader *reader)
{
    reader->depth--;
}

/* --- where a path is in a text that is known to be valid JSON --- */

static const char *skip_space(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

static const char *skip_string(const char *p)
{
    for (p++; *p && *p != '"'; p++)
        if (*p == '\\' && p[1])
            p++;
    return *p ? p + 1 : p;
}

static const char *skip_value(const char *p)
{
    int depth = 0;

    p = skip_space(p);
    do {
        if (*p == '"') {
            p = skip_string(p);
        } else if (*p == '{' || *p == '[') {
            depth++;
            p++;
        } else if (*p == '}' || *p == ']') {
            depth--;
            p++;
        } else if (depth == 0) {
            return p + strcspn(p, ",]} \t\r\n");
        } else {
            p++;
        }
    } while (depth > 0 && *p);
    return p;
}

/* The value of a key (its key's own place in *at) or of an element; NULL when there is none. */
static const char *descend(const char *p, const char *key, size_t index, const char **at)
{
    p = skip_space(p);
    if (*p != (key ? '{' : '['))
        return NULL;
    p = skip_space(p + 1);
    for (size_t i = 0; *p && *p != '}' && *p != ']'; i++) {
        bool match = !key && i == index;

        *at = p;
        if (key) {
            const char *end = skip_string(p);

            match = (size_t)(end - p) == strlen(key) + 2 && strncmp(p + 1, key, strlen(key)) == 0;
            p = skip_space(skip_space(end) + 1);
        }
        if (match)
            return p;
        p = skip_space(skip_value(p));
        if (*p == ',')
            p = skip_space(p + 1);
    }
    return NULL;
}

static size_t line_of(const struct field_reader *reader, const char *key)
{
    const char *p = reader->text, *at = skip_space(p);
    size_t line = 1;

    for (size_t i = 0; p && i < reader->depth && i < FIELD_DEPTH; i++) {
        const char *here = at;

        p = descend(p, reader->path[i].key, reader->path[i].index, &here);
        if (p)
            at = here;
    }
    if (p && key) {
        const char *here = at;

        if (descend(p, key, 0, &here))
            at = here;
    }
    for (const char *c = reader->text; c < at; c++)
        line += *c == '\n';
    return line;
}

int field_error(struct field_reader *reader, const char *key, const char *format, ...)
{
    char where[256] = "";
    size_t n = 0;
    va_list args;

    for (size_t i = 0; i < reader->depth && i < FIELD_DEPTH && n < sizeof(where); i++) {
        if (reader->path[i].key)
            n += (size_t)snprintf(where + n, sizeof(where) - n, "%s%s", n ? "." : "",
                                  reader->path[i].key);
        else
            n += (size_t)snprintf(where + n, sizeof(where) - n, "[%zu]", reader->path[i].index);
    }
    if (key && n < sizeof(where))
        snprintf(where + n, sizeof(where) - n, "%s%s", n ? "." : "", key);

    int used = snprintf(reader->error, reader->error_size, "%s:%zu: %s%s", reader->name,
                        line_of(reader, key), where, *where ? ": " : "");

    if (used >= 0 && (size_t)used < reader->error_size) {
        va_start(args, format);
        vsnprintf(reader->error + used, reader->error_size - (size_t)used, format, args);
        va_end(args);
    }
    return -EINVAL;
}

static int read_number(struct field_reader *reader, const struct field *field, json_t *value,
                       void *out)
{
    bool whole = field->kind == FIELD_INT;
    double number = json_number_value(value);

    if (whole && json_is_real(value) && fabs(number) < 9e15 && number == (double)(int64_t)number)
        ; /* 1e6 is a whole number, too */
    else if (whole ? !json_is_integer(value) : !json_is_number(value))
        return field_error(reader, field->key, "must be a%s number", whole ? " whole" : "");
    if (!(number >= field->min && number <= field->max))
        return field_error(reader, field->key, "must be between %.10g and %.10g, is %.10g",
                           field->min, field->max, number);
    if (whole)
        *(int64_t *)out = json_is_integer(value) ? json_integer_value(value) : (int64_t)number;
    else
        *(double *)out = number;
    return 0;
}

static int read_field(struct field_reader *reader, const struct field *field, json_t *value,
                      void *out)
{
    switch (field->kind) {
    case FIELD_INT:
    case FIELD_REAL:
        return read_number(reader, field, value, out);
    case FIELD_BOOL:
        if (!json_is_boolean(value))
            return field_error(reader, field->key, "must be true or false");
        *(bool *)out = json_is_true(value);
        return 0;
    case FIELD_TEXT: {
        if (!json_is_string(value))
            return field_error(reader, field->key, "must be a string");
        char *copy = strdup(json_string_value(value));

        if (!copy)
            return -ENOMEM;
        free(*(char **)out);
        *(char **)out = copy;
        return 0;
    }
    case FIELD_OTHER:
        break;
    }
    return 0;
}

int fields_read(struct field_reader *reader, json_t *object, const struct field *fields, size_t n,
                void *out)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return field_error(reader, NULL, "must be an object");
    json_object_foreach(object, key, value)
    {
        size_t i = 0;

        while (i < n && strcmp(fields[i].key, key) != 0)
            i++;
        if (i == n)
            return field_error(reader, key, "unknown key");

        int err = read_field(reader, &fields[i], value, (char *)out + fields[i].offset);

        if (err)
            return err;
    }
    return 0;
}
