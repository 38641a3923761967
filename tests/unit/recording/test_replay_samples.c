/* Samples of a recording: their containers, their windows, and writing and reading them. */
#include <unistd.h>

#include "exporter/source/recording/recorder.h"
#include "exporter/source/recording/replay_keys.h"
#include "exporter/source/source_set.h"
#include "tests/unit/support/draw.h"
#include "tests/unit/support/fake_source.h"
#include "tests/unit/support/recordings.h"
#include "tests/unit/support/unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define SAMPLE(key, more) "{\"sample\":\"" key "\",\"access\":\"store\"" more "}\n"

static struct source_set *set_of(struct source *source)
{
    struct source_set *set = source_set_new(NULL);
    assert_non_null(set);
    for (int kind = 0; kind < SCOPE_KINDS; kind++)
        for (int group = 0; group < GROUP_COUNT; group++)
            assert_int_equal(
                source_set_route(set, (enum scope_kind)kind, (enum group)group, source), 0);
    assert_int_equal(source_set_route_samples(set, source), 0);
    return set;
}

static group_handle open_owned(struct source_set *set, const char *key, enum group group,
                               uint64_t owner)
{
    const struct scope scope = {.kind = SCOPE_CGROUP, .key = key, .cgroup_fd = -1, .owner = owner};
    group_handle handle;
    struct verdict why;

    if (source_set_open(set, &scope, group, &handle, &why))
        fail_msg("%s: %s", key, why.words);
    return handle;
}

static void begin(struct source_set *set, uint64_t number)
{
    const struct tick tick = {.number = number, .mono_ns = number * 1000};
    assert_int_equal(source_set_begin(set, &tick), 0);
}

/* Copies this tick's samples, which must fit; returns how many. */
static size_t read_samples(struct source_set *set, struct access_sample *out, size_t cap)
{
    size_t n;
    const struct access_sample *samples = source_set_read_samples(set, &n);
    assert_true(n <= cap);
    if (n > 0)
        memcpy(out, samples, n * sizeof *out);
    return n;
}

/* ---- a recording by hand ---- */

struct playing {
    struct replay *replay;
    struct source *source;
    struct source_set *set;
    struct tick tick;
};

static void play(struct playing *p, const char *text)
{
    char path[64];
    recording_write(path, text, strlen(text));
    p->replay = recording_open(path);
    unlink(path);
    assert_int_equal(replay_source_new(p->replay, &p->source), 0);
    p->set = set_of(p->source);
}

static bool advance(struct playing *p)
{
    if (!recording_next(p->replay, &p->tick))
        return false;
    assert_int_equal(source_set_begin(p->set, &p->tick), 0);
    return true;
}

static void stop(struct playing *p)
{
    source_set_free(p->set);
    replay_free(p->replay);
}

TEST(test_lines_belong_to_the_tick_above)
{
    struct playing p;
    struct access_sample at[4];
    struct sampling store, load;

    play(&p,
         HEADER CONTAINER("c1") TICK(1) SAMPLE("c1", ",\"tid\":1,\"period\":7") SAMPLE(
             "c1", ",\"tid\":2") "{\"lost\":2,\"access\":\"store\",\"throttles\":1}\n" TICK(3)
             SAMPLE(
                 "c1",
                 ",\"tid\":3,\"medium\":\"other\"") "{\"lost\":3,\"access\":\"store\"}\n" TICK(4));
    assert_true(source_set_samples(p.set, ACCESS_STORE, NULL));
    open_owned(p.set, "c1", GROUP_STORES, 99);
    assert_true(advance(&p));
    source_set_sampling(p.set, ACCESS_STORE, &store);
    assert_int_equal(store.settled_ns, 1000);
    assert_int_equal(store.period, 7);
    assert_int_equal(store.lost, 2);
    assert_int_equal(store.throttles, 1);
    assert_int_equal(read_samples(p.set, at, 4), 2);
    assert_int_equal(at[0].tid, 1);
    assert_int_equal(at[0].time_ns, 999);
    assert_int_equal(at[0].owner, 99);
    assert_int_equal(at[0].medium, MEDIUM_UNKNOWN);
    assert_int_equal(at[1].tid, 2);

    assert_true(advance(&p));
    source_set_sampling(p.set, ACCESS_STORE, &store);
    assert_int_equal(store.settled_ns, 3000);
    assert_int_equal(store.lost, 5);
    source_set_sampling(p.set, ACCESS_LOAD, &load);
    assert_int_equal(load.lost, 0);
    assert_int_equal(read_samples(p.set, at, 4), 1);
    assert_int_equal(at[0].time_ns, 2999);
    assert_int_equal(at[0].medium, MEDIUM_OTHER);

    assert_true(advance(&p));
    assert_int_equal(read_samples(p.set, at, 4), 0);
    assert_false(advance(&p));
    assert_int_equal(p.source->ops->drain(p.source, at, 4), 0);
    stop(&p);
}

