/*
 * What operators see: metrics, the last decisions, the state, health. The loop's thread writes, the
 * server's threads read; one lock, held for microseconds.
 */
#ifndef IE_GOVERNOR_PAGES_H
#define IE_GOVERNOR_PAGES_H

#include "exporter/expose/expose.h"
#include "exporter/governor/governor.h"
#include "exporter/http/http.h"

struct governor_pages;

/* expose is borrowed. 0 or -errno. */
int governor_pages_new(struct expose *expose, struct governor_pages **out);
/* After the server has stopped. Accepts NULL. */
void governor_pages_free(struct governor_pages *pages);

/* For http_config, with the pages as its context. */
const struct http_route *governor_pages_routes(size_t *n);

/* From the loop's thread. */
void governor_pages_decision(struct governor_pages *pages, const struct decision *decision);
void governor_pages_state(struct governor_pages *pages, const struct governor_state *state,
                          uint64_t now_ns);

#endif
