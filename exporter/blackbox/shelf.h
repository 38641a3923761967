/*
 * The directory of the files that were written: which there are, and that there are not too many.
 *
 * A file is blackbox-YYYYMMDDTHHMMSSZ-WHY.jsonl.gz, by the time and the reason of its beginning;
 * what has another name is none of ours, and is left alone. One thread.
 */
#ifndef IE_BLACKBOX_SHELF_H
#define IE_BLACKBOX_SHELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHELF_FILES_MAX = 64, SHELF_NAME_BYTES = 112 };

struct shelf_file {
    char name[SHELF_NAME_BYTES];
    char why[32];
    uint64_t began_wall_ns, ended_wall_ns; /* the last: of the newest thing in it */
    uint64_t bytes;
    bool open; /* is being written */
};

struct shelf {
    int directory; /* borrowed */
    size_t max_files;
    uint64_t max_bytes;
    struct shelf_file files[SHELF_FILES_MAX]; /* the oldest first */
    size_t n;
    uint64_t removed; /* to make room */
};

/* What is there already. max_files is at most SHELF_FILES_MAX. 0 or -errno. */
int shelf_init(struct shelf *shelf, int directory, size_t max_files, uint64_t max_bytes);

/* Adds an entry for a new file, under a name that no file has, as the last of 'files', and removes
 * the oldest files for it. NULL, with errno: they cannot be removed. 'why' has letters and
 * underscores. */
struct shelf_file *shelf_add(struct shelf *shelf, const char *why, uint64_t wall_ns);
/* Drops the last entry: its file could not be made, or is not to be kept. */
void shelf_drop_last(struct shelf *shelf);
/* Removes the oldest files until all fit, but never the last. */
void shelf_trim(struct shelf *shelf);
/* Drops entries whose files somebody else has removed. Not while one is being written. */
void shelf_forget_missing(struct shelf *shelf);

/* Takes a name apart. False: it is none of ours. Pure. */
bool shelf_parse_name(const char *name, struct shelf_file *out);

#endif
