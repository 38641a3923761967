/*
 * Event texts against the numbers of Intel's event files: every row of Intel's tables, and each
 * scheme's errors. AMD's tables: test_encode_amd.c.
 */
#include "collectors/events/events.h"
#include "exporter/source/event/encode.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

static const char devices[] = "sys/bus/event_source/devices";

enum cpu { SKX, CLX, ICX, SPR, EMR, GNR, CPUS };
static const char *const cpu_names[CPUS] = {"skx", "clx", "icx", "spr", "emr", "gnr"};

/* What a role counts as, by CPU: umask << 8 | event, with the counter mask at bit 24. 0: the CPU
 * cannot count it. Written down from Intel's files, not from the tables. */
static const struct {
    enum role role;
    uint32_t config[CPUS];
} core_numbers[] = {
    {ROLE_CYCLES, {0x3c, 0x3c, 0x3c, 0x3c, 0x3c, 0x3c}},
    {ROLE_REF_CYCLES, {0x300, 0x300, 0x300, 0x300, 0x300, 0x300}},
    {ROLE_INSTRUCTIONS, {0xc0, 0xc0, 0xc0, 0xc0, 0xc0, 0xc0}},
    {ROLE_L3_MISS_READS, {0x10b0, 0x10b0, 0x10b0, 0x1021, 0x1021, 0x1021}},
    {ROLE_L3_MISS_READ_OCCUPANCY, {0x1060, 0x1060, 0x1060, 0x1020, 0x1020, 0x1020}},
    {ROLE_L3_MISS_READ_ACTIVE, {0x1001060, 0x1001060, 0x1001060, 0x1001020, 0x1001020, 0x1001020}},
    {ROLE_LLC_READS, {0x01b0, 0x01b0, 0x01b0, 0x0121, 0x0121, 0x0121}},
    {ROLE_LLC_READ_OCCUPANCY, {0x0160, 0x0160, 0x0160, 0x0120, 0x0120, 0x0120}},
    {ROLE_LLC_READ_ACTIVE, {0x1000160, 0x1000160, 0x1000160, 0x1000120, 0x1000120, 0x1000120}},
    {ROLE_STALLS_L3_MISS, {0x60006a3, 0x60006a3, 0x60006a3, 0x60006a3, 0x60006a3, 0x60006a3}},
    {ROLE_LOADS_LOCAL_DRAM, {0x01d3, 0x01d3, 0x01d3, 0x01d3, 0x01d3, 0x01d3}},
    {ROLE_LOADS_REMOTE_DRAM, {0x02d3, 0x02d3, 0x02d3, 0x02d3, 0x02d3, 0x02d3}},
    {ROLE_LOADS_LOCAL_PMM, {0, 0x80d1, 0x80d1, 0x80d1, 0, 0}},
    {ROLE_LOADS_REMOTE_PMM, {0, 0x10d3, 0x10d3, 0x10d3, 0, 0}},
    {ROLE_STORES, {0x82d0, 0x82d0, 0x82d0, 0x82d0, 0x82d0, 0x82d0}},
    {ROLE_LOADS, {0x81d0, 0x81d0, 0x81d0, 0x81d0, 0x81d0, 0x81d0}},
    {ROLE_PMM_RFO, {0, 0x01b7, 0x01b7, 0, 0, 0}},
    {ROLE_LLC_MISSES, {0x412e, 0x412e, 0x412e, 0x412e, 0x412e, 0x412e}},
    {ROLE_RFO, {0x04b0, 0x04b0, 0x04b0, 0x0421, 0x0421, 0x0421}},
};

/* Uncore, by channel; NONE: not counted there. Up to two events, which are added: inserts by bits
 * of the unit mask, one per pseudo-channel, occupancies by an event for each. */
