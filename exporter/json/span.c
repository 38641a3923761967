#include "exporter/json/span.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

/* Each skip_ takes the place where its thing starts and returns the place after it, NULL when the
 * text ends before. */

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end; at++) {
        if (*at == '"')
            return at + 1;
        if (*at == '\\')
            at++;
    }
    return NULL;
}

/* Numbers, true, false, null; anything else that is one word. */
static const char *skip_word(const char *at, const char *end)
{
    const char *start = at;
    while (at < end && !memchr(" \t\n\r,:[]{}\"", *at, 11))
        at++;
    return at > start ? at : NULL;
}

/* The kinds of brackets are not matched with each other: jansson judges what is used. */
static const char *skip_nested(const char *at, const char *end)
{
    size_t depth = 0;
    while (at < end) {
        char c = *at;
        if (c == '"') {
            at = skip_string(at, end);
            if (!at)
                return NULL;
            continue;
        }
        at++;
        if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && --depth == 0)
            return at;
    }
    return NULL;
}

static const char *skip_value(const char *at, const char *end)
{
    if (at >= end)
        return NULL;
    if (*at == '"')
        return skip_string(at, end);
    if (*at == '{' || *at == '[')
        return skip_nested(at, end);
    return skip_word(at, end);
}

int json_span_document(const char *text, size_t len, struct json_span *out)
{
    const char *end = text + len;
    const char *start = skip_space(text, end);
    const char *stop = skip_value(start, end);
    if (!stop || skip_space(stop, end) != end)
        return -EINVAL;
    *out = (struct json_span){start, (size_t)(stop - start)};
    return 0;
}

/* After a value: 1 when another follows, 0 at the closing bracket (which must be the last byte). */
static int next_follows(const char **at, const char *end, char close)
{
    *at = skip_space(*at, end);
    if (*at >= end)
        return -EINVAL;
    if (**at == close)
        return *at + 1 == end ? 0 : -EINVAL;
    if (**at != ',')
        return -EINVAL;
    *at = skip_space(*at + 1, end);
    return 1;
}

/* One "name": value. */
static int read_member(const char **at, const char *end, struct json_span *name,
                       struct json_span *value)
{
    if (*at >= end || **at != '"')
        return -EINVAL;
    const char *stop = skip_string(*at, end);
    if (!stop)
        return -EINVAL;
    *name = (struct json_span){*at + 1, (size_t)(stop - *at) - 2};
    const char *colon = skip_space(stop, end);
    if (colon >= end || *colon != ':')
        return -EINVAL;
    const char *start = skip_space(colon + 1, end);
    stop = skip_value(start, end);
    if (!stop)
        return -EINVAL;
    *value = (struct json_span){start, (size_t)(stop - start)};
    *at = stop;
    return 0;
}

int json_span_member(struct json_span object, const char *name, struct json_span *out)
{
    if (object.len < 2 || object.at[0] != '{')
        return -EINVAL;
    const char *end = object.at + object.len;
    const char *at = skip_space(object.at + 1, end);
    size_t len = strlen(name);
    bool found = false;
    int more = at < end && *at == '}' ? 0 : 1;
    while (more > 0) {
        struct json_span key, value;
        if (read_member(&at, end, &key, &value) != 0)
            return -EINVAL;
        if (key.len == len && memcmp(key.at, name, len) == 0) {
            *out = value;
            found = true;
        }
        more = next_follows(&at, end, '}');
    }
    if (more < 0)
        return more;
    return found ? 0 : -ENOENT;
}

int json_span_element(struct json_span array, size_t *cursor, struct json_span *out)
{
    if (array.len < 2 || array.at[0] != '[')
        return -EINVAL;
    const char *end = array.at + array.len;
    const char *at;
    if (*cursor == 0) {
        at = skip_space(array.at + 1, end);
        if (at < end && *at == ']')
            return -ENOENT;
    } else {
        at = array.at + *cursor;
        int more = next_follows(&at, end, ']');
        if (more <= 0)
            return more < 0 ? more : -ENOENT;
    }
    const char *stop = skip_value(at, end);
    if (!stop)
        return -EINVAL;
    *out = (struct json_span){at, (size_t)(stop - at)};
    *cursor = (size_t)(stop - array.at);
    return 0;
}

int json_span_string(struct json_span value, char *out, size_t size)
{
    if (value.len < 2 || value.at[0] != '"')
        return -ENOENT;
    json_error_t error;
    json_t *decoded = json_loadb(value.at, value.len, JSON_DECODE_ANY, &error);
    if (!decoded)
        return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EINVAL;
    const char *text = json_string_value(decoded);
    size_t len = text ? strlen(text) : 0;
    if (len >= size) {
        len = size - 1;
        while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
            len--;
    }
    if (len > 0)
        memcpy(out, text, len);
    out[len] = '\0';
    json_decref(decoded);
    return 0;
}
