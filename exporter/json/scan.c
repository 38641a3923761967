#include "exporter/json/scan.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

void json_scan_init(struct json_scan *scan, const char *text, size_t len)
{
    *scan = (struct json_scan){.start = text, .at = text, .end = text + len};
}

void json_scan_fail(struct json_scan *scan, const char *why)
{
    if (!scan->why)
        scan->why = why;
}

static bool fail(struct json_scan *scan, const char *why)
{
    json_scan_fail(scan, why);
    return false;
}

static void skip_space(struct json_scan *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\t' || *scan->at == '\r'))
        scan->at++;
}

static bool is_digit(const struct json_scan *scan, const char *at)
{
    return at < scan->end && *at >= '0' && *at <= '9';
}

/* ---- words and numbers ---- */

static bool skip_word(struct json_scan *scan, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(scan->end - scan->at) < len || memcmp(scan->at, word, len) != 0)
        return fail(scan, "no value");
    scan->at += len;
    return true;
}

static bool skip_digits(struct json_scan *scan)
{
    const char *from = scan->at;
    while (is_digit(scan, scan->at))
        scan->at++;
    return scan->at > from || fail(scan, "a number without a digit");
}

static bool skip_number(struct json_scan *scan)
{
    if (*scan->at == '-')
        scan->at++;
    bool zero = scan->at < scan->end && *scan->at == '0';
    if (zero && is_digit(scan, scan->at + 1))
        return fail(scan, "a number that begins with 0");
    if (!skip_digits(scan))
        return false;
    if (scan->at < scan->end && *scan->at == '.') {
        scan->at++;
        if (!skip_digits(scan))
            return false;
    }
    if (scan->at < scan->end && (*scan->at == 'e' || *scan->at == 'E')) {
        scan->at++;
        if (scan->at < scan->end && (*scan->at == '+' || *scan->at == '-'))
            scan->at++;
        return skip_digits(scan);
    }
    return true;
}

/* ---- strings ---- */

