/*
 * Which threads used persistent memory lately, and their part of the windows that are held.
 *
 * A fixed number of threads; those beyond it are counted, no more. Nothing is allocated but by new.
 */
#ifndef IE_COLLECTORS_NVMM_THREADS_H
#define IE_COLLECTORS_NVMM_THREADS_H

#include "collectors/nvmm/windows.h"

enum { NVMM_MAX_THREADS = 4096 };

struct nvmm_thread {
    uint64_t owner; /* of the samples: the container's tag */
    uint32_t pid, tid;
    uint64_t sampled_ns; /* latest sample, of any access */
    uint64_t stored_ns;  /* latest store; 0: none */
    struct nvmm_thread_use {
        struct {
            uint32_t number; /* of the container's window */
            uint32_t samples;
            uint64_t bytes;
        } part[NVMM_RING];
        /* Estimated: since the user's last begin, and between that and the one before. */
        double accesses, bytes, accesses_before, bytes_before;
    } use[ACCESS_KINDS];
};

struct nvmm_threads {
    struct nvmm_thread at[NVMM_MAX_THREADS];
    size_t n;
    uint64_t turned_away;                 /* samples of threads without room, since the start */
    uint16_t slots[2 * NVMM_MAX_THREADS]; /* hash -> index + 1; 0: free */
};

/* NULL: out of memory. */
struct nvmm_threads *nvmm_threads_new(void);
void nvmm_threads_free(struct nvmm_threads *threads);

/* A sample of persistent memory in a window of its container. NULL: no room. */
struct nvmm_thread *nvmm_threads_add(struct nvmm_threads *threads,
                                     const struct access_sample *sample, uint32_t number);

/* The window was estimated: adds the thread's share, which is that of its samples and bytes. */
void nvmm_thread_share(struct nvmm_thread *thread, enum access access,
                       const struct nvmm_settled *settled);

/* Keeps the sums as those of the period before, drops the ones that it had, and starts at 0. */
void nvmm_threads_begin(struct nvmm_threads *threads);

/* Forgets those whose latest sample is from before 'recent_ns' and that have nothing left to
 * report; and all whose latest sample is from before 'old_ns'. */
void nvmm_threads_forget(struct nvmm_threads *threads, uint64_t recent_ns, uint64_t old_ns);
void nvmm_threads_forget_owner(struct nvmm_threads *threads, uint64_t owner);

#endif
