#include "exporter/governor/act/actuators/quota.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Digits only, up to the end or to a blank, at which *end is left. */
static int parse_digits(const char *text, const char **end, uint64_t *out)
{
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (value > INT64_MAX / 100)
            return -EINVAL;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    if (at == text)
        return -EINVAL;
    *end = at;
    *out = value;
    return 0;
}

int quota_parse_v1(const char *quota, uint64_t period_us, struct quota *out)
{
    const char *end;
    uint64_t value;
    if (period_us == 0)
        return -EINVAL;
    if (strcmp(quota, "-1") == 0) {
        *out = (struct quota){-1, period_us};
        return 0;
    }
    if (parse_digits(quota, &end, &value) || *end)
        return -EINVAL;
    *out = (struct quota){(int64_t)value, period_us};
    return 0;
}

int quota_parse_v2(const char *text, struct quota *out)
{
    const char *at = text;
    uint64_t quota = 0, period;
    bool limited = strncmp(text, "max ", 4) != 0;
    if (!limited)
        at += 3;
    else if (parse_digits(text, &at, &quota))
        return -EINVAL;
    if (*at != ' ' || parse_digits(at + 1, &at, &period) || *at || period == 0)
        return -EINVAL;
    *out = (struct quota){limited ? (int64_t)quota : -1, period};
    return 0;
}

double quota_cores(struct quota quota)
{
    return quota.quota_us < 0 ? INFINITY : (double)quota.quota_us / (double)quota.period_us;
}

void quota_format(int version, double cores, uint64_t period_us, char out[CLAIM_TEXT_MAX])
{
    /* 1.1 * 100000 is a little less than 110000. */
    uint64_t us = (uint64_t)(cores * (double)period_us + 1e-6);
    if (us < QUOTA_LEAST_US)
        us = QUOTA_LEAST_US;
    if (version == 1)
        snprintf(out, CLAIM_TEXT_MAX, "%" PRIu64, us);
    else
        snprintf(out, CLAIM_TEXT_MAX, "%" PRIu64 " %" PRIu64, us, period_us);
}

double quota_request_v1(uint64_t shares, bool kubernetes)
{
    if (shares == 1024 && !kubernetes)
        return 0;
    return (double)shares / 1024;
}

double quota_request_v2(uint64_t weight, bool kubernetes)
{
    if (weight == 0 || (weight == 100 && !kubernetes))
        return 0;
    return ((double)(weight - 1) * 262142 / 9999 + 2) / 1024;
}

double quota_request_in_pod(uint64_t weight, uint64_t pod_weight)
{
    return fmin(quota_request_v2(weight, true), quota_request_v2(pod_weight, true));
}