enum { NONE = 0xffff, SUM = 2 };
static const struct {
    enum role role;
    enum cpu cpu;
    uint16_t config[EVENT_TABLE_MAX_CHANNELS][SUM];
} uncore_numbers[] = {
    {ROLE_IMC_CLOCKTICKS, SKX, {{0x0000}, {NONE}}},
    {ROLE_RPQ_INSERTS, SKX, {{0x0010}, {NONE}}},
    {ROLE_RPQ_OCCUPANCY, SKX, {{0x0080}, {NONE}}},
    {ROLE_PMM_RPQ_INSERTS, SKX, {{NONE}, {NONE}}},
    {ROLE_PMM_RPQ_OCCUPANCY, SKX, {{NONE}, {NONE}}},
    {ROLE_CAS_READS, SKX, {{0x0304}, {NONE}}},
    {ROLE_CAS_WRITES, SKX, {{0x0c04}, {NONE}}},
    {ROLE_IMC_CLOCKTICKS, CLX, {{0x0000}, {NONE}}},
    {ROLE_RPQ_INSERTS, CLX, {{0x0010}, {NONE}}},
    {ROLE_RPQ_OCCUPANCY, CLX, {{0x0080}, {NONE}}},
    {ROLE_PMM_RPQ_INSERTS, CLX, {{0x00e3}, {NONE}}},
    {ROLE_PMM_RPQ_OCCUPANCY, CLX, {{0x01e0}, {NONE}}},
    {ROLE_CAS_READS, CLX, {{0x0304}, {NONE}}},
    {ROLE_CAS_WRITES, CLX, {{0x0c04}, {NONE}}},
    {ROLE_IMC_CLOCKTICKS, ICX, {{0x0000}, {NONE}}},
    {ROLE_RPQ_INSERTS, ICX, {{0x0310}, {NONE}}},
    {ROLE_RPQ_OCCUPANCY, ICX, {{0x0080, 0x0081}, {NONE}}},
    {ROLE_PMM_RPQ_INSERTS, ICX, {{0x00e3}, {NONE}}},
    {ROLE_PMM_RPQ_OCCUPANCY, ICX, {{0x01e0}, {NONE}}},
    {ROLE_CAS_READS, ICX, {{0x0f04}, {NONE}}},
    {ROLE_CAS_WRITES, ICX, {{0x3004}, {NONE}}},
    {ROLE_IMC_CLOCKTICKS, SPR, {{0x0101}, {NONE}}},
    {ROLE_RPQ_INSERTS, SPR, {{0x0310}, {NONE}}},
    {ROLE_RPQ_OCCUPANCY, SPR, {{0x0080, 0x0081}, {NONE}}},
    {ROLE_PMM_RPQ_INSERTS, SPR, {{0x00e3}, {NONE}}},
    {ROLE_PMM_RPQ_OCCUPANCY, SPR, {{0x01e0, 0x02e0}, {NONE}}},
    {ROLE_CAS_READS, SPR, {{0xcf05}, {NONE}}},
    {ROLE_CAS_WRITES, SPR, {{0xf005}, {NONE}}},
    {ROLE_IMC_CLOCKTICKS, EMR, {{0x0101}, {NONE}}},
    {ROLE_RPQ_INSERTS, EMR, {{0x0310}, {NONE}}},
    {ROLE_RPQ_OCCUPANCY, EMR, {{0x0080, 0x0081}, {NONE}}},
    {ROLE_PMM_RPQ_INSERTS, EMR, {{0x00e3}, {NONE}}},
    {ROLE_PMM_RPQ_OCCUPANCY, EMR, {{0x01e0, 0x02e0}, {NONE}}},
    {ROLE_CAS_READS, EMR, {{0xcf05}, {NONE}}},
    {ROLE_CAS_WRITES, EMR, {{0xf005}, {NONE}}},
    {ROLE_IMC_CLOCKTICKS, GNR, {{0x0101}, {0x0101}}},
    {ROLE_RPQ_INSERTS, GNR, {{0x3010}, {0xc010}}},
    {ROLE_RPQ_OCCUPANCY, GNR, {{0x0080, 0x0081}, {0x0082, 0x0083}}},
    {ROLE_PMM_RPQ_INSERTS, GNR, {{NONE}, {NONE}}},
    {ROLE_PMM_RPQ_OCCUPANCY, GNR, {{NONE}, {NONE}}},
    {ROLE_CAS_READS, GNR, {{0xcf05}, {0xcf06}}},
    {ROLE_CAS_WRITES, GNR, {{0xf005}, {0xf006}}},
};

static const struct event_table *table_of(enum cpu cpu)
{
    size_t n;
    const struct event_table *const *tables = event_tables(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(tables[i]->microarchitecture, cpu_names[cpu]) == 0)
            return tables[i];
    fail_msg("no table %s", cpu_names[cpu]);
    return NULL;
}

