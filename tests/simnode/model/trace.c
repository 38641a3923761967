/* Trace files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/simnode/model/workload.h"

enum { CHUNK = 1 << 16 };

void trace_free(struct trace *trace)
{
    if (!trace)
        return;
    free(trace->accesses);
    free(trace);
}

/* Up to three decimal numbers; how many, or -1. */
static int parse_line(const char *p, const char *end, uint64_t number[3])
{
    int n = 0;

    for (;;) {
        while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
            p++;
        if (p == end)
            return n;
        if (n == 3 || *p < '0' || *p > '9')
            return -1;

        uint64_t value = 0;

        for (; p < end && *p >= '0' && *p <= '9'; p++)
            if (__builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
                return -1;
        if (p < end && *p != ' ' && *p != '\t' && *p != '\r')
            return -1;
        number[n++] = value;
    }
}

static int append(struct trace *trace, size_t *cap, const struct trace_access *access)
{
    if (trace->n == *cap) {
        size_t bigger = *cap ? *cap * 2 : 1024;
        struct trace_access *accesses = realloc(trace->accesses, bigger * sizeof(*accesses));

        if (!accesses)
            return -ENOMEM;
        trace->accesses = accesses;
        *cap = bigger;
    }
    trace->accesses[trace->n++] = *access;
    trace->digest = mix64(trace->digest ^ access->bubble);
    trace->digest = mix64(trace->digest ^ access->read_line);
    trace->digest = mix64(trace->digest ^ (access->has_writeback ? access->write_line + 1 : 0));
    return 0;
}

int trace_parse(const char *name, const char *text, size_t len, struct trace **out, char *error,
                size_t error_size)
{
    struct trace *trace = calloc(1, sizeof(*trace));
    const char *p = text, *end = text + len;
    size_t cap = 0, line = 0;
    int err = -ENOMEM;

    if (!trace)
        goto fail;
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline ? newline : end;
        uint64_t number[3] = {0};
        int n = parse_line(p, stop, number);

        line++;
        p = newline ? newline + 1 : end;
        if (n == 0)
            continue;
        if (n >= 2 && (number[1] | number[2]) >> SCENARIO_ADDRESS_BITS) {
            snprintf(error, error_size, "%s:%zu: an address has more than %d bits", name, line,
                     SCENARIO_ADDRESS_BITS);
            trace_free(trace);
            return -EINVAL;
        }
        if (n < 2 || number[0] > UINT32_MAX) {
            snprintf(error, error_size,
                     "%s:%zu: expected \"<instructions before it> <read address> [<write-back "
                     "address>]\" in decimal",
                     name, line);
            trace_free(trace);
            return -EINVAL;
        }

        struct trace_access access = {.bubble = (uint32_t)number[0],
                                      .has_writeback = n == 3,
                                      .read_line = number[1] / 64,
                                      .write_line = number[2] / 64};

        err = append(trace, &cap, &access);
        if (err)
            goto fail;
    }
    if (trace->n == 0) {
        snprintf(error, error_size, "%s:%zu: the trace has no access", name, line + (line == 0));
        trace_free(trace);
        return -EINVAL;
    }
    *out = trace;
    return 0;

fail:
    snprintf(error, error_size, "%s: %s", name, strerror(-err));
    trace_free(trace);
    return err;
}

int trace_read(const char *path, struct trace **out, char *error, size_t error_size)
{
    /* gzread passes what is not gzip through as it is. */
    gzFile file = gzopen(path, "rb");
    char *text = NULL;
    size_t len = 0, cap = 0;
    int n, err = errno ? -errno : -EIO;

    if (!file) {
        snprintf(error, error_size, "%s: %s", path, strerror(-err));
        return err;
    }
    do {
        if (cap - len < CHUNK) {
            char *bigger = realloc(text, cap ? cap * 2 : 4 * CHUNK);

            if (!bigger) {
                n = -1;
                break;
            }
            text = bigger;
            cap = cap ? cap * 2 : 4 * CHUNK;
        }
        n = gzread(file, text + len, CHUNK);
        if (n > 0)
            len += (size_t)n;
    } while (n > 0);

    int status = Z_OK;
    const char *why = gzerror(file, &status);

    if (n < 0 || (status != Z_OK && status != Z_STREAM_END)) {
        size_t lines = 1;

        for (size_t i = 0; i < len; i++)
            lines += text[i] == '\n';
        snprintf(error, error_size, "%s:%zu: cannot be read: %s", path, lines,
                 status == Z_ERRNO ? strerror(errno) : why);
        err = -EINVAL;
    } else {
        err = trace_parse(path, text, len, out, error, error_size);
    }
    gzclose(file);
    free(text);
    return err;
}
