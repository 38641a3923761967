/* The collector of persistent memory: counts and samples in, estimates out. */
#include "collectors/nvmm/windows.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/nvmm_rig.h"
#include "tests/unit/support/unit.h"

/* ---- the estimate ---- */

TEST_ON(the_worked_number, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    nvmm_count(rig, "a", ACCESS_STORE, 500000000);
    nvmm_samples(rig, c, MEDIUM_NVMM, 64, 125);
    nvmm_samples(rig, c, MEDIUM_OTHER, 8, 375);
    nvmm_samples(rig, c, MEDIUM_UNKNOWN, 0, 9);
    assert_int_equal(nvmm_tick(rig), 0);
    nvmm_is(nvmm_stores(rig), 1.25e8);
    nvmm_is(rig_value(rig, C "nvmm_bytes", "access=\"store\""), 8.0e9);
    nvmm_is(rig_value(rig, C "memory_samples", "medium=\"nvmm\""), 125);
    nvmm_is(rig_value(rig, C "memory_samples", "medium=\"other\""), 375);
    nvmm_is(rig_value(rig, C "memory_samples", "medium=\"unknown\""), 9);
    nvmm_is(rig_value(rig, C "nvmm_writer_threads", ""), 1);
    nvmm_count(rig, "a", ACCESS_STORE, 1000);
    nvmm_samples(rig, c, MEDIUM_NVMM, 8, 1);
    nvmm_tick(rig);
    nvmm_is(nvmm_stores(rig), 1.25e8 + 1000);
}

/* Ten tenths of a store are a store, whatever their sum is in binary. */
TEST_ON(parts_of_stores, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    for (int i = 0; i < 10; i++) {
        nvmm_count(rig, "a", ACCESS_STORE, 1);
        nvmm_samples(rig, c, MEDIUM_NVMM, 10, 1);
        nvmm_samples(rig, c, MEDIUM_OTHER, 8, 9);
        nvmm_tick(rig);
    }
    nvmm_is(nvmm_stores(rig), 1);
    nvmm_is(rig_value(rig, C "nvmm_bytes", "access=\"store\""), 10);
}

TEST_ON(all_labels_are_there_from_the_start, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    rig_container(rig, "a");
    nvmm_count(rig, "a", ACCESS_STORE, 0);
    nvmm_tick(rig);
    nvmm_is(nvmm_stores(rig), 0);
    nvmm_is(rig_value(rig, C "nvmm_bytes", "access=\"store\""), 0);
    nvmm_is(rig_value(rig, C "memory_samples", "medium=\"unknown\""), 0);
    nvmm_is(rig_value(rig, C "nvmm_writer_threads", ""), 0);
    nvmm_is(rig_value(rig, S "samples_lost", "store"), 0);
    nvmm_is(rig_value(rig, S "throttles", "store"), 0);
    nvmm_is(rig_value(rig, S "samples_undecoded", "unreadable"), 0);
    nvmm_is(rig_value(rig, "interference_pmem_dimms", ""), NAN);
    /* accesses, bytes, three media, writers; and info */
    assert_int_equal(rig_series(rig, "container_id=\"000000000000\""), 7);
    nvmm_is(rig_value(rig, S "samples_lost", "load"), NAN);
}

TEST_ON(ticks_without_samples_are_carried, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    for (int i = 0; i < 9; i++) {
        nvmm_count(rig, "a", ACCESS_STORE, 1000);
        nvmm_tick(rig);
        nvmm_is(nvmm_stores(rig), 0);
    }
    nvmm_count(rig, "a", ACCESS_STORE, 1000);
    nvmm_samples(rig, c, MEDIUM_NVMM, 8, 1);
    nvmm_tick(rig);
    nvmm_is(nvmm_stores(rig), 10000);
    nvmm_is(rig_value(rig, C "nvmm_bytes", ""), 80000);
}

/* The sampler's thread is a tick behind: its samples still meet the counts of their own time. */
TEST_ON(late_samples_meet_their_counts, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    nvmm_count(rig, "a", ACCESS_STORE, 100);
    nvmm_sample(rig, c, MEDIUM_NVMM, 8, 900000000);
    nvmm_tick_behind(rig, second / 2);
    nvmm_is(nvmm_stores(rig), 0); /* held back */
    /* Now 1,000,000 events, all to other memory, and the first window's other three samples. */
    nvmm_count(rig, "a", ACCESS_STORE, 1000000);
    for (int i = 0; i < 3; i++)
        nvmm_sample(rig, c, MEDIUM_OTHER, 8, second + 1);
    nvmm_samples(rig, c, MEDIUM_OTHER, 8, 4);
    nvmm_tick_behind(rig, second / 2);
    nvmm_is(nvmm_stores(rig), 25);
    nvmm_count(rig, "a", ACCESS_STORE, 0);
    nvmm_tick(rig);
    nvmm_is(nvmm_stores(rig), 25);
}

