/*
 * What a folder of the host's holds, as it was when it was read last: so that many who look for
 * something in it do not each read it.
 */
#ifndef IE_CONTAINERS_NAMES_FOLDER_H
#define IE_CONTAINERS_NAMES_FOLDER_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/base/fsroot.h"
#include "exporter/containers/names/allowance.h"

/* Of one folder; the rest is not looked at. */
enum { FOLDER_ENTRIES_MAX = 16384, FOLDER_BYTES_MAX = 4 << 20 };

struct folder_entry {
    const char *name;
    const char *target; /* where a link points to; NULL: no link, or links are not asked for */
};

struct folder {
    const char *path; /* below the host's root; constant */
    bool links;       /* where they point to is asked for, without following them */
    struct allowance readings;
    /* Since the last reading. */
    bool has_read;
    uint64_t read_ns;
    int err;
    size_t *offsets; /* of each entry: a name, then a target, each with its end */
    size_t n, cap;
    char *text;
    size_t text_len, text_cap;
    uint64_t count; /* of readings */
};

void folder_init(struct folder *folder, const char *path, bool links);
void folder_release(struct folder *folder);

/* Reads it again, if that may be now and was not at this moment. 0 or -errno: then it is empty. */
int folder_refresh(struct folder *folder, const struct fsroot *fs, uint64_t now_ns);
/* Valid until it is read again. */
struct folder_entry folder_at(const struct folder *folder, size_t i);

#endif
