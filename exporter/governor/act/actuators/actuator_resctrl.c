/*
 * Ways of the last-level cache and memory bandwidth, by resctrl (resctrl.h). Two knobs of one
 * container: which group its tasks are in says both.
 *
 * What there was before is to be in the root group. A container whose tasks are in a group of
 * somebody else's is never claimed. Tasks of cgroups within the container's are not restricted; but
 * those that went there from a container that was are given back with it, and those that went
 * elsewhere with the last claim.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/governor/act/actuators/resctrl.h"
#include "exporter/governor/act/cgroup/cgroup_dir.h"

/* The text of a container that somebody else has put elsewhere: no value. */
static const char elsewhere[] = "elsewhere";

/* A claim's text is its knob's part of a share. Two knobs have one share: that of the group which
 * the tasks are in. */
struct allocation {
    const struct actuator_env *env;
    enum knob knob;                    /* KNOB_WAYS or KNOB_MBA */
    struct cgroup_hierarchy hierarchy; /* that the exporter's paths and inodes are of */
};

/* The resctrl mount and the claim's cgroup. */
struct site {
    struct resctrl resctrl;
    int cgroup; /* descriptor */
};

/* Both or none. -ENODEV: one of the two is gone. */
static int site_open(const struct allocation *allocation, const struct claim *claim,
                     struct site *site)
{
    int err = resctrl_open(allocation->env, &site->resctrl);
    if (err)
        return err;
    site->cgroup = cgroup_dir_open_claimed(allocation->hierarchy.path, claim);
    if (site->cgroup >= 0)
        return 0;
    err = site->cgroup;
    resctrl_close(&site->resctrl);
    return err;
}

static void site_close(struct site *site)
{
    close(site->cgroup);
    resctrl_close(&site->resctrl);
}

/* The knob's part of a share, as a claim's text: a mask in hexadecimal digits, or percent. */
static void allocation_spell(const struct allocation *allocation, struct resctrl_share share,
                             char out[CLAIM_TEXT_MAX])
{
    if (allocation->knob == KNOB_WAYS)
        snprintf(out, CLAIM_TEXT_MAX, "%x", share.mask);
    else
        snprintf(out, CLAIM_TEXT_MAX, "%u", share.percent);
}

/* And back; the other knob's part stays as it is. False: it is no such text. */
static bool allocation_replace(const struct allocation *allocation, const char *text,
                               struct resctrl_share *share)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, allocation->knob == KNOB_WAYS ? 16 : 10);
    if (errno || end == text || *end || value == 0 || value > UINT32_MAX)
        return false;
    if (allocation->knob == KNOB_WAYS)
        share->mask = (uint32_t)value;
    else
        share->percent = (uint32_t)value;
    return true;
}

/* Whether the other knob of the same container is turned down, too. */
static bool other_is_claimed(const struct allocation *allocation, const struct claim *claim)
{
    enum knob other = allocation->knob == KNOB_WAYS ? KNOB_MBA : KNOB_WAYS;
    const struct journal_claims *open = allocation->env->open;
    for (size_t i = 0; i < open->n; i++)
        if (open->claims[i].knob == other && open->claims[i].ino == claim->ino &&
            strcmp(open->claims[i].path, claim->path) == 0)
            return true;
    return false;
}

/* Whether a claim of either knob is open, but for the one with this id; 0: but for none. */
static bool allocation_any_claim_but(const struct allocation *allocation, uint64_t id)
{
    const struct journal_claims *open = allocation->env->open;
    for (size_t i = 0; i < open->n; i++)
        if (open->claims[i].id != id &&
            (open->claims[i].knob == KNOB_WAYS || open->claims[i].knob == KNOB_MBA))
            return true;
    return false;
}

/* The share with, of the other knob, what is claimed of it, and else what the root group has; of
 * both no more than that. */
static struct resctrl_share allocation_within(const struct allocation *allocation,
                                              const struct site *site, const struct claim *claim,
                                              struct resctrl_share share)
{
    struct resctrl_share whole = site->resctrl.whole;
    if (!other_is_claimed(allocation, claim)) {
        if (allocation->knob == KNOB_WAYS)
            share.percent = whole.percent;
        else
            share.mask = whole.mask;
    }
    share.mask &= whole.mask;
    if (share.mask == 0)
        share.mask = whole.mask;
    if (share.percent > whole.percent)
        share.percent = whole.percent;
    return share;
}

/* ---- opening ---- */

