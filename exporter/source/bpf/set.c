#include "exporter/source/bpf/set.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Made by bpftool from counts.bpf.c. */
#include <counts.skel.h>

enum {
    READ_ATTEMPTS = 1000, /* the program holds a cell for some 20 ns */
    WORD = sizeof(__u64),
};

struct bpf_set {
    struct counts *program; /* owned */
    size_t n_roles, n_slots, n_cpus;
    struct bpf_task task;
    bool delays;
    size_t cell_words;
    /* Mapped, as large as their tables. */
    __u64 *cells;
    __u64 *changed; /* n_words for each slot */
    size_t n_words;
    struct bpf_cpu *cpus;
    struct bpf_pairs *pairs;  /* NULL: no delays are counted */
    int events, slots, flush; /* borrowed from 'program' */
};

static size_t bytes_of(const struct bpf_map *map)
{
    size_t bytes = (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

/* ---- refusal ---- */

static void explain_permission(int err, bool knows_cap_bpf, struct verdict *why)
{
    if (knows_cap_bpf)
        verdict_set(why, REASON_NO_PERMISSION,
                    "the kernel takes no BPF program from us (%s): grant CAP_BPF and CAP_PERFMON, "
                    "and allow bpf() in the seccomp profile",
                    strerrorname_np(-err));
    else
        verdict_set(why, REASON_NO_DEVICE,
                    "this kernel has no CAP_BPF (Linux 5.8), and counting by BPF takes 5.14, on "
                    "arm64 5.18: CAP_SYS_ADMIN in its place is of no use");
}

void bpf_refusal(int err, bool knows_cap_bpf, struct verdict *why)
{
    switch (-err) {
    case EPERM:
    case EACCES:
        explain_permission(err, knows_cap_bpf, why);
        return;
    case ENOMEM:
        verdict_set(why, REASON_NO_DEVICE,
                    "no memory for the BPF program's cells: raise the memory limit, or lower "
                    "--containers.max");
        return;
    case EMFILE:
    case ENFILE:
        verdict_set(
            why, REASON_FD_LIMIT,
            "too few file descriptors for the BPF program: raise LimitNOFILE= or ulimit -n");
        return;
    case ENOSYS:
        verdict_set(why, REASON_NO_DEVICE, "this kernel has no bpf() (CONFIG_BPF_SYSCALL)");
        return;
    default:
        verdict_set(why, REASON_NO_DEVICE,
                    "the kernel refuses the BPF program (%s): it takes Linux 5.14 with "
                    "CONFIG_BPF_EVENTS, on arm64 5.18",
                    strerror(-err));
    }
}

/* ---- loading ---- */

/* -EPERM where it is not known, and SYS_ADMIN would be asked in its place. */
static int check_capability(void)
{
    return prctl(PR_CAPBSET_READ, CAP_BPF, 0, 0, 0) < 0 ? -EPERM : 0;
}

/* What only the program that counts delays has. */
static void set_delays(struct bpf_set *set)
{
    struct counts *program = set->program;
    const struct bpf_task *task = &set->task;
    set->delays = set->delays && task->waits_at;
    set->cell_words = BPF_CELL_HEAD + set->n_roles + set->delays;
    program->rodata->css_set_at = task->css_set_at;
    program->rodata->waits_at = set->delays ? task->waits_at : 0;
    program->rodata->state_argument = task->state_argument;
    program->rodata->state_at = task->state_at;
    program->rodata->cfs_rq_at = task->cfs_rq_at;
    program->rodata->throttle_count_at = task->throttle_count_at;
}

static int set_sizes(struct bpf_set *set)
{
    struct counts *program = set->program;
    int err = 0;
    set_delays(set);
    const struct {
        struct bpf_map *map;
        size_t entries;
    } tables[] = {
        {program->maps.events, set->n_cpus * set->n_roles},
        {program->maps.slots, set->n_slots},
        {program->maps.cells, set->n_cpus * set->n_slots},
        {program->maps.changed, set->n_slots * set->n_words},
        {program->maps.cpus, set->n_cpus},
        {program->maps.pairs, set->delays ? set->n_cpus : 1},
        {program->maps.tasks, set->delays ? BPF_TASK_SETS : 1},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !err; i++)
        err = bpf_map__set_max_entries(tables[i].map, (uint32_t)tables[i].entries);
    if (!err)
        err = bpf_map__set_value_size(program->maps.cells, (uint32_t)(set->cell_words * WORD));
    program->rodata->n_roles = (uint32_t)set->n_roles;
    program->rodata->n_slots = (uint32_t)set->n_slots;
    program->rodata->n_words = (uint32_t)set->n_words;
    return err;
}

static int map_shared(const struct bpf_map *map, void *out)
{
    void *at = mmap(NULL, bytes_of(map), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
    if (at == MAP_FAILED)
        return -errno;
    memcpy(out, &at, sizeof at);
    return 0;
}

static int load_program(struct bpf_set *set)
{
    set->program = counts__open();
    if (!set->program)
        return -errno;
    int err = set_sizes(set);
    return err ? err : counts__load(set->program);
}

static int load(struct bpf_set *set)
{
    libbpf_set_print(NULL); /* what it would print, bpf_refusal() says */
    int err = load_program(set);
    /* Where tasks cannot be read (lockdown), such a program is refused; what else there is to say,
     * the second attempt says. */
    for (int less = set->delays ? 0 : 1; err && less < 2 && set->task.css_set_at; less++) {
        counts__destroy(set->program);
        set->delays = false;
        if (less == 1)
            set->task = (struct bpf_task){0};
        err = load_program(set);
    }
    if (!err) {
        set->program->links.on_switch = bpf_program__attach(set->program->progs.on_switch);
        err = set->program->links.on_switch ? 0 : -errno;
    }
    if (err)
        return err;
    err = map_shared(set->program->maps.cells, &set->cells);
    if (!err)
        err = map_shared(set->program->maps.changed, &set->changed);
    if (!err)
        err = map_shared(set->program->maps.cpus, &set->cpus);
    if (!err && set->delays)
        err = map_shared(set->program->maps.pairs, &set->pairs);
    if (err)
        return err;
    set->events = bpf_map__fd(set->program->maps.events);
    set->slots = bpf_map__fd(set->program->maps.slots);
    set->flush = bpf_program__fd(set->program->progs.flush);
    return 0;
}

int bpf_set_new(const struct bpf_sizes *sizes, struct bpf_set **out, struct verdict *why)
{
    if (sizes->roles > BPF_ROLES_MAX) {
        verdict_set(why, REASON_NO_DEVICE, "a BPF program counts %d events at most, not %zu",
                    BPF_ROLES_MAX, sizes->roles);
        return -EINVAL;
    }
    /* The kernel numbers entries with 32 bits. */
    struct bpf_set *set = sizes->slots > UINT32_MAX / sizes->cpus ? NULL : calloc(1, sizeof *set);
    if (!set) {
        bpf_refusal(-ENOMEM, true, why);
        return -ENOMEM;
    }
    set->n_roles = sizes->roles;
    set->n_slots = sizes->slots;
    set->n_cpus = sizes->cpus;
    set->n_words = (sizes->cpus + 8 * WORD - 1) / (8 * WORD);
    set->task = sizes->task;
    set->delays = sizes->delays;
    int unknown = check_capability(), err = unknown ? unknown : load(set);
    if (err) {
        bpf_refusal(err, !unknown, why);
        bpf_set_free(set);
        return err;
    }
    *out = set;
    return 0;
}

void bpf_set_free(struct bpf_set *set)
{
    if (!set)
        return;
    if (set->cells)
        munmap(set->cells, bytes_of(set->program->maps.cells));
    if (set->changed)
        munmap(set->changed, bytes_of(set->program->maps.changed));
    if (set->cpus)
        munmap(set->cpus, bytes_of(set->program->maps.cpus));
    if (set->pairs)
        munmap(set->pairs, bytes_of(set->program->maps.pairs));
    counts__destroy(set->program);
    free(set);
}

size_t bpf_set_bytes(const struct bpf_set *set)
{
    return bytes_of(set->program->maps.cells);
}

size_t bpf_set_descriptors(const struct bpf_set *set)
{
    struct bpf_object *object = set->program->obj;
    struct bpf_program *program;
    struct bpf_map *map;
    size_t n = 1; /* what holds the program to the tracepoint */
    bpf_object__for_each_map(map, object) n += bpf_map__fd(map) >= 0;
    bpf_object__for_each_program(program, object) n += bpf_program__fd(program) >= 0;
    return n + (bpf_object__btf_fd(object) >= 0);
}

/* ---- CPUs ---- */

void bpf_set_roles(struct bpf_set *set, uint32_t roles)
{
    set->program->bss->roles = roles;
    set->program->bss->lead = (uint32_t)__builtin_ctz(roles);
}

static uint32_t key_of(const struct bpf_set *set, int cpu, size_t i)
{
    return (uint32_t)((size_t)cpu * set->n_roles + i);
}

static void set_ready(struct bpf_set *set, int cpu, uint64_t ready)
{
    __atomic_store_n(&set->cpus[cpu].ready, ready, __ATOMIC_RELEASE);
}

int bpf_set_begin(struct bpf_set *set, int cpu, const int *fds)
{
    /* New events start at 0; what is told of losses stays. */
    struct bpf_cpu *at = &set->cpus[cpu];
    *at = (struct bpf_cpu){.unread = at->unread, .moved = at->moved, .bank = at->bank};
    int err = 0;
    for (size_t i = 0; i < set->n_roles && !err; i++) {
        uint32_t key = key_of(set, cpu, i);
        if (fds[i] >= 0)
            err = bpf_map_update_elem(set->events, &key, &fds[i], BPF_ANY);
    }
    if (err) {
        bpf_set_end(set, cpu);
        return err;
    }
    set_ready(set, cpu, 1);
    return 0;
}

void bpf_set_end(struct bpf_set *set, int cpu)
{
    set_ready(set, cpu, 0);
    (void)bpf_set_flush(set, cpu); /* a run that began before has ended */
    for (size_t i = 0; i < set->n_roles; i++) {
        uint32_t key = key_of(set, cpu, i);
        (void)bpf_map_delete_elem(set->events, &key);
    }
}

int bpf_set_flush(const struct bpf_set *set, int cpu)
{
    LIBBPF_OPTS(bpf_test_run_opts, run, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = (uint32_t)cpu);
    return bpf_prog_test_run_opts(set->flush, &run);
}

/* Each is one word, which the program writes at once. */
static uint64_t word_now(const __u64 *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

void bpf_set_clocks(const struct bpf_set *set, int cpu, uint64_t *enabled_ns, uint64_t *running_ns)
{
    *enabled_ns = word_now(&set->cpus[cpu].enabled_ns);
    *running_ns = word_now(&set->cpus[cpu].running_ns);
}

bool bpf_set_knows_tasks(const struct bpf_set *set)
{
    return set->task.css_set_at != 0;
}

bool bpf_set_counts_delays(const struct bpf_set *set)
{
    return set->delays;
}

bool bpf_set_knows_takers(const struct bpf_set *set)
{
    return set->delays && (set->task.state_argument || set->task.state_at);
}

/* The program writes into the other bank since the flush. */
size_t bpf_set_take_pairs(struct bpf_set *set, int cpu, struct bpf_pair out[BPF_PAIRS])
{
    size_t n = 0;
    if (!set->pairs)
        return 0;
    uint64_t bank = __atomic_load_n(&set->cpus[cpu].bank, __ATOMIC_ACQUIRE);
    struct bpf_pair *from = set->pairs[cpu].at[(bank & 1) ^ 1];
    for (size_t i = 0; i < BPF_PAIRS; i++)
        if (from[i].from)
            out[n++] = from[i];
    memset(from, 0, sizeof set->pairs[cpu].at[0]);
    return n;
}

struct bpf_lost bpf_set_lost(const struct bpf_set *set)
{
    struct bpf_lost lost = {0};
    for (size_t cpu = 0; cpu < set->n_cpus; cpu++) {
        lost.unread += word_now(&set->cpus[cpu].unread);
        lost.moved += word_now(&set->cpus[cpu].moved);
    }
    return lost;
}

/* ---- containers ---- */

static __u64 *cell_of(const struct bpf_set *set, uint32_t slot, int cpu)
{
    return set->cells + ((size_t)cpu * set->n_slots + slot) * set->cell_words;
}

/* What was not read of the container before: its CPU was offline, or was flushed twice in a tick.
 * Nobody adds to it any more; the program takes the entry again once "from" is 0. */
static void forget_pairs(struct bpf_pairs *pairs, uint32_t whose)
{
    for (size_t i = 0; i < 2 * (size_t)BPF_PAIRS; i++) {
        struct bpf_pair *pair = &pairs->at[i / BPF_PAIRS][i % BPF_PAIRS];
        uint32_t from = __atomic_load_n(&pair->from, __ATOMIC_RELAXED);
        if (from && (from == whose || __atomic_load_n(&pair->by, __ATOMIC_RELAXED) == whose)) {
            __atomic_store_n(&pair->ns, 0, __ATOMIC_RELAXED);
            __atomic_store_n(&pair->from, 0, __ATOMIC_RELEASE);
        }
    }
}

int bpf_set_tell(struct bpf_set *set, uint64_t id, uint32_t slot)
{
    for (size_t cpu = 0; set->pairs && cpu < set->n_cpus; cpu++)
        forget_pairs(&set->pairs[cpu], slot + 1);
    for (size_t cpu = 0; cpu < set->n_cpus; cpu++) {
        __u64 waiter = slot + 1; /* of the container before */
        memset(cell_of(set, slot, (int)cpu), 0, set->cell_words * WORD);
        (void)__atomic_compare_exchange_n(&set->cpus[cpu].waiter, &waiter, 0, false,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    memset(set->changed + slot * set->n_words, 0, set->n_words * WORD);
    return bpf_map_update_elem(set->slots, &id, &slot, BPF_ANY);
}

void bpf_set_untell(struct bpf_set *set, uint64_t id)
{
    (void)bpf_map_delete_elem(set->slots, &id);
}

void bpf_set_levels(struct bpf_set *set, uint32_t levels)
{
    __atomic_store_n(&set->program->bss->levels, levels, __ATOMIC_RELAXED);
}

bool bpf_set_has_run(const struct bpf_set *set, uint32_t slot, int cpu)
{
    return word_now(&cell_of(set, slot, cpu)[1]) > 0;
}

void bpf_set_take_changed(struct bpf_set *set, uint32_t slot, uint64_t *cpus)
{
    for (size_t i = 0; i < set->n_words; i++) {
        __u64 *bits = &set->changed[slot * set->n_words + i];
        if (word_now(bits))
            cpus[i] |= __atomic_exchange_n(bits, 0, __ATOMIC_SEQ_CST);
    }
    atomic_thread_fence(memory_order_seq_cst); /* cells are read after it */
}

uint64_t bpf_set_waited(const struct bpf_set *set, uint32_t slot)
{
    uint64_t sum = 0;
    for (size_t cpu = 0; set->delays && cpu < set->n_cpus; cpu++)
        sum += word_now(&cell_of(set, slot, (int)cpu)[BPF_CELL_HEAD + set->n_roles]);
    return sum;
}

int bpf_set_read(const struct bpf_set *set, uint32_t slot, int cpu, struct bpf_cell *out)
{
    const __u64 *cell = cell_of(set, slot, cpu);
    __u64 words[sizeof *out / WORD] = {0};
    for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
        uint64_t turn = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
        for (size_t i = 1; i < set->cell_words; i++)
            words[i] = word_now(&cell[i]);
        atomic_thread_fence(memory_order_acquire);
        if (turn % 2 != 0 || word_now(cell) != turn)
            continue;
        memcpy(out, words, sizeof *out);
        return 0;
    }
    return -EAGAIN;
}
