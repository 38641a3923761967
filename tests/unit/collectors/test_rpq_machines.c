/*
 * imc_rpq and pmm_rpq from sysfs to published metrics, on each CPU with a table: two sockets, boxes
 * of four counters that count by Intel's event numbers, both collectors at once.
 */
#include "collectors/events/events.h"
#include "collectors/parts/cas_traffic.h"
#include "collectors/table.h"
#include "exporter/daemon/sources.h"
#include "tests/unit/support/imc_machine.h"
#include "tests/unit/support/unit.h"

static const char clockticks[] = "interference_imc_clockticks";
static const char inserts[] = "interference_imc_read_queue_inserts";
static const char occupancy[] = "interference_imc_read_queue_occupancy_cycles";
static const char latency[] = "interference_imc_read_latency_seconds";
static const char pmm_inserts[] = "interference_pmm_read_queue_inserts";
static const char pmm_occupancy[] = "interference_pmm_read_queue_occupancy_cycles";
static const char pmm_latency[] = "interference_pmm_read_latency_seconds";

static const char first[] = "socket=\"0\",imc=\"0\"";
static const char second[] = "socket=\"1\",imc=\"1\"";

static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= fabs(expected) * 1e-12))
        fail_msg("%.17g instead of %.17g", value, expected);
}

/* Events that are open on socket 0's first box, and on all of them. */
static size_t open_on_box(const struct fake_pmu *pmu, size_t *everywhere)
{
    size_t n = 0;
    *everywhere = 0;
    for (int i = 0; i < FAKE_PMU_EVENTS; i++) {
        const struct fake_event *event = &pmu->events[i];
        *everywhere += event->used;
        n += event->used && event->attr.type == FAKE_PMU_UNCORE_TYPE && event->cpu == 0;
    }
    return n;
}

/* What the rates in imc_machine.h come to, by hand, at 1.5 GHz: a tick is 2/3 ns. */
struct expected {
    const struct imc_machine *machine;
    size_t events;       /* open on each box */
    double share;        /* of the time that each group counts, since they take turns */
    double inserts;      /* per microsecond, all channels: 10, 10 + 20, 10 + 20 + 30 + 40 */
    double occupancy[2]; /* per microsecond, of the first and second controller */
    double ticks[2];     /* occupancy / inserts: 30, (300 + 840) / 30, 5400 / 100 and so on */
    bool pmm;            /* 1800 / 4 = 450 ticks on socket 0, 2400 / 4 = 600 on socket 1 */
};

static const struct expected expectations[] = {
    {&imc_skx, 3, 1, 10, {300, 660}, {30, 66}, false},
    {&imc_clx, 6, 1 / 2.0, 10, {300, 660}, {30, 66}, true},
    {&imc_icx, 7, 1 / 2.0, 30, {1140, 2220}, {38, 74}, true},
    {&imc_spr, 8, 1 / 2.0, 30, {1140, 2220}, {38, 74}, true},
    {&imc_emr, 8, 1 / 2.0, 30, {1140, 2220}, {38, 74}, true},
    {&imc_gnr, 8, 1 / 2.0, 100, {5400, 9000}, {54, 90}, false},
};

static void check_dram(struct rig *rig, const struct expected *want, double us)
{
    const char *const at[] = {first, second};
    for (int i = 0; i < 2; i++) {
        assert_true(rig_value(rig, clockticks, at[i]) == 1500 * us);
        assert_true(rig_value(rig, inserts, at[i]) == want->inserts * us);
        assert_true(rig_value(rig, occupancy, at[i]) == want->occupancy[i] * us);
        near(rig_value(rig, latency, at[i]), want->ticks[i] / 1.5e9 + 14.3e-9);
    }
}

static void check_pmm(struct rig *rig, double us)
{
    near(rig_value(rig, pmm_latency, first), 300e-9);
    near(rig_value(rig, pmm_latency, second), 400e-9);
    assert_true(rig_value(rig, pmm_inserts, first) == 4 * us);
    assert_true(rig_value(rig, pmm_occupancy, first) == 1800 * us);
    assert_true(rig_value(rig, pmm_occupancy, second) == 2400 * us);
}

