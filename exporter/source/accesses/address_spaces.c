#include "exporter/source/accesses/address_spaces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/clock.h"
#include "exporter/source/accesses/process_table.h"

/* How often the pause after a process that is too large is doubled. */
enum { MAX_TOO_LARGE = 7 };

/* A process whose mappings are known, or were asked for. */
struct mapped_process {
    struct pid_entry entry; /* first */
    bool loaded;
    bool gone;          /* /proc had nothing for us at loaded_ns */
    bool by_thread;     /* only by its threads' numbers */
    uint32_t asked_tid; /* for which thread's access it was loaded */
    uint64_t loaded_ns; /* after reading */
    uint64_t epoch_ns;  /* exec, or fork: what is older is not of these mappings */
    uint64_t used;      /* turn of the last question */
    unsigned too_large; /* how often in a row it was */
    struct address_space space;
};

struct address_spaces {
    struct address_spaces_config config;
    struct pid_table processes;
    size_t bytes; /* of all spaces */
    uint64_t turn;
    uint64_t settled_ns;
    uint64_t seen_ns;     /* records up to here came, also of processes that were not known then */
    uint64_t lost_ns;     /* of records before this time some are missing */
    struct budget budget; /* of loading, and of asking the rule */
};

/* ---- the table ---- */

static struct mapped_process *find_process(const struct address_spaces *spaces, uint32_t pid)
{
    return (struct mapped_process *)pid_table_find(&spaces->processes, pid);
}

/* NULL: a free slot. */
static struct mapped_process *slot_of(const struct address_spaces *spaces, size_t i)
{
    struct pid_entry *entry = pid_table_slot(&spaces->processes, i);
    return entry->pid != 0 ? (struct mapped_process *)entry : NULL;
}

static size_t bytes_of(const struct address_space *space)
{
    return space->cap * sizeof *space->at + space->paths_cap;
}

static void release_space(void *context, struct pid_entry *entry)
{
    struct address_spaces *spaces = context;
    struct address_space *space = &((struct mapped_process *)entry)->space;
    spaces->bytes -= bytes_of(space);
    address_space_release(space);
}

static void forget_the_oldest(struct address_spaces *spaces)
{
    struct mapped_process *oldest = NULL;
    for (size_t i = 0; i < pid_table_slots(&spaces->processes); i++) {
        struct mapped_process *process = slot_of(spaces, i);
        if (process && (!oldest || process->used < oldest->used))
            oldest = process;
    }
    if (oldest)
        pid_table_remove(&spaces->processes, &oldest->entry);
}

static bool is_full(const struct address_spaces *spaces)
{
    size_t max_bytes = spaces->config.max_bytes;
    return spaces->processes.n >= spaces->config.max_processes ||
           (max_bytes != 0 && spaces->bytes > max_bytes);
}

/* What became of it before, while it was not known, was not noted: hence the epoch. */
static struct mapped_process *add(struct address_spaces *spaces, uint32_t pid)
{
    while (spaces->processes.n > 0 && is_full(spaces))
        forget_the_oldest(spaces);
    struct pid_entry *entry = pid_table_add(&spaces->processes, pid);
    struct mapped_process *process = (struct mapped_process *)entry;
    process->epoch_ns = spaces->seen_ns;
    return process;
}

/* ---- loading ---- */

static int put_lines(struct address_space *space, const char *text, size_t len)
{
    struct maps_line line;
    int more, err = 0;
    while (!err && (more = maps_next(&text, &len, &line)) != 0)
        if (more > 0)
            err = address_space_put(space, &line, 0);
    return err;
}

/* 0, -ESRCH for a process that ended and for a kernel thread, which have no text at all; -EFBIG or
 * -E2BIG for more than anybody needs; -EAGAIN for no answer; or -ENOMEM. */
