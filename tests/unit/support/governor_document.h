/*
 * What the exporter answers the governor, written part by part: a tick, its containers one after
 * the other, each with its values. What is no document fails the test.
 */
#ifndef IE_TESTS_GOVERNOR_DOCUMENT_H
#define IE_TESTS_GOVERNOR_DOCUMENT_H

#include "exporter/base/textbuf.h"
#include "exporter/governor/see/view.h"
#include "tests/unit/support/governor_rig.h"

struct governor_document_tick {
    const char *source; /* NULL: perf */
    uint64_t number, mono_ns;
    uint64_t interval_ns;   /* 0: a second */
    uint64_t own_cgroup_id; /* 0: not said */
    const char *rest;       /* more members, each with a comma behind it; NULL: none */
};
void governor_document_begin(struct textbuf *out, const struct governor_document_tick *tick);

/* Of the rig's pod, and of 'path'; 'members' as the tick's rest. */
void governor_document_container(struct textbuf *out, const char *namespace_, const char *pod,
                                 const char *name, const char *path, uint64_t inode,
                                 const char *members);
/* Values of the last container: of a family without labels, whose name is this behind
 * "interference_container_"; of one with a label; its latency, and what that is when it is calm. */
void governor_document_value(struct textbuf *out, const char *family, double value);
void governor_document_labelled(struct textbuf *out, const char *family, const char *label,
                                const char *of, double value);
void governor_document_latency(struct textbuf *out, double seconds, double baseline_seconds);

/* Ends it. */
void governor_document_end(struct textbuf *out);
/* And reads it, and releases it; the view is the caller's to release. */
void governor_document_view(struct textbuf *out, struct view *view);

#endif
