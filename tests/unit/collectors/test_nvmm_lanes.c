/* Containers that come, change and go, and what is said when one cannot be counted. */
#include "tests/unit/support/nvmm_rig.h"
#include "tests/unit/support/unit.h"

/* ---- containers come and go ---- */

TEST_ON(an_ended_container_waits_for_its_samples, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    nvmm_count(rig, "a", ACCESS_STORE, 100);
    nvmm_sample(rig, c, MEDIUM_NVMM, 8, second);
    nvmm_tick_behind(rig, second / 2);
    nvmm_count(rig, "a", ACCESS_STORE, 300);
    rig_end(rig, c);
    nvmm_tick_behind(rig, second / 2);
    nvmm_is(nvmm_stores(rig), 100);
    nvmm_is(rig_value(rig, C "nvmm_writer_threads", ""), NAN); /* gauges end at once */
    assert_int_equal(rig->fake.n_open, 1);
    nvmm_count(rig, "a", ACCESS_STORE, 5000); /* what a cgroup of the same name would do */
    nvmm_sample(rig, c, MEDIUM_NVMM, 8, second + 1);
    nvmm_tick(rig);
    nvmm_is(nvmm_stores(rig), 400);
    assert_int_equal(rig->fake.n_open, 0);
    rig_forget(rig, c);
    nvmm_sample(rig, c, MEDIUM_NVMM, 8, 1); /* of nobody */
    nvmm_tick(rig);
    nvmm_is(nvmm_stores(rig), NAN);
}

TEST_ON(a_sampler_that_is_stuck_is_told, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    nvmm_count(rig, "a", ACCESS_STORE, 100);
    nvmm_samples(rig, c, MEDIUM_NVMM, 8, 1);
    assert_int_equal(nvmm_tick(rig), 0);
    for (int i = 0; i < 5; i++) {
        nvmm_count(rig, "a", ACCESS_STORE, 100);
        assert_int_equal(rig_tick(rig), 0);
    }
    nvmm_is(rig_value(rig, C "nvmm_writer_threads", ""), 1);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    for (int i = 0; i < 30; i++) { /* also when nothing more is read */
        nvmm_count(rig, "a", ACCESS_STORE, 100);
        assert_int_equal(rig_tick(rig), -ETIMEDOUT);
    }
    nvmm_is(rig_value(rig, C "nvmm_writer_threads", ""), NAN);
    nvmm_is(nvmm_stores(rig), 100);
    assert_false(rig->status.unavailable);
    assert_int_equal(rig->status.verdict.reason, REASON_NO_DEVICE);
    assert_non_null(strstr(rig->status.verdict.words, "stuck"));
    assert_null(strstr(rig->status.verdict.words, "process"));
    assert_int_equal(nvmm_tick(rig), 0);
    nvmm_is(rig_value(rig, C "nvmm_writer_threads", ""), 0);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_string_equal(rig->status.verdict.words, "");

    /* At whose process, where that is known. */
    rig->fake.sampling[ACCESS_STORE].blocked_pid = 4711;
    for (int i = 0; i < 30; i++) {
        nvmm_count(rig, "a", ACCESS_STORE, 100);
        rig_tick(rig);
    }
    assert_non_null(strstr(rig->status.verdict.words, "process 4711,"));
}

/* Nothing else changes: a tenant's silent memory is the tenant's. */
TEST_ON(silent_memory_is_told, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    nvmm_count(rig, "a", ACCESS_STORE, 100);
    nvmm_samples(rig, c, MEDIUM_NVMM, 8, 1);
    assert_int_equal(nvmm_tick(rig), 0);
    nvmm_is(rig_value(rig, "interference_sampler_reads_hung", ""), NAN); /* nobody to be asked */
    rig->fake.sampling[ACCESS_STORE].apart = true;
    assert_int_equal(nvmm_tick(rig), 0);
    nvmm_is(rig_value(rig, "interference_sampler_reads_hung", ""), 0);
    nvmm_is(rig_value(rig, "interference_sampler_containers_refused", ""), 0);
    rig->fake.sampling[ACCESS_STORE].hung = 3;
    rig->fake.sampling[ACCESS_STORE].hung_pid = 4711;
    rig->fake.sampling[ACCESS_STORE].refused = 2;
    assert_int_equal(nvmm_tick(rig), 0);
    nvmm_is(rig_value(rig, "interference_sampler_reads_hung", ""), 3);
    nvmm_is(rig_value(rig, "interference_sampler_containers_refused", ""), 2);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_non_null(strstr(rig->status.verdict.words, "process 4711 does not answer"));
    nvmm_is(rig_value(rig, C "nvmm_writer_threads", ""), 0);
    rig->fake.sampling[ACCESS_STORE].refused = 0;
    assert_int_equal(nvmm_tick(rig), 0);
    assert_string_equal(rig->status.verdict.words, "");
    nvmm_is(rig_value(rig, "interference_sampler_reads_hung", ""), 3);
}

