/*
 * One persistent-memory DIMM behind a memory channel: a read queue of its own, a media that moves
 * 256-byte granules, a small buffer of granules read, and one that combines writes.
 *
 * First come, first served; so a read's completion is known when it enters the queue. Unlike a DRAM
 * read, it stays in the queue until it is served.
 */
#ifndef IE_SIMNODE_MODEL_PMM_H
#define IE_SIMNODE_MODEL_PMM_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/simnode/model/request.h"

enum { PMM_GRANULE_LINES = 4, PMM_GRANULE_BYTES = 256 };

struct pmm_config {
    int64_t dimms;                /* per socket, on its first channels; 0: none */
    double buffer_latency_ns;     /* a read that the buffer holds */
    double media_latency_ns;      /* one that it does not */
    double read_bytes_per_second; /* of the media, per DIMM */
    double write_bytes_per_second;
    int64_t read_queue;
    int64_t buffer_granules; /* each of the two buffers */
};

struct pmm_granule {
    uint64_t number; /* granule + 1; 0: empty */
    uint64_t ready_fs, used;
    unsigned lines; /* write buffer: which lines are new */
};

struct pmm {
    const struct pmm_config *config;
    struct pmm_granule *read_buffer, *write_buffer;
    uint64_t media_free_fs, uses;
    int64_t queued;
    struct request_list overflow;
    uint64_t inserts;
    uint64_t media_bytes_written, media_bytes_read;
};

int pmm_init(struct pmm *pmm, const struct pmm_config *config);
void pmm_release(struct pmm *pmm);

/* True with *done_fs when the read entered the queue; false when the queue is full: it then waits.
 */
bool pmm_read(struct pmm *pmm, struct request *request, uint64_t now_fs, uint64_t *done_fs);

/* A read was served at its done_fs; the one that takes its entry, with its own *done_fs, or NULL.
 */
struct request *pmm_served(struct pmm *pmm, uint64_t now_fs, uint64_t *done_fs);

/* Takes a line; *accepted_fs is when the buffer had room for it. */
void pmm_write(struct pmm *pmm, uint64_t line, uint64_t now_fs, uint64_t *accepted_fs);

#endif
