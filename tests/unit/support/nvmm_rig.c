#include "tests/unit/support/nvmm_rig.h"

#include "tests/unit/support/unit.h"

void nvmm_is(double got, double want)
{
    if (!(got == want) && !(isnan(got) && isnan(want)))
        fail_msg("got %.12g, want %.12g", got, want);
}

static struct rig *setup_common(bool loads, bool rfo)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &pebs_nvmm_collector);
    rig->reconciled_by_hand = true;
    if (!loads)
        rig->fake.sampled[ACCESS_LOAD] = (struct verdict){.reason = REASON_DISABLED};
    for (int access = 0; access < ACCESS_KINDS; access++)
        rig->fake.sampling[access].period = 10007;
    if (rfo)
        rig_flag(rig, "--collector.pebs_nvmm.rfo");
    rig_start(rig);
    return rig;
}

int nvmm_setup(void **state)
{
    *state = setup_common(false, false);
    return 0;
}

int nvmm_setup_loads(void **state)
{
    *state = setup_common(true, false);
    return 0;
}

int nvmm_setup_processes(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &pebs_nvmm_collector);
    rig->reconciled_by_hand = true;
    rig->fake.sampled[ACCESS_LOAD] = (struct verdict){.reason = REASON_DISABLED};
    rig->fake.sampling[ACCESS_STORE].period = 1;
    rig_flag(rig, "--collector.pebs_nvmm.per-process");
    rig_start(rig);
    *state = rig;
    return 0;
}

int nvmm_setup_rfo(void **state)
{
    *state = setup_common(false, true);
    return 0;
}

int nvmm_teardown(void **state)
{
    struct rig *rig = *state;
    rig_release(rig);
    free(rig);
    return 0;
}

uint64_t nvmm_tag(const struct container *container)
{
    return container_tag(container->slot, container->gen);
}

struct access_sample *nvmm_sample(struct rig *rig, const struct container *container,
                                  enum medium medium, uint32_t bytes, uint64_t ago_ns)
{
    assert_true(rig->fake.n_samples < FAKE_SAMPLES);
    struct access_sample *s = &rig->fake.samples[rig->fake.n_samples++];
    *s = (struct access_sample){
        .time_ns = rig->tick.mono_ns + second - ago_ns,
        .owner = nvmm_tag(container),
        .pid = 7,
        .tid = 7,
        .medium = medium,
        .bytes = bytes,
        .size = bytes ? ACCESS_SIZE_KNOWN : ACCESS_SIZE_REPEATED,
    };
    return s;
}

void nvmm_samples(struct rig *rig, const struct container *container, enum medium medium,
                  uint32_t bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        nvmm_sample(rig, container, medium, bytes, 1 + i);
}

void nvmm_count(struct rig *rig, const char *key, enum access access, uint64_t events)
{
    struct fake_group *group = fake_group(&rig->fake, key, access_group(access));
    fake_group_run(group, 0, second);
    fake_group_add(group, 0, access == ACCESS_STORE ? ROLE_STORES : ROLE_LOADS, events);
}

int nvmm_tick(struct rig *rig)
{
    for (int access = 0; access < ACCESS_KINDS; access++)
        rig->fake.sampling[access].settled_ns = rig->tick.mono_ns + second;
    return rig_tick(rig);
}

int nvmm_tick_behind(struct rig *rig, uint64_t behind_ns)
{
    for (int access = 0; access < ACCESS_KINDS; access++)
        rig->fake.sampling[access].settled_ns = rig->tick.mono_ns + second - behind_ns;
    return rig_tick(rig);
}

double nvmm_stores(struct rig *rig)
{
    return rig_value(rig, C "nvmm_accesses", "access=\"store\"");
}
