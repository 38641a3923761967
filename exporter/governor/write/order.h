/*
 * What the decider asks of the writer: one datagram each, and one answer.
 *
 * The decider is what strangers talk to, so the writer believes nothing of it (rules.h, writer.c).
 * Both are one program, so numbers travel as the machine has them.
 */
#ifndef IE_GOVERNOR_ORDER_H
#define IE_GOVERNOR_ORDER_H

#include <sched.h>

#include "exporter/governor/act/journal/journal.h"
#include "exporter/governor/terms/claim.h"

enum order_kind {
    ORDER_READY, /* all is up: whoever started the program is told */
    ORDER_BEAT,  /* nothing: the decider goes on, and looks whether the writer does */
    ORDER_CLAIM, /* the journal's lines (journal_lines.h) */
    ORDER_INTEND,
    ORDER_RELEASE,
    ORDER_COMPACT,
    ORDER_FILE, /* a control file: of a claim's cgroup, or of resctrl */
    ORDER_MAKE_GROUP,
    ORDER_REMOVE_GROUP,
    ORDER_THREAD, /* the CPUs of one */
    ORDER_KINDS
};

enum { ORDER_NAME_MAX = 32, ORDER_TEXT_MAX = 4096 };

struct order {
    uint32_t kind;
    union {
        struct claim claim;            /* CLAIM */
        struct intent change;          /* INTEND; RELEASE without the texts */
        struct {                       /* FILE; of groups their name alone */
            uint64_t dev, ino;         /* of the cgroup */
            char name[ORDER_NAME_MAX]; /* "cpu.max"; of resctrl below its root, "ig_7_50/tasks" */
            char text[ORDER_TEXT_MAX];
        } file;
        struct {
            int32_t tid;
            cpu_set_t cpus;
        } thread;
    } of;
};

/* It may not be asked for. */
enum { ORDER_REFUSED = JOURNAL_REFUSED };

struct answer {
    int32_t err; /* 0, ORDER_REFUSED or -errno */
};

/* A decider waits no longer for an answer: the writer hangs. A writer that has heard nothing for so
 * many of its looks takes the decider for hung. The watchdog of whoever started them comes last. */
enum { ORDER_PATIENCE_MS = 5000, ORDER_LOOK_MS = 2500, ORDER_LOOKS = 4 };
#define ORDER_WATCHDOG_US UINT64_C(15000000)

#endif
