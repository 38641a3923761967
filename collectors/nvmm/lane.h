/*
 * What the collector of persistent memory keeps for one container: its open groups, what is counted
 * and sampled of it, and its series.
 */
#ifndef IE_COLLECTORS_NVMM_LANE_H
#define IE_COLLECTORS_NVMM_LANE_H

#include "collectors/nvmm/processes.h"
#include "collectors/nvmm/series.h"
#include "collectors/nvmm/threads.h"
#include "collectors/parts/container_group.h"
#include "collectors/parts/lanes.h"

/* What holds for the node, in words of the verdict. */
enum nvmm_state { NVMM_OK, NVMM_UNOPENED, NVMM_SILENT, NVMM_STUCK, NVMM_REFUSING };

/* What all lanes share. Lives in the collector. */
struct nvmm_context {
    struct collector_env env;
    struct collector_status *status;
    struct verdict verdict; /* while all is well: it may say what is missing */
    enum nvmm_state state;
    struct nvmm_families families;
    struct nvmm_threads *threads;
    struct nvmm_processes *processes;  /* NULL unless asked for */
    bool sampled[ACCESS_KINDS], rfo;   /* can be had here, and is wanted */
    bool seen[ACCESS_KINDS], rfo_seen; /* was counted for some container once */
    bool active[ACCESS_KINDS];         /* is sampled: a recording may have counts only */
    uint64_t moved_ns;                 /* when stores were counted last */
};

/* A container's loads, or its stores. */
struct nvmm_use {
    group_handle handle; /* 0: not open */
    struct nvmm_windows windows;
    bool counted;            /* there was a reading once */
    uint64_t samples[MEDIA]; /* totals, like the next two */
    double accesses, bytes;
    struct nvmm_settled settled[NVMM_RING]; /* in this tick */
    size_t n_settled;
};

/* One container. */
struct nvmm_lane {
    struct lane_base base; /* first; its groups are below */
    uint64_t tag;          /* what its samples carry */
    struct nvmm_use use[ACCESS_KINDS];
    group_handle rfo;
    bool complete; /* all that is wanted was opened */
    bool rfo_counted;
    uint64_t rfo_total;
    unsigned writers;     /* of this tick */
    unsigned ended_ticks; /* since those were read; 0: not yet */
    bool listed;          /* in the list that is being written, or has no room there */
    int index;            /* its index in that list; -1: none */
    struct nvmm_set series;
};

/* For lanes_init, with the context: makes and keeps struct nvmm_lane. */
extern const struct lane_ops nvmm_lane_ops;

/* The lane whose samples carry this tag; NULL: none does any more. */
struct nvmm_lane *nvmm_lane_of(const struct lanes *lanes, uint64_t tag);

/* Reads the counts of one window. 0, or the first error. */
int nvmm_lane_read(struct nvmm_context *self, struct nvmm_lane *lane, const struct tick *tick);

/* What the windows that are settled by now come to. */
void nvmm_use_settle(struct nvmm_use *use, uint64_t settled_ns);

/* Shows what lasts, the counters. A kind of access is shown once it was counted, and sampled. */
void nvmm_lane_show(const struct nvmm_context *self, struct nvmm_lane *lane);

/* An ended container waits for its last samples, but not for a sampler that stands still. */
bool nvmm_lane_may_close(const struct nvmm_lane *lane);
/* Whether any group is open. */
bool nvmm_lane_is_open(const struct nvmm_lane *lane);
void nvmm_lane_close(struct nvmm_context *self, struct nvmm_lane *lane);

#endif
