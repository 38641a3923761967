/* Time: the kernel's clocks, one turn of the loop, durations as flags and files have them. Any
 * thread. */
#ifndef IE_BASE_CLOCK_H
#define IE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

struct textbuf;

/* 0 for a clock that the kernel does not have. */
static inline uint64_t clock_ns(clockid_t id)
{
    struct timespec now = {0};
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CLOCK_MONOTONIC, which ticks are stamped with. */
static inline uint64_t clock_mono_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* One turn of the loop: an immutable value, passed down the whole flow. */
struct tick {
    uint64_t number;      /* 1 for the first; 0 means "before the first tick" */
    uint64_t mono_ns;     /* CLOCK_MONOTONIC, or the recording's clock under replay */
    uint64_t wall_ns;     /* CLOCK_REALTIME since the epoch */
    uint64_t interval_ns; /* the nominal distance between ticks */
};

/*
 * Durations: "1s", "500ms", "1.5s", "2m", "1h30m".
 * Units h, m, s, ms, us, ns, each at most once and larger ones first; at most 213 days. A bare
 * number is refused, and so is what is not a whole number of picoseconds: latencies of DIMMs have
 * fractions of a nanosecond. 0 or -EINVAL.
 */
int duration_parse_ps(const char *text, uint64_t *out_ps);

/* Nanoseconds in the largest unit that they are a whole number of. */
void duration_add(struct textbuf *buf, double ns);

#endif
