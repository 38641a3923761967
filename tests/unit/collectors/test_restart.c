/* Collectors that are stopped and started again: with what they learned, without it, and with what
 * somebody else wrote there. */
#include "collectors/table.h"
#include "tests/unit/support/collector_rig.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/slowdown_rig.h"
#include "tests/unit/support/unit.h"

#define C(n) "interference_container_" n
#define BASELINE C("memory_read_latency_baseline_seconds")
#define THRESHOLD C("memory_read_latency_threshold_seconds")
#define OVER C("memory_read_latency_over_threshold_seconds")
#define OBSERVED C("memory_read_latency_observed_seconds")

static const struct state_identity here = {.boot_id = "boot"};

/* ---- stopping and starting ---- */

static size_t save(struct rig *rig, uint8_t *room, size_t size)
{
    struct state_writer writer;
    state_write_begin(&writer, room, size, &here, rig->tick.mono_ns);
    rig->ops->save(rig->collector, &writer);
    return state_write_end(&writer);
}

/* From malloc. */
static uint8_t *saved(struct rig *rig, size_t *len)
{
    *len = save(rig, NULL, 0);
    uint8_t *bytes = malloc(*len);
    assert_int_equal(save(rig, bytes, *len), *len);
    state_seal(bytes, *len);
    return bytes;
}

/* Takes over the bytes. */
static struct state *parsed(uint8_t *bytes, size_t len, uint64_t now_ns)
{
    struct state *state = NULL;
    char why[128] = "";
    if (state_parse(bytes, len, &here, now_ns, &state, why, sizeof why) != 0)
        free(bytes);
    return state;
}

/* Another one, on the same machine and a second later; 'state' (may be NULL) stays the caller's. */
static void start_again(struct rig *rig, const struct rig *before, struct state *state)
{
    rig_init(rig, before->ops);
    rig->facts.machine = before->facts.machine;
    rig->tick.mono_ns = before->tick.mono_ns;
    rig->env.state = state;
    rig_start(rig);
}

static void restart(struct rig *rig, struct rig *before)
{
    size_t len;
    uint8_t *bytes = saved(before, &len);
    struct state *state = parsed(bytes, len, before->tick.mono_ns);
    assert_non_null(state);
    start_again(rig, before, state);
}

static void release(struct rig *rig)
{
    struct state *state = rig->env.state;
    rig_release(rig);
    state_free(state);
}

/* ---- latency ---- */

enum kind { CALM, USUAL };

/* A second on one CPU: 100,000 reads of so many nanoseconds beyond the caches. */
static void work(struct rig *rig, double nanoseconds)
{
    struct fake_group *g = fake_group(&rig->fake, "a", GROUP_CORE);
    fake_window(g, 0, 1000000000u, {ROLE_CYCLES, 2100000000u}, {ROLE_REF_CYCLES, 2100000000u},
                {ROLE_INSTRUCTIONS, 2100000000u}, {ROLE_L3_MISS_READS, 100000},
                {ROLE_L3_MISS_READ_OCCUPANCY, (uint64_t)(100000 * nanoseconds * 2.1)});
    rig_tick(rig);
}

static void learn(struct rig *rig, enum kind kind)
{
    memset(rig, 0, sizeof *rig);
    rig_init(rig, &core_latency_collector);
    rig->facts.machine.sockets = 2;
    rig->facts.machine.numa_nodes = 2;
    rig->facts.containers_unseen = kind == USUAL; /* nothing is calm then */
    rig_start(rig);
    rig_container(rig, "a");
    for (int i = 0; i < (kind == USUAL ? 700 : 40); i++)
        work(rig, 60);
}

static void expect_same(struct rig *now, struct rig *before, const char *family, const char *basis)
{
    double value = rig_value(before, family, basis);
    assert_false(isnan(value));
    assert_true(rig_value(now, family, basis) == value);
}

TEST(thresholds_are_there_at_once)
{
    static const char *const bases[] = {[CALM] = "basis=\"calm\"", [USUAL] = "basis=\"usual\""};
    for (enum kind kind = CALM; kind <= USUAL; kind++) {
        static struct rig before, with, without;
        learn(&before, kind);
        restart(&with, &before);
        start_again(&without, &before, NULL);
        rig_container(&with, "a");
        rig_container(&without, "a");
        work(&with, 60);
        work(&without, 60);
        expect_same(&with, &before, BASELINE, bases[kind]);
        expect_same(&with, &before, THRESHOLD, bases[kind]);
        assert_true(isnan(rig_value(&without, BASELINE, "")));
        assert_true(isnan(rig_value(&without, THRESHOLD, "")));
        release(&with);
        rig_release(&without);
        rig_release(&before);
    }
}

