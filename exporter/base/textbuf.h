/*
 * Text that grows, with a sticky error.
 *
 * Appends need no checks: after the first failure (out of memory, or a full fixed buffer) further
 * appends do nothing, and textbuf_finish() reports it. 'data' is always NUL-terminated
 * while 'error' is 0 and something was appended; 'len' does not count the NUL.
 */
#ifndef IE_BASE_TEXTBUF_H
#define IE_BASE_TEXTBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct textbuf {
    char *data;
    size_t len;
    size_t cap;
    int error;  /* 0 or a negative errno, sticky */
    bool fixed; /* the caller's buffer; never grows */
};

#define TEXTBUF_INIT                                                                               \
    {                                                                                              \
        0                                                                                          \
    }

void textbuf_init(struct textbuf *buf);
void textbuf_init_fixed(struct textbuf *buf, char *storage, size_t size);
void textbuf_release(struct textbuf *buf);
/* Empties it and forgets the error; keeps the memory. */
void textbuf_clear(struct textbuf *buf);
/* 0, or the first error. The text stays owned by buf. */
int textbuf_finish(struct textbuf *buf);
/* Makes room for 'extra' more bytes; returns 0 or the sticky error. */
int textbuf_reserve(struct textbuf *buf, size_t extra);

/* Gives memory back when most of a large buffer is unused. */
void textbuf_trim(struct textbuf *buf);

void textbuf_add(struct textbuf *buf, const char *bytes, size_t n);
void textbuf_str(struct textbuf *buf, const char *text);
void textbuf_char(struct textbuf *buf, char c);
void textbuf_printf(struct textbuf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void textbuf_u64(struct textbuf *buf, uint64_t value);

/* As the exposition formats write it, see decimal.h. */
void textbuf_double(struct textbuf *buf, double value);

/* The inside of a label value: backslash, double quote and newline escaped. Bytes that are not
 * valid UTF-8 become U+FFFD, since a scraper rejects the whole page otherwise; so do control
 * characters, which a terminal obeys, and those that turn the direction of text around, which show
 * a name as another (Unicode's Bidi_Control). Names are tenants' texts. */
void textbuf_label_value(struct textbuf *buf, const char *text);

/* As in a label, without the escaping. */
void textbuf_plain(struct textbuf *buf, const char *text);

/* As content and as a quoted attribute's value of HTML; repaired in the same way. */
void textbuf_html(struct textbuf *buf, const char *text);

/* A double-quoted string, valid in JSON and in logfmt. */
void textbuf_quoted(struct textbuf *buf, const char *text);

#endif
