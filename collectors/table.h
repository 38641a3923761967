/*
 * Which collectors there are, in the order in which every page and list has them. Adding one means
 * adding its name here: struct collector_ops NAME_collector is then declared and in the table.
 */
#ifndef IE_COLLECTORS_TABLE_H
#define IE_COLLECTORS_TABLE_H

#include "collectors/contract/collector.h"

#ifdef IE_WITHOUT_NVMM
#define COLLECTOR_OF_NVMM(entry)
#else
#define COLLECTOR_OF_NVMM(entry) entry
#endif

/* clang-format off */
#define COLLECTORS(each) \
    each(core_latency) \
    each(slowdown) \
    each(placement) \
    each(attribution) \
    each(lost_time) \
    each(bandwidth) \
    each(imc_rpq) \
    COLLECTOR_OF_NVMM(each(pmm_rpq)) \
    each(amd_l3) \
    each(fill_sources) \
    COLLECTOR_OF_NVMM(each(pebs_nvmm)) \
    each(probe)
/* clang-format on */

#define COLLECTOR_DECLARE(name) extern const struct collector_ops name##_collector;
COLLECTORS(COLLECTOR_DECLARE)

#endif
