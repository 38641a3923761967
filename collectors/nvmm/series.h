/*
 * The metrics of the collector pebs_nvmm: families, the set of series that a container has, and
 * the node's own.
 */
#ifndef IE_COLLECTORS_NVMM_SERIES_H
#define IE_COLLECTORS_NVMM_SERIES_H

#include <stdbool.h>

#include "exporter/source/sample.h"
#include "exporter/store/store.h"

enum nvmm_metric {
    M_ACCESSES,
    M_BYTES,
    M_SAMPLES,
    M_WRITERS,
    M_RFO,
    M_PROCESS_ACCESSES,
    M_PROCESS_BYTES,
    M_DIMMS,
    M_HUNG,
    M_REFUSED,
    M_LOST,
    M_UNDECODED,
    M_THROTTLES,
    NVMM_METRICS
};

/* In the order of enum nvmm_metric, ended by NULL. */
extern const struct metric_desc *const nvmm_metrics[];

struct nvmm_families {
    struct family *at[NVMM_METRICS];
    bool sampled[ACCESS_KINDS]; /* which of the optional series exist */
    bool rfo;
};

/* Registers them in the store; 0, or what store_family gave. */
int nvmm_families_register(struct nvmm_families *families, struct store *store, const char *owner);

enum {
    NVMM_SERIES = ACCESS_KINDS * (2 + MEDIA) + 2,
    NVMM_NODE_SERIES = 3 + ACCESS_KINDS * (2 + ACCESS_SIZES)
};

/* A container's; NULL where it is not exported. Absent until they are shown. */
struct nvmm_set {
    bool made;
    union {
        struct {
            struct {
                struct series *accesses, *bytes;
                struct series *samples[MEDIA];
            } use[ACCESS_KINDS];
            struct series *writers, *rfo;
        };
        struct series *at[NVMM_SERIES]; /* all of them */
    };
};

/* All of the set, or none of it. */
int nvmm_set_make(struct nvmm_set *set, const struct nvmm_families *families,
                  struct labelset *labels);
/* The same numbers under new labels; NULL, or a failure, drops them. */
void nvmm_set_relabel(struct nvmm_set *set, struct labelset *labels);
void nvmm_set_release(struct nvmm_set *set);

/* The node's, absent until they are shown; all zero is empty. */
union nvmm_node_set {
    struct {
        struct series *dimms, *hung, *refused;
        struct {
            struct series *lost, *throttles;
            struct series *undecoded[ACCESS_SIZES]; /* none for ACCESS_SIZE_KNOWN */
        } use[ACCESS_KINDS];
    };
    struct series *at[NVMM_NODE_SERIES]; /* all of them, for named_series_release() */
};

int nvmm_node_set_make(union nvmm_node_set *set, const struct nvmm_families *families);

#endif