TEST_WITH(samples_of_after_the_reading_are_of_the_next_window, nvmm_setup, nvmm_teardown)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    nvmm_count(rig, "a", ACCESS_STORE, 1000);
    nvmm_sample(rig, c, MEDIUM_OTHER, 8, 1);
    nvmm_sample(rig, c, MEDIUM_NVMM, 8, 0)->time_ns += 5; /* behind the tick */
    nvmm_tick(rig);
    nvmm_is(nvmm_stores(rig), 0);
    nvmm_count(rig, "a", ACCESS_STORE, 40);
    nvmm_tick(rig);
    nvmm_is(nvmm_stores(rig), 40);
}

TEST_ON(a_sampler_that_stands_still_loses_nothing, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    for (int i = 0; i < 10; i++) {
        nvmm_count(rig, "a", ACCESS_STORE, 100);
        nvmm_sample(rig, c, i < NVMM_HELD ? MEDIUM_OTHER : MEDIUM_NVMM, 8, 1);
        rig_tick(rig); /* settled stays 0 */
        nvmm_is(nvmm_stores(rig), 0);
    }
    nvmm_count(rig, "a", ACCESS_STORE, 100);
    nvmm_tick(rig);
    nvmm_count(rig, "a", ACCESS_STORE, 0);
    nvmm_tick(rig);
    nvmm_is(nvmm_stores(rig), (11 - NVMM_HELD) * 100);
}

TEST_ON(windows_that_were_discarded, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    nvmm_count(rig, "a", ACCESS_STORE, 100);
    nvmm_samples(rig, c, MEDIUM_NVMM, 8, 1);
    nvmm_tick(rig);
    struct fake_group *group = fake_group(&rig->fake, "a", GROUP_STORES);
    group->enabled_ns[0] += second; /* starved */
    nvmm_samples(rig, c, MEDIUM_NVMM, 8, 1);
    nvmm_tick(rig);
    nvmm_is(nvmm_stores(rig), 100);
    assert_int_equal(rig->status.discarded[DISCARD_STARVED], 1);
    group->read_error = -EIO;
    assert_int_equal(nvmm_tick(rig), -EIO);
    assert_int_equal(rig->status.discarded[DISCARD_READ_ERROR], 1);
    group->read_error = 0;
    group->no_reading = true; /* the next one reaches back */
    nvmm_count(rig, "a", ACCESS_STORE, 50);
    nvmm_samples(rig, c, MEDIUM_NVMM, 8, 1);
    assert_int_equal(nvmm_tick(rig), 0);
    nvmm_is(nvmm_stores(rig), 100);
    group->no_reading = false;
    nvmm_count(rig, "a", ACCESS_STORE, 50);
    nvmm_samples(rig, c, MEDIUM_OTHER, 8, 1);
    nvmm_tick(rig);
    nvmm_is(nvmm_stores(rig), 150); /* of the two samples of 100 events one */
}

TEST_ON(loads_have_series_of_their_own, struct rig *rig, nvmm_setup_loads, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    nvmm_count(rig, "a", ACCESS_STORE, 10);
    nvmm_count(rig, "a", ACCESS_LOAD, 400);
    nvmm_sample(rig, c, MEDIUM_NVMM, 16, 1)->access = ACCESS_LOAD;
    nvmm_sample(rig, c, MEDIUM_OTHER, 8, 1);
    nvmm_tick(rig);
    nvmm_is(nvmm_stores(rig), 0);
    nvmm_is(rig_value(rig, C "nvmm_accesses", "access=\"load\""), 400);
    nvmm_is(rig_value(rig, C "nvmm_bytes", "access=\"load\""), 6400);
    nvmm_is(rig_value(rig, C "nvmm_writer_threads", ""), 0); /* it only reads */
    assert_int_equal(rig_series(rig, "container_id=\"000000000000\""), 12);
}

/* ---- what the sampler says of itself ---- */

