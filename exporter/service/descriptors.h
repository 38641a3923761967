/*
 * How the file descriptors that the kernel allows are shared out. Pure.
 *
 * Counters take at most three quarters, the directories of counted containers included
 * (exporter/source/perf/perf.h); the server at most an eighth (exporter/http/http.h). What is found
 * but cannot be counted must not eat the rest, or nobody could be told of it.
 */
#ifndef IE_SERVICE_DESCRIPTORS_H
#define IE_SERVICE_DESCRIPTORS_H

#include <stddef.h>

struct descriptor_shares {
    size_t containers; /* live ones with a directory held open: at most what was asked for */
    size_t candidates; /* directories held open while they have no processes yet */
};

/* 'limit' is RLIMIT_NOFILE, 0 when it is not known; containers_max what the user allows. */
struct descriptor_shares descriptors_share(size_t limit, size_t containers_max);

/* RLIMIT_NOFILE as it is now; 0 when it is not known. */
size_t descriptors_limit(void);

#endif
