#include "exporter/source/bpf/rows.h"

#include <errno.h>
#include <stdlib.h>

enum { ROWS_AT_ONCE = 8 }; /* room that a container gets when it runs on more CPUs than before */

int bpf_rows_init(struct bpf_rows *rows, size_t possible)
{
    *rows = (struct bpf_rows){.possible = possible};
    rows->cpus = calloc(possible, sizeof *rows->cpus);
    if (!rows->cpus)
        return -ENOMEM;
    for (size_t i = 0; i < possible; i++)
        rows->cpus[i] = (uint16_t)i;
    return 0;
}

void bpf_rows_release(struct bpf_rows *rows)
{
    free(rows->cpus);
    *rows = (struct bpf_rows){0};
}

void bpf_rows_find(struct bpf_rows *rows, bool (*has_run)(const void *context, int cpu),
                   const void *context)
{
    for (size_t i = rows->n; i < rows->possible; i++) {
        uint16_t cpu = rows->cpus[i];
        if (!has_run(context, cpu))
            continue;
        rows->cpus[i] = rows->cpus[rows->n];
        rows->cpus[rows->n++] = cpu;
    }
}

size_t bpf_rows_room(const struct bpf_rows *rows)
{
    size_t room = (rows->n / ROWS_AT_ONCE + 1) * ROWS_AT_ONCE;
    return room < rows->possible ? room : rows->possible;
}
