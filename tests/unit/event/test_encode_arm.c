/*
 * Arm's tables against the numbers of Arm's files, bit by bit; which core has which; whether the
 * groups fit its counters.
 */
#include "collectors/events/events.h"
#include "exporter/source/event/encode.h"
#include "exporter/source/perf/detect.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

enum { V3, N3, VERA, V2, N2, V1, N1, AMPEREONE, CPUS };
static const struct event_table *const cpus[CPUS] = {
    [V3] = &event_table_neoverse_v3, [N3] = &event_table_neoverse_n3,
    [VERA] = &event_table_olympus,   [V2] = &event_table_neoverse_v2,
    [N2] = &event_table_neoverse_n2, [V1] = &event_table_neoverse_v1,
    [N1] = &event_table_neoverse_n1, [AMPEREONE] = &event_table_ampereone,
};

/* Written down from ARM-software/data and Linux's event files, not from the tables; 0: none. */
static const struct {
    enum role role;
    uint16_t event[CPUS];
} numbers[] = {
    {ROLE_CYCLES, {0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11}},       /* CPU_CYCLES */
    {ROLE_INSTRUCTIONS, {0x08, 0x08, 0x08, 0x08, 0x08, 0x08, 0x08, 0x08}}, /* INST_RETIRED */
    {ROLE_LOADS_IN_FLIGHT, {0x8121, 0x8121, 0x8121}}, /* MEM_ACCESS_RD_PERCYC */
    {ROLE_LOAD_ACCESSES, {0x66, 0x66, 0x66}},         /* MEM_ACCESS_RD */
    /* L1D_CACHE_REFILL_RD; L1D_CACHE_LMISS_RD */
    {ROLE_L1D_LOAD_MISSES, {0x42, 0x39, 0x42}},
    {ROLE_LLC_READS, {0x36, 0x36, 0x36, 0x36, 0x36, 0x36, 0x36}},     /* LL_CACHE_RD */
    {ROLE_L3_MISS_READS, {0x37, 0x37, 0x37, 0x37, 0x37, 0x37, 0x37}}, /* LL_CACHE_MISS_RD */
    /* STALL_BACKEND_MEM */
    {ROLE_MEMORY_STALLS, {0x4005, 0x4005, 0x4005, 0x4005, 0x4005, 0x4005, 0, 0x4005}},
};

FIXTURE_TEST(every_row, fixture)
{
    struct verdict why;
    size_t rows = 0, expected = 0;
    for (int cpu = 0; cpu < CPUS; cpu++) {
        for (int role = 0; role < ROLE_COUNT; role++)
            rows += cpus[cpu]->event[role] != NULL;
        expected++; /* the clock */
        assert_string_equal(cpus[cpu]->event[ROLE_REF_CYCLES], "software:cpu-clock");
        assert_true(cpus[cpu]->ref_is_time);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            struct encoded_event event;
            const char *text = cpus[cpu]->event[numbers[i].role];
            assert_int_equal(text != NULL, numbers[i].event[cpu] != 0);
            if (!text)
                continue;
            expected++;
            assert_int_equal(encode_event(&fixture->fs, text, &event, &why), 0);
            assert_int_equal(event.attr.type, PERF_TYPE_RAW);
            assert_int_equal(event.attr.config, numbers[i].event[cpu]);
            encoded_event_release(&event);
        }
    }
    assert_int_equal(rows, expected);
}

/* Beside the counter of cycles, with all roles that the core has and the group is not without. */
static int counters_needed(const struct event_table *table, enum group group)
{
    int n = 0;
    for (size_t i = 0; i < group_descs[group].n; i++) {
        enum role role = group_descs[group].roles[i];
        n += role != ROLE_CYCLES && role != ROLE_REF_CYCLES && table->event[role] != NULL;
    }
    return n;
}

TEST(groups_fit)
{
    for (int cpu = 0; cpu < CPUS; cpu++) {
        assert_int_equal(cpus[cpu]->general_counters, 6);
        for (int group = 0; group < GROUP_COUNT; group++)
            assert_in_range(counters_needed(cpus[cpu], (enum group)group), 0, 6);
    }
    assert_int_equal(counters_needed(cpus[V3], GROUP_IN_FLIGHT), 6);
    assert_int_equal(counters_needed(cpus[V2], GROUP_MISSES), 4);
}

TEST(cores)
{
    static const struct {
        uint64_t midr;
        int cpu; /* CPUS: none */
    } known[] = {
        {0x410fd840, V3},        {0x410fd830, V3},        {0x410fd8e0, N3},
        {0x4e0f0100, VERA},      {0x410fd4f0, V2},        {0x410fd490, N2},
        {0x6d0fd490, N2},        {0x411fd401, V1},        {0x413fd0c1, N1},
        {0xc00fac30, AMPEREONE}, {0xc00fac40, AMPEREONE}, {0x410fd0b0, CPUS}, /* Cortex-A76 */
        {0x420f5160, CPUS},                                                   /* ThunderX2 */
        {0x480fd010, CPUS},      {0x000f0510, CPUS},      {0, CPUS},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_ptr_equal(event_table_for_midr(known[i].midr),
                         known[i].cpu == CPUS ? NULL : cpus[known[i].cpu]);
}

static void write_midr(struct fixture *fixture, int cpu, const char *text)
{
    char path[96];
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/regs/identification/midr_el1", cpu);
    fixture_write(fixture, path, "%s\n", text);
}

FIXTURE_TEST(midr_of_the_machine, fixture)
{
    uint64_t midr = 1;
    assert_int_equal(cpu_midr(&fixture->fs, &midr), -ENOENT);
    fixture_write(fixture, "sys/devices/system/cpu/online", "1-2\n");
    assert_int_equal(cpu_midr(&fixture->fs, &midr), -ENOENT);
    write_midr(fixture, 1, "0x00000000410fd840");
    write_midr(fixture, 2, "0x00000000411fd841"); /* a later revision */
    assert_int_equal(cpu_midr(&fixture->fs, &midr), 0);
    assert_int_equal(midr, 0x410fd840);
    write_midr(fixture, 2, "0x00000000410fd8e0"); /* another core */
    midr = 1;
    assert_int_equal(cpu_midr(&fixture->fs, &midr), -ENOENT);
    write_midr(fixture, 2, "?");
    assert_int_equal(cpu_midr(&fixture->fs, &midr), -ENOENT);
    assert_int_equal(midr, 1);
}