/* A machine with one memory controller, a PMU "odd" with split and wide fields, and tracefs. */
static int setup(void **state)
{
    /* Lets libpfm4 encode the events of CPUs that this machine is not. */
    setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    fixture_init(fixture);
    static const char *const files[][2] = {
        {"uncore_imc_0/type", "14\n"},
        {"uncore_imc_0/format/event", "config:0-7\n"},
        {"uncore_imc_0/format/umask", "config:8-15\n"},
        {"uncore_imc_0/events/clockticks", "event=0x00,umask=0x00\n"},
        {"uncore_imc_0/events/loop", "loop\n"},
        {"odd/type", "77\n"},
        {"odd/format/split", "config:0-7,32-35\n"},
        {"odd/format/bit", "config1:63\n"},
        {"odd/format/wide", "config2:0-63\n"},
        {"odd/format/broken", "elsewhere:1\n"},
        {"uprobe/type", "8\n"},
        {"badtype/type", "x\n"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", devices, files[i][0]);
        fixture_write(fixture, path, "%s", files[i][1]);
    }
    fixture_write(fixture, "sys/kernel/tracing/events/sched/sched_switch/id", "315\n");
    fixture_write(fixture, "sys/kernel/debug/tracing/events/old/place/id", "9\n");
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    fixture_release(*state);
    free(*state);
    return 0;
}

TESTS_SHARE(setup, teardown)

TEST(test_core_rows)
{
    struct fixture *fixture = *state;
    for (int cpu = 0; cpu < CPUS; cpu++) {
        const struct event_table *table = table_of((enum cpu)cpu);
        size_t rows = 0, wanted = 0;
        for (int role = 0; role < ROLE_COUNT; role++)
            rows += table->event[role] != NULL;
        for (size_t i = 0; i < sizeof core_numbers / sizeof *core_numbers; i++) {
            const char *text = table->event[core_numbers[i].role];
            uint32_t config = core_numbers[i].config[cpu];
            struct encoded_event event;
            struct verdict why = {0};
            if (!config) {
                assert_null(text);
                continue;
            }
            wanted++;
            assert_non_null(text);
            if (encode_event(&fixture->fs, text, &event, &why))
                fail_msg("%s: %s", text, why.words);
            assert_int_equal(event.attr.type, PERF_TYPE_RAW);
            assert_int_equal(event.attr.config, config);
            uint64_t response = core_numbers[i].role == ROLE_PMM_RFO
                                    ? (cpu == ICX ? 0x100400002 : 0x3f80400002)
                                    : 0;
            assert_int_equal(event.attr.config1, response);
            assert_false(event.software);
            /* A group's members must count the same privilege levels. */
            assert_false(event.attr.exclude_user || event.attr.exclude_kernel ||
                         event.attr.exclude_hv || event.attr.exclude_guest ||
                         event.attr.exclude_host || event.attr.exclude_idle);
            encoded_event_release(&event);
        }
        /* No row that the numbers above do not cover. */
        assert_int_equal(rows, wanted);
    }
}

/* The events of a sum (NULL: none) with their PMU's name filled in, as the source does it. */
static size_t for_unit(const char *text, char out[SUM][128])
{
    size_t n = 0;
    for (const char *end; text; text = end ? end + 3 : NULL, n++) {
        end = strstr(text, " + ");
        assert_in_range(n, 0, SUM - 1);
        assert_memory_equal(text, "pmu:NAME/", 9);
        snprintf(out[n], sizeof out[n], "pmu:uncore_imc_0/%.*s",
                 end ? (int)(end - text - 9) : (int)strlen(text), text + 9);
    }
    return n;
}

static void check_sum(struct fixture *fixture, const char *text, const uint16_t *configs)
{
    char filled[SUM][128];
    size_t n = for_unit(text, filled);
    assert_int_equal(n, configs[1] ? 2 : 1);
    for (size_t i = 0; i < n; i++) {
        struct encoded_event event;
        struct verdict why = {0};
        if (encode_event(&fixture->fs, filled[i], &event, &why))
            fail_msg("%s: %s", filled[i], why.words);
        assert_int_equal(event.attr.type, 14);
        assert_int_equal(event.attr.config, configs[i]);
        encoded_event_release(&event);
    }
}

TEST(test_uncore_rows)
{
    struct fixture *fixture = *state;
    size_t rows = 0, covered = 0;
    for (int cpu = 0; cpu < CPUS; cpu++) {
        const struct event_table *table = table_of((enum cpu)cpu);
        for (int channel = 0; channel < EVENT_TABLE_MAX_CHANNELS; channel++)
            for (int role = 0; role < ROLE_COUNT; role++)
                rows += table->uncore_event[channel][role] != NULL;
    }
    for (size_t i = 0; i < sizeof uncore_numbers / sizeof *uncore_numbers; i++) {
        const struct event_table *table = table_of(uncore_numbers[i].cpu);
        for (int channel = 0; channel < EVENT_TABLE_MAX_CHANNELS; channel++) {
            const char *text = table->uncore_event[channel][uncore_numbers[i].role];
            if (uncore_numbers[i].config[channel][0] == NONE) {
                assert_null(text);
                continue;
            }
            assert_non_null(text);
            assert_true(channel < table->channels);
            check_sum(fixture, text, uncore_numbers[i].config[channel]);
            covered++;
        }
    }
    assert_int_equal(covered, rows);
}

/* Intel's cycles, ref_cycles and instructions have counters of their own. */
static int general_counters_needed(const struct event_table *table, enum group group)
{
    int n = 0;
    for (size_t i = 0; i < group_descs[group].n; i++) {
        enum role role = group_descs[group].roles[i];
        if (role != ROLE_CYCLES && role != ROLE_REF_CYCLES && role != ROLE_INSTRUCTIONS)
            n += table->event[role] != NULL;
    }
    return n;
}

TEST(test_groups_fit_the_counters)
{
    for (int cpu = 0; cpu < CPUS; cpu++) {
        const struct event_table *table = table_of((enum cpu)cpu);
        assert_int_equal(table->general_counters, 4);
        for (int group = 0; group < GROUP_COUNT; group++) {
            assert_in_range(general_counters_needed(table, (enum group)group), 0, 4);
            for (int channel = 0; channel < table->channels; channel++) {
                char filled[SUM][128];
                size_t n = 0;
                for (size_t i = 0; i < group_descs[group].n; i++)
                    n +=
                        for_unit(table->uncore_event[channel][group_descs[group].roles[i]], filled);
                assert_in_range(n, 0, 4); /* an iMC box has four */
            }
        }
        /* The core group is whole on every CPU, and uses all there is. */
        assert_int_equal(general_counters_needed(table, GROUP_CORE), 4);
        for (size_t i = 0; i < group_descs[GROUP_CORE].n; i++)
            assert_non_null(table->event[group_descs[GROUP_CORE].roles[i]]);
        /* So is the traffic group, which leaves room for the fixed cycles counter's event where the
         * NMI watchdog holds that one. */
        assert_int_equal(general_counters_needed(table, GROUP_TRAFFIC), 2);
        for (size_t i = 0; i < group_descs[GROUP_TRAFFIC].n; i++)
            assert_non_null(table->event[group_descs[GROUP_TRAFFIC].roles[i]]);
        for (int channel = 0; channel < table->channels; channel++)
            for (size_t i = 0; i < group_descs[GROUP_RPQ].n; i++)
                assert_non_null(table->uncore_event[channel][group_descs[GROUP_RPQ].roles[i]]);
    }
}

TEST(test_cpus)
{
    static const struct {
        int family, model, stepping;
        const char *vendor, *table;
    } cpus[] = {
        {6, 85, 4, "GenuineIntel", "skx"},  {6, 85, 0, "GenuineIntel", "skx"},
        {6, 85, 5, "GenuineIntel", "clx"},  {6, 85, 7, "GenuineIntel", "clx"},
        {6, 85, 11, "GenuineIntel", "clx"}, {6, 106, 6, "GenuineIntel", "icx"},
        {6, 108, 1, "GenuineIntel", "icx"}, {6, 143, 8, "GenuineIntel", "spr"},
        {6, 207, 2, "GenuineIntel", "emr"}, {6, 173, 1, "GenuineIntel", "gnr"},
        {6, 174, 1, "GenuineIntel", "gnr"}, {6, 175, 3, "GenuineIntel", NULL}, /* Sierra Forest */
        {6, 79, 1, "GenuineIntel", NULL},                                      /* Broadwell */
        {6, 63, 2, "GenuineIntel", NULL},                                      /* Haswell */
        {6, 85, 7, "AuthenticAMD", NULL},   {15, 85, 7, "GenuineIntel", NULL},
    };
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) {
        const struct event_table *table =
            event_table_for_cpu(cpus[i].family, cpus[i].model, cpus[i].stepping, cpus[i].vendor);
        if (!cpus[i].table) {
            assert_null(table);
        } else {
            assert_non_null(table);
            assert_string_equal(table->microarchitecture, cpus[i].table);
        }
    }
    /* The one published constant; the others are calibrated. */
    assert_true(table_of(CLX)->cache_cycles == 44);
    assert_true(table_of(SPR)->cache_cycles == 0);
    assert_true(table_of(CLX)->cache_core_cycles == 0);
    assert_true(table_of(ICX)->cache_core_cycles == 16 && table_of(GNR)->cache_core_cycles == 16);
}

