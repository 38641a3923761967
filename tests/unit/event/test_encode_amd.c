/*
 * AMD's tables against the numbers of its event files, bit by bit; which CPU has which; whether the
 * groups fit its counters. And the generic table.
 */
#include "collectors/events/events.h"
#include "exporter/source/event/encode.h"
#include "tests/support/events_reference.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

enum { MSR_TYPE = 11, L3_TYPE = 14, CPUS = 3, L3_CPUS = 4 };
static const struct event_table *const cpus[CPUS] = {&event_table_zen3, &event_table_zen4,
                                                     &event_table_zen5};
static const struct event_table *const l3_cpus[L3_CPUS] = {&event_table_zen2, &event_table_zen3,
                                                           &event_table_zen4, &event_table_zen5};

/* A core event of AMD's has 12 bits: 7-0 in the config's 7-0, 11-8 in its 35-32; the unit mask is
 * in 15-8. Written down from Linux's event files (amdzen3, amdzen4, amdzen5), not from the tables.
 */
struct amd_event {
    uint16_t event;
    uint8_t umask;
};
static const struct {
    enum role role;
    struct amd_event event[CPUS]; /* 0, 0: not counted there */
} numbers[] = {
    {ROLE_CYCLES, {{0x076, 0}, {0x076, 0}, {0x076, 0}}},             /* ls_not_halted_cyc */
    {ROLE_INSTRUCTIONS, {{0x0c0, 0}, {0x0c0, 0}, {0x0c0, 0}}},       /* ex_ret_instr */
    {ROLE_L1D_MISS_OCCUPANCY, {{0x05f, 0}, {0x05f, 0}, {0x05f, 0}}}, /* ls_alloc_mab_count */
    /* ls_any_fills_from_sys: local_l2; local_ccx; everything but these two, which is near_cache
     * 0x04, dram_io_near 0x08, far_cache 0x10, dram_io_far 0x40, alternate_memories 0x80 */
    {ROLE_L1D_FILLS_L2, {{0x044, 0x01}, {0x044, 0x01}, {0x044, 0x01}}},
    {ROLE_L1D_FILLS_L3, {{0x044, 0x02}, {0x044, 0x02}, {0x044, 0x02}}},
    {ROLE_L1D_FILLS_MEMORY,
     {{0x044, 0x04 | 0x08 | 0x10 | 0x40},
      {0x044, 0x04 | 0x08 | 0x10 | 0x40 | 0x80},
      {0x044, 0x04 | 0x08 | 0x10 | 0x40 | 0x80}}},
    {ROLE_L1D_FILLS_NEAR_DRAM, {{0x044, 0x08}, {0x044, 0x08}, {0x044, 0x08}}},
    {ROLE_L1D_FILLS_FAR_DRAM, {{0x044, 0x40}, {0x044, 0x40}, {0x044, 0x40}}},
    {ROLE_L1D_FILLS_OTHER_CCX, {{0x044, 0x04 | 0x10}, {0x044, 0x04 | 0x10}, {0x044, 0x04 | 0x10}}},
    {ROLE_L1D_FILLS_CXL, {{0, 0}, {0x044, 0x80}, {0x044, 0x80}}},
    /* l2_fill_rsp_src, the same sources */
    {ROLE_LLC_MISSES, {{0, 0}, {0, 0}, {0x165, 0x04 | 0x08 | 0x10 | 0x40 | 0x80}}},
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    fixture_init(fixture);
    static const char msr[] = "sys/bus/event_source/devices/msr";
    char path[96];
    snprintf(path, sizeof path, "%s/type", msr);
    fixture_write(fixture, path, "%d\n", MSR_TYPE);
    snprintf(path, sizeof path, "%s/format/event", msr);
    fixture_write(fixture, path, "config:0-63\n");
    snprintf(path, sizeof path, "%s/events/tsc", msr);
    fixture_write(fixture, path, "event=0x00\n");
    snprintf(path, sizeof path, "%s/events/aperf", msr);
    fixture_write(fixture, path, "event=0x01\n");
    snprintf(path, sizeof path, "%s/events/mperf", msr);
    fixture_write(fixture, path, "event=0x02\n");
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    fixture_release(*state);
    free(*state);
    return 0;
}

static void encode(struct fixture *fixture, const char *text, struct encoded_event *out)
{
    struct verdict why = {0};
    assert_non_null(text);
    if (encode_event(&fixture->fs, text, out, &why))
        fail_msg("%s: %s", text, why.words);
    /* A group's members must count the same privilege levels. */
    assert_false(out->attr.exclude_user || out->attr.exclude_kernel || out->attr.exclude_hv ||
                 out->attr.exclude_guest || out->attr.exclude_host || out->attr.exclude_idle);
}