static int fill_from(struct address_spaces *spaces, struct mapped_process *process, uint32_t number)
{
    struct process_reader *reader = spaces->config.reader;
    const char *text;
    size_t len, n = 0;
    int more = 0;
    int err = reader->ops->open_maps(reader, number), opened = err;
    while (!err && (more = reader->ops->next_maps(reader, &text, &len)) > 0) {
        err = put_lines(&process->space, text, len);
        n += len;
    }
    if (opened == 0)
        reader->ops->close_maps(reader);
    err = err ? err : more;
    bool tells = err == -ENOMEM || err == -EFBIG || err == -E2BIG || err == -EAGAIN;
    return err == 0 && n > 0 ? 0 : tells ? err : -ESRCH;
}

/* A first thread that has ended has no mappings. /proc knows the others by number, too. */
static int fill(struct address_spaces *spaces, struct mapped_process *process, uint32_t tid)
{
    int err = fill_from(spaces, process, process->entry.pid);
    process->by_thread = err == -ESRCH && tid != process->entry.pid;
    return process->by_thread ? fill_from(spaces, process, tid) : err;
}

/* Mappings that could not all be kept are none: half of the truth would be a wrong answer. */
static int load(struct address_spaces *spaces, struct mapped_process *process, uint32_t tid)
{
    spaces->bytes -= bytes_of(&process->space);
    address_space_clear(&process->space);
    int err = fill(spaces, process, tid);
    if (err)
        address_space_release(&process->space);
    spaces->bytes += bytes_of(&process->space);
    if (err == -ENOMEM || err == -EAGAIN)
        return err;
    process->loaded_ns = spaces->config.now_ns(spaces->config.context);
    process->loaded = true;
    process->gone = err != 0;
    process->asked_tid = tid;
    if (err != -EFBIG && err != -E2BIG)
        process->too_large = 0;
    else if (process->too_large < MAX_TOO_LARGE)
        process->too_large++;
    return 0;
}

/* ---- records ---- */

static void see(struct address_spaces *spaces, uint64_t time_ns)
{
    if (spaces->seen_ns < time_ns)
        spaces->seen_ns = time_ns;
}

/* Everything known is of another program, or of another process with that number. */
static void begin_anew(struct address_spaces *spaces, struct mapped_process *process,
                       uint64_t time_ns)
{
    pid_table_on_life(&spaces->processes, &process->entry);
    address_space_clear(&process->space);
    process->loaded = process->gone = false;
    process->too_large = 0;
    process->epoch_ns = time_ns;
}

static void process_on_mmap(struct address_spaces *spaces, struct mapped_process *process,
                            const struct kernel_record *record)
{
    const struct maps_line line = {.start = record->mmap.start,
                                   .end = record->mmap.start + record->mmap.length,
                                   .offset = record->mmap.offset,
                                   .readable = record->mmap.readable,
                                   .writable = record->mmap.writable,
                                   .executable = record->mmap.executable,
                                   .shared = record->mmap.shared,
                                   .major = record->mmap.major,
                                   .minor = record->mmap.minor,
                                   .inode = record->mmap.inode,
                                   .path = record->mmap.path,
                                   .path_len = record->mmap.path_len};
    if (!process->loaded || process->gone || line.end <= line.start)
        return;
    spaces->bytes -= bytes_of(&process->space);
    int err = address_space_put(&process->space, &line, record->time_ns);
    spaces->bytes += bytes_of(&process->space);
    if (err) /* no room: what is not known must not be guessed */
        begin_anew(spaces, process, record->time_ns);
}

/* Whether what is known of the parent is what it had when the child was made. */
static bool is_known_at(const struct mapped_process *parent, uint64_t time_ns)
{
    return parent && parent->loaded && !parent->gone && parent->entry.died_ns == 0 &&
           parent->loaded_ns <= time_ns;
}

static void process_on_fork(struct address_spaces *spaces, const struct kernel_record *record)
{
    struct mapped_process *parent = find_process(spaces, record->fork.parent_pid);
    if (parent)
        pid_table_on_run(&spaces->processes, &parent->entry, record->time_ns);
    struct mapped_process *child = find_process(spaces, record->pid);
    if (record->pid == record->tid && is_known_at(parent, record->time_ns) && !child) {
        uint64_t used = parent->used;
        child = add(spaces, record->pid); /* for which others move, and one may go */
        child->used = used;
        parent = find_process(spaces, record->fork.parent_pid);
    }
    if (!child || record->pid != record->tid)
        return;
    begin_anew(spaces, child, record->time_ns);
    if (!is_known_at(parent, record->time_ns))
        return;
    spaces->bytes -= bytes_of(&child->space);
    child->loaded = address_space_copy(&child->space, &parent->space) == 0;
    spaces->bytes += bytes_of(&child->space);
    child->loaded_ns = parent->loaded_ns;
}

