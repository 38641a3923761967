/*
 * Records of perf's ring buffers, from bytes. Pure; nothing in the bytes is trusted.
 */
#ifndef IE_SOURCE_SAMPLER_RECORD_H
#define IE_SOURCE_SAMPLER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kernel_record_kind {
    KERNEL_RECORD_SAMPLE,
    KERNEL_RECORD_MMAP,         /* something was mapped, or its protection changed */
    KERNEL_RECORD_EXEC,         /* the process runs another program: all its mappings are gone */
    KERNEL_RECORD_FORK,         /* a process or thread began */
    KERNEL_RECORD_EXIT,         /* a thread ended, with tid == pid usually the process */
    KERNEL_RECORD_LOST,         /* records of any kind for which the buffer had no room */
    KERNEL_RECORD_LOST_SAMPLES, /* samples that the hardware dropped */
    KERNEL_RECORD_THROTTLE,     /* the kernel stopped sampling for a while: too many interrupts */
    KERNEL_RECORD_UNTHROTTLE,
    KERNEL_RECORD_OTHER, /* of no interest here, or of a later kernel */
    KERNEL_RECORD_KINDS
};

/* Members that the kind or the sample type does not have are 0. */
struct kernel_record {
    enum kernel_record_kind kind;
    uint64_t time_ns; /* of the clock that the event was opened with */
    uint32_t pid, tid;
    union {
        struct {
            uint64_t ip, address;
            uint64_t weight;      /* in cycles, where the event's weight is its latency */
            uint64_t data_source; /* union perf_mem_data_src: load or store, from where */
            uint64_t cgroup_id;   /* 0: not asked for */
            bool user;            /* the instruction is the process's, not the kernel's */
        } sample;
        struct {
            uint64_t start, length, offset;
            uint32_t major, minor;
            uint64_t inode;
            bool readable, writable, executable, shared;
            const char *path; /* into the bytes; not NUL-terminated */
            size_t path_len;
        } mmap;
        struct {
            uint32_t parent_pid;
        } fork;
        uint64_t lost;
    };
};

/* What events must be opened with, for the records here: any of the optional fields may be
 * added. sample_id_all, mmap, mmap_data, mmap2, comm, comm_exec and task as well. */
#define KERNEL_RECORD_SAMPLE_TYPE                                                                  \
    (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR)
#define KERNEL_RECORD_OPTIONAL_FIELDS                                                              \
    (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_CGROUP)

/*
 * The record at the start of the bytes. 0 with *out and its size in *size; -EINVAL for bytes that
 * are no whole record of that sample type, *out and *size untouched; -ENOTSUP for a sample type
 * with fields that are not known here.
 */
int kernel_record_parse(const uint8_t *bytes, size_t len, uint64_t sample_type,
                        struct kernel_record *out, size_t *size);

#endif
