/*
 * An actuator: reads one kind of knob, sets it, and puts it back. It decides nothing.
 *
 * Only apply(), keep(), tidy() and release() write. Each file is opened anew, through a directory
 * whose device and inode are compared first, so that a new cgroup under the path of an old one is
 * never touched; of a thread, the time at which it began is compared. One thread.
 */
#ifndef IE_GOVERNOR_ACTUATOR_H
#define IE_GOVERNOR_ACTUATOR_H

#include "exporter/base/fsroot.h"
#include "exporter/base/reason.h"
#include "exporter/governor/act/journal/fswrite.h"
#include "exporter/governor/act/journal/journal_lines.h"

/* Borrowed by the actuator until it is closed. */
struct actuator_env {
    const struct fsroot *fs;
    const struct fswrite *write;
    const struct journal_claims *open; /* all claims that are open */
    const cpu_set_t *cpus; /* that threads are kept on, where they are; NULL: nobody has said */
    uint64_t period_us;    /* of quotas that are set, where the one found is longer; 0: that one */
};

enum claim_state {
    CLAIM_OURS,    /* as it was set; or, when nothing was, as it was found */
    CLAIM_RESET,   /* somebody put the original back */
    CLAIM_CHANGED, /* neither: a new specification */
    CLAIM_REBASED, /* the root group, whose share is the original, has another one: claim it anew */
    CLAIM_GONE     /* the cgroup has ended */
};

enum claim_restored {
    RESTORED,         /* the original is back */
    RESTORED_CLAMPED, /* as much of it as its parent allows now, which has been lowered meanwhile */
    RESTORED_ALREADY, /* it was there */
    RESTORED_FOREIGN, /* somebody else's value, left alone */
    RESTORED_GONE,    /* the cgroup has ended */
    RESTORED_OUTCOMES
};

extern const char *const claim_restored_names[RESTORED_OUTCOMES];

struct actuator_ops {
    const char *name;
    enum knob knob;
    /* Whether it can work here, and what it needs. -ENODEV or -EACCES with the words. */
    int (*open)(const struct actuator_env *env, void **self, struct verdict *why);
    void (*close)(void *self);
    /* Whether anything can be claimed now, for what is not known at open; writes nothing. Otherwise
     * as open. May be NULL: it can. */
    int (*probe)(void *self, struct verdict *why);
    /* With knob, container, container_id and path set, fills in the rest but for the id. 'floor':
     * the least that the configuration allows. -ENOENT: there is no such cgroup; -ERANGE: there is
     * nothing to take from it, and most is known nevertheless; -EINVAL: its files say something
     * unknown; others. */
    int (*claim)(void *self, double floor, struct claim *claim);
    /* What the file says now, and what that means. 0 or -errno. */
    int (*check)(void *self, const struct claim *claim, enum claim_state *state,
                 char now[CLAIM_TEXT_MAX]);
    /* Recomputes least and most for 'original', which may be new, and for what limits it from
     * above. -ERANGE as claim(). */
    int (*limit)(void *self, double floor, struct claim *claim);
    /* Applies a claim that is held and OURS to tasks that came since; mostly there are none, and
     * nothing is written. Of many tasks some are looked at each time, in turn: 'kept' is where it
     * goes on. May be NULL. */
    int (*keep)(void *self, struct claim *claim);
    /* The text of a value, which stays between least and most. For most it is the original. */
    void (*format)(void *self, const struct claim *claim, double value, char out[CLAIM_TEXT_MAX]);
    /* Changes 'from' to 'set' and reads back. -ESTALE: it was neither before, nor is it afterwards
     * as it should be; -ENODEV: the cgroup has ended; -EINVAL: the kernel refuses it; others. */
    int (*apply)(void *self, const struct claim *claim);
    /* Removes its own groups that hold nobody, or nobody who is claimed, which an earlier removal
     * has left. May be NULL: it has none. */
    void (*tidy)(void *self);
    /* The original back, if what is there is ours. Needs nothing but the claim. -EXDEV: it is of
     * another hierarchy than what can be seen here; -errno: try again. */
    int (*release)(void *self, const struct claim *claim, enum claim_restored *out);
};

extern const struct actuator_ops cpu_actuator, ways_actuator, mba_actuator, affinity_actuator;

#endif