TEST_WITH(test_rows, setup, teardown)
{
    struct encoded_event event;
    for (int cpu = 0; cpu < CPUS; cpu++) {
        size_t rows = 0, wanted = 1; /* with ref_cycles */
        for (int role = 0; role < ROLE_COUNT; role++)
            rows += cpus[cpu]->event[role] != NULL;
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            struct amd_event want = numbers[i].event[cpu];
            const char *text = cpus[cpu]->event[numbers[i].role];
            if (!want.event) {
                assert_null(text);
                continue;
            }
            wanted++;
            encode(*state, text, &event);
            assert_int_equal(event.attr.type, PERF_TYPE_RAW);
            assert_int_equal(event.attr.config & 0xff, want.event & 0xff);
            assert_int_equal(event.attr.config >> 32 & 0xf, want.event >> 8);
            assert_int_equal(event.attr.config >> 8 & 0xff, want.umask);
            assert_int_equal(event.attr.config & ~UINT64_C(0xf0000ffff), 0);
            assert_int_equal(event.attr.config1, 0);
            assert_false(event.software);
            encoded_event_release(&event);
        }
        assert_int_equal(rows, wanted);

        /* The TSC takes no counter, so that the kernel lets it into any group. */
        encode(*state, cpus[cpu]->event[ROLE_REF_CYCLES], &event);
        assert_int_equal(event.attr.type, MSR_TYPE);
        assert_int_equal(event.attr.config, 0);
        assert_true(event.software);
        encoded_event_release(&event);
    }
}

/* Zen 2 counts what any CPU counts, with the TSC. */
TEST_WITH(test_zen2, setup, teardown)
{
    static const uint64_t config[] = {0x76, 0, 0xc0};
    static const enum role roles[] = {ROLE_CYCLES, ROLE_REF_CYCLES, ROLE_INSTRUCTIONS};
    size_t rows = 0;
    for (int role = 0; role < ROLE_COUNT; role++)
        rows += event_table_zen2.event[role] != NULL;
    assert_int_equal(rows, 3);
    for (int i = 0; i < 3; i++) {
        struct encoded_event event;
        encode(*state, event_table_zen2.event[roles[i]], &event);
        assert_int_equal(event.attr.type, i == 1 ? MSR_TYPE : PERF_TYPE_RAW);
        assert_int_equal(event.attr.config, config[i]);
        encoded_event_release(&event);
    }
}

/* The memory controllers' commands, by direction: event 7-0, mask of reads and writes 9-8. */
TEST_ON(test_memory_controllers, struct fixture *fixture, setup, teardown)
{
    static const char umc[] = "sys/bus/event_source/devices/amd_umc_0";
    static const uint64_t config[] = {0x10a, 0x20a};
    char path[96];
    snprintf(path, sizeof path, "%s/type", umc);
    fixture_write(fixture, path, "21\n");
    snprintf(path, sizeof path, "%s/format/event", umc);
    fixture_write(fixture, path, "config:0-7\n");
    snprintf(path, sizeof path, "%s/format/rdwrmask", umc);
    fixture_write(fixture, path, "config:8-9\n");
    for (int cpu = 0; cpu < CPUS; cpu++) {
        size_t rows = 0;
        for (int role = 0; role < ROLE_COUNT; role++) {
            const char *text = cpus[cpu]->uncore_event[0][role];
            rows += text && strncmp(text, "pmu:NAME/", 9) == 0;
        }
        assert_int_equal(rows, cpus[cpu] == &event_table_zen3 ? 0 : 2);
        for (size_t i = 0; i < rows; i++) {
            const char *text = cpus[cpu]->uncore_event[0][group_descs[GROUP_CAS].roles[i]];
            char filled[96];
            struct encoded_event event;
            assert_memory_equal(text, "pmu:NAME/", 9);
            snprintf(filled, sizeof filled, "pmu:amd_umc_0/%s", text + 9);
            encode(fixture, filled, &event);
            assert_int_equal(event.attr.type, 21);
            assert_int_equal(event.attr.config, config[i]);
            encoded_event_release(&event);
        }
    }
}

/* The L3's PMU, from the documents: Zen 2 and 3 XI_SYS_FILL_LATENCY and XI_CCX_SDP_REQ1; Zen 4 and
 * 5 L3_XI_SAMPLED_LATENCY and its requests, of near and far DRAM, caches and extension memory, with
 * EnAllSlices 46, EnAllCores 47, SliceId 3 (50-48), ThreadMask 3 (57-56). */
