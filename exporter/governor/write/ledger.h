/*
 * The journal as the writer writes it: journal_lines.h says what it has; nobody else does while a
 * decider runs. One thread.
 */
#ifndef IE_GOVERNOR_LEDGER_H
#define IE_GOVERNOR_LEDGER_H

#include <stdbool.h>

#include "exporter/governor/act/journal/fswrite.h"
#include "exporter/governor/terms/claim.h"

struct ledger {
    const struct fswrite *write;
    int directory, fd; /* of the state, of the journal in it: the caller's, who locks and closes */
    const char *boot_id;
    bool dirty; /* the file does not hold what is open: the next line writes it anew */
    size_t bytes;
    const struct claim *claims; /* what is open; the caller's */
    const size_t *n;
};

/* Each appends its line. 0 or -errno: then it is not there, or not whole, and 'dirty' is set. */
int ledger_claim(struct ledger *ledger, const struct claim *claim);
int ledger_adopt(struct ledger *ledger, const struct claim *claim);
int ledger_intend(struct ledger *ledger, const struct claim *claim);
int ledger_release(struct ledger *ledger, uint64_t claim);
/* Replaces the file by one of what is open. */
int ledger_compact(struct ledger *ledger);

#endif
