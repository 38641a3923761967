/* Nodes that are busy all day, on which a batch job makes memory slow for ten minutes; and healthy
 * nodes on which nothing of the kind happens. Thresholds and time above them, second by second, of
 * the collector as it runs. */
#include "collectors/table.h"
#include "tests/unit/support/collector_rig.h"
#include "tests/unit/support/draw.h"
#include "tests/unit/support/unit.h"

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
    fake_window(g, 0, 1000000000u, {ROLE_CYCLES, (uint64_t)hz}, {ROLE_REF_CYCLES, 2100000000u},
                {ROLE_INSTRUCTIONS, (uint64_t)hz}, {ROLE_L3_MISS_READS, n},
                {ROLE_L3_MISS_READ_OCCUPANCY, (uint64_t)((double)n * beyond_seconds * hz)});
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
    double rate;   /* reads per second of all services */
    double drifts; /* each one's, slowly: its standard deviation in the logarithm */
    bool swings;   /* 9:1 in twenty minutes, all together */
    bool switches; /* each works for some minutes, and rests for some */
    int spike_end; /* threefold for ten seconds before this one */
    /* The memory controllers are visible, so that the batch job need not be monitored. */
    bool controllers;
};

enum { MOST = 24 };

/* What memory takes beyond the caches, at this share of the bandwidth. */
static double beyond(double load)
{
    return 70e-9 * (1 + 0.5 * load * load / (1 - load));
}

struct service {
    char key[16], label[32];
    double wander, drift, rate;
    int until; /* it switches */
    bool rests;
    double over[END / MINUTE + 1]; /* in all, after so many minutes */
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
        fake_window(g, 0, 1000000000u, {ROLE_CAS_READS, (uint64_t)(0.7 * lines)},
                    {ROLE_CAS_WRITES, (uint64_t)(0.3 * lines)});
    }
}

static double rate_of(struct service *s, const struct kind *kind, int services, int t)
{
    s->wander = 0.98 * s->wander + 0.03 * normal_noise();
    s->drift = 0.998 * s->drift + 0.063 * normal_noise();
    double rate = kind->rate / services * exp(s->wander + kind->drifts * s->drift);
    if (kind->swings)
        rate *= (1 + 8 * (0.5 + 0.5 * sin(2 * M_PI * t / (20.0 * MINUTE)))) / 9;
    if (t < kind->spike_end && t >= kind->spike_end - 10)
        rate *= 3;
    if (kind->switches && t >= s->until) {
        s->rests = !s->rests && t > 0;
        s->until = t + MINUTE + (int)(draw_unit(&random_state) * 7 * MINUTE);
    }
    return s->rests ? 0.2 * rate : rate;
}

static void live_through(struct rig *rig, const struct kind *kind, int services,
                         struct service *all)
{
    for (int i = 0; i < services; i++) {
        struct service *s = &all[i];
        *s = (struct service){.wander = 0};
        snprintf(s->key, sizeof s->key, "s%d", i);
        snprintf(s->label, sizeof s->label, "container=\"s%d\"", i);
        rig_container(rig, s->key);
    }
    if (!kind->controllers)
        rig_container(rig, "batch");
    for (int t = 0; t < END; t++) {
        bool incident = t >= INCIDENT && t < INCIDENT_END;
        double reads = 0;
        for (int i = 0; i < services; i++)
            reads += all[i].rate = rate_of(&all[i], kind, services, t);
        double latency = beyond(fmin(reads / 600e6, 0.9)) * (incident ? 1.35 : 1);
        if (!kind->controllers)
            work(rig, "batch", incident ? 150e6 : 0, latency, 2.1e9);
        move(rig, reads + (incident ? 150e6 : 0));
        for (int i = 0; i < services; i++)
            work(rig, all[i].key, all[i].rate,
                 latency * (1 + 0.1 * (i % 5)) * exp(0.03 * normal_noise()), 2.1e9);
        rig_tick(rig);
        for (int i = 0; i < services && (t + 1) % (5 * MINUTE) == 0; i++)
            all[i].over[(t + 1) / MINUTE] = over_of(rig, all[i].label);
    }
}

struct seen {
    int containers, right, thresholds;
    double least, most, outside; /* as shares of the incident's length */
};

