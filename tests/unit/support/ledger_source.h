/*
 * A source whose readings a test writes, and which keeps a ledger of what was asked of it.
 */
#ifndef IE_TESTS_LEDGER_SOURCE_H
#define IE_TESTS_LEDGER_SOURCE_H

#include "exporter/source/source.h"

enum { FAKE_GROUPS = 64, FAKE_CPUS = 8 };

/* What happened to a fake, kept outside since the set frees it. */
struct ledger {
    int opens, closes, frees, begins, reads;
    char last_key[32];
};

struct fake_group {
    bool open;
    enum group group;
    int error; /* of the next reads */
    size_t cpus;
    uint64_t count[FAKE_CPUS]; /* of the first role; enabled and running are the same number */
};

struct fake {
    struct source source;
    struct ledger *ledger;
    struct fake_group groups[FAKE_GROUPS];
    int open_error, begin_error;
    size_t probes_left;
    size_t fds;
};

/* All groups but loads of containers can be opened. Fails the running cmocka test without memory.
 */
struct fake *fake_new(struct ledger *ledger);

#endif
