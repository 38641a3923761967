#include "exporter/base/textbuf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/decimal.h"

void textbuf_init(struct textbuf *buf)
{
    *buf = (struct textbuf)TEXTBUF_INIT;
}

void textbuf_init_fixed(struct textbuf *buf, char *storage, size_t size)
{
    *buf = (struct textbuf){.data = storage, .cap = size, .fixed = true};
    if (size > 0)
        storage[0] = '\0';
    else
        buf->error = -ENOBUFS;
}

void textbuf_release(struct textbuf *buf)
{
    if (!buf->fixed)
        free(buf->data);
    textbuf_init(buf);
}

void textbuf_clear(struct textbuf *buf)
{
    buf->len = 0;
    buf->error = 0;
    if (buf->cap > 0)
        buf->data[0] = '\0';
}

int textbuf_finish(struct textbuf *buf)
{
    return buf->error;
}

int textbuf_reserve(struct textbuf *buf, size_t extra)
{
    if (buf->error)
        return buf->error;
    if (extra < buf->cap - buf->len)
        return 0;
    if (buf->fixed)
        return buf->error = -ENOBUFS;
    size_t need;
    if (__builtin_add_overflow(buf->len, extra, &need) || need > SIZE_MAX / 2 - 1)
        return buf->error = -EOVERFLOW;
    size_t cap = buf->cap ? buf->cap : 64;
    while (cap <= need)
        cap *= 2;
    char *data = realloc(buf->data, cap);
    if (!data)
        return buf->error = -ENOMEM;
    buf->data = data;
    buf->cap = cap;
    return 0;
}

void textbuf_trim(struct textbuf *buf)
{
    size_t cap = buf->len + buf->len / 4 + 1;
    if (buf->fixed || buf->cap < 65536 || buf->cap / 4 < cap)
        return;
    char *data = realloc(buf->data, cap);
    if (!data)
        return;
    buf->data = data;
    buf->cap = cap;
}

void textbuf_add(struct textbuf *buf, const char *bytes, size_t n)
{
    if (textbuf_reserve(buf, n))
        return;
    memcpy(buf->data + buf->len, bytes, n);
    buf->len += n;
    buf->data[buf->len] = '\0';
}

void textbuf_str(struct textbuf *buf, const char *text)
{
    textbuf_add(buf, text, strlen(text));
}

void textbuf_char(struct textbuf *buf, char c)
{
    textbuf_add(buf, &c, 1);
}

void textbuf_printf(struct textbuf *buf, const char *format, ...)
{
    if (textbuf_reserve(buf, 1))
        return;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(buf->data + buf->len, buf->cap - buf->len, format, args);
    va_end(args);
    if (n < 0) {
        buf->error = -EINVAL;
        return;
    }
    if ((size_t)n >= buf->cap - buf->len) {
        if (textbuf_reserve(buf, (size_t)n)) {
            buf->data[buf->len] = '\0';
            return;
        }
        va_start(args, format);
        vsnprintf(buf->data + buf->len, buf->cap - buf->len, format, args);
        va_end(args);
    }
    buf->len += (size_t)n;
}

void textbuf_u64(struct textbuf *buf, uint64_t value)
{
    char digits[DECIMAL_SIZE];
    textbuf_add(buf, digits, decimal_u64(digits, value));
}

void textbuf_double(struct textbuf *buf, double value)
{
    char digits[DECIMAL_SIZE];
    textbuf_add(buf, digits, decimal_double(digits, value));
}

/* Length of the valid UTF-8 sequence at p, or 0. */
static size_t utf8_length(const unsigned char *p)
{
    size_t n;
    uint32_t code;
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf) {
        n = 2;
        code = p[0] & 0x1f;
    } else if ((p[0] & 0xf0) == 0xe0) {
        n = 3;
        code = p[0] & 0x0f;
    } else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        n = 4;
        code = p[0] & 0x07;
    } else {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    return n;
}

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Of two bytes: C1, U+0080 to U+009F, and the Arabic letter mark U+061C. Of three: the marks U+200E
 * and U+200F, the embeddings and overrides U+202A to U+202E, the isolates U+2066 to U+2069. */
static const char *escape_unseen(const unsigned char *p, size_t n)
{
    bool unseen = false;
    if (n == 2)
        unseen = (p[0] == 0xc2 && p[1] < 0xa0) || (p[0] == 0xd8 && p[1] == 0x9c);
    else if (n == 3 && p[0] == 0xe2 && p[1] == 0x80)
        unseen = p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xaa && p[2] <= 0xae);
    else if (n == 3 && p[0] == 0xe2 && p[1] == 0x81)
        unseen = p[2] >= 0xa6 && p[2] <= 0xa9;
    return unseen ? REPLACEMENT : NULL;
}

static const char *escape_nothing(const unsigned char *p, size_t n)
{
    (void)p;
    (void)n;
    return NULL;
}

/* Appends text with 'escape' deciding the ASCII characters, and 'longer' the others; anything
 * malformed becomes U+FFFD. */
static void add_escaped(struct textbuf *buf, const char *text,
                        const char *(*escape)(unsigned char c, char *scratch),
                        const char *(*longer)(const unsigned char *p, size_t n))
{
    const unsigned char *p = (const unsigned char *)text;
    const unsigned char *plain = p;
    char scratch[8];
    while (*p) {
        size_t n = utf8_length(p);
        const char *replacement = NULL;
        if (n == 0) {
            replacement = REPLACEMENT;
            n = 1;
        } else {
            replacement = n == 1 ? escape(*p, scratch) : longer(p, n);
        }
        if (replacement) {
            textbuf_add(buf, (const char *)plain, (size_t)(p - plain));
            textbuf_str(buf, replacement);
            plain = p + n;
        }
        p += n;
    }
    textbuf_add(buf, (const char *)plain, (size_t)(p - plain));
}

static const char *escape_label(unsigned char c, char *scratch)
{
    (void)scratch;
    switch (c) {
    case '\\':
        return "\\\\";
    case '"':
        return "\\\"";
    case '\n':
        return "\\n";
    default:
        return c < 0x20 || c == 0x7f ? REPLACEMENT : NULL;
    }
}

static const char *escape_html(unsigned char c, char *scratch)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return c == '\\' || c == '\n' ? NULL : escape_label(c, scratch);
    }
}

static const char *escape_quoted(unsigned char c, char *scratch)
{
    if (c == '"' || c == '\\' || c == '\n')
        return escape_label(c, scratch);
    if (c >= 0x20 && c != 0x7f)
        return NULL;
    snprintf(scratch, 8, "\\u%04x", c);
    return scratch;
}

void textbuf_label_value(struct textbuf *buf, const char *text)
{
    add_escaped(buf, text, escape_label, escape_unseen);
}

static const char *escape_plain(unsigned char c, char *scratch)
{
    return c == '\\' || c == '"' || c == '\n' ? NULL : escape_label(c, scratch);
}

void textbuf_plain(struct textbuf *buf, const char *text)
{
    add_escaped(buf, text, escape_plain, escape_unseen);
}

void textbuf_html(struct textbuf *buf, const char *text)
{
    add_escaped(buf, text, escape_html, escape_unseen);
}

void textbuf_quoted(struct textbuf *buf, const char *text)
{
    textbuf_char(buf, '"');
    add_escaped(buf, text, escape_quoted, escape_nothing);
    textbuf_char(buf, '"');
}
