/* Which events are opened on which CPUs, and when they are closed. */
#include <time.h>
#include <unistd.h>

#include "tests/unit/support/sampler_rig.h"
#include "tests/unit/support/unit.h"

TEST(what_is_opened)
{
    struct sampler_rig rig;
    sampler_rig_open(&rig);
    const struct perf_event_attr *attr = &rig.fake.attr;
    assert_int_equal(rig.fake.opened, RIG_CPUS);
    assert_int_equal(rig.fake.enabled, RIG_CPUS);
    assert_true(attr->config == 0x82d0 && attr->precise_ip == 2);
    assert_int_equal(attr->sample_period, 10007);
    assert_int_equal(attr->sample_type, KERNEL_RECORD_SAMPLE_TYPE);
    assert_true(attr->exclude_kernel && attr->exclude_hv && attr->exclude_guest &&
                attr->sample_id_all);
    assert_true(attr->use_clockid && attr->clockid == CLOCK_MONOTONIC);
    assert_true(attr->watermark && attr->wakeup_watermark == rings_page_size() / 4);
    assert_true(attr->disabled && !attr->mmap && !attr->task && !attr->comm && !attr->inherit);
    sampler_rig_release(&rig);

    sampler_rig_init(&rig);
    rig.config.events[0].cgroup = rig.config.events[0].mappings = true;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    assert_int_equal(attr->sample_type, KERNEL_RECORD_SAMPLE_TYPE | PERF_SAMPLE_CGROUP);
    assert_true(attr->mmap && attr->mmap_data && attr->mmap2 && attr->comm && attr->comm_exec &&
                attr->task);
    sampler_rig_release(&rig);
}

/* A PMU of its own kind: its samples say what the access was and how long it took, and it cannot
 * leave anybody's out. */
TEST(an_event_with_latency)
{
    struct sampler_rig rig;
    sampler_rig_init(&rig);
    rig.config.events[0].latency = rig.config.events[0].data_source =
        rig.config.events[0].unfiltered = true;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    const struct perf_event_attr *attr = &rig.fake.attr;
    assert_int_equal(attr->sample_type,
                     KERNEL_RECORD_SAMPLE_TYPE | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC);
    assert_false(attr->exclude_kernel || attr->exclude_hv || attr->exclude_guest);
    const struct {
        struct perf_event_header header;
        uint64_t ip;
        uint32_t pid, tid;
        uint64_t time, address, weight, data_source;
    } sample = {{PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 56}, 1, 7, 8, 5, 6, 312, 0x42};
    assert_true(rings_put(&rig.fake, 0, &sample, sizeof sample));
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 1);
    assert_int_equal(rig.seen.at[0].sample.weight, 312);
    assert_int_equal(rig.seen.at[0].sample.data_source, 0x42);
    sampler_rig_release(&rig);
}

TEST(all_or_none)
{
    struct sampler_rig rig;
    sampler_rig_init(&rig);
    rig.fake.refuse_open = 2;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), -EACCES);
    assert_null(rig.sampler);
    assert_int_equal(rig.fake.opened + rig.fake.mapped + rig.fake.enabled, 0);
    rig.fake.refuse_open = -1;
    rig.fake.refuse_map = 1;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), -EPERM);
    assert_int_equal(rig.fake.opened + rig.fake.mapped + rig.fake.enabled, 0);
    rig.fake.refuse_map = -1;
    rig.config.events[0].data_pages = 3; /* no power of two */
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), -EINVAL);
    rig.config.events[0].data_pages = 1;
    rig.config.events[0].period = 0;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), -EINVAL);
    sampler_rig_release(&rig);
}

TEST(cpus_come_and_go)
{
    struct sampler_rig rig;
    sampler_rig_init(&rig);
    rig.config.n_cpus = 2;
    rig.seen.late_is_fine = true; /* this clock stands still */
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    assert_int_equal(rig.fake.opened, 2);
    assert_int_equal(sampler_set_cpus(rig.sampler, (const int[]){1, 2}, 2), 0);
    assert_true(rings_put_sample(&rig.fake, 0, 1, 1));
    sampler_drain(rig.sampler);
    assert_int_equal(rig.fake.opened, 2);
    assert_int_equal(rig.fake.enabled, 3);
    assert_int_equal(rig.fake.mapped, 3); /* what came in between is still to be read */
    assert_true(rings_put_sample(&rig.fake, 0, 2, 2));
    assert_true(rings_put_sample(&rig.fake, 2, 3, 3));
    sampler_drain(rig.sampler);
    sampler_rig_assert_addresses(&rig, (const uint64_t[]){1, 2, 3}, 3);
    assert_int_equal(rig.fake.mapped, 2);

    /* One that cannot be opened is tried again, the others go on. */
    rig.fake.refuse_open = 0;
    assert_int_equal(sampler_set_cpus(rig.sampler, (const int[]){0, 1, 2}, 3), 0);
    sampler_drain(rig.sampler);
    assert_int_equal(sampler_error(rig.sampler), -EACCES);
    assert_true(rings_put_sample(&rig.fake, 1, 4, 4));
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 4);
    assert_int_equal(sampler_open_events(rig.sampler), 2);
    rig.fake.refuse_open = -1;
    sampler_drain(rig.sampler);
    assert_int_equal(sampler_error(rig.sampler), 0);
    assert_int_equal(sampler_open_events(rig.sampler), 3);
    assert_true(rings_put_sample(&rig.fake, 0, 5, 5));
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 5);
    sampler_rig_release(&rig);
}

/* Gone and back between two passes: the event is dead, and is opened again. */
SAMPLER_TEST(a_cpu_that_was_away)
{
    assert_int_equal(sampler_start(rig->sampler), 0);
    pthread_mutex_lock(&rig->fake.lock);
    rig->fake.hung = 100001;
    pthread_mutex_unlock(&rig->fake.lock);
    uint64_t one = 1;
    for (int i = 0; one != 0 && i < 60000; i++) {
        usleep(1000);
        pthread_mutex_lock(&rig->fake.lock);
        one = (uint64_t)rig->fake.hung;
        pthread_mutex_unlock(&rig->fake.lock);
    }
    sampler_free(rig->sampler);
    rig->sampler = NULL;
    assert_int_equal(one, 0);
    assert_int_equal(rig->fake.enabled, RIG_CPUS + 1);
}
