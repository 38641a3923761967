#include "exporter/governor/act/actuators/bandwidth.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/governor/act/cgroup/control_file.h"

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
