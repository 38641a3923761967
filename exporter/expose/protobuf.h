/*
 * Families as Prometheus's protobuf messages: io.prometheus.client.MetricFamily, delimited.
 *
 * Fields are those of prometheus/client_model, io/prometheus/client/metrics.proto. A histogram is
 * classic and native in one message. For the files of this folder.
 */
#ifndef IE_EXPOSE_PROTOBUF_H
#define IE_EXPOSE_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/base/textbuf.h"
#include "exporter/store/store.h"

/*
 * Protobuf's wire format, written into memory that the caller has reserved.
 *
 * The encoding is at https://protobuf.dev/programming-guides/encoding. Fields are given by number;
 * a writer that gives them in ascending order makes the bytes that every other one makes.
 */

/* The most that one field takes besides the bytes of a string: its tag and a varint. */
enum { WIRE_FIELD = 15, WIRE_VARINT = 10 };

size_t wire_varint_size(uint64_t value);

/* Each writes at 'at' and returns what follows. */
char *wire_varint(char *at, uint64_t value);
char *wire_u64(char *at, unsigned field, uint64_t value);
/* sint32 and sint64: zigzag. */
char *wire_s64(char *at, unsigned field, int64_t value);
char *wire_double(char *at, unsigned field, double value);
char *wire_bytes(char *at, unsigned field, const char *bytes, size_t n);

/* A nested message: open returns where its fields begin; close, given that and where they end, puts
 * the length before them. For messages of 128 bytes and more it moves them by up to 9 bytes. */
char *wire_open(char *at, unsigned field);
char *wire_close(char *start, char *end);

/* Appends one message with its length before it. 'suffix': what the names of samples have in text
 * 0.0.4. Counters become doubles, as the message has them. */
void protobuf_add_family(struct textbuf *out, const struct snapshot_family *family,
                         const char *suffix);

#endif
