/*
 * A flag, as data: the exporter's own and the collectors' (collector_ops.options) are described in
 * the same way, and so are parsed, checked, defaulted and printed by the same code.
 */
#ifndef IE_COLLECTORS_CONTRACT_OPTION_H
#define IE_COLLECTORS_CONTRACT_OPTION_H

#include <stddef.h>

/* What the text of a flag is, and the type of the member that it sets. */
enum flag_type {
    FLAG_BOOL,      /* bool; takes no value, --no-NAME switches it off */
    FLAG_ACTION,    /* bool; as above, but there is no --no-NAME */
    FLAG_TEXT,      /* const char *; anything but "" */
    FLAG_URL_PATH,  /* const char *; the path of an endpoint */
    FLAG_REGEX,     /* const char *; a POSIX extended regular expression */
    FLAG_LISTEN,    /* repeatable: options.listen and .n_listen; not for collectors */
    FLAG_COUNT,     /* size_t; decimal, min to max */
    FLAG_NUMBER,    /* double, min to max */
    FLAG_DURATION,  /* uint64_t nanoseconds, min to max */
    FLAG_SECONDS,   /* double seconds, written as a duration; min and max in nanoseconds */
    FLAG_CHOICE,    /* an enum whose values are the indexes of 'choices' */
    FLAG_EITHER,    /* bool: the second of two choices */
    FLAG_LATENCIES, /* repeatable: struct option_latencies; NAME=DURATION, min to max in ns */
};

/* A name is a small letter, then up to 15 small letters, digits and underscores; no two alike, and
 * none that a NUMA node has ("node0"). */
enum { OPTION_LATENCIES_MAX = 4, OPTION_NAME_BYTES = 17 };

struct option_latencies {
    size_t n;
    struct option_latency {
        char name[OPTION_NAME_BYTES];
        double seconds;
    } at[OPTION_LATENCIES_MAX];
};

struct option_flag {
    const char *name; /* without dashes; of a collector's: "collector.<its name>.<option>" */
    enum flag_type type;
    size_t offset;              /* of the member in struct options, or in the collector's config */
    double min, max;            /* both allowed */
    const char *fallback;       /* the default, as it would be typed; NULL: not given */
    const char *unit;           /* stands for the value in --help, e.g. "DURATION" */
    const char *const *choices; /* ended by NULL */
    const char *help;           /* sentences */
};

/* Room for the config of any collector: a struct of its own, which its flags fill. All zero before.
 */
enum { COLLECTOR_CONFIG_BYTES = 160 };

struct collector_config {
    _Alignas(max_align_t) unsigned char bytes[COLLECTOR_CONFIG_BYTES];
};

#endif