TEST(test_pmu_names)
{
    size_t n;
    const struct event_table *const *tables = event_tables(&n);
    for (size_t i = 0; i < n; i++) {
        if (tables[i]->no_fixed_counters || tables[i]->ref_is_time)
            continue;
        assert_non_null(tables[i]->pmu_names[0]);
        assert_true(event_table_fits_pmu(tables[i], tables[i]->pmu_names[0]));
        assert_false(event_table_fits_pmu(tables[i], "generic_arch_v5"));
        assert_false(event_table_fits_pmu(tables[i], ""));
    }
    /* Its name until Linux 6.11. */
    assert_true(event_table_fits_pmu(table_of(GNR), "sapphire_rapids"));
}

TEST(test_schemes)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *text;
        uint32_t type;
        uint64_t config, config1, config2;
        bool software;
    } good[] = {
        {"software:page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, 0, true},
        {"software:cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0, 0, true},
        {"tracepoint:sched:sched_switch", PERF_TYPE_TRACEPOINT, 315, 0, 0, true},
        {"tracepoint:old:place", PERF_TYPE_TRACEPOINT, 9, 0, 0, true},
        {"pmu:uncore_imc_0/event=0x10,umask=1/", 14, 0x110, 0, 0, false},
        {"pmu:uncore_imc_0/clockticks/", 14, 0, 0, 0, false},
        {"pmu:uncore_imc_0/clockticks,umask=3/", 14, 0x300, 0, 0, false},
        {"pmu:uncore_imc_0//", 14, 0, 0, 0, false},
        {"pmu:odd/split=0xfab/", 77, UINT64_C(0xf000000ab), 0, 0, false},
        {"pmu:odd/bit,wide=0xffffffffffffffff/", 77, 0, UINT64_C(1) << 63, UINT64_MAX, false},
        {"pmu:odd/config=7,config1=8,config2=9/", 77, 7, 8, 9, false},
        {"pfm:perf_raw::r1021", PERF_TYPE_RAW, 0x1021, 0, 0, false},
        {"perf_raw::r1021", PERF_TYPE_RAW, 0x1021, 0, 0, false},
        {"pfm:clx::OFFCORE_REQUESTS:L3_MISS_DEMAND_DATA_RD", PERF_TYPE_RAW, 0x10b0, 0, 0, false},
        {"perf::PAGE-FAULTS", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, 0, true},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct encoded_event event;
        struct verdict why = {0};
        if (encode_event(&fixture->fs, good[i].text, &event, &why))
            fail_msg("%s: %s", good[i].text, why.words);
        assert_int_equal(event.attr.type, good[i].type);
        assert_int_equal(event.attr.config, good[i].config);
        assert_int_equal(event.attr.config1, good[i].config1);
        assert_int_equal(event.attr.config2, good[i].config2);
        assert_int_equal(event.software, good[i].software);
        encoded_event_release(&event);
    }
}

TEST(test_uprobe)
{
    struct fixture *fixture = *state;
    struct encoded_event event;
    struct verdict why;
    /* A path may contain colons: the last one ends it. */
    assert_int_equal(encode_event(&fixture->fs, "uprobe:/a:b/prog:0x11A0", &event, &why), 0);
    assert_int_equal(event.attr.type, 8);
    assert_string_equal(event.path, "/a:b/prog");
    assert_ptr_equal((char *)(uintptr_t)event.attr.config1, event.path);
    assert_int_equal(event.attr.config2, 0x11a0);
    assert_true(event.software);
    encoded_event_release(&event);
    assert_null(event.path);
}

TEST(test_privilege_modifiers)
{
    struct fixture *fixture = *state;
    struct encoded_event event;
    struct verdict why;
    assert_int_equal(encode_event(&fixture->fs, "perf_raw::r3c:u", &event, &why), 0);
    assert_true(event.attr.exclude_kernel && !event.attr.exclude_user);
    encoded_event_release(&event);
}

TEST(test_errors)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *text;
        int err;
        const char *words;
    } bad[] = {
        {"", -ENOENT, "libpfm4"},
        {"nonsense", -ENOENT, "libpfm4 knows no such event"},
        {"pfm:clx::OFFCORE_REQUESTS:NO_SUCH_UMASK", -EINVAL, "unit mask"},
        {"software:coffee-breaks", -EINVAL, "page-faults"},
        {"tracepoint:sched", -EINVAL, "tracepoint:SYSTEM:NAME"},
        {"tracepoint:../../x:y", -EINVAL, "tracepoint:SYSTEM:NAME"},
        {"tracepoint:sched:nope", -ENOENT, "tracefs"},
        {"uprobe:/bin/true", -EINVAL, "0xOFFSET"},
        {"uprobe::0x10", -EINVAL, "0xOFFSET"},
        {"uprobe:/bin/true:16", -EINVAL, "0xOFFSET"},
        {"uprobe:/bin/true:0x", -EINVAL, "0xOFFSET"},
        {"uprobe:/bin/true:0x-1", -EINVAL, "0xOFFSET"},
        {"uprobe:/bin/true:0x11112222333344445", -EINVAL, "0xOFFSET"},
        {"pmu:uncore_imc_9/event=1/", -ENOENT, "no PMU \"uncore_imc_9\""},
        {"pmu:badtype/event=1/", -ENOENT, "type"},
        {"pmu:../uncore_imc_0/event=1/", -EINVAL, "pmu:NAME"},
        {"pmu:uncore_imc_0", -EINVAL, "pmu:NAME"},
        {"pmu:uncore_imc_0/", -EINVAL, "pmu:NAME"},
        {"pmu:/event=1/", -EINVAL, "pmu:NAME"},
        {"pmu:uncore_imc_0/event=256/", -EINVAL, "event=0x100"},
        {"pmu:uncore_imc_0/event/1/", -EINVAL, "name=value"},
        {"pmu:uncore_imc_0/event=1,/", -EINVAL, "name=value"},
        {"pmu:uncore_imc_0/event=1x/", -EINVAL, "name=value"},
        {"pmu:uncore_imc_0/nope=1/", -ENOENT, "no term \"nope\""},
        {"pmu:uncore_imc_0/loop/", -ENOENT, "no term \"loop\""},
        {"pmu:uncore_imc_0/clockticks=2/", -ENOENT, "no term \"clockticks\""},
        {"pmu:odd/broken=1/", -ENOENT, "cannot parse"},
        {"pmu:odd/split=0x1fab/", -EINVAL, "more bits"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct encoded_event event, untouched;
        struct verdict why = {0};
        memset(&event, 0x5a, sizeof event);
        untouched = event;
        int err = encode_event(&fixture->fs, bad[i].text, &event, &why);
        if (err != bad[i].err || !strstr(why.words, bad[i].words))
            fail_msg("\"%s\": %d, \"%s\"", bad[i].text, err, why.words);
        assert_int_not_equal(why.reason, REASON_OK);
        assert_memory_equal(&event, &untouched, sizeof event);
    }
}

