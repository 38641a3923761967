#include "exporter/source/probe/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/source/probe/run.h"
#include "exporter/source/probe/topology.h"

/* ---- bursts ---- */

void chase_burst(struct chase_ring *ring, enum chase_flush how, int cpu, uint64_t budget_ns,
                 struct chase_burst *out)
{
    double latency_ns[CHASE_RUNS];
    size_t kept = 0;
    uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID), before = start, longest = 0;
    struct chase_facts facts = {.cpu_wanted = cpu};
    memset(out, 0, sizeof *out);
    chase_run(ring, how, CHASE_WARM_LOADS, &facts);
    while (out->runs < CHASE_RUNS) {
        enum probe_discard cause;
        uint64_t now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        if (now - before > longest && out->runs > 0)
            longest = now - before;
        before = now;
        if (now - start + longest > budget_ns)
            break;
        chase_run(ring, how, CHASE_RUN_LOADS, &facts);
        out->runs++;
        if (chase_run_counts(&facts, &cause))
            latency_ns[kept++] = (double)facts.wall_ns / CHASE_RUN_LOADS;
        else
            out->discarded[cause]++;
    }
    out->valid = kept >= CHASE_RUNS_NEEDED;
    if (out->valid)
        out->latency_ns = chase_median(latency_ns, kept);
}

/* ---- accounts ---- */

enum {
    PARTS_PER_MILLION = 900, /* a tenth of the promised 0.1 % stays in reserve */
    MOST_CREDIT_NS = 8000000,
    FIRST_LOAD_NS = 200,
    SLOWEST_LOAD_NS = 2500, /* so that one slow burst cannot silence the probe for good */
};

static uint64_t earned(uint64_t elapsed_ns)
{
    return elapsed_ns / 1000000 * PARTS_PER_MILLION +
           elapsed_ns % 1000000 * PARTS_PER_MILLION / 1000000;
}

void chase_account_init(struct chase_account *account, uint64_t interval_ns, uint64_t now_ns)
{
    *account = (struct chase_account){
        .credit_ns = earned(interval_ns),
        .share_ns = earned(interval_ns),
        .seen_ns = now_ns,
        .load_ns = FIRST_LOAD_NS,
    };
}

static uint64_t least_burst_ns(const struct chase_account *account)
{
    return account->load_ns * (CHASE_WARM_LOADS + CHASE_RUNS * CHASE_RUN_LOADS);
}

uint64_t chase_account_wait_ns(const struct chase_account *account)
{
    uint64_t least = least_burst_ns(account);
    uint64_t needed = least + account->debt_ns;
    if (account->credit_ns >= needed)
        return 0;
    return (needed - account->credit_ns) * 1000000 / PARTS_PER_MILLION + 1000000;
}

uint64_t chase_account_budget(struct chase_account *account, uint64_t now_ns)
{
    uint64_t least = least_burst_ns(account);
    uint64_t most = 2 * account->share_ns > MOST_CREDIT_NS ? 2 * account->share_ns : MOST_CREDIT_NS;
    uint64_t budget = account->share_ns > least ? account->share_ns : least;
    uint64_t pay = earned(now_ns - account->seen_ns);
    uint64_t repaid = pay < account->debt_ns ? pay : account->debt_ns;
    account->debt_ns -= repaid;
    account->credit_ns += pay - repaid;
    account->seen_ns = now_ns;
    if (account->credit_ns > most)
        account->credit_ns = most;
    return account->credit_ns < least    ? 0
           : budget < account->credit_ns ? budget
                                         : account->credit_ns;
}

void chase_account_spend(struct chase_account *account, uint64_t cpu_ns, uint64_t loads)
{
    uint64_t paid = cpu_ns < account->credit_ns ? cpu_ns : account->credit_ns;
    account->credit_ns -= paid;
    account->debt_ns += cpu_ns - paid;
    if (account->debt_ns > MOST_CREDIT_NS)
        account->debt_ns = MOST_CREDIT_NS;
    if (loads > 0)
        account->load_ns = cpu_ns / loads < SLOWEST_LOAD_NS ? cpu_ns / loads + 1 : SLOWEST_LOAD_NS;
}

