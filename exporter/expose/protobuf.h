/*
 * Families as Prometheus's protobuf messages: io.prometheus.client.MetricFamily, delimited.
 *
 * Fields are those of prometheus/client_model, io/prometheus/client/metrics.proto. A histogram is
 * classic and native in one message. For the files of this folder.
 */
#ifndef IE_EXPOSE_PROTOBUF_H
#define IE_EXPOSE_PROTOBUF_H

#include "exporter/base/textbuf.h"
#include "exporter/store/store.h"

/* Appends one message with its length before it. 'suffix': what the names of samples have in text
 * 0.0.4. Counters become doubles, as the message has them. */
void protobuf_add_family(struct textbuf *out, const struct snapshot_family *family,
                         const char *suffix);

#endif
