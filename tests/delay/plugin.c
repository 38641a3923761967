/*
 * Slower memory for one program: a plugin of QEMU's user mode. Each access goes to a cache model of
 * its thread; a miss waits as long as its tier says. Arguments, key=value:
 *
 *     cache=BYTES    the cache of each thread; a power of two
 *     near=NS far=NS what a miss waits, by tier; without either, misses are only counted
 *     share=MILLE    of the pages, those of the far tier; a hash of the page decides
 *     every=on       every access waits, no cache
 *     nops=N         executes N NOPs instead of waiting
 *     report=FILE    at the end: counts, as JSON
 *     trace=FILE     misses of the first thread: instructions before it, line; for the simulated
 * node
 *
 * State is per vCPU and nobody else's, so threads run side by side.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/delay/cache.h"
#include "tests/delay/qemu_plugin.h"
#include "tests/delay/wait.h"

#define EXPORT __attribute__((visibility("default")))

enum { VCPUS_MAX = 1024, TIERS = 2, PAGE_SHIFT = 12 };

static const char *const tier_names[TIERS] = {"near", "far"};

struct vcpu {
    struct cache cache;
    uint64_t accesses, misses[TIERS], waited_ticks;
    uint64_t instructions; /* counted for a trace only; since the last miss */
} __attribute__((aligned(128)));

struct plugin {
    size_t cache_bytes;
    double wait_ns[TIERS];
    uint64_t wait_ticks[TIERS];
    unsigned share, nops;
    bool every, waits; /* every access; at all, be it for 0 ns: the fence costs time, too */
    char report[512], trace[512];
    wait_nops *sled;
    double ticks_per_second;
    FILE *trace_file;
    struct vcpu *_Atomic vcpus[VCPUS_MAX];
    atomic_ulong unseen; /* accesses of threads for which there was no room or memory */
};

/* QEMU hands nothing to the callback that translates. */
static struct plugin plugin = {.cache_bytes = 1 << 20};

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

/* ---- a thread ---- */

static struct vcpu *vcpu_new(const struct plugin *self)
{
    struct vcpu *vcpu = aligned_alloc(_Alignof(struct vcpu), sizeof *vcpu);
    if (!vcpu)
        return NULL;
    *vcpu = (struct vcpu){0};
    if (cache_init(&vcpu->cache, self->cache_bytes) == 0)
        return vcpu;
    free(vcpu);
    return NULL;
}

/* Its own thread makes it, and no other uses it before the end. */
static struct vcpu *vcpu_of(struct plugin *self, unsigned index)
{
    if (index >= VCPUS_MAX)
        return NULL;
    struct vcpu *vcpu = atomic_load_explicit(&self->vcpus[index], memory_order_relaxed);
    if (vcpu)
        return vcpu;
    vcpu = vcpu_new(self);
    atomic_store_explicit(&self->vcpus[index], vcpu, memory_order_release);
    return vcpu;
}

/* ---- an access ---- */

/* 0 near, 1 far. Neighbouring pages fall apart: a multiplicative hash, its high bits. */
static int tier_of(const struct plugin *self, uint64_t vaddr)
{
    uint64_t hash = (vaddr >> PAGE_SHIFT) * UINT64_C(0x9e3779b97f4a7c15);
    return (hash >> 32) * 1000 >> 32 < self->share;
}

/* Of a wait in which the thread lost its CPU, what it was to be: the rest is not CPU time. */
static uint64_t counted(uint64_t took, uint64_t asked)
{
    return took < 4 * asked ? took : asked;
}

static void miss(struct plugin *self, struct vcpu *vcpu, uint64_t vaddr)
{
    int tier = tier_of(self, vaddr);
    vcpu->misses[tier]++;
    if (self->sled)
        self->sled();
    else if (self->waits)
        vcpu->waited_ticks += counted(wait_ticks(self->wait_ticks[tier]), self->wait_ticks[tier]);
}

static void trace(struct plugin *self, struct vcpu *vcpu, unsigned index, uint64_t line)
{
    if (index == 0 && self->trace_file)
        fprintf(self->trace_file, "%" PRIu64 " 0x%" PRIx64 "\n", vcpu->instructions,
                line * CACHE_LINE_BYTES);
    vcpu->instructions = 0;
}

static void on_access(unsigned index, qemu_plugin_meminfo_t info, uint64_t vaddr, void *userdata)
{
    struct plugin *self = userdata;
    struct vcpu *vcpu = vcpu_of(self, index);
    if (!vcpu) {
        atomic_fetch_add_explicit(&self->unseen, 1, memory_order_relaxed);
        return;
    }
    vcpu->accesses++;
    if (self->every) {
        miss(self, vcpu, vaddr);
        return;
    }
    uint64_t last = vaddr + (UINT64_C(1) << qemu_plugin_mem_size_shift(info)) - 1;
    for (uint64_t line = vaddr / CACHE_LINE_BYTES; line <= last / CACHE_LINE_BYTES; line++)
        if (!cache_access(&vcpu->cache, line)) {
            trace(self, vcpu, index, line);
            miss(self, vcpu, line * CACHE_LINE_BYTES);
        }
}

