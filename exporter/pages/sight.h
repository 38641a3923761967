/* What a request for the page of the node is answered from, and the pieces of that page. */
#ifndef IE_PAGES_SIGHT_H
#define IE_PAGES_SIGHT_H

#include "exporter/live/blame.h"
#include "exporter/live/verdict.h"
#include "exporter/pages/internal.h"

enum { SIGHT_ROWS = 500 }; /* more containers are left out, the least troubled ones */

/* A column of the table of containers. */
enum column {
    COLUMN_TROUBLE, /* the order in which they come unless asked otherwise */
    COLUMN_LOST,
    COLUMN_SLOWDOWN,
    COLUMN_READ,
    COLUMN_NORMAL,
    COLUMN_RATIO,
    COLUMN_SINCE,
    COLUMN_READS,
    COLUMN_SHARE,
    COLUMN_LLC,
    COLUMN_SOCKET,
    COLUMN_CPI,
    COLUMN_CPU,
    COLUMN_ELSEWHERE,
    COLUMNS
};

struct sight {
    const struct pages *pages;
    struct pages_status status;
    uint64_t updated_ns;
    struct live_view view; /* sorted; empty before the first tick */
    bool all; /* the reader may see what /metrics does not show: suspicions that are not sure, CPU
                 time without counters, the history */
    const char *namespace_; /* only those whose namespace has this in it; "": all */
    enum column sort;
};

/* By the word in a query; COLUMN_TROUBLE for any other. */
enum column sight_column(const char *word);

/* Each adds a part of the page. */
void sight_host(struct textbuf *out, const struct sight *sight);
void sight_memory(struct textbuf *out, const struct sight *sight);
void sight_containers(struct textbuf *out, const struct sight *sight);
void sight_advice(struct textbuf *out, const struct sight *sight);

void sight_name(struct textbuf *out, const struct live_container *container);

#endif
