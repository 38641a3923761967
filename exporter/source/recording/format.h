/*
 * The recording format, version 1: JSON Lines (DESIGN.md, "CONTRACT: recording").
 *
 * One line in, one value out; no state between lines. Values are checked for type and range here,
 * so that everything after it may trust them.
 */
#ifndef IE_SOURCE_RECORDING_FORMAT_H
#define IE_SOURCE_RECORDING_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/textbuf.h"
#include "exporter/source/machine.h"
#include "exporter/source/role.h"
#include "exporter/source/source.h"

enum recording_kind {
    RECORDING_HEADER,
    RECORDING_CONTAINER,
    RECORDING_UNIT,
    RECORDING_THREAD,
    RECORDING_TICK,
    RECORDING_READ,
    RECORDING_SAMPLE,
    RECORDING_LOST,
    RECORDING_PROBE,
    RECORDING_GONE,
    RECORDING_MARK,    /* a line of ours: something begins in this tick */
    RECORDING_LEARNED, /* a line of ours: of what had been learned before the first tick */
    RECORDING_TRUTH,   /* read by tests; the exporter ignores it */
    RECORDING_UNKNOWN, /* an object with a first-class key of a later version: ignored */
};

/* Keys name containers, units and threads: 1 to 31 bytes. */
enum { RECORDING_MAX_KEY = 31 };

/* The key of activity lines of the whole machine: all CPUs, containers included; and of its
 * bandwidth. A container may have it too, but then no such lines. */
#define RECORDING_MACHINE_KEY "host"

/* Longer lines are refused. */
enum { RECORDING_MAX_LINE = 1 << 20 };

/* Strings are NUL-terminated, never NULL ("" when absent). */
struct recording_container {
    const char *key, *cgroup, *id, *namespace_, *pod, *container, *image, *pod_uid;
    const char *runtime, *qos_class; /* optional keys of ours; "" when absent */
    /* Optional key of ours: the names are not resolved yet, so no series may be made. */
    bool pending;
    /* Optional key of ours: when it was found, between two ticks; 0 when absent. */
    uint64_t found_mono_ns;
};

/*
 * A reading. Two groups have lines of a form of their own, without times:
 *
 * {"activity":"c1","cpu":1,"cpu_time_ns":812000000} is of CPU time: a total since the source began
 * to count, for a container since it was found, for the machine since the group was opened. A line
 * per CPU, or without "cpu" the sum where no CPU is known; a CPU that never ran the container may
 * have no line.
 *
 * {"pages":"c1","numa_node":1,"bytes":8388608}, optional, a line of ours, is what the container has
 * of this node's memory now. A line per node; one without a line keeps what its last one said. Not
 * every tick has lines: the kernel is asked now and then only.
 */
struct recording_read {
    const char *key;
    enum group group;
    int cpu; /* -1: the sum over all CPUs; of pages, the NUMA node */
    uint64_t enabled_ns, running_ns;
    uint32_t present; /* bits by index in the group */
    uint64_t values[GROUP_MAX_ROLES];
};

static inline bool recording_has_times(enum group group)
{
    return group != GROUP_ACTIVITY && group != GROUP_PAGES;
}

struct recording_sample {
    const char *key;
    /* Without 'owner'. Without "medium" it is unknown. Without "bytes", or with 0, the optional
     * key of ours "size" says why; without that, the instruction could not be read. */
    struct access_sample sample;
    bool timed;      /* optional key of ours "mono_ns": sample.time_ns */
    uint64_t period; /* 0: not given */
};

/* How sampling went since the last such line. */
struct recording_lost {
    uint64_t count; /* samples lost */
    enum access access;
    /* Optional keys of ours. */
    uint64_t throttles; /* times that sampling was paused */
    uint64_t period;    /* 0: not given */
    bool settled;       /* "settled_ns" is there: of struct sampling */
    uint64_t settled_ns;
};

struct recording_truth {
    const char *key;
    uint64_t tick;
    double latency_ns, slowdown; /* NaN when absent */
    uint64_t nvmm_store_bytes;
};

/*
 * {"learned":"49455354"}: the next bytes, as hexadecimal digits, of what collectors had learned
 * when the recording begins: all such lines together are a block of exporter/state. Before the
 * first tick.
 */
enum { RECORDING_LEARNED_PIECE = 256 << 10, RECORDING_LEARNED_MAX = 64 << 20 };

/* {"mark":"waits","key":"c1"}: why a recording is worth looking at, at this tick. */
struct recording_mark {
    const char *why; /* a word: at most RECORDING_MAX_KEY bytes */
    const char *key; /* of whom; "": of nobody in particular, or not given */
};

struct recording_line {
    enum recording_kind kind;
    union {
        struct {
            /* Optional keys of ours: "socket_cpus", "numa_node_cpus" (fields.h); "own_events"
             * and "guest": true. */
            struct machine machine;
            uint64_t interval_ns;
        } header;
        struct recording_container container;
        struct source_unit unit;     /* optional key of ours: "cache_bytes" */
        struct source_thread thread; /* optional key of ours: "cpu" */
        struct {
            uint64_t number, mono_ns, wall_ns;
        } tick;
        struct recording_read read;
        struct recording_sample sample;
        struct recording_lost lost;
        struct probe_reading probe; /* optional keys of ours: "cpu", "llc_hit_ns" */
        struct {
            const char *key;
        } gone;
        struct recording_mark mark;
        struct {
            const char *hex; /* at most RECORDING_LEARNED_PIECE bytes */
        } learned;
        struct recording_truth truth;
    };
    void *owner; /* keeps the strings alive */
};

/*
 * Parses one line (no newline at its end needed). 0, with *out to be released; or -EINVAL with
 * what is wrong in 'error' (the caller knows file and line number).
 *
 * What is checked: exactly one first-class key ("read", "tick", ...), every key that the line
 * needs, no key twice, types, and ranges: counts and clocks are whole numbers from 0 to 2^63, also
 * when written as 2.1e9; other numbers are finite. Unknown keys, and roles that are not of the
 * line's group, are ignored; an unknown group is an error, since a typing mistake would
 * otherwise look like a machine that counts nothing.
 */
int recording_parse_line(const char *text, size_t len, struct recording_line *out, char *error,
                         size_t error_size);
void recording_line_release(struct recording_line *line);

/* Appends the line as text, which recording_parse_line() reads, with its newline; nothing where
 * the format has no place for what it says (a count of 2^63 and more, a latency that is none).
 * The error is the buffer's. Pure. */
void recording_line_text(const struct recording_line *line, struct textbuf *out);

#endif
