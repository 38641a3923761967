/*
 * Counts what containers do, in the kernel: at each switch to a task in another cgroup the CPU's
 * events are read, and what they counted since they were read last is added to the cgroup of the
 * task that leaves, and to all above it that are containers.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "exporter/source/bpf/cells.h"

struct reading {
    __u64 enabled_ns;
    __u64 running_ns;
    __u64 waited_ns;
    __u64 count[BPF_ROLES_MAX];
};

/* Sizes and counts of entries are set before loading. */

/* Of CPU c from c * n_roles on: an event for each role. */
struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(__u32));
} events SEC(".maps");

/* With all its entries from the start: one without (BPF_F_NO_PREALLOC) makes kernels before Linux
 * 6.1 write a warning when a tracing program uses it, and with panic_on_warn they stop. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(key_size, sizeof(__u64)); /* a cgroup's ID */
    __uint(value_size, sizeof(__u32));
} slots SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(struct bpf_cell));
} cells SEC(".maps");

/* Of slot s from s * n_words on: a bit for each CPU whose cell was written since its user
 * looked. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(__u64));
} changed SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(struct bpf_cpu));
} cpus SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(struct bpf_pairs));
} pairs SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(struct bpf_tasks));
} tasks SEC(".maps");

const volatile __u32 n_roles;
const volatile __u32 n_slots;
const volatile __u32 n_words;
/* Where this kernel's tasks have what is asked of them (task.h); 0: unknown. Without css_set_at
 * each switch is taken for one to another cgroup, without waits_at no delays are counted, and
 * without one of the next two nobody is known to be kept from a CPU. */
const volatile __u32 css_set_at;
const volatile __u32 waits_at;
const volatile __u32 state_argument;
const volatile __u32 state_at;
const volatile __u32 cfs_rq_at;
const volatile __u32 throttle_count_at;

/* Set while it runs. Bit i of 'roles': an event counts role i; 'lead' is the group's leader. */
__u32 roles;
__u32 lead;
__u32 levels; /* bit i: containers lie at this depth below the root */

/* The kernel lends bpf_perf_event_read_value() to no other. */
char _license[] SEC("license") = "GPL";

/* Its ID. Switches between its tasks are not passed over: one kernel was seen that never tells when
 * some of them leave, and a container's task that follows would end what others began. */
enum { ROOT_CGROUP = 1 };

/* What reading an event says of the interval. */
enum { READ_BAD = 1, READ_STARVED = 2 };

/* Functions that are not static are verified once, by themselves. Were it otherwise, Linux 6.1
 * would follow every combination of what each event's reading can say, and give up on eight. */

/* Reads the event of role i. What it counted since it was read last is in 'since'. A group runs
 * whole or not at all, so its leader's clocks are everybody's, and the others are read by the call
 * that asks for none, which is cheaper. */
__noinline int read_event(struct reading *since, struct bpf_cpu *at, __u32 cpu, __u32 i)
{
    enum { ERRORS = 4095 }; /* of that call, in the place of a count: none comes near them */
    struct bpf_perf_event_value value = {0};
    int said = 0;
    if (!since || !at || i >= BPF_ROLES_MAX)
        return READ_BAD;
    /* A role that is not counted has no event. */
    if (i == lead) {
        if (bpf_perf_event_read_value(&events, cpu * n_roles + i, &value, sizeof value))
            return READ_BAD;
        since->enabled_ns = value.enabled - at->enabled_ns;
        since->running_ns = value.running - at->running_ns;
        at->enabled_ns = value.enabled;
        at->running_ns = value.running;
        said = since->running_ns ? 0 : READ_STARVED;
    } else {
        value.counter = bpf_perf_event_read(&events, cpu * n_roles + i);
        if (value.counter >= -(__u64)ERRORS)
            return READ_BAD;
    }
    since->count[i] = value.counter - at->count[i];
    at->count[i] = value.counter;
    return said;
}

/* Reads all events. The interval is nobody's where they could not be read at its beginning or its
 * end. False: it is of no use. */
static __always_inline int read_events(struct bpf_cpu *at, __u32 cpu, struct reading *since)
{
    __u32 said = 0;
    __u64 known = at->known;

#pragma unroll
    for (__u32 i = 0; i < BPF_ROLES_MAX; i++) {
        if (i >= n_roles)
            break;
        /* All bits where the role is counted, else none. */
        said |= (__u32)read_event(since, at, cpu, i) & -(roles >> i & 1);
    }
    at->known = !(said & READ_BAD);
    at->unread += said & READ_BAD;
    if ((said & READ_BAD) || !known)
        return 0;
    if (said &
        READ_STARVED) /* all or nothing; that it was enabled and did not run tells the reader */
        since->running_ns = 0;
    return 1;
}