void address_spaces_apply(struct address_spaces *spaces, const struct kernel_record *record)
{
    see(spaces, record->time_ns);
    if (record->kind == KERNEL_RECORD_FORK) {
        process_on_fork(spaces, record);
        return;
    }
    struct mapped_process *process = find_process(spaces, record->pid);
    if (!process)
        return; /* never asked for; it will be loaded then */
    switch (record->kind) {
    case KERNEL_RECORD_MMAP:
        process_on_mmap(spaces, process, record);
        break;
    case KERNEL_RECORD_EXEC:
        begin_anew(spaces, process, record->time_ns);
        break;
    case KERNEL_RECORD_EXIT:
        pid_table_on_exit(&spaces->processes, &process->entry, record->tid, record->time_ns);
        break;
    default:
        break;
    }
}

void address_spaces_lost(struct address_spaces *spaces, uint64_t time_ns)
{
    if (spaces->lost_ns < time_ns)
        spaces->lost_ns = time_ns;
    for (size_t i = 0; i < pid_table_slots(&spaces->processes); i++)
        if (slot_of(spaces, i))
            slot_of(spaces, i)->loaded = slot_of(spaces, i)->gone = false;
}

void address_spaces_settle(struct address_spaces *spaces, uint64_t time_ns)
{
    spaces->settled_ns = time_ns;
    see(spaces, time_ns);
    pid_table_settle(&spaces->processes, time_ns);
}

/* ---- questions ---- */

static uint64_t cpu_ns(const struct address_spaces *spaces)
{
    if (spaces->config.cpu_ns)
        return spaces->config.cpu_ns(spaces->config.context);
    return clock_ns(CLOCK_THREAD_CPUTIME_ID) + process_reader_cpu_ns(spaces->config.reader);
}

static bool may_spend(const struct address_spaces *spaces)
{
    return budget_allows(&spaces->budget, spaces->config.now_ns(spaces->config.context)) &&
           process_reader_is_ready(spaces->config.reader);
}

static void spend(struct address_spaces *spaces, uint64_t from_ns)
{
    budget_spend(&spaces->budget, cpu_ns(spaces) - from_ns,
                 spaces->config.now_ns(spaces->config.context));
}

/* Nothing was found through one thread, which may have ended: the first, or before this one ran. */
static bool may_be_found_now(const struct mapped_process *process,
                             const struct access_sample *access)
{
    return process->gone && process->asked_tid != access->tid &&
           (process->asked_tid == access->pid || process->loaded_ns < access->time_ns);
}

/* Loads what is not known, or known for too long. What was too large is let be for ever longer. */
static int ensure_loaded(struct address_spaces *spaces, struct mapped_process *process,
                         const struct access_sample *access)
{
    uint64_t age_ns = spaces->config.max_age_ns
                      << (process->too_large > 0 ? process->too_large - 1 : 0);
    bool old = process->loaded && process->entry.died_ns == 0 &&
               spaces->settled_ns > process->loaded_ns + age_ns;
    if (process->loaded && !old && !may_be_found_now(process, access))
        return 0;
    if (!may_spend(spaces))
        return -EAGAIN;
    uint64_t from_ns = cpu_ns(spaces);
    int err = load(spaces, process, access->tid);
    spend(spaces, from_ns);
    return err;
}

/* 0, or -EAGAIN when the question got no answer. */
static int ask_rule(const struct address_spaces *spaces, pid_t pid, const struct maps_line *line,
                    enum access access, enum medium *out)
{
    uint64_t hung, before = process_reader_unanswered(spaces->config.reader, &hung);
    enum medium medium = spaces->config.rule->mapping(spaces->config.rule, pid, line, access);
    if (process_reader_unanswered(spaces->config.reader, &hung) != before)
        return -EAGAIN;
    *out = medium;
    return 0;
}