/* Five ticks, where these are long; and what a recording says of a time without stores is no
 * sign of anything. */
TEST_ON(a_sampler_is_given_time, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    nvmm_count(rig, "a", ACCESS_STORE, 100);
    nvmm_samples(rig, c, MEDIUM_NVMM, 8, 1);
    nvmm_tick(rig);
    for (int i = 0; i < 20; i++) {
        nvmm_count(rig, "a", ACCESS_STORE, 0);
        assert_int_equal(rig_tick(rig), 0);
    }
    nvmm_count(rig, "a", ACCESS_STORE, 1);
    nvmm_tick(rig);
    rig->tick.interval_ns = 2 * second;
    for (int i = 0; i < 6; i++) {
        nvmm_count(rig, "a", ACCESS_STORE, 1);
        rig->tick.mono_ns += second; /* beside the rig's own */
        assert_int_equal(rig_tick(rig), i < 5 ? 0 : -ETIMEDOUT);
    }
}

TEST_ON(an_error_of_the_sampler_is_told, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    rig_container(rig, "a");
    nvmm_count(rig, "a", ACCESS_STORE, 100);
    rig->fake.sampling[ACCESS_STORE].error = -EMFILE;
    assert_int_equal(nvmm_tick(rig), -EMFILE);
    assert_int_equal(rig->status.verdict.reason, REASON_FD_LIMIT);
    nvmm_is(rig_value(rig, C "nvmm_writer_threads", ""), NAN);
    rig->fake.sampling[ACCESS_STORE].error = 0;
    assert_int_equal(nvmm_tick(rig), 0);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    nvmm_is(rig_value(rig, C "nvmm_writer_threads", ""), 0);
}

TEST_ON(a_dead_sampler_does_not_keep_descriptors, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    nvmm_count(rig, "a", ACCESS_STORE, 100);
    rig_tick(rig);
    rig_end(rig, c);
    for (int i = 0; i < 10; i++)
        rig_tick(rig);
    assert_int_equal(rig->fake.n_open, 0);
}

/* The slot's next container is another one, whoever still has samples of the first. */
TEST_ON(a_slot_changes_hands, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    const uint64_t old = nvmm_tag(c);
    nvmm_count(rig, "a", ACCESS_STORE, 100);
    nvmm_tick(rig);
    rig_end(rig, c);
    nvmm_tick(rig);
    rig_forget(rig, c);
    rig->n_containers--;
    c = rig_unnamed(rig, "b");
    c->gen = 2;
    rig_forget(rig, c);
    const struct container_diff diff = {.added = {&c, 1}};
    rig->ops->reconcile(rig->collector, &diff);
    rig_name(rig, c);
    nvmm_count(rig, "b", ACCESS_STORE, 100);
    nvmm_sample(rig, c, MEDIUM_OTHER, 8, 1);
    nvmm_sample(rig, c, MEDIUM_NVMM, 8, 1)->owner = old;
    nvmm_tick(rig);
    nvmm_is(nvmm_stores(rig), 0);
    nvmm_is(rig_value(rig, C "memory_samples", "medium=\"nvmm\""), 0);
}

TEST_ON(new_names_keep_the_numbers, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *c = rig_unnamed(rig, "a");
    nvmm_count(rig, "a", ACCESS_STORE, 100);
    nvmm_samples(rig, c, MEDIUM_NVMM, 8, 1);
    nvmm_tick(rig);
    nvmm_is(nvmm_stores(rig), NAN);
    rig_name(rig, c);
    nvmm_count(rig, "a", ACCESS_STORE, 0);
    nvmm_tick(rig);
    nvmm_is(nvmm_stores(rig), 100);
    rig_rename(rig, c, "z");
    nvmm_tick(rig);
    nvmm_is(rig_value(rig, C "nvmm_accesses", "container=\"z\""), 100);
    nvmm_is(rig_value(rig, C "nvmm_accesses", "container=\"a\""), NAN);
}

