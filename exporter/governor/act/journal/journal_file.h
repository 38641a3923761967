/*
 * The journal as it is written: lines of journal_lines.h in a file that only grows, until it is
 * made anew. One thread.
 */
#ifndef IE_GOVERNOR_JOURNAL_FILE_H
#define IE_GOVERNOR_JOURNAL_FILE_H

#include "exporter/governor/act/journal/fswrite.h"
#include "exporter/governor/act/journal/journal_lines.h"

struct journal_file {
    const struct fswrite *write;
    int directory, fd; /* of the state, of the journal in it: the caller's, who locks and closes */
    const char *boot_id;
    bool dirty; /* the file does not hold what is open: the next line writes it anew */
    size_t bytes;
    const struct journal_claims *open; /* the caller's, who changes it after a line was written */
};

/* Each appends its line. 0 or -errno: then it is not there, or not whole, and 'dirty' is set. */

/* 'instead': the number of one that is open and that this one takes the place of; 0: none. */
int journal_file_claim(struct journal_file *file, const struct claim *claim, uint64_t instead);
int journal_file_intend(struct journal_file *file, const struct intent *intent);
int journal_file_release(struct journal_file *file, uint64_t claim);
/* Replaces the file by one of what is open. */
int journal_file_compact(struct journal_file *file);

#endif
