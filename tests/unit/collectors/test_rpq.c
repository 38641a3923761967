#include "collectors/table.h"
#include "tests/unit/support/collector_rig.h"
#include "tests/unit/support/unit.h"

#define SECOND 1000000000u

static void add_unit(struct rig *rig, const char *key, int socket, int imc, int channel)
{
    struct source_unit unit = {.kind = "imc", .socket = socket, .imc = imc, .channel = channel};
    strcpy(unit.key, key);
    assert_int_equal(inventory_add_unit(&rig->inventory, &unit), 0);
}

static void count(struct rig *rig, const char *key, enum group group, uint64_t clockticks,
                  uint64_t inserts, uint64_t occupancy)
{
    struct fake_group *g = fake_group(&rig->fake, key, group);
    fake_group_run(g, 0, SECOND);
    fake_group_add(g, 0, group_descs[group].roles[0], clockticks);
    fake_group_add(g, 0, group_descs[group].roles[1], inserts);
    fake_group_add(g, 0, group_descs[group].roles[2], occupancy);
}

static struct rig *rig_of(const struct collector_ops *ops)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, ops);
    return rig;
}

static void done(struct rig *rig)
{
    rig_release(rig);
    free(rig);
}

/* FORMULAS.md section 2: 60 ticks at 1.4665 GHz, 40.914 ns, plus 14.3 ns. */
TEST(the_worked_number)
{
    struct rig *rig = rig_of(&imc_rpq_collector);
    rig->facts.machine.cas_latency_seconds = 14.3e-9;
    add_unit(rig, "imc0", 0, 0, 0);
    rig_start(rig);
    count(rig, "imc0", GROUP_RPQ, 1466500000, 10000000, 600000000);
    assert_int_equal(rig_tick(rig), 0);
    double latency = rig_value(rig, "interference_imc_read_latency_seconds", "");
    assert_true(fabs(latency - 55.214e-9) < 1e-12);
    assert_true(rig_value(rig, "interference_imc_read_queue_inserts", "imc=\"0\"") == 10000000);
    assert_true(rig_value(rig, "interference_imc_clockticks", "") == 1466500000);
    assert_true(rig_value(rig, "interference_imc_cas_latency_seconds", "") == 14.3e-9);
    done(rig);
}

/* A socket that sleeps nine tenths of the window: the clock stood still, and so did the queue. */
TEST(a_clock_that_stops_does_not_lengthen_reads)
{
    struct rig *rig = rig_of(&imc_rpq_collector);
    rig->facts.machine.cas_latency_seconds = 14.3e-9;
    add_unit(rig, "imc0", 0, 0, 0);
    add_unit(rig, "imc1", 0, 1, 0);
    add_unit(rig, "imc2", 1, 0, 0);
    rig_start(rig);
    count(rig, "imc0", GROUP_RPQ, 1466500000, 10000000, 600000000);
    count(rig, "imc1", GROUP_RPQ, 0, 0, 0); /* a channel without DIMMs does not tick */
    rig_tick(rig);
    const char *latency = "interference_imc_read_latency_seconds";
    assert_true(fabs(rig_value(rig, latency, "imc=\"0\"") - 55.214e-9) < 1e-12);
    count(rig, "imc0", GROUP_RPQ, 146650000, 1000000, 60000000);
    count(rig, "imc1", GROUP_RPQ, 0, 1000, 60000);
    rig_tick(rig);
    assert_true(fabs(rig_value(rig, latency, "imc=\"0\"") - 55.214e-9) < 1e-12);
    assert_true(fabs(rig_value(rig, latency, "imc=\"1\"") - 55.214e-9) < 1e-12);
    const char *frequency = "interference_imc_frequency_hertz";
    assert_true(fabs(rig_value(rig, frequency, "socket=\"0\"") - 1.4665e9) < 1);
    assert_true(isnan(rig_value(rig, frequency, "socket=\"1\""))); /* never ticked */
    done(rig);
}

/* It slept from the start on: its clock is not known before it was awake for a while. */
TEST(on_a_socket_that_sleeps_the_clock_is_not_known)
{
    struct rig *rig = rig_of(&imc_rpq_collector);
    rig->facts.machine.cas_latency_seconds = 14.3e-9;
    add_unit(rig, "imc0", 0, 0, 0);
    rig_start(rig);
    for (int i = 0; i < 3; i++) {
        count(rig, "imc0", GROUP_RPQ, 146650000, 1000000, 60000000); /* 423 ns by this clock */
        rig_tick(rig);
        assert_true(isnan(rig_value(rig, "interference_imc_read_latency_seconds", "")));
        assert_true(isnan(rig_value(rig, "interference_imc_frequency_hertz", "")));
    }
    assert_true(rig_value(rig, "interference_imc_read_queue_inserts", "") == 3000000);
    count(rig, "imc0", GROUP_RPQ, 1466500000, 10000000, 600000000);
    rig_tick(rig);
    double latency = rig_value(rig, "interference_imc_read_latency_seconds", "");
    assert_true(fabs(latency - 55.214e-9) < 1e-12);
    done(rig);
}

