/*
 * What a claim on resctrl is about: the container's cgroup and the mount, its text as a place of
 * resctrl, and what other claims are open. Two knobs share one place: the group that the tasks are
 * in. For actuator_resctrl.c. One thread.
 */
#ifndef IE_GOVERNOR_ALLOCATION_H
#define IE_GOVERNOR_ALLOCATION_H

#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/governor/act/actuators/resctrl.h"

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
int site_open(const struct allocation *allocation, const struct claim *claim, struct site *site);
void site_close(struct site *site);

/* The knob's part of a place, as a claim's text: a mask in hexadecimal digits, or percent. */
void allocation_spell(const struct allocation *allocation, struct resctrl_place place,
                      char out[CLAIM_TEXT_MAX]);
/* And back; the other knob's part stays as it is. False: it is no such text. */
bool allocation_replace(const struct allocation *allocation, const char *text,
                        struct resctrl_place *place);

/* Whether a claim of either knob is open, but for the one with this id; 0: but for none. */
bool allocation_any_claim_but(const struct allocation *allocation, uint64_t id);

/* The place with, of the other knob, what is claimed of it, and else what the root group has; of
 * both no more than that. */
struct resctrl_place allocation_within(const struct allocation *allocation, const struct site *site,
                                       const struct claim *claim, struct resctrl_place place);

#endif
