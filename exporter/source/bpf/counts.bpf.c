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

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(struct bpf_cpu));
} cpus SEC(".maps");

const volatile __u32 n_roles;
const volatile __u32 n_slots;
/* In task_struct, of the pointer to its css_set; 0: unknown, and each switch is taken for one to
 * another cgroup. */
const volatile __u32 css_set_at;

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

/* Reads the event of role i. What it counted since it was read last is in 'since'. */
__noinline int read_event(struct reading *since, struct bpf_cpu *at, __u32 cpu, __u32 i)
{
    struct bpf_perf_event_value value;
    if (!since || !at || i >= BPF_ROLES_MAX)
        return READ_BAD;
    /* A role that is not counted has no event. */
    if (bpf_perf_event_read_value(&events, cpu * n_roles + i, &value, sizeof value))
        return READ_BAD;
    int said = value.running == at->ran_ns[i] ? READ_STARVED : 0;
    since->count[i] = value.counter - at->count[i];
    at->count[i] = value.counter;
    at->ran_ns[i] = value.running;
    if (i == lead) {
        since->enabled_ns = value.enabled - at->enabled_ns;
        since->running_ns = value.running - at->running_ns;
        at->enabled_ns = value.enabled;
        at->running_ns = value.running;
    }
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

/* To the container at this depth, if there is one. False: the task lies no deeper. */
__noinline int credit(const struct reading *since, __u32 cpu, __u32 level)
{
    if (!since)
        return 0;
    __u64 id = bpf_get_current_ancestor_cgroup_id(level);
    if (!id)
        return 0;
    __u32 *slot = bpf_map_lookup_elem(&slots, &id);
    if (!slot)
        return 1;
    __u32 index = cpu * n_slots + *slot;
    struct bpf_cell *cell = bpf_map_lookup_elem(&cells, &index);
    if (!cell)
        return 1;
    __u64 turn = cell->turn;
    /* An exchange is a barrier, too. */
    __sync_lock_test_and_set(&cell->turn, turn + 1);
    cell->enabled_ns += since->enabled_ns;
    cell->running_ns += since->running_ns;
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
    return 1;
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

static __always_inline int account(struct bpf_cpu *at, __u32 cpu)
{
    struct reading since = {0};
    __u64 whose = css_set_at ? at->whose : 0;
    at->whose = 0;
    if (!read_events(at, cpu, &since))
        return 0;
    /* Somebody else's work lies in the interval that the current task ends. As late as can be: it
     * may be moved at any time. */
    if (whose && whose != bpf_get_current_cgroup_id()) {
        at->moved++;
        return 0;
    }
    __u32 left = levels;
    for (__u32 level = 0; level < BPF_LEVELS_MAX; level++)
        if ((left >> level & 1) && !credit(&since, cpu, level))
            break;
    return 0;
}

/* Of (bool preempt, prev, next); the task that leaves is still the current one. */
SEC("raw_tp/sched_switch")
int on_switch(struct bpf_raw_tracepoint_args *context)
{
    __u32 cpu = bpf_get_smp_processor_id();
    struct bpf_cpu *at = bpf_map_lookup_elem(&cpus, &cpu);
    if (!at || !at->ready || (css_set_at && stays(at, context->args[2])))
        return 0;
    return account(at, cpu);
}

/* On each CPU before a reading, for what runs there now. */
SEC("raw_tp")
int flush(void *context)
{
    __u32 cpu = bpf_get_smp_processor_id();
    struct bpf_cpu *at = bpf_map_lookup_elem(&cpus, &cpu);
    return at && at->ready ? account(at, cpu) : 0;
}