TEST(test_drained_in_pieces_and_nothing_twice)
{
    struct playing p;
    struct access_sample at[4];

    play(&p, HEADER CONTAINER("c1") TICK(1) SAMPLE("c1", ",\"tid\":1") SAMPLE("c1", ",\"tid\":2"));
    open_owned(p.set, "c1", GROUP_STORES, 99);
    assert_true(advance(&p));
    assert_int_equal(p.source->ops->drain(p.source, at, 1), 1);
    assert_int_equal(at[0].tid, 1);
    assert_int_equal(p.source->ops->drain(p.source, at, 4), 1);
    assert_int_equal(at[0].tid, 2);
    assert_int_equal(p.source->ops->drain(p.source, at, 4), 0);
    stop(&p);
}

/* Samples that were not read in time are gone with their tick. */
TEST(test_samples_do_not_pile_up)
{
    struct playing p;
    struct access_sample at[4];

    play(&p, HEADER CONTAINER("c1") TICK(1) SAMPLE("c1", ",\"tid\":1") TICK(2)
                 SAMPLE("c1", ",\"tid\":2"));
    open_owned(p.set, "c1", GROUP_STORES, 5);
    assert_true(advance(&p) && advance(&p));
    assert_int_equal(read_samples(p.set, at, 4), 1);
    assert_int_equal(at[0].tid, 2);
    stop(&p);
}

/* The samples of one kind are of the group of that kind; a group without an owner wants none. */
TEST(test_owners)
{
    struct playing p;
    struct access_sample at[8];

    play(
        &p,
        HEADER CONTAINER("c1") CONTAINER("c2") CONTAINER("c3") TICK(1)
            SAMPLE("c1", ",\"tid\":1") "{\"sample\":\"c1\",\"access\":\"load\",\"tid\":2}\n" SAMPLE(
                "c2", ",\"tid\":3") SAMPLE("c3", ",\"tid\":4") "{\"gone\":\"c1\"}\n" TICK(2)
                SAMPLE("c3", ",\"tid\":5") SAMPLE("c2", ",\"tid\":6"));
    group_handle c1 = open_owned(p.set, "c1", GROUP_LOADS, 11);
    open_owned(p.set, "c2", GROUP_STORES, 0);
    group_handle c3 = open_owned(p.set, "c3", GROUP_STORES, 33);
    assert_true(advance(&p));
    assert_int_equal(read_samples(p.set, at, 8), 2);
    assert_int_equal(at[0].tid, 2);
    assert_int_equal(at[0].owner, 11);
    assert_int_equal(at[1].tid, 4);
    assert_int_equal(at[1].owner, 33);
    source_set_close(p.set, c3);
    assert_true(advance(&p));
    assert_int_equal(read_samples(p.set, at, 8), 0);
    source_set_close(p.set, c1);
    stop(&p);
}

/* A recording that was made live has its samples' own times, and what was settled when. */
TEST(test_recorded_times)
{
    struct playing p;
    struct access_sample at[4];
    struct sampling store;

    play(&p,
         HEADER CONTAINER("c1")
             TICK(1) "{\"lost\":0,\"access\":\"store\",\"settled_ns\":400,\"period\":3}\n" SAMPLE(
                 "c1", ",\"mono_ns\":1234") TICK(2));
    open_owned(p.set, "c1", GROUP_STORES, 1);
    assert_true(advance(&p));
    source_set_sampling(p.set, ACCESS_STORE, &store);
    assert_int_equal(store.settled_ns, 400);
    assert_int_equal(store.period, 3);
    assert_int_equal(read_samples(p.set, at, 4), 1);
    assert_int_equal(at[0].time_ns, 1234);
    assert_true(advance(&p));
    source_set_sampling(p.set, ACCESS_STORE, &store);
    assert_int_equal(store.settled_ns, 400);
    stop(&p);
}