/* It has no window yet: the caches' part is known from before. */
TEST(thresholds_are_there_before_it_works_again)
{
    static struct rig before, after;
    learn(&before, CALM);
    restart(&after, &before);
    fake_group(&after.fake, "a", GROUP_CORE)->no_reading = true;
    rig_container(&after, "a");
    rig_tick(&after);
    expect_same(&after, &before, BASELINE, "basis=\"calm\"");
    expect_same(&after, &before, THRESHOLD, "basis=\"calm\"");
    release(&after);
    rig_release(&before);
}

TEST(an_incident_goes_on)
{
    static struct rig before, with, without;
    learn(&before, CALM);
    before.facts.containers_unseen = 1;
    for (int i = 0; i < 10; i++)
        work(&before, 100);
    assert_true(rig_value(&before, OVER, "") == 10);
    restart(&with, &before);
    start_again(&without, &before, NULL);
    with.facts.containers_unseen = without.facts.containers_unseen = 1;
    rig_container(&with, "a");
    rig_container(&without, "a");
    for (int i = 0; i < 20; i++) {
        work(&with, 100);
        work(&without, 100);
    }
    assert_true(rig_value(&with, OVER, "") == 20);
    assert_true(rig_value(&with, OBSERVED, "") == 20);
    assert_true(isnan(rig_value(&without, OVER, "")));
    release(&with);
    rig_release(&without);
    rig_release(&before);
}

static void with_cgroup(struct rig *rig, const char *id, uint64_t cgroup_id)
{
    struct container *container = &rig->containers[rig->n_containers++];
    *container = (struct container){.gen = 1,
                                    .cgroup_fd = -1,
                                    .cgroup_id = cgroup_id,
                                    .path = "a",
                                    .id = id,
                                    .namespace_ = "",
                                    .pod = "",
                                    .name = "a",
                                    .workload = "a",
                                    .image = "",
                                    .pod_uid = "",
                                    .runtime = "",
                                    .qos_class = "",
                                    .named = true,
                                    .found_mono_ns = rig->tick.mono_ns};
    strcpy(container->key, "a");
    strcpy(container->short_id, "0");
    const struct container_diff diff = {.added = {&container, 1}, .named = {&container, 1}};
    assert_int_equal(container_labels_reconcile(rig->labels, &diff), 0);
    rig->ops->reconcile(rig->collector, &diff);
}

/* A cgroup of the same path that was made anew is another one, unless the runtime says that it is
 * the same container. */
