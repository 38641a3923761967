/* A source may leave out any op but its name and free: neither the set nor a recorder around the
 * source calls what is not there, and the rest of it works. */
#include <unistd.h>

#include "exporter/source/recording/recorder.h"
#include "exporter/source/source_set.h"
#include "tests/unit/support/fake_source.h"
#include "tests/unit/support/recordings.h"
#include "tests/unit/support/unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { BURSTS = 2, OPEN = 1, LOST = 3, UNREAD = 5 };

/* Any pointer to a function may be converted to another type, as long as it is not called. */
typedef void (*any_op)(void);

struct missing {
    const char *name;
    size_t offset;                                  /* of the op in struct source_ops */
    bool counts, probes, samples, counters, begins; /* what the source still does */
    bool all_is_read;                               /* as far as it says */
};

#define OP(op) #op, offsetof(struct source_ops, op)
static const struct missing missing[] = {
    {OP(check), .probes = true, .samples = true, .counters = true, .begins = true},
    {OP(open), .probes = true, .samples = true, .counters = true, .begins = true},
    {OP(width), .probes = true, .samples = true, .counters = true, .begins = true},
    {OP(read), .probes = true, .samples = true, .counters = true, .begins = true},
    {OP(close), .probes = true, .samples = true, .counters = true, .begins = true},
    {OP(probes), .counts = true, .samples = true, .counters = true, .begins = true},
    {OP(samples), .counts = true, .probes = true, .counters = true, .begins = true},
    {OP(drain), .counts = true, .probes = true, .counters = true, .begins = true},
    {OP(sampling), .counts = true, .probes = true, .counters = true, .begins = true},
    {OP(begin), .counts = true, .probes = true, .samples = true, .counters = true},
    {OP(open_counters), .counts = true, .probes = true, .samples = true, .begins = true},
    {OP(unread), .counts = true, .probes = true, .samples = true, .counters = true, .begins = true,
     .all_is_read = true},
};

static void takes_counts(struct source_set *set, const struct missing *without)
{
    const struct scope scope = {.kind = SCOPE_CPU, .key = "cpu0", .cgroup_fd = -1};
    struct group_window window;
    struct verdict why = {0};
    group_handle handle = 77;

    assert_int_equal(source_set_check(set, SCOPE_CPU, GROUP_CORE, &why), without->counts);
    assert_int_equal(why.reason, without->counts ? REASON_OK : REASON_NO_DEVICE);
    int err = source_set_open(set, &scope, GROUP_CORE, &handle, &why);
    assert_int_equal(err, without->counts ? 0 : -ENODEV);
    if (!without->counts) {
        assert_int_equal(handle, 77);
        assert_string_equal(why.words, "no source here counts the group core for CPUs");
        return;
    }
    assert_int_equal(source_set_read(set, handle, &window), 0);
    assert_int_equal(window.after->n, FAKE_CPUS);
    assert_int_equal(source_set_open_counters(set), without->counters ? OPEN : 0);
    source_set_close(set, handle);
}

static void takes_probes(struct source_set *set, const struct missing *without)
{
    size_t n;
    (void)source_set_probes(set, &n);
    assert_int_equal(n, without->probes ? BURSTS : 0);
}

static void takes_samples(struct source_set *set, const struct missing *without)
{
    struct sampling sampling;
    struct verdict why;
    size_t n;

    assert_int_equal(source_set_samples(set, ACCESS_STORE, &why), without->samples);
    assert_int_equal(why.reason, without->samples ? REASON_OK : REASON_NO_DEVICE);
    source_set_sampling(set, ACCESS_STORE, &sampling);
    assert_int_equal(sampling.lost, without->samples ? LOST : 0);
    (void)source_set_read_samples(set, &n);
    assert_int_equal(n, without->samples ? 1 : 0);
}

static void works_without(const struct missing *without, bool recorded)
{
    static struct fake_source fake;
    const struct tick tick = {.number = 1, .mono_ns = 1000};
    char path[64];
    struct recorder *recorder = NULL;
    struct source *source = &fake.source;

    fake_source_init(&fake);
    struct source_ops ops = *fake.source.ops;
    memset((char *)&ops + without->offset, 0, sizeof(any_op));
    fake.source.ops = &ops;
    fake.n_probes = BURSTS;
    fake.n_samples = 1;
    fake.sampling[ACCESS_STORE].lost = LOST;
    fake.unread = UNREAD;
    if (recorded) {
        recording_temporary(path);
        recorder = recording_start(path);
        assert_int_equal(recorder_wrap(recorder, &fake.source, &source), 0);
        recorder_tick(recorder, &tick);
    }
    struct source_set *set = source_set_new(NULL);
    assert_non_null(set);
    assert_int_equal(source_set_route(set, SCOPE_CPU, GROUP_CORE, source), 0);
    assert_int_equal(source_set_route_probes(set, source), 0);
    assert_int_equal(source_set_route_samples(set, source), 0);

    assert_int_equal(source_set_begin(set, &tick), 0);
    assert_int_equal(fake.ledger.begins, without->begins);
    takes_counts(set, without);
    takes_probes(set, without);
    takes_samples(set, without);
    assert_int_equal(source_set_unread(set), without->all_is_read ? 0 : UNREAD);

    source_set_free(set);
    assert_int_equal(fake.ledger.frees, 1);
    assert_int_equal(fake.n_open, 0);
    if (recorded) {
        assert_int_equal(recorder_free(recorder), 0);
        unlink(path);
    }
}

static void in_the_set(void **state)
{
    works_without(*state, false);
}

static void in_the_set_with_a_recorder_around_it(void **state)
{
    works_without(*state, true);
}

int main(void)
{
    struct CMUnitTest tests[2 * COUNT(missing)];
    char names[2 * COUNT(missing)][48];

    for (size_t i = 0; i < COUNT(tests); i++) {
        const struct missing *without = &missing[i / 2];
        snprintf(names[i], sizeof names[i], "without_%s%s", without->name,
                 i % 2 ? "_recorded" : "");
        tests[i] = (struct CMUnitTest){
            .name = names[i],
            .test_func = i % 2 ? in_the_set_with_a_recorder_around_it : in_the_set,
            .initial_state = (void *)(uintptr_t)without,
        };
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
