/*
 * The series that a container shows under its labels: all of them, or none.
 *
 * An array with NULL for what is not wanted. Who keeps one asks once whether it was made, and need
 * not ask for each series; so what fails for one must take the others along. Loop thread only.
 */
#ifndef IE_COLLECTORS_PARTS_NAMED_SERIES_H
#define IE_COLLECTORS_PARTS_NAMED_SERIES_H

#include "exporter/store/store.h"

/* The same numbers under new labels. False: 'labels' is NULL or the store refused them for one of
 * the series; then all are freed and NULL. */
bool named_series_relabel(struct series **at, size_t n, struct labelset *labels);

/* Frees all; they are NULL then. */
void named_series_release(struct series **at, size_t n);

#endif