static int hex_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Of "\uXXXX", if that is what is here; otherwise negative. */
static int32_t unit_of(const struct json_scan *scan, const char *at)
{
    int32_t value = 0;
    if (scan->end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        int digit = hex_of(at[i]);
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* What an escape stands for, from its backslash on; negative when it is none. */
static int32_t read_escape(struct json_scan *scan)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at = scan->at;
    const char *found = scan->end - at > 1 && at[1] ? strchr(from, at[1]) : NULL;
    if (found) {
        scan->at += 2;
        return to[found - from];
    }
    int32_t high = unit_of(scan, at);
    if (high < 0xd800 || high > 0xdfff) {
        scan->at += high > 0 ? 6 : 0; /* names and paths hold no NUL */
        return high > 0 ? high : -1;
    }
    int32_t low = high < 0xdc00 ? unit_of(scan, at + 6) : -1;
    if (low < 0xdc00 || low > 0xdfff)
        return -1;
    scan->at += 12;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

static char *put_utf8(char *out, int32_t code)
{
    if (code < 0x80) {
        *out++ = (char)code;
        return out;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    *out++ = (char)((0xff00 >> (more + 1) & 0xff) | code >> 6 * more);
    while (more-- > 0)
        *out++ = (char)(0x80 | (code >> 6 * more & 0x3f));
    return out;
}

/* Length of the character of several bytes that begins here; 0 when it is not UTF-8. */
static size_t utf8_len(const struct json_scan *scan, const char *at)
{
    static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = (unsigned char)*at;
    size_t len = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
    if (len == 0 || lead > 0xf4 || (size_t)(scan->end - at) < len)
        return 0;
    int32_t code = lead & (0x7f >> len);
    for (size_t i = 1; i < len; i++) {
        if (((unsigned char)at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3f);
    }
    return code >= least[len] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? len : 0;
}

/* Past the quote behind it. */
static bool skip_string(struct json_scan *scan)
{
    scan->at++;
    while (scan->at < scan->end) {
        unsigned char c = (unsigned char)*scan->at;
        if (c == '"') {
            scan->at++;
            return true;
        }
        if (c < ' ')
            return fail(scan, "a control character in a string");
        if (c != '\\')
            scan->at++;
        else if (read_escape(scan) < 0)
            return fail(scan, "an escape that is none");
    }
    return fail(scan, "a string without an end");
}

static bool decode_string(struct json_scan *scan, char *out)
{
    scan->at++;
    while (scan->at < scan->end) {
        unsigned char c = (unsigned char)*scan->at;
        if (c == '"') {
            *out = '\0';
            scan->at++;
            return true;
        }
        size_t len = c < 0x80 ? 1 : utf8_len(scan, scan->at);
        if (c < ' ' || len == 0)
            return fail(scan, c < ' ' ? "a control character in a string" : "no UTF-8");
        if (c == '\\') {
            int32_t code = read_escape(scan);
            if (code < 0)
                return fail(scan, "an escape that is none");
            out = put_utf8(out, code);
            continue;
        }
        memcpy(out, scan->at, len);
        out += len;
        scan->at += len;
    }
    return fail(scan, "a string without an end");
}

/* ---- values ---- */

enum json_scan_kind json_scan_next(struct json_scan *scan)
{
    if (scan->why)
        return JSON_SCAN_NOTHING;
    skip_space(scan);
    if (scan->at >= scan->end) {
        json_scan_fail(scan, "it ends too early");
        return JSON_SCAN_NOTHING;
    }
    switch (*scan->at) {
    case '{':
        return JSON_SCAN_OBJECT;
    case '[':
        return JSON_SCAN_ARRAY;
    case '"':
        return JSON_SCAN_STRING;
    case 't':
        return JSON_SCAN_TRUE;
    case 'f':
        return JSON_SCAN_FALSE;
    case 'n':
        return JSON_SCAN_NULL;
    default:
        if (*scan->at == '-' || is_digit(scan, scan->at))
            return JSON_SCAN_NUMBER;
        json_scan_fail(scan, "no value");
        return JSON_SCAN_NOTHING;
    }
}

static bool open_bracket(struct json_scan *scan, bool object)
{
    if (scan->depth == JSON_SCAN_DEPTH)
        return fail(scan, "it is nested too deep");
    uint64_t bit = UINT64_C(1) << scan->depth++;
    scan->objects = object ? scan->objects | bit : scan->objects & ~bit;
    scan->first = true;
    scan->at++;
    return true;
}

/* Whether something else comes before the innermost bracket closes, past the comma. */
static bool more_follows(struct json_scan *scan)
{
    bool first = scan->first;
    scan->first = false;
    if (scan->why)
        return false;
    skip_space(scan);
    if (scan->at >= scan->end)
        return fail(scan, "it ends too early");
    bool object = scan->objects >> (scan->depth - 1) & 1;
    if (*scan->at == (object ? '}' : ']')) {
        scan->at++;
        scan->depth--;
        return false;
    }
    if (first)
        return true;
    if (*scan->at != ',')
        return fail(scan, "neither a comma nor an end");
    scan->at++;
    return true;
}

bool json_scan_enter(struct json_scan *scan, enum json_scan_kind kind)
{
    if (json_scan_next(scan) == kind)
        return open_bracket(scan, kind == JSON_SCAN_OBJECT);
    json_scan_skip(scan);
    return false;
}

bool json_scan_element(struct json_scan *scan)
{
    return more_follows(scan);
}

bool json_scan_member(struct json_scan *scan, struct json_span *name)
{
    if (!more_follows(scan))
        return false;
    skip_space(scan);
    if (scan->at >= scan->end || *scan->at != '"')
        return fail(scan, "a member without a name");
    const char *from = scan->at + 1;
    if (!skip_string(scan))
        return false;
    *name = (struct json_span){from, (size_t)(scan->at - from) - 1};
    skip_space(scan);
    if (scan->at >= scan->end || *scan->at != ':')
        return fail(scan, "a name without a colon");
    scan->at++;
    return true;
}

/* One that is no object and no array. */
static void skip_plain(struct json_scan *scan, enum json_scan_kind kind)
{
    static const char *const words[] = {
        [JSON_SCAN_TRUE] = "true", [JSON_SCAN_FALSE] = "false", [JSON_SCAN_NULL] = "null"};
    if (kind == JSON_SCAN_STRING)
        skip_string(scan);
    else if (kind == JSON_SCAN_NUMBER)
        skip_number(scan);
    else if (kind != JSON_SCAN_NOTHING)
        skip_word(scan, words[kind]);
}

void json_scan_skip(struct json_scan *scan)
{
    unsigned outside = scan->depth;
    struct json_span name;
    do {
        enum json_scan_kind kind = json_scan_next(scan);
        if (kind == JSON_SCAN_OBJECT || kind == JSON_SCAN_ARRAY)
            open_bracket(scan, kind == JSON_SCAN_OBJECT);
        else
            skip_plain(scan, kind);
        /* Up to the next value, or out of all that was opened here. */
        while (!scan->why && scan->depth > outside) {
            bool object = scan->objects >> (scan->depth - 1) & 1;
            if (object ? json_scan_member(scan, &name) : json_scan_element(scan))
                break;
        }
    } while (!scan->why && scan->depth > outside);
}

bool json_scan_value(struct json_scan *scan, struct json_span *out)
{
    json_scan_next(scan);
    const char *from = scan->at;
    json_scan_skip(scan);
    *out = (struct json_span){from, (size_t)(scan->at - from)};
    return !scan->why;
}

bool json_scan_number(struct json_scan *scan, struct json_span *text)
{
    if (json_scan_next(scan) != JSON_SCAN_NUMBER) {
        json_scan_skip(scan);
        return false;
    }
    const char *from = scan->at;
    if (!skip_number(scan))
        return false;
    *text = (struct json_span){from, (size_t)(scan->at - from)};
    return true;
}

bool json_scan_string(struct json_scan *scan, char *out)
{
    if (json_scan_next(scan) == JSON_SCAN_STRING)
        return decode_string(scan, out);
    json_scan_skip(scan);
    return false;
}

int json_scan_finish(struct json_scan *scan, const char **why, size_t *where)
{
    if (!scan->why) {
        skip_space(scan);
        if (scan->at != scan->end || scan->depth)
            json_scan_fail(scan, "something follows the document");
    }
    *why = scan->why;
    *where = (size_t)(scan->at - scan->start);
    return scan->why ? -EINVAL : 0;
}

bool json_span_is(struct json_span name, const char *word)
{
    return name.len == strlen(word) && memcmp(name.at, word, name.len) == 0;
}

/* ---- values found by name ---- */

int json_span_document(const char *text, size_t len, struct json_span *out)
{
    struct json_scan scan;
    struct json_span value;
    const char *why;
    size_t where;
    json_scan_init(&scan, text, len);
    json_scan_value(&scan, &value);
    int err = json_scan_finish(&scan, &why, &where);
    if (!err)
        *out = value;
    return err;
}

int json_span_member(struct json_span object, const char *name, struct json_span *out)
{
    struct json_scan scan;
    struct json_span member, value;
    bool found = false;
    json_scan_init(&scan, object.at, object.len);
    if (!json_scan_enter(&scan, JSON_SCAN_OBJECT))
        return -EINVAL;
    while (json_scan_member(&scan, &member) && json_scan_value(&scan, &value))
        if (json_span_is(member, name)) {
            *out = value;
            found = true;
        }
    return scan.why ? -EINVAL : found ? 0 : -ENOENT;
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
