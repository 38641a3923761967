/* What outlives a restart. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/live/internal.h"

/* Once, before the first tick; what is wrong in it is as if it were not there. */
static void walk_domains(struct live *live, struct state_fields *fields)
{
    uint32_t n = (uint32_t)live->n_domains;
    state_u32(fields, &n, LIVE_DOMAINS);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t numa_node = state_reading(fields) ? 0 : (uint32_t)live->domains[i]->numa_node;
        state_u32(fields, &numa_node, INT32_MAX);
        struct domain_history *domain = live_domain_of(live, (int)numa_node);
        if (!domain)
            return;
        state_u64(fields, &domain->second, fields->mono_ns / 1000000000);
        for (int k = 0; k < LIVE_HISTORY; k++) {
            float seconds = isnan(domain->ring[k]) ? 0 : domain->ring[k];
            state_float(fields, &seconds, 0, 1);
            domain->ring[k] = seconds > 0 ? seconds : NAN;
        }
    }
}

static void walk_wait(struct kept_wait *wait, struct state_fields *fields)
{
    state_bytes(fields, wait->id, sizeof wait->id);
    state_check(fields, wait->id[sizeof wait->id - 1] == '\0');
    state_u64(fields, &wait->cgroup_id, UINT64_MAX);
    state_u64(fields, &wait->since_mono_ns, fields->mono_ns);
}

/* Of what is shown, which only the loop's thread writes. */
static void save_waits(const struct live *live, struct state_fields *fields)
{
    uint32_t n = 0;
    for (size_t i = 0; i < live->shown.n; i++)
        n += live->shown.containers[i].waits;
    state_u32(fields, &n, UINT32_MAX);
    for (size_t i = 0; i < live->shown.n; i++) {
        const struct live_container *c = &live->shown.containers[i];
        struct kept_wait wait = {.cgroup_id = c->cgroup_id,
                                 .since_mono_ns = c->waits_since_mono_ns};
        memcpy(wait.id, c->id, sizeof wait.id);
        if (c->waits)
            walk_wait(&wait, fields);
    }
}

static void restore_waits(struct live *live, struct state_fields *fields)
{
    uint32_t n = 0;
    state_u32(fields, &n, (uint32_t)(fields->size / sizeof(struct kept_wait) + 1));
    live->kept = calloc(n + 1, sizeof *live->kept);
    live->kept_mono_ns = fields->mono_ns;
    for (uint32_t i = 0; i < n && live->kept && !fields->failed; i++)
        walk_wait(&live->kept[live->n_kept++], fields);
}

void live_save(struct live *live, struct state_writer *out)
{
    if (!live)
        return;
    state_entry_begin(out, "live", "");
    walk_domains(live, &out->fields);
    save_waits(live, &out->fields);
    state_entry_end(out);
}

void live_restore(struct live *live, struct state *state)
{
    struct state_fields fields;
    if (!live || !state_claim(state, "live", "", &fields))
        return;
    walk_domains(live, &fields);
    restore_waits(live, &fields);
    if (state_fits(&fields))
        return;
    free(live->kept);
    live->kept = NULL;
    live->n_kept = 0;
    while (live->n_domains > 0)
        free(live->domains[--live->n_domains]);
}
