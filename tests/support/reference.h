/* collectors/METRICS.md: every metric that this build can serve, from its definition. */
#ifndef IE_SUPPORT_REFERENCE_H
#define IE_SUPPORT_REFERENCE_H

#include <stddef.h>

#include "exporter/base/textbuf.h"
#include "exporter/store/metric.h"

/*
 * Calls 'each' with every definition: those of the collectors in the order of collector_table, then
 * the containers', then the exporter's own. 'owner' is the collector's name or NULL.
 */
void reference_each(void (*each)(void *context, const struct metric_desc *desc, const char *owner),
                    void *context);

/* Appends the family's name as its samples carry it: with _total or _info. */
void reference_name(const struct metric_desc *desc, struct textbuf *out);

/* The whole page, Markdown. 0 or -ENOMEM. */
int reference_write(struct textbuf *out);

/* The table of n definitions, as on the page; for another program's. */
void reference_table(const struct metric_desc *descs, size_t n, struct textbuf *out);

#endif
