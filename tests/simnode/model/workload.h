/*
 * What a thread executes: instructions, of which those that touch memory are named one by one.
 *
 * A generator is a function of its specification and seed alone, never of time: an alone run
 * executes the same instructions as a shared one.
 */
#ifndef IE_SIMNODE_MODEL_WORKLOAD_H
#define IE_SIMNODE_MODEL_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/simnode/model/kernels.h"
#include "tests/simnode/model/rng.h"

/* Addresses of a program on x86-64 with four levels of page tables. */
enum { SCENARIO_ADDRESS_BITS = 47, SCENARIO_THREAD_BITS = 8, SCENARIO_CONTAINER_BITS = 14 };

enum workload_kind {
    WORKLOAD_CHASE,   /* every load needs the value of the one before, over all lines of 'bytes' */
    WORKLOAD_STREAM,  /* 'streams' sequential sweeps, taking turns */
    WORKLOAD_RANDOM,  /* uniform over 'bytes', with a hot part */
    WORKLOAD_LOOP,    /* one sequential sweep over 'bytes', again and again */
    WORKLOAD_COMPUTE, /* few accesses, and those to a small set */
    WORKLOAD_PHASES,  /* other workloads in turn, by instructions */
    WORKLOAD_TRACE,   /* a file */
    WORKLOAD_FFT,     /* kernels, as kernels.h has them, over and over */
    WORKLOAD_RADIX,
    WORKLOAD_LU,
    WORKLOAD_OCEAN,
    WORKLOAD_HASH,
};

struct workload_spec;

struct workload_phase {
    char *workload; /* name, resolved to 'spec' */
    const struct workload_spec *spec;
    int64_t instructions;
};

struct workload_spec {
    char *name;
    enum workload_kind kind;
    int64_t bytes;                  /* working set */
    double instructions_per_access; /* mean, the access itself included */
    double store_share;             /* of the accesses; of kernels only hash's: of look-ups */
    double nt_share;                /* of the stores: non-temporal, a line each */
    double dependence;              /* share of loads that need the load before */
    int64_t store_bytes;            /* per ordinary store */
    int64_t streams, stride_bytes;
    int64_t hot_bytes; /* the first bytes of the working set ... */
    double hot_share;  /* ... get this share of the accesses */
    bool sequential;   /* chase: in the order of addresses (as MLC), otherwise permuted */
    bool shared;       /* the container's threads use one working set */
    struct workload_phase *phases;
    size_t n_phases;
    char *file;          /* trace, relative to the scenario's folder */
    bool from_start;     /* trace: at its first access; otherwise at one drawn from the seed */
    char *text;          /* the specification as canonical JSON: the key of alone runs */
    struct trace *trace; /* read once, shared by the threads */
};

enum op_kind { OP_LOAD, OP_STORE, OP_NT_STORE, OP_WRITEBACK };

struct op {
    uint64_t bubble; /* instructions before it */
    uint64_t line;   /* in the thread's own address space, from 0 */
    enum op_kind kind;
    bool dependent; /* needs the value of the load before it */
    bool counts;    /* is an instruction (a trace's write-back is none) */
};

struct trace_access {
    uint32_t bubble;
    bool has_writeback;
    uint64_t read_line, write_line;
};

struct trace {
    struct trace_access *accesses;
    size_t n;
    uint64_t digest; /* of the accesses: what tells two files of one name apart */
};

/*
 * One access a line: "<instructions before it> <read address> [<write-back address>]", decimal;
 * gzip if the file begins so. Addresses have at most SCENARIO_ADDRESS_BITS bits. On failure -errno
 * and "FILE:LINE: what is wrong".
 */
int trace_read(const char *path, struct trace **out, char *error, size_t error_size);
/* The same from memory; 'name' is for messages. */
int trace_parse(const char *name, const char *text, size_t len, struct trace **out, char *error,
                size_t error_size);
void trace_free(struct trace *trace);

struct workload {
    const struct workload_spec *spec;
    struct rng rng;
    uint64_t lines, position, gap_range;
    uint64_t *stream_lines; /* streams: where each is */
    size_t turn;
    bool owes_writeback; /* trace */
    struct workload *phases;
    uint64_t phase_left;
    struct kernel *kernel;
};

/* The specification is borrowed. 0 or -ENOMEM. */
int workload_init(struct workload *workload, const struct workload_spec *spec, uint64_t seed);
void workload_release(struct workload *workload);
void workload_next(struct workload *workload, struct op *out);

#endif
