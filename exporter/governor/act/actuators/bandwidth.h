/*
 * What a cgroup's files say of its CPU bandwidth: the quota, cpu.cfs_quota_us of v1 and cpu.max of
 * v2, and the burst, cpu.cfs_burst_us and cpu.max.burst: what a period may take more, of what
 * earlier ones have left. As a claim's text the quota's file, and behind it the burst in
 * microseconds, where there is one: "400000", "400000 burst 100000", "400000 100000 burst 100000".
 *
 * The kernel refuses a quota below the burst and a burst above the quota. So whoever lowers both
 * lowers the burst first, and who raises both raises it last.
 */
#ifndef IE_GOVERNOR_BANDWIDTH_H
#define IE_GOVERNOR_BANDWIDTH_H

#include <stdbool.h>
#include <stdint.h>

#include "exporter/governor/act/journal/fswrite.h"
#include "exporter/governor/terms/claim.h"

enum { BANDWIDTH_QUOTA_MAX = CLAIM_TEXT_MAX - 32 };

struct bandwidth {
    char quota[BANDWIDTH_QUOTA_MAX]; /* as quota.h reads it */
    uint64_t burst_us;               /* 0 also where the kernel has none, before 5.14 */
};

/* A claim's text. -EINVAL: the burst is no number, or the quota too long; what the quota says is
 * not looked at. */
int bandwidth_parse(const char *text, struct bandwidth *out);
void bandwidth_spell(const struct bandwidth *bandwidth, char out[CLAIM_TEXT_MAX]);

/* 'version' of cgroups: 1 or 2. -ENOENT: the cgroup has none, or has ended; others. */
int bandwidth_read(int directory, int version, struct bandwidth *out);
/* From what is there now; writes what differs, in the order that the kernel takes. After an error
 * one of the two may have been written. */
int bandwidth_write(const struct fswrite *write, int directory, int version,
                    const struct bandwidth *now, const struct bandwidth *to);

/* A claim's texts; those that are not there are empty, and nothing is ours then. */
struct bandwidth_claim {
    struct bandwidth original, from, set;
};
int bandwidth_claim_parse(const struct claim *claim, struct bandwidth_claim *out);

/* What the last change left, or would have. A change that was cut in its middle leaves the quota of
 * one text and the burst of another. */
bool bandwidth_is_our_quota(const struct bandwidth_claim *parts, const char *quota);
bool bandwidth_is_our_burst(const struct bandwidth_claim *parts, uint64_t burst_us);
/* The claim's text that what is there now stands for: of the last change by the quota alone, for a
 * burst of somebody else's is let alone. NULL: none, it is a new specification. */
const char *bandwidth_text(const struct claim *claim, const struct bandwidth_claim *parts,
                           const struct bandwidth *now);

#endif
