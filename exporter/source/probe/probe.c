#include "exporter/source/probe/probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "exporter/base/clock.h"
#include "exporter/source/probe/buffer.h"
#include "exporter/source/probe/run.h"
#include "exporter/source/probe/thread.h"
#include "exporter/source/probe/topology.h"

enum { DEFAULT_BUFFER_BYTES = 4 << 20, LARGEST_BUFFER_BYTES = 1 << 30 };

struct probe_source {
    struct source base;
    struct chase_shared shared;
    bool shared_made;             /* mutex and condition exist */
    struct chase_buffer *buffers; /* shared.n_buffers of them */
    struct chase_ring *rings;     /* of thread t and buffer b: t * n_buffers + b */
    size_t n_rings;               /* made so far */
    struct chase_thread *threads; /* shared.n_threads of them */
    size_t n_running;
    struct source_thread *identities; /* one per thread */
    size_t next_queue; /* where probes() goes on, so that a small cap starves no thread */
};

static struct probe_source *of(struct source *source)
{
    return (struct probe_source *)source;
}

static const struct probe_source *of_const(const struct source *source)
{
    return (const struct probe_source *)source;
}

static int probe_probes(struct source *source, struct probe_reading *out, size_t cap, size_t *n)
{
    struct probe_source *probe = of(source);
    size_t count = 0, empty = 0;
    while (count < cap && empty < probe->n_running) {
        struct chase_thread *thread = &probe->threads[probe->next_queue];
        probe->next_queue = (probe->next_queue + 1) % probe->n_running;
        if (chase_queue_take(&thread->queue, &out[count])) {
            count++;
            empty = 0;
        } else {
            empty++;
        }
    }
    *n = count;
    return 0;
}

static void probe_discards(struct source *source, uint64_t discarded[PROBE_DISCARDS])
{
    const struct chase_shared *shared = &of_const(source)->shared;
    for (int cause = 0; cause < PROBE_DISCARDS; cause++)
        discarded[cause] = atomic_load_explicit(&shared->discarded[cause], memory_order_relaxed);
}

static void stop_threads(struct probe_source *probe)
{
    if (!probe->shared_made)
        return;
    pthread_mutex_lock(&probe->shared.mutex);
    probe->shared.stop = true;
    pthread_cond_broadcast(&probe->shared.changed);
    pthread_mutex_unlock(&probe->shared.mutex);
    for (size_t i = 0; i < probe->n_running; i++)
        chase_thread_join(&probe->threads[i]);
    pthread_cond_destroy(&probe->shared.changed);
    pthread_mutex_destroy(&probe->shared.mutex);
}

static void probe_free(struct source *source)
{
    struct probe_source *probe = of(source);
    if (!probe)
        return;
    stop_threads(probe);
    for (size_t i = 0; i < probe->n_rings; i++)
        chase_ring_release(&probe->rings[i]);
    for (size_t i = 0; probe->threads && i < probe->shared.n_threads; i++)
        chase_hit_release(&probe->threads[i].hit);
    for (size_t i = 0; i < probe->shared.n_buffers; i++)
        chase_buffer_release(&probe->buffers[i]);
    free(probe->rings);
    free(probe->buffers);
    free(probe->threads);
    free(probe->identities);
    free(probe);
}

static const struct source_ops probe_ops = {
    .name = "probe",
    .probes = probe_probes,
    .probe_discards = probe_discards,
    .free = probe_free,
};

static int make_shared(struct probe_source *probe, const struct probe_config *config)
{
    struct chase_shared *shared = &probe->shared;
    pthread_condattr_t attributes;
    shared->fs = config->fs;
    shared->log = config->log;
    shared->turn_ns = config->interval_ns / CHASE_BURSTS;
    shared->how = chase_flush_detect();
    int err = pthread_mutex_init(&shared->mutex, NULL);
    if (err)
        return -err;
    err = pthread_condattr_init(&attributes);
    if (!err) {
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        err = pthread_cond_init(&shared->changed, &attributes);
        pthread_condattr_destroy(&attributes);
    }
    if (err)
        pthread_mutex_destroy(&shared->mutex);
    probe->shared_made = !err;
    return -err;
}

