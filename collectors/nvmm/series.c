#include "collectors/nvmm/series.h"

#include "collectors/parts/named_series.h"

#define CONTAINER(n) "interference_container_" n
static const struct metric_desc descs[NVMM_METRICS] = {
    [M_ACCESSES] =
        METRIC(COUNTER, U64, CONTAINER("nvmm_accesses"), "container, access",
               "Estimated loads or stores of programs to persistent memory: all counted loads or "
               "stores, times the share of the samples that went there. High: the container uses "
               "the modules a lot. More samples make the estimate more exact; see "
               "memory_samples. Accesses by the guests of virtual machines are not included."),
    [M_BYTES] =
        METRIC(COUNTER, U64, CONTAINER("nvmm_bytes"), "container, access",
               "Estimated bytes of the accesses in nvmm_accesses, from the sizes of the "
               "sampled instructions. High: near 2.3 GB/s of stores or 6.6 GB/s of loads, a "
               "module is at its limit. Divided by nvmm_accesses: the size of one access; "
               "the module amplifies stores that do not fill 256 bytes. Too low if samples "
               "are undecoded with reason repeated, masked or variable: those add no bytes."),
    [M_SAMPLES] =
        METRIC(COUNTER, U64, CONTAINER("memory_samples"), "container, access, medium",
               "Samples of the container's accesses, by where the accesses went: nvmm, other "
               "memory, or unknown. High: the estimates rest on many samples; a share from n "
               "samples is uncertain by one part in the square root of n. High for unknown: "
               "processes end, or change their mappings, before the exporter can look at them. "
               "Processes that ended before their container was found are not included."),
    [M_WRITERS] = METRIC(GAUGE, U64, CONTAINER("nvmm_writer_threads"), "container",
                         "Threads that were sampled storing to persistent memory in the last "
                         "second. High: with more than 4 threads per module, its write bandwidth "
                         "falls. Threads that rarely store are missed. Absent while the node has "
                         "more such threads than the exporter keeps, 4096."),
    [M_RFO] =
        METRIC(COUNTER, U64, CONTAINER("nvmm_rfo_accesses"), "container",
               "Reads for ownership that local persistent memory served: the cache lines that "
               "ordinary stores fetch, counted without sampling. High: the container stores a "
               "lot. Non-temporal stores of whole 64-byte lines are not included, and only 1 - "
               "s/64 of those of s bytes are; of the other stores, 67 to 100 % are included. "
               "Cascade Lake and Ice Lake only, with --collector.pebs_nvmm.rfo."),
    [M_PROCESS_ACCESSES] =
        METRIC(COUNTER, U64, "interference_process_nvmm_accesses", "container, pid, access",
               "Like interference_container_nvmm_accesses, for one process; only with "
               "--collector.pebs_nvmm.per-process. High: this process makes the accesses. At "
               "most 1024 processes at a time have series; another process gets series when one "
               "of them has not used persistent memory for two minutes. The container's counter "
               "includes all processes."),
    [M_PROCESS_BYTES] =
        METRIC(COUNTER, U64, "interference_process_nvmm_bytes", "container, pid, access",
               "Like interference_container_nvmm_bytes, for one process; only with "
               "--collector.pebs_nvmm.per-process. High: this process makes the accesses."),
    [M_DIMMS] =
        METRIC(GAUGE, U64, "interference_pmem_dimms", NULL,
               "Persistent memory modules of the node, including those used as ordinary memory; "
               "absent if there are none to count. High: there is room for more writer threads."),
    [M_HUNG] = METRIC(COUNTER, U64, "interference_sampler_reads_hung", NULL,
                      "Reads of a process's mappings or code that did not end within 200 ms, "
                      "time for which no CPU was free aside. High: a program that serves memory "
                      "or files of some container does not "
                      "answer; /api/v1/status names the process of the last one."),
    [M_REFUSED] = METRIC(GAUGE, U64, "interference_sampler_containers_refused", NULL,
                         "Containers whose samples have neither kind of memory nor size for 10 s "
                         "to 11 minutes, because a read of one of their processes did not end. "
                         "High: as interference_sampler_reads_hung."),
    [M_LOST] = METRIC(COUNTER, U64, "interference_sampler_samples_lost", "access",
                      "Samples that the hardware, the kernel or a full queue dropped. High: "
                      "estimates become coarse, and wrong if samples of one kind of memory are "
                      "dropped more often; raise --collector.pebs_nvmm.period to sample less."),
    [M_UNDECODED] =
        METRIC(COUNTER, U64, "interference_sampler_samples_undecoded", "access, reason",
               "Samples of persistent memory whose access size is unknown, by reason: repeated, "
               "masked or variable instructions, whose size is in registers; no_access, invalid "
               "or truncated code; unreadable code. High: bytes are less certain than accesses."),
    [M_THROTTLES] =
        METRIC(COUNTER, U64, "interference_sampler_throttles", "access",
               "Times that the kernel paused sampling on a CPU. High: more samples than "
               "the kernel allows; raise --collector.pebs_nvmm.period to sample less."),
};