static const struct {
    enum role role;
    uint64_t config[L3_CPUS]; /* 0: not there */
} l3_numbers[] = {
    {ROLE_L3_NEAR_DRAM_WAIT, {0, 0, 0x0303c000000001ac, 0x0303c000000001ac}},
    {ROLE_L3_NEAR_DRAM_READS, {0, 0, 0x0303c000000001ad, 0x0303c000000001ad}},
    {ROLE_L3_FAR_DRAM_WAIT, {0, 0, 0x0303c000000002ac, 0x0303c000000002ac}},
    {ROLE_L3_FAR_DRAM_READS, {0, 0, 0x0303c000000002ad, 0x0303c000000002ad}},
    {ROLE_L3_OTHER_CCX_WAIT, {0, 0, 0x0303c00000000cac, 0x0303c00000000cac}},
    {ROLE_L3_OTHER_CCX_READS, {0, 0, 0x0303c00000000cad, 0x0303c00000000cad}},
    {ROLE_L3_CXL_WAIT, {0, 0, 0x0303c000000030ac, 0x0303c000000030ac}},
    {ROLE_L3_CXL_READS, {0, 0, 0x0303c000000030ad, 0x0303c000000030ad}},
    {ROLE_L3_ANY_WAIT, {0x90, 0x90, 0, 0}},
    {ROLE_L3_ANY_READS, {0x3f9a, 0xff9a, 0, 0}},
};

TEST_WITH(test_l3, setup, teardown)
{
    static const char *const formats[][2] = {{"type", "14"},
                                             {"format/event", "config:0-7"},
                                             {"format/umask", "config:8-15"},
                                             {"format/enallslices", "config:46"},
                                             {"format/enallcores", "config:47"},
                                             {"format/sliceid", "config:48-50"},
                                             {"format/threadmask", "config:56-57"}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char path[96];
        snprintf(path, sizeof path, "sys/bus/event_source/devices/amd_l3/%s", formats[i][0]);
        fixture_write(*state, path, "%s\n", formats[i][1]);
    }
    for (int cpu = 0; cpu < L3_CPUS; cpu++) {
        const char *const *event = l3_cpus[cpu]->uncore_event[0];
        bool clock = event[ROLE_L3_ANY_WAIT] != NULL;
        assert_int_equal(l3_cpus[cpu]->channels, 1);
        for (size_t i = 0; i < sizeof l3_numbers / sizeof *l3_numbers; i++) {
            uint64_t want = l3_numbers[i].config[cpu];
            struct encoded_event encoded;
            assert_int_equal(event[l3_numbers[i].role] != NULL, want != 0);
            if (!want)
                continue;
            encode(*state, event[l3_numbers[i].role], &encoded);
            assert_int_equal(encoded.attr.type, L3_TYPE);
            assert_int_equal(encoded.attr.config, want);
            encoded_event_release(&encoded);
        }
        for (int i = 0; i < 2; i++) {
            struct encoded_event encoded;
            const char *text = event[i ? ROLE_L3_CPU_REF_CYCLES : ROLE_L3_CPU_CYCLES];
            assert_int_equal(text != NULL, clock);
            if (!text)
                continue;
            encode(*state, text, &encoded);
            assert_int_equal(encoded.attr.type, MSR_TYPE);
            assert_int_equal(encoded.attr.config, 1 + i); /* aperf, mperf */
            encoded_event_release(&encoded);
        }
    }
}

static int counters_needed(struct fixture *fixture, const struct event_table *table,
                           enum group group, uint32_t roles)
{
    int n = 0;
    for (size_t i = 0; i < group_descs[group].n; i++) {
        struct encoded_event event;
        if (!(roles >> i & 1) || !table->event[group_descs[group].roles[i]])
            continue;
        encode(fixture, table->event[group_descs[group].roles[i]], &event);
        n += !event.software;
        encoded_event_release(&event);
    }
    return n;
}

/* All six; five, where the NMI watchdog holds one; four. */
TEST_WITH(test_groups_fit, setup, teardown)
{
    const struct group_desc *fills = &group_descs[GROUP_FILLS];
    for (int cpu = 0; cpu < CPUS; cpu++) {
        assert_int_equal(cpus[cpu]->general_counters, 6);
        assert_true(cpus[cpu]->no_fixed_counters);
        for (int group = 0; group < GROUP_COUNT; group++)
            assert_in_range(counters_needed(*state, cpus[cpu], (enum group)group, UINT32_MAX), 0,
                            6);
        for (size_t i = 0; i < fills->n; i++)
            assert_non_null(cpus[cpu]->event[fills->roles[i]]);
        assert_int_equal(counters_needed(*state, cpus[cpu], GROUP_FILLS, UINT32_MAX), 6);
        assert_int_equal(counters_needed(*state, cpus[cpu], GROUP_FILLS, fills->fallback[0]), 5);
        assert_int_equal(counters_needed(*state, cpus[cpu], GROUP_FILLS, fills->fallback[1]), 4);
        assert_int_equal(fills->fallback[2], 0);
        for (int rung = 0; rung < 2; rung++)
            assert_int_equal(fills->fallback[rung] & fills->required, fills->required);
        assert_int_equal(counters_needed(*state, cpus[cpu], GROUP_CPI, UINT32_MAX), 2);
    }
}

