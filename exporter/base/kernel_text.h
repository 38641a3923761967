/*
 * The pieces that the kernel's text files are made of, and its lists. A cursor is what is not read
 * yet; each function takes something off its front, or returns false and leaves it, but for a
 * number that is too large, behind whose digits it then stands. Pure.
 */
#ifndef IE_BASE_KERNEL_TEXT_H
#define IE_BASE_KERNEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct kernel_text {
    const char *at, *end;
};

static inline struct kernel_text kernel_text_of(const char *text, size_t len)
{
    return (struct kernel_text){text, text + len};
}

/* Takes nothing. */
static inline bool kernel_text_begins(const struct kernel_text *in, char c)
{
    return in->at < in->end && *in->at == c;
}

static inline bool kernel_text_char(struct kernel_text *in, char c)
{
    if (!kernel_text_begins(in, c))
        return false;
    in->at++;
    return true;
}

static inline unsigned kernel_text_digit(char c, unsigned base)
{
    unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                            : base;
    return digit < base ? digit : base;
}

/* A number of 64 bits, with digits up to 16, in small letters. */
static inline bool kernel_text_number_in(struct kernel_text *in, unsigned base, uint64_t *out)
{
    const char *start = in->at;
    uint64_t value = 0;
    unsigned digit;
    for (; in->at < in->end && (digit = kernel_text_digit(*in->at, base)) < base; in->at++)
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    if (in->at == start)
        return false;
    *out = value;
    return true;
}

/* A decimal number of 64 bits. */
static inline bool kernel_text_number(struct kernel_text *in, uint64_t *out)
{
    return kernel_text_number_in(in, 10, out);
}

/* A text that is a decimal number and nothing else, of at most 'max'. */
static inline bool kernel_text_whole(const char *text, uint64_t max, uint64_t *out)
{
    struct kernel_text in = kernel_text_of(text, strlen(text));
    uint64_t value;
    if (!kernel_text_number(&in, &value) || in.at != in.end || value > max)
        return false;
    *out = value;
    return true;
}

/* What stands before the next 'separator', which goes with it. */
static inline bool kernel_text_until(struct kernel_text *in, char separator,
                                     struct kernel_text *front)
{
    const char *at =
        in->at < in->end ? memchr(in->at, separator, (size_t)(in->end - in->at)) : NULL;
    if (!at)
        return false;
    *front = (struct kernel_text){in->at, at};
    in->at = at + 1;
    return true;
}

/* A line that has its newline: of a text that ends in the middle, the rest is none. */
static inline bool kernel_text_line(struct kernel_text *in, struct kernel_text *line)
{
    return kernel_text_until(in, '\n', line);
}

/* A line, or what there is of the last one. */
static inline bool kernel_text_rest_line(struct kernel_text *in, struct kernel_text *line)
{
    if (in->at == in->end)
        return false;
    if (!kernel_text_line(in, line)) {
        *line = *in;
        in->at = in->end;
    }
    return true;
}

static inline bool kernel_text_word(struct kernel_text *in, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(in->end - in->at) < len || memcmp(in->at, word, len) != 0)
        return false;
    in->at += len;
    return true;
}

/*
 * The kernel's list format for CPUs and nodes: "0-3,8,10-11\n".
 * Parses text of 'len' bytes into ascending, distinct numbers. Stores up to 'cap' of them in out
 * (may be NULL when cap is 0), and their full number in *n. An empty list is valid. -EINVAL for
 * anything else; numbers above 65535 are refused, since no kernel has them.
 */
int cpulist_parse(const char *text, size_t len, int *out, size_t cap, size_t *n);

#endif
