/*
 * The reader's side: a thread that answers what the server's process passes on.
 */
#ifndef IE_FRONT_DESK_H
#define IE_FRONT_DESK_H

#include "exporter/base/log.h"
#include "exporter/http/http.h"

struct desk_config {
    int fd; /* the reader's end of a channel; borrowed */
    const struct http_route *routes;
    size_t n_routes;
    void *context; /* for the routes' handlers */
    /* Nobody is at the other end any more. On the desk's thread, once; may be NULL. */
    void (*lost)(void *context);
    void *lost_context;
    const struct log *log;
};

struct desk;

/* 0 or -errno. The configuration's pointers are borrowed. */
int desk_new(const struct desk_config *config, struct desk **out);
/* Ends the thread, and with it the channel. Accepts NULL. */
void desk_free(struct desk *desk);

#endif
