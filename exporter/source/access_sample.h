/*
 * Samples of loads and stores, as sources hand them out: whose, where to, and how many bytes.
 */
#ifndef IE_SOURCE_ACCESS_SAMPLE_H
#define IE_SOURCE_ACCESS_SAMPLE_H

#include "exporter/source/access_size.h"
#include "exporter/source/medium.h"

/* One load or store, with everything known about it. */
struct access_sample {
    uint64_t time_ns; /* CLOCK_MONOTONIC; as ticks have it */
    uint64_t owner;   /* of the scope that it belongs to: what the scope was opened with */
    uint64_t ip, address;
    uint32_t pid, tid;
    enum access access;
    enum medium medium;
    enum access_size size; /* why 'bytes' is 0 */
    uint32_t bytes;
};

/* Spelled as in labels and recordings: "nvmm", "other", "unknown". */
const char *medium_name(enum medium medium);
/* 0 and *out, or -ENOENT; the same for sizes. */
int medium_parse(const char *text, enum medium *out);

/* "known", or why not: "repeated", "masked", "variable", "no_access", "invalid", "truncated" or
 * "unreadable". */
const char *access_size_name(enum access_size size);
int access_size_parse(const char *text, enum access_size *out);

/* Whether the size depends on what is not sampled: of others of its kind it says nothing. */
static inline bool access_size_unknowable(enum access_size size)
{
    return size == ACCESS_SIZE_REPEATED || size == ACCESS_SIZE_MASKED ||
           size == ACCESS_SIZE_VARIABLE;
}

/* How sampling of one kind of access goes. Totals since the start, of the whole machine. */
struct sampling {
    uint64_t period;     /* events per sample; 0: not known */
    uint64_t settled_ns; /* samples of accesses before this time have all been handed out */
    uint64_t lost;       /* samples that the hardware, the kernel or a full queue dropped */
    uint64_t throttles;  /* times that the kernel paused sampling on a CPU */
    int64_t error;       /* below 0: samples of some CPU, or all, are missing at present; -errno */
};

#endif