/* One buffer per target that gives memory. *why keeps the last refusal. */
static int make_buffers(struct probe_source *probe, const struct probe_config *config,
                        const struct chase_topology *topology, struct verdict *why)
{
    struct chase_shared *shared = &probe->shared;
    size_t bytes = config->buffer_bytes ? config->buffer_bytes : DEFAULT_BUFFER_BYTES;
    int err = -ENODEV;
    if (bytes > LARGEST_BUFFER_BYTES) {
        verdict_set(why, REASON_NO_DEVICE, "the probe's buffer may have at most 1 GiB");
        return -EINVAL;
    }
    bytes = (bytes + CHASE_HUGE_BYTES - 1) / CHASE_HUGE_BYTES * CHASE_HUGE_BYTES;
    verdict_set(why, REASON_NO_DEVICE, "no NUMA node has memory that the exporter may use");
    probe->buffers = calloc(topology->n_targets + 1, sizeof *probe->buffers);
    if (!probe->buffers)
        return -ENOMEM;
    for (size_t i = 0; i < topology->n_targets; i++) {
        const struct chase_node *target = &topology->targets[i];
        err = chase_buffer_init(&probe->buffers[shared->n_buffers], config->fs, bytes, target->node,
                                target->cpu, topology->n_targets == 1, why);
        if (!err)
            shared->n_buffers++;
        else
            log_warn(config->log, "probe", "%s", why->words);
    }
    shared->buffers = probe->buffers;
    return shared->n_buffers > 0 ? 0 : err;
}

static int make_rings(struct probe_source *probe, size_t n_threads)
{
    size_t n_buffers = probe->shared.n_buffers;
    uint64_t seed = clock_mono_ns();
    probe->rings = calloc(n_threads * n_buffers, sizeof *probe->rings);
    if (!probe->rings)
        return -ENOMEM;
    for (size_t i = 0; i < n_threads * n_buffers; i++, probe->n_rings++) {
        const struct chase_buffer *buffer = &probe->buffers[i % n_buffers];
        int err =
            chase_ring_init(&probe->rings[i], buffer->base, buffer->bytes,
                            (uint32_t)(i / n_buffers), (uint32_t)n_threads, chase_random(&seed));
        if (err)
            return err;
    }
    return 0;
}

/* The buffer in a node's memory; n_buffers if there is none. */
static size_t buffer_of(const struct probe_source *probe, int node)
{
    size_t i = 0;
    while (i < probe->shared.n_buffers && probe->buffers[i].node != node)
        i++;
    return i;
}

/* For hits in the last-level cache, in the buffer of the thread's own node, if there is one. */
static int make_hit_ring(const struct probe_source *probe, struct chase_thread *thread)
{
    size_t own = buffer_of(probe, thread->node);
    if (own == probe->shared.n_buffers)
        return 0;
    int err = chase_hit_init(&thread->hit, probe->shared.fs, thread->cpu, probe->buffers[own].base,
                             probe->buffers[own].bytes, thread->random);
    return err == -ENOTSUP ? 0 : err;
}

static int start_threads(struct probe_source *probe, const struct chase_topology *topology)
{
    size_t n = topology->n_initiators;
    uint64_t seed = clock_mono_ns();
    probe->threads = calloc(n, sizeof *probe->threads);
    probe->identities = calloc(n, sizeof *probe->identities);
    if (!probe->threads || !probe->identities)
        return -ENOMEM;
    probe->shared.n_threads = n;
    probe->shared.epoch_ns = clock_mono_ns();
    for (size_t i = 0; i < n; i++) {
        struct chase_thread *thread = &probe->threads[i];
        struct source_thread *identity = &probe->identities[i];
        thread->shared = &probe->shared;
        thread->index = i;
        thread->node = topology->initiators[i].node;
        thread->cpu = topology->initiators[i].cpu;
        thread->random = chase_random(&seed);
        thread->rings = &probe->rings[i * probe->shared.n_buffers];
        chase_targets_init(&thread->targets, probe->shared.n_buffers,
                           buffer_of(probe, thread->node), i);
        struct chase_targets first =
            thread->targets; /* once it has started they are the thread's */
        snprintf(identity->key, sizeof identity->key, "p%zu", i);
        snprintf(identity->kind, sizeof identity->kind, "probe");
        identity->initiator_numa_node = thread->node;
        identity->target_numa_node = probe->buffers[chase_targets_next(&first, 0)].node;
        int err = make_hit_ring(probe, thread);
        if (!err)
            err = chase_thread_start(thread);
        if (err)
            return err;
        probe->n_running++;
        identity->tid = thread->tid;
        identity->cpu = thread->started_on;
    }
    return 0;
}

