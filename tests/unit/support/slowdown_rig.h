/*
 * The slowdown collector in a rig, with containers "a", which is watched, and "hog".
 */
#ifndef IE_TESTS_SLOWDOWN_RIG_H
#define IE_TESTS_SLOWDOWN_RIG_H

#include "tests/unit/support/collector_rig.h"

#define C(n) "interference_container_" n
#define A "container=\"a\""
#define M 1000000u

/* For cmocka: *state is a struct rig on a machine with two NUMA nodes, whose hits take 20 cycles.
 * setup wants the optional series as well; setup_default only those of the default options. */
int slowdown_rig_setup(void **state);
int slowdown_rig_setup_default(void **state);

/* What a container does in a window of one second, on CPU 0. */
struct load {
    uint64_t cycles, ref_cycles, accesses, misses, occupancy, active;
};
extern const struct load load_alone;     /* 200 cycles a miss, 0.4 of the accesses miss */
extern const struct load load_disturbed; /* the worked number of model passive */
extern const struct load load_hog;

void rig_work(struct rig *rig, const char *key, struct load load);
/* Windows of "a" alone, each with its tick. */
void rig_learn(struct rig *rig, int windows);
/* A window of "a" beside "hog", with its tick. */
void rig_disturb(struct rig *rig, struct load load);
/* Both containers, and what "a" does alone is known: nine windows until calm ones can be
 * recognised, then ten calm ones. */
void rig_know(struct rig *rig);

/* A quantum of "a", with its tick: the worked number of model asm, changed where asked for. */
struct quantum {
    uint64_t epochs, accesses, queueing;
    uint64_t shadow, shadow_cache; /* 0: the source has no shadow clocks */
};
extern const struct quantum worked_quantum;
void rig_quantum(struct rig *rig, struct quantum quantum);

/* The series of "a" with these words among its own labels, where "hog" has series, too. */
double rig_of_a(struct rig *rig, const char *family, const char *own);
/* Where there is one container only: of the models, and by resource. */
double rig_passive(struct rig *rig, const char *family);
double rig_interference(struct rig *rig, const char *resource);
double rig_asm_ratio(struct rig *rig);

#endif
