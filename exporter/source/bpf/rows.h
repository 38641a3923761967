/*
 * Which CPUs a container has rows for: those on which it has run so far, in the order in which that
 * was noticed.
 */
#ifndef IE_SOURCE_BPF_ROWS_H
#define IE_SOURCE_BPF_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_rows {
    size_t n;        /* rows */
    size_t possible; /* CPUs that there can be */
    /* All CPUs: first those of the rows, then the others. Owned. */
    uint16_t *cpus;
};

/* 'possible' is at most 65,536. 0 or -ENOMEM. */
int bpf_rows_init(struct bpf_rows *rows, size_t possible);
void bpf_rows_release(struct bpf_rows *rows);

/* Adds the CPUs on which it has run since: asks once for each without a row. Allocates nothing. */
void bpf_rows_find(struct bpf_rows *rows, bool (*has_run)(const void *context, int cpu),
                   const void *context);

/* Room for a reading: some rows more than there are, up to one for each CPU. */
size_t bpf_rows_room(const struct bpf_rows *rows);

#endif
