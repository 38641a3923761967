/*
 * The groups that are open: one entry per scope key and group, however many collectors opened it,
 * with its last two readings and the window between them.
 *
 * A part of the source set, which decides what source serves a group. Loop thread only.
 */
#ifndef IE_SOURCE_OPEN_GROUPS_H
#define IE_SOURCE_OPEN_GROUPS_H

#include "exporter/base/hash_table.h"
#include "exporter/source/source.h"
#include "exporter/source/window.h"

/* Handle 0 is never valid. */
typedef uint32_t group_handle;

/*
 * The two readings around a window, and its scaled sum over the CPUs. Rows with the same index are
 * of the same CPU. Before the first reading 'before' has n == 0: everything since the opening lies
 * in the window. Borrowed until the next begin, or until this handle is closed.
 *
 * The sum is made once a tick, however many collectors read the group: with many CPUs that is most
 * of a tick.
 */
struct group_window {
    enum group group;
    const struct reading *before;
    const struct reading *after;
    const struct window_sum *sum;
};

struct open_group;

/* Start with open_groups_init. */
struct open_groups {
    struct open_group **slots;
    uint32_t n;
    size_t cap;
    uint32_t free_slots;   /* index + 1 of the first free slot, 0: none */
    struct hash_table map; /* by key, kind and group */
    uint64_t turn;         /* counts begins; groups start at 0, which is never current */
};

void open_groups_init(struct open_groups *groups);
/* Closes what is still open. Before the sources are freed. */
void open_groups_release(struct open_groups *groups);

/* False when the pair is not open. Otherwise *handle is that group's, to be closed once more. */
bool open_groups_share(struct open_groups *groups, const struct scope *scope, enum group group,
                       group_handle *handle);

/* Opens a pair that is not open yet; the source must outlive the group. On failure the source's
 * -errno or -ENOMEM, with *why set and *handle untouched. */
int open_groups_open(struct open_groups *groups, struct source *source, const struct scope *scope,
                     enum group group, group_handle *handle, struct verdict *why);
/* A handle that was closed already is ignored. */
void open_groups_close(struct open_groups *groups, group_handle handle);

/* Starts a tick, after the sources did: every group is read anew when it is asked for. Makes room
 * for rows that came since, so that reading allocates only what came later still. */
void open_groups_begin(struct open_groups *groups);
/* As source_set_read. */
int open_groups_read(struct open_groups *groups, group_handle handle, struct group_window *out);

#endif
