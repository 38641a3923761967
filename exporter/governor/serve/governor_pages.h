/*
 * The pages: metrics, the last decisions, the state, health. The loop's thread writes, the server's
 * threads read; one lock, held for microseconds.
 */
#ifndef IE_GOVERNOR_PAGES_H
#define IE_GOVERNOR_PAGES_H

#include "exporter/expose/expose.h"
#include "exporter/governor/decide/governor.h"
#include "exporter/http/http.h"

struct governor_pages;

/* A loop that shows nothing for so long hangs: then metrics and health answer 503. */
#define GOVERNOR_PAGES_SILENCE_NS UINT64_C(15000000000)

/* expose is borrowed. 'now_ns' is CLOCK_MONOTONIC, for any thread. 0 or -errno. */
int governor_pages_new(struct expose *expose, uint64_t (*now_ns)(void),
                       struct governor_pages **out);
/* After the server has stopped. Accepts NULL. */
void governor_pages_free(struct governor_pages *pages);

/* For http_config, with the pages as its context. */
const struct http_route *governor_pages_routes(size_t *n);

/* As /api/v1/decisions has it. */
void governor_pages_add_decision(struct textbuf *out, const struct decision *decision);

/* From the loop's thread. */
void governor_pages_decision(struct governor_pages *pages, const struct decision *decision);
/* In each turn of the loop. */
void governor_pages_state(struct governor_pages *pages, const struct governor_state *state,
                          uint64_t now_ns);

#endif
