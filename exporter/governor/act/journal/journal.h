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
#include "exporter/governor/act/journal/journal_file.h"

/* Who writes the journal's file where this process may not: each function does as the one of its
 * name below, but leaves 'open' alone. */
struct journal_writer {
    void *context;
    /* Which has its number; one of the same knob that is open, and not held, is released. */
    int (*claim)(void *context, const struct claim *claim);
    int (*intend)(void *context, const struct intent *intent);
    int (*release)(void *context, uint64_t claim);
    int (*compact)(void *context);
};

/* An error that no system call has: the writer refuses. */
enum { JOURNAL_REFUSED = -EBADRQC };

struct journal {
    struct journal_claims open; /* claims; read them here, change them by the functions below */
    const struct journal_writer *writer; /* NULL: the file is written here */
    struct journal_file file;            /* its descriptors -1: in memory only, or a writer's */
    char boot_id[BOOT_ID_MAX];
    bool dirty;      /* the last line is not, or not wholly, in the file: the next makes it anew */
    bool incomplete; /* it was empty or torn when it was opened: it may have held more */
    uint64_t errors; /* lines that could not be written */
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
/* One whose file is a writer's, who is borrowed; nothing is open. */
void journal_open_remote(struct journal *journal, const struct journal_writer *writer);
/* The file stays as it is. */
void journal_close(struct journal *journal);

/* Whether an error of one of those below concerns that line alone: the writer refuses it, or finds
 * something else in place. The file is as good as before. */
bool journal_is_refused(const struct journal *journal, int err);

/* Each writes its line and then changes 'open'. -errno: neither has happened. */

/* Gives the claim its number. One that is open by its number has a new original and new limits:
 * it takes the place of that. Nothing of it is set yet. */
int journal_claim(struct journal *journal, struct claim *claim);
/* A change that comes next; sets from and set of its claim. */
int journal_intend(struct journal *journal, const struct intent *intent);
/* Removes the claim from 'open' even if the line could not be written: then the next line that can
 * be writes the file anew. */
int journal_release(struct journal *journal, uint64_t claim);

/* Replaces the file by one of what is open now. */
int journal_compact(struct journal *journal);

#endif
