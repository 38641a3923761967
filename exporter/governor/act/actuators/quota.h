/*
 * CPU quotas as the kernel writes them: v1 cpu.cfs_quota_us ("-1", "150000") beside
 * cpu.cfs_period_us, v2 cpu.max ("max 100000", "150000 100000"). Pure.
 *
 * Worked: 1.5 cores of a period of 100 ms are "150000" in v1 and "150000 100000" in v2.
 */
#ifndef IE_GOVERNOR_QUOTA_H
#define IE_GOVERNOR_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/governor/act/journal/fswrite.h"
#include "exporter/governor/terms/claim.h"

/* The kernel refuses less. */
enum { QUOTA_LEAST_US = 1000 };

struct quota {
    int64_t quota_us;   /* -1: no limit */
    uint64_t period_us; /* > 0 */
};

/* The text of the file, without a newline; of v1 the period's file is read for itself. -EINVAL. */
int quota_parse_v1(const char *quota, uint64_t period_us, struct quota *out);
int quota_parse_v2(const char *text, struct quota *out);

/* INFINITY without a limit. */
double quota_cores(struct quota quota);

/* As many whole microseconds as are in 'cores', at least QUOTA_LEAST_US, as the file takes them. */
void quota_format(int version, double cores, uint64_t period_us, char out[CLAIM_TEXT_MAX]);

/*
 * What a container asked for, in cores, as the runtimes write it into cpu.shares (v1), and into
 * cpu.weight (v2). Runtimes have written two weights, and no file says which of them it is:
 *
 *     1 + (shares - 2) * 9999 / 262142                               until runc 1.3.1, crun 1.22
 *     ceil(10 ^ ((l^2 + 125 l) / 612 - 7 / 34)), l = log2(shares)    since (runc issue 4896)
 *
 * 1024 shares, one core, are 39 by the first and 100 by the second. The inverse of the first is the
 * larger one for every weight, hence it is what v2 answers: to a container of a newer runtime
 * several times what it asked for, to none less, but for the runtime's rounding. Which is why a
 * pod's own weight bounds it, see quota_request_in_pod.
 *
 * 'kubernetes': it is a container of a pod. What asked for nothing has 2 shares or weight 1 there,
 * and 1024 and 100 are requests; elsewhere these are the kernel's defaults, and 0 is answered.
 */
double quota_request_v1(uint64_t shares, bool kubernetes);
double quota_request_v2(uint64_t weight, bool kubernetes);

/* A pod asks for what all its containers do. Where the kubelet writes the pod's weight by
 * the first formula, as it still does, this is what a pod's only container asked for. */
double quota_request_in_pod(uint64_t weight, uint64_t pod_weight);

/* ---- with the burst ---- */

/*
 * What a cgroup's files say of its CPU bandwidth: the quota, cpu.cfs_quota_us of v1 and cpu.max of
 * v2, and the burst, cpu.cfs_burst_us and cpu.max.burst: what a period may take more, of what
 * earlier ones have left. As a claim's text the quota's file, and behind it the burst in
 * microseconds, where there is one: "400000", "400000 burst 100000", "400000 100000 burst 100000".
 *
 * The kernel refuses a quota below the burst and a burst above the quota. So whoever lowers both
 * lowers the burst first, and who raises both raises it last.
 */
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
