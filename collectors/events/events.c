#include "collectors/events/events.h"

#include <string.h>

static const struct event_table *const tables[] = {
    &event_table_skx,         &event_table_clx,         &event_table_icx,
    &event_table_spr,         &event_table_emr,         &event_table_gnr,
    &event_table_zen2,        &event_table_zen3,        &event_table_zen4,
    &event_table_zen5,        &event_table_neoverse_v3, &event_table_neoverse_n3,
    &event_table_olympus,     &event_table_neoverse_v2, &event_table_neoverse_n2,
    &event_table_neoverse_v1, &event_table_neoverse_n1, &event_table_ampereone,
};

/*
 * Sierra Forest (0xaf), Broadwell and Haswell have no pair of L3-miss inserts and occupancy, so
 * they have no row here.
 */
static const struct {
    int model, first_stepping, last_stepping;
    const struct event_table *table;
} intel_family_6[] = {
    {0x55, 0, 4, &event_table_skx},
    /* Steppings 10 and 11 are Cooper Lake: the same core with the same core events. Linux's perf
     * tool and libpfm4 also take it for Cascade Lake. */
    {0x55, 5, 15, &event_table_clx},
    {0x6a, 0, 15, &event_table_icx},
    {0x6c, 0, 15, &event_table_icx},
    {0x8f, 0, 15, &event_table_spr},
    {0xcf, 0, 15, &event_table_emr},
    {0xad, 0, 15, &event_table_gnr},
    {0xae, 0, 15, &event_table_gnr},
};

/* By ranges of models, as Linux tells them apart. Zen 1 (the rest of 17H) has no table: neither its
 * cores nor its L3 tell a latency. */
static const struct {
    int family, first_model, last_model;
    const struct event_table *table;
} amd[] = {
    {0x17, 0x30, 0x4f, &event_table_zen2}, {0x17, 0x60, 0x7f, &event_table_zen2},
    {0x17, 0x90, 0x91, &event_table_zen2}, {0x17, 0xa0, 0xaf, &event_table_zen2},
    {0x19, 0x00, 0x0f, &event_table_zen3}, {0x19, 0x20, 0x5f, &event_table_zen3},
    {0x19, 0x10, 0x1f, &event_table_zen4}, {0x19, 0x60, 0xaf, &event_table_zen4},
    {0x1a, 0x00, 0x2f, &event_table_zen5}, {0x1a, 0x40, 0x4f, &event_table_zen5},
    {0x1a, 0x60, 0x7f, &event_table_zen5}, {0x1a, 0x50, 0x5f, &event_table_zen5}, /* Zen 6 */
    {0x1a, 0x80, 0xaf, &event_table_zen5}, {0x1a, 0xc0, 0xef, &event_table_zen5}, /* Zen 6 */
};

/* Implementer and part. Altra is a Neoverse N1, Grace a V2, to the letter. */
static const struct {
    unsigned implementer, part;
    const struct event_table *table;
} arm[] = {
    {0x41, 0xd84, &event_table_neoverse_v3}, {0x41, 0xd83, &event_table_neoverse_v3}, /* V3AE */
    {0x41, 0xd8e, &event_table_neoverse_n3}, {0x4e, 0x010, &event_table_olympus},
    {0x41, 0xd4f, &event_table_neoverse_v2}, {0x41, 0xd49, &event_table_neoverse_n2},
    {0x6d, 0xd49, &event_table_neoverse_n2}, /* Cobalt 100, by Microsoft's own number */
    {0x41, 0xd40, &event_table_neoverse_v1}, {0x41, 0xd0c, &event_table_neoverse_n1},
    {0xc0, 0xac3, &event_table_ampereone},   {0xc0, 0xac4, &event_table_ampereone},
};

const struct event_table *const *event_tables(size_t *n)
{
    *n = sizeof tables / sizeof *tables;
    return tables;
}

const struct event_table *event_table_for_cpu(int family, int model, int stepping,
                                              const char *vendor)
{
    if (strcmp(vendor, "AuthenticAMD") == 0) {
        for (size_t i = 0; i < sizeof amd / sizeof *amd; i++)
            if (amd[i].family == family && model >= amd[i].first_model &&
                model <= amd[i].last_model)
                return amd[i].table;
        return NULL;
    }
    if (strcmp(vendor, "GenuineIntel") != 0 || family != 6)
        return NULL;
    for (size_t i = 0; i < sizeof intel_family_6 / sizeof *intel_family_6; i++)
        if (intel_family_6[i].model == model && stepping >= intel_family_6[i].first_stepping &&
            stepping <= intel_family_6[i].last_stepping)
            return intel_family_6[i].table;
    return NULL;
}

const struct event_table *event_table_for_midr(uint64_t midr)
{
    for (size_t i = 0; i < sizeof arm / sizeof *arm; i++)
        if (arm[i].implementer == (midr >> 24 & 0xff) && arm[i].part == (midr >> 4 & 0xfff))
            return arm[i].table;
    return NULL;
}

const struct event_table *event_table_by_name(const char *microarchitecture)
{
    if (strcmp(event_table_generic.microarchitecture, microarchitecture) == 0)
        return &event_table_generic;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (strcmp(tables[i]->microarchitecture, microarchitecture) == 0)
            return tables[i];
    return NULL;
}

bool event_table_fits_pmu(const struct event_table *table, const char *pmu_name)
{
    if (!table->pmu_names[0])
        return true;
    for (size_t i = 0; i < sizeof table->pmu_names / sizeof *table->pmu_names; i++)
        if (table->pmu_names[i] && strcmp(table->pmu_names[i], pmu_name) == 0)
            return true;
    return false;
}