TEST_WITH(without_file_descriptors_it_says_so_and_tries_again, nvmm_setup, nvmm_teardown)
{
    struct rig *rig = *state;
    verdict_set(&rig->fake.open_error, REASON_FD_LIMIT, "too many");
    rig_container(rig, "a");
    struct container *ended = rig_container(rig, "b");
    nvmm_tick(rig);
    assert_int_equal(rig->status.verdict.reason, REASON_FD_LIMIT);
    assert_true(rig->status.open_failures[REASON_FD_LIMIT] >= 2);
    rig->fake.open_error.reason = REASON_OK;
    rig_end(rig, ended);
    assert_int_equal(rig->fake.n_open, 1);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    nvmm_count(rig, "a", ACCESS_STORE, 1);
    nvmm_tick(rig);
    nvmm_is(nvmm_stores(rig), 0);
}

/* Its stores are counted; it is tried again, and said, until its loads are as well. */
TEST_ON(loads_alone_that_could_not_be_opened, struct rig *rig, nvmm_setup_loads, nvmm_teardown)
{
    verdict_set(&rig->fake.open_error, REASON_FD_LIMIT, "too many");
    rig->fake.open_error_of = GROUP_LOADS;
    rig_container(rig, "a");
    struct container *ended = rig_container(rig, "b");
    assert_int_equal(rig->fake.n_open, 2);
    rig_end(rig, ended);
    assert_int_equal(rig->status.verdict.reason, REASON_FD_LIMIT);
    nvmm_tick(rig);
    rig->status.wants_reconcile = true;
    rig_nothing_changed(rig);
    assert_int_equal(rig->status.verdict.reason, REASON_FD_LIMIT);
    rig->fake.open_error.reason = REASON_OK;
    rig->status.wants_reconcile = true;
    rig_nothing_changed(rig);
    assert_int_equal(rig->fake.n_open, 2); /* both of a; b is closed */
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
}

/* The same reason, but one of them is everyday. */
TEST_ON(one_that_is_gone_and_one_that_cannot_be_counted, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    verdict_set(&rig->fake.open_error, REASON_NO_DEVICE, "cgroup a is gone");
    rig->fake.open_errno = -ESRCH;
    rig_container(rig, "a");
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    verdict_set(&rig->fake.open_error, REASON_NO_DEVICE, "perf cannot count per cgroup");
    rig->fake.open_errno = -ENOENT;
    rig_container(rig, "b");
    assert_int_equal(rig->status.verdict.reason, REASON_NO_DEVICE);
    assert_string_equal(rig->status.verdict.words, "perf cannot count per cgroup");
}

TEST_ON(a_source_that_counts_nothing_is_told, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    rig_container(rig, "a");
    fake_group(&rig->fake, "a", GROUP_STORES)->no_reading = true;
    assert_false(rig->status.unavailable);
    nvmm_tick(rig);
    assert_true(rig->status.unavailable);
    assert_int_equal(rig->status.verdict.reason, REASON_NO_DEVICE);
    nvmm_is(nvmm_stores(rig), NAN);
    nvmm_is(rig_value(rig, S "samples_lost", ""), NAN);
    fake_group(&rig->fake, "a", GROUP_STORES)->no_reading = false;
    nvmm_count(rig, "a", ACCESS_STORE, 1);
    nvmm_tick(rig);
    assert_false(rig->status.unavailable);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    nvmm_is(nvmm_stores(rig), 0);
}

/* As a recording without sample lines: counts alone are no estimate of 0. */
TEST_ON(without_samples_there_is_no_estimate, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    rig->fake.sampling[ACCESS_STORE].period = 0;
    nvmm_count(rig, "a", ACCESS_STORE, 100);
    nvmm_tick(rig);
    nvmm_is(nvmm_stores(rig), NAN);
    nvmm_is(rig_value(rig, C "nvmm_writer_threads", ""), NAN);
    assert_true(rig->status.unavailable);
    nvmm_count(rig, "a", ACCESS_STORE, 100);
    nvmm_samples(rig, c, MEDIUM_NVMM, 8, 1);
    nvmm_tick(rig);
    nvmm_is(nvmm_stores(rig), 200);
    assert_false(rig->status.unavailable);
}
