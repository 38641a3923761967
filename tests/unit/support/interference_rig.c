#include "tests/unit/support/interference_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collectors/attribution/lanes/lane.h"
#include "collectors/table.h"

static uint64_t seed;

static struct fake_group *clock_of(struct rig *rig, const char *name)
{
    struct fake_group *group = fake_group(&rig->fake, name, GROUP_ACTIVITY);
    group->cpus = INTERFERENCE_RIG_CPUS;
    return group;
}

static const uint32_t monitoring_groups = 1u << GROUP_BANDWIDTH | 1u << GROUP_POD_BANDWIDTH;

static int start(void **state, const char *flag, uint32_t lacks)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &attribution_collector);
    if (flag)
        rig_flag(rig, flag);
    rig->fake.lacks = lacks;
    rig->facts.machine.numa_nodes = 1;
    rig->facts.machine.cpus = INTERFERENCE_RIG_CPUS;
    const struct source_thread thread = {.key = "p0", .kind = "probe", .tid = 1, .cpu = 0};
    assert_int_equal(inventory_add_thread(&rig->inventory, &thread), 0);
    clock_of(rig, "host");
    rig_start(rig);
    seed = 1;
    *state = rig;
    return 0;
}

int interference_setup(void **state)
{
    return interference_setup_with(state, NULL, 0);
}

int interference_setup_with(void **state, const char *flag, uint32_t lacks)
{
    return start(state, flag, lacks | monitoring_groups);
}

int interference_setup_with_groups(void **state)
{
    return start(state, NULL, 0);
}

void interference_clocks(struct rig *rig, const char *name)
{
    for (int i = 0; attribution_clock_group[i] != GROUP_ACTIVITY; i++)
        fake_group(&rig->fake, name, attribution_clock_group[i])->no_reading = true;
    clock_of(rig, name);
}

struct container *interference_container(struct rig *rig, const char *name)
{
    interference_clocks(rig, name);
    return rig_container(rig, name);
}

void interference_run(struct rig *rig, const char *name, int cpu, double seconds)
{
    uint64_t ns = (uint64_t)(seconds * 1e9);
    fake_group_run(clock_of(rig, name), cpu, ns);
    fake_group_add(clock_of(rig, name), cpu, ROLE_CPU_TIME_NS, ns);
}

void interference_burst(struct rig *rig, int node, double latency_ns)
{
    rig->fake.probes[rig->fake.n_probes++] = (struct probe_reading){
        .initiator_numa_node = node,
        .target_numa_node = node,
        .latency_ns = latency_ns,
        .cpu = -1,
    };
}

/* The sum of twelve is nearly normal. */
double interference_noise(double sd)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(seed >> 11) / (double)(1ull << 53);
    }
    return 1 + sd * (sum - 6);
}

void interference_tick(struct rig *rig, double latency_ns)
{
    interference_burst(rig, 0, latency_ns);
    assert_int_equal(rig_tick(rig), 0);
}

double interference_square(uint64_t tick, unsigned on, unsigned off, unsigned shift)
{
    return (tick + shift) % (on + off) < on;
}

static const struct state_identity here = {.boot_id = "boot"};

struct state *interference_saved(struct rig *rig, uint8_t damage)
{
    static uint8_t room[1 << 16];
    struct state_writer writer;
    struct state *state = NULL;
    char why[128];
    state_write_begin(&writer, room, sizeof room, &here, rig->tick.mono_ns);
    rig->ops->save(rig->collector, &writer);
    size_t len = state_write_end(&writer);
    assert_true(len <= sizeof room);
    room[len - 9] ^= damage;
    state_seal(room, len);
    uint8_t *bytes = malloc(len);
    memcpy(bytes, room, len);
    assert_int_equal(state_parse(bytes, len, &here, rig->tick.mono_ns, &state, why, sizeof why), 0);
    return state;
}

void interference_again(struct rig *after, const struct rig *before, struct state *saved,
                        const char *flag)
{
    static const struct source_thread thread = {.key = "p0", .kind = "probe", .tid = 1, .cpu = 0};
    rig_init(after, &attribution_collector);
    if (flag)
        rig_flag(after, flag);
    after->facts.machine = before->facts.machine;
    assert_int_equal(inventory_add_thread(&after->inventory, &thread), 0);
    after->tick = before->tick;
    after->env.state = saved;
}

json_t *interference_page(struct rig *rig, size_t domain, json_t **root)
{
    struct textbuf text;
    textbuf_init(&text);
    assert_int_equal(rig->ops->page->render(rig->collector, "replay", &text), 0);
    *root = json_loadb(text.data, text.len, 0, NULL);
    textbuf_release(&text);
    assert_non_null(*root);
    return json_array_get(json_object_get(*root, "domains"), domain);
}

double interference_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

bool interference_says(struct rig *rig, const char *key, const char *word)
{
    json_t *root, *domain = interference_page(rig, 0, &root);
    bool says = strcmp(json_string_value(json_object_get(domain, key)), word) == 0;
    json_decref(root);
    return says;
}

size_t interference_count(struct rig *rig, const char *list)
{
    json_t *root, *domain = interference_page(rig, 0, &root);
    size_t n = json_array_size(json_object_get(domain, list));
    json_decref(root);
    return n;
}
