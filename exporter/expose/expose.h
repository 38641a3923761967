/*
 * Renders snapshots: Prometheus text 0.0.4, OpenMetrics 1.0, Prometheus protobuf, JSON.
 *
 * A snapshot is rendered at most once per format and compressed at most once, then served to all
 * scrapers; what is asked for of it (collect[]) is cut out of that. Any thread; callers that ask
 * for a page while another thread renders it wait for it.
 */
#ifndef IE_EXPOSE_EXPOSE_H
#define IE_EXPOSE_EXPOSE_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/base/textbuf.h"
#include "exporter/store/store.h"

enum expose_format { EXPOSE_TEXT_004, EXPOSE_OPENMETRICS_100, EXPOSE_PROTOBUF, EXPOSE_FORMATS };

/* The Content-Type of a format; and its short name for labels: "text", "openmetrics",
 * "protobuf". */
const char *expose_content_type(enum expose_format format);
const char *expose_format_name(enum expose_format format);

/* By Accept with q-values; NULL, nonsense and formats that are not served give text 0.0.4. Protobuf
 * only for who names it with message and encoding. Pure. */
enum expose_format expose_negotiate(const char *accept);
/* Whether Accept-Encoding allows gzip (q > 0). Pure. */
bool expose_accepts_gzip(const char *accept_encoding);

/* Renders into out; if n > 0, only families of the named owners and the exporter's own. 'created':
 * _created samples in OpenMetrics; protobuf always has them, for there they are no series. */
int expose_render(const struct snapshot *snapshot, enum expose_format format,
                  const char *const *owners, size_t n, bool created, struct textbuf *out);

/* Bytes with counted references, ready to be sent. */
struct rendered_page;
const void *page_bytes(const struct rendered_page *page, size_t *len);
struct rendered_page *page_ref(struct rendered_page *page);
/* The bytes as a sealed memory file (base/whole.h), made at the first call; it stays the
 * page's. One thread. 0 or -errno. */
int page_file(struct rendered_page *page, int *fd);
void page_unref(struct rendered_page *page);

struct expose;
/* 'created': _created samples in OpenMetrics. The store must outlive it. */
int expose_new(struct store *store, bool created, struct expose **out);
void expose_free(struct expose *expose);
/* The current snapshot's page; the caller unrefs it. -ENODATA before the first publication. */
int expose_page(struct expose *expose, enum expose_format format, bool gzip,
                struct rendered_page **out);
/*
 * The same with only the families of the named owners and the exporter's own. Compressed (*gzip)
 * for the first few selections that are asked for of a snapshot; for others *gzip becomes false.
 */
int expose_selection(struct expose *expose, enum expose_format format, bool *gzip,
                     const char *const *owners, size_t n, struct rendered_page **out);

/* Which containers a document lists, and what it says of each before their series. */
struct json_t;
struct containers_listing {
    void *context;
    /* Where the container with these labels stands; SIZE_MAX: behind all others. */
    size_t (*rank)(void *context, const struct label *labels, size_t n);
    /* Adds members to its object; the rank as above. 0 or -ENOMEM. */
    int (*describe)(void *context, size_t rank, struct json_t *object);
    size_t offset, limit; /* limit 0: all */
    bool pretty;          /* indented, one member a line */
};

/*
 * JSON of all series that carry a container's labels: an array of one object for each container,
 * with its labels, what the listing says of it, and "values": keyed by metric, always a list of
 * {"labels": {...}, "value": number}. *total: how many containers there are, listed or not.
 */
int expose_containers_json(const struct snapshot *snapshot,
                           const struct containers_listing *listing, struct textbuf *out,
                           size_t *total);

#endif
