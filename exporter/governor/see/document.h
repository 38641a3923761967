/*
 * Values of a JSON document of the exporter's, one after another, by exporter/json/scan.h. A value
 * of another type is unknown, never a default. Pure.
 */
#ifndef IE_GOVERNOR_DOCUMENT_H
#define IE_GOVERNOR_DOCUMENT_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/json/scan.h"

struct document {
    struct json_scan scan; /* read on by it, too: objects, lists, what is stepped over */
    char *texts;           /* borrowed */
    size_t texts_len;
};

/* 'texts' has room for as many bytes as the text has: all strings in it are shorter than that. */
void document_init(struct document *document, const char *text, size_t len, char *texts);

/* The next member of the object that is open whose name is among 'names', ended by NULL: its index;
 * others are stepped over. Negative behind the last one. 'seen' is 0 at first. A name of these that
 * stands twice is an error, since readers differ in which one they take. */
int document_member(struct document *document, const char *const *names, unsigned *seen);

/* Each reads one value. "" for what is no string; it is in 'texts'. */
const char *document_text(struct document *document);
/* NaN for what is no number, or none that a double holds. */
double document_number(struct document *document);
/* A whole number that a double, or as digits 64 bits, hold exactly; 0 for what is none. */
uint64_t document_whole(struct document *document);
/* Seconds as nanoseconds; 0 for what is none, or beyond a thousand years. */
uint64_t document_nanoseconds(struct document *document);

#endif