static void check_machine(struct perf_fixture *fixture, const struct expected *want)
{
    const struct imc_machine *machine = want->machine;
    size_t controllers = (size_t)machine->boxes * 2, everywhere;
    imc_machine_install(machine, fixture);
    assert_string_equal(fixture->config.table->microarchitecture, machine->name);
    struct imc_rig *imc = imc_rig_live(fixture, NULL);
    struct rig *rig = &imc->rig;
    assert_int_equal(rig->inventory.n_units, controllers * (size_t)machine->channels);

    rig_flag(rig, "--collector.imc_rpq.cas-latency=14.3ns");
    imc_rig_start(imc);
    assert_int_equal(open_on_box(&fixture->pmu, &everywhere), want->events);
    assert_int_equal(everywhere, want->events * controllers);
    struct imc_both *both = imc_rig_both(imc);
    assert_int_equal(both->pmm != NULL, want->pmm);

    /* A window ends within a turn, and the next begins there. */
    for (int seconds = 1; seconds <= 2; seconds++) {
        fake_pmu_run(&fixture->pmu, 0, 0, 0, 7000);
        fake_pmu_run(&fixture->pmu, 0, 0, 2, 7000);
        assert_int_equal(imc_rig_second(imc), 0);
        check_dram(rig, want, seconds * 1000007);
        if (want->pmm)
            check_pmm(rig, seconds * 1000007);
    }
    assert_int_equal(rig_series(rig, "imc="), controllers * (want->pmm ? 8 : 5));
    assert_int_equal(fixture->pmu.box_peak <= 4, 1);
    near(both->imc_status->pmu_enabled_seconds,
         2 * 1.000007 * (double)(controllers * (size_t)machine->channels));
    double share = both->imc_status->pmu_running_seconds / both->imc_status->pmu_enabled_seconds;
    assert_true(fabs(share - want->share) < 0.005);
    imc_rig_free(imc);
}

TEST_WITH(machine_skx, perf_fixture_setup, perf_fixture_teardown)
{
    check_machine(*state, &expectations[0]);
}
TEST_WITH(machine_clx, perf_fixture_setup, perf_fixture_teardown)
{
    check_machine(*state, &expectations[1]);
}
TEST_WITH(machine_icx, perf_fixture_setup, perf_fixture_teardown)
{
    check_machine(*state, &expectations[2]);
}
TEST_WITH(machine_spr, perf_fixture_setup, perf_fixture_teardown)
{
    check_machine(*state, &expectations[3]);
}
TEST_WITH(machine_emr, perf_fixture_setup, perf_fixture_teardown)
{
    check_machine(*state, &expectations[4]);
}
TEST_WITH(machine_gnr, perf_fixture_setup, perf_fixture_teardown)
{
    check_machine(*state, &expectations[5]);
}

/* Also of groups that no collector opens yet. */
PERF_TEST(every_group_fits_a_box)
{
    size_t n, checked = 0;
    const struct event_table *const *tables = event_tables(&n);
    for (size_t t = 0; t < n; t++)
        for (int c = 0; c < tables[t]->channels; c++)
            for (int g = 0; g < GROUP_COUNT; g++) {
                size_t events = 0;
                for (size_t i = 0; i < group_descs[g].n; i++) {
                    const char *text = tables[t]->uncore_event[c][group_descs[g].roles[i]];
                    events += text != NULL;
                    while (text && (text = strstr(text, " + ")) != NULL) {
                        events++;
                        text++;
                    }
                }
                assert_true(events <= 4);
                checked += events > 0;
            }
    /* Two queues' roles, of machines without PMM the clock alone; and what DRAM moved, which is all
     * that Zen 4 and 5 have of controllers. The L3s: one group and a clock on Zen 2 and 3, else
     * four. */
    assert_int_equal(checked, 3 * (1 + 1 + 1 + 1 + 1 + 2) + 2 + 2 * 2 + 2 * 4);
}

/* What DRAM moved is counted beside both queues. All take turns, and what each counts is whole. */
TEST_WITH(traffic_beside_the_queues, perf_fixture_setup, perf_fixture_teardown)
{
    for (size_t m = 0; m < sizeof expectations / sizeof *expectations; m++) {
        const struct expected *want = &expectations[m];
        const struct imc_machine *machine = want->machine;
        double per_socket = 1e6 * machine->boxes * machine->channels;
        struct perf_fixture *fixture = *state;
        struct cas_traffic cas;
        if (m > 0) {
            perf_fixture_teardown(state);
            perf_fixture_setup(state);
            fixture = *state;
        }
        imc_machine_install(machine, fixture);
        struct imc_rig *imc = imc_rig_live(fixture, NULL);
        imc->rig.facts.machine.sockets = 2;
        rig_flag(&imc->rig, "--collector.imc_rpq.cas-latency=14.3ns");
        struct verdict why = {0};
        assert_true(cas_traffic_open(&cas, &imc->rig.env, &why));
        imc_rig_start(imc);
        size_t everywhere, events = want->events + 2 * (size_t)machine->channels;
        assert_int_equal(open_on_box(&fixture->pmu, &everywhere), events);
        assert_int_equal(everywhere, events * (size_t)machine->boxes * 2);
        for (int seconds = 1; seconds <= 2; seconds++) {
            imc_rig_second(imc);
            cas_traffic_read(&cas);
            assert_true(cas.known && cas.seconds == 1);
            near(cas.rate[0], 30 * per_socket);
            near(cas.rate[1], 35 * per_socket);
            near(cas.rate[SOCKETS_ALL], 65 * per_socket);
            check_dram(&imc->rig, want, seconds * 1e6);
            if (want->pmm)
                check_pmm(&imc->rig, seconds * 1e6);
        }
        assert_in_range(fixture->pmu.box_peak, 1, 4);
        const struct collector_status *status = imc_rig_both(imc)->imc_status;
        print_message("%s: imc_rpq counts %.2f of the time\n", machine->name,
                      status->pmu_running_seconds / status->pmu_enabled_seconds);
        fixture->pmu.box_held = 4;
        imc_rig_second(imc);
        cas_traffic_read(&cas);
        assert_false(cas.known);
        fixture->pmu.box_held = 0;
        imc_rig_second(imc);
        cas_traffic_read(&cas);
        assert_true(cas.known);
        cas_traffic_close(&cas);
        imc_rig_free(imc);
    }
}

