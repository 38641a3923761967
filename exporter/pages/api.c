#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "exporter/pages/internal.h"

static void answer_json(struct http_response *response, json_t *root)
{
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    pages_answer(response, 200, "application/json", "json", text, text ? strlen(text) : 0);
}

/* A fact that is not known is null. */
static json_t *fact(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

static json_t *machine_json(const struct machine *m, double llc_hit_seconds)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i}", "microarchitecture",
                     m->microarchitecture, "base_frequency_hz", fact(m->base_frequency_hz),
                     "cache_cycles", fact(m->cache_cycles), "cache_seconds", fact(m->cache_seconds),
                     "llc_hit_cycles", fact(m->llc_hit_cycles), "llc_hit_seconds",
                     fact(llc_hit_seconds), "cas_latency_seconds", fact(m->cas_latency_seconds),
                     "sockets", m->sockets, "numa_nodes", m->numa_nodes, "cpus", m->cpus);
}

static json_t *collectors_json(const struct pages *pages, const struct pages_status *status)
{
    json_t *list = json_array();
    for (size_t i = 0; i < pages->config.n_collectors; i++) {
        const struct collector_ops *ops = pages->config.collectors[i].ops;
        const struct verdict *verdict = &status->collectors[i].verdict;
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:b, s:s, s:s}", "name", ops->name, "summary", ops->summary,
                            "available", status->collectors[i].available, "reason",
                            reason_name(verdict->reason), "words", verdict->words));
    }
    return list;
}

static json_t *state_json(const struct pages_state *state)
{
    if (!state->file)
        return json_null();
    return json_pack("{s:s, s:s, s:o, s:o}", "file", state->file, "at_start", state->words,
                     "last_write_timestamp_seconds", fact((double)state->saved_wall_ns * 1e-9),
                     "write_error", state->failure[0] ? json_string(state->failure) : json_null());
}

void pages_api_status(void *context, const struct http_request *request,
                      struct http_response *response)
{
    (void)request;
    struct pages_status s;
    uint64_t updated_ns;
    struct pages *pages = context;
    pages_take_status(pages, &s, &updated_ns);
    json_t *tick =
        json_pack("{s:I, s:f, s:f, s:I}", "number", (json_int_t)s.tick.number,
                  "last_timestamp_seconds", (double)s.tick.wall_ns * 1e-9, "interval_seconds",
                  (double)s.tick.interval_ns * 1e-9, "missed", (json_int_t)s.missed_ticks);
    json_t *containers = json_pack("{s:I, s:I, s:I, s:I}", "monitored",
                                   (json_int_t)s.containers[CONTAINERS_MONITORED], "lingering",
                                   (json_int_t)s.containers[CONTAINERS_LINGERING], "excluded",
                                   (json_int_t)s.containers[CONTAINERS_EXCLUDED], "over_limit",
                                   (json_int_t)s.containers[CONTAINERS_OVER_LIMIT]);
    answer_json(response,
                json_pack("{s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o}", "version",
                          pages->config.version, "source", s.source ? s.source : "", "replay_ended",
                          s.replay_ended, "machine", machine_json(&s.machine, s.llc_hit_seconds),
                          "tick", tick, "collectors", collectors_json(pages, &s), "containers",
                          containers, "state", state_json(&s.state)));
}

void pages_refuse(struct http_response *response)
{
    pages_answer_text(response, 403,
                      "this document names containers and processes: ask from the exporter's own "
                      "machine or pod (kubectl port-forward), or with a password or certificate of "
                      "--web.config.file, or start it with --web.api\n");
}

struct collector_document {
    const struct pages_collector *collector;
    const char *source;
};

static int render_document(void *context, struct textbuf *out)
{
    const struct collector_document *document = context;
    const struct pages_collector *collector = document->collector;
    return collector->ops->page->render(collector->self, document->source, out);
}

void pages_api_collector(void *context, const struct http_request *request,
                         struct http_response *response)
{
    struct pages *pages = context;
    struct pages_status status;
    uint64_t updated_ns;
    if (!pages_may_read(pages, request)) {
        pages_refuse(response);
        return;
    }
    pages_take_status(pages, &status, &updated_ns);
    for (size_t i = 0; i < pages->config.n_collectors; i++) {
        const struct collector_page *page = pages->config.collectors[i].ops->page;
        if (!page || strcmp(page->path, request->path) != 0)
            continue;
        struct collector_document document = {&pages->config.collectors[i],
                                              status.source ? status.source : ""};
        struct rendered_page *rendered;
        if (page_cache_get(&pages->documents[i], updated_ns, render_document, &document, &rendered))
            pages_answer_text(response, 500, "the document could not be generated\n");
        else
            pages_answer_page(response, rendered, "application/json", "json", false);
    }
}
