#include "exporter/governor/bursts.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exporter/base/clock.h"
#include "exporter/source/probe/thread.h"
#include "exporter/source/probe/topology.h"

enum { BUFFER_BYTES = 4 << 20, NEEDED = 3 };
#define SLOT_NS (EXPERIMENT_SLOT_MS * UINT64_C(1000000))
#define MOST_NS UINT64_C(5000000) /* of CPU time for a burst */

struct bursts {
    struct chase_buffer buffer;
    struct chase_ring ring;
    enum chase_flush how;
    uint64_t random;
};

/* Whatever this process may use of it. */
static bool has_one_node(const struct fsroot *fs, const struct log *log)
{
    struct chase_topology topology = {0};
    struct chase_allowed all;
    memset(&all, 0xff, sizeof all);
    bool one = chase_topology_init(&topology, fs, &all, log) == 0 && topology.n_targets == 1;
    chase_topology_release(&topology);
    return one;
}

int bursts_new(const struct fsroot *fs, const struct log *log, struct bursts **out)
{
    struct verdict why;
    struct bursts *bursts = calloc(1, sizeof *bursts);
    if (!bursts)
        return -ENOMEM;
    verdict_clear(&why);
    bursts->how = chase_flush_detect();
    bursts->random = clock_mono_ns();
    int err = bursts->how == CHASE_FLUSH_NONE || !has_one_node(fs, log) ? -ENOTSUP : 0;
    if (!err)
        err = chase_buffer_init(&bursts->buffer, fs, BUFFER_BYTES, 0, -1, true, &why);
    if (!err)
        err = chase_ring_init(&bursts->ring, bursts->buffer.base, bursts->buffer.bytes, 0, 1,
                              bursts->random);
    if (err)
        bursts_free(bursts);
    else
        *out = bursts;
    return err;
}

void bursts_free(struct bursts *bursts)
{
    if (!bursts)
        return;
    chase_ring_release(&bursts->ring);
    chase_buffer_release(&bursts->buffer);
    free(bursts);
}

static void sleep_until(uint64_t when_ns)
{
    const struct timespec t = {.tv_sec = (time_t)(when_ns / 1000000000U),
                               .tv_nsec = (long)(when_ns % 1000000000U)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

/* Each burst has a part of the slot, and begins anywhere in its first four fifths but the first
 * fifth: a quota that was just set leaves its container what it has of the period, and nothing
 * periodic is marched in step with. */
static double measure_slot(void *context)
{
    struct bursts *bursts = context;
    const uint64_t start_ns = clock_mono_ns(), part_ns = SLOT_NS / EXPERIMENT_BURSTS;
    double latencies[EXPERIMENT_BURSTS];
    size_t n = 0;
    for (uint64_t i = 0; i < EXPERIMENT_BURSTS; i++) {
        struct chase_burst burst;
        sleep_until(start_ns + i * part_ns + part_ns / 5 +
                    chase_random(&bursts->random) % (part_ns / 5 * 3));
        chase_burst(&bursts->ring, bursts->how, sched_getcpu(), MOST_NS, &burst);
        if (burst.valid)
            latencies[n++] = burst.latency_ns * 1e-9;
    }
    sleep_until(start_ns + SLOT_NS);
    return n >= NEEDED ? chase_median(latencies, n) : NAN;
}

static uint64_t now_ns(void *context)
{
    (void)context;
    return clock_mono_ns();
}

struct experiment_meter bursts_meter(struct bursts *bursts)
{
    return (struct experiment_meter){.slot = measure_slot, .now_ns = now_ns, .context = bursts};
}
