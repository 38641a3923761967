/* What was learned outlives a restart exactly; and whatever is read, nothing impossible comes of
 * it. */
#include "collectors/learned/serialise.h"
#include "tests/unit/support/unit.h"

static const uint64_t second = 1000000000;

struct all {
    struct calm calm;
    struct hour_percentile hour;
    struct rate_peak peak;
    struct normal normal;
    struct unloaded unloaded;
};

static void walk(struct all *all, struct state_fields *fields)
{
    calm_serialise(&all->calm, fields);
    hour_percentile_serialise(&all->hour, fields);
    rate_peak_serialise(&all->peak, fields);
    normal_serialise(&all->normal, fields);
    unloaded_serialise(&all->unloaded, fields);
}

static void learn(struct all *all, uint64_t t)
{
    double corunners = 1e6 * (double)(1 + t % 600), latency = 70e-9 + corunners * 1e-17;
    calm_measured_by(&all->calm, TRAFFIC_LINES);
    bool calm = calm_window(&all->calm, t * second, corunners, 1e9);
    hour_percentile_add(&all->hour, t * second, latency);
    rate_peak_add(&all->peak, t * second, corunners);
    const struct normal_window window = {.mono_ns = t * second,
                                         .length_seconds = 1,
                                         .calm = calm,
                                         .latency_seconds = latency,
                                         .corunners_known = true,
                                         .measure = TRAFFIC_LINES_OF_SOCKETS,
                                         .corunner_rate = corunners,
                                         .own_rate = 1e6 + (double)(t % 7)};
    normal_learn(&all->normal, &window);
    const struct unloaded_window counts = {.calm = calm,
                                           .accesses = 5000,
                                           .misses = 1000 + t % 600,
                                           .wait_seconds = (double)(1000 + t % 600) * latency,
                                           .mono_ns = t * second,
                                           .length_seconds = 1,
                                           .cpu_seconds = 1,
                                           .corunners_known = true,
                                           .measure = TRAFFIC_READS_OF_SOCKETS,
                                           .corunner_rate = corunners};
    unloaded_learn(&all->unloaded, &counts);
}

/* For the caller to free. */
static uint8_t *bytes_of(struct all *all, uint64_t now, size_t *len)
{
    struct state_fields measure = {.mono_ns = now * second};
    walk(all, &measure);
    *len = measure.at;
    uint8_t *bytes = malloc(*len);
    struct state_fields fields = {.to = bytes, .size = *len, .mono_ns = now * second};
    walk(all, &fields);
    assert_true(state_fits(&fields));
    return bytes;
}

static void expect_alike(struct all *a, struct all *b, uint64_t now)
{
    size_t len, other_len;
    uint8_t *bytes = bytes_of(a, now, &len), *other = bytes_of(b, now, &other_len);
    assert_int_equal(len, other_len);
    assert_memory_equal(bytes, other, len);
    free(bytes);
    free(other);
}

/* Two hours of a container's life. */
static uint8_t *two_hours(struct all *all, uint64_t *end, size_t *len)
{
    memset(all, 0, sizeof *all);
    for (*end = 100000; *end < 107200; ++*end)
        learn(all, *end);
    return bytes_of(all, *end, len);
}

TEST(a_restart_changes_nothing)
{
    static struct all before, after;
    uint64_t end;
    size_t len;
    uint8_t *bytes = two_hours(&before, &end, &len);
    assert_true(before.normal.calm_windows > 0 && before.normal.extrapolated_seconds > 0 &&
                before.normal.usual.seconds > 0 && before.unloaded.ever_calm &&
                before.unloaded.extrapolated_seconds > 0);
    memset(&after, 0, sizeof after);
    struct state_fields fields = {.from = bytes, .size = len, .mono_ns = end * second};
    walk(&after, &fields);
    assert_true(state_fits(&fields));
    expect_alike(&before, &after, end);
    assert_memory_equal(&before.normal, &after.normal, sizeof before.normal);
    for (uint64_t t = end; t < end + 1000; t++) {
        learn(&before, t);
        learn(&after, t);
    }
    expect_alike(&before, &after, end + 1000);
    assert_memory_equal(&before.normal, &after.normal, sizeof before.normal);
    free(bytes);
}

static bool possible(double seconds)
{
    return isnan(seconds) || (seconds >= 0 && seconds < 1);
}

/* Whatever was read, an hour goes on from it. */
static void use(struct all *all, uint64_t end)
{
    enum basis basis = BASES;
    double seconds = NAN;
    if (normal_find(&all->normal, NAN, NAN, &basis, &seconds))
        assert_true(basis < BASES && seconds > 0 && seconds < 1);
    for (uint64_t t = end; t < end + 240; t += 60) {
        learn(all, t);
        assert_true(possible(hour_percentile_seconds(&all->hour, 0.05)));
        assert_true(possible(all->normal.usual.seconds));
        assert_true(isfinite(rate_peak_find(&all->peak)));
        assert_true(possible(unloaded_latency_seconds(&all->unloaded)));
        assert_true(!isinf(unloaded_miss_ratio(&all->unloaded)));
        if (normal_find(&all->normal, NAN, NAN, &basis, &seconds))
            assert_true(basis < BASES && seconds > 0 && seconds < 1);
    }
}

TEST(no_byte_makes_anything_impossible)
{
    static const uint8_t damages[][8] = {
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, /* the largest, -1, NaN */
        {0, 0, 0, 0, 0, 0, 0xf0, 0x7f},                   /* infinite */
        {0, 0, 0x80, 0x7f, 0, 0, 0x80, 0x7f},             /* two of them, small */
        {0, 0, 0, 0, 0, 0, 0xf0, 0xbf},                   /* -1.0 */
        {0, 0, 0, 0, 0, 0, 0x59, 0x40},                   /* 100.0 */
        {0, 0, 0, 0, 0, 0, 0, 0},
    };
    static struct all before, after;
    uint64_t end;
    size_t len, refused = 0;
    uint8_t *bytes = two_hours(&before, &end, &len), saved[8];
    /* Of counts, which may have any value, one in 61 bytes is enough. */
    for (size_t i = 0; i + 8 <= len; i += i % 512 < 490 ? 61 : 1) {
        for (size_t d = 0; d < sizeof damages / sizeof *damages; d++) {
            memcpy(saved, bytes + i, 8);
            memcpy(bytes + i, damages[d], 8);
            memset(&after, 0, sizeof after);
            struct state_fields fields = {.from = bytes, .size = len, .mono_ns = end * second};
            walk(&after, &fields);
            if (state_fits(&fields))
                use(&after, end);
            else
                refused++;
            memcpy(bytes + i, saved, 8);
        }
    }
    assert_true(refused > 0);
    free(bytes);
}

/* Else the sliding hour would stand still until then. */
TEST(nothing_is_of_the_future)
{
    static struct all before, after;
    uint64_t end;
    size_t len;
    uint8_t *bytes = two_hours(&before, &end, &len);
    memset(&after, 0, sizeof after);
    struct state_fields fields = {.from = bytes, .size = len, .mono_ns = (end - 7200) * second};
    walk(&after, &fields);
    assert_false(state_fits(&fields));
    free(bytes);
}