TEST_ON(losses_are_told, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    rig->fake.sampling[ACCESS_STORE].lost = 12;
    rig->fake.sampling[ACCESS_STORE].throttles = 3;
    nvmm_count(rig, "a", ACCESS_STORE, 10);
    nvmm_samples(rig, c, MEDIUM_NVMM, 0, 2);
    nvmm_samples(rig, c, MEDIUM_OTHER, 0, 5); /* where it did not matter nobody looked */
    nvmm_tick(rig);
    nvmm_is(rig_value(rig, S "samples_lost", "store"), 12);
    nvmm_is(rig_value(rig, S "throttles", "store"), 3);
    nvmm_is(rig_value(rig, S "samples_undecoded", "repeated"), 2);
    nvmm_is(rig_value(rig, S "samples_undecoded", "masked"), 0);
}

TEST_ON(modules_are_counted_where_there_are_some, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    rig->facts.machine.pmem_dimms = 6;
    nvmm_tick(rig);
    nvmm_is(rig_value(rig, "interference_pmem_dimms", ""), 6);
}

/* ---- reads for ownership ---- */

TEST_ON(reads_for_ownership, struct rig *rig, nvmm_setup_rfo, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    nvmm_count(rig, "a", ACCESS_STORE, 100);
    nvmm_tick(rig);
    assert_int_equal(rig_series(rig, "container_id=\"000000000000\""), 8);
    struct fake_group *group = fake_group(&rig->fake, "a", GROUP_PMM_RFO);
    fake_group_run(group, 1, second);
    fake_group_add(group, 1, ROLE_PMM_RFO, 12345);
    nvmm_tick(rig);
    nvmm_is(rig_value(rig, C "nvmm_rfo_accesses", ""), 12345);
    fake_group_run(group, 0, second);
    fake_group_add(group, 0, ROLE_PMM_RFO, 5);
    rig_end(rig, c);
    nvmm_tick(rig);
    nvmm_is(rig_value(rig, C "nvmm_rfo_accesses", ""), 12350);
    assert_int_equal(rig->fake.n_open, 0);
}

static struct verdict probed(bool samples, bool rfo, bool checks, struct collector_status *status)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &pebs_nvmm_collector);
    rig->reconciled_by_hand = true;
    if (rfo)
        rig_flag(rig, "--collector.pebs_nvmm.rfo");
    if (!samples)
        for (int access = 0; access < ACCESS_KINDS; access++)
            verdict_set(&rig->fake.sampled[access], REASON_NO_DEVICE, "no modules");
    if (!checks)
        verdict_set(&rig->fake.check, REASON_UNSUPPORTED_CPU, "no such event");
    struct verdict why = {0};
    if (pebs_nvmm_collector.probe(&rig->env, &why)) {
        rig_start(rig);
        *status = rig->status;
    } else {
        *status = (struct collector_status){.unavailable = true};
    }
    rig_release(rig);
    free(rig);
    return why;
}

TEST(what_is_missing_is_said)
{
    struct collector_status status;
    struct verdict why = probed(false, false, true, &status);
    assert_true(status.unavailable);
    assert_string_equal(why.words, "no modules");
    probed(false, true, false, &status);
    assert_true(status.unavailable);
    probed(false, true, true, &status);
    assert_false(status.unavailable);
    assert_int_equal(status.verdict.reason, REASON_NO_DEVICE);
    assert_non_null(strstr(status.verdict.words, "only reads for ownership"));
    probed(true, true, false, &status);
    assert_int_equal(status.verdict.reason, REASON_UNSUPPORTED_CPU);
    assert_non_null(strstr(status.verdict.words, "reads for ownership are not counted"));
    probed(true, true, true, &status);
    assert_int_equal(status.verdict.reason, REASON_OK);
}

/* ---- cost ---- */

TEST_ON_EACH(a_steady_tick_allocates_nothing, struct rig *rig, nvmm_setup, nvmm_setup_processes,
             nvmm_teardown)
{
    if (!malloc_count_works())
        skip();
    struct container *c = rig_container(rig, "a");
    for (int i = 0; i < 3; i++) {
        nvmm_count(rig, "a", ACCESS_STORE, 100);
        nvmm_tick(rig);
    }
    uint64_t before = malloc_count();
    for (uint32_t i = 0; i < 20; i++) {
        nvmm_count(rig, "a", ACCESS_STORE, 100);
        nvmm_samples(rig, c, MEDIUM_NVMM, 8, 1000);
        for (size_t k = 0; k < rig->fake.n_samples; k++) /* new threads all the time */
            rig->fake.samples[k].tid = i * 1000 + (uint32_t)k;
        nvmm_tick(rig);
    }
    assert_int_equal(malloc_count() - before, 0);
    nvmm_is(nvmm_stores(rig), 2300);
    nvmm_is(rig_value(rig, C "nvmm_writer_threads", ""), 1000);
}