/* ---- targets ---- */

void chase_targets_init(struct chase_targets *targets, size_t n, size_t own, size_t first_other)
{
    *targets = (struct chase_targets){.n = n, .own = own, .other = first_other % n};
    targets->at_own = own < n;
    if (targets->other == own)
        targets->other = (own + 1) % n;
}

size_t chase_targets_next(struct chase_targets *targets, uint64_t turn)
{
    if (turn - targets->since >= CHASE_BURSTS * CHASE_INTERVALS_PER_TARGET) {
        targets->since = turn;
        if (!targets->at_own)
            targets->other = (targets->other + 1) % targets->n;
        if (targets->other == targets->own)
            targets->other = (targets->other + 1) % targets->n;
        targets->at_own = targets->own < targets->n && !targets->at_own;
    }
    return targets->at_own ? targets->own : targets->other;
}

enum { STACK_BYTES = 256 << 10 };

bool chase_queue_put(struct chase_queue *queue, const struct probe_reading *reading)
{
    unsigned put = atomic_load_explicit(&queue->put, memory_order_relaxed);
    if (put - atomic_load_explicit(&queue->taken, memory_order_acquire) == CHASE_QUEUE)
        return false;
    queue->slots[put % CHASE_QUEUE] = *reading;
    atomic_store_explicit(&queue->put, put + 1, memory_order_release);
    return true;
}

bool chase_queue_take(struct chase_queue *queue, struct probe_reading *out)
{
    unsigned taken = atomic_load_explicit(&queue->taken, memory_order_relaxed);
    if (taken == atomic_load_explicit(&queue->put, memory_order_acquire))
        return false;
    *out = queue->slots[taken % CHASE_QUEUE];
    atomic_store_explicit(&queue->taken, taken + 1, memory_order_release);
    return true;
}

uint64_t chase_turn_ns(uint64_t turn_ns, size_t index, size_t n, uint64_t turn, uint64_t random)
{
    uint64_t part = turn_ns / n, play = part / 5 * 4;
    return turn * turn_ns + index * part + (play > 0 ? random % play : 0);
}

/* False when it is time to stop. */
static bool wait_until(struct chase_shared *shared, uint64_t when_ns)
{
    struct timespec t = {.tv_sec = (time_t)(when_ns / 1000000000U),
                         .tv_nsec = (long)(when_ns % 1000000000U)};
    int err = 0;
    pthread_mutex_lock(&shared->mutex);
    while (!shared->stop && err == 0)
        err = pthread_cond_timedwait(&shared->changed, &shared->mutex, &t);
    bool go_on = !shared->stop;
    pthread_mutex_unlock(&shared->mutex);
    return go_on;
}

static int pin(int cpu)
{
    struct chase_allowed only = {{0}, {0}};
    chase_bit_set(only.cpus, cpu);
    if (sched_setaffinity(0, sizeof only.cpus, (cpu_set_t *)(void *)only.cpus) < 0)
        return -errno;
    return 0;
}

/* The kernel moves a pinned thread when its CPU goes offline or leaves our cpuset: choose anew. */
static bool ensure_pinned(struct chase_thread *thread)
{
    struct chase_shared *shared = thread->shared;
    struct chase_allowed allowed;
    int cpu;
    if (thread->cpu >= 0 && sched_getcpu() == thread->cpu)
        return true;
    chase_allowed_read(&allowed);
    int err = chase_topology_cpu(shared->fs, &allowed, thread->node, &cpu);
    if (!err)
        err = pin(cpu);
    if (err) {
        if (thread->cpu >= 0)
            log_warn(shared->log, "probe",
                     "NUMA node %d: CPU %d was taken away, and there is no other: %s", thread->node,
                     thread->cpu, strerror(-err));
        thread->cpu = -1;
        return false;
    }
    log_info(shared->log, "probe", "NUMA node %d: loads now start on CPU %d", thread->node, cpu);
    thread->cpu = cpu;
    return true;
}

static void discard(struct chase_shared *shared, enum probe_discard cause, uint32_t n)
{
    if (n > 0)
        atomic_fetch_add_explicit(&shared->discarded[cause], n, memory_order_relaxed);
}

