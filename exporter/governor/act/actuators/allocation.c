#include "exporter/governor/act/actuators/allocation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/governor/act/cgroup/cgroup_dir.h"

int site_open(const struct allocation *allocation, const struct claim *claim, struct site *site)
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

void site_close(struct site *site)
{
    close(site->cgroup);
    resctrl_close(&site->resctrl);
}

void allocation_spell(const struct allocation *allocation, struct resctrl_place place,
                      char out[CLAIM_TEXT_MAX])
{
    if (allocation->knob == KNOB_WAYS)
        snprintf(out, CLAIM_TEXT_MAX, "%x", place.mask);
    else
        snprintf(out, CLAIM_TEXT_MAX, "%u", place.percent);
}

bool allocation_replace(const struct allocation *allocation, const char *text,
                        struct resctrl_place *place)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, allocation->knob == KNOB_WAYS ? 16 : 10);
    if (errno || end == text || *end || value == 0 || value > UINT32_MAX)
        return false;
    if (allocation->knob == KNOB_WAYS)
        place->mask = (uint32_t)value;
    else
        place->percent = (uint32_t)value;
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

bool allocation_any_claim_but(const struct allocation *allocation, uint64_t id)
{
    const struct journal_claims *open = allocation->env->open;
    for (size_t i = 0; i < open->n; i++)
        if (open->claims[i].id != id &&
            (open->claims[i].knob == KNOB_WAYS || open->claims[i].knob == KNOB_MBA))
            return true;
    return false;
}

struct resctrl_place allocation_within(const struct allocation *allocation, const struct site *site,
                                       const struct claim *claim, struct resctrl_place place)
{
    struct resctrl_place whole = site->resctrl.whole;
    if (!other_is_claimed(allocation, claim)) {
        if (allocation->knob == KNOB_WAYS)
            place.percent = whole.percent;
        else
            place.mask = whole.mask;
    }
    place.mask &= whole.mask;
    if (place.mask == 0)
        place.mask = whole.mask;
    if (place.percent > whole.percent)
        place.percent = whole.percent;
    return place;
}