TEST_WITH(test_cpus, setup, teardown)
{
    static const struct {
        int family, model;
        const char *name; /* NULL: no table */
    } known[] = {
        {0x19, 0x01, "zen3"}, /* Milan */
        {0x19, 0x08, "zen3"}, /* Chagall */
        {0x19, 0x21, "zen3"}, /* Vermeer */
        {0x19, 0x44, "zen3"}, /* Rembrandt */
        {0x19, 0x50, "zen3"}, /* Cezanne */
        {0x19, 0x11, "zen4"}, /* Genoa */
        {0x19, 0x18, "zen4"}, /* Storm Peak */
        {0x19, 0x61, "zen4"}, /* Raphael */
        {0x19, 0x74, "zen4"}, /* Phoenix */
        {0x19, 0xa0, "zen4"}, /* Bergamo, Siena */
        {0x1a, 0x02, "zen5"}, /* Turin */
        {0x1a, 0x11, "zen5"}, /* Turin Dense */
        {0x1a, 0x44, "zen5"}, /* Granite Ridge */
        {0x1a, 0x70, "zen5"}, /* Strix Halo */
        {0x1a, 0x50, "zen5"}, /* Zen 6 */
        {0x1a, 0x90, "zen5"}, {0x1a, 0xc0, "zen5"}, {0x1a, 0x30, NULL},   {0x1a, 0xb0, NULL},
        {0x1a, 0xff, NULL},   {0x19, 0xb0, NULL},   {0x17, 0x31, "zen2"}, /* Rome */
        {0x17, 0x71, "zen2"},                                             /* Matisse */
        {0x17, 0x90, "zen2"},                                             /* Van Gogh */
        {0x17, 0x01, NULL},                                               /* Zen 1: Naples */
        {0x17, 0x18, NULL},   {0x17, 0x2f, NULL},   {0x17, 0x50, NULL},   {0x18, 0x00, NULL},
        {0x1b, 0x00, NULL},   {6, 0x8f, NULL},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct event_table *table =
            event_table_for_cpu(known[i].family, known[i].model, 1, "AuthenticAMD");
        if (!known[i].name)
            assert_null(table);
        else
            assert_string_equal(table->microarchitecture, known[i].name);
    }
    assert_null(event_table_for_cpu(0x19, 0x11, 1, "HygonGenuine"));
    assert_null(event_table_for_cpu(0x19, 0x11, 1, "GenuineIntel"));
    /* The kernel does not name AMD's PMUs. */
    assert_true(event_table_fits_pmu(&event_table_zen4, "anything"));
}

TEST_WITH(test_generic, setup, teardown)
{
    static const struct {
        enum role role;
        uint64_t config;
    } rows[] = {
        {ROLE_CYCLES, PERF_COUNT_HW_CPU_CYCLES},
        {ROLE_INSTRUCTIONS, PERF_COUNT_HW_INSTRUCTIONS},
        {ROLE_REF_CYCLES, PERF_COUNT_HW_REF_CPU_CYCLES},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct encoded_event event;
        encode(*state, event_table_generic.event[rows[i].role], &event);
        assert_int_equal(event.attr.type, PERF_TYPE_HARDWARE);
        assert_int_equal(event.attr.config, rows[i].config);
        assert_false(event.software);
        encoded_event_release(&event);
    }
    for (int role = 0; role < ROLE_COUNT; role++)
        if (role != ROLE_CYCLES && role != ROLE_INSTRUCTIONS && role != ROLE_REF_CYCLES)
            assert_null(event_table_generic.event[role]);
}

TEST(test_page_has_not_drifted)
{
    struct textbuf page = TEXTBUF_INIT;
    char committed[65536];
    assert_int_equal(events_reference_write(&page), 0);
    FILE *file = fopen(IE_SOURCE_DIR "/collectors/EVENTS.md", "r");
    assert_non_null(file);
    size_t len = fread(committed, 1, sizeof committed - 1, file);
    fclose(file);
    committed[len] = '\0';
    if (strcmp(page.data, committed) != 0)
        fail_msg("collectors/EVENTS.md differs from the code; make it again with "
                 "build/plain/programs/events_reference > collectors/EVENTS.md");
    textbuf_release(&page);
}