static int open_knob(const struct actuator_env *env, enum knob knob, void **self,
                     struct verdict *why)
{
    struct allocation *allocation = calloc(1, sizeof *allocation);
    char error[256] = "";
    if (!allocation)
        return -ENOMEM;
    allocation->env = env;
    allocation->knob = knob;
    int err = cgroup_hierarchy_find(env->fs, &allocation->hierarchy, error, sizeof error);
    if (err) {
        verdict_set(why, REASON_NO_DEVICE, "%s", error);
        free(allocation);
        return err;
    }
    *self = allocation;
    return 0;
}

static int open_ways(const struct actuator_env *env, void **self, struct verdict *why)
{
    return open_knob(env, KNOB_WAYS, self, why);
}

static int open_mba(const struct actuator_env *env, void **self, struct verdict *why)
{
    return open_knob(env, KNOB_MBA, self, why);
}

/* Whether it may be used now; what is put back needs none of it. */
static int allocation_probe(void *self, struct verdict *why)
{
    const struct allocation *allocation = self;
    struct resctrl resctrl;
    int err = resctrl_open(allocation->env, &resctrl);
    if (err == -ENODEV) {
        verdict_set(why, REASON_NO_DEVICE,
                    "resctrl is not mounted: mount -t resctrl resctrl, if the processor has it");
        return err;
    }
    if (err) {
        verdict_set(why, REASON_NO_DEVICE,
                    "the ways of resctrl's root group cannot be divided: domains that differ: %s",
                    strerror(-err));
        return err;
    }
    bool ways = allocation->knob == KNOB_WAYS;
    unsigned n = ways ? resctrl.schemata.l3.n : resctrl.schemata.mb.n;
    if (n == 0) {
        verdict_set(why, REASON_NO_DEVICE,
                    "the processor allocates no %s, or it is mounted with cdp",
                    ways ? "ways of the L3" : "memory bandwidth");
        err = -ENODEV;
    } else if (!ways && resctrl.schemata.mb.fixed) {
        verdict_set(why, REASON_NO_DEVICE,
                    "memory bandwidth is not in percent, or domains differ: AMD's is in eighths of "
                    "a GB/s, that of a mount with mba_MBps in MB/s; it stays as it is");
        err = -ENODEV;
    } else if (fsroot_read(allocation->env->fs, FSROOT_PROC, "self/cpu_resctrl_groups",
                           (char[512]){0}, 512, NULL)) {
        verdict_set(why, REASON_NO_DEVICE,
                    "the kernel does not say which group a task is in: it is older than 5.6");
        err = -ENODEV;
    }
    resctrl_close(&resctrl);
    return err;
}

/* ---- limits ---- */

static double info(const struct allocation *allocation, const char *file, double otherwise)
{
    char path[64];
    uint64_t number;
    snprintf(path, sizeof path, "info/%s", file);
    if (fsroot_read_u64(allocation->env->fs, FSROOT_RESCTRL, path, &number) || number == 0)
        return otherwise;
    return (double)number;
}

static int set_limits(const struct allocation *allocation, double floor, struct claim *claim)
{
    struct resctrl_share whole = {0};
    if (!allocation_replace(allocation, claim->original, &whole))
        return -EINVAL;
    double least, most, step = 1;
    if (allocation->knob == KNOB_WAYS) {
        if (!resctrl_mask_is_contiguous(whole.mask))
            return -EINVAL;
        most = __builtin_popcount(whole.mask);
        least = fmax(floor, info(allocation, "L3/min_cbm_bits", 1));
    } else {
        most = whole.percent;
        step = info(allocation, "MB/bandwidth_gran", 10);
        least = fmax(floor, info(allocation, "MB/min_bandwidth", step));
        least = ceil(least / step) * step;
    }
    if (!(least < most))
        return -ERANGE;
    claim->least = least;
    claim->most = most;
    claim->step = step;
    return 0;
}

static int allocation_limit(void *self, double floor, struct claim *claim)
{
    return set_limits(self, floor, claim);
}

/* Where the container's tasks are now: it can be claimed in the root group, or in one of ours where
 * the other knob is turned down. */
static int read_original(const struct allocation *allocation, const struct site *site,
                         struct claim *claim)
{
    enum resctrl_state state;
    struct resctrl_share share;
    char now[CLAIM_TEXT_MAX];
    int err = resctrl_find(&site->resctrl, site->cgroup, false, &state, &share);
    if (err)
        return err;
    allocation_spell(allocation, site->resctrl.whole, claim->original);
    allocation_spell(allocation, share, now);
    return state == RESCTRL_FOREIGN || strcmp(now, claim->original) != 0 ? -EBUSY : 0;
}

