/*
 * A claim: one knob of one cgroup, or of one of its threads, that the governor may turn down, and
 * how it was found.
 *
 * What the journal holds of it is enough to put it back.
 */
#ifndef IE_GOVERNOR_CLAIM_H
#define IE_GOVERNOR_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLAIM_TEXT_MAX = 128, CLAIM_PATH_MAX = 1024, CLAIM_NAME_MAX = 256, CLAIMS_MAX = 1024 };

enum knob {
    KNOB_CPU,      /* CPU quota: cores */
    KNOB_WAYS,     /* of the last-level cache */
    KNOB_MBA,      /* Memory Bandwidth Allocation: percent */
    KNOB_AFFINITY, /* CPUs that a thread may run on: how many */
    KNOB_COUNT
};

/* As in the journal, the log and labels. */
const char *knob_name(enum knob knob);

struct claim {
    uint64_t id; /* from 1 on, never used twice in a journal */
    enum knob knob;
    char container[CLAIM_NAME_MAX]; /* namespace/pod/container, for people */
    char container_id[16];          /* the exporter's label */
    char path[CLAIM_PATH_MAX];      /* of the cgroup below the controller's root, with a slash */
    uint64_t dev, ino;              /* of that directory: a path may be used again */
    /* Of the root: in another mount, or seen from another cgroup namespace, the path leads
     * elsewhere, which does not say that the cgroup has ended. 0, 0: not known. */
    uint64_t root_dev, root_ino;
    /* Of a thread, whose number may be used again; 0: the knob is the cgroup's. When it began, and
     * when it was claimed: clock ticks since boot. */
    int tid;
    uint64_t tid_start, tid_claimed;
    char original[CLAIM_TEXT_MAX]; /* the file's text when it was claimed */
    char from[CLAIM_TEXT_MAX];     /* the text before the last change, "" if there was none */
    char set[CLAIM_TEXT_MAX];      /* the text that the last change is to, "" if there was none */
    /* In the knob's unit: least <= value <= most, always. most is what 'original' allows. */
    double least, most, value;
    double step; /* values are multiples of it; 0: any */
    size_t kept; /* tasks that keep() has looked at in this round; not in the journal */
    /* The writer's own (writer.h): of a quota; and whether the last write has given it back. */
    uint64_t period_us;
    bool given_back;
};

/* A path below a root: begins with a slash and leads nowhere else. */
bool claim_path_is_safe(const char *path);

#endif
