/* /api/v1/status: what this exporter and its machine are, what works, and what was left out. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/pages/internal.h"

struct document {
    const struct pages *pages;
    struct pages_status status;
    uint64_t updated_ns;
    struct live_view view; /* empty before the first tick */
};

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* A fact that is not known is null. */
static json_t *fact(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

static json_t *seconds_of(uint64_t ns)
{
    return fact((double)ns * 1e-9);
}

static json_t *word(const char *text)
{
    return text && text[0] ? json_string(text) : json_null();
}

static json_t *count(uint64_t n)
{
    return json_integer((json_int_t)n);
}

/* ---- the machine ---- */

static json_t *distances_json(const struct machine *m, int from)
{
    json_t *object = json_object();
    for (int to = 0; to < MACHINE_NODES; to++) {
        char name[12];
        snprintf(name, sizeof name, "%d", to);
        if (m->numa_distance[from][to] > 0)
            json_object_set_new(object, name, json_integer(m->numa_distance[from][to]));
    }
    return object;
}

/* Null where they are not known, as of a recording. */
static json_t *nodes_json(const struct machine *m)
{
    json_t *list = m->online_nodes ? json_array() : json_null();
    for (int node = 0; node < MACHINE_NODES; node++) {
        int cpus = 0;
        if (!machine_has_node(m, node))
            continue;
        for (int cpu = 0; cpu < MACHINE_CPUS; cpu++)
            cpus += machine_numa_node_of(m, cpu) == node;
        json_array_append_new(list, json_pack("{s:i, s:i, s:o}", "numa_node", node, "cpus", cpus,
                                              "distances", distances_json(m, node)));
    }
    return list;
}

static json_t *machine_json(const struct machine *m, double llc_hit_seconds)
{
    return json_pack(
        "{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:o}", "cpu_model",
        word(m->cpu_model), "microarchitecture", m->microarchitecture, "base_frequency_hz",
        fact(m->base_frequency_hz), "cache_cycles", fact(m->cache_cycles), "cache_seconds",
        fact(m->cache_seconds), "llc_hit_cycles", fact(m->llc_hit_cycles), "llc_hit_seconds",
        fact(llc_hit_seconds), "cas_latency_seconds", fact(m->cas_latency_seconds), "sockets",
        m->sockets, "numa_nodes", m->numa_nodes, "cpus", m->cpus, "nodes", nodes_json(m));
}

/* As the probe measured them; of a node's own memory, also what is usual. */
static json_t *latencies_json(const struct live_view *view)
{
    json_t *list = json_array();
    for (size_t i = 0; i < view->n_paths; i++) {
        const struct live_path *path = &view->paths[i];
        double usual = NAN;
        for (size_t d = 0; d < view->n_domains; d++)
            if (path->initiator == path->target && view->domains[d].numa_node == path->target)
                usual = view->domains[d].usual_seconds;
        json_array_append_new(list, json_pack("{s:i, s:i, s:o, s:o}", "initiator_numa_node",
                                              path->initiator, "target_numa_node", path->target,
                                              "latency_seconds", number(path->latency_seconds),
                                              "usual_latency_seconds", number(usual)));
    }
    return list;
}

/* ---- collectors ---- */

/* What never happened is left out. */
static json_t *discarded_json(const uint64_t n[DISCARD_COUNT])
{
    json_t *object = json_object();
    for (int i = 0; i < DISCARD_COUNT; i++)
        if (n[i] > 0)
            json_object_set_new(object, discard_name((enum discard_reason)i), count(n[i]));
    return object;
}

static json_t *failures_json(const uint64_t n[REASON_COUNT])
{
    json_t *object = json_object();
    for (int i = 0; i < REASON_COUNT; i++)
        if (n[i] > 0)
            json_object_set_new(object, reason_name((enum reason)i), count(n[i]));
    return object;
}

static json_t *collectors_json(const struct pages *pages, const struct pages_status *status)
{
    json_t *list = json_array();
    for (size_t i = 0; i < pages->config.n_collectors; i++) {
        const struct collector_ops *ops = pages->config.collectors[i].ops;
        const struct verdict *verdict = &status->collectors[i].verdict;
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:b, s:s, s:s, s:o, s:o, s:o}", "name", ops->name, "summary",
                      ops->summary, "available", status->collectors[i].available, "reason",
                      reason_name(verdict->reason), "words", verdict->words,
                      "since_timestamp_seconds", seconds_of(status->collectors[i].since_wall_ns),
                      "windows_discarded", discarded_json(status->collectors[i].discarded),
                      "open_failures", failures_json(status->collectors[i].open_failures)));
    }
    return list;
}

/* ---- containers ---- */

static void add_one(json_t *object, const char *name, size_t n)
{
    json_int_t before = json_integer_value(json_object_get(object, name));
    if (n > 0)
        json_object_set_new(object, name, json_integer(before + (json_int_t)n));
}