/* What credit() says; of a container, CREDITED and its slot. */
enum { CREDIT_ENDED, CREDIT_NOBODY, CREDITED };

/* Other CPUs write into that word, too: it is only read where the bit is there already. The user
 * takes the bits before it reads the cells, and both sides have a barrier between the two: what is
 * written after its reading finds the bit gone. */
static __always_inline void mark(__u32 slot, __u32 cpu)
{
    __u32 word = slot * n_words + cpu / 64;
    __u64 bit = 1ull << cpu % 64, *bits = bpf_map_lookup_elem(&changed, &word);
    if (bits && !(*(volatile __u64 *)bits & bit))
        __sync_fetch_and_or(bits, bit);
}

/* To the container at this depth, if there is one. CREDIT_ENDED: the task lies no deeper. */
__noinline int credit(const struct reading *since, __u32 cpu, __u32 level)
{
    if (!since)
        return CREDIT_ENDED;
    __u64 id = bpf_get_current_ancestor_cgroup_id(level);
    if (!id)
        return CREDIT_ENDED;
    __u32 *found = bpf_map_lookup_elem(&slots, &id);
    if (!found)
        return CREDIT_NOBODY;
    __u32 slot = *found, index = cpu * n_slots + slot;
    struct bpf_cell *cell = bpf_map_lookup_elem(&cells, &index);
    if (!cell)
        return CREDIT_NOBODY;
    __u64 turn = cell->turn;
    /* An exchange is a barrier, too. */
    __sync_lock_test_and_set(&cell->turn, turn + 1);
    cell->enabled_ns += since->enabled_ns;
    cell->running_ns += since->running_ns;
    if (waits_at)
        cell->count[n_roles] += since->waited_ns;
    /* Where the clock did not advance, nothing says that the events did not run. */
    if (since->running_ns || !since->enabled_ns) {
#pragma unroll
        for (__u32 i = 0; i < BPF_ROLES_MAX; i++) {
            if (i >= n_roles)
                break;
            cell->count[i] += since->count[i];
        }
    }
    __sync_lock_test_and_set(&cell->turn, turn + 2);
    mark(slot, cpu);
    return CREDITED + slot;
}

/* ---- delays ---- */

/* How long the current task has waited for CPUs since it left one last, as the kernel has it. What
 * it had waited then is in 'tasks', by its number: nothing may be allocated at a switch. 0 for a
 * task that is seen first or had to give way to others, unless it runs for the first time. */
static __always_inline __u64 waited(void)
{
    enum { NS_BITS = 48 };
    const __u64 ns_mask = (1ull << NS_BITS) - 1;
    struct {
        __u64 runs, ns;
    } waits;
    __u32 number = (__u32)bpf_get_current_pid_tgid(), set = number % BPF_TASK_SETS;
    if (!waits_at || !number)
        return 0;
    struct bpf_tasks *at = bpf_map_lookup_elem(&tasks, &set);
    if (!at ||
        bpf_probe_read_kernel(&waits, sizeof waits, (void *)(bpf_get_current_task() + waits_at)))
        return 0;
    __u64 tag = (__u64)(number / BPF_TASK_SETS + 1) << NS_BITS, seen = at->seen[0];
    __u64 now = tag | (waits.ns & ns_mask);
    if ((seen ^ tag) >> NS_BITS) {
        seen = at->seen[1];
        if (!((seen ^ tag) >> NS_BITS)) {
            at->seen[1] = now;
        } else {
            at->seen[1] = at->seen[0];
            at->seen[0] = now;
            seen = 0;
        }
    } else {
        at->seen[0] = now;
    }
    if (!seen)
        return waits.runs == 1 ? waits.ns : 0;
    __u64 since = (waits.ns - seen) & ns_mask;
    return since >> (NS_BITS - 1) ? 0 : since; /* another one had its number before */
}

/* Whether the task that leaves wants to go on, and might. */
static __always_inline int is_kept(const struct bpf_raw_tracepoint_args *context)
{
    __u32 state = 0, throttled = 0;
    __u64 task = bpf_get_current_task(), cfs_rq = 0;
    if (!state_argument && !state_at)
        return 0;
    if (!(context->args[0] & 1)) {
        if (state_argument)
            state = (__u32)context->args[3];
        else if (bpf_probe_read_kernel(&state, sizeof state, (void *)(task + state_at)))
            return 0;
    }
    if (state)
        return 0;
    /* At its limit of CPU time it is nobody's victim. */
    if (throttle_count_at &&
        (bpf_probe_read_kernel(&cfs_rq, sizeof cfs_rq, (void *)(task + cfs_rq_at)) ||
         bpf_probe_read_kernel(&throttled, sizeof throttled, (void *)(cfs_rq + throttle_count_at))))
        return 0;
    return !throttled;
}

