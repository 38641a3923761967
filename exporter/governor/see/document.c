#include "exporter/governor/see/document.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void document_init(struct document *document, const char *text, size_t len, char *texts)
{
    *document = (struct document){.texts = texts};
    json_scan_init(&document->scan, text, len);
}

/* ---- members ---- */

static int member_of(struct document *document, struct json_span name, const char *const *names,
                     unsigned *seen)
{
    if (memchr(name.at, '\\', name.len)) {
        json_scan_fail(&document->scan, "a name with an escape");
        return -1;
    }
    for (int i = 0; names[i]; i++) {
        if (!json_span_is(name, names[i]))
            continue;
        if (*seen & 1u << i)
            json_scan_fail(&document->scan, "a name that stands twice");
        *seen |= 1u << i;
        return i;
    }
    return -1;
}

int document_member(struct document *document, const char *const *names, unsigned *seen)
{
    struct json_span name;
    while (json_scan_member(&document->scan, &name)) {
        int i = member_of(document, name, names, seen);
        if (i >= 0)
            return i;
        json_scan_skip(&document->scan);
    }
    return -1;
}

/* ---- values ---- */

const char *document_text(struct document *document)
{
    char *text = document->texts + document->texts_len;
    if (!json_scan_string(&document->scan, text))
        return "";
    document->texts_len += strlen(text) + 1;
    return text;
}

static double double_of(struct json_span number)
{
    char text[64];
    if (number.len >= sizeof text)
        return NAN;
    memcpy(text, number.at, number.len);
    text[number.len] = '\0';
    double value = strtod(text, NULL);
    return isfinite(value) ? value : NAN;
}

double document_number(struct document *document)
{
    struct json_span number;
    return json_scan_number(&document->scan, &number) ? double_of(number) : NAN;
}

uint64_t document_whole(struct document *document)
{
    struct json_span number;
    uint64_t whole = 0;
    if (!json_scan_number(&document->scan, &number))
        return 0;
    size_t digits = 0;
    while (digits < number.len && number.at[digits] >= '0' && number.at[digits] <= '9')
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, (uint64_t)(number.at[digits++] - '0'), &whole))
            return 0;
    if (digits == number.len)
        return whole;
    double value = double_of(number);
    return value >= 1 && value < 0x1p53 && floor(value) == value ? (uint64_t)value : 0;
}

uint64_t document_nanoseconds(struct document *document)
{
    double seconds = document_number(document);
    return seconds > 0 && seconds < 3e10 / 4 ? (uint64_t)llround(seconds * 1e9) : 0;
}
