#include "exporter/source/probe/hit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HIT_SLOT_BYTES = 512,
    HIT_OFFSET_BYTES = 32, /* in the line, whose beginning may belong to another ring */
    HIT_RUN_LOADS = 1000,
    HIT_RUNS = 5,
    HIT_RUNS_NEEDED = 3,
    L2_RING_BYTES = 128 << 10,
    L2_OFFSET_BYTES = 40, /* behind the other ring's pointer */
    L2_LEAST_BYTES = 256 << 10,
};

/* Above this share of the latency of the next level, too many of the loads went there. */
static const double most_of_next = 0.7;

static int read_cache(const struct fsroot *fs, int cpu, int index, const char *file, char *out,
                      size_t size)
{
    char path[96];
    snprintf(path, sizeof path, "devices/system/cpu/cpu%d/cache/index%d/%s", cpu, index, file);
    return fsroot_read(fs, FSROOT_SYS, path, out, size, NULL);
}

/* "2048K", as the kernel writes it. */
static size_t size_bytes(const char *text)
{
    char *end;
    unsigned long kib = strtoul(text, &end, 10);
    return *end == 'K' && kib < 1ul << 32 ? (size_t)kib << 10 : 0;
}

int chase_hit_caches(const struct fsroot *fs, int cpu, size_t *l2_bytes, size_t *llc_bytes)
{
    char level[16], type[16], size[32];
    size_t by_level[2] = {0}; /* of levels 2 and 3 */
    for (int index = 0; read_cache(fs, cpu, index, "level", level, sizeof level) == 0; index++) {
        unsigned long number = strtoul(level, NULL, 10);
        if (read_cache(fs, cpu, index, "type", type, sizeof type) != 0 ||
            strncmp(type, "Unified", 7) != 0 || number < 2 || number > 3 ||
            read_cache(fs, cpu, index, "size", size, sizeof size) != 0)
            continue;
        by_level[number - 2] = size_bytes(size);
    }
    if (by_level[0] == 0 || by_level[1] == 0)
        return -ENOENT;
    *l2_bytes = by_level[0];
    *llc_bytes = by_level[1];
    return 0;
}

int chase_hit_init(struct chase_hit *hit, const struct fsroot *fs, int cpu, char *base,
                   size_t bytes, uint64_t seed)
{
    size_t l2_bytes, llc_bytes;
    *hit = (struct chase_hit){0};
    if (chase_hit_caches(fs, cpu, &l2_bytes, &llc_bytes) != 0 || bytes < l2_bytes + l2_bytes / 2 ||
        llc_bytes < bytes / HIT_SLOT_BYTES * CHASE_LINE_BYTES * 2)
        return -ENOTSUP;
    int err = 0;
    if (l2_bytes >= L2_LEAST_BYTES)
        err = chase_ring_init_spaced(&hit->l2, base, L2_RING_BYTES, HIT_SLOT_BYTES, L2_OFFSET_BYTES,
                                     seed + 1);
    if (!err)
        err =
            chase_ring_init_spaced(&hit->ring, base, bytes, HIT_SLOT_BYTES, HIT_OFFSET_BYTES, seed);
    if (err)
        chase_hit_release(hit);
    return err;
}

void chase_hit_release(struct chase_hit *hit)
{
    chase_ring_release(&hit->ring);
    chase_ring_release(&hit->l2);
}

static bool due(const struct chase_hit *hit)
{
    uint32_t every = hit->attempts < CHASE_HIT_AT_FIRST ? CHASE_HIT_EVERY : CHASE_HIT_RARELY;
    return hit->ring.lines > 0 && hit->bursts % every == 0;
}

/* Nanoseconds per load of a ring; 0 when too many runs were disturbed, or the next level served. */
static double measure(struct chase_ring *ring, int cpu, double next_ns)
{
    struct chase_facts facts = {.cpu_wanted = cpu};
    double latency_ns[HIT_RUNS];
    size_t kept = 0;
    chase_run(ring, CHASE_FLUSH_NONE, ring->lines, &facts);
    for (int run = 0; run < HIT_RUNS; run++) {
        enum probe_discard cause;
        chase_run(ring, CHASE_FLUSH_NONE, HIT_RUN_LOADS, &facts);
        if (chase_run_counts(&facts, &cause))
            latency_ns[kept++] = (double)facts.wall_ns / HIT_RUN_LOADS;
    }
    if (kept < HIT_RUNS_NEEDED)
        return 0;
    double median_ns = chase_median(latency_ns, kept);
    return median_ns <= next_ns * most_of_next ? median_ns : 0;
}

void chase_hit_burst(struct chase_hit *hit, int cpu, double memory_ns, struct probe_reading *out)
{
    out->llc_hit_ns = out->l2_hit_ns = 0;
    hit->bursts++;
    if (!due(hit))
        return;
    hit->attempts++;
    out->llc_hit_ns = measure(&hit->ring, cpu, memory_ns);
    if (hit->l2.lines > 0 && out->llc_hit_ns > 0)
        out->l2_hit_ns = measure(&hit->l2, cpu, out->llc_hit_ns);
}
