/*
 * From an event's text to perf's attributes.
 *
 *   uprobe:PATH:0xOFFSET         calls of an address in a binary (tests, and custom roles)
 *   software:NAME                page-faults, context-switches, cpu-clock, task-clock, ...
 *   tracepoint:SYS:NAME
 *   pmu:NAME/event=0x10,umask=1/ a PMU of sysfs: its format files say where the terms go, a bare
 *                                term may be a name from its events folder
 *   pfm:ENCODING                 anything libpfm4 knows, e.g. clx::OFFCORE_REQUESTS:0x10
 *   perf_raw::rHEX ...           without prefix: given to libpfm4 as it is
 *
 * One event each: the sums of memory controllers ("A + B") are taken apart by their source.
 */
#ifndef IE_SOURCE_EVENT_ENCODE_H
#define IE_SOURCE_EVENT_ENCODE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/fsroot.h"
#include "exporter/base/reason.h"

struct encoded_event {
    struct perf_event_attr attr; /* type, config*, precise_ip, exclude_* set; the rest is the
                                    opener's */
    char *path;                  /* owned: what attr.config1 points at for uprobes */
    /* Counted by the kernel's code (software, tracepoint, uprobe): needs no hardware counter, so
     * it always runs, and no hypervisor filters it. */
    bool software;
};

/*
 * 0; -EINVAL for text that no rule understands; -ENOENT for an event or PMU that does not exist
 * here. *why says what and, for people, what to do. *out is untouched on failure.
 */
int encode_event(const struct fsroot *fs, const char *text, struct encoded_event *out,
                 struct verdict *why);
void encoded_event_release(struct encoded_event *event);

/* The terms of a perf PMU's event, and where its sysfs format files put them: pure functions on
 * text, "event=0x10,umask=1" and "config:0-7,32-35". */
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
