/*
 * CPU quotas as the kernel writes them: v1 cpu.cfs_quota_us ("-1", "150000") beside
 * cpu.cfs_period_us, v2 cpu.max ("max 100000", "150000 100000"). Pure.
 *
 * Worked: 1.5 cores of a period of 100 ms are "150000" in v1 and "150000 100000" in v2.
 */
#ifndef IE_GOVERNOR_QUOTA_H
#define IE_GOVERNOR_QUOTA_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/governor/claim.h"

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

/* What a container asked for, in cores, as the runtimes write it into cpu.shares (v1), and into
 * cpu.weight (v2: shares = (weight - 1) * 262142 / 9999 + 2). 0 where the kernel's default of v2,
 * 100, says that nobody asked for anything. */
double quota_request_v1(uint64_t shares);
double quota_request_v2(uint64_t weight);

#endif
