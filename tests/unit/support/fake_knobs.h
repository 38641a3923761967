/*
 * Control files in memory behind an actuator's ops, for the governor's tests: what a file may hold
 * is checked at each write.
 *
 * A value is its number of millionths, as text: "1500000".
 */
#ifndef IE_TESTS_FAKE_KNOBS_H
#define IE_TESTS_FAKE_KNOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/governor/act/journal/journal.h"
#include "exporter/governor/act/restore.h"

enum { FAKE_KNOBS_MAX = 24 };

struct fake_knob {
    char path[64];
    uint64_t ino; /* 0: there is none */
    char text[CLAIM_TEXT_MAX];
    char spec[CLAIM_TEXT_MAX]; /* what whoever owns it asked for last */
};

struct fake_knobs {
    struct fake_knob knobs[FAKE_KNOBS_MAX];
    uint64_t last_ino;
    struct journal *journal; /* each write must be of an open claim of it; NULL: none may come */
    double cpus;             /* the most, whatever the files say */
    int fail_next;           /* -errno of the next write, once */
    bool fail_after;         /* that write happens nevertheless, and reading it back fails */
    unsigned fail_checks;    /* so many looks that come next fail */
    unsigned fail_claims;    /* and so many claims */
    bool rebase_next;        /* the next look finds another original below what is set, once */
    unsigned writes;
    unsigned wrong; /* writes that may never be: outside of the limits, or not in the journal */
};

void fake_knobs_init(struct fake_knobs *fake);
/* Makes "/0", "/1", ...; a cgroup that is there already ends, and another one has its path. */
void fake_knobs_make(struct fake_knobs *fake, size_t i, double value);
void fake_knobs_end(struct fake_knobs *fake, size_t i);
/* Somebody else's new specification. */
void fake_knobs_set(struct fake_knobs *fake, size_t i, double value);
/* Somebody puts the specification back. */
void fake_knobs_reset(struct fake_knobs *fake, size_t i);
double fake_knobs_value(const struct fake_knobs *fake, size_t i);
/* Whether it says what its owner asked for. */
bool fake_knobs_is_original(const struct fake_knobs *fake, size_t i);

struct actuators fake_knobs_actuators(struct fake_knobs *fake);

#endif
