/* Nodes that are busy all day, on which a batch job makes memory slow for ten minutes; and healthy
 * nodes on which nothing of the kind happens. Thresholds and time above them, second by second, of
 * the collector as it runs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collectors/table.h"
#include "tests/unit/support/collector_rig.h"
#include "tests/unit/support/draw.h"

#define C(n) "interference_container_" n

enum { MINUTE = 60, INCIDENT = 40 * MINUTE, INCIDENT_END = 50 * MINUTE, END = 65 * MINUTE };

static uint64_t random_state;

static double normal_noise(void)
{
    return sqrt(-2 * log(draw_unit(&random_state) + 1e-300)) *
           cos(2 * M_PI * draw_unit(&random_state));
}

/* A second on one CPU: reads that take so long beyond the caches, at this frequency. */
static void work(struct rig *rig, const char *key, double reads, double beyond_seconds, double hz)
{
    struct fake_group *g = fake_group(&rig->fake, key, GROUP_CORE);
    uint64_t n = (uint64_t)reads;
    fake_group_run(g, 0, 1000000000u);
    fake_group_add(g, 0, ROLE_CYCLES, (uint64_t)hz);
    fake_group_add(g, 0, ROLE_REF_CYCLES, 2100000000u);
    fake_group_add(g, 0, ROLE_INSTRUCTIONS, (uint64_t)hz);
    fake_group_add(g, 0, ROLE_L3_MISS_READS, n);
    fake_group_add(g, 0, ROLE_L3_MISS_READ_OCCUPANCY, (uint64_t)((double)n * beyond_seconds * hz));
}

static struct rig *new_rig(bool controllers)
{
    struct rig *rig = malloc(sizeof *rig);
    random_state = DRAW_SEED;
    rig_init(rig, &core_latency_collector);
    rig->facts.machine.sockets = 2;
    rig->facts.machine.numa_nodes = 2; /* the probe says nothing about what they read */
    for (int i = 0; i < 2 && controllers; i++) {
        struct source_unit unit = {.kind = "imc", .socket = i};
        snprintf(unit.key, sizeof unit.key, "imc%d", i);
        assert_int_equal(inventory_add_unit(&rig->inventory, &unit), 0);
        rig->facts.containers_unseen = 1;
    }
    rig_start(rig);
    return rig;
}

static int setup(void **state)
{
    *state = new_rig(false);
    return 0;
}

/* ---- busy nodes ---- */

struct kind {
    const char *name;
    int services;
    double rate;   /* reads per second of each */
    bool swings;   /* 9:1 in twenty minutes, all together */
    int spike_end; /* threefold for ten seconds before this one */
    /* The memory controllers are visible, so that the batch job need not be monitored. */
    bool controllers;
};

enum { MOST = 32 };

/* What memory takes beyond the caches, at this share of the bandwidth. */
static double beyond(double load)
{
    return 70e-9 * (1 + 0.5 * load * load / (1 - load));
}

struct seen {
    double over_before, before, over, during, over_after, after;
    int first, thresholds;
};

static double over_of(struct rig *rig, const char *label)
{
    double over = rig_value(rig, C("memory_read_latency_over_threshold_seconds"), label);
    return isnan(over) ? 0 : over;
}

/* A second of all that the node moves: for each demand read half a line more, prefetched or
 * written. */
static void move(struct rig *rig, double reads)
{
    for (size_t i = 0; i < rig->inventory.n_units; i++) {
        struct fake_group *g = fake_group(&rig->fake, rig->inventory.units[i].key, GROUP_CAS);
        double lines = 1.5 * reads / (double)rig->inventory.n_units;
        fake_group_run(g, 0, 1000000000u);
        fake_group_add(g, 0, ROLE_CAS_READS, (uint64_t)(0.7 * lines));
        fake_group_add(g, 0, ROLE_CAS_WRITES, (uint64_t)(0.3 * lines));
    }
}

static void live_through(struct rig *rig, const struct kind *kind, struct seen *seen)
{
    char key[MOST][16], label[MOST][32];
    double wander[MOST] = {0}, rate[MOST], last[MOST] = {0};
    *seen = (struct seen){.first = -1};
    for (int i = 0; i < kind->services; i++) {
        snprintf(key[i], sizeof key[i], "s%d", i);
        snprintf(label[i], sizeof label[i], "container=\"s%d\"", i);
        rig_container(rig, key[i]);
    }
    if (!kind->controllers)
        rig_container(rig, "batch");
    for (int t = 0; t < END; t++) {
        bool incident = t >= INCIDENT && t < INCIDENT_END;
        double all = 0;
        for (int i = 0; i < kind->services; i++) {
            wander[i] = 0.98 * wander[i] + 0.06 * normal_noise();
            rate[i] = kind->rate * exp(0.5 * wander[i]);
            if (kind->swings)
                rate[i] *= (1 + 8 * (0.5 + 0.5 * sin(2 * M_PI * t / (20.0 * MINUTE)))) / 9;
            if (t < kind->spike_end && t >= kind->spike_end - 10)
                rate[i] *= 3;
            all += rate[i];
        }
        double latency = beyond(fmin(all / 600e6, 0.9)) * (incident ? 1.35 : 1);
        if (!kind->controllers)
            work(rig, "batch", incident ? 150e6 : 0, latency, 2.1e9);
        move(rig, all + (incident ? 150e6 : 0));
        for (int i = 0; i < kind->services; i++)
            work(rig, key[i], rate[i], latency * (1 + 0.1 * (i % 5)) * exp(0.03 * normal_noise()),
                 2.1e9);
        rig_tick(rig);
        /* Every fourth is looked at, which is cheaper and tells as much. */
        for (int i = 0; i < kind->services && t >= 30 * MINUTE - 1; i += 4) {
            if (t == 30 * MINUTE - 1)
                seen->thresholds +=
                    !isnan(rig_value(rig, C("memory_read_latency_threshold_seconds"), label[i]));
            double over = over_of(rig, label[i]) - last[i];
            last[i] += over;
            if (t < 30 * MINUTE)
                continue;
            *(incident       ? &seen->over
              : t < INCIDENT ? &seen->over_before
                             : &seen->over_after) += over;
            *(incident ? &seen->during : t < INCIDENT ? &seen->before : &seen->after) += 1;
        }
        if (incident && seen->first < 0 && seen->over >= 0.5 * seen->during)
            seen->first = t - INCIDENT;
    }
}

