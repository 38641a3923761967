/* Truth of attribution, and the recording that has it beside the counters. */
#include "tests/simnode/tests/test_support.h"

#include <jansson.h>

#include "exporter/source/recording/format.h"
#include "tests/simnode/recording/caused.h"
#include "tests/simnode/recording/record.h"

#define SCENARIO                                                                                   \
    "{'scenario':1,'ticks':4,'tick_cycles':200000,'truth_caused':true,'machine':{'preset':'asm'}," \
    "'workloads':{'c':{'kind':'chase'},'r':{'kind':'random','instructions_per_access':60},"        \
    "'k':{'kind':'compute'}},'containers':[{'key':'victim','workload':'c','cpus':[0]},"            \
    "{'key':'hog','workload':'r','cpus':[1],'pauses':[{'from_tick':2,'to_tick':3}]},"              \
    "{'key':'calm','workload':'k','cpus':[2],'start_tick':3},"                                     \
    "{'key':'second','workload':'r','cpus':[3],'stop_tick':3}]}"

enum { VICTIM, HOG, CALM, SECOND, CONTAINERS };
enum { ALL = (1 << CONTAINERS) - 1 };

static double sum_of(const double *ns)
{
    double sum = 0;

    for (int i = 0; i < CONTAINERS; i++)
        sum += ns[i];
    return sum;
}

TEST(test_shares)
{
    struct scenario *scenario = parse_scenario(SCENARIO);
    double all[CONTAINERS], one[CONTAINERS], other[CONTAINERS], both[CONTAINERS], ns[CONTAINERS];
    struct caused *caused;

    assert_int_equal(caused_new(scenario, &caused), 0);
    assert_true(caused_ns(caused, VICTIM, ALL, all));
    assert_true(all[VICTIM] == 0);
    /* The calm one does nothing, the two hogs do alike. */
    assert_true(fabs(all[CALM]) < 0.01 * sum_of(all));
    assert_float_equal(all[HOG] / all[SECOND], 1, 0.1);
    /* With one other, it is the difference; with two, the mean over both orders. */
    assert_true(caused_ns(caused, VICTIM, 1 << VICTIM | 1 << HOG, one));
    assert_true(caused_ns(caused, VICTIM, 1 << VICTIM | 1 << SECOND, other));
    assert_true(caused_ns(caused, VICTIM, 1 << VICTIM | 1 << HOG | 1 << SECOND, both));
    assert_true(one[HOG] > 0 && one[SECOND] == 0 && one[CALM] == 0);
    assert_float_equal(both[HOG], (one[HOG] + sum_of(both) - other[SECOND]) / 2, 1e-9);
    assert_float_equal(sum_of(all) / sum_of(both), 1, 0.05); /* the calm one adds nothing */
    /* Alone, nobody causes anything; who reads nothing has no latency. */
    assert_true(caused_ns(caused, VICTIM, 1 << VICTIM, ns));
    assert_true(sum_of(ns) == 0);
    assert_false(caused_ns(caused, CALM, ALL, ns));
    caused_free(caused);
    scenario_free(scenario);
}

TEST(test_recording)
{
    /* Who causes something, by tick: 2 and 3 the hog pauses, 4 the second one is gone. */
    static const char *const causes[][3] = {
        {"hog", "second"}, {"second"}, {"calm", "second"}, {"calm", "hog"}};
    struct scenario *scenario = parse_scenario(SCENARIO);
    FILE *file = tmpfile();
    char *line = NULL, error[256];
    size_t size = 0;
    ssize_t len;
    int traffic = 0, seen = 0;

    assert_non_null(file);
    assert_int_equal(record_run(scenario, NULL, file), 0);
    rewind(file);
    while ((len = getline(&line, &size, file)) > 0) {
        struct recording_line parsed;

        assert_int_equal(recording_parse_line(line, (size_t)len, &parsed, error, sizeof(error)), 0);
        traffic += parsed.kind == RECORDING_READ && parsed.read.group == GROUP_TRAFFIC;
        recording_line_release(&parsed);

        json_t *root = json_loads(line, 0, NULL), *truth = json_object_get(root, "truth");
        json_t *caused = json_object_get(truth, "caused_ns");
        const char *key = json_string_value(json_object_get(truth, "key"));

        if (truth && strcmp(key, "victim") == 0) {
            const char *const *want = causes[seen];

            assert_int_equal(json_integer_value(json_object_get(truth, "tick")), ++seen);
            assert_int_equal(json_object_size(caused), want[1] ? 2 : 1);
            for (int i = 0; want[i]; i++)
                assert_non_null(json_object_get(caused, want[i]));
        } else if (truth && strcmp(key, "calm") == 0) {
            assert_null(caused);
        }
        json_decref(root);
    }
    assert_int_equal(seen, 4);
    assert_int_equal(traffic, 4 + 4 + 2 + 3); /* ticks of each container */
    free(line);
    fclose(file);
    scenario_free(scenario);
}
