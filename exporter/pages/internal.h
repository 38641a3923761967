/*
 * The inside of the pages, for the files of this folder: one file for each kind of page.
 */
#ifndef IE_PAGES_INTERNAL_H
#define IE_PAGES_INTERNAL_H

#include <pthread.h>

#include "exporter/base/textbuf.h"
#include "exporter/expose/page_cache.h"
#include "exporter/http/http.h"
#include "exporter/pages/pages.h"

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
void pages_api_status(void *context, const struct http_request *request,
                      struct http_response *response);
void pages_api_containers(void *context, const struct http_request *request,
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

/* A query's arguments, which anybody may have written. */

/* Decimal digits only, at most 'max'. Pure. */
bool argument_number(const char *text, size_t max, size_t *out);

/* The value of an argument that is given once; NULL: not given, or more than once. */
const char *argument_text(const struct http_request *request, const char *name);
/* Given, with any value but "0" and "false". */
bool argument_switch(const struct http_request *request, const char *name);

/* Files that the pages refer to, as CMakeLists.txt puts them into the program. */
extern const char asset_live_js[], asset_live_css[];
extern const size_t asset_live_js_len, asset_live_css_len;

/*
 * What the pages showed at every tick of a recording, to be shown again: compressed, by the time of
 * the recording.
 *
 * The loop keeps a tick; handlers on any thread answer from it.
 */

struct reel;

/* For these routes, of which those without parameters of their own are kept: not the metrics, whose
 * times are those of a scrape. 'note' (borrowed; NULL: none) is what to know of the recording, a
 * sentence. 0 or -ENOMEM. */
int reel_new(const struct http_route *routes, size_t n, void *context, const char *note,
             struct reel **out);
void reel_free(struct reel *reel);

/* Asks each route for its answer now. 'mark': why this tick is marked; "": it is not. 0 or -errno:
 * then this tick is left out. */
int reel_keep(struct reel *reel, uint64_t wall_ns, const char *mark);

/* What was to be read at the path then: at ?at=SECONDS, of the first marked tick where the page of
 * the node is asked for without it. False: it is for the route's own handler. */
bool reel_answer(struct reel *reel, const struct http_request *request,
                 struct http_response *response);

struct reel_style {
    const char *css;
    size_t len;
};

/* Appends the page of the node at the first mark, for a file: with its style, without what only a
 * server answers. 0, -ENODATA before the first tick, or -ENOMEM. */
int reel_report(struct reel *reel, const struct reel_style *style, struct textbuf *out);

/* In the page of the node, where what moves through time goes. */
#define REEL_MARKER "<!--reel-->\n"

#endif
