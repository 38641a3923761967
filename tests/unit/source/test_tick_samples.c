/* The samples of one tick: those of all collectors, and at most as many as memory allows. */
#include "exporter/source/source_set.h"
#include "tests/unit/support/fake_source.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

/* A second collector of samples takes nothing away from the first. */
TEST(test_samples_are_the_same_list_for_everyone)
{
    static struct fake_source fake;
    struct source_set *set = source_set_new(NULL);
    struct sampling sampling;
    size_t n;

    fake_source_init(&fake);
    assert_int_equal(source_set_route_samples(set, &fake.source), 0);
    for (uint64_t tick = 1; tick <= 3; tick++) {
        assert_int_equal(source_set_begin(set, &(struct tick){.number = tick}), 0);
        fake.n_samples = tick == 3 ? 0 : 1000 * tick;
        for (size_t i = 0; i < fake.n_samples; i++)
            fake.samples[i] = (struct access_sample){.time_ns = i, .bytes = 8};
        fake.sampling[ACCESS_STORE].settled_ns = tick * 100;
        for (int reader = 0; reader < 2; reader++) {
            const struct access_sample *samples = source_set_read_samples(set, &n);
            assert_int_equal(n, tick == 3 ? 0 : 1000 * tick);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(samples[i].time_ns, i);
            source_set_sampling(set, ACCESS_STORE, &sampling);
            assert_int_equal(sampling.settled_ns, tick * 100);
            /* What comes within the tick is for the next one, and so is what it settles. */
            fake.n_samples = 1;
            fake.sampling[ACCESS_STORE].settled_ns++;
        }
    }
    source_set_free(set);
}

static void fill(struct fake_source *fake, size_t n)
{
    fake->n_samples = n;
    for (size_t i = 0; i < n; i++)
        fake->samples[i] = (struct access_sample){.time_ns = i};
}

TEST(test_ticks_allocate_nothing)
{
    static struct fake_source fake;
    struct source_set *set = source_set_new(NULL);
    size_t n;

    fake_source_init(&fake);
    assert_int_equal(source_set_route_samples(set, &fake.source), 0);
    assert_true(source_set_samples(set, ACCESS_STORE, NULL));
    uint64_t before = malloc_count();
    for (uint64_t tick = 1; tick <= 40; tick++) {
        fill(&fake, 100 * tick);
        assert_int_equal(source_set_begin(set, &(struct tick){.number = tick}), 0);
        source_set_read_samples(set, &n);
        assert_int_equal(n, 100 * tick);
    }
    assert_int_equal(malloc_count(), before);
    source_set_free(set);
}

/* ---- more than fit ---- */

struct flood {
    struct source source;
    size_t left;
};

static bool flood_samples(struct source *source, enum access access, struct verdict *why)
{
    return access == ACCESS_LOAD;
}

static size_t flood_drain(struct source *source, struct access_sample *out, size_t cap)
{
    struct flood *flood = (struct flood *)source;
    size_t n = flood->left < cap ? flood->left : cap;

    for (size_t i = 0; i < n; i++)
        out[i] = (struct access_sample){.time_ns = flood->left--, .access = ACCESS_LOAD};
    return n;
}

static void flood_sampling(struct source *source, enum access access, struct sampling *out)
{
    *out = (struct sampling){.period = 3, .lost = 100, .settled_ns = 7};
}

TEST(test_what_does_not_fit_is_lost)
{
    enum { BEYOND = 1000 };
    const struct source_ops ops = {
        .samples = flood_samples, .drain = flood_drain, .sampling = flood_sampling};
    struct flood flood = {.source.ops = &ops, .left = TICK_SAMPLES_MAX + BEYOND};
    struct tick_samples samples = {0};

    tick_samples_drain(&samples, &flood.source);
    assert_int_equal(samples.n, TICK_SAMPLES_MAX);
    assert_int_equal(samples.at[TICK_SAMPLES_MAX - 1].time_ns, BEYOND + 1);
    assert_int_equal(flood.left, 0); /* none of them comes late, after its time was settled */
    assert_int_equal(samples.sampling[ACCESS_LOAD].lost, 100 + BEYOND);
    assert_int_equal(samples.sampling[ACCESS_LOAD].settled_ns, 7);
    assert_int_equal(samples.sampling[ACCESS_STORE].lost, 0); /* not sampled */
    assert_int_equal(samples.sampling[ACCESS_STORE].period, 0);

    flood.left = 5;
    tick_samples_drain(&samples, &flood.source);
    assert_int_equal(samples.n, 5);
    assert_int_equal(samples.sampling[ACCESS_LOAD].lost, 100 + BEYOND); /* a total */
    tick_samples_drain(&samples, NULL);
    assert_int_equal(samples.n, 0);
    tick_samples_release(&samples);
}
