#include "exporter/pages/pages.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/clock.h"
#include "exporter/pages/nvmm.h"

enum { PAGES_ROUTES = 7 };

struct pages {
    struct pages_config config;
    struct http_route routes[PAGES_ROUTES];
    pthread_mutex_t lock; /* guards the two below */
    struct status status;
    uint64_t updated_ns;
};

static void free_bytes(void *context)
{
    free(context);
}

/* Takes over bytes from malloc (NULL: out of memory). */
static void answer(struct http_response *response, int status, const char *type, const char *format,
                   char *bytes, size_t len)
{
    if (!bytes) {
        *response = (struct http_response){.status = 500,
                                           .content_type = "text/plain; charset=utf-8",
                                           .bytes = "",
                                           .format = "text"};
        return;
    }
    *response = (struct http_response){
        .status = status,
        .content_type = type,
        .bytes = bytes,
        .len = len,
        .release = free_bytes,
        .release_context = bytes,
        .format = format,
    };
}

static void answer_text(struct http_response *response, int status, const char *text)
{
    answer(response, status, "text/plain; charset=utf-8", "text", strdup(text), strlen(text));
}

static void take_status(struct pages *pages, struct status *status, uint64_t *updated_ns)
{
    pthread_mutex_lock(&pages->lock);
    *status = pages->status;
    *updated_ns = pages->updated_ns;
    pthread_mutex_unlock(&pages->lock);
}

/* ---- /metrics ---- */

static void release_page(void *context)
{
    page_unref(context);
}

static void answer_page(struct http_response *response, struct page *page, const char *type,
                        const char *format, bool gzip)
{
    size_t len;
    const void *bytes = page_bytes(page, &len);
    *response = (struct http_response){
        .status = 200,
        .content_type = type,
        .content_encoding = gzip ? "gzip" : NULL,
        .bytes = bytes,
        .len = len,
        .release = release_page,
        .release_context = page,
        .format = format,
    };
}

static bool known_collector(const struct pages *pages, const char *name)
{
    for (size_t i = 0; i < pages->config.n_collector_names; i++)
        if (strcmp(pages->config.collector_names[i], name) == 0)
            return true;
    return false;
}

static void metrics(void *context, const struct http_request *request,
                    struct http_response *response)
{
    struct pages *pages = context;
    const char *owners[COLLECTORS_MAX];
    size_t n = request->query(request, "collect[]", owners, COLLECTORS_MAX);
    if (n > COLLECTORS_MAX) {
        answer_text(response, 400, "too many collect[] arguments\n");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!known_collector(pages, owners[i])) {
            answer_text(response, 400,
                        "collect[] names no collector of this exporter; /api/v1/status lists "
                        "them\n");
            return;
        }
    }
    enum expose_format format = expose_negotiate(request->accept);
    bool gzip = expose_accepts_gzip(request->accept_encoding);
    struct page *page;
    int err = expose_page(pages->config.expose, format, gzip, owners, n, &page);
    if (err == -ENODATA)
        answer_text(response, 503, "nothing was published yet\n");
    else if (err)
        answer_text(response, 500, "the page could not be made\n");
    else
        answer_page(response, page, expose_content_type(format), expose_format_name(format), gzip);
}

/* ---- health ---- */

static void healthy(void *context, const struct http_request *request,
                    struct http_response *response)
{
    (void)request;
    struct status status;
    uint64_t updated_ns;
    take_status(context, &status, &updated_ns);
    uint64_t limit = status.tick.interval_ns * PAGES_UNHEALTHY_INTERVALS;
    if (!status.replay_ended && clock_mono_ns() - updated_ns >= limit)
        answer_text(response, 503, "the last tick is 10 intervals old\n");
    else
        answer_text(response, 200, "healthy\n");
}

static void ready(void *context, const struct http_request *request, struct http_response *response)
{
    (void)request;
    struct pages *pages = context;
    struct snapshot *snapshot = store_acquire(pages->config.store);
    if (snapshot)
        answer_text(response, 200, "ready\n");
    else
        answer_text(response, 503, "nothing was published yet\n");
    snapshot_release(snapshot);
}

