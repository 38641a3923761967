#include "exporter/source/bpf/rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_AT_ONCE = 8, /* room that a container gets when it runs on more CPUs than before */
    READINGS = 2,     /* of a group, by turns */
    BITS = 64,        /* of a word */
};

static size_t words_of(const struct bpf_rows *rows)
{
    return (rows->possible + BITS - 1) / BITS;
}

int bpf_rows_init(struct bpf_rows *rows, size_t possible)
{
    *rows = (struct bpf_rows){.possible = possible, .readings = READINGS};
    size_t words = words_of(rows);
    rows->changed =
        calloc(1, 2 * (words * sizeof *rows->changed + possible * sizeof *rows->row_of));
    if (!rows->changed)
        return -ENOMEM;
    rows->before = rows->changed + words;
    rows->row_of = (uint16_t *)(rows->before + words);
    rows->listed = rows->row_of + possible;
    return 0;
}

void bpf_rows_release(struct bpf_rows *rows)
{
    free(rows->changed);
    *rows = (struct bpf_rows){0};
}

void bpf_rows_find(struct bpf_rows *rows)
{
    for (size_t i = 0; i < words_of(rows); i++)
        for (uint64_t left = rows->changed[i]; left; left &= left - 1) {
            uint16_t *row = &rows->row_of[i * BITS + (size_t)__builtin_ctzll(left)];
            if (!*row)
                *row = (uint16_t)++rows->n;
        }
}

size_t bpf_rows_room(const struct bpf_rows *rows)
{
    size_t room = (rows->n / ROWS_AT_ONCE + 1) * ROWS_AT_ONCE;
    return room < rows->possible ? room : rows->possible;
}

void bpf_rows_renew(struct bpf_rows *rows)
{
    rows->readings += READINGS;
}

int bpf_rows_read(struct bpf_rows *rows, bpf_row_read *read, const void *context,
                  struct reading *out)
{
    const size_t words = words_of(rows);
    if (out->cap < rows->n)
        return -ENOSPC;
    bool all = out->as_of + READINGS < ++rows->readings;
    out->n_changed = 0;
    for (size_t i = 0; i < words; i++) {
        uint64_t left = all ? UINT64_MAX : rows->changed[i] | rows->before[i];
        for (; left; left &= left - 1) {
            size_t cpu = i * BITS + (size_t)__builtin_ctzll(left);
            uint16_t row = cpu < rows->possible ? rows->row_of[cpu] : 0;
            int err = row ? read(context, (int)cpu, reading_row(out, row - 1u)) : 0;
            if (err)
                return err; /* what has changed is kept */
            if (row && (rows->changed[i] >> cpu % BITS & 1))
                rows->listed[out->n_changed++] = row - 1;
        }
    }
    memcpy(rows->before, rows->changed, words * sizeof *rows->before);
    memset(rows->changed, 0, words * sizeof *rows->changed);
    out->as_of = rows->readings;
    out->changed = rows->listed;
    out->n = rows->n;
    return 0;
}
