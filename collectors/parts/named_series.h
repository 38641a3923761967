/*
 * The series that a container shows under its labels: all of them, or none.
 *
 * An array with NULL for what is not wanted. The owner of such an array asks once whether it was
 * made, not for each series; so when one series fails, all are freed. Loop thread only.
 */
#ifndef IE_COLLECTORS_PARTS_NAMED_SERIES_H
#define IE_COLLECTORS_PARTS_NAMED_SERIES_H

#include "exporter/store/store.h"

/* The same numbers under new labels. False: 'labels' is NULL or the store refused them for one of
 * the series; then all are freed and NULL. */
bool named_series_relabel(struct series **at, size_t n, struct labelset *labels);

/* As series_new(), but absent, also a counter, until it is set; *out is NULL after an error. */
int named_series_new(struct family *family, struct labelset *common, const struct label *own,
                     size_t n_own, struct series **out);

/* A family whose only series has no labels; absent likewise. 0, or the store's error. */
int named_series_register(struct store *store, const struct metric_desc *desc, const char *owner,
                          struct series **out);

/* Frees all; they are NULL then. */
void named_series_release(struct series **at, size_t n);

#endif
