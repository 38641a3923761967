#include "tests/unit/support/waits_rig.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "collectors/attribution/lanes/lane.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

const double worked_traffic[3] = {6e7, 3e7, 1e7};
const char *const worked_name[3] = {"one", "two", "three"};

void near(double got, double want, double share)
{
    if (!(fabs(got - want) <= share * fabs(want)))
        fail_msg("%.12g instead of %.12g", got, want);
}

struct container *waits_container(struct rig *rig, const char *name)
{
    fake_group(&rig->fake, name, GROUP_TRAFFIC)->cpus = INTERFERENCE_RIG_CPUS;
    return interference_container(rig, name);
}

void waits_containers(struct rig *rig)
{
    for (int i = 0; i < 3; i++)
        waits_container(rig, worked_name[i]);
    waits_container(rig, "teacher");
}

void waits_use(struct rig *rig, const char *name, int cpu, double lines)
{
    struct fake_group *group = fake_group(&rig->fake, name, GROUP_TRAFFIC);
    fake_group_run(group, cpu, SECOND_NS);
    fake_group_add(group, cpu, ROLE_LLC_MISSES, (uint64_t)lines);
}

void waits_use_all(struct rig *rig, double on)
{
    for (int i = 0; i < 3; i++)
        waits_use(rig, worked_name[i], i + 1, worked_traffic[i]);
    waits_use(rig, "teacher", 1, 1e8 * on);
}

void waits_burst(struct rig *rig, double lines)
{
    interference_burst(rig, 0, 80 * exp(0.3 * lines / 1e8) * interference_noise(0.005));
}

void waits_tick(struct rig *rig)
{
    rig->facts.reads.tick = rig->tick.number + 1;
    assert_int_equal(rig_tick(rig), 0);
}

size_t waits_slot(const struct rig *rig, const char *name)
{
    size_t i = 0;
    while (strcmp(rig->containers[i].key, name) != 0)
        i++;
    return rig->containers[i].slot;
}

struct read_latency *waits_for(struct rig *rig, const char *name, double reads, double excess_ns)
{
    struct read_latency *entry = read_latencies_entry(&rig->facts.reads, waits_slot(rig, name));
    *entry = (struct read_latency){
        .tick = rig->tick.number + 1,
        .latency_seconds = isnan(excess_ns) ? 100e-9 : (80 + excess_ns) * 1e-9,
        .baseline_seconds = isnan(excess_ns) ? NAN : 80e-9,
        .reads = reads,
    };
    return entry;
}

void waits_for_worked(struct rig *rig)
{
    waits_for(rig, "one", 1e6, 0);
    waits_for(rig, "two", 2e6, 30);
    waits_for(rig, "three", 4e6, 50);
}

double waits_counter(struct rig *rig, const char *name)
{
    char label[64];
    snprintf(label, sizeof label, "container=\"%s\"", name);
    return rig_value(rig, WAIT, label);
}

struct attribution_node *waits_node(const struct rig *rig)
{
    return ((const struct attribution_context *)rig->collector)->node[0];
}

uint64_t waits_allocates(struct rig *rig)
{
    rig->tick.number++;
    rig->tick.mono_ns += SECOND_NS;
    assert_int_equal(source_set_begin(rig->sources, &rig->tick), 0);
    uint64_t before = malloc_count();
    assert_int_equal(rig->ops->collect(rig->collector, &rig->tick), 0);
    return malloc_count() - before;
}