static int allocation_claim(void *self, double floor, struct claim *claim)
{
    const struct allocation *allocation = self;
    struct site site;
    struct verdict why;
    int err = allocation_probe(self, &why);
    if (!err)
        err = resctrl_open(allocation->env, &site.resctrl);
    if (err)
        return err;
    site.cgroup = cgroup_dir_claim(allocation->hierarchy.path, claim);
    if (site.cgroup < 0) {
        resctrl_close(&site.resctrl);
        return site.cgroup;
    }
    err = read_original(allocation, &site, claim);
    site_close(&site);
    if (!err)
        err = set_limits(allocation, floor, claim);
    if (err)
        return err;
    claim->value = claim->most;
    claim->from[0] = claim->set[0] = '\0';
    return 0;
}

/* ---- reading and changing ---- */

static int judge(const struct allocation *allocation, const struct site *site,
                 const struct claim *claim, enum claim_state *state, char now[CLAIM_TEXT_MAX])
{
    enum resctrl_state found;
    struct resctrl_share share;
    char whole[CLAIM_TEXT_MAX];
    bool held = claim->set[0] != '\0';
    int err = resctrl_find(&site->resctrl, site->cgroup, !held, &found, &share);
    if (err)
        return err;
    allocation_spell(allocation, share, now);
    if (found == RESCTRL_FOREIGN || (held && !resctrl_is_true(&site->resctrl, share)))
        strcpy(now, elsewhere);
    allocation_spell(allocation, site->resctrl.whole, whole);
    if (strcmp(whole, claim->original) != 0)
        *state = CLAIM_REBASED;
    else if (strcmp(now, held ? claim->set : claim->original) == 0 || found == RESCTRL_EMPTY)
        *state = CLAIM_OURS;
    else
        *state = strcmp(now, claim->original) == 0 ? CLAIM_RESET : CLAIM_CHANGED;
    return 0;
}

static int allocation_check(void *self, const struct claim *claim, enum claim_state *state,
                            char now[CLAIM_TEXT_MAX])
{
    struct site site;
    now[0] = '\0';
    int err = site_open(self, claim, &site);
    if (!err) {
        err = judge(self, &site, claim, state, now);
        site_close(&site);
    }
    if (err != -ENODEV)
        return err;
    *state = CLAIM_GONE;
    return 0;
}

/* Tasks that joined the container without having been born in it. */
static int allocation_keep(void *self, struct claim *claim)
{
    struct site site;
    enum resctrl_state state;
    struct resctrl_share share;
    int err = site_open(self, claim, &site);
    if (err)
        return err == -ENODEV ? 0 : err;
    err = resctrl_find(&site.resctrl, site.cgroup, false, &state, &share);
    if (!err && state == RESCTRL_OURS)
        err = resctrl_keep(&site.resctrl, site.cgroup, allocation_within(self, &site, claim, share),
                           &claim->kept);
    site_close(&site);
    return err;
}

static void allocation_format(void *self, const struct claim *claim, double value,
                              char out[CLAIM_TEXT_MAX])
{
    const struct allocation *allocation = self;
    struct resctrl_share share = {0};
    memcpy(out, claim->original, CLAIM_TEXT_MAX);
    if (value >= claim->most || !allocation_replace(allocation, claim->original, &share))
        return;
    share.mask = resctrl_mask(share.mask, (unsigned)value);
    share.percent = (unsigned)fmax(claim->least, floor(value / claim->step) * claim->step);
    allocation_spell(allocation, share, out);
}

static int change(const struct allocation *allocation, const struct site *site,
                  const struct claim *claim)
{
    enum resctrl_state state;
    struct resctrl_share share, to;
    char now[CLAIM_TEXT_MAX];
    int err = resctrl_find(&site->resctrl, site->cgroup, false, &state, &share);
    if (err)
        return err;
    if (state == RESCTRL_EMPTY)
        return -ENODEV;
    allocation_spell(allocation, share, now);
    if (state == RESCTRL_FOREIGN || (strcmp(now, claim->from) != 0 && strcmp(now, claim->set) != 0))
        return -ESTALE;
    to = share;
    if (!allocation_replace(allocation, claim->set, &to))
        return -EINVAL;
    to = allocation_within(allocation, site, claim, to);
    err = resctrl_move(&site->resctrl, site->cgroup, to);
    resctrl_sweep(&site->resctrl, false);
    if (!err)
        err = resctrl_find(&site->resctrl, site->cgroup, false, &state, &share);
    if (!err && (state == RESCTRL_FOREIGN || !resctrl_same_share(share, to)))
        err = -ESTALE;
    return err;
}

