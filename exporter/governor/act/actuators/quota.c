#include "exporter/governor/act/actuators/quota.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/governor/act/cgroup/control_file.h"

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

/* ---- with the burst ---- */

static const char burst_word[] = " burst ";

static const char *quota_file(int version)
{
    return version == 1 ? "cpu.cfs_quota_us" : "cpu.max";
}

static const char *burst_file(int version)
{
    return version == 1 ? "cpu.cfs_burst_us" : "cpu.max.burst";
}

int bandwidth_parse(const char *text, struct bandwidth *out)
{
    struct bandwidth parsed = {0};
    const char *burst = strstr(text, burst_word);
    size_t len = burst ? (size_t)(burst - text) : strlen(text);
    if (len >= sizeof parsed.quota)
        return -EINVAL;
    memcpy(parsed.quota, text, len);
    if (burst) {
        const char *digits = burst + sizeof burst_word - 1;
        char *end;
        errno = 0;
        parsed.burst_us = strtoull(digits, &end, 10);
        if (errno || *digits < '0' || *digits > '9' || *end)
            return -EINVAL;
    }
    *out = parsed;
    return 0;
}

void bandwidth_spell(const struct bandwidth *bandwidth, char out[CLAIM_TEXT_MAX])
{
    if (bandwidth->burst_us)
        snprintf(out, CLAIM_TEXT_MAX, "%s%s%" PRIu64, bandwidth->quota, burst_word,
                 bandwidth->burst_us);
    else
        snprintf(out, CLAIM_TEXT_MAX, "%s", bandwidth->quota);
}

int bandwidth_read(int directory, int version, struct bandwidth *out)
{
    struct bandwidth read = {0};
    int err = control_file_text(directory, quota_file(version), read.quota, sizeof read.quota);
    if (err)
        return err;
    if (control_file_number(directory, burst_file(version), &read.burst_us))
        read.burst_us = 0;
    *out = read;
    return 0;
}

static int write_line(const struct fswrite *write, int directory, const char *name,
                      const char *text)
{
    char line[CLAIM_TEXT_MAX + 1];
    int len = snprintf(line, sizeof line, "%s\n", text);
    return write->write_at(write->context, directory, name, line, (size_t)len);
}

static int write_burst(const struct fswrite *write, int directory, int version, uint64_t burst_us)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, burst_us);
    return write_line(write, directory, burst_file(version), text);
}

int bandwidth_write(const struct fswrite *write, int directory, int version,
                    const struct bandwidth *now, const struct bandwidth *to)
{
    int err = 0;
    if (to->burst_us < now->burst_us)
        err = write_burst(write, directory, version, to->burst_us);
    if (!err && strcmp(to->quota, now->quota) != 0)
        err = write_line(write, directory, quota_file(version), to->quota);
    if (!err && to->burst_us > now->burst_us)
        err = write_burst(write, directory, version, to->burst_us);
    return err;
}

/* ---- of a claim ---- */

int bandwidth_claim_parse(const struct claim *claim, struct bandwidth_claim *out)
{
    *out = (struct bandwidth_claim){0};
    int err = bandwidth_parse(claim->original, &out->original);
    if (!err && claim->from[0])
        err = bandwidth_parse(claim->from, &out->from);
    if (!err && claim->set[0])
        err = bandwidth_parse(claim->set, &out->set);
    return err;
}

bool bandwidth_is_our_quota(const struct bandwidth_claim *parts, const char *quota)
{
    return parts->set.quota[0] && (strcmp(quota, parts->set.quota) == 0 ||
                                   (parts->from.quota[0] && strcmp(quota, parts->from.quota) == 0));
}

bool bandwidth_is_our_burst(const struct bandwidth_claim *parts, uint64_t burst_us)
{
    return parts->set.quota[0] && (burst_us == parts->set.burst_us ||
                                   (parts->from.quota[0] && burst_us == parts->from.burst_us));
}

const char *bandwidth_text(const struct claim *claim, const struct bandwidth_claim *parts,
                           const struct bandwidth *now)
{
    if (parts->set.quota[0] && strcmp(now->quota, parts->set.quota) == 0)
        return claim->set;
    if (bandwidth_is_our_quota(parts, now->quota))
        return claim->from;
    bool same =
        strcmp(now->quota, parts->original.quota) == 0 &&
        (now->burst_us == parts->original.burst_us || bandwidth_is_our_burst(parts, now->burst_us));
    return same ? claim->original : NULL;
}
