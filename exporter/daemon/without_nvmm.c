/* In the place of samples, what they stand on, and the processes that look into others, where the
 * build leaves persistent memory out (IE_NVMM=OFF). No collector asks for samples there, so that
 * none of this is called, but for what frees them. */
#include <errno.h>

#include "exporter/inspect/inspector.h"
#include "exporter/source/accesses/accesses.h"
#include "exporter/source/pmem/pmem.h"

const struct pmem_files pmem_files_linux = {0};

int pmem_new(const struct fsroot *fs, const struct pmem_files *files, struct pmem **out)
{
    (void)fs, (void)files, (void)out;
    return -ENOSYS;
}

void pmem_free(struct pmem *pmem)
{
    (void)pmem;
}

struct medium_rule *pmem_rule(struct pmem *pmem)
{
    (void)pmem;
    return NULL;
}

int perf_samples_new(const struct perf_samples_config *config, struct source **out)
{
    (void)config, (void)out;
    return -ENOSYS;
}

int inspector_fork(const struct fsroot *fs, struct medium_rule *rule, const struct log *log,
                   struct inspector **out, int *status)
{
    (void)fs, (void)rule, (void)log, (void)out, (void)status;
    return -ENOSYS;
}

void inspector_free(struct inspector *inspector)
{
    (void)inspector;
}

struct process_reader *inspector_reader(struct inspector *inspector)
{
    (void)inspector;
    return NULL;
}

struct medium_rule *inspector_rule(struct inspector *inspector)
{
    (void)inspector;
    return NULL;
}

bool inspector_is_lost(const struct inspector *inspector)
{
    (void)inspector;
    return false;
}
