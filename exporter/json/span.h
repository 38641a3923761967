/*
 * Finds a value in JSON text without decoding the rest: the state files of container runtimes hold
 * secrets, and little of them is needed.
 *
 * Checks structure (brackets, strings, separators) but not the spelling of what it steps over.
 * The text of a value that was found goes to jansson.
 */
#ifndef IE_JSON_SPAN_H
#define IE_JSON_SPAN_H

#include <stddef.h>

struct json_span {
    const char *at;
    size_t len;
};

/* The whole document: one value, nothing but space around it. 0 or -EINVAL. */
int json_span_document(const char *text, size_t len, struct json_span *out);

/* The last member of this name. The name is compared byte for byte, without decoding escapes. 0,
 * -ENOENT, or -EINVAL when it is not an object or broken. */
int json_span_member(struct json_span object, const char *name, struct json_span *out);

/* Elements one by one: cursor starts as 0. 0, -ENOENT after the last, or -EINVAL. */
int json_span_element(struct json_span array, size_t *cursor, struct json_span *out);

/* Decodes a string, cut to fit out at a character's boundary. 0, -ENOENT for a value that is not
 * a string, -EINVAL when it is broken, -ENOMEM. */
int json_span_string(struct json_span value, char *out, size_t size);

#endif
