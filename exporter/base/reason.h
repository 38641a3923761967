/*
 * Why something cannot work here: an enum for the label, words for people.
 *
 * "Not supported here" is data, not an error: collectors and sources pass a verdict on until it
 * reaches /api/v1/status, the log and interference_exporter_collector_info{reason}.
 */
#ifndef IE_BASE_REASON_H
#define IE_BASE_REASON_H

enum reason {
    REASON_OK,
    REASON_DISABLED,        /* switched off by a flag */
    REASON_NO_PMU,          /* the machine shows no such hardware counters */
    REASON_NO_PERMISSION,   /* EACCES, EPERM */
    REASON_EVENT_FILTERED,  /* opens, but counts nothing: a hypervisor filters it */
    REASON_UNSUPPORTED_CPU, /* there is a PMU, but no verified event for this CPU */
    REASON_FD_LIMIT,        /* EMFILE, ENFILE */
    REASON_NO_DEVICE,       /* ENODEV: the device or file is not on this machine; also what has no
                               reason of its own, such as no memory: then the words say it */
    REASON_NMI_WATCHDOG,    /* the kernel's NMI watchdog holds a counter that is needed */
    REASON_NOT_CALIBRATED,  /* a constant that the probe should have measured is not known */
    REASON_NO_GROUPS,       /* nobody made what would have to be read */
    REASON_COUNT
};

/* The spelling used in labels, e.g. "no_pmu". Never NULL for a valid reason. */
const char *reason_name(enum reason reason);

struct verdict {
    enum reason reason;
    char words[320]; /* one sentence with the remedy; "" with REASON_OK */
};

/* REASON_OK, without words. */
void verdict_clear(struct verdict *verdict);
/* Sets both, cutting words that do not fit. */
void verdict_set(struct verdict *verdict, enum reason reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
