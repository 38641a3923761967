#include "exporter/source/accesses/assignment.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "exporter/base/clock.h"
#include "exporter/source/accesses/address_spaces.h"
#include "exporter/source/accesses/instruction.h"
#include "exporter/source/accesses/own_reader.h"
#include "exporter/source/accesses/process_table.h"

/* No record says that a process was moved to another cgroup, or that a disk came or went: both are
 * looked at again after these times. */
static const uint64_t look_again_ns = 2000000000, max_age_ns = 10000000000,
                      refresh_ns = 60000000000;

/* What is not answered after this time may never be: where processes come and go from what is
 * remembered, each answer can forget what another waits for, and all that is newer waits too. */
static const uint64_t max_wait_ns = 2000000000;

/* A sample that cannot be answered before the next settle. */
struct waiting {
    struct access_sample sample;
    uint64_t read_ns; /* when its instruction was read; 0: its size is final */
    uint32_t space;   /* whose code that was */
    bool no_medium;   /* not known yet */
};

struct assignment {
    struct assignment_config config;
    struct address_spaces *spaces;
    struct process_table *processes;
    struct code_cache *cache;
    struct process_reader *own; /* NULL: another one is configured */
    struct budget budget;       /* of reading in processes' files and memory */
    struct refusals refusals;
    uint64_t settled_ns, refreshed_ns;
    bool cgroups_come; /* with the samples: processes need not be looked up */
    struct waiting *waiting;
    size_t n_waiting, cap_waiting;
    _Atomic uint64_t dropped[ACCESS_KINDS], foreign, unseen, code_reads;
    _Atomic uint32_t looks_at; /* for whoever wonders why nothing settles */
    _Atomic uint64_t hung, refused;
    _Atomic uint32_t hung_at;
};

static uint64_t now(const struct assignment *a)
{
    return a->config.now_ns(a->config.now_context);
}

static uint64_t cpu_ns(const struct assignment *a)
{
    if (a->config.cpu_ns)
        return a->config.cpu_ns(a->config.now_context);
    return clock_ns(CLOCK_THREAD_CPUTIME_ID) + process_reader_cpu_ns(a->config.reader);
}

/* One thread counts, others look. */
static void count(_Atomic uint64_t *counter)
{
    uint64_t n = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, n + 1, memory_order_relaxed);
}

static void look_at(struct assignment *a, uint32_t pid)
{
    atomic_store_explicit(&a->looks_at, pid, memory_order_relaxed);
}

/* After looking at it. */
static void note_hang(struct assignment *a, const struct access_sample *sample)
{
    uint64_t hung;
    process_reader_unanswered(a->config.reader, &hung);
    if (hung == atomic_load_explicit(&a->hung, memory_order_relaxed))
        return;
    refusals_add(&a->refusals, sample->owner, now(a));
    atomic_store_explicit(&a->hung_at, sample->pid, memory_order_relaxed);
    atomic_store_explicit(&a->hung, hung, memory_order_relaxed);
}

static void put(struct assignment *a, const struct access_sample *sample)
{
    if (!sample_queue_put(a->config.queue, sample))
        count(&a->dropped[sample->access]);
}

/* ---- whose ---- */

/* What cannot be found out any more stays as it was: a process that has ended was where its
 * parent was, or where it was seen last. */
static void look_at_cgroup(struct assignment *a, struct known_process *process, uint32_t tid,
                           uint64_t time_ns)
{
    const struct sample_owners *owners = a->config.owners;
    uint64_t cgroup_id;
    if (owners->cgroup(owners->context, process->entry.pid, tid, time_ns, &cgroup_id) == 0)
        process->cgroup_id = cgroup_id;
    process->looked_ns = now(a);
}

static uint64_t owner_of(struct assignment *a, const struct kernel_record *record,
                         struct known_process *process)
{
    const struct sample_owners *owners = a->config.owners;
    uint64_t id = record->sample.cgroup_id;
    a->cgroups_come = id != 0;
    if (id == 0 && process) {
        if (process->looked_ns == 0 || process->looked_ns + look_again_ns < record->time_ns)
            look_at_cgroup(a, process, record->tid, record->time_ns);
        id = process->cgroup_id;
    }
    return id ? owners->owner(owners->context, id) : 0;
}

