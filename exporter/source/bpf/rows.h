/*
 * A container's rows: the CPUs on which it has run so far, in the order in which that was noticed,
 * and which of them have changed since they were read.
 *
 * A group's two readings are filled by turns. A row that has changed neither since the last one nor
 * between that and the one before it is right in both, and is not written.
 */
#ifndef IE_SOURCE_BPF_ROWS_H
#define IE_SOURCE_BPF_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/source/source.h"

struct bpf_rows {
    size_t n;          /* rows */
    size_t possible;   /* CPUs that there can be */
    uint64_t readings; /* a number that grows with each */
    uint64_t *changed; /* owned; bit c: on CPU c it has run since the last reading */
    uint64_t *before;  /* in the same memory; between that and the one before it */
    uint16_t *row_of;  /* likewise; of each CPU, its row + 1; 0: none */
    uint16_t *listed;  /* likewise; the rows of 'changed', for whoever sums them up */
};

/* 'possible' is at most 65,535. 0 or -ENOMEM. */
int bpf_rows_init(struct bpf_rows *rows, size_t possible);
void bpf_rows_release(struct bpf_rows *rows);

/* Adds rows for those of 'changed' that have none. Allocates nothing. */
void bpf_rows_find(struct bpf_rows *rows);

/* Room for a reading: some rows more than there are, up to one for each CPU. */
size_t bpf_rows_room(const struct bpf_rows *rows);

/* A row as it is now, 'cpu' included. 0 or -errno. */
typedef int bpf_row_read(const void *context, int cpu, struct reading_row *out);

/* All rows of *out are as of now, or have not changed, when this returns 0, and it says which have;
 * those of 'changed' were found before. -ENOSPC; else the -errno of 'read'. */
int bpf_rows_read(struct bpf_rows *rows, bpf_row_read *read, const void *context,
                  struct reading *out);
/* The next readings are written anew. */
void bpf_rows_renew(struct bpf_rows *rows);

#endif
