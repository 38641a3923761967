/*
 * The rendered text of labels: a="1",b="2" as it stands between the braces of a sample.
 *
 * Names are checked and values escaped when the text is made, so its readers may trust its form.
 * Two sets of labels are the same when they hold the same non-empty values in any order: to a
 * scraper an empty value is an absent label.
 */
#ifndef IE_STORE_LABELS_H
#define IE_STORE_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/textbuf.h"

struct label {
    const char *name, *value; /* a NULL value counts as empty */
};

/* Appends. -EINVAL for a name that is malformed, reserved (le, quantile, __x) or given twice;
 * -ENOMEM. */
int labels_render(const struct label *labels, size_t n, struct textbuf *out);

/* One label of a rendered text; the value is still escaped. */
struct label_slice {
    const char *name, *value;
    size_t name_len, value_len;
};

/* The label at *at, which moves on; false at the end. */
bool labels_next(const char **at, const char *end, struct label_slice *out);

/* Undoes the escaping of a label's value. */
void labels_unescape(const char *value, size_t len, struct textbuf *out);

/* The same for any order of the labels; sums of several texts' hashes hash their union. */
uint64_t labels_hash(const char *text, size_t len, uint64_t seed);
uint64_t labels_mix(uint64_t a, uint64_t b);

/* The labels of a series: those of its labelset and its own. */
struct label_text {
    const char *text[2];
    size_t len[2];
};

bool labels_equal(const struct label_text *a, const struct label_text *b);
/* Whether a name occurs in both parts. */
bool labels_clash(const struct label_text *labels);

#endif
