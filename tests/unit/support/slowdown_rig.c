#include "tests/unit/support/slowdown_rig.h"

#include <stdio.h>
#include <stdlib.h>

#include "collectors/table.h"

const struct load load_alone = {1000 * M, 1000 * M, 4 * M, 1600000, 320 * M, 320 * M};
const struct load load_disturbed = {1000 * M, 1000 * M, 4 * M, 2 * M, 600 * M, 400 * M};
const struct load load_hog = {1000 * M, 1000 * M, 60 * M, 50 * M, 3000u * M, 900 * M};
const struct quantum worked_quantum = {.epochs = 125, .accesses = 27000, .queueing = 25000};

static int setup_with(void **state, bool alone_rate)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &slowdown_collector);
    rig->facts.machine.llc_hit_cycles = 20;
    rig->facts.machine.numa_nodes = 2;
    if (alone_rate)
        rig_flag(rig, "--collector.slowdown.alone-rate");
    rig_start(rig);
    fake_group(&rig->fake, "a", GROUP_ASM_EPOCHS)->no_reading = true;
    fake_group(&rig->fake, "hog", GROUP_ASM_EPOCHS)->no_reading = true;
    *state = rig;
    return 0;
}

int slowdown_rig_setup(void **state)
{
    return setup_with(state, true);
}

int slowdown_rig_setup_default(void **state)
{
    return setup_with(state, false);
}

void rig_work(struct rig *rig, const char *key, struct load load)
{
    struct fake_group *g = fake_group(&rig->fake, key, GROUP_CORE);
    fake_group_run(g, 0, 1000000000u);
    fake_group_add(g, 0, ROLE_CYCLES, load.cycles);
    fake_group_add(g, 0, ROLE_REF_CYCLES, load.ref_cycles);
    fake_group_add(g, 0, ROLE_LLC_READS, load.accesses);
    fake_group_add(g, 0, ROLE_L3_MISS_READS, load.misses);
    fake_group_add(g, 0, ROLE_L3_MISS_READ_OCCUPANCY, load.occupancy);
    fake_group_add(g, 0, ROLE_L3_MISS_READ_ACTIVE, load.active);
}

void rig_learn(struct rig *rig, int windows)
{
    for (int i = 0; i < windows; i++) {
        rig_work(rig, "a", load_alone);
        rig_tick(rig);
    }
}

void rig_disturb(struct rig *rig, struct load load)
{
    rig_work(rig, "a", load);
    rig_work(rig, "hog", load_hog);
    rig_tick(rig);
}

void rig_know(struct rig *rig)
{
    rig_container(rig, "a");
    rig_learn(rig, 19);
    rig_container(rig, "hog");
}

void rig_quantum(struct rig *rig, struct quantum q)
{
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_ASM_EPOCHS);
    g->no_reading = false;
    fake_group_run(g, 0, 1000000);
    fake_group_add(g, 0, ROLE_QUANTUM_CYCLES, 5000000);
    fake_group_add(g, 0, ROLE_ACCESSES, q.accesses);
    fake_group_add(g, 0, ROLE_EPOCH_COUNT, q.epochs);
    fake_group_add(g, 0, ROLE_HITS, 5000);
    fake_group_add(g, 0, ROLE_MISSES, 2500);
    fake_group_add(g, 0, ROLE_HIT_TIME, 75000);
    fake_group_add(g, 0, ROLE_MISS_TIME, 375000);
    fake_group_add(g, 0, ROLE_ATS_HITS, 160);
    fake_group_add(g, 0, ROLE_ATS_MISSES, 40);
    fake_group_add(g, 0, ROLE_QUEUEING_CYCLES, q.queueing);
    fake_group_add(g, 0, ROLE_SHADOW_CYCLES, q.shadow);
    fake_group_add(g, 0, ROLE_SHADOW_CACHE_CYCLES, q.shadow_cache);
    g->present = group_descs[GROUP_ASM_EPOCHS].required;
    if (q.shadow_cache)
        g->present |= 1U << group_index(GROUP_ASM_EPOCHS, ROLE_SHADOW_CYCLES) |
                      1U << group_index(GROUP_ASM_EPOCHS, ROLE_SHADOW_CACHE_CYCLES);
    g->count[0][group_index(GROUP_ASM_EPOCHS, ROLE_EPOCH_LENGTH)] = 10000;
    rig_tick(rig);
}

double rig_of_a(struct rig *rig, const char *family, const char *own)
{
    return rig_value_of(rig, family, A, own);
}

double rig_passive(struct rig *rig, const char *family)
{
    return rig_value(rig, family, "model=\"passive\"");
}

double rig_interference(struct rig *rig, const char *resource)
{
    char label[64];
    snprintf(label, sizeof label, "resource=\"%s\"", resource);
    return rig_value(rig, C("interference_cycles"), label);
}

double rig_asm_ratio(struct rig *rig)
{
    return rig_value(rig, C("slowdown_ratio"), "model=\"asm\"");
}