/* Two channels: occupancies 3e8 + 1e8 over inserts 2e6 + 8e6 are 40 ticks, not the mean of 150
 * and 12.5; the clock is counted once. */
TEST(channels_are_summed_before_dividing)
{
    struct rig *rig = rig_of(&imc_rpq_collector);
    rig_flag(rig, "--collector.imc_rpq.cas-latency=10ns");
    rig->facts.machine.cas_latency_seconds = 14.3e-9; /* the flag wins */
    add_unit(rig, "imc0.0", 0, 0, 0);
    add_unit(rig, "imc0.1", 0, 0, 1);
    rig_start(rig);
    count(rig, "imc0.0", GROUP_RPQ, 1000000000, 2000000, 300000000);
    count(rig, "imc0.1", GROUP_RPQ, 1000000000, 8000000, 100000000);
    rig_tick(rig);
    double latency = rig_value(rig, "interference_imc_read_latency_seconds", "");
    assert_true(fabs(latency - 50e-9) < 1e-15);
    assert_true(rig_value(rig, "interference_imc_clockticks", "") == 1000000000);
    assert_true(rig_value(rig, "interference_imc_read_queue_inserts", "") == 10000000);
    done(rig);
}

TEST(sockets_and_controllers_are_apart)
{
    struct rig *rig = rig_of(&imc_rpq_collector);
    rig_flag(rig, "--collector.imc_rpq.cas-latency=10ns");
    add_unit(rig, "a", 0, 0, 0);
    add_unit(rig, "b", 0, 1, 0);
    add_unit(rig, "c", 1, 0, 0);
    rig_start(rig);
    count(rig, "a", GROUP_RPQ, 1000000000, 100, 1000);
    count(rig, "b", GROUP_RPQ, 1000000000, 200, 4000);
    count(rig, "c", GROUP_RPQ, 1000000000, 300, 9000);
    rig_tick(rig);
    const char *latency = "interference_imc_read_latency_seconds";
    assert_true(fabs(rig_value(rig, latency, "socket=\"0\",imc=\"0\"") - 20e-9) < 1e-15);
    assert_true(fabs(rig_value(rig, latency, "socket=\"0\",imc=\"1\"") - 30e-9) < 1e-15);
    assert_true(fabs(rig_value(rig, latency, "socket=\"1\",imc=\"0\"") - 40e-9) < 1e-15);
    done(rig);
}

TEST(without_the_column_access_time_there_is_no_latency)
{
    struct rig *rig = rig_of(&imc_rpq_collector);
    add_unit(rig, "imc0", 0, 0, 0);
    rig_start(rig);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_non_null(strstr(rig->status.verdict.words, "--collector.imc_rpq.cas-latency"));
    count(rig, "imc0", GROUP_RPQ, 1466500000, 10000000, 600000000);
    rig_tick(rig);
    assert_true(isnan(rig_value(rig, "interference_imc_read_latency_seconds", "")));
    assert_true(isnan(rig_value(rig, "interference_imc_cas_latency_seconds", "")));
    assert_true(rig_value(rig, "interference_imc_read_queue_inserts", "") == 10000000);
    done(rig);
}

/* A PMM entry stays until it is served: nothing is added. */
TEST(persistent_memory_adds_nothing)
{
    struct rig *rig = rig_of(&pmm_rpq_collector);
    rig_flag(rig, "--collector.imc_rpq.cas-latency=14.3ns");
    add_unit(rig, "imc0", 0, 0, 0);
    rig_start(rig);
    count(rig, "imc0", GROUP_PMM_RPQ, 1000000000, 1000, 200000);
    rig_tick(rig);
    double latency = rig_value(rig, "interference_pmm_read_latency_seconds", "");
    assert_true(fabs(latency - 200e-9) < 1e-15);
    rig_tick(rig); /* an idle window: no latency, counters hold */
    assert_true(isnan(rig_value(rig, "interference_pmm_read_latency_seconds", "")));
    assert_true(rig_value(rig, "interference_pmm_read_queue_inserts", "") == 1000);
    done(rig);
}

TEST(no_controllers_is_a_reason_never_a_zero)
{
    struct rig *rig = rig_of(&imc_rpq_collector);
    struct verdict why;
    assert_false(imc_rpq_collector.probe(&rig->env, &why));
    assert_int_equal(why.reason, REASON_NO_DEVICE);
    assert_string_equal(why.words, "no memory controller can count reads of DRAM");
    /* The source knows better why. */
    verdict_set(&rig->fake.check, REASON_NO_PERMISSION, "ask the administrator");
    assert_false(pmm_rpq_collector.probe(&rig->env, &why));
    assert_int_equal(why.reason, REASON_NO_PERMISSION);
    assert_string_equal(why.words, "ask the administrator");
    done(rig);
}

static const char pmm_latency[] = "interference_pmm_read_latency_seconds";
static const char pmm_inserts[] = "interference_pmm_read_queue_inserts";
static const char pmm_occupancy[] = "interference_pmm_read_queue_occupancy_cycles";

/* Sapphire Rapids counts inserts for both subchannels together, occupancy for each: 900 + 300 ticks
 * over 4 inserts at 1 GHz are 300 ns. Without either part there is no number, not a smaller one. */