static int allocation_apply(void *self, const struct claim *claim)
{
    struct site site;
    int err = site_open(self, claim, &site);
    if (err)
        return err;
    err = change(self, &site, claim);
    site_close(&site);
    return err;
}

/* Nobody but us puts a task into a group of ours, so that is undone whatever the claim says. */
static int put_back(const struct allocation *allocation, const struct site *site,
                    const struct claim *claim, enum claim_restored *out)
{
    struct resctrl_share share, to, whole = site->resctrl.whole;
    enum resctrl_state state;
    int err = resctrl_find(&site->resctrl, site->cgroup, false, &state, &share);
    if (err)
        return err;
    *out = RESTORED_ALREADY;
    if (state == RESCTRL_FOREIGN) {
        *out = RESTORED_FOREIGN;
        return resctrl_move(&site->resctrl, site->cgroup, whole); /* others of its tasks */
    }
    to = share;
    if (allocation->knob == KNOB_WAYS)
        to.mask = whole.mask;
    else
        to.percent = whole.percent;
    to = allocation_within(allocation, site, claim, to);
    bool home = resctrl_same_share(to, whole);
    if (state != RESCTRL_OURS || (!home && resctrl_same_share(share, to)))
        return 0;
    *out = RESTORED;
    err = resctrl_move(&site->resctrl, site->cgroup, to);
    if (err) /* to give back needs no group; the other knob's claim sees that it was reset */
        err = resctrl_move(&site->resctrl, site->cgroup, whole);
    return err;
}

/* Those below are free of both knobs, also where the other one stays claimed. */
static int put_all_back(const struct allocation *allocation, const struct site *site,
                        const struct claim *claim, enum claim_restored *out)
{
    bool any = false;
    int err = put_back(allocation, site, claim, out);
    int below = resctrl_return_below(&site->resctrl, site->cgroup, &any);
    if (any && *out == RESTORED_ALREADY)
        *out = RESTORED;
    return err ? err : below;
}

/* With the last claim nobody is to be in a group of ours, wherever he went. */
static int put_back_or_sweep(const struct allocation *allocation, struct site *site,
                             const struct claim *claim, enum claim_restored *out)
{
    int err = resctrl_open(allocation->env, &site->resctrl);
    if (err == -ENODEV && resctrl_is_nowhere(allocation->env))
        return 0; /* with the last mount all that was allocated has gone */
    if (err)
        return err; /* the host may have it: groups still hold the tasks */
    if (site->cgroup >= 0)
        err = put_all_back(allocation, site, claim, out);
    int left = resctrl_sweep(&site->resctrl, !allocation_any_claim_but(allocation, claim->id));
    resctrl_close(&site->resctrl);
    return err ? err : left;
}

/* What the container had is what the root group has now. */
static int allocation_release(void *self, const struct claim *claim, enum claim_restored *out)
{
    const struct allocation *allocation = self;
    struct site site = {.cgroup = cgroup_dir_open_claimed(allocation->hierarchy.path, claim)};
    *out = RESTORED_GONE;
    if (site.cgroup < 0 && site.cgroup != -ENODEV)
        return site.cgroup;
    int err = put_back_or_sweep(allocation, &site, claim, out);
    if (site.cgroup >= 0)
        close(site.cgroup);
    return err;
}

/* Of both knobs. */
static void allocation_tidy(void *self)
{
    const struct allocation *allocation = self;
    struct resctrl resctrl;
    if (resctrl_open(allocation->env, &resctrl))
        return;
    resctrl_sweep(&resctrl, !allocation_any_claim_but(allocation, 0));
    resctrl_close(&resctrl);
}

const struct actuator_ops ways_actuator = {
    .name = "ways",
    .knob = KNOB_WAYS,
    .open = open_ways,
    .probe = allocation_probe,
    .close = free,
    .claim = allocation_claim,
    .check = allocation_check,
    .limit = allocation_limit,
    .keep = allocation_keep,
    .format = allocation_format,
    .apply = allocation_apply,
    .tidy = allocation_tidy,
    .release = allocation_release,
};

const struct actuator_ops mba_actuator = {
    .name = "mba",
    .knob = KNOB_MBA,
    .open = open_mba,
    .probe = allocation_probe,
    .close = free,
    .claim = allocation_claim,
    .check = allocation_check,
    .limit = allocation_limit,
    .keep = allocation_keep,
    .format = allocation_format,
    .apply = allocation_apply,
    .release = allocation_release,
};