static void on_block(unsigned index, void *userdata)
{
    struct vcpu *vcpu = vcpu_of(&plugin, index);
    if (vcpu)
        vcpu->instructions += (uintptr_t)userdata;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    size_t n = qemu_plugin_tb_n_insns(tb);
    if (plugin.trace_file)
        qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS,
                                             (void *)(uintptr_t)n);
    for (size_t i = 0; i < n; i++)
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), on_access,
                                         QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, &plugin);
}

/* ---- the end ---- */

static void write_report(struct plugin *self, FILE *file)
{
    uint64_t accesses = 0, misses[TIERS] = {0}, waited = 0, threads = 0;
    fprintf(file, "{\"ticks_per_second\": %.0f, \"misses_by_thread\": [", self->ticks_per_second);
    for (size_t i = 0; i < VCPUS_MAX; i++) {
        const struct vcpu *vcpu = atomic_load_explicit(&self->vcpus[i], memory_order_acquire);
        if (!vcpu)
            continue;
        fprintf(file, "%s%" PRIu64, threads++ ? ", " : "", vcpu->misses[0] + vcpu->misses[1]);
        accesses += vcpu->accesses;
        waited += vcpu->waited_ticks;
        for (int tier = 0; tier < TIERS; tier++)
            misses[tier] += vcpu->misses[tier];
    }
    fprintf(file,
            "], \"accesses\": %" PRIu64 ", \"near_misses\": %" PRIu64 ", \"far_misses\": %" PRIu64
            ", \"waited_ticks\": %" PRIu64 ", \"unseen\": %lu}\n",
            accesses, misses[0], misses[1], waited, atomic_load(&self->unseen));
}

/* What cannot be written is missed by who reads it: a program's output is not ours to use. */
static void on_end(qemu_plugin_id_t id, void *userdata)
{
    struct plugin *self = userdata;
    (void)id;
    FILE *file = self->report[0] ? fopen(self->report, "we") : NULL;
    if (file) {
        write_report(self, file);
        fclose(file);
    }
    if (self->trace_file)
        fclose(self->trace_file);
}

/* ---- arguments ---- */

static int set_number(const char *text, double most, double *out)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (errno != 0 || end == text || *end || !(value >= 0 && value <= most))
        return -EINVAL;
    *out = value;
    return 0;
}

static int set_path(const char *text, char *out, size_t size)
{
    return (size_t)snprintf(out, size, "%s", text) < size ? 0 : -ENAMETOOLONG;
}

static int set(struct plugin *self, const char *key, const char *value)
{
    double number = 0;
    int err = -EINVAL;
    if (strcmp(key, "report") == 0)
        return set_path(value, self->report, sizeof self->report);
    if (strcmp(key, "trace") == 0)
        return set_path(value, self->trace, sizeof self->trace);
    if (strcmp(key, "every") == 0) {
        self->every = strcmp(value, "on") == 0;
        return 0;
    }
    for (int tier = 0; tier < TIERS; tier++)
        if (strcmp(key, tier_names[tier]) == 0) {
            self->waits = true;
            return set_number(value, 1e6, &self->wait_ns[tier]);
        }
    if (strcmp(key, "share") == 0 && !(err = set_number(value, 1000, &number)))
        self->share = (unsigned)number;
    if (strcmp(key, "nops") == 0 && !(err = set_number(value, 1e6, &number)))
        self->nops = (unsigned)number;
    if (strcmp(key, "cache") == 0 && !(err = set_number(value, 1 << 30, &number)))
        self->cache_bytes = (size_t)number;
    return err;
}

static int read_arguments(struct plugin *self, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (equals)
            *equals = '\0';
        if (!equals || set(self, argv[i], equals + 1) != 0) {
            fprintf(stderr, "delay: cannot use argument %s\n", argv[i]);
            return -EINVAL;
        }
    }
    return 0;
}

static int prepare(struct plugin *self)
{
    struct cache cache;
    int err = cache_init(&cache, self->cache_bytes);
    if (err) {
        fprintf(stderr, "delay: cache=%zu: %s\n", self->cache_bytes, strerror(-err));
        return err;
    }
    cache_release(&cache);
    if (self->nops > 0 && !(self->sled = wait_make_nops(self->nops)))
        return -ENOMEM;
    if (self->trace[0] && !(self->trace_file = fopen(self->trace, "we"))) {
        fprintf(stderr, "delay: %s: %s\n", self->trace, strerror(errno));
        return -errno;
    }
    self->ticks_per_second = wait_calibrate();
    for (int tier = 0; tier < TIERS; tier++)
        self->wait_ticks[tier] = (uint64_t)(self->wait_ns[tier] * self->ticks_per_second / 1e9);
    return 0;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    (void)info;
    if (read_arguments(&plugin, argc, argv) != 0 || prepare(&plugin) != 0)
        return -1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, on_end, &plugin);
    return 0;
}