static void judge(struct rig *rig, const struct service *s, struct seen *seen)
{
    const double length = INCIDENT_END - INCIDENT;
    double outside =
        s->over[INCIDENT / MINUTE] + s->over[END / MINUTE] - s->over[INCIDENT_END / MINUTE];
    double share = s->over[END / MINUTE] / length;
    seen->containers++;
    seen->right += share >= 0.8 && share <= 1.15;
    seen->thresholds +=
        !isnan(rig_value(rig, C("memory_read_latency_threshold_seconds"), s->label));
    seen->least = fmin(seen->least, share);
    seen->most = fmax(seen->most, share);
    seen->outside = fmax(seen->outside, outside / length);
}

static const int tenants[] = {2, 3, 4, 6, 8, 12, 16, 20};
enum { SEEDS = 2, TENANTS = sizeof tenants / sizeof *tenants };

static void live_as(void **state, const struct kind *kind, int services, int seed,
                    struct seen *seen)
{
    struct rig *rig = *state;
    static struct service all[MOST];
    rig_release(rig);
    free(rig);
    *state = rig = new_rig(kind->controllers);
    random_state = DRAW_SEED + (uint64_t)(1000 * seed + services);
    live_through(rig, kind, services, all);
    for (int i = 0; i < services; i++)
        judge(rig, &all[i], seen);
}

/* Of any size: of ten minutes in which memory takes a third longer, each container counts 80 to
 * 115 %, and before and after nothing to speak of. */
TEST_WITH(on_every_busy_node_the_incident_is_seen, setup, rig_teardown)
{
    static const struct kind kinds[] = {
        {.name = "services", .rate = 240e6},
        {.name = "services that drift", .rate = 240e6, .drifts = 0.15},
        {.name = "small services", .rate = 24e6, .drifts = 0.1},
        {.name = "load that swings 9:1", .rate = 240e6, .swings = true},
        {.name = "tenants that come and go", .rate = 200e6, .switches = true},
        {.name = "one spike of ten seconds", .rate = 200e6, .spike_end = 110},
        {.name = "visible controllers", .rate = 240e6, .swings = true, .controllers = true},
    };
    bool good = true;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct seen seen = {.least = INFINITY};
        for (int i = 0; i < TENANTS * SEEDS; i++)
            live_as(state, &kinds[k], tenants[i % TENANTS], i / TENANTS, &seen);
        print_message("%-26s right %d of %d, thresholds %d; above for %.2f to %.2f of it, "
                      "outside %.2f\n",
                      kinds[k].name, seen.right, seen.containers, seen.thresholds, seen.least,
                      seen.most, seen.outside);
        good &= seen.right >= 0.95 * seen.containers && seen.outside <= 0.15 &&
                seen.thresholds == seen.containers;
    }
    assert_true(good);
}

/* ---- healthy nodes ---- */

/* An idle night: what is left reads little, on a core at its lowest frequency, where looking
 * through the caches alone takes three times as long. */
RIG_TEST(an_idle_night_is_no_interference, setup)
{
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

RIG_TEST(another_frequency_is_no_interference, setup)
{
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
    for (int i = 0; i < 2; i++) {
        work(rig, "a", 100000, 60e-9 * 1.27, 1e9);
        rig_tick(rig);
    }
    assert_true(over_of(rig, "") == 2);
}

/* A hog that is filtered out: its victim's loaded latency is not what it sees when left alone. */
RIG_TEST(a_neighbour_that_is_not_monitored_is_not_silent, setup)
{
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

static double changes_to(struct rig *rig, const char *basis)
{
    return rig_value(rig, "interference_exporter_baseline_changes", basis);
}

/* Its neighbour works for eleven minutes, and then rests. */
RIG_TEST(another_basis_is_counted, setup)
{
    rig_container(rig, "a");
    rig_container(rig, "b");
    for (int i = 0; i < 690; i++) {
        work(rig, "a", 100000, 80e-9, 2.1e9);
        work(rig, "b", i < 670 ? 100e6 : 0, 80e-9, 2.1e9);
        rig_tick(rig);
    }
    assert_true(changes_to(rig, "basis=\"calm\"") == 1);
    for (size_t i = 0; i < 3; i++) {
        static const char *const others[] = {"extrapolated", "usual", "machine"};
        char label[32];
        snprintf(label, sizeof label, "basis=\"%s\"", others[i]);
        assert_true(changes_to(rig, label) == 0); /* the first is no change */
    }
}