/* ---- which medium ---- */

/* False: ask again after the next settle. */
static bool find_medium(struct assignment *a, struct access_sample *sample)
{
    sample->medium = MEDIUM_UNKNOWN;
    if (refusals_has(&a->refusals, sample->owner, sample->time_ns))
        return true;
    look_at(a, sample->pid);
    int err = address_spaces_find(a->spaces, sample, &sample->medium);
    look_at(a, 0);
    note_hang(a, sample);
    return err != -EAGAIN;
}

/* ---- how many bytes ---- */

static bool is_wide(struct assignment *a, struct known_process *process, uint32_t number,
                    uint64_t ip, bool *out)
{
    bool wide = true;
    /* No 32-bit code lies there. */
    if (ip > UINT32_MAX) {
        *out = true;
        return true;
    }
    if (process->width == WIDTH_UNKNOWN) {
        struct process_reader *reader = a->config.reader;
        if (reader->ops->is_wide(reader, number, &wide) != 0)
            return false;
        process->width = wide ? WIDTH_64 : WIDTH_32;
    }
    *out = process->width == WIDTH_64;
    return true;
}

/* Through the thread that made the access where the process's first has ended. */
static enum access_size decode(struct assignment *a, struct known_process *process,
                               const struct access_sample *sample, uint32_t *bytes)
{
    uint32_t number = process->entry.pid;
    struct process_reader *reader = a->config.reader;
    uint8_t code[ACCESS_CODE_BYTES];
    bool wide;
    uint64_t now_ns = now(a), from_ns = cpu_ns(a);
    if (!budget_allows(&a->budget, now_ns) || !process_reader_is_ready(reader))
        return ACCESS_SIZE_UNREADABLE;
    count(&a->code_reads);
    look_at(a, number);
    int got = reader->ops->code(reader, number, sample->ip, code);
    if (got == -ESRCH && sample->tid != number)
        got = reader->ops->code(reader, number = sample->tid, sample->ip, code);
    bool known = got > 0 && is_wide(a, process, number, sample->ip, &wide);
    look_at(a, 0);
    note_hang(a, sample);
    budget_spend(&a->budget, cpu_ns(a) - from_ns, now_ns);
    if (!known)
        return ACCESS_SIZE_UNREADABLE;
    return access_size(code, (size_t)got, wide, sample->access, bytes);
}

/* Reads the instruction now. What is remembered of it, if anything. */
static struct code_size read_size(struct assignment *a, struct known_process *process,
                                  const struct access_sample *sample)
{
    uint32_t bytes = 0;
    enum access_size size = decode(a, process, sample, &bytes);
    struct code_size entry = {
        .ip = sample->ip,
        .read_ns = now(a),
        .space = process->space,
        .access = (uint8_t)sample->access,
        .size = (uint8_t)size,
        .bytes = (uint8_t)bytes,
        .passing = !address_spaces_has_fixed_code(a->spaces, sample->pid, sample->ip),
    };
    if (size != ACCESS_SIZE_UNREADABLE)
        code_cache_put(a->cache, &entry);
    return entry;
}

static void no_size(struct access_sample *sample)
{
    sample->size = ACCESS_SIZE_UNREADABLE;
    sample->bytes = 0;
}

/* The time at which the code was read if that is too new to be sure of, otherwise 0. */
static uint64_t find_size(struct assignment *a, struct known_process *process,
                          struct access_sample *sample)
{
    const struct code_size *known =
        code_cache_find(a->cache, process->space, sample->ip, sample->access);
    struct code_size entry;
    if (known && (!known->passing || sample->time_ns <= known->read_ns)) {
        entry = *known;
    } else if (refusals_has(&a->refusals, sample->owner, sample->time_ns)) {
        no_size(sample);
        return 0;
    } else {
        entry = read_size(a, process, sample);
    }
    sample->size = (enum access_size)entry.size;
    sample->bytes = entry.size == ACCESS_SIZE_KNOWN ? entry.bytes : 0;
    return sample->size == ACCESS_SIZE_UNREADABLE || entry.read_ns <= a->settled_ns ? 0
                                                                                    : entry.read_ns;
}

