/*
 * The source set: routes each (scope kind, group) to its backend, shares open groups between
 * collectors, and reads each group once a tick.
 *
 * Collectors that open the same scope key and group get the same handle, counted. The set keeps
 * the last two readings of each handle; a window is what lies between them. Loop thread only.
 */
#ifndef IE_SOURCE_SOURCE_SET_H
#define IE_SOURCE_SOURCE_SET_H

#include "exporter/base/log.h"
#include "exporter/source/open_groups.h"
#include "exporter/source/source.h"

/*
 * The samples of one tick, as a list: drained from their source once, read by every collector.
 */

/* Room in the list: 64 MiB of addresses, of which only what is used becomes memory. What a source
 * has beyond this is taken from it as well, and counted as lost. */
enum { TICK_SAMPLES_MAX = 1 << 20 };

/* All zero is empty. */
struct tick_samples {
    struct access_sample *at; /* owned */
    size_t n;
    uint64_t dropped[ACCESS_KINDS]; /* without room here, since the start */
    /* As the source had it just before the list was drained, with what was dropped here among
     * 'lost'. All zero for a kind of access that is not sampled. */
    struct sampling sampling[ACCESS_KINDS];
};

void tick_samples_release(struct tick_samples *samples);

/* Allocates the list, unless that was done before. 0 or -ENOMEM. */
int tick_samples_reserve(struct tick_samples *samples);

/* Replaces the list by all samples that the source has now, which must be one that samples;
 * NULL has none. Allocates nothing after tick_samples_reserve. */
void tick_samples_drain(struct tick_samples *samples, struct source *source);

struct source_set;

struct source_set *source_set_new(const struct log *log);
/* Frees the routed sources as well, each once. Accepts NULL. */
void source_set_free(struct source_set *set);
/* Before free: ends all threads. 0, or -ETIMEDOUT, as source.h says it of one of them. Accepts
 * NULL. */
int source_set_end(struct source_set *set);

/* Takes ownership of 'source', also on failure; it then serves (kind, group). A later route for
 * the same pair replaces the earlier one. Returns 0 or -ENOMEM. */
int source_set_route(struct source_set *set, enum scope_kind kind, enum group group,
                     struct source *source);
/* As route; whoever served the pair until now serves it again if, in a check before the first tick,
 * 'source' cannot and that one can. */
int source_set_route_over(struct source_set *set, enum scope_kind kind, enum group group,
                          struct source *source);
/* Lets it serve the pair again, if it was replaced so. Before the first tick. */
void source_set_route_back(struct source_set *set, enum scope_kind kind, enum group group);
/* Whether either has happened. */
bool source_set_fell_back(const struct source_set *set, enum scope_kind kind, enum group group);
/* As route, for the source whose bursts of the probe are read. */
int source_set_route_probes(struct source_set *set, struct source *source);

/* As route, for the source whose samples are read. */
int source_set_route_samples(struct source_set *set, struct source *source);

/* False with *why set when no backend serves the pair, or its check says no. */
bool source_set_check(struct source_set *set, enum scope_kind kind, enum group group,
                      struct verdict *why);

/* 0; -ENODEV when no backend serves the pair; otherwise the backend's error, with *why set. 'why'
 * may be NULL. */
int source_set_open(struct source_set *set, const struct scope *scope, enum group group,
                    group_handle *handle, struct verdict *why);
/* A handle that was closed already is ignored. */
void source_set_close(struct source_set *set, group_handle handle);

/* Starts a tick for every backend, also after one of them failed. Returns the first error. */
int source_set_begin(struct source_set *set, const struct tick *tick);

/* Reads the group unless it was read this tick already, then hands out the window.
 * -ENODATA: no reading this tick, so no window; the next window reaches back over it, as after any
 * other error of the backend. The answer, an error too, stands until the next begin. -EBADF: the
 * handle was closed. Allocates only when the backend needs more rows than ever before. */
int source_set_read(struct source_set *set, group_handle handle, struct group_window *out);

/* The probe bursts that finished before this tick began; the same list for everyone. */
const struct probe_reading *source_set_probes(struct source_set *set, size_t *n);
/* As the op of the same name; false, and nothing set, where that is not known. */
bool source_set_probe_discards(struct source_set *set, uint64_t discarded[PROBE_DISCARDS]);

/* Who took CPUs from whom since the last tick, as the op says it, of whoever counts containers'
 * delays; 0 where nobody does. Once a tick. */
size_t source_set_takings(struct source_set *set, struct cpu_taking *out, size_t cap);

/* Whether accesses of this kind are sampled here; if not, why. */
bool source_set_samples(struct source_set *set, enum access access, struct verdict *why);
/* What the source has sampled since the tick before; the same list for everyone. Drained when the
 * first collector asks in a tick; borrowed until the next begin. At most TICK_SAMPLES_MAX: what is
 * beyond is counted as lost. Allocates nothing after source_set_samples said yes. */
const struct access_sample *source_set_read_samples(struct source_set *set, size_t *n);
/* How sampling goes, as of that list: 'settled_ns' holds for what is in it and in those before. All
 * zero for a kind of access that is not sampled. */
void source_set_sampling(struct source_set *set, enum access access, struct sampling *out);

size_t source_set_open_counters(struct source_set *set);
/* As the op of the same name, of all backends. */
uint64_t source_set_unread(struct source_set *set);

#endif
