/*
 * Who stores to persistent memory: /api/v1/nvmm of the exporter, read back.
 */
#ifndef IE_GOVERNOR_WRITERS_H
#define IE_GOVERNOR_WRITERS_H

#include <stddef.h>
#include <stdint.h>

/* As many as the exporter tells of. */
enum { WRITERS_MAX = 16384 };

struct writer {
    char container_id[16]; /* the exporter's label, never "" */
    int tid;
    double stored_seconds_ago; /* its latest sampled store, when the list was made */
};

struct writers {
    uint64_t monotonic_ns; /* CLOCK_MONOTONIC when the list was made; 0: there was none yet */
    uint64_t interval_ns;  /* between two lists; 0: an older exporter, that does not say it */
    uint64_t window_ns;    /* that it tells of: there is a new list at least as often */
    struct writer *list;   /* that have stored; threads of containers with an id */
    size_t n;
    /* Kept from one document to the next. */
    char *scratch;
    size_t scratch_cap, list_cap;
};

/* Replaces what it says, all zero at first. 0; -EINVAL with one line in error; -ENOMEM; -E2BIG:
 * more than WRITERS_MAX. Then it says nothing. */
int writers_parse(const char *text, size_t len, struct writers *writers, char *error,
                  size_t error_size);
void writers_release(struct writers *writers);

#endif