/* ---- waiting ---- */

static bool reserve(struct assignment *a)
{
    if (a->n_waiting < a->cap_waiting)
        return true;
    size_t cap = a->cap_waiting ? a->cap_waiting * 2 : 256;
    if (cap > a->config.max_waiting)
        cap = a->config.max_waiting;
    struct waiting *waiting =
        cap > a->cap_waiting ? realloc(a->waiting, cap * sizeof *waiting) : NULL;
    if (!waiting)
        return false;
    a->waiting = waiting;
    a->cap_waiting = cap;
    return true;
}

/* What is not sure is not known. */
static void give_up(struct assignment *a, struct waiting *w)
{
    if (w->read_ns != 0)
        no_size(&w->sample);
    put(a, &w->sample);
}

static void wait_or_put(struct assignment *a, struct waiting *w)
{
    if (!w->no_medium && w->read_ns == 0) {
        put(a, &w->sample);
    } else if (reserve(a)) {
        a->waiting[a->n_waiting++] = *w;
    } else {
        give_up(a, w);
    }
}

/* True when it is final. */
static bool answer(struct assignment *a, struct waiting *w)
{
    if (w->no_medium)
        w->no_medium = !find_medium(a, &w->sample);
    if (w->read_ns != 0 && w->read_ns <= a->settled_ns) {
        const struct known_process *process = process_table_find(a->processes, w->sample.pid);
        if (!process || process->space != w->space)
            no_size(&w->sample);
        w->read_ns = 0;
    }
    return !w->no_medium && w->read_ns == 0;
}

/* The time before which all samples are out. */
static uint64_t answer_all(struct assignment *a)
{
    uint64_t done_ns = a->settled_ns;
    size_t kept = 0;
    for (size_t i = 0; i < a->n_waiting; i++) {
        struct waiting *w = &a->waiting[i];
        if (answer(a, w)) {
            put(a, &w->sample);
            continue;
        }
        if (w->sample.time_ns + max_wait_ns < a->settled_ns) {
            give_up(a, w);
            continue;
        }
        if (w->sample.time_ns < done_ns)
            done_ns = w->sample.time_ns;
        a->waiting[kept++] = *w;
    }
    a->n_waiting = kept;
    return done_ns;
}

/* ---- records ---- */

void assignment_sample(struct assignment *a, enum access access, const struct kernel_record *record)
{
    struct known_process *process = NULL;
    if (record->sample.cgroup_id == 0)
        process = process_table_get(a->processes, record->pid, record->time_ns);
    uint64_t owner = owner_of(a, record, process);
    if (owner && !process)
        process = process_table_get(a->processes, record->pid, record->time_ns);
    if (!owner || !process) {
        count(&a->foreign);
        if (record->pid == 0 || record->pid == UINT32_MAX)
            count(&a->unseen);
        return;
    }
    struct waiting w = {.sample = {.time_ns = record->time_ns,
                                   .owner = owner,
                                   .ip = record->sample.ip,
                                   .address = record->sample.address,
                                   .pid = record->pid,
                                   .tid = record->tid,
                                   .access = access,
                                   .latency_cycles = record->sample.weight},
                        .space = process->space};
    /* The medium first: for that the process's mappings are loaded. */
    w.no_medium = !find_medium(a, &w.sample);
    if (record->sample.user)
        w.read_ns = find_size(a, process, &w.sample);
    else
        no_size(&w.sample);
    wait_or_put(a, &w);
}

/* A child may be gone before it can be read. Its parent still exists, or was known. */
static void know_parent(struct assignment *a, const struct kernel_record *record)
{
    if (a->cgroups_come || record->pid != record->tid)
        return;
    struct known_process *parent =
        process_table_get(a->processes, record->fork.parent_pid, record->time_ns);
    if (parent && parent->looked_ns == 0)
        look_at_cgroup(a, parent, parent->entry.pid, record->time_ns);
}

