/*
 * The inside of the pages, for the files of this folder: one file for each kind of page.
 */
#ifndef IE_PAGES_INTERNAL_H
#define IE_PAGES_INTERNAL_H

#include <pthread.h>

#include "exporter/expose/page_cache.h"
#include "exporter/pages/pages.h"
#include "exporter/pages/reel.h"

enum {
    PAGES_OWN_ROUTES = 8,
    PAGES_BLACKBOX_ROUTES = 2,
    PAGES_MAX_ROUTES = PAGES_OWN_ROUTES + PAGES_BLACKBOX_ROUTES + COLLECTORS_MAX
};

struct pages {
    struct pages_config config;
    struct pages_collector collectors[COLLECTORS_MAX]; /* config.collectors points here */
    struct page_cache documents[COLLECTORS_MAX];       /* the collectors' own pages, by update */
    struct page_cache containers;                      /* the whole document, likewise */
    struct page_cache status_document;                 /* likewise */
    struct page_cache landing[2];                      /* likewise; [1]: with all that is known */
    struct http_route routes[PAGES_MAX_ROUTES];
    size_t n_routes;
    struct reel *reel;                         /* NULL: nothing is kept */
    struct http_route shown[PAGES_MAX_ROUTES]; /* the routes, answered from the reel where it can */
    pthread_mutex_t lock;                      /* guards the two below */
    struct pages_status status;
    uint64_t updated_ns;
};

/* Handlers, as http_handler wants them. */
void pages_metrics(void *context, const struct http_request *request,
                   struct http_response *response);
void pages_healthy(void *context, const struct http_request *request,
                   struct http_response *response);
void pages_ready(void *context, const struct http_request *request, struct http_response *response);
void pages_api_status(void *context, const struct http_request *request,
                      struct http_response *response);
void pages_api_containers(void *context, const struct http_request *request,
                          struct http_response *response);
/* The page of the collector whose path was requested. */
void pages_api_collector(void *context, const struct http_request *request,
                         struct http_response *response);
/* The list of files, and, by POST, one more of them. */
void pages_api_blackbox(void *context, const struct http_request *request,
                        struct http_response *response);
void pages_landing(void *context, const struct http_request *request,
                   struct http_response *response);

void pages_live_script(void *context, const struct http_request *request,
                       struct http_response *response);
void pages_live_style(void *context, const struct http_request *request,
                      struct http_response *response);

/* 403: it may not read this. */
void pages_refuse(struct http_response *response);
/* Whether this client may read what the documents tell of tenants: the one place that decides. */
bool pages_may_read(const struct pages *pages, const struct http_request *request);

/* Takes over bytes from malloc (NULL: out of memory). */
void pages_answer(struct http_response *response, int status, const char *type, const char *format,
                  char *bytes, size_t len);
/* Copies the text. */
void pages_answer_text(struct http_response *response, int status, const char *text);
/* Takes over a finished text, and one that failed; always releases it. */
void pages_answer_textbuf(struct http_response *response, const char *type, const char *format,
                          struct textbuf *text);
/* Takes over the reference. */
void pages_answer_page(struct http_response *response, struct rendered_page *page, const char *type,
                       const char *format, bool gzip);

/* For how long the exporter had run when its last tick was over. */
double pages_uptime_seconds(const struct pages *pages, uint64_t updated_ns);

/* What the loop left here last. */
void pages_take_status(struct pages *pages, struct pages_status *status, uint64_t *updated_ns);

#endif