/* A table that is full tells less, and nothing wrong. */
__noinline int take(struct bpf_cpu *at, __u32 cpu, __u32 by, __u64 ns)
{
    enum { TRIES = 4 };
    if (!at)
        return 0;
    struct bpf_pairs *table = bpf_map_lookup_elem(&pairs, &cpu);
    __u32 from = (__u32)at->waiter, place = from * 31 + by;
    if (!table)
        return 0;
    for (__u32 i = 0; i < TRIES; i++) {
        struct bpf_pair *pair = &table->at[at->bank & 1][(place + i) % BPF_PAIRS];
        if (pair->from && (pair->from != from || pair->by != by))
            continue;
        pair->from = from;
        pair->by = by;
        pair->ns += ns;
        break;
    }
    return 0;
}

/* Tasks with the same one are in the same cgroup. 0: not known. */
static __always_inline __u64 css_set_of(__u64 task)
{
    __u64 found = 0;
    return bpf_probe_read_kernel(&found, sizeof found, (void *)(task + css_set_at)) ? 0 : found;
}

/* Whether the task that comes is in the cgroup of the one that leaves, and of all that have left
 * since the events were read. Not where the one that leaves was moved since it came, or came
 * without a word. */
static __always_inline int stays(struct bpf_cpu *at, __u64 next)
{
    __u64 current = bpf_get_current_task(), came = at->came, css_set = at->css_set;
    at->came = next;
    at->css_set = css_set_of(next);
    if (!css_set || css_set != at->css_set || current != came || css_set_of(current) != css_set)
        return 0;
    __u64 mine = bpf_get_current_cgroup_id();
    if (mine == ROOT_CGROUP || (at->whose && at->whose != mine))
        return 0;
    at->whose = mine;
    return 1;
}

/* 'by' is the slot + 1 of the container whose task has the CPU, or 0. */
static __always_inline void told(struct bpf_cpu *at, __u32 cpu, __u32 by, __u64 ns)
{
    if (at->waiter && at->waiter != by)
        take(at, cpu, by, ns);
}

/* The slot + 1 of the innermost container that the current task is in, or 0. */
static __always_inline __u32 account(struct bpf_cpu *at, __u32 cpu, __u64 waited_ns)
{
    struct reading since = {.waited_ns = at->waited + waited_ns};
    __u64 whose = css_set_at ? at->whose : 0;
    __u32 innermost = 0;
    at->whose = 0;
    at->waited = 0;
    if (!read_events(at, cpu, &since)) {
        at->waiter = 0;
        return 0;
    }
    /* Somebody else's work lies in the interval that the current task ends. As late as can be: it
     * may be moved at any time. */
    if (whose && whose != bpf_get_current_cgroup_id()) {
        at->moved++;
        at->waiter = 0;
        return 0;
    }
    __u32 left = levels;
    for (__u32 level = 0; level < BPF_LEVELS_MAX; level++) {
        if (!(left >> level & 1))
            continue;
        int said = credit(&since, cpu, level);
        if (said == CREDIT_ENDED)
            break;
        if (said >= CREDITED)
            innermost = said - CREDITED + 1;
    }
    if (waits_at)
        told(at, cpu, innermost, since.enabled_ns);
    return innermost;
}

/* Of (bool preempt, prev, next), and the state of prev since Linux 5.18; the task that leaves is
 * still the current one. */
SEC("raw_tp/sched_switch")
int on_switch(struct bpf_raw_tracepoint_args *context)
{
    __u32 cpu = bpf_get_smp_processor_id();
    struct bpf_cpu *at = bpf_map_lookup_elem(&cpus, &cpu);
    if (!at || !at->ready)
        return 0;
    __u64 waited_ns = waits_at ? waited() : 0;
    if (css_set_at && stays(at, context->args[2])) {
        at->waited += waited_ns;
        return 0;
    }
    __u32 whose = account(at, cpu, waited_ns);
    if (waits_at)
        at->waiter = whose && is_kept(context) ? whose : 0;
    return 0;
}

/* On each CPU before a reading, for what runs there now. */
SEC("raw_tp")
int flush(void *context)
{
    __u32 cpu = bpf_get_smp_processor_id();
    struct bpf_cpu *at = bpf_map_lookup_elem(&cpus, &cpu);
    if (!at || !at->ready)
        return 0;
    account(at, cpu, waits_at ? waited() : 0);
    at->bank ^= 1;
    return 0;
}
