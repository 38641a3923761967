/*
 * Threads that write to persistent memory on cores of their own: Schmidt 2022, sections 5.2.2 and
 * 5.3.2. Who is associated with which group of cores, and until when; when to do so at all, and how
 * long to remember (ours). Pure: nobody is moved here.
 *
 *     group 0: all cores, forgotten after 60 s
 *     group 1: some cores, for those seen writing to persistent memory; 200 ms, sticky
 *
 * A sample of a thread, of persistent memory or of something else, first expires all that are due.
 * Then:
 *
 *     of its own group        its expiry is renewed
 *     of the other one        refused while its own is sticky; else it joins that group
 *     of a thread without     it joins the sample's group
 *     expired from group 1    it joins group 0, with a fresh expiry of that
 *     expired from group 0    it is no longer associated
 *
 * Times are milliseconds of any clock that does not go back.
 *
 * Worked (ms, thread): 0 7 other -> 0; 10 7 writes -> 1, until 210; 50 7 other -> refused; 150 7
 * writes -> until 350; 340 7 other -> refused; 349 8 other -> 0; 350 8 other -> 7 expires to 0,
 * until 60350, and 8 is renewed; 60350 -> both are gone.
 */
#ifndef IE_GOVERNOR_CONTROL_NVMM_H
#define IE_GOVERNOR_CONTROL_NVMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONTROL_NVMM_GENERAL, CONTROL_NVMM_WRITERS, CONTROL_NVMM_GROUPS };

struct control_nvmm_config {
    uint64_t expiry_ms[CONTROL_NVMM_GROUPS];
    bool sticky[CONTROL_NVMM_GROUPS];
};

/* 60 s, not sticky; and the expiry in force of the writers, sticky. */
void control_nvmm_defaults(struct control_nvmm_config *config, uint64_t publication_ms);

/* What is told of threads once in so many milliseconds must be remembered longer than that:
 * max(200, 2 publication + 100). Worked: 10 -> 200, 1000 -> 2100. */
uint64_t control_nvmm_expiry_ms(uint64_t publication_ms);

struct control_nvmm_thread {
    int tid;
    int group;
    uint64_t expires_ms;
};

/* The caller's room for 'room' threads, kept in the order of tids. */
struct control_nvmm {
    struct control_nvmm_thread *threads;
    size_t n, room;
};

enum control_nvmm_result {
    CONTROL_NVMM_RENEWED,
    CONTROL_NVMM_JOINED,  /* the sample's group: it is to be moved there */
    CONTROL_NVMM_REFUSED, /* nothing changed */
    CONTROL_NVMM_FULL     /* no room: nothing changed */
};

/*
 * All whose expiry is 'now_ms' or before. 'left' (may be NULL) is called for each, with the group
 * that it is in from now on, or -1: none. Also without samples, by a timer: else the last writer
 * stays.
 */
void control_nvmm_expire(struct control_nvmm *table, const struct control_nvmm_config *config,
                         uint64_t now_ms, void (*left)(void *context, int tid, int group),
                         void *context);

/* After expire with the same time. */
enum control_nvmm_result control_nvmm_associate(struct control_nvmm *table,
                                                const struct control_nvmm_config *config,
                                                uint64_t now_ms, int tid, int group);

/* NULL: not associated. */
const struct control_nvmm_thread *control_nvmm_find(const struct control_nvmm *table, int tid);

/* ---- whether to do it at all ---- */

/* With few writers it does harm (3.4 % up to 8 of them). */
struct control_nvmm_engage_config {
    double engage_writers, release_writers; /* per DIMM: above 8; at most 4 */
    double engage_seconds, release_seconds; /* for 5 s; for 60 s */
};

void control_nvmm_engage_defaults(struct control_nvmm_engage_config *config);

/* Zeroed: not engaged. */
struct control_nvmm_engage {
    bool engaged, counting; /* counting: what would change it has been so since 'since' */
    double since;
};

/* Returns whether to do it. now in seconds. */
bool control_nvmm_engage_step(struct control_nvmm_engage *state,
                              const struct control_nvmm_engage_config *config, double now,
                              double writers_per_dimm);

#endif