TEST(inserts_may_be_counted_once_for_all_channels)
{
    struct rig *rig = rig_of(&pmm_rpq_collector);
    add_unit(rig, "imc0.0", 0, 0, 0);
    add_unit(rig, "imc0.1", 0, 0, 1);
    rig_start(rig);
    struct fake_group *second = fake_group(&rig->fake, "imc0.1", GROUP_PMM_RPQ);
    second->present = 1 << 0 | 1 << 2;
    count(rig, "imc0.0", GROUP_PMM_RPQ, 1000000000, 4, 900);
    count(rig, "imc0.1", GROUP_PMM_RPQ, 1000000000, 0, 300);
    rig_tick(rig);
    assert_true(fabs(rig_value(rig, pmm_latency, "") - 300e-9) < 1e-15);
    assert_true(rig_value(rig, pmm_inserts, "") == 4);
    assert_true(rig_value(rig, pmm_occupancy, "") == 1200);

    count(rig, "imc0.0", GROUP_PMM_RPQ, 1000000000, 4, 900);
    second->enabled_ns[0] += SECOND; /* others held its counters: starved */
    rig_tick(rig);
    assert_true(isnan(rig_value(rig, pmm_latency, "")));
    assert_true(rig_value(rig, pmm_inserts, "") == 4);
    assert_true(rig_value(rig, pmm_occupancy, "") == 1200);
    assert_int_equal(rig->status.discarded[DISCARD_STARVED], 1);

    count(rig, "imc0.0", GROUP_PMM_RPQ, 1000000000, 4, 900);
    second->read_error = -EIO;
    assert_int_equal(rig_tick(rig), -EIO);
    assert_true(isnan(rig_value(rig, pmm_latency, "")));
    /* Its next window also holds what went unread: more than the first channel's. */
    second->read_error = 0;
    count(rig, "imc0.0", GROUP_PMM_RPQ, 1000000000, 5, 700);
    count(rig, "imc0.1", GROUP_PMM_RPQ, 1000000000, 0, 1300);
    rig_tick(rig);
    assert_true(isnan(rig_value(rig, pmm_latency, "")));
    count(rig, "imc0.0", GROUP_PMM_RPQ, 1000000000, 5, 700);
    count(rig, "imc0.1", GROUP_PMM_RPQ, 1000000000, 0, 1300);
    rig_tick(rig);
    assert_true(fabs(rig_value(rig, pmm_latency, "") - 400e-9) < 1e-15);
    assert_true(rig_value(rig, pmm_inserts, "") == 9);
    assert_true(rig_value(rig, pmm_occupancy, "") == 3200);
    done(rig);
}

/* Units of a recording whose machine had no such queue: no zeros, and a reason. */
TEST(units_that_never_speak_have_no_series)
{
    struct rig *rig = rig_of(&pmm_rpq_collector);
    add_unit(rig, "imc0.0", 0, 0, 0);
    add_unit(rig, "imc0.1", 0, 0, 1);
    rig_start(rig);
    struct fake_group *first = fake_group(&rig->fake, "imc0.0", GROUP_PMM_RPQ);
    struct fake_group *second = fake_group(&rig->fake, "imc0.1", GROUP_PMM_RPQ);
    first->no_reading = second->no_reading = true;
    assert_int_equal(rig_tick(rig), 0);
    assert_int_equal(rig_series(rig, "socket"), 0);
    assert_true(rig->status.unavailable);
    assert_int_equal(rig->status.verdict.reason, REASON_NO_DEVICE);
    assert_string_equal(rig->status.verdict.words,
                        "the recording has no counts of reads of persistent memory");

    /* One channel has the queue, as on Ice Lake: it alone is the controller's. */
    first->no_reading = false;
    count(rig, "imc0.0", GROUP_PMM_RPQ, 1000000000, 10, 2000);
    assert_int_equal(rig_tick(rig), 0);
    assert_false(rig->status.unavailable);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_true(fabs(rig_value(rig, pmm_latency, "") - 200e-9) < 1e-15);
    /* But once it spoke, it is missed. */
    first->no_reading = true;
    assert_int_equal(rig_tick(rig), 0);
    assert_true(isnan(rig_value(rig, pmm_latency, "")));
    assert_true(rig_value(rig, pmm_inserts, "") == 10);
    assert_false(rig->status.unavailable);
    done(rig);
}

TEST(a_refusal_of_all_units_keeps_its_reason)
{
    struct rig *rig = rig_of(&imc_rpq_collector);
    add_unit(rig, "imc0", 0, 0, 0);
    verdict_set(&rig->fake.open_error, REASON_FD_LIMIT, "no descriptors");
    void *collector = NULL;
    assert_true(imc_rpq_collector.probe(&rig->env, &rig->status.verdict));
    assert_int_equal(imc_rpq_collector.start(&rig->env, &rig->status, &collector), -EMFILE);
    assert_null(collector);
    assert_int_equal(rig->status.verdict.reason, REASON_FD_LIMIT);
    assert_int_equal(rig->status.open_failures[REASON_FD_LIMIT], 1);
    done(rig);
}
