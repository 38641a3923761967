/* The collector of persistent memory, with counts and samples that the test plays. */
#ifndef IE_TESTS_NVMM_RIG_H
#define IE_TESTS_NVMM_RIG_H

#include "collectors/table.h"
#include "tests/unit/support/collector_rig.h"

#define C "interference_container_"
#define S "interference_sampler_"

static const uint64_t second = 1000000000u;

/* For cmocka: *state is a struct rig whose collector runs, sampling stores; with loads too; with
 * series by process, every store sampled; with reads for ownership. */
int nvmm_setup(void **state);
int nvmm_setup_loads(void **state);
int nvmm_setup_processes(void **state);
int nvmm_setup_rfo(void **state);
int nvmm_teardown(void **state);

/* The same number, or both absent. */
void nvmm_is(double got, double want);

/* What the container's samples carry. */
uint64_t nvmm_tag(const struct container *container);
/* A sample in the window that ends with the next tick, 'ago_ns' before that; 0 bytes: not decoded.
 */
struct access_sample *nvmm_sample(struct rig *rig, const struct container *container,
                                  enum medium medium, uint32_t bytes, uint64_t ago_ns);
void nvmm_samples(struct rig *rig, const struct container *container, enum medium medium,
                  uint32_t bytes, size_t n);
/* Accesses in the window that ends with the next tick. */
void nvmm_count(struct rig *rig, const char *key, enum access access, uint64_t events);

/* A tick by which everything before it is there. */
int nvmm_tick(struct rig *rig);
/* A tick by which the sampler is this far behind. */
int nvmm_tick_behind(struct rig *rig, uint64_t behind_ns);

/* The published estimate of stores to persistent memory. */
double nvmm_stores(struct rig *rig);

#endif
