#include "collectors/nvmm/processes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/formulas/nvmm.h"
#include "exporter/base/hash.h"

static const uint64_t linger_ns = UINT64_C(120000000000);

enum { SLOTS = 2 * NVMM_MAX_PROCESSES };

_Static_assert((SLOTS & (SLOTS - 1)) == 0, "slots are found with a mask");

struct process {
    uint64_t owner;
    uint32_t pid;
    uint64_t used_ns;
    bool failed; /* to make its series: not tried again */
    struct {
        double accesses, bytes;
        struct series *accesses_series, *bytes_series;
    } use[ACCESS_KINDS];
};

struct nvmm_processes {
    const struct nvmm_families *families;
    const bool *active;
    struct process at[NVMM_MAX_PROCESSES];
    size_t n;
    uint16_t slots[SLOTS]; /* hash -> index + 1; 0: free */
};

int nvmm_processes_new(const struct nvmm_families *families, const bool active[ACCESS_KINDS],
                       struct nvmm_processes **out)
{
    struct nvmm_processes *processes = calloc(1, sizeof *processes);
    if (!processes)
        return -ENOMEM;
    processes->families = families;
    processes->active = active;
    *out = processes;
    return 0;
}

static void drop_series(struct process *process)
{
    for (int access = 0; access < ACCESS_KINDS; access++) {
        series_free(process->use[access].accesses_series);
        series_free(process->use[access].bytes_series);
        process->use[access].accesses_series = process->use[access].bytes_series = NULL;
    }
}

void nvmm_processes_free(struct nvmm_processes *processes)
{
    for (size_t i = 0; processes && i < processes->n; i++)
        drop_series(&processes->at[i]);
    free(processes);
}

/* The slot of a process, or the free one where it belongs. Half of the slots are always free. */
static uint16_t *find(struct nvmm_processes *processes, uint64_t owner, uint32_t pid)
{
    uint64_t hash = hash_u64(owner ^ (uint64_t)pid << 32);
    for (size_t slot = (size_t)(hash >> 40) & (SLOTS - 1);; slot = (slot + 1) & (SLOTS - 1)) {
        uint16_t index = processes->slots[slot];
        if (index == 0 ||
            (processes->at[index - 1].owner == owner && processes->at[index - 1].pid == pid))
            return &processes->slots[slot];
    }
}

bool nvmm_processes_add(struct nvmm_processes *processes, uint64_t owner, uint32_t pid,
                        enum access access, double accesses, double bytes, uint64_t now_ns)
{
    if (!processes || (accesses <= 0 && bytes <= 0))
        return true;
    uint16_t *slot = find(processes, owner, pid);
    if (*slot == 0) {
        if (processes->n == NVMM_MAX_PROCESSES)
            return false;
        processes->at[processes->n] = (struct process){.owner = owner, .pid = pid};
        *slot = (uint16_t)++processes->n;
    }
    struct process *process = &processes->at[*slot - 1];
    process->used_ns = now_ns;
    process->use[access].accesses += accesses;
    process->use[access].bytes += bytes;
    return true;
}

static bool expired(const struct process *process, uint64_t now_ns)
{
    return process->used_ns + linger_ns < now_ns;
}

static bool lacks_series(const struct nvmm_processes *processes, const struct process *process)
{
    for (int access = 0; access < ACCESS_KINDS; access++)
        if (processes->active[access] && !process->use[access].bytes_series)
            return !process->failed;
    return false;
}

bool nvmm_processes_show(struct nvmm_processes *processes, uint64_t now_ns)
{
    bool wanting = false;
    for (size_t i = 0; processes && i < processes->n; i++) {
        struct process *process = &processes->at[i];
        wanting |= lacks_series(processes, process) || expired(process, now_ns);
        for (int access = 0; access < ACCESS_KINDS; access++) {
            if (!process->use[access].bytes_series)
                continue;
            series_set_u64(process->use[access].accesses_series,
                           nvmm_whole(process->use[access].accesses));
            series_set_u64(process->use[access].bytes_series,
                           nvmm_whole(process->use[access].bytes));
        }
    }
    return wanting;
}

static int make(const struct nvmm_families *families, struct process *process, enum access access,
                struct labelset *labels)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%" PRIu32, process->pid);
    const struct label own[] = {{"pid", pid}, {"access", access_name(access)}};
    struct series *accesses, *bytes;
    int err = series_new(families->at[M_PROCESS_ACCESSES], labels, own, 2, &accesses);
    if (err)
        return err;
    err = series_new(families->at[M_PROCESS_BYTES], labels, own, 2, &bytes);
    if (err) {
        series_free(accesses);
        return err;
    }
    process->use[access].accesses_series = accesses;
    process->use[access].bytes_series = bytes;
    return 0;
}

void nvmm_processes_make(struct nvmm_processes *processes, uint64_t owner, struct labelset *labels)
{
    for (size_t i = 0; processes && labels && i < processes->n; i++) {
        struct process *process = &processes->at[i];
        for (int access = 0; access < ACCESS_KINDS && process->owner == owner; access++)
            if (processes->active[access] && !process->use[access].bytes_series && !process->failed)
                process->failed =
                    make(processes->families, process, (enum access)access, labels) != 0;
    }
}

void nvmm_processes_relabel(struct nvmm_processes *processes, uint64_t owner,
                            struct labelset *labels)
{
    for (size_t i = 0; processes && i < processes->n; i++) {
        struct process *process = &processes->at[i];
        for (int access = 0; access < ACCESS_KINDS && process->owner == owner; access++) {
            struct series **series[] = {&process->use[access].accesses_series,
                                        &process->use[access].bytes_series};
            for (size_t k = 0; k < 2; k++) {
                if (!*series[k] || (labels && series_relabel(series[k], labels) == 0))
                    continue;
                drop_series(process);
                process->failed = true;
                break;
            }
        }
    }
}

static void drop(struct nvmm_processes *processes, uint64_t owner, uint64_t now_ns)
{
    size_t n = processes->n;
    for (size_t i = 0; i < processes->n;) {
        struct process *process = &processes->at[i];
        if (process->owner != owner && !expired(process, now_ns)) {
            i++;
            continue;
        }
        drop_series(process);
        processes->at[i] = processes->at[--processes->n];
    }
    if (processes->n == n)
        return;
    memset(processes->slots, 0, sizeof processes->slots);
    for (size_t i = 0; i < processes->n; i++)
        *find(processes, processes->at[i].owner, processes->at[i].pid) = (uint16_t)(i + 1);
}

void nvmm_processes_forget(struct nvmm_processes *processes, uint64_t owner)
{
    if (processes)
        drop(processes, owner, 0);
}

void nvmm_processes_expire(struct nvmm_processes *processes, uint64_t now_ns)
{
    if (processes)
        drop(processes, 0, now_ns);
}
