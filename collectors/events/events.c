#include "collectors/events/events.h"

#include <string.h>

static const struct event_table *const tables[] = {
    &event_table_skx, &event_table_clx, &event_table_icx,
    &event_table_spr, &event_table_emr, &event_table_gnr,
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

const struct event_table *const *event_tables(size_t *n)
{
    *n = sizeof tables / sizeof *tables;
    return tables;
}

const struct event_table *event_table_for_cpu(int family, int model, int stepping,
                                              const char *vendor)
{
    if (strcmp(vendor, "GenuineIntel") != 0 || family != 6)
        return NULL;
    for (size_t i = 0; i < sizeof intel_family_6 / sizeof *intel_family_6; i++)
        if (intel_family_6[i].model == model && stepping >= intel_family_6[i].first_stepping &&
            stepping <= intel_family_6[i].last_stepping)
            return intel_family_6[i].table;
    return NULL;
}

bool event_table_fits_pmu(const struct event_table *table, const char *pmu_name)
{
    for (size_t i = 0; i < sizeof table->pmu_names / sizeof *table->pmu_names; i++)
        if (table->pmu_names[i] && strcmp(table->pmu_names[i], pmu_name) == 0)
            return true;
    return false;
}