/* What the thread has used since the last time. */
static void charge(struct chase_account *account, uint64_t *spent, uint64_t loads)
{
    uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    chase_account_spend(account, cpu - *spent, loads);
    *spent = cpu;
}

/* Charges the account for the burst; the caller does for the rest. */
static void take_turn(struct chase_thread *thread, uint64_t turn, struct chase_account *account,
                      uint64_t budget_ns, uint64_t *spent)
{
    struct chase_shared *shared = thread->shared;
    size_t target = chase_targets_next(&thread->targets, turn);
    struct chase_burst burst;
    if (!ensure_pinned(thread) || !chase_buffer_in_place(&shared->buffers[target])) {
        discard(shared, PROBE_MIGRATED, 1);
        return;
    }
    chase_burst(&thread->rings[target], shared->how, thread->cpu, budget_ns, &burst);
    charge(account, spent, CHASE_WARM_LOADS + (uint64_t)burst.runs * CHASE_RUN_LOADS);
    for (int cause = 0; cause < PROBE_DISCARDS; cause++)
        discard(shared, (enum probe_discard)cause, burst.discarded[cause]);
    if (burst.valid) {
        struct probe_reading reading = {
            .initiator_numa_node = thread->node,
            .target_numa_node = shared->buffers[target].node,
            .latency_ns = burst.latency_ns,
            .cpu = thread->cpu,
        };
        if (reading.target_numa_node == thread->node)
            chase_hit_burst(&thread->hit, thread->cpu, burst.latency_ns, &reading);
        chase_queue_put(&thread->queue, &reading);
    }
}

/* The turn that comes next: none that is over, none that could not be paid for. */
static uint64_t next_turn(const struct chase_shared *shared, const struct chase_account *account,
                          uint64_t turn)
{
    uint64_t at_ns = clock_mono_ns() - shared->epoch_ns, wait_ns = chase_account_wait_ns(account);
    uint64_t first = (at_ns + wait_ns) / shared->turn_ns;
    return first > turn ? first : turn + 1;
}

static void take_turns(struct chase_thread *thread)
{
    struct chase_shared *shared = thread->shared;
    struct chase_account account;
    uint64_t turn = 0, spent = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    chase_account_init(&account, shared->turn_ns, shared->epoch_ns);
    while (wait_until(shared, shared->epoch_ns + chase_turn_ns(shared->turn_ns, thread->index,
                                                               shared->n_threads, turn,
                                                               chase_random(&thread->random)))) {
        uint64_t budget = chase_account_budget(&account, clock_mono_ns());
        if (budget > 0)
            take_turn(thread, turn, &account, budget, &spent);
        charge(&account, &spent, 0);
        turn = next_turn(shared, &account, turn);
    }
}

static void *thread_main(void *argument)
{
    struct chase_thread *thread = argument;
    struct chase_shared *shared = thread->shared;
    char name[16];
    snprintf(name, sizeof name, "probe-node%d", thread->node);
    pthread_setname_np(pthread_self(), name);
    thread->tid = (int)syscall(SYS_gettid);
    if (pin(thread->cpu) < 0)
        thread->cpu = -1; /* the first turn looks for another */
    thread->started_on = thread->cpu;
    pthread_mutex_lock(&shared->mutex);
    thread->started = true;
    pthread_cond_broadcast(&shared->changed);
    pthread_mutex_unlock(&shared->mutex);
    take_turns(thread);
    return NULL;
}

int chase_thread_start(struct chase_thread *thread)
{
    struct chase_shared *shared = thread->shared;
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    int err = pthread_attr_init(&attributes);
    if (err)
        return -err;
    err = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!err)
        err = pthread_create(&thread->handle, &attributes, thread_main, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (err)
        return -err;
    pthread_mutex_lock(&shared->mutex);
    while (!thread->started)
        pthread_cond_wait(&shared->changed, &shared->mutex);
    pthread_mutex_unlock(&shared->mutex);
    return 0;
}

void chase_thread_join(struct chase_thread *thread)
{
    pthread_join(thread->handle, NULL);
}
