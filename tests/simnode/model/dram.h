/*
 * One memory channel: banks with open rows, DDR timing at command level, a read queue and a write
 * queue, first-ready first-come-first-served. Times here are clocks of the controller.
 *
 * It knows no events: whoever owns it calls dram_step when dram_step's last answer said so.
 */
#ifndef IE_SIMNODE_MODEL_DRAM_H
#define IE_SIMNODE_MODEL_DRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/simnode/model/request.h"

/* Clocks; names as in JEDEC's tables. */
struct dram_timing {
    uint64_t cl, cwl, rcd, rp, ras, rrd, faw, ccd, burst, wr, wtr, rtp;
    uint64_t rfc, refi; /* refi 0: no refresh */
};

struct dram_config {
    double clock_hz;
    struct dram_timing timing;
    int64_t banks, row_bytes;
    int64_t read_queue;            /* entries; later ones wait before the queue */
    int64_t write_queue;           /* entries that the controller calls full */
    int64_t write_high, write_low; /* writes drain from high down to low */
    int64_t page_idle_clocks;      /* an idle row is closed after this time; 0: never */
    /* While prioritised reads wait, others get no command at all, as Subramanian 2015 (section 4.3)
     * has it; otherwise they get what the prioritised ones cannot use at that clock. */
    bool priority_exclusive;
    /* Open rows and drains of writes are finished first. Otherwise a prioritised read closes the
     * row that others still read, and interrupts a drain. */
    bool priority_after_rows;
    bool bank_hash; /* bank bits are XORed with row bits */
    /* Reads are served in batches, with at most so many of an application in a bank (batch.c); 0:
     * first ready, first come first served. */
    int64_t batch_cap;
};

struct dram_bank {
    int64_t row; /* -1: closed */
    uint64_t next_act, next_pre, next_cas, last_cas;
    struct request_list reads, writes;
    struct request *best[2]; /* for reads, writes */
    bool stale[2];
};

/* Of one application in the batch under way. */
struct dram_share {
    uint32_t in_bank, most_in_bank, reads;
    uint32_t position; /* the least goes first */
};

struct dram_channel {
    const struct dram_config *config;
    struct dram_bank *banks;
    uint64_t next_act, next_read, next_write; /* bus and rank constraints */
    uint64_t acts[4];                         /* the last four activates, for FAW */
    unsigned act_at;
    uint64_t refreshes;
    int64_t reads, writes; /* queued */
    bool draining;
    struct request_list overflow; /* reads that found the queue full */
    uint64_t orders;
    int priority_app;       /* -1: none */
    int last_app;           /* whose command was issued last; -1: none's */
    uint32_t *reads_of_app; /* read requests here, queued or before the queue */
    int apps;
    struct dram_share *shares; /* by application */
    uint32_t marked;           /* reads of the batch that have not been served */
    /* Totals. */
    uint64_t inserts, cas_reads, cas_writes, activates, precharges;
};

enum dram_command_kind { DRAM_NOTHING, DRAM_ACT, DRAM_PRE, DRAM_READ, DRAM_WRITE };

struct dram_command {
    enum dram_command_kind kind;
    struct request *request;
    uint64_t data_clock;      /* DRAM_READ: when its last data is here */
    struct request *inserted; /* DRAM_READ: the waiting read that took the freed queue entry */
};

/* 'apps' is the number of different values of request.app. -EINVAL or -ENOMEM. The configuration
 * is borrowed. */
int dram_init(struct dram_channel *channel, const struct dram_config *config, int apps);
void dram_release(struct dram_channel *channel);

/* Sets bank and row for a line that is the n-th of this channel. */
void dram_locate(const struct dram_config *config, uint64_t n, struct request *request);

/* Takes a read or write. True when it is in the queue, false when it waits before it. */
bool dram_push(struct dram_channel *channel, struct request *request, uint64_t clock);

/* From now on this application's reads go first; -1: nobody's. */
void dram_prioritise(struct dram_channel *channel, int app);

/*
 * Issues at most one command at this clock. *next is when to call again if nothing arrives before;
 * SIM_NEVER when there is nothing to do. Clocks must not go backwards.
 */
struct dram_command dram_step(struct dram_channel *channel, uint64_t clock, uint64_t *next);

static inline bool dram_write_queue_full(const struct dram_channel *channel)
{
    return channel->writes >= channel->config->write_queue;
}

/* A read of the prioritised application is here, and the last command was another's. */
static inline bool dram_priority_waits_behind_other(const struct dram_channel *channel)
{
    return channel->priority_app >= 0 && channel->reads_of_app[channel->priority_app] > 0 &&
           channel->last_app >= 0 && channel->last_app != channel->priority_app;
}

/* batch.c: marks the reads of the next batch, and ranks the applications. */
void dram_form_batch(struct dram_channel *channel);

/* Named timings: "ddr3-1333" (10-10-10), "ddr4-2933" (21-21-21), "ddr5-4800" (40-39-39, one of a
 * DIMM's two channels), "constant" (11 ns for any read, and two commands before). 0 or -ENOENT. */
int dram_preset(const char *name, struct dram_config *out);

#endif
