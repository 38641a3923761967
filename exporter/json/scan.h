/*
 * Reads JSON from its start to its end, once, and builds nothing: for a large document of which a
 * part is needed, again and again.
 *
 *     json_scan_init(&scan, text, len);
 *     if (json_scan_enter(&scan, JSON_SCAN_OBJECT))
 *         while (json_scan_member(&scan, &name))
 *             if (json_span_is(name, "tick")) ... one value is read, ...
 *             else json_scan_skip(&scan);           ... or stepped over
 *     err = json_scan_finish(&scan, &why);
 *
 * What is stepped over is checked, too: everything that jansson refuses is refused, but for names
 * that stand twice in an object, numbers that no double holds, and strings that are not UTF-8
 * (those that are taken must be). The first error stays; from then on nothing is found. Pure, no
 * allocation, but for json_span_string().
 */
#ifndef IE_JSON_SCAN_H
#define IE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_SCAN_DEPTH = 64 };

enum json_scan_kind {
    JSON_SCAN_NOTHING, /* after an error */
    JSON_SCAN_OBJECT,
    JSON_SCAN_ARRAY,
    JSON_SCAN_STRING,
    JSON_SCAN_NUMBER,
    JSON_SCAN_TRUE,
    JSON_SCAN_FALSE,
    JSON_SCAN_NULL
};

/* A part of the text: a value, or what stands between the quotes of a name. */
struct json_span {
    const char *at;
    size_t len;
};

struct json_scan {
    const char *start, *at, *end;
    const char *why;  /* NULL: no error */
    uint64_t objects; /* bit i: what is open at depth i is an object */
    unsigned depth;
    bool first; /* nothing of what was opened last has been read */
};

/* The text must outlive the scan. */
void json_scan_init(struct json_scan *scan, const char *text, size_t len);

/* What comes next. */
enum json_scan_kind json_scan_next(struct json_scan *scan);

/* Opens an object or an array if that comes next, or else steps over what comes: false. */
bool json_scan_enter(struct json_scan *scan, enum json_scan_kind kind);
/* The next member's name as it stands between its quotes; then its value comes. False behind the
 * last one: the object is closed. */
bool json_scan_member(struct json_scan *scan, struct json_span *name);
/* Whether another element comes. False behind the last one: the array is closed. */
bool json_scan_element(struct json_scan *scan);

/* Steps over one value. */
void json_scan_skip(struct json_scan *scan);
/* The same, and says where it stood. False after an error. */
bool json_scan_value(struct json_scan *scan, struct json_span *out);
/* Each takes what comes if it is of its kind, or else steps over it: false. */
bool json_scan_number(struct json_scan *scan, struct json_span *text);
/* Decoded, with a NUL behind it: never more bytes than the string has in the text with its quotes,
 * for which there must be room. A string with a NUL in it is an error. */
bool json_scan_string(struct json_scan *scan, char *out);

/* The reader's own reason to stop. */
void json_scan_fail(struct json_scan *scan, const char *why);
/* 0 when the whole text was one value; -EINVAL with the reason, and where, as bytes from the start.
 */
int json_scan_finish(struct json_scan *scan, const char **why, size_t *where);

/* Names without escapes only. */
bool json_span_is(struct json_span name, const char *word);

/*
 * Values found by name: the state files of container runtimes hold secrets, which nobody decodes
 * so, and little of them is needed.
 */

/* The whole document: one value, nothing but space around it. 0 or -EINVAL. */
int json_span_document(const char *text, size_t len, struct json_span *out);
/* The last member of this name. 0, -ENOENT, or -EINVAL when it is not an object. */
int json_span_member(struct json_span object, const char *name, struct json_span *out);
/* Decodes a string, cut to fit out at a character's boundary. 0, -ENOENT for a value that is not
 * a string, -EINVAL when it is broken, -ENOMEM. */
int json_span_string(struct json_span value, char *out, size_t size);

#endif
