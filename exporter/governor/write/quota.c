#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exporter/governor/write/writer_internal.h"

/* What there is as a claim's text, and what that says, with the period. */
static int read_now(const struct writer *writer, int directory, char text[CLAIM_TEXT_MAX],
                    struct rules_quota *out)
{
    bool first = writer->config.version == 1;
    char quota[64], burst[32], period[32];
    int err = look_line(directory, first ? "cpu.cfs_quota_us" : "cpu.max", quota, sizeof quota);
    if (err)
        return err;
    look_line(directory, first ? "cpu.cfs_burst_us" : "cpu.max.burst", burst, sizeof burst);
    bool has = burst[0] && strcmp(burst, "0") != 0;
    snprintf(text, CLAIM_TEXT_MAX, "%s%s%s", quota, has ? " burst " : "", has ? burst : "");
    if (!rules_quota(writer->config.version, text, out))
        return -EINVAL;
    err = first ? look_line(directory, "cpu.cfs_period_us", period, sizeof period) : 0;
    if (!err && first && !rules_number(period, 10, UINT32_MAX, &out->period_us))
        err = -EINVAL;
    return err;
}

static double cores(const struct rules_quota *quota)
{
    return quota->unlimited ? INFINITY : (double)quota->us / (double)quota->period_us;
}

/* But for the burst, which others lower; of v1 the period is in no text. */
static bool is_text(const struct writer *writer, const struct rules_quota *found, const char *text)
{
    struct rules_quota quota;
    return rules_quota(writer->config.version, text, &quota) && quota.us == found->us &&
           (!quota.period_us || quota.period_us == found->period_us) &&
           quota.unlimited == found->unlimited;
}

static bool is_set(const struct writer *writer, const struct rules_quota *found,
                   const struct claim *claim)
{
    return is_text(writer, found, claim->set) || is_text(writer, found, claim->from);
}

int quota_check(const struct writer *writer, struct claim *claim, int directory)
{
    char now[CLAIM_TEXT_MAX];
    struct rules_quota found;
    int err = read_now(writer, directory, now, &found);
    if (err)
        return err;
    claim->period_us = found.period_us;
    if (strcmp(now, claim->original) != 0)
        return -ESTALE;
    return claim->most > cores(&found) + 1e-6 ? ORDER_REFUSED : 0;
}

bool quota_is_no_more(const struct writer *writer, const struct claim *claim, const char *text)
{
    struct rules_quota had, quota;
    int version = writer->config.version;
    if (!rules_quota(version, claim->original, &had) || !rules_quota(version, text, &quota))
        return false;
    if (version == 1)
        had.period_us = quota.period_us = claim->period_us;
    return !quota.unlimited && quota.burst_us <= had.burst_us && cores(&quota) <= cores(&had) &&
           quota.period_us <= had.period_us &&
           (quota.period_us == had.period_us || quota.period_us >= 10000) &&
           (double)quota.us + 1 >= writer->config.bounds->least[KNOB_CPU] * (double)quota.period_us;
}

bool quota_is_held(const struct writer *writer, const struct claim *claim, int directory)
{
    char now[CLAIM_TEXT_MAX];
    struct rules_quota found;
    return read_now(writer, directory, now, &found) == 0 &&
           !is_text(writer, &found, claim->original) && is_set(writer, &found, claim);
}

/* v1 takes no more than the parent has: that much is given back then. */
static bool is_parent_s(const struct writer *writer, int directory, double given)
{
    char text[CLAIM_TEXT_MAX];
    struct rules_quota quota;
    int parent = openat(directory, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool read = parent >= 0 && read_now(writer, parent, text, &quota) == 0;
    if (parent >= 0)
        close(parent);
    return writer->config.version == 1 && read && fabs(cores(&quota) - given) < 1e-4;
}

/* What was intended, what there was, or as much of that as the file takes. */
static bool may_be_quota(const struct writer *writer, const struct claim *claim, int directory,
                         const char *text, bool *back)
{
    struct rules_quota quota, original, set;
    int version = writer->config.version;
    if (!rules_quota(version, text, &quota) || strstr(text, "burst") ||
        !rules_quota(version, claim->original, &original))
        return false;
    if (version == 1)
        quota.period_us = claim->period_us;
    *back = is_text(writer, &quota, claim->original);
    if (*back || is_text(writer, &quota, claim->set))
        return true;
    *back = rules_quota(version, claim->set, &set) && !quota.unlimited && quota.us > set.us &&
            (original.unlimited || quota.us < original.us) &&
            is_parent_s(writer, directory, cores(&quota));
    return *back;
}

/* As above, or as much as the quota that is there takes. */
static bool may_be_burst(const struct writer *writer, const struct claim *claim,
                         const struct rules_quota *found, const char *text)
{
    struct rules_quota original, set = {0};
    uint64_t burst_us;
    int version = writer->config.version;
    return rules_number(text, 10, UINT32_MAX, &burst_us) &&
           rules_quota(version, claim->original, &original) &&
           (burst_us == original.burst_us ||
            (rules_quota(version, claim->set, &set) && burst_us == set.burst_us) ||
            (burst_us < original.burst_us && burst_us == found->us));
}

static int write_in(const struct writer *writer, struct claim *claim, const struct order *order,
                    const char *text, int directory)
{
    bool first = writer->config.version == 1, back = claim->given_back, may = false;
    const char *name = order->of.file.name;
    char now[CLAIM_TEXT_MAX];
    struct rules_quota found;
    int err = read_now(writer, directory, now, &found);
    if (err)
        return err;
    /* Over what was there at first, or is by an order: never over somebody else's. */
    if (strcmp(name, first ? "cpu.cfs_quota_us" : "cpu.max") == 0)
        may = (is_text(writer, &found, claim->original) || is_set(writer, &found, claim)) &&
              may_be_quota(writer, claim, directory, text, &back);
    else if (strcmp(name, first ? "cpu.cfs_burst_us" : "cpu.max.burst") == 0)
        may = may_be_burst(writer, claim, &found, text);
    err = may ? writer_write(writer, directory, order) : ORDER_REFUSED;
    if (!err)
        claim->given_back = back;
    return err;
}

int quota_write(const struct writer *writer, struct claim *claim, const struct order *order)
{
    size_t len = strcspn(order->of.file.text, "\n");
    char text[CLAIM_TEXT_MAX];
    if (len >= sizeof text || strcmp(order->of.file.text + len, "\n") != 0)
        return ORDER_REFUSED;
    snprintf(text, sizeof text, "%.*s", (int)len, order->of.file.text);
    int directory = look_open(writer, claim);
    if (directory < 0)
        return directory;
    int err = write_in(writer, claim, order, text, directory);
    close(directory);
    return err;
}
