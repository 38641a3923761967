/*
 * What the program in the kernel (counts.bpf.c) and its user share: two tables, mapped into both.
 *
 * A cell is what one container has counted on one CPU. Only the program writes it, on its CPU;
 * 'turn' is odd meanwhile, so that a reader elsewhere knows a reading that is whole. A run is not
 * preempted by another: at a switch, and when another CPU asks for a flush, interrupts are off; a
 * flush of the reader's own CPU is called with preemption off only, and no run begins in an
 * interrupt. Cells of one CPU lie together: but for the line where two CPUs' cells meet, no CPU
 * writes into another's.
 */
#ifndef IE_SOURCE_BPF_CELLS_H
#define IE_SOURCE_BPF_CELLS_H

#include <linux/types.h>

enum {
    BPF_ROLES_MAX = 8,   /* in a group of containers */
    BPF_LEVELS_MAX = 16, /* a container lies no deeper below its hierarchy's root */
    BPF_CELL_HEAD = 3,   /* words before the counts */
    BPF_PAIRS = 64,      /* of containers, on a CPU between two ticks; of more, some are left out */
    BPF_TASK_SETS = 1 << 14,
};

/* The cell of CPU c and slot s is at index c * slots + s; it has as many counts as the group roles,
 * and one more in the program that counts delays: the struct is as large as it can be. */
struct bpf_cell {
    __u64 turn;
    __u64 enabled_ns;
    __u64 running_ns;
    __u64 count[BPF_ROLES_MAX + 1]; /* the last: ns that its tasks waited for CPUs */
};

/* Who had a CPU after it was taken from a container whose task wanted to go on. */
struct bpf_pair {
    __u32 from, by; /* slots + 1; 'by' is 0: no container. 'from' is 0: the entry is empty */
    __u64 ns;       /* until the next switch to another cgroup, by the clock of the CPU's events */
};

/* The program writes into one of the two; a flush has it take the other one, which its user has
 * emptied, and the user reads what was written before. */
struct bpf_pairs {
    struct bpf_pair at[2][BPF_PAIRS];
};

/* What the tasks of two numbers had waited when they left last: tags, which tell tasks with the
 * same index, above 48 bits of ns. Only the program reads it. */
struct bpf_tasks {
    __u64 seen[2];
};

/* What a CPU's events said when they were read last. Its user writes it only while it is not
 * 'ready'. */
struct bpf_cpu {
    __u64 ready;      /* its events are there */
    __u64 known;      /* what follows is of the last interval's end; else the next is nobody's */
    __u64 enabled_ns; /* of the group's leader, like running_ns */
    __u64 running_ns;
    __u64 count[BPF_ROLES_MAX];
    __u64 unread; /* intervals at whose end the events could not be read: theirs is nobody's */
    __u64 moved;  /* intervals of two cgroups, as a task was moved while it ran: nobody's, too */
    __u64 whose;  /* the cgroup of who left in switches that were passed over since; 0: none was */
    __u64 came, css_set; /* the task that came in the last switch, and its css_set then */
    __u64 waited; /* ns: those who left in switches that were passed over had waited before */
    __u64 waiter; /* slot + 1 of the container that would be running, had it been left the CPU; 0 */
    __u64 bank;   /* of the pairs, that is written */
} __attribute__((aligned(64)));

#endif
