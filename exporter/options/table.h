/*
 * The one table of flags behind options.h: parsing, --help and the tests read it.
 *
 * Flags that switch collectors are not in it: they are made from collector_table. A flag
 * "collector.<name>.<option>" exists only where <name> is in collector_table.
 */
#ifndef IE_OPTIONS_TABLE_H
#define IE_OPTIONS_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* What the text of a flag is, and the type of the member of struct options that it sets. */
enum flag_type {
    FLAG_BOOL,        /* bool; takes no value, --no-NAME switches it off */
    FLAG_ACTION,      /* bool; as above, but there is no --no-NAME */
    FLAG_TEXT,        /* const char *; anything but "" */
    FLAG_URL_PATH,    /* const char *; the path of an endpoint */
    FLAG_REGEX,       /* const char *; a POSIX extended regular expression */
    FLAG_LISTEN,      /* repeatable: options.listen and .n_listen */
    FLAG_COUNT,       /* size_t; decimal, min to max */
    FLAG_NUMBER,      /* double, min to max */
    FLAG_DURATION,    /* uint64_t nanoseconds, min to max */
    FLAG_SECONDS,     /* double seconds, written as a duration; min and max in nanoseconds */
    FLAG_CHOICE,      /* an enum whose values are the indexes of 'choices' */
    FLAG_EITHER,      /* bool: the second of two choices */
    FLAG_UNSUPPORTED, /* promised, not there yet: always an error */
};

struct flag {
    const char *name; /* without dashes */
    enum flag_type type;
    size_t offset;              /* of the member in struct options */
    double min, max;            /* both allowed */
    const char *fallback;       /* the default, as it would be typed; NULL: not given */
    const char *unit;           /* stands for the value in --help, e.g. "DURATION" */
    const char *const *choices; /* ended by NULL */
    const char *help;           /* sentences */
};

extern const struct flag flag_table[];
extern const size_t flag_count;

/* Whether this build has the flag at all. */
bool flag_exists(const struct flag *flag);

#endif
