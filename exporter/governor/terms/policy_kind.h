/* The policies by name; policy.h says what each can do. */
#ifndef IE_GOVERNOR_POLICY_KIND_H
#define IE_GOVERNOR_POLICY_KIND_H

enum policy_kind {
    POLICY_THRESHOLD,  /* CPU quota by memory latency */
    POLICY_WAYS,       /* ways of the last-level cache by slowdown */
    POLICY_MBA,        /* memory bandwidth by slowdown */
    POLICY_EPOCHS,     /* ways and bandwidth for moments, to measure slowdowns */
    POLICY_NVMM_CORES, /* threads that write to persistent memory on CPUs of their own */
    POLICY_ADVICE,     /* to who places pods: it touches nobody */
    POLICY_KINDS,
    POLICY_NONE = POLICY_KINDS
};

/* As in the configuration, the log and labels. */
const char *policy_kind_name(enum policy_kind kind);

#endif
