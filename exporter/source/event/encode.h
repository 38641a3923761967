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

#endif
