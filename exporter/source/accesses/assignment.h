/*
 * From the kernel's records to samples of accesses: the owner, the kind of memory, the number of
 * bytes.
 *
 * The records come in the order of their times, over all CPUs. What a sample needs is looked up
 * later than it was taken: a process's mappings and the bytes of its code are read now. So such a
 * sample waits until all records up to the reading have been seen. If none of them touched what was
 * read, it held at the time of the sample; otherwise it is unknown, and never another's. It waits
 * at most two seconds, then it is unknown as well.
 *
 * Sizes are remembered per process and address of the instruction: of private, unwritable mappings
 * of files until something executable is mapped or the process runs another program; of all other
 * code, which a compiler may rewrite at any time, only for samples from before it was read.
 *
 * Reading takes at most a twentieth of a CPU for code and another one for mappings, over a second;
 * beyond it, sizes are unreadable and media unknown.
 *
 * Where a read of a process did not end, its owner is refused for a while (process_table.h): its
 * samples are handed on without medium and size.
 *
 * Without a cgroup in the samples, a container's process is known by its cgroup in /proc: see
 * process_table.h.
 *
 * One thread, but for counts.
 */
#ifndef IE_SOURCE_ACCESSES_ASSIGNMENT_H
#define IE_SOURCE_ACCESSES_ASSIGNMENT_H

#include "exporter/base/fsroot.h"
#include "exporter/source/accesses/instruction.h"
#include "exporter/source/accesses/medium.h"
#include "exporter/source/accesses/process_reader.h"
#include "exporter/source/accesses/queue.h"
#include "exporter/source/sampler/record.h"

/* Whose samples are wanted. Called from the sampler's thread. */
struct sample_owners {
    /* What a scope with this cgroup, or with one above it, was opened with; 0: not wanted. Must
     * not wait. */
    uint64_t (*owner)(void *context, uint64_t cgroup_id);
    /* The cgroup that a thread is in now, or if that has ended its process, which began at or
     * before 'time_ns'. 0 or -errno. */
    int (*cgroup)(void *context, uint32_t pid, uint32_t tid, uint64_t time_ns, uint64_t *cgroup_id);
    void *context;
};

struct assignment_config {
    const struct fsroot *fs; /* borrowed for its life, like all pointers here */
    struct medium_rule *rule;
    const struct sample_owners *owners;
    struct process_reader *reader; /* NULL: in this process */
    struct sample_queue *queue;    /* this is its putting side */
    uint64_t (*now_ns)(void *context);
    uint64_t (*cpu_ns)(void *context); /* of this thread; NULL: the real one. For tests */
    void *now_context;
    size_t max_processes;     /* with mappings; four times as many are known by their cgroup */
    size_t max_mapping_bytes; /* of all processes; 0: no limit */
    size_t code_entries;      /* remembered instructions, of all processes */
    size_t max_waiting;       /* beyond that, samples go on with what is known of them at once */
};

struct assignment;

/* 0 or -errno. */
int assignment_new(const struct assignment_config *config, struct assignment **out);
void assignment_free(struct assignment *assignment);

/* A sample of an access of this kind. Its weight, where the event has one, is its latency. */
void assignment_sample(struct assignment *assignment, enum access access,
                       const struct kernel_record *record);
/* What becomes of processes: all records that are not samples, of the event that has them. */
void assignment_event(struct assignment *assignment, const struct kernel_record *record);
/* All records before this time were handed in. */
void assignment_settle(struct assignment *assignment, uint64_t time_ns);

/* Since the start. Any thread. */
struct assignment_counts {
    uint64_t dropped[ACCESS_KINDS]; /* for want of room in the queue */
    uint64_t foreign;               /* samples of processes that are not wanted */
    uint64_t unseen;     /* of these, of processes without a number in our PID namespace */
    uint64_t code_reads; /* of the processes' memory */
    uint32_t looks_at;   /* the process whose mappings or memory are read now; 0: none */
    uint64_t hung;       /* reads that did not end */
    uint32_t hung_at;    /* the process of the last one */
    uint64_t refused;    /* owners, now */
};
struct assignment_counts assignment_counts(const struct assignment *assignment);

/* For tests and benchmarks: what is held for processes and their code. Its own thread. */
struct assignment_size {
    size_t processes; /* with mappings */
    size_t mapping_bytes, process_bytes, code_bytes, waiting_bytes;
};
struct assignment_size assignment_size(const struct assignment *assignment);

#endif