const struct metric_desc *const nvmm_metrics[] = {
    &descs[M_ACCESSES],      &descs[M_BYTES],
    &descs[M_SAMPLES],       &descs[M_WRITERS],
    &descs[M_RFO],           &descs[M_PROCESS_ACCESSES],
    &descs[M_PROCESS_BYTES], &descs[M_DIMMS],
    &descs[M_LOST],          &descs[M_UNDECODED],
    &descs[M_THROTTLES],     &descs[M_HUNG],
    &descs[M_REFUSED],       NULL};

int nvmm_families_register(struct nvmm_families *families, struct store *store, const char *owner)
{
    int err = 0;
    for (int i = 0; i < NVMM_METRICS && !err; i++)
        err = store_family(store, &descs[i], owner, &families->at[i]);
    return err;
}

/* ---- a container ---- */

_Static_assert(sizeof(struct nvmm_set) ==
                       offsetof(struct nvmm_set, at) + NVMM_SERIES * sizeof(struct series *) &&
                   sizeof(union nvmm_node_set) == NVMM_NODE_SERIES * sizeof(struct series *),
               "'at' has all of them, and no more");

static int make_use(struct nvmm_set *set, const struct nvmm_families *families,
                    struct labelset *labels, enum access access)
{
    struct label own[2] = {{"access", access_name(access)}};
    int err =
        named_series_new(families->at[M_ACCESSES], labels, own, 1, &set->use[access].accesses);
    if (!err)
        err = named_series_new(families->at[M_BYTES], labels, own, 1, &set->use[access].bytes);
    for (int medium = 0; medium < MEDIA && !err; medium++) {
        own[1] = (struct label){"medium", medium_name((enum medium)medium)};
        err = named_series_new(families->at[M_SAMPLES], labels, own, 2,
                               &set->use[access].samples[medium]);
    }
    return err;
}

int nvmm_set_make(struct nvmm_set *set, const struct nvmm_families *families,
                  struct labelset *labels)
{
    int err = 0;
    for (int access = 0; access < ACCESS_KINDS && !err; access++)
        if (families->sampled[access])
            err = make_use(set, families, labels, (enum access)access);
    if (!err && families->sampled[ACCESS_STORE])
        err = named_series_new(families->at[M_WRITERS], labels, NULL, 0, &set->writers);
    if (!err && families->rfo)
        err = named_series_new(families->at[M_RFO], labels, NULL, 0, &set->rfo);
    if (err)
        nvmm_set_release(set);
    else
        set->made = true;
    return err;
}

void nvmm_set_relabel(struct nvmm_set *set, struct labelset *labels)
{
    set->made = set->made && named_series_relabel(set->at, NVMM_SERIES, labels);
}

void nvmm_set_release(struct nvmm_set *set)
{
    named_series_release(set->at, NVMM_SERIES);
    set->made = false;
}

/* ---- the node ---- */

static int make_node_use(union nvmm_node_set *set, const struct nvmm_families *families,
                         enum access access)
{
    struct label own[2] = {{"access", access_name(access)}};
    int err = named_series_new(families->at[M_LOST], NULL, own, 1, &set->use[access].lost);
    if (!err)
        err =
            named_series_new(families->at[M_THROTTLES], NULL, own, 1, &set->use[access].throttles);
    for (int size = ACCESS_SIZE_KNOWN + 1; size < ACCESS_SIZES && !err; size++) {
        own[1] = (struct label){"reason", access_size_name((enum access_size)size)};
        err = named_series_new(families->at[M_UNDECODED], NULL, own, 2,
                               &set->use[access].undecoded[size]);
    }
    return err;
}

int nvmm_node_set_make(union nvmm_node_set *set, const struct nvmm_families *families)
{
    int err = named_series_new(families->at[M_DIMMS], NULL, NULL, 0, &set->dimms);
    if (!err)
        err = named_series_new(families->at[M_HUNG], NULL, NULL, 0, &set->hung);
    if (!err)
        err = named_series_new(families->at[M_REFUSED], NULL, NULL, 0, &set->refused);
    for (int access = 0; access < ACCESS_KINDS && !err; access++)
        if (families->sampled[access])
            err = make_node_use(set, families, (enum access)access);
    if (err)
        named_series_release(set->at, NVMM_NODE_SERIES);
    return err;
}
