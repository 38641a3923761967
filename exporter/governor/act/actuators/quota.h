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

#endif
