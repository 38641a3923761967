#include "exporter/governor/decide/control/control_nvmm.h"

#include <math.h>
#include <string.h>

void control_nvmm_defaults(struct control_nvmm_config *config, uint64_t publication_ms)
{
    *config = (struct control_nvmm_config){
        .expiry_ms = {60000, control_nvmm_expiry_ms(publication_ms)},
        .sticky = {false, true},
    };
}

uint64_t control_nvmm_expiry_ms(uint64_t publication_ms)
{
    uint64_t seen_twice = 2 * publication_ms + 100;
    return seen_twice > 200 ? seen_twice : 200;
}

/* ---- the table ---- */

/* Of the first thread that is not below this one. */
static size_t position_of(const struct control_nvmm *table, int tid)
{
    size_t from = 0, to = table->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (table->threads[middle].tid < tid)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static struct control_nvmm_thread *find(const struct control_nvmm *table, int tid)
{
    size_t i = position_of(table, tid);
    return i < table->n && table->threads[i].tid == tid ? &table->threads[i] : NULL;
}

const struct control_nvmm_thread *control_nvmm_find(const struct control_nvmm *table, int tid)
{
    return find(table, tid);
}

static void put(struct control_nvmm *table, int tid, int group, uint64_t expires_ms)
{
    size_t i = position_of(table, tid);
    struct control_nvmm_thread *at = &table->threads[i];
    memmove(at + 1, at, (table->n - i) * sizeof *at);
    *at = (struct control_nvmm_thread){.tid = tid, .group = group, .expires_ms = expires_ms};
    table->n++;
}

/* ---- samples ---- */

void control_nvmm_expire(struct control_nvmm *table, const struct control_nvmm_config *config,
                         uint64_t now_ms, void (*left)(void *context, int tid, int group),
                         void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < table->n; i++) {
        struct control_nvmm_thread thread = table->threads[i];
        bool due = now_ms >= thread.expires_ms;
        int group = thread.group;
        if (due) {
            group = thread.group == CONTROL_NVMM_WRITERS ? CONTROL_NVMM_GENERAL : -1;
            thread.expires_ms = now_ms + config->expiry_ms[CONTROL_NVMM_GENERAL];
        }
        thread.group = group;
        if (group >= 0)
            table->threads[kept++] = thread;
        if (due && left)
            left(context, thread.tid, group);
    }
    table->n = kept;
}

enum control_nvmm_result control_nvmm_associate(struct control_nvmm *table,
                                                const struct control_nvmm_config *config,
                                                uint64_t now_ms, int tid, int group)
{
    struct control_nvmm_thread *thread = find(table, tid);
    uint64_t expires_ms = now_ms + config->expiry_ms[group];
    if (!thread) {
        if (table->n == table->room)
            return CONTROL_NVMM_FULL;
        put(table, tid, group, expires_ms);
        return CONTROL_NVMM_JOINED;
    }
    bool same = thread->group == group;
    if (!same && config->sticky[thread->group])
        return CONTROL_NVMM_REFUSED;
    thread->group = group;
    thread->expires_ms = expires_ms;
    return same ? CONTROL_NVMM_RENEWED : CONTROL_NVMM_JOINED;
}

/* ---- whether to do it at all ---- */

void control_nvmm_engage_defaults(struct control_nvmm_engage_config *config)
{
    *config = (struct control_nvmm_engage_config){
        .engage_writers = 8,
        .release_writers = 4,
        .engage_seconds = 5,
        .release_seconds = 60,
    };
}

bool control_nvmm_engage_step(struct control_nvmm_engage *state,
                              const struct control_nvmm_engage_config *config, double now,
                              double writers_per_dimm)
{
    bool wanted = state->engaged ? writers_per_dimm <= config->release_writers
                                 : writers_per_dimm > config->engage_writers;
    if (!wanted) {
        state->counting = false;
        return state->engaged;
    }
    if (!state->counting) {
        state->counting = true;
        state->since = now;
    }
    double needed = state->engaged ? config->release_seconds : config->engage_seconds;
    if (now - state->since >= needed) {
        state->engaged = !state->engaged;
        state->counting = false;
    }
    return state->engaged;
}