/* ---- the API ---- */

static void answer_json(struct http_response *response, json_t *root)
{
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    answer(response, 200, "application/json", "json", text, text ? strlen(text) : 0);
}

/* A fact that is not known is null. */
static json_t *fact(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

static json_t *machine_json(const struct machine *m, double llc_hit_seconds)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i}", "microarchitecture",
                     m->microarchitecture, "base_frequency_hz", fact(m->base_frequency_hz),
                     "cache_cycles", fact(m->cache_cycles), "llc_hit_cycles",
                     fact(m->llc_hit_cycles), "llc_hit_seconds", fact(llc_hit_seconds),
                     "cas_latency_seconds", fact(m->cas_latency_seconds), "sockets", m->sockets,
                     "numa_nodes", m->numa_nodes, "cpus", m->cpus);
}

static json_t *collectors_json(const struct status *status)
{
    json_t *list = json_array();
    for (size_t i = 0; i < status->n_collectors; i++) {
        const struct verdict *verdict = &status->collectors[i].verdict;
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:b, s:s, s:s}", "name", status->collectors[i].name, "summary",
                      status->collectors[i].summary, "available", status->collectors[i].available,
                      "reason", reason_name(verdict->reason), "words", verdict->words));
    }
    return list;
}

static void api_status(void *context, const struct http_request *request,
                       struct http_response *response)
{
    (void)request;
    struct status s;
    uint64_t updated_ns;
    take_status(context, &s, &updated_ns);
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
                json_pack("{s:s, s:s, s:b, s:o, s:o, s:o, s:o}", "version", IE_VERSION, "source",
                          s.source ? s.source : "", "replay_ended", s.replay_ended, "machine",
                          machine_json(&s.machine, s.llc_hit_seconds), "tick", tick, "collectors",
                          collectors_json(&s), "containers", containers));
}

static void api_containers(void *context, const struct http_request *request,
                           struct http_response *response)
{
    (void)request;
    struct pages *pages = context;
    struct snapshot *snapshot = store_acquire(pages->config.store);
    struct page *page;
    if (!snapshot)
        answer_text(response, 503, "nothing was published yet\n");
    else if (expose_containers_json(snapshot, &page) != 0)
        answer_text(response, 500, "the document could not be made\n");
    else
        answer_page(response, page, "application/json", "json", false);
    snapshot_release(snapshot);
}

static void api_nvmm(void *context, const struct http_request *request,
                     struct http_response *response)
{
    (void)request;
    struct pages *pages = context;
    struct nvmm_board_list *list =
        pages->config.nvmm_board ? nvmm_board_copy(pages->config.nvmm_board) : NULL;
    struct status status;
    uint64_t updated_ns;
    take_status(pages, &status, &updated_ns);
    answer_json(response, pages_nvmm_json(list, status.source ? status.source : ""));
    free(list);
}

/* ---- the landing page ---- */

static void html_text(struct textbuf *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            textbuf_str(out, "&lt;");
            break;
        case '>':
            textbuf_str(out, "&gt;");
            break;
        case '&':
            textbuf_str(out, "&amp;");
            break;
        case '"':
            textbuf_str(out, "&quot;");
            break;
        default:
            textbuf_char(out, *text);
        }
    }
}

static void landing_collectors(struct textbuf *out, const struct status *status)
{
    textbuf_str(out, "<h2>Collectors</h2>\n<table>\n");
    for (size_t i = 0; i < status->n_collectors; i++) {
        const struct verdict *verdict = &status->collectors[i].verdict;
        textbuf_str(out, "<tr><th>");
        html_text(out, status->collectors[i].name);
        textbuf_printf(out, "</th><td class=\"%s\">%s</td><td>",
                       status->collectors[i].available ? "ok" : "off",
                       status->collectors[i].available ? "running" : reason_name(verdict->reason));
        html_text(out, verdict->words[0] ? verdict->words : status->collectors[i].summary);
        textbuf_str(out, "</td></tr>\n");
    }
    textbuf_str(out, "</table>\n");
}

