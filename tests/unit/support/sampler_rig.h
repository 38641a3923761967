/*
 * A kernel of which only the ring buffers are there, which tests fill by hand, and a sampler over
 * it whose records are saved.
 */
#ifndef IE_TESTS_SAMPLER_RIG_H
#define IE_TESTS_SAMPLER_RIG_H

#include <pthread.h>

#include "exporter/source/sampler/sampler.h"

enum { RIG_CPUS = 3, RIG_EVENTS = 2, MS = 1000000, RIG_MAX_SEEN = 1 << 18 };

struct fake_rings {
    struct perf_event_attr attr;
    struct perf_event_mmap_page *ring[RIG_EVENTS * RIG_CPUS]; /* event 1 behind event 0 */
    uint64_t config[RIG_EVENTS]; /* of the events, in the order of opening */
    int opened, mapped, enabled; /* those that are now */
    int enabled_fd[64];          /* in their order */
    int refuse_open, refuse_map; /* the CPU for which to; -1: none */
    uint64_t now;
    bool tells_clock; /* in its pages: 5,000 ns and half a nanosecond for each count */
    uint64_t counter;
    int reads;
    uint64_t collected;   /* time of a sample of CPU 2 that comes when the event is read; 0: none */
    pthread_mutex_t lock; /* of 'hung' */
    int hung;             /* the descriptor whose CPU went away; 0: none */
};

size_t rings_page_size(void);
/* Writes bytes as the kernel does; false when there is no room. */
bool rings_put(struct fake_rings *fake, int cpu, const void *bytes, size_t n);
bool rings_put_sample(struct fake_rings *fake, int cpu, uint64_t time, uint64_t address);
void rings_put_lost(struct fake_rings *fake, int cpu, uint32_t type, uint64_t time, uint64_t n);

/* ---- what comes out ---- */

struct sampler_seen {
    size_t n, of_event[2];
    struct kernel_record *at; /* without paths */
    uint64_t settled;
    bool late_is_fine, child_ended;
    pid_t child;
    pthread_mutex_t lock;
};

struct sampler_rig {
    struct fake_rings fake;
    struct perf_kernel kernel;
    struct encoded_event event, second;
    struct sampler_seen seen;
    int cpus[RIG_CPUS];
    struct perf_clock_sources clock;
    struct sampler_config config;
    struct sampler *sampler;
};

/* One event on three CPUs; nothing is opened yet. */
void sampler_rig_init(struct sampler_rig *rig);
/* A second event, before opening: one of software's, with period 1. The caller says the rest. */
struct sampler_event *sampler_rig_second(struct sampler_rig *rig);
/* As init, and opened. */
void sampler_rig_open(struct sampler_rig *rig);
/* Frees the sampler; nothing of it may be left open or mapped. */
void sampler_rig_release(struct sampler_rig *rig);
/* A test of an open one. */
int sampler_rig_setup(void **state);
int sampler_rig_teardown(void **state);
#define SAMPLER_TEST(name)                                                                         \
    TEST_ON(name, struct sampler_rig *rig, sampler_rig_setup, sampler_rig_teardown)

/* The samples seen are these, and no others. */
void sampler_rig_assert_addresses(const struct sampler_rig *rig, const uint64_t *want, size_t n);

#endif
