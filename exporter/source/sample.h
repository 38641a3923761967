/*
 * Samples of loads and stores, as sources hand them out: whose, where to, and how many bytes.
 */
#ifndef IE_SOURCE_SAMPLE_H
#define IE_SOURCE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum access { ACCESS_STORE, ACCESS_LOAD, ACCESS_KINDS };

/* Spelled as in labels and recordings: "store", "load". */
const char *access_name(enum access access);
/* 0 and *out, or -ENOENT. */
int access_parse(const char *text, enum access *out);

enum access_size {
    ACCESS_SIZE_KNOWN,
    /* These instructions' sizes depend on registers, which are sampled after the instruction. */
    ACCESS_SIZE_REPEATED, /* rep movs, rep stos, ... */
    ACCESS_SIZE_MASKED,   /* a vector under a mask, gather and scatter: which elements? */
    ACCESS_SIZE_VARIABLE, /* xsave, fxsave, tiles, enter with nesting, far calls */
    /* These cannot have made the access: the code changed, or the address is wrong. */
    ACCESS_SIZE_NO_ACCESS, /* an instruction that makes no such access */
    ACCESS_SIZE_INVALID,   /* no instruction */
    ACCESS_SIZE_TRUNCATED, /* the beginning of an instruction; its end is missing */
    /* Never from access_size(), only from reading the code for it: the process has ended, or runs
     * other code there by now. */
    ACCESS_SIZE_UNREADABLE,
    ACCESS_SIZES
};

/* UNKNOWN is an answer: the medium could not be found out, and is not guessed. */
enum medium { MEDIUM_NVMM, MEDIUM_OTHER, MEDIUM_UNKNOWN, MEDIA };

/* One load or store, with everything known about it. */
struct access_sample {
    uint64_t time_ns; /* CLOCK_MONOTONIC, as in struct tick */
    uint64_t owner;   /* as given when the scope of the access was opened */
    uint64_t ip, address;
    uint32_t pid, tid;
    enum access access;
    enum medium medium;
    enum access_size size; /* why 'bytes' is 0 */
    uint32_t bytes;
    uint64_t latency_cycles; /* 0: not sampled */
};

/* Spelled as in labels and recordings: "nvmm", "other", "unknown". */
const char *medium_name(enum medium medium);
/* 0 and *out, or -ENOENT; the same for sizes. */
int medium_parse(const char *text, enum medium *out);

/* "known", or why not: "repeated", "masked", "variable", "no_access", "invalid", "truncated" or
 * "unreadable". */
const char *access_size_name(enum access_size size);
int access_size_parse(const char *text, enum access_size *out);

/* Whether the size depends on registers that are not sampled. Such an access says nothing about the
 * sizes of others. */
static inline bool access_size_unknowable(enum access_size size)
{
    return size == ACCESS_SIZE_REPEATED || size == ACCESS_SIZE_MASKED ||
           size == ACCESS_SIZE_VARIABLE;
}

/* The state of sampling of one kind of access. Totals since the start, for the whole machine. */
struct sampling {
    uint64_t period;      /* events per sample; 0: not known */
    uint64_t settled_ns;  /* samples of accesses before this time have all been handed out */
    uint64_t lost;        /* samples that the hardware, the kernel or a full queue dropped */
    uint64_t throttles;   /* times that the kernel paused sampling on a CPU */
    uint64_t blocked_pid; /* no samples settle for a second now, since this process is looked at; 0:
                           * none, and in recordings */
    bool apart;           /* a process of its own looks into others; not in recordings */
    uint64_t hung;        /* looks that did not end */
    uint64_t hung_pid;    /* at which process the last of them was */
    uint64_t refused;     /* owners at which nothing looks for a while, since a look did not end */
    int64_t error; /* -errno while samples of some CPU, or of all, are missing; otherwise 0 */
};

#endif
