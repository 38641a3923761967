#include "exporter/pages/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/clock.h"
#include "exporter/pages/assets.h"
#include "exporter/pages/internal.h"

static void add_routes(struct pages *pages)
{
    const struct http_route own[PAGES_OWN_ROUTES] = {
        {.path = pages->config.telemetry_path,
         .handler = "metrics",
         .handle = pages_metrics,
         .limited = true},
        {.path = "/", .handler = "landing", .handle = pages_landing, .limited = true},
        {.path = "/live.js", .handler = "landing", .handle = pages_live_script},
        {.path = "/live.css", .handler = "landing", .handle = pages_live_style},
        {.path = "/-/healthy", .handler = "healthy", .handle = pages_healthy},
        {.path = "/-/ready", .handler = "ready", .handle = pages_ready},
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
                                                                   .handle = pages_api_collector,
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
