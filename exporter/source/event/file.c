#include "exporter/source/event/file.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/json/file.h"

/* The text that is parsed and the buffer for the one message. */
struct parse {
    const char *text;
    size_t len;
    char *error;
    size_t error_size;
};

/* Always -EINVAL. 'key', which may be NULL, is the subject of the message. */
__attribute__((format(printf, 3, 4))) static int fail(const struct parse *parse, const char *key,
                                                      const char *format, ...)
{
    size_t line = key ? json_file_line(parse->text, parse->len, key) : 0;
    int n = 0;
    va_list args;
    if (line > 0)
        n = snprintf(parse->error, parse->error_size, "line %zu: ", line);
    if (n < 0 || (size_t)n >= parse->error_size)
        return -EINVAL;
    va_start(args, format);
    vsnprintf(parse->error + n, parse->error_size - (size_t)n, format, args);
    va_end(args);
    return -EINVAL;
}

static int parse_machine(const struct parse *parse, json_t *machine, struct events_file *out)
{
    const struct {
        const char *key;
        double *value;
        double largest;
    } facts[] = {
        {"base_frequency_hz", &out->base_frequency_hz, 1e11},
        {"cache_cycles", &out->cache_cycles, 1e6},
        {"cache_seconds", &out->cache_seconds, 1e-3},
        {"llc_hit_cycles", &out->llc_hit_cycles, 1e6},
        {"l2_fill_cycles", &out->l2_fill_cycles, 1e6},
        {"l3_fill_cycles", &out->l3_fill_cycles, 1e6},
    };
    const size_t n = sizeof facts / sizeof *facts;
    const char *key;
    json_t *value;

    if (!json_is_object(machine))
        return fail(parse, "machine", "\"machine\" must be an object");
    json_object_foreach(machine, key, value)
    {
        size_t i = 0;
        while (i < n && strcmp(key, facts[i].key) != 0)
            i++;
        if (i == n)
            return fail(parse, key, "unknown machine fact \"%.100s\"", key);
        double number = json_number_value(value);
        if (!json_is_number(value) || !(number > 0) || number > facts[i].largest)
            return fail(parse, key, "\"%s\" must be a number above 0 and at most %g", key,
                        facts[i].largest);
        *facts[i].value = number;
    }
    if ((out->l2_fill_cycles > 0) != (out->l3_fill_cycles > 0))
        return fail(parse, out->l2_fill_cycles > 0 ? "l2_fill_cycles" : "l3_fill_cycles",
                    "\"l2_fill_cycles\" and \"l3_fill_cycles\" need each other");
    if (out->cache_seconds > 0 && !(out->cache_cycles > 0))
        return fail(parse, "cache_seconds", "\"cache_seconds\" needs \"cache_cycles\" beside it");
    return 0;
}

static int parse_roles(const struct parse *parse, json_t *roles, struct events_file *out)
{
    const char *key;
    json_t *value;

    if (!json_is_object(roles))
        return fail(parse, "roles", "\"roles\" must be an object of role and event text");
    json_object_foreach(roles, key, value)
    {
        enum role role;
        if (role_parse(key, strlen(key), &role))
            return fail(parse, key, "unknown role \"%.100s\"", key);
        if (!json_is_string(value) || json_string_length(value) == 0)
            return fail(parse, key, "role \"%s\" needs the text of an event", key);
        if (strlen(json_string_value(value)) != json_string_length(value))
            return fail(parse, key, "the event of role \"%s\" contains a NUL", key);
        out->event[role] = strdup(json_string_value(value));
        if (!out->event[role]) {
            fail(parse, NULL, "out of memory");
            return -ENOMEM;
        }
    }
    return 0;
}

static int parse_root(const struct parse *parse, json_t *root, struct events_file *out)
{
    const char *key;
    json_t *value;

    if (!json_is_object(root))
        return fail(parse, NULL, "line 1: the file must be an object with \"machine\", \"roles\"");
    json_object_foreach(root, key, value)
    {
        int err;
        if (strcmp(key, "machine") == 0)
            err = parse_machine(parse, value, out);
        else if (strcmp(key, "roles") == 0)
            err = parse_roles(parse, value, out);
        else
            err = fail(parse, key,
                       "unknown key \"%.100s\"; known keys are \"machine\" and \"roles\"", key);
        if (err)
            return err;
    }
    return 0;
}

int events_file_parse(const char *text, size_t len, struct events_file *out, char *error,
                      size_t error_size)
{
    struct parse parse = {text, len, error, error_size};
    struct events_file file = {0};
    json_t *root;
    if (len > JSON_FILE_MAX_BYTES)
        return fail(&parse, NULL, "larger than 1 MiB: not an events file");
    int err = json_file_parse(text, len, &root, error, error_size);
    if (err)
        return err;
    err = parse_root(&parse, root, &file);
    json_decref(root);
    if (err)
        events_file_release(&file);
    else
        *out = file;
    return err;
}

static int parse_file(void *out, const char *text, size_t len, char *error, size_t error_size)
{
    return events_file_parse(text, len, out, error, error_size);
}

int events_file_load(const char *path, struct events_file *out, char *error, size_t error_size)
{
    return json_file_load(path, parse_file, out, error, error_size);
}

void events_file_release(struct events_file *file)
{
    for (int i = 0; i < ROLE_COUNT; i++)
        free(file->event[i]);
    *file = (struct events_file){0};
}

const char *event_text(const struct events_file *file, const struct event_table *table,
                       enum role role)
{
    if (file && file->event[role])
        return file->event[role];
    if (table && table->event[role])
        return table->event[role];
    /* The kernel's own clocks do not depend on the CPU. */
    return role == ROLE_CPU_TIME_NS ? "software:cpu-clock" : NULL;
}
