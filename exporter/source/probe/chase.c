#include "exporter/source/probe/chase.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "exporter/base/clock.h"
#include "exporter/source/probe/buffer.h"
#include "exporter/source/probe/thread.h"
#include "exporter/source/probe/topology.h"

enum { DEFAULT_BUFFER_BYTES = 4 << 20, LARGEST_BUFFER_BYTES = 1 << 30 };

struct chase_source {
    struct source base;
    struct chase_shared shared;
    bool shared_made;             /* mutex and condition exist */
    struct chase_buffer *buffers; /* shared.n_buffers of them */
    struct chase_ring *rings;     /* of thread t and buffer b: t * n_buffers + b */
    size_t n_rings;               /* made so far */
    struct chase_thread *threads; /* shared.n_threads of them */
    size_t n_running;
    struct source_thread *identities; /* one per thread */
    size_t next_queue; /* where probes() goes on, so that a small cap starves nobody */
};

static struct chase_source *of(struct source *source)
{
    return (struct chase_source *)source;
}

static const struct chase_source *of_const(const struct source *source)
{
    return (const struct chase_source *)source;
}

static int chase_probes(struct source *source, struct probe_reading *out, size_t cap, size_t *n)
{
    struct chase_source *chase = of(source);
    size_t count = 0, empty = 0;
    while (count < cap && empty < chase->n_running) {
        struct chase_thread *thread = &chase->threads[chase->next_queue];
        chase->next_queue = (chase->next_queue + 1) % chase->n_running;
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

static void chase_discards(struct source *source, uint64_t discarded[PROBE_DISCARDS])
{
    const struct chase_shared *shared = &of_const(source)->shared;
    for (int cause = 0; cause < PROBE_DISCARDS; cause++)
        discarded[cause] = atomic_load_explicit(&shared->discarded[cause], memory_order_relaxed);
}

static void stop_threads(struct chase_source *chase)
{
    if (!chase->shared_made)
        return;
    pthread_mutex_lock(&chase->shared.mutex);
    chase->shared.stop = true;
    pthread_cond_broadcast(&chase->shared.changed);
    pthread_mutex_unlock(&chase->shared.mutex);
    for (size_t i = 0; i < chase->n_running; i++)
        chase_thread_join(&chase->threads[i]);
    pthread_cond_destroy(&chase->shared.changed);
    pthread_mutex_destroy(&chase->shared.mutex);
}

static void chase_free(struct source *source)
{
    struct chase_source *chase = of(source);
    if (!chase)
        return;
    stop_threads(chase);
    for (size_t i = 0; i < chase->n_rings; i++)
        chase_ring_release(&chase->rings[i]);
    for (size_t i = 0; chase->threads && i < chase->shared.n_threads; i++)
        chase_hit_release(&chase->threads[i].hit);
    for (size_t i = 0; i < chase->shared.n_buffers; i++)
        chase_buffer_release(&chase->buffers[i]);
    free(chase->rings);
    free(chase->buffers);
    free(chase->threads);
    free(chase->identities);
    free(chase);
}

static const struct source_ops chase_ops = {
    .name = "probe",
    .probes = chase_probes,
    .probe_discards = chase_discards,
    .free = chase_free,
};

static int make_shared(struct chase_source *chase, const struct chase_config *config)
{
    struct chase_shared *shared = &chase->shared;
    pthread_condattr_t attributes;
    shared->fs = config->fs;
    shared->log = config->log;
    shared->interval_ns = config->interval_ns;
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
    chase->shared_made = !err;
    return -err;
}

/* One buffer per target that gives memory. *why keeps the last refusal. */
static int make_buffers(struct chase_source *chase, const struct chase_config *config,
                        const struct chase_topology *topology, struct verdict *why)
{
    struct chase_shared *shared = &chase->shared;
    size_t bytes = config->buffer_bytes ? config->buffer_bytes : DEFAULT_BUFFER_BYTES;
    int err = -ENODEV;
    if (bytes > LARGEST_BUFFER_BYTES) {
        verdict_set(why, REASON_NO_DEVICE, "the probe's buffer may have at most 1 GiB");
        return -EINVAL;
    }
    bytes = (bytes + CHASE_HUGE_BYTES - 1) / CHASE_HUGE_BYTES * CHASE_HUGE_BYTES;
    verdict_set(why, REASON_NO_DEVICE, "no NUMA node has memory that the exporter may use");
    chase->buffers = calloc(topology->n_targets + 1, sizeof *chase->buffers);
    if (!chase->buffers)
        return -ENOMEM;
    for (size_t i = 0; i < topology->n_targets; i++) {
        const struct chase_place *target = &topology->targets[i];
        err = chase_buffer_init(&chase->buffers[shared->n_buffers], config->fs, bytes, target->node,
                                target->cpu, topology->n_targets == 1, why);
        if (!err)
            shared->n_buffers++;
        else
            log_warn(config->log, "probe", "%s", why->words);
    }
    shared->buffers = chase->buffers;
    return shared->n_buffers > 0 ? 0 : err;
}

static int make_rings(struct chase_source *chase, size_t n_threads)
{
    size_t n_buffers = chase->shared.n_buffers;
    uint64_t seed = clock_mono_ns();
    chase->rings = calloc(n_threads * n_buffers, sizeof *chase->rings);
    if (!chase->rings)
        return -ENOMEM;
    for (size_t i = 0; i < n_threads * n_buffers; i++, chase->n_rings++) {
        const struct chase_buffer *buffer = &chase->buffers[i % n_buffers];
        int err =
            chase_ring_init(&chase->rings[i], buffer->base, buffer->bytes,
                            (uint32_t)(i / n_buffers), (uint32_t)n_threads, chase_random(&seed));
        if (err)
            return err;
    }
    return 0;
}

/* Of the last-level cache's hits, in the buffer of the thread's own node; else it goes without. */
static int make_hit_ring(const struct chase_source *chase, struct chase_thread *thread)
{
    for (size_t i = 0; i < chase->shared.n_buffers; i++) {
        const struct chase_buffer *buffer = &chase->buffers[i];
        if (buffer->node != thread->node)
            continue;
        int err = chase_hit_init(&thread->hit, chase->shared.fs, thread->cpu, buffer->base,
                                 buffer->bytes, thread->random);
        return err == -ENOTSUP ? 0 : err;
    }
    return 0;
}

/* Before the thread starts: from then on its turn is its own. */
static void describe(const struct chase_source *chase, size_t i)
{
    const struct chase_thread *thread = &chase->threads[i];
    struct source_thread *identity = &chase->identities[i];
    snprintf(identity->key, sizeof identity->key, "p%zu", i);
    snprintf(identity->kind, sizeof identity->kind, "probe");
    identity->initiator_numa_node = thread->node;
    identity->target_numa_node = chase->buffers[thread->turn].node;
}

static int start_threads(struct chase_source *chase, const struct chase_topology *topology)
{
    size_t n = topology->n_initiators;
    uint64_t seed = clock_mono_ns();
    chase->threads = calloc(n, sizeof *chase->threads);
    chase->identities = calloc(n, sizeof *chase->identities);
    if (!chase->threads || !chase->identities)
        return -ENOMEM;
    chase->shared.n_threads = n;
    chase->shared.epoch_ns = clock_mono_ns();
    for (size_t i = 0; i < n; i++) {
        struct chase_thread *thread = &chase->threads[i];
        thread->shared = &chase->shared;
        thread->index = i;
        thread->node = topology->initiators[i].node;
        thread->cpu = topology->initiators[i].cpu;
        thread->random = chase_random(&seed);
        thread->rings = &chase->rings[i * chase->shared.n_buffers];
        thread->turn = i % chase->shared.n_buffers;
        describe(chase, i);
        int err = make_hit_ring(chase, thread);
        if (!err)
            err = chase_thread_start(thread);
        if (err)
            return err;
        chase->n_running++;
        chase->identities[i].tid = thread->tid;
    }
    return 0;
}

static void say_what_runs(const struct chase_source *chase, const struct chase_topology *topology)
{
    const struct log *log = chase->shared.log;
    for (size_t i = 0; i < topology->n_initiators; i++)
        log_info(log, "probe", "NUMA node %d: loads start on CPU %d", topology->initiators[i].node,
                 topology->initiators[i].cpu);
    for (size_t i = 0; i < chase->shared.n_buffers; i++)
        log_info(log, "probe", "NUMA node %d: %zu MiB to load from%s", chase->buffers[i].node,
                 chase->buffers[i].bytes >> 20,
                 chase->buffers[i].huge ? ", in huge pages" : ", perhaps not in huge pages");
}

static int build(struct chase_source *chase, const struct chase_config *config,
                 const struct chase_topology *topology, struct verdict *why)
{
    if (topology->n_initiators == 0) {
        verdict_set(
            why, REASON_NO_DEVICE,
            "no CPU to probe from: every CPU is isolated or outside the exporter's affinity");
        return -ENODEV;
    }
    int err = make_shared(chase, config);
    if (!err && chase->shared.how == CHASE_FLUSH_NONE) {
        verdict_set(why, REASON_UNSUPPORTED_CPU,
                    "this CPU has no instruction that lets the probe flush a line from its caches");
        return -ENOTSUP;
    }
    if (err)
        return err;
    err = make_buffers(chase, config, topology, why);
    if (err)
        return err;
    err = make_rings(chase, topology->n_initiators);
    if (err == -EINVAL)
        verdict_set(why, REASON_NO_DEVICE, "the probe's buffer is too small for %zu NUMA nodes",
                    topology->n_initiators);
    if (!err && (err = start_threads(chase, topology)) != 0)
        verdict_set(why, REASON_NO_PERMISSION, "the probe's threads cannot be started");
    return err;
}

int chase_source_new(const struct chase_config *config, struct source **out, struct verdict *why)
{
    struct chase_topology topology = {0};
    struct chase_allowed allowed;
    struct chase_source *chase = calloc(1, sizeof *chase);
    int err = -ENOMEM;
    verdict_set(why, REASON_NO_DEVICE, "out of memory for the memory probe");
    if (!chase)
        goto fail;
    chase->base.ops = &chase_ops;
    chase_allowed_read(&allowed);
    err = chase_topology_init(&topology, config->fs, &allowed, config->log);
    if (err) {
        verdict_set(why, REASON_NO_DEVICE, "the machine's NUMA nodes cannot be read from sysfs");
        goto fail;
    }
    err = build(chase, config, &topology, why);
    if (err)
        goto fail;
    say_what_runs(chase, &topology);
    chase_topology_release(&topology);
    verdict_clear(why);
    *out = &chase->base;
    return 0;
fail:
    chase_topology_release(&topology);
    chase_free(chase ? &chase->base : NULL);
    return err;
}

const struct source_thread *chase_source_threads(const struct source *source, size_t *n)
{
    *n = of_const(source)->n_running;
    return of_const(source)->identities;
}

uint64_t chase_source_cpu_ns(const struct source *source, size_t thread)
{
    clockid_t clock;
    if (thread >= of_const(source)->n_running ||
        pthread_getcpuclockid(of_const(source)->threads[thread].handle, &clock) != 0)
        return 0;
    return clock_ns(clock);
}

size_t chase_source_buffer_bytes(const struct source *source)
{
    size_t bytes = 0;
    for (size_t i = 0; i < of_const(source)->shared.n_buffers; i++)
        bytes += of_const(source)->buffers[i].bytes;
    return bytes;
}
