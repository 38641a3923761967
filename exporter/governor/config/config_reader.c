#include "exporter/governor/config/config_reader.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "exporter/base/clock.h"

void config_fail(struct config_reader *reader, const char *format, ...)
{
    va_list args;
    if (reader->err)
        return;
    va_start(args, format);
    vsnprintf(reader->error, reader->error_size, format, args);
    va_end(args);
    reader->err = -EINVAL;
}

void config_check_object(struct config_reader *reader, json_t *object, const char *where,
                         const char *const *keys)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object)) {
        config_fail(reader, "%s: must be an object", where);
        return;
    }
    json_object_foreach(object, key, value)
    {
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], key) != 0)
            i++;
        if (!keys[i])
            config_fail(reader, "%s: unknown key \"%.64s\"", where, key);
    }
}

void config_read_bool(struct config_reader *reader, const json_t *object, const char *where,
                      const char *key, bool *out)
{
    const json_t *value = json_object_get(object, key);
    if (value && !json_is_boolean(value))
        config_fail(reader, "%s.%s: must be true or false", where, key);
    else if (value)
        *out = json_is_true(value);
}

void config_read_number(struct config_reader *reader, const json_t *object, const char *where,
                        const char *key, double min, double max, double *out)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        return;
    double number = json_number_value(value);
    if (!json_is_number(value) || !(number >= min && number <= max))
        config_fail(reader, "%s.%s: must be a number between %g and %g", where, key, min, max);
    else
        *out = number;
}

void config_read_count(struct config_reader *reader, const json_t *object, const char *where,
                       const char *key, unsigned min, unsigned max, unsigned *out)
{
    double number = *out;
    config_read_number(reader, object, where, key, min, max, &number);
    if (floor(number) != number)
        config_fail(reader, "%s.%s: must be a whole number", where, key);
    else
        *out = (unsigned)number;
}

void config_read_duration(struct config_reader *reader, const json_t *object, const char *where,
                          const char *key, double min, double max, double *out_seconds)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    uint64_t ps;
    if (!value)
        return;
    if (!text || duration_parse_ps(text, &ps))
        config_fail(reader, "%s.%s: must be a duration such as \"10s\"", where, key);
    else if ((double)ps / 1e12 < min || (double)ps / 1e12 > max)
        config_fail(reader, "%s.%s: must be between %gs and %gs", where, key, min, max);
    else
        *out_seconds = (double)ps / 1e12;
}

bool config_read_text(struct config_reader *reader, const json_t *object, const char *where,
                      const char *key, char *out, size_t size)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    if (!value)
        return false;
    if (!text || json_string_length(value) >= size || strlen(text) != json_string_length(value)) {
        config_fail(reader, "%s.%s: must be a text of less than %zu bytes", where, key, size);
        return false;
    }
    strcpy(out, text);
    return true;
}

int config_read_word(struct config_reader *reader, const json_t *object, const char *where,
                     const char *key, const char *const *words, int fallback)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    if (!value)
        return fallback;
    for (int i = 0; text && words[i]; i++)
        if (strcmp(words[i], text) == 0)
            return i;
    if (words[1])
        config_fail(reader, "%s.%s: must be \"%s\" or \"%s\"", where, key, words[0], words[1]);
    else
        config_fail(reader, "%s.%s: must be \"%s\"", where, key, words[0]);
    return fallback;
}