static void say_what_runs(const struct probe_source *probe, const struct chase_topology *topology)
{
    const struct log *log = probe->shared.log;
    for (size_t i = 0; i < topology->n_initiators; i++)
        log_info(log, "probe", "NUMA node %d: loads start on CPU %d", topology->initiators[i].node,
                 topology->initiators[i].cpu);
    for (size_t i = 0; i < probe->shared.n_buffers; i++)
        log_info(log, "probe", "NUMA node %d: %zu MiB to load from%s", probe->buffers[i].node,
                 probe->buffers[i].bytes >> 20,
                 probe->buffers[i].huge ? ", in huge pages" : ", perhaps not in huge pages");
}

static int build(struct probe_source *probe, const struct probe_config *config,
                 const struct chase_topology *topology, struct verdict *why)
{
    if (topology->n_initiators == 0) {
        verdict_set(
            why, REASON_NO_DEVICE,
            "no CPU to probe from: every CPU is isolated or outside the exporter's affinity");
        return -ENODEV;
    }
    int err = make_shared(probe, config);
    if (!err && probe->shared.how == CHASE_FLUSH_NONE) {
        verdict_set(why, REASON_UNSUPPORTED_CPU,
                    "this CPU has no instruction that lets the probe flush a line from its caches");
        return -ENOTSUP;
    }
    if (err)
        return err;
    err = make_buffers(probe, config, topology, why);
    if (err)
        return err;
    err = make_rings(probe, topology->n_initiators);
    if (err == -EINVAL)
        verdict_set(why, REASON_NO_DEVICE, "the probe's buffer is too small for %zu NUMA nodes",
                    topology->n_initiators);
    if (!err && (err = start_threads(probe, topology)) != 0)
        verdict_set(why, REASON_NO_PERMISSION, "the probe's threads cannot be started");
    return err;
}

int probe_source_new(const struct probe_config *config, struct source **out, struct verdict *why)
{
    struct chase_topology topology = {0};
    struct chase_allowed allowed;
    struct probe_source *probe = calloc(1, sizeof *probe);
    int err = -ENOMEM;
    verdict_set(why, REASON_NO_DEVICE, "out of memory for the memory probe");
    if (!probe)
        goto fail;
    probe->base.ops = &probe_ops;
    chase_allowed_read(&allowed);
    err = chase_topology_init(&topology, config->fs, &allowed, config->log);
    if (err) {
        verdict_set(why, REASON_NO_DEVICE, "the machine's NUMA nodes cannot be read from sysfs");
        goto fail;
    }
    err = build(probe, config, &topology, why);
    if (err)
        goto fail;
    say_what_runs(probe, &topology);
    chase_topology_release(&topology);
    verdict_clear(why);
    *out = &probe->base;
    return 0;
fail:
    chase_topology_release(&topology);
    probe_free(probe ? &probe->base : NULL);
    return err;
}

const struct source_thread *probe_source_threads(const struct source *source, size_t *n)
{
    *n = of_const(source)->n_running;
    return of_const(source)->identities;
}

uint64_t probe_source_cpu_ns(const struct source *source, size_t thread)
{
    clockid_t clock;
    if (thread >= of_const(source)->n_running ||
        pthread_getcpuclockid(of_const(source)->threads[thread].handle, &clock) != 0)
        return 0;
    return clock_ns(clock);
}

size_t probe_source_buffer_bytes(const struct source *source)
{
    size_t bytes = 0;
    for (size_t i = 0; i < of_const(source)->shared.n_buffers; i++)
        bytes += of_const(source)->buffers[i].bytes;
    return bytes;
}