static void landing(void *context, const struct http_request *request,
                    struct http_response *response)
{
    (void)request;
    struct pages *pages = context;
    struct status status;
    uint64_t updated_ns;
    take_status(pages, &status, &updated_ns);
    struct textbuf out;
    textbuf_init(&out);
    textbuf_str(&out,
                "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                "<title>interference_exporter</title>\n<style>body{font:16px/1.5 sans-serif;"
                "max-width:60em;margin:2em auto;padding:0 1em;color:#222}table{border-collapse:"
                "collapse}th,td{text-align:left;padding:.3em 1em .3em 0;vertical-align:top}"
                ".ok{color:#176b34}.off{color:#8a5a00}.replay{background:#fff3cd;padding:.5em 1em}"
                "</style></head><body>\n<h1>interference_exporter " IE_VERSION "</h1>\n"
                "<p>Which container waits for memory, for how long, and who makes it wait.</p>\n");
    if (status.source && strcmp(status.source, "replay") == 0)
        textbuf_str(&out, "<p class=\"replay\"><strong>This is a replay of a recording.</strong> "
                          "Nothing on these pages is measured on this machine.</p>\n");
    textbuf_str(&out, "<ul><li><a href=\"");
    html_text(&out, pages->config.telemetry_path);
    textbuf_str(&out,
                "\">Metrics</a></li><li><a href=\"/api/v1/containers\">Containers</a> (JSON)"
                "</li><li><a href=\"/api/v1/nvmm\">Persistent memory by process and thread</a> "
                "(JSON)</li><li><a href=\"/api/v1/status\">Status</a> (JSON)</li>"
                "<li><a href=\"/-/healthy\">Health</a>, <a href=\"/-/ready\">readiness</a></li>"
                "</ul>\n");
    landing_collectors(&out, &status);
    textbuf_printf(&out,
                   "<p>Containers: %zu monitored, %zu lingering, %zu excluded, %zu over the "
                   "limit.</p>\n</body></html>\n",
                   status.containers[CONTAINERS_MONITORED], status.containers[CONTAINERS_LINGERING],
                   status.containers[CONTAINERS_EXCLUDED],
                   status.containers[CONTAINERS_OVER_LIMIT]);
    if (textbuf_finish(&out) != 0) {
        textbuf_release(&out);
        answer(response, 500, NULL, NULL, NULL, 0);
        return;
    }
    answer(response, 200, "text/html; charset=utf-8", "html", out.data, out.len);
}

/* ---- life ---- */

int pages_new(const struct pages_config *config, struct pages **out)
{
    struct pages *pages = calloc(1, sizeof *pages);
    if (!pages)
        return -ENOMEM;
    pages->config = *config;
    const struct http_route routes[PAGES_ROUTES] = {
        {.path = config->telemetry_path, .handler = "metrics", .handle = metrics, .limited = true},
        {.path = "/", .handler = "landing", .handle = landing},
        {.path = "/-/healthy", .handler = "healthy", .handle = healthy},
        {.path = "/-/ready", .handler = "ready", .handle = ready},
        {.path = "/api/v1/status", .handler = "status", .handle = api_status, .limited = true},
        {.path = "/api/v1/containers",
         .handler = "containers",
         .handle = api_containers,
         .limited = true},
        {.path = "/api/v1/nvmm", .handler = "nvmm", .handle = api_nvmm, .limited = true},
    };
    memcpy(pages->routes, routes, sizeof routes);
    pages->updated_ns = clock_mono_ns();
    pthread_mutex_init(&pages->lock, NULL);
    *out = pages;
    return 0;
}

void pages_free(struct pages *pages)
{
    if (!pages)
        return;
    pthread_mutex_destroy(&pages->lock);
    free(pages);
}

void pages_update(struct pages *pages, const struct status *status, uint64_t now_ns)
{
    pthread_mutex_lock(&pages->lock);
    pages->status = *status;
    pages->updated_ns = now_ns;
    pthread_mutex_unlock(&pages->lock);
}

const struct http_route *pages_routes(const struct pages *pages, size_t *n)
{
    *n = PAGES_ROUTES;
    return pages->routes;
}
