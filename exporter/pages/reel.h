/*
 * What the pages showed at every tick of a recording, to be shown again: compressed, by the time of
 * the recording.
 *
 * The loop keeps a tick; handlers on any thread answer from it.
 */
#ifndef IE_PAGES_REEL_H
#define IE_PAGES_REEL_H

#include "exporter/base/textbuf.h"
#include "exporter/http/http.h"

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
#define REEL_PLACE "<!--reel-->\n"

#endif
