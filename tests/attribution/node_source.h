/* A source that tells what a node_hour does in its current second: CPU time, and a burst. */
#ifndef IE_TESTS_NODE_SOURCE_H
#define IE_TESTS_NODE_SOURCE_H

#include "exporter/source/source.h"
#include "tests/attribution/node_hour.h"

struct node_source {
    struct source source;
    const struct node_hour *node;
    uint64_t used_ns[HOUR_WORKERS], host_ns; /* totals */
    bool told;                               /* the burst of this second */
};

void node_source_init(struct node_source *self, const struct node_hour *node);
/* After node_hour_next. */
void node_source_move(struct node_source *self);
/* The key of a worker, as containers have it. */
void node_source_key(unsigned worker, char *out, size_t size);

#endif