TEST(another_container_learns_anew)
{
    static const struct {
        const char *id, *other_id;
        uint64_t cgroup, other_cgroup;
        bool same;
    } cases[] = {
        {"", "", 7, 7, true},
        {"", "", 7, 8, false},
        {"0123", "0123", 7, 8, true},
        {"0123", "4567", 7, 7, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct rig before, after;
        memset(&before, 0, sizeof before);
        rig_init(&before, &core_latency_collector);
        rig_start(&before);
        with_cgroup(&before, cases[i].id, cases[i].cgroup);
        for (int t = 0; t < 40; t++)
            work(&before, 60);
        restart(&after, &before);
        with_cgroup(&after, cases[i].other_id, cases[i].other_cgroup);
        work(&after, 60);
        assert_int_equal(!isnan(rig_value(&after, THRESHOLD, "")), cases[i].same);
        release(&after);
        rig_release(&before);
    }
}

/* An ended container is in no state; its successor of the same path must not find two. */
TEST(what_has_ended_is_not_kept)
{
    static struct rig rig;
    learn(&rig, CALM);
    size_t live = save(&rig, NULL, 0);
    rig_end(&rig, &rig.containers[0]);
    assert_true(save(&rig, NULL, 0) < live / 2);
    rig_release(&rig);
}

TEST(saving_allocates_nothing)
{
    static struct rig rig;
    if (!malloc_count_works())
        skip();
    learn(&rig, CALM);
    size_t len = save(&rig, NULL, 0);
    uint8_t *room = malloc(len);
    uint64_t before = malloc_count();
    assert_int_equal(save(&rig, room, len), len);
    assert_int_equal(malloc_count() - before, 0);
    free(room);
    rig_release(&rig);
}

/* Damage with a right checksum: what is shown then is what a container could have learned. */
TEST(no_damage_is_published)
{
    static struct rig before, after;
    size_t len, believed = 0, refused = 0;
    learn(&before, USUAL);
    uint8_t *bytes = saved(&before, &len);
    for (size_t i = 24; i < len; i += 211) {
        uint8_t *copy = malloc(len);
        memcpy(copy, bytes, len);
        memset(copy + i, 0xff, len - i < 8 ? len - i : 8);
        state_seal(copy, len);
        struct state *kept = parsed(copy, len, before.tick.mono_ns);
        if (!kept) {
            refused++;
            continue;
        }
        start_again(&after, &before, kept);
        rig_container(&after, "a");
        work(&after, 60);
        work(&after, 60);
        double threshold = rig_value(&after, THRESHOLD, "");
        assert_true(isnan(threshold) || (threshold > 0 && threshold < 2e-3));
        *(isnan(threshold) ? &refused : &believed) += 1;
        release(&after);
    }
    assert_true(believed > 0 && refused > 0);
    free(bytes);
    rig_release(&before);
}

/* One impossible value, here the caches' part, and none of the container's is believed. */
TEST(what_is_damaged_is_thrown_away_whole)
{
    static struct rig before, after;
    size_t len;
    learn(&before, CALM);
    uint8_t *bytes = saved(&before, &len);
    memset(bytes + len - 8, 0xff, 8);
    state_seal(bytes, len);
    struct state *kept = parsed(bytes, len, before.tick.mono_ns);
    assert_non_null(kept);
    start_again(&after, &before, kept);
    rig_container(&after, "a");
    work(&after, 60);
    assert_true(isnan(rig_value(&after, THRESHOLD, "")));
    release(&after);
    rig_release(&before);
}

/* ---- slowdown ---- */

TEST(slowdown_is_there_at_once)
{
    void *rig;
    static struct rig with, without;
    assert_int_equal(slowdown_rig_setup_default(&rig), 0);
    struct rig *before = rig;
    rig_know(before);
    rig_disturb(before, load_disturbed);
    restart(&with, before);
    start_again(&without, before, NULL);
    struct rig *both[] = {&with, &without};
    for (int i = 0; i < 2; i++) {
        fake_group(&both[i]->fake, "a", GROUP_ASM_EPOCHS)->no_reading = true;
        fake_group(&both[i]->fake, "hog", GROUP_ASM_EPOCHS)->no_reading = true;
        rig_container(both[i], "a");
        rig_container(both[i], "hog");
        rig_disturb(both[i], load_disturbed);
    }
    double ratio = rig_of_a(before, C("slowdown_ratio"), "passive");
    assert_true(ratio > 1);
    assert_true(rig_of_a(&with, C("slowdown_ratio"), "passive") == ratio);
    assert_true(isnan(rig_of_a(&without, C("slowdown_ratio"), "passive")));
    release(&with);
    rig_release(&without);
    rig_release(before);
    free(before);
}

/* ---- the probe ---- */

static void probe(struct rig *rig)
{
    struct fake_group *g = fake_group(&rig->fake, "p0", GROUP_CORE);
    fake_window(g, 0, 500000, {ROLE_CYCLES, 1050000}, {ROLE_REF_CYCLES, 1050000},
                {ROLE_L3_MISS_READS, 5000}, {ROLE_L3_MISS_READ_OCCUPANCY, 5000 * 140});
    rig->fake.probes[rig->fake.n_probes++] = (struct probe_reading){.latency_ns = 90};
    rig_tick(rig);
}

static void probe_rig(struct rig *rig, struct state *state, uint64_t mono_ns, bool given)
{
    const struct source_thread thread = {.key = "p0", .kind = "probe", .tid = 1};
    memset(rig, 0, sizeof *rig);
    rig_init(rig, &probe_collector);
    assert_int_equal(inventory_add_thread(&rig->inventory, &thread), 0);
    rig->facts.cache_cycles_final = given;
    rig->env.state = state;
    rig->tick.mono_ns += mono_ns;
    rig_start(rig);
}

TEST(calibration_is_not_made_again)
{
    static struct rig before, after;
    size_t len;
    probe_rig(&before, NULL, 0, false);
    for (int i = 0; i < 60; i++)
        probe(&before);
    assert_true(before.facts.cache_cycles_final);
    assert_true(fabs(before.facts.machine.cache_cycles - 49) < 1e-6); /* 90 ns at 2.1 GHz: 189 */
    assert_true(before.facts.probe_calm_seconds > 0);
    for (int i = 0; i < 8; i++) {
        before.fake.probes[before.fake.n_probes++] =
            (struct probe_reading){.latency_ns = 90, .llc_hit_ns = 20 + i};
        rig_tick(&before);
    }
    assert_true(before.facts.llc_hit_seconds > 0);

    uint8_t *bytes = saved(&before, &len);
    struct state *kept = parsed(bytes, len, before.tick.mono_ns);
    probe_rig(&after, kept, before.tick.mono_ns, false);
    assert_true(after.facts.cache_cycles_final);
    assert_true(after.facts.machine.cache_cycles == before.facts.machine.cache_cycles);
    assert_true(after.facts.llc_hit_seconds == before.facts.llc_hit_seconds);
    probe(&after);
    assert_true(after.facts.probe_calm_seconds == before.facts.probe_calm_seconds);
    assert_true(after.facts.probe_best_seconds == before.facts.probe_best_seconds);
    release(&after);

    /* What the user says is better. */
    bytes = saved(&before, &len);
    kept = parsed(bytes, len, before.tick.mono_ns);
    probe_rig(&after, kept, before.tick.mono_ns, true);
    assert_true(after.facts.machine.cache_cycles == 44);
    release(&after);
    rig_release(&before);
}

/* A Zen, where the probe measures hits instead. */
static void zen_rig(struct rig *rig, struct state *state, uint64_t mono_ns)
{
    const struct source_thread thread = {.key = "p0", .kind = "probe", .tid = 1};
    memset(rig, 0, sizeof *rig);
    rig_init(rig, &probe_collector);
    assert_int_equal(inventory_add_thread(&rig->inventory, &thread), 0);
    rig->fake.lacks = 1u << GROUP_CORE;
    rig->facts.machine.cache_cycles = 0;
    rig->facts.cache_cycles_final = false;
    rig->facts.l1d_hit_cycles = 4;
    rig->env.state = state;
    rig->tick.mono_ns += mono_ns;
    rig_start(rig);
}

TEST(fills_are_not_measured_again)
{
    static struct rig before, after;
    size_t len;
    zen_rig(&before, NULL, 0);
    for (int i = 0; i < 8; i++) {
        struct fake_group *g = fake_group(&before.fake, "p0", GROUP_FILLS);
        fake_window(g, 0, 1000000, {ROLE_CYCLES, 2100000}, {ROLE_REF_CYCLES, 2100000},
                    {ROLE_L1D_FILLS_MEMORY, 5000}, {ROLE_L1D_MISS_OCCUPANCY, 5000 * 189});
        before.fake.probes[before.fake.n_probes++] =
            (struct probe_reading){.latency_ns = 90, .l2_hit_ns = 7, .llc_hit_ns = 24};
        rig_tick(&before);
    }
    assert_true(before.facts.cache_cycles_final);
    uint8_t *bytes = saved(&before, &len);
    zen_rig(&after, parsed(bytes, len, before.tick.mono_ns), before.tick.mono_ns);
    const struct machine *then = &before.facts.machine, *now = &after.facts.machine;
    assert_true(after.facts.cache_cycles_final);
    assert_true(now->l2_fill_cycles > 0 && now->l2_fill_cycles == then->l2_fill_cycles);
    assert_true(now->l3_fill_cycles > 0 && now->l3_fill_cycles == then->l3_fill_cycles);
    assert_true(now->cache_cycles == then->cache_cycles);
    release(&after);
    rig_release(&before);
}

/* ---- who makes memory slow ---- */

static void burst(struct rig *rig, double latency_ns)
{
    for (int node = 0; node < 2; node++)
        rig->fake.probes[rig->fake.n_probes++] =
            (struct probe_reading){.initiator_numa_node = node,
                                   .target_numa_node = node,
                                   .latency_ns = latency_ns * (1 + node),
                                   .cpu = -1};
    rig_tick(rig);
}

/* Beside a hog that never stops: 40 ns and 80 ns more than what is calm. */
TEST(calm_is_known_beside_a_hog)
{
    static struct rig before, with, without;
    const char *unknown = "numa_node=\"1\",by=\"unknown\"";
    memset(&before, 0, sizeof before);
    rig_init(&before, &attribution_collector);
    before.facts.machine.numa_nodes = 2;
    for (int node = 0; node < 2; node++) {
        const struct source_thread thread = {
            .key = "p", .kind = "probe", .tid = 1 + node, .cpu = node, .initiator_numa_node = node};
        assert_int_equal(inventory_add_thread(&before.inventory, &thread), 0);
    }
    rig_start(&before);
    for (int i = 0; i < 100; i++)
        burst(&before, 100);
    restart(&with, &before);
    start_again(&without, &before, NULL);
    for (int i = 0; i < 30; i++) {
        burst(&with, 140);
        burst(&without, 140);
    }
    double excess = rig_value(&with, "interference_memory_excess_latency_current_seconds", unknown);
    assert_true(excess > 75e-9 && excess < 85e-9);
    excess = rig_value(&without, "interference_memory_excess_latency_current_seconds", unknown);
    assert_true(isnan(excess));
    for (int i = 0; i < 40; i++)
        burst(&without, 140);
    excess = rig_value(&without, "interference_memory_excess_latency_current_seconds", unknown);
    assert_true(excess < 5e-9);
    release(&with);
    rig_release(&without);
    rig_release(&before);
}
