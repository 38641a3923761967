/*
 * The terms of a perf PMU's event, and where its sysfs format files put them.
 *
 * Pure functions on text: "event=0x10,umask=1" and "config:0-7,32-35".
 */
#ifndef IE_SOURCE_EVENT_PMU_TERMS_H
#define IE_SOURCE_EVENT_PMU_TERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PMU_CONFIG_WORDS = 3, PMU_FIELD_RANGES = 8, PMU_TERM_NAME = 48 };

struct pmu_term {
    char name[PMU_TERM_NAME]; /* letters, digits and _ - . only: safe as a file name */
    uint64_t value;           /* 1 when none was given */
    bool has_value;
};

/* Takes the next term from *text (*len bytes left). 1 with *out; 0 at the end; -EINVAL. */
int pmu_term_next(const char **text, size_t *len, struct pmu_term *out);

/* The same characters as a term's name; at least one, and not "." or "..". */
bool pmu_name_valid(const char *text, size_t len);

/* Which bits of which attribute word a term goes to, lowest bits of the value first. */
struct pmu_field {
    int word; /* 0: config, 1: config1, 2: config2 */
    size_t n;
    struct {
        uint8_t low, high;
    } range[PMU_FIELD_RANGES];
};

/* A format file's text, newline allowed. -EINVAL for anything else. */
int pmu_field_parse(const char *text, size_t len, struct pmu_field *out);

/* Sets the field's bits in words. -ERANGE, with nothing changed, when the value has more bits. */
int pmu_field_deposit(const struct pmu_field *field, uint64_t value,
                      uint64_t words[PMU_CONFIG_WORDS]);

#endif