static void on_every_busy_node_the_incident_is_seen(void **state)
{
    static const struct kind kinds[] = {
        {.name = "thirty steady services", .services = 30, .rate = 8e6},
        {.name = "four big tenants", .services = 4, .rate = 60e6},
        {.name = "small services", .services = 24, .rate = 1e6},
        {.name = "load that swings 9:1", .services = 20, .rate = 12e6, .swings = true},
        {.name = "one spike of ten seconds", .services = 20, .rate = 10e6, .spike_end = 110},
        {.name = "visible controllers",
         .services = 20,
         .rate = 12e6,
         .swings = true,
         .controllers = true},
    };
    struct rig *rig = *state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (k > 0) {
            rig_release(rig);
            free(rig);
            *state = rig = new_rig(kinds[k].controllers);
        }
        struct seen seen;
        live_through(rig, &kinds[k], &seen);
        int looked_at = (kinds[k].services + 3) / 4;
        double before = seen.over_before / seen.before, during = seen.over / seen.during;
        double after = seen.over_after / seen.after;
        print_message("%-26s thresholds %d of %d; above: %.3f before, %.3f during, %.3f after; "
                      "seen after %d s\n",
                      kinds[k].name, seen.thresholds, looked_at, before, during, after, seen.first);
        assert_true(seen.thresholds >= 0.95 * looked_at);
        assert_in_range(seen.first, 0, 90);
        assert_true(during >= 0.8);
        assert_true(before < 0.05);
        assert_true(after < 0.05);
    }
}

/* ---- healthy nodes ---- */

/* An idle night: what is left reads little, on a core at its lowest frequency, where looking
 * through the caches alone takes three times as long. */
static void an_idle_night_is_no_interference(void **state)
{
    struct rig *rig = *state;
    rig_container(rig, "a");
    for (int i = 0; i < 20; i++) {
        work(rig, "a", 100000, 60e-9, 3.5e9);
        rig_tick(rig);
    }
    for (int i = 0; i < 60; i++) {
        work(rig, "a", 200, 60e-9, 1e9);
        rig_tick(rig);
    }
    assert_true(rig_value(rig, C("memory_read_latency_observed_seconds"), "") == 20);
    assert_true(over_of(rig, "") == 0);
    double latency = rig_value(rig, C("memory_read_latency_seconds"), "");
    assert_true(fabs(latency - 104e-9) < 1e-11);
}

static void another_frequency_is_no_interference(void **state)
{
    struct rig *rig = *state;
    rig_container(rig, "a");
    for (int i = 0; i < 80; i++) {
        double hz = i < 20 ? 3.5e9 : 1e9;
        work(rig, "a", 100000, 60e-9, hz);
        rig_tick(rig);
        if (i < 20)
            continue;
        double latency = rig_value(rig, C("memory_read_latency_seconds"), "");
        double baseline = rig_value(rig, C("memory_read_latency_baseline_seconds"), "");
        assert_true(fabs(latency - baseline) < 1e-12); /* both at this frequency */
    }
    assert_true(rig_value(rig, C("memory_read_latency_observed_seconds"), "") == 80);
    assert_true(over_of(rig, "") == 0);
    work(rig, "a", 100000, 60e-9 * 1.26, 1e9);
    rig_tick(rig);
    assert_true(over_of(rig, "") == 1);
}

/* A hog that is filtered out: its victim's loaded latency is not what it sees when left alone. */
static void a_neighbour_that_is_not_monitored_is_not_silent(void **state)
{
    struct rig *rig = *state;
    rig->facts.containers_unseen = 1;
    rig_container(rig, "a");
    for (int i = 0; i < 700; i++) {
        work(rig, "a", 100000, 140e-9, 2.1e9);
        rig_tick(rig);
        assert_true(
            isnan(rig_value(rig, C("memory_read_latency_baseline_seconds"), "basis=\"calm\"")));
    }
    assert_false(
        isnan(rig_value(rig, C("memory_read_latency_baseline_seconds"), "basis=\"usual\"")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, rig_teardown)
        T(on_every_busy_node_the_incident_is_seen),
        T(an_idle_night_is_no_interference),
        T(another_frequency_is_no_interference),
        T(a_neighbour_that_is_not_monitored_is_not_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