void assignment_event(struct assignment *a, const struct kernel_record *record)
{
    if (record->kind == KERNEL_RECORD_LOST) {
        address_spaces_lost(a->spaces, record->time_ns);
        process_table_lost(a->processes);
        return;
    }
    if (record->kind == KERNEL_RECORD_FORK)
        know_parent(a, record);
    address_spaces_apply(a->spaces, record);
    process_table_apply(a->processes, record);
}

void assignment_settle(struct assignment *a, uint64_t time_ns)
{
    struct medium_rule *rule = a->config.rule;
    a->settled_ns = time_ns;
    address_spaces_settle(a->spaces, time_ns);
    uint64_t done_ns = answer_all(a);
    process_table_settle(a->processes, time_ns);
    if (rule->refresh && a->refreshed_ns + refresh_ns < time_ns) {
        if (a->refreshed_ns != 0)
            rule->refresh(rule);
        a->refreshed_ns = time_ns;
    }
    atomic_store_explicit(&a->refused, refusals_count(&a->refusals, time_ns), memory_order_relaxed);
    sample_queue_settle(a->config.queue, done_ns);
}

struct assignment_counts assignment_counts(const struct assignment *a)
{
    struct assignment_counts counts = {
        .foreign = atomic_load_explicit(&a->foreign, memory_order_relaxed),
        .unseen = atomic_load_explicit(&a->unseen, memory_order_relaxed),
        .code_reads = atomic_load_explicit(&a->code_reads, memory_order_relaxed),
        .looks_at = atomic_load_explicit(&a->looks_at, memory_order_relaxed),
        .hung = atomic_load_explicit(&a->hung, memory_order_relaxed),
        .hung_at = atomic_load_explicit(&a->hung_at, memory_order_relaxed),
        .refused = atomic_load_explicit(&a->refused, memory_order_relaxed),
    };
    for (int i = 0; i < ACCESS_KINDS; i++)
        counts.dropped[i] = atomic_load_explicit(&a->dropped[i], memory_order_relaxed);
    return counts;
}

struct assignment_size assignment_size(const struct assignment *a)
{
    struct address_spaces_size spaces = address_spaces_size(a->spaces);
    return (struct assignment_size){
        .processes = spaces.processes,
        .mapping_bytes = spaces.bytes,
        .process_bytes = process_table_bytes(a->processes),
        .code_bytes = code_cache_bytes(a->cache),
        .waiting_bytes = a->cap_waiting * sizeof *a->waiting,
    };
}

/* ---- life ---- */

static int make_spaces(struct assignment *a)
{
    const struct assignment_config *config = &a->config;
    const struct address_spaces_config spaces = {.reader = config->reader,
                                                 .rule = config->rule,
                                                 .now_ns = config->now_ns,
                                                 .cpu_ns = config->cpu_ns,
                                                 .context = config->now_context,
                                                 .max_processes = config->max_processes,
                                                 .max_bytes = config->max_mapping_bytes,
                                                 .max_age_ns = max_age_ns};
    return address_spaces_new(&spaces, &a->spaces);
}

int assignment_new(const struct assignment_config *config, struct assignment **out)
{
    struct assignment *a = calloc(1, sizeof *a);
    if (!a)
        return -ENOMEM;
    a->config = *config;
    int err = config->reader ? 0 : own_reader_new(config->fs, &a->own);
    if (!config->reader)
        a->config.reader = a->own;
    if (!err)
        err = make_spaces(a);
    if (!err)
        err = process_table_new(config->max_processes * 4, &a->processes);
    if (!err)
        err = code_cache_new(config->code_entries, &a->cache);
    if (err)
        assignment_free(a);
    else
        *out = a;
    return err;
}

void assignment_free(struct assignment *a)
{
    if (!a)
        return;
    address_spaces_free(a->spaces);
    process_table_free(a->processes);
    code_cache_free(a->cache);
    own_reader_free(a->own);
    free(a->waiting);
    free(a);
}
