#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/clock.h"
#include "exporter/pages/internal.h"

static bool known_collector(const struct pages *pages, const char *name)
{
    for (size_t i = 0; i < pages->config.n_collectors; i++)
        if (strcmp(pages->config.collectors[i].ops->name, name) == 0)
            return true;
    return false;
}

static void answer_metrics(void *context, const struct http_request *request,
                           struct http_response *response)
{
    struct pages *pages = context;
    const char *owners[COLLECTORS_MAX];
    size_t n = request->query(request, "collect[]", owners, COLLECTORS_MAX);
    if (n > COLLECTORS_MAX) {
        pages_answer_text(response, 400, "too many collect[] arguments\n");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!known_collector(pages, owners[i])) {
            pages_answer_text(
                response, 400,
                "collect[] names an unknown collector; /api/v1/status lists the known ones\n");
            return;
        }
    }
    enum expose_format format = expose_negotiate(request->accept);
    bool gzip = expose_accepts_gzip(request->accept_encoding);
    struct rendered_page *page;
    int err = n > 0 ? expose_selection(pages->config.expose, format, &gzip, owners, n, &page)
                    : expose_page(pages->config.expose, format, gzip, &page);
    if (err == -ENODATA)
        pages_answer_text(response, 503, "nothing has been published yet\n");
    else if (err)
        pages_answer_text(response, 500, "the page could not be generated\n");
    else
        pages_answer_page(response, page, expose_content_type(format), expose_format_name(format),
                          gzip);
}

static void answer_healthy(void *context, const struct http_request *request,
                           struct http_response *response)
{
    (void)request;
    struct pages_status status;
    uint64_t updated_ns;
    pages_take_status(context, &status, &updated_ns);
    uint64_t limit = status.tick.interval_ns * PAGES_UNHEALTHY_INTERVALS;
    if (!status.replay_ended && clock_mono_ns() - updated_ns >= limit)
        pages_answer_text(response, 503, "the last tick is 10 intervals old\n");
    else
        pages_answer_text(response, 200, "healthy\n");
}

static void answer_ready(void *context, const struct http_request *request,
                         struct http_response *response)
{
    (void)request;
    struct pages *pages = context;
    struct snapshot *snapshot = store_acquire(pages->config.store);
    if (snapshot)
        pages_answer_text(response, 200, "ready\n");
    else
        pages_answer_text(response, 503, "nothing has been published yet\n");
    snapshot_release(snapshot);
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

static void answer_api_collector(void *context, const struct http_request *request,
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

static void add_routes(struct pages *pages)
{
    const struct http_route own[PAGES_OWN_ROUTES] = {
        {.path = pages->config.telemetry_path,
         .handler = "metrics",
         .handle = answer_metrics,
         .limited = true},
        {.path = "/", .handler = "landing", .handle = pages_landing, .limited = true},
        {.path = "/live.js", .handler = "landing", .handle = pages_live_script},
        {.path = "/live.css", .handler = "landing", .handle = pages_live_style},
        {.path = "/-/healthy", .handler = "healthy", .handle = answer_healthy},
        {.path = "/-/ready", .handler = "ready", .handle = answer_ready},
        {.path = "/api/v1/status",
         .handler = "status",
         .handle = pages_api_status,
         .limited = true},
        {.path = "/api/v1/containers",
         .handler = "containers",
         .handle = pages_api_containers,
         .limited = true},
    };
    memcpy(pages->routes, own, sizeof own);
    pages->n_routes = PAGES_OWN_ROUTES;
    for (int post = 0; post < PAGES_BLACKBOX_ROUTES && pages->config.blackbox; post++)
        pages->routes[pages->n_routes++] = (struct http_route){.path = "/api/v1/blackbox",
                                                               .handler = "blackbox",
                                                               .handle = pages_api_blackbox,
                                                               .limited = true,
                                                               .post = post == 1};
    for (size_t i = 0; i < pages->config.n_collectors; i++) {
        const struct collector_page *page = pages->collectors[i].ops->page;
        if (page)
            pages->routes[pages->n_routes++] = (struct http_route){.path = page->path,
                                                                   .handler = page->handler,
                                                                   .handle = answer_api_collector,
                                                                   .limited = true};
    }
}

/* Who may not read the documents may not read those of before either. */
static void answer_shown(void *context, const struct http_request *request,
                         struct http_response *response)
{
    struct pages *pages = context;
    if (pages_may_read(pages, request) && reel_answer(pages->reel, request, response))
        return;
    for (size_t i = 0; i < pages->n_routes; i++) {
        if (strcmp(pages->routes[i].path, request->path) != 0 ||
            pages->routes[i].post != request->post)
            continue;
        pages->routes[i].handle(context, request, response);
        return;
    }
}

static int show_reel(struct pages *pages)
{
    memcpy(pages->shown, pages->routes, sizeof pages->shown);
    for (size_t i = 0; i < pages->n_routes; i++)
        pages->shown[i].handle = answer_shown;
    return reel_new(pages->routes, pages->n_routes, pages, pages->config.note, &pages->reel);
}

int pages_new(const struct pages_config *config, struct pages **out)
{
    struct pages *pages = calloc(1, sizeof *pages);
    if (!pages)
        return -ENOMEM;
    pages->config = *config;
    for (size_t i = 0; i < config->n_collectors; i++)
        pages->collectors[i] = config->collectors[i];
    pages->config.collectors = pages->collectors;
    add_routes(pages);
    pages->updated_ns = clock_mono_ns();
    pthread_mutex_init(&pages->lock, NULL);
    for (size_t i = 0; i < COLLECTORS_MAX; i++)
        page_cache_init(&pages->documents[i]);
    page_cache_init(&pages->containers);
    page_cache_init(&pages->status_document);
    for (size_t i = 0; i < 2; i++)
        page_cache_init(&pages->landing[i]);
    if (config->keeps && show_reel(pages) != 0) {
        pages_free(pages);
        return -ENOMEM;
    }
    *out = pages;
    return 0;
}

void pages_update(struct pages *pages, const struct pages_status *status, uint64_t now_ns)
{
    pthread_mutex_lock(&pages->lock);
    pages->status = *status;
    pages->updated_ns = now_ns;
    pthread_mutex_unlock(&pages->lock);
}

int pages_keep(struct pages *pages, uint64_t wall_ns, const char *mark)
{
    return pages->reel ? reel_keep(pages->reel, wall_ns, mark) : 0;
}

void pages_free(struct pages *pages)
{
    if (!pages)
        return;
    pthread_mutex_destroy(&pages->lock);
    for (size_t i = 0; i < COLLECTORS_MAX; i++)
        page_cache_release(&pages->documents[i]);
    page_cache_release(&pages->containers);
    page_cache_release(&pages->status_document);
    for (size_t i = 0; i < 2; i++)
        page_cache_release(&pages->landing[i]);
    reel_free(pages->reel);
    free(pages);
}

int pages_report(struct pages *pages, struct textbuf *out)
{
    const struct reel_style style = {asset_live_css, asset_live_css_len};
    return pages->reel ? reel_report(pages->reel, &style, out) : -ENODATA;
}

const struct http_route *pages_routes(const struct pages *pages, size_t *n)
{
    *n = pages->n_routes;
    return pages->reel ? pages->shown : pages->routes;
}
