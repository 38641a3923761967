/*
 * The journal: what is turned down, written before it is, so that whoever comes next can put it
 * back.
 *
 * A file "journal" in the state directory, lines of journal_lines.h. The directory is locked as
 * long as the journal is open: one governor a node. Nothing is synced to the disk: what the journal
 * guards ends with the boot, and what was written outlives the process. When a line cannot be
 * written, the change that it announces must not be made.
 *
 * One thread.
 */
#ifndef IE_GOVERNOR_JOURNAL_H
#define IE_GOVERNOR_JOURNAL_H

#include <errno.h>
#include <stdbool.h>

#include "exporter/base/fsroot.h"
#include "exporter/governor/act/journal/fswrite.h"
#include "exporter/governor/act/journal/journal_lines.h"

/* Who keeps the file where this process may not write: each as the function of its name below, but
 * for 'open', which is not its business. */
struct journal_keeper {
    void *context;
    int (*claim)(void *context, const struct claim *claim); /* which has its number */
    int (*adopt)(void *context, const struct claim *claim);
    int (*intend)(void *context, const struct intent *intents, size_t n);
    int (*release)(void *context, const uint64_t *claims, size_t n);
    int (*compact)(void *context);
};

/* What no system call says: the keeper may not do that. */
enum { JOURNAL_REFUSED = -EBADRQC };

struct journal {
    struct journal_claims open; /* claims; read them here, change them by the functions below */
    const struct fswrite *write;
    const struct journal_keeper *keeper; /* NULL: the file is written here */
    int directory, fd;                   /* -1, -1: in memory only, or a keeper's */
    char boot_id[BOOT_ID_MAX];
    size_t bytes;    /* in the file */
    bool dirty;      /* the file does not hold what 'open' does: the next line writes it anew */
    bool incomplete; /* it was empty or torn when it was opened: it may have held more */
    uint64_t errors; /* lines that could not be written */
    struct textbuf text;
};

/*
 * Opens the directory's journal and reads what an earlier governor left open; changes nothing yet,
 * but makes the file if there is none and 'make' is set. 'write' is borrowed. The error says why:
 * -EWOULDBLOCK another governor is running; -EPERM the directory is not ours alone; -EINVAL a line
 * is wrong; -ENOENT there is no directory, or no file without 'make'; others.
 */
int journal_open(struct journal *journal, const char *directory, bool make,
                 const struct fswrite *write, const struct fsroot *fs, char *error,
                 size_t error_size);
/* One that is kept in memory only: for dry runs. */
void journal_open_nowhere(struct journal *journal);
/* One whose file is a keeper's, who is borrowed; nothing is open. */
void journal_open_kept(struct journal *journal, const struct journal_keeper *keeper);
/* The file stays as it is. */
void journal_close(struct journal *journal);

/* Whether an error of one of those below is of that line alone: a keeper may not do it, or finds
 * that something else is there now. The file is as well as before. */
bool journal_is_refused(const struct journal *journal, int err);

/* Each writes its line and then changes 'open'. -errno: neither has happened. */

/* Gives the claim its number. */
int journal_claim(struct journal *journal, struct claim *claim);
/* The new original and limits of a claim that is open; nothing of it is set any more. */
int journal_adopt(struct journal *journal, const struct claim *claim);
/* n > 0 changes that come next; sets from and set of their claims. One line for all. */
int journal_intend(struct journal *journal, const struct intent *intents, size_t n);
/* Removes the claims from 'open' even if the line could not be written: then the next line that can
 * be writes the file anew. */
int journal_release(struct journal *journal, const uint64_t *claims, size_t n);

/* Replaces the file by one of what is open now. */
int journal_compact(struct journal *journal);

#endif