/* The kernel that the others run on must itself refuse what a box cannot do. */
PERF_TEST(a_fifth_counter_is_refused)
{
    const struct perf_kernel *kernel = &fixture->pmu.kernel;
    struct perf_event_attr attr = {.size = sizeof attr, .type = FAKE_PMU_UNCORE_TYPE};
    int fds[4];
    for (int i = 0; i < 4; i++) {
        fds[i] = kernel->event_open(kernel->context, &attr, -1, 0, i ? fds[0] : -1, 0);
        assert_true(fds[i] >= 0);
    }
    assert_int_equal(kernel->event_open(kernel->context, &attr, -1, 0, fds[0], 0), -EINVAL);
    fake_pmu_run(&fixture->pmu, 0, 0, 0, 1000);
    assert_int_equal(fixture->pmu.box_peak, 4);
    for (int i = 4; i-- > 0;)
        kernel->close(kernel->context, fds[i]);
}

/* Another profiler holds the boxes for a second: no latency, counters hold, then both go on. */
PERF_TEST(held_boxes)
{
    imc_machine_install(&imc_icx, fixture);
    struct imc_rig *imc = imc_rig_live(fixture, NULL);
    struct rig *rig = &imc->rig;
    rig_flag(rig, "--collector.imc_rpq.cas-latency=14.3ns");
    fixture->pmu.box_held = 4;
    imc_rig_start(imc);
    imc_rig_second(imc);
    assert_true(isnan(rig_value(rig, inserts, first))); /* not a zero */
    assert_true(isnan(rig_value(rig, pmm_inserts, first)));
    assert_int_equal(imc_rig_both(imc)->imc_status->discarded[DISCARD_STARVED], 12 * 2);
    fixture->pmu.box_held = 0;
    imc_rig_second(imc);
    check_dram(rig, &expectations[2], 1e6);
    check_pmm(rig, 1e6);
    fixture->pmu.box_held = 1; /* only the PMM queue has room */
    imc_rig_second(imc);
    assert_true(isnan(rig_value(rig, latency, first)));
    assert_true(rig_value(rig, occupancy, first) == 1140e6);
    check_pmm(rig, 2e6);
    fixture->pmu.box_held = 0;
    imc_rig_second(imc);
    check_dram(rig, &expectations[2], 2e6);
    check_pmm(rig, 3e6);
    imc_rig_free(imc);
}

/* Two dies per socket: both have box 0, which is one controller to whoever looks. */
PERF_TEST(dies_are_summed)
{
    imc_machine_install(&imc_icx, fixture);
    fixture_write(&fixture->tree, "sys/bus/event_source/devices/uncore_imc_0/cpumask", "0-3\n");
    struct imc_rig *imc = imc_rig_live(fixture, NULL);
    rig_flag(&imc->rig, "--collector.imc_rpq.cas-latency=14.3ns");
    imc_rig_start(imc);
    fake_pmu_run(&fixture->pmu, 0, 0, 1, 1000000000);
    fake_pmu_run(&fixture->pmu, 0, 0, 3, 1000000000);
    imc_rig_second(imc);
    assert_true(rig_value(&imc->rig, inserts, first) == 60e6);
    assert_true(rig_value(&imc->rig, occupancy, first) == 2 * 1140e6);
    assert_true(rig_value(&imc->rig, clockticks, first) == 1500e6);
    near(rig_value(&imc->rig, latency, first), 38 / 1.5e9 + 14.3e-9);
    assert_true(rig_value(&imc->rig, inserts, second) == 30e6);
    imc_rig_free(imc);
}