TEST(test_memory_is_bounded)
{
    struct replay_samples samples = {0};
    struct replay_key key = {.key = "c1"};
    const struct recording_sample line = {.key = "c1"};
    const struct tick tick = {.number = 1, .mono_ns = 5};

    replay_samples_begin(&samples, &tick);
    for (size_t i = 0; i < REPLAY_MAX_SAMPLES + 3; i++)
        assert_int_equal(replay_samples_put(&samples, &line, &key), 0);
    assert_int_equal(samples.n, REPLAY_MAX_SAMPLES);
    assert_int_equal(samples.sampling[ACCESS_STORE].lost, 3);
    replay_samples_begin(&samples, &tick);
    assert_int_equal(samples.n, 0);
    assert_int_equal(samples.sampling[ACCESS_STORE].lost, 3);
    replay_samples_release(&samples);
}

/* ---- there and back ---- */

enum { TICKS = 30, PER_TICK = 40 };

struct seen {
    struct access_sample samples[PER_TICK];
    size_t n;
    struct sampling sampling[ACCESS_KINDS];
};

static struct access_sample some_sample(uint64_t *seed, uint64_t tick)
{
    struct access_sample s = {
        .time_ns = tick * 1000 - 500 + draw(seed) % 600,
        .owner = draw(seed) % 2 ? 7000000000u : 12,
        .ip = draw(seed) >> 17,
        .address = draw(seed) >> 17,
        .pid = (uint32_t)(draw(seed) % 4000000),
        .tid = (uint32_t)(draw(seed) % 4000000),
        .access = (enum access)(draw(seed) % ACCESS_KINDS),
        .medium = (enum medium)(draw(seed) % MEDIA),
        .size = (enum access_size)(draw(seed) % ACCESS_SIZES),
    };
    if (s.size == ACCESS_SIZE_KNOWN)
        s.bytes = 1 + (uint32_t)(draw(seed) % 64);
    return s;
}

static void see(struct source_set *set, struct seen *seen)
{
    for (int access = 0; access < ACCESS_KINDS; access++)
        source_set_sampling(set, (enum access)access, &seen->sampling[access]);
    seen->n = read_samples(set, seen->samples, PER_TICK);
}

static void open_both(struct source_set *set)
{
    open_owned(set, "c1", GROUP_LOADS, 12);
    open_owned(set, "c1", GROUP_STORES, 12);
    open_owned(set, "c2", GROUP_STORES, 7000000000u);
    open_owned(set, "c2", GROUP_LOADS, 7000000000u);
}

static void record_live(const char *path, struct seen *seen)
{
    static struct fake_source fake;
    struct recorder *recorder = recording_start(path);
    struct recording_container c1 = recording_named("c1", "a"), c2 = recording_named("c2", "b");
    struct source *wrapped;
    uint64_t seed = DRAW_SEED;
    fake_source_init(&fake);
    recorder_container(recorder, &c1);
    recorder_container(recorder, &c2);
    assert_int_equal(recorder_wrap(recorder, &fake.source, &wrapped), 0);
    struct source_set *set = set_of(wrapped);
    open_both(set);
    for (uint64_t t = 1; t <= TICKS; t++) {
        fake.n_samples = draw(&seed) % PER_TICK;
        for (size_t i = 0; i < fake.n_samples; i++)
            fake.samples[i] = some_sample(&seed, t);
        for (int access = 0; access < ACCESS_KINDS; access++) {
            struct sampling *sampling = &fake.sampling[access];
            sampling->period = 10007;
            sampling->settled_ns = t * 1000 - draw(&seed) % 700;
            sampling->lost += draw(&seed) % 3;
            sampling->throttles += draw(&seed) % 2;
        }
        recording_tick(recorder, t);
        begin(set, t);
        see(set, &seen[t - 1]);
        recorder_flush(recorder);
    }
    source_set_free(set);
    assert_int_equal(fake.ledger.frees, 1);
    assert_int_equal(recorder_free(recorder), 0);
}

