/*
 * Series by process, for those who ask for them: --collector.pebs_nvmm.per-process.
 *
 * A fixed number of processes at a time; one more has none, until another has not used persistent
 * memory for two minutes. Series are made and freed in reconcile, filled in collect.
 */
#ifndef IE_COLLECTORS_NVMM_PROCESSES_H
#define IE_COLLECTORS_NVMM_PROCESSES_H

#include "collectors/nvmm/series.h"

enum { NVMM_MAX_PROCESSES = 1024 };

struct nvmm_processes;

/* Both are borrowed; 'active' says which accesses have series, by now. 0, or -errno. */
int nvmm_processes_new(const struct nvmm_families *families, const bool active[ACCESS_KINDS],
                       struct nvmm_processes **out);
/* Accepts NULL, like the next three. */
void nvmm_processes_free(struct nvmm_processes *processes);

/* What a process of 'owner' did in addition; allocates nothing. False: no room for it. */
bool nvmm_processes_add(struct nvmm_processes *processes, uint64_t owner, uint32_t pid,
                        enum access access, double accesses, double bytes, uint64_t now_ns);
/* Sets the series; true when series are to be made or freed. */
bool nvmm_processes_show(struct nvmm_processes *processes, uint64_t now_ns);

/* Series for those that have none; NULL labels: not yet. */
void nvmm_processes_make(struct nvmm_processes *processes, uint64_t owner, struct labelset *labels);
/* The labels of the owner's container changed; NULL drops the series. */
void nvmm_processes_relabel(struct nvmm_processes *processes, uint64_t owner,
                            struct labelset *labels);
/* Frees those of an owner, or those that nothing was added to for two minutes. */
void nvmm_processes_forget(struct nvmm_processes *processes, uint64_t owner);
void nvmm_processes_expire(struct nvmm_processes *processes, uint64_t now_ns);

#endif
