#include "exporter/pages/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/clock.h"
#include "exporter/pages/internal.h"

/* ---- answers ---- */

static void free_bytes(void *context)
{
    free(context);
}

/* Takes over bytes from malloc (NULL: out of memory). */
void pages_answer(struct http_response *response, int status, const char *type, const char *format,
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

void pages_answer_text(struct http_response *response, int status, const char *text)
{
    pages_answer(response, status, "text/plain; charset=utf-8", "text", strdup(text), strlen(text));
}

void pages_answer_textbuf(struct http_response *response, const char *type, const char *format,
                          struct textbuf *text)
{
    if (textbuf_finish(text) != 0) {
        textbuf_release(text);
        pages_answer(response, 500, NULL, NULL, NULL, 0);
        return;
    }
    pages_answer(response, 200, type, format, text->data, text->len);
}

static void release_page(void *context)
{
    page_unref(context);
}

void pages_answer_page(struct http_response *response, struct rendered_page *page, const char *type,
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

/* ---- life ---- */

static void add_routes(struct pages *pages)
{
    const struct http_route own[PAGES_OWN_ROUTES] = {
        {.path = pages->config.telemetry_path,
         .handler = "metrics",
         .handle = pages_metrics,
         .limited = true},
        {.path = "/", .handler = "landing", .handle = pages_landing},
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
    for (size_t i = 0; i < pages->config.n_collectors; i++) {
        const struct collector_page *page = pages->collectors[i].ops->page;
        if (page)
            pages->routes[pages->n_routes++] = (struct http_route){.path = page->path,
                                                                   .handler = page->handler,
                                                                   .handle = pages_api_collector,
                                                                   .limited = true};
    }
}

int pages_new(const struct pages_config *config, struct pages **out)
{
    struct pages *pages = calloc(1, sizeof *pages);
    if (!pages)
        return -ENOMEM;
    pages->config = *config;
    memcpy(pages->collectors, config->collectors, config->n_collectors * sizeof *pages->collectors);
    pages->config.collectors = pages->collectors;
    add_routes(pages);
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

void pages_take_status(struct pages *pages, struct pages_status *status, uint64_t *updated_ns)
{
    pthread_mutex_lock(&pages->lock);
    *status = pages->status;
    *updated_ns = pages->updated_ns;
    pthread_mutex_unlock(&pages->lock);
}

void pages_update(struct pages *pages, const struct pages_status *status, uint64_t now_ns)
{
    pthread_mutex_lock(&pages->lock);
    pages->status = *status;
    pages->updated_ns = now_ns;
    pthread_mutex_unlock(&pages->lock);
}

const struct http_route *pages_routes(const struct pages *pages, size_t *n)
{
    *n = pages->n_routes;
    return pages->routes;
}