/* Of how many it is known what is normal, and from what; of how many it is not, and why. The view
 * may be a tick ahead of the counts, or behind. */
static json_t *normals_json(const struct pages_status *s, const struct live_view *view)
{
    json_t *known = json_object(), *unknown = json_object();
    size_t monitored = s->containers[CONTAINERS_MONITORED];
    for (size_t i = 0; i < view->n; i++) {
        const struct live_container *c = &view->containers[i];
        if (c->normal_basis)
            add_one(known, c->normal_basis, 1);
        else
            add_one(unknown, c->why_no_normal ? c->why_no_normal : "not_estimated", 1);
    }
    add_one(unknown, "unnamed", monitored > view->n ? monitored - view->n : 0);
    add_one(unknown, "ended", s->containers[CONTAINERS_LINGERING]);
    add_one(unknown, "excluded", s->containers[CONTAINERS_EXCLUDED]);
    add_one(unknown, "over_limit", s->containers[CONTAINERS_OVER_LIMIT]);
    return json_pack("{s:o, s:o}", "known_from", known, "unknown_because", unknown);
}

static json_t *containers_json(const struct pages_status *s, const struct live_view *view)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "monitored",
                     count(s->containers[CONTAINERS_MONITORED]), "lingering",
                     count(s->containers[CONTAINERS_LINGERING]), "excluded",
                     count(s->containers[CONTAINERS_EXCLUDED]), "over_limit",
                     count(s->containers[CONTAINERS_OVER_LIMIT]), "normals", normals_json(s, view));
}

/* Since the start. */
static json_t *left_out_json(const struct pages_status *s)
{
    json_t *cgroups = json_object(), *lines = json_object();
    for (int i = 0; i < CGROUP_REFUSALS; i++)
        json_object_set_new(cgroups, cgroup_refusal_name((enum cgroup_refusal)i),
                            count(s->refused[i]));
    for (int i = 0; i < LOG_DROPS; i++)
        json_object_set_new(lines, log_drop_name((enum log_drop)i), count(s->log_dropped[i]));
    return json_pack("{s:o, s:o, s:o}", "cgroups_refused", cgroups, "log_lines_dropped", lines,
                     "intervals_unread", count(s->unread));
}

/* ---- the document ---- */

static json_t *tick_json(const struct pages_status *s)
{
    return json_pack("{s:o, s:f, s:f, s:o}", "number", count(s->tick.number),
                     "last_timestamp_seconds", (double)s->tick.wall_ns * 1e-9, "interval_seconds",
                     (double)s->tick.interval_ns * 1e-9, "missed", count(s->missed_ticks));
}

static json_t *state_json(const struct pages_state *state)
{
    if (!state->file)
        return json_null();
    return json_pack("{s:s, s:s, s:o, s:o}", "file", state->file, "at_start", state->words,
                     "last_write_timestamp_seconds", seconds_of(state->saved_wall_ns),
                     "write_error", word(state->failure));
}

static json_t *whole_json(const struct document *document)
{
    const struct pages_config *config = &document->pages->config;
    const struct pages_status *s = &document->status;
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:f, s:s, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version",
        config->version, "revision", word(config->revision), "compiler", word(config->compiler),
        "started_timestamp_seconds", seconds_of(config->started_wall_ns), "uptime_seconds",
        pages_uptime_seconds(document->pages, document->updated_ns), "source",
        s->source ? s->source : "", "source_why", word(s->source_why), "replay_ended",
        s->replay_ended, "machine", machine_json(&s->machine, s->llc_hit_seconds),
        "memory_latencies", latencies_json(&document->view), "tick", tick_json(s), "collectors",
        collectors_json(document->pages, s), "containers", containers_json(s, &document->view),
        "left_out", left_out_json(s), "state", state_json(&s->state));
}

static int render(void *context, struct textbuf *out)
{
    struct document *document = context;
    struct live *live = document->pages->config.live;
    int err = live ? live_copy(live, &document->view) : -ENODATA;
    if (err && err != -ENODATA)
        return err;
    json_t *root = whole_json(document);
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    live_view_release(&document->view);
    if (!text)
        return -ENOMEM;
    textbuf_str(out, text);
    free(text);
    return 0;
}

void pages_api_status(void *context, const struct http_request *request,
                      struct http_response *response)
{
    (void)request;
    struct pages *pages = context;
    struct document document = {.pages = pages};
    struct rendered_page *page;
    pages_take_status(pages, &document.status, &document.updated_ns);
    if (page_cache_get(&pages->status_document, document.updated_ns, render, &document, &page) != 0)
        pages_answer_text(response, 500, "the document could not be generated\n");
    else
        pages_answer_page(response, page, "application/json", "json", false);
}