static int medium_of(struct address_spaces *spaces, struct mapped_process *process,
                     struct mapping *mapping, const struct access_sample *sample, enum medium *out)
{
    const enum access access = sample->access;
    if (!mapping->resolved[access]) {
        struct maps_line line = address_space_line(&process->space, mapping);
        uint64_t from_ns = cpu_ns(spaces);
        if (!may_spend(spaces))
            return -EAGAIN;
        enum medium medium;
        int err = ask_rule(spaces, (pid_t)(process->by_thread ? sample->tid : sample->pid), &line,
                           access, &medium);
        spend(spaces, from_ns);
        if (err)
            return err;
        mapping->medium[access] = (uint8_t)medium;
        mapping->resolved[access] = true;
    }
    *out = (enum medium)mapping->medium[access];
    return 0;
}

int address_spaces_find(struct address_spaces *spaces, const struct access_sample *access,
                        enum medium *out)
{
    const uint64_t time_ns = access->time_ns;
    struct mapped_process *process = find_process(spaces, access->pid);
    if (access->pid == 0)
        return -ESRCH;
    if (!process && time_ns < spaces->seen_ns)
        return -ESTALE; /* so that no other process need be forgotten for it */
    if (!process)
        process = add(spaces, access->pid);
    process->used = ++spaces->turn;
    if (time_ns < process->epoch_ns || time_ns < spaces->lost_ns)
        return -ESTALE;
    pid_table_on_run(&spaces->processes, &process->entry, time_ns);
    int err = ensure_loaded(spaces, process, access);
    if (err)
        return err;
    /* The access was before the loading: records in between may not have been seen yet. */
    if (time_ns < process->loaded_ns && spaces->settled_ns < process->loaded_ns)
        return -EAGAIN;
    if (process->gone)
        return -ESRCH;
    struct mapping *mapping = address_space_find(&process->space, access->address);
    if (!mapping)
        return -ENXIO;
    if (time_ns < mapping->since_ns)
        return -ESTALE;
    return medium_of(spaces, process, mapping, access, out);
}

bool address_spaces_has_fixed_code(const struct address_spaces *spaces, uint32_t pid,
                                   uint64_t address)
{
    const struct mapped_process *process = find_process(spaces, pid);
    if (!process || !process->loaded)
        return false;
    /* What is shared may be written through another mapping of it. */
    const struct mapping *mapping = address_space_find(&process->space, address);
    return mapping && mapping->inode != 0 && mapping->executable && !mapping->writable &&
           !mapping->shared;
}

struct address_spaces_size address_spaces_size(const struct address_spaces *spaces)
{
    struct address_spaces_size size = {.processes = spaces->processes.n, .bytes = spaces->bytes};
    size.bytes += pid_table_slots(&spaces->processes) * sizeof(struct mapped_process);
    for (size_t i = 0; i < pid_table_slots(&spaces->processes); i++)
        if (slot_of(spaces, i))
            size.mappings += slot_of(spaces, i)->space.n;
    return size;
}

/* ---- life ---- */

int address_spaces_new(const struct address_spaces_config *config, struct address_spaces **out)
{
    if (config->max_processes == 0 || config->max_processes > 1u << 20)
        return -EINVAL;
    struct address_spaces *spaces = calloc(1, sizeof *spaces);
    if (!spaces)
        return -ENOMEM;
    spaces->config = *config;
    spaces->processes.release = release_space;
    spaces->processes.context = spaces;
    int err =
        pid_table_init(&spaces->processes, config->max_processes, sizeof(struct mapped_process));
    if (err) {
        address_spaces_free(spaces);
        return -ENOMEM;
    }
    *out = spaces;
    return 0;
}

void address_spaces_free(struct address_spaces *spaces)
{
    if (!spaces)
        return;
    pid_table_release(&spaces->processes);
    free(spaces);
}
