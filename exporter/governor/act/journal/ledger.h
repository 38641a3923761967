/*
 * The journal as it is written: lines of journal_lines.h in a file that only grows, until it is
 * made anew. One thread.
 */
#ifndef IE_GOVERNOR_LEDGER_H
#define IE_GOVERNOR_LEDGER_H

#include "exporter/governor/act/journal/fswrite.h"
#include "exporter/governor/act/journal/journal_lines.h"

struct ledger {
    const struct fswrite *write;
    int directory, fd; /* of the state, of the journal in it: the caller's, who locks and closes */
    const char *boot_id;
    bool dirty; /* the file does not hold what is open: the next line writes it anew */
    size_t bytes;
    const struct journal_claims *open; /* the caller's, who changes it after a line was written */
};

/* Each appends its line. 0 or -errno: then it is not there, or not whole, and 'dirty' is set. */

/* 'instead': the number of one that is open and that this one takes the place of; 0: none. */
int ledger_claim(struct ledger *ledger, const struct claim *claim, uint64_t instead);
int ledger_intend(struct ledger *ledger, const struct intent *intent);
int ledger_release(struct ledger *ledger, uint64_t claim);
/* Replaces the file by one of what is open. */
int ledger_compact(struct ledger *ledger);

#endif
