/*
 * One table of roles per microarchitecture: how that CPU counts them.
 *
 * The numbers are those of Intel's published event files: by name where libpfm4 4.13 has one, by
 * perf_raw:: where it has none; of AMD's, as Linux's perf tool has them; and of Arm's. A test
 * encodes every row of every table.
 */
#ifndef IE_COLLECTORS_EVENTS_EVENTS_H
#define IE_COLLECTORS_EVENTS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/source/event/table.h"

extern const struct event_table event_table_skx;         /* Skylake-SP */
extern const struct event_table event_table_clx;         /* Cascade Lake, Cooper Lake */
extern const struct event_table event_table_icx;         /* Ice Lake-SP */
extern const struct event_table event_table_spr;         /* Sapphire Rapids */
extern const struct event_table event_table_emr;         /* Emerald Rapids */
extern const struct event_table event_table_gnr;         /* Granite Rapids */
extern const struct event_table event_table_zen2;        /* Rome */
extern const struct event_table event_table_zen3;        /* Milan */
extern const struct event_table event_table_zen4;        /* Genoa, Bergamo, Siena */
extern const struct event_table event_table_zen5;        /* Turin; Zen 6 */
extern const struct event_table event_table_neoverse_v3; /* AWS 9g */
extern const struct event_table event_table_neoverse_n3;
extern const struct event_table event_table_olympus;     /* NVIDIA Vera */
extern const struct event_table event_table_neoverse_v2; /* AWS 8g, Google C4A, NVIDIA Grace */
extern const struct event_table event_table_neoverse_n2; /* Azure Cobalt 100 */
extern const struct event_table event_table_neoverse_v1; /* AWS 7g */
extern const struct event_table event_table_neoverse_n1; /* AWS 6g, Ampere Altra */
extern const struct event_table event_table_ampereone;
extern const struct event_table event_table_generic;

/* All of them but the generic one. */
const struct event_table *const *event_tables(size_t *n);

/* By 'microarchitecture', the generic one included; NULL: none is called that. */
const struct event_table *event_table_by_name(const char *microarchitecture);

/* As CPUID gives it: vendor "GenuineIntel" or "AuthenticAMD", display family and model. NULL: no
 * verified table. */
const struct event_table *event_table_for_cpu(int family, int model, int stepping,
                                              const char *vendor);

/* By what an Arm core says of itself, MIDR_EL1; likewise. */
const struct event_table *event_table_for_midr(uint64_t midr);

/* Whether a kernel that calls the CPU's PMU so knows which counters its events need: any, where
 * the table has no names. */
bool event_table_fits_pmu(const struct event_table *table, const char *pmu_name);

#endif