TEST(test_round_trip)
{
    static struct seen seen[TICKS];
    struct seen again;
    char path[64];
    struct source *source;
    struct tick at;
    size_t samples = 0;

    recording_temporary(path);
    record_live(path, seen);
    struct replay *replay = recording_open(path);
    assert_int_equal(replay_source_new(replay, &source), 0);
    struct source_set *set = set_of(source);
    open_both(set);
    for (size_t t = 0; t < TICKS; t++) {
        assert_true(recording_next(replay, &at));
        assert_int_equal(source_set_begin(set, &at), 0);
        see(set, &again);
        assert_int_equal(again.n, seen[t].n);
        for (size_t i = 0; i < again.n; i++)
            assert_memory_equal(&again.samples[i], &seen[t].samples[i], sizeof *again.samples);
        assert_memory_equal(again.sampling, seen[t].sampling, sizeof again.sampling);
        samples += again.n;
    }
    assert_true(samples > 300);
    assert_false(recording_next(replay, &at));
    source_set_free(set);
    replay_free(replay);
    unlink(path);
}

/* A container that is no longer followed has no key to be written under. */
TEST(test_closed_scopes_are_not_recorded)
{
    static struct fake_source fake;
    struct recording_container c1 = recording_named("c1", "a");
    struct access_sample at[4];
    struct source *wrapped;
    char path[64];

    recording_temporary(path);
    struct recorder *recorder = recording_start(path);
    fake_source_init(&fake);
    recorder_container(recorder, &c1);
    assert_int_equal(recorder_wrap(recorder, &fake.source, &wrapped), 0);
    struct source_set *set = set_of(wrapped);
    group_handle stores = open_owned(set, "c1", GROUP_STORES, 4);
    group_handle loads = open_owned(set, "c1", GROUP_LOADS, 4);
    const struct access_sample sample = {.owner = 4, .size = ACCESS_SIZE_MASKED};
    for (uint64_t t = 1; t <= 3; t++) {
        recording_tick(recorder, t);
        begin(set, t);
        fake.samples[0] = sample;
        fake.n_samples = 1;
        assert_int_equal(read_samples(set, at, 4), 1);
        recorder_flush(recorder);
        source_set_close(set, t == 1 ? loads : stores); /* the second time it is closed */
    }
    source_set_free(set);
    assert_int_equal(recorder_free(recorder), 0);
    char *text = recording_contents(path);
    assert_int_equal(occurrences(text, "{\"sample\":\"c1\""), 2);
    assert_int_equal(occurrences(text, "\"size\":\"masked\""), 2);
    free(text);
    unlink(path);
}

/* Live, one source counts and another samples: whom a sample is of is known from the first. */
TEST(test_a_source_that_only_samples)
{
    static struct fake_source counting, sampling;
    struct recording_container c1 = recording_named("c1", "a");
    struct access_sample at[4];
    struct source *counts, *samples;
    char path[64];

    recording_temporary(path);
    struct recorder *recorder = recording_start(path);
    fake_source_init(&counting);
    fake_source_init(&sampling);
    recorder_container(recorder, &c1);
    assert_int_equal(recorder_wrap(recorder, &counting.source, &counts), 0);
    assert_int_equal(recorder_wrap(recorder, &sampling.source, &samples), 0);
    struct source_set *set = set_of(counts);
    assert_int_equal(source_set_route_samples(set, samples), 0);
    open_owned(set, "c1", GROUP_STORES, 4);
    recording_tick(recorder, 1);
    sampling.samples[0] = (struct access_sample){.owner = 4, .bytes = 8};
    sampling.n_samples = 1;
    assert_int_equal(read_samples(set, at, 4), 1);
    recorder_flush(recorder);
    source_set_free(set);
    assert_int_equal(recorder_free(recorder), 0);
    char *text = recording_contents(path);
    assert_int_equal(occurrences(text, "{\"sample\":\"c1\""), 1);
    free(text);
    unlink(path);
}
