#include "tests/simnode/model/pmm.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/simnode/model/simclock.h"

int pmm_init(struct pmm *pmm, const struct pmm_config *config)
{
    if (config->buffer_granules < 1)
        return -EINVAL;

    size_t n = (size_t)config->buffer_granules;
    struct pmm_granule *buffers = calloc(2 * n, sizeof(*buffers));

    if (!buffers)
        return -ENOMEM;
    *pmm = (struct pmm){.config = config, .read_buffer = buffers, .write_buffer = buffers + n};
    return 0;
}

void pmm_release(struct pmm *pmm)
{
    free(pmm->read_buffer);
    *pmm = (struct pmm){0};
}

/* The granule's entry, or the least recently used one when it is not there (*found says). */
static struct pmm_granule *entry_of(struct pmm *pmm, struct pmm_granule *buffer, uint64_t number,
                                    bool *found)
{
    struct pmm_granule *victim = &buffer[0];

    for (int64_t i = 0; i < pmm->config->buffer_granules; i++) {
        if (buffer[i].number == number + 1) {
            *found = true;
            buffer[i].used = ++pmm->uses;
            return &buffer[i];
        }
        if (buffer[i].used < victim->used)
            victim = &buffer[i];
    }
    *found = false;
    victim->used = ++pmm->uses;
    return victim;
}

/* The media is busy for as long as its bandwidth says; returns when the transfer starts. */
static uint64_t use_media(struct pmm *pmm, uint64_t now_fs, double bytes_per_second)
{
    uint64_t start = pmm->media_free_fs > now_fs ? pmm->media_free_fs : now_fs;

    pmm->media_free_fs =
        start + (uint64_t)(PMM_GRANULE_BYTES / bytes_per_second * (double)FS_PER_SECOND);
    return start;
}

static uint64_t serve(struct pmm *pmm, uint64_t line, uint64_t now_fs)
{
    uint64_t number = line / PMM_GRANULE_LINES;
    uint64_t transfer_fs = (uint64_t)(pmm->config->buffer_latency_ns * FS_PER_NS);
    bool found;
    struct pmm_granule *granule = entry_of(pmm, pmm->read_buffer, number, &found);

    if (!found) {
        uint64_t start = use_media(pmm, now_fs, pmm->config->read_bytes_per_second);
        double extra_ns = pmm->config->media_latency_ns - pmm->config->buffer_latency_ns;

        granule->number = number + 1;
        granule->ready_fs = start + (uint64_t)(extra_ns * FS_PER_NS);
        pmm->media_bytes_read += PMM_GRANULE_BYTES;
    }
    return (granule->ready_fs > now_fs ? granule->ready_fs : now_fs) + transfer_fs;
}

static void insert(struct pmm *pmm, struct request *request, uint64_t now_fs, uint64_t *done_fs)
{
    pmm->queued++;
    pmm->inserts++;
    request->queued = true;
    request->insert_fs = now_fs;
    *done_fs = serve(pmm, request->line, now_fs);
}

bool pmm_read(struct pmm *pmm, struct request *request, uint64_t now_fs, uint64_t *done_fs)
{
    if (pmm->queued >= pmm->config->read_queue) {
        request_list_append(&pmm->overflow, request);
        return false;
    }
    insert(pmm, request, now_fs, done_fs);
    return true;
}

struct request *pmm_served(struct pmm *pmm, uint64_t now_fs, uint64_t *done_fs)
{
    struct request *waiting = request_list_shift(&pmm->overflow);

    pmm->queued--;
    if (waiting)
        insert(pmm, waiting, now_fs, done_fs);
    return waiting;
}

void pmm_write(struct pmm *pmm, uint64_t line, uint64_t now_fs, uint64_t *accepted_fs)
{
    uint64_t number = line / PMM_GRANULE_LINES;
    bool found;
    struct pmm_granule *granule = entry_of(pmm, pmm->write_buffer, number, &found);

    *accepted_fs = now_fs;
    if (!found) {
        if (granule->number) {
            /* What is not whole must be read before it can be written. */
            if (granule->lines != (1U << PMM_GRANULE_LINES) - 1) {
                use_media(pmm, now_fs, pmm->config->read_bytes_per_second);
                pmm->media_bytes_read += PMM_GRANULE_BYTES;
            }
            *accepted_fs = use_media(pmm, now_fs, pmm->config->write_bytes_per_second);
            pmm->media_bytes_written += PMM_GRANULE_BYTES;
        }
        *granule = (struct pmm_granule){.number = number + 1, .used = granule->used};
    }
    granule->lines |= 1U << line % PMM_GRANULE_LINES;
}
