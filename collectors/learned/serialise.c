#include "collectors/learned/serialise.h"

/* Whoever adds a member decides here whether it is kept, and raises STATE_VERSION if it is. */
_Static_assert(sizeof(struct calm) == 912, "calm has other members than are kept");
_Static_assert(sizeof(struct hour_percentile) == 4912, "hour_percentile has other members");
_Static_assert(sizeof(struct day_percentile) == 4224, "day_percentile has other members");
_Static_assert(sizeof(struct rate_peak) == 3512, "rate_peak has other members than are kept");
_Static_assert(sizeof(struct traffic_fit) == 1960, "traffic_fit has other members than are kept");
_Static_assert(sizeof(struct normal) == 4328, "normal has other members than are kept");
_Static_assert(sizeof(struct unloaded) == 6312, "unloaded has other members than are kept");

/* Reads per second, or their sums over a minute of windows; a container's in all. */
static const double max_rate = 1e15;
static const double max_sum = 1e19;
/* Misses per access: below 1, if the two events counted the same accesses. */
static const double max_ratio = 100;
/* Windows of one slice, and of one minute. */
static const float max_slice_seconds = 1e6f;
enum { MAX_MINUTE_WINDOWS = 100000, MAX_CALM_WINDOWS = 3600 };

/* The number, from 1, of the span of this length that the time of writing lies in. */
static uint64_t newest(const struct state_fields *fields, uint64_t length_seconds)
{
    return fields->mono_ns / (length_seconds * 1000000000u) + 1;
}

static void slices_serialise(struct slices *slices, struct state_fields *fields)
{
    state_u64(fields, &slices->newest, newest(fields, SLICE_SECONDS));
}

void calm_serialise(struct calm *calm, struct state_fields *fields)
{
    state_u16s(fields, calm->count[0], SLICES * CALM_BUCKETS);
    slices_serialise(&calm->slices, fields);
    state_u32(fields, &calm->measure, TRAFFIC_MEASURES - 1);
}

void hour_percentile_serialise(struct hour_percentile *hour, struct state_fields *fields)
{
    state_u16s(fields, hour->count[0], SLICES * HOUR_BUCKETS);
    slices_serialise(&hour->slices, fields);
}

void rate_peak_serialise(struct rate_peak *peak, struct state_fields *fields)
{
    state_u16s(fields, peak->count[0], SLICES * RATE_BUCKETS);
    slices_serialise(&peak->slices, fields);
}

void day_percentile_serialise(struct day_percentile *day, struct state_fields *fields)
{
    state_u16s(fields, day->count[0], DAY_SLICES * DAY_BUCKETS);
    for (int i = 0; i < DAY_SLICES; i++)
        state_float(fields, &day->seconds[i], 0, max_slice_seconds);
    state_u64(fields, &day->slice, newest(fields, DAY_SLICE_SECONDS));
}

static void minute_serialise(struct traffic_minute *minute, double max_value,
                             struct state_fields *fields)
{
    state_u32(fields, &minute->minute, (uint32_t)newest(fields, 60));
    state_float(fields, &minute->value, 0, (float)max_value);
    state_float(fields, &minute->corunner_rate, 0, (float)max_rate);
    state_float(fields, &minute->own_rate, 0, (float)max_rate);
}

void traffic_fit_serialise(struct traffic_fit *fit, double max_value, struct state_fields *fields)
{
    for (int i = 0; i < TRAFFIC_FIT_MINUTES; i++)
        minute_serialise(&fit->at[i], max_value, fields);
    state_u64(fields, &fit->minute, newest(fields, 60));
    state_u32(fields, &fit->windows, MAX_MINUTE_WINDOWS);
    state_double(fields, &fit->value, 0, max_value * MAX_MINUTE_WINDOWS);
    state_double(fields, &fit->corunner_rate, 0, max_sum);
    state_double(fields, &fit->own_rate, 0, max_sum);
    state_u32(fields, &fit->measure, TRAFFIC_MEASURES - 1);
}

static void usual_serialise(struct usual *usual, struct state_fields *fields)
{
    state_double(fields, &usual->seconds, 0, LATENCY_MAX_SECONDS);
    state_u64(fields, &usual->newest, newest(fields, USUAL_SLICE_SECONDS));
    for (int i = 0; i < USUAL_SLICES; i++) {
        state_float(fields, &usual->at[i].length_seconds, 0, max_slice_seconds);
        state_float(fields, &usual->at[i].latency_seconds, 0, (float)LATENCY_MAX_SECONDS);
    }
    usual_add_up(usual);
}

void normal_serialise(struct normal *normal, struct state_fields *fields)
{
    state_u32(fields, &normal->calm_windows, MAX_CALM_WINDOWS);
    state_double(fields, &normal->calm_seconds, 0, LATENCY_MAX_SECONDS);
    state_check(fields, normal->calm_windows == 0 || normal->calm_seconds > 0);
    traffic_fit_serialise(&normal->fit, LATENCY_MAX_SECONDS, fields);
    state_double(fields, &normal->extrapolated_seconds, 0, LATENCY_MAX_SECONDS);
    state_u32(fields, &normal->other_minutes, UINT32_MAX);
    state_u32(fields, &normal->waited_minutes, UINT32_MAX - 1);
    state_u32(fields, &normal->windows, MAX_MINUTE_WINDOWS);
    state_u32(fields, &normal->waited, normal->windows);
    usual_serialise(&normal->usual, fields);
}

static void extrapolated_serialise(struct unloaded *unloaded, struct state_fields *fields)
{
    traffic_fit_serialise(&unloaded->latency_fit, LATENCY_MAX_SECONDS, fields);
    traffic_fit_serialise(&unloaded->ratio_fit, max_ratio, fields);
    state_double(fields, &unloaded->extrapolated_seconds, 0, LATENCY_MAX_SECONDS);
    state_bool(fields, &unloaded->ratio_extrapolates);
    double ratio = unloaded->ratio_extrapolates ? unloaded->extrapolated_ratio : 0;
    state_double(fields, &ratio, 0, max_ratio);
    if (state_reading(fields))
        unloaded->extrapolated_ratio = ratio;
}

void unloaded_serialise(struct unloaded *unloaded, struct state_fields *fields)
{
    state_u32(fields, &unloaded->windows, CALM_MIN_WINDOWS);
    state_u32(fields, &unloaded->calm_windows, UINT32_MAX);
    state_bool(fields, &unloaded->ever_calm);
    state_double(fields, &unloaded->accesses, 0, max_sum);
    state_double(fields, &unloaded->misses, 0, unloaded->accesses * max_ratio);
    state_double(fields, &unloaded->wait_seconds, 0, unloaded->misses * LATENCY_MAX_SECONDS);
    usual_serialise(&unloaded->usual, fields);
    extrapolated_serialise(unloaded, fields);
}