/* A controller of which one channel cannot be opened is left out, whole; the others are served. */
PERF_TEST(a_part_of_a_controller_is_not_counted)
{
    size_t everywhere;
    imc_machine_install(&imc_gnr, fixture);
    struct imc_rig *imc = imc_rig_live(fixture, NULL);
    /* Four of the check, one channel of four, and the second event of the other. */
    fixture->pmu.fail_open = 4 + 4 + 2;
    imc_rig_start(imc);
    assert_int_equal(open_on_box(&fixture->pmu, &everywhere), 0);
    assert_int_equal(everywhere, 8 * (12 * 2 - 1));
    const struct collector_status *status = imc_rig_both(imc)->imc_status;
    assert_int_equal(status->open_failures[REASON_FD_LIMIT], 1);
    assert_int_equal(status->verdict.reason, REASON_FD_LIMIT); /* said, while others are served */
    assert_false(status->unavailable);
    imc_rig_second(imc);
    assert_true(isnan(rig_value(&imc->rig, inserts, first)));
    assert_true(rig_value(&imc->rig, inserts, second) == 100e6);
    imc_rig_free(imc);
}

static void expect_reason(struct perf_fixture *fixture, const struct collector_ops *ops,
                          enum reason reason, const char *words)
{
    struct imc_rig *imc = imc_rig_live(fixture, NULL);
    struct verdict why = {0};
    assert_false(ops->probe(&imc->rig.env, &why));
    if (why.reason != reason || !strstr(why.words, words))
        fail_msg("%s: %s", reason_name(why.reason), why.words);
    assert_int_equal(fixture->pmu.open, 0);
    imc_rig_free(imc);
}

PERF_TEST(a_virtual_machine_has_none)
{
    expect_reason(fixture, &imc_rpq_collector, REASON_NO_DEVICE, "virtual machines hide them");
    expect_reason(fixture, &pmm_rpq_collector, REASON_NO_DEVICE, "virtual machines hide them");
    /* Neither has one whose only PMUs of that name count by themselves. */
    fixture_write(&fixture->tree, "sys/bus/event_source/devices/uncore_imc_free_running_0/cpumask",
                  "0\n");
    expect_reason(fixture, &imc_rpq_collector, REASON_NO_DEVICE, "virtual machines hide them");
}

PERF_TEST(cpus_without_persistent_memory_say_so)
{
    const struct imc_machine *const machines[] = {&imc_skx, &imc_gnr};
    for (int i = 0; i < 2; i++) {
        imc_machine_install(machines[i], fixture);
        expect_reason(
            fixture, &pmm_rpq_collector, REASON_UNSUPPORTED_CPU,
            "group pmm_rpq: none of its events is verified for the memory controllers of this "
            "CPU");
        struct imc_rig *imc = imc_rig_live(fixture, NULL);
        imc_rig_start(imc);
        imc_rig_second(imc);
        assert_true(isnan(rig_value(&imc->rig, pmm_inserts, "")));
        assert_true(isnan(rig_value(&imc->rig, pmm_latency, "")));
        assert_true(rig_value(&imc->rig, inserts, first) > 0);
        imc_rig_free(imc);
    }
}

/* Boxes that could count persistent memory count DRAM all the time where there is none. */
PERF_TEST(no_modules_no_turns)
{
    imc_machine_install(&imc_icx, fixture);
    fixture->config.no_pmem = true;
    struct imc_rig *imc = imc_rig_live(fixture, NULL);
    imc_rig_start(imc);
    assert_null(imc_rig_both(imc)->pmm);
    imc_rig_second(imc);
    const struct collector_status *status = imc_rig_both(imc)->imc_status;
    assert_true(status->pmu_enabled_seconds > 0);
    assert_true(status->pmu_running_seconds == status->pmu_enabled_seconds);
    imc_rig_free(imc);
}

PERF_TEST(other_refusals_have_their_reasons)
{
    struct imc_machine unknown = imc_spr;
    unknown.model = 200;
    imc_machine_install(&unknown, fixture);
    assert_null(fixture->config.table);
    expect_reason(fixture, &imc_rpq_collector, REASON_UNSUPPORTED_CPU, "--events.file");

    imc_machine_install(&imc_spr, fixture);
    fixture->pmu.system_wide_error = -EACCES;
    expect_reason(fixture, &imc_rpq_collector, REASON_NO_PERMISSION, "CAP_PERFMON");
    fixture->pmu.system_wide_error = 0;
    fixture->pmu.no_pmu = true;
    expect_reason(fixture, &pmm_rpq_collector, REASON_NO_PMU, "ENOENT");
}