TEST(test_term_values)
{
    static const struct {
        const char *text;
        int result;
        uint64_t value;
    } terms[] = {
        {"a=18446744073709551615", 1, UINT64_MAX},
        {"a=0xffffffffffffffff", 1, UINT64_MAX},
        {"a=18446744073709551616", -EINVAL, 0},
        {"a=0x10000000000000000", -EINVAL, 0},
        {"a=", -EINVAL, 0},
        {"=1", -EINVAL, 0},
        {"a=0x", -EINVAL, 0},
        {"a=-1", -EINVAL, 0},
        {"a b=1", -EINVAL, 0},
        {"a", 1, 1},
        {"", 0, 0},
        {",", -EINVAL, 0},
    };
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        const char *text = terms[i].text;
        size_t len = strlen(text);
        struct pmu_term term;
        assert_int_equal(pmu_term_next(&text, &len, &term), terms[i].result);
        if (terms[i].result == 1)
            assert_int_equal(term.value, terms[i].value);
    }
    struct pmu_field field;
    static const char *const bad_fields[] = {"",          "config:",     "config:64", "config:3-2",
                                             "config:1,", "config3:0-7", "config:1-", "config0-7"};
    for (size_t i = 0; i < sizeof bad_fields / sizeof *bad_fields; i++)
        assert_int_equal(pmu_field_parse(bad_fields[i], strlen(bad_fields[i]), &field), -EINVAL);
}
