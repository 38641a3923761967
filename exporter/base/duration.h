/* Durations as flags and files have them: "1s", "500ms", "1.5s", "2m", "1h30m". Pure. */
#ifndef IE_BASE_DURATION_H
#define IE_BASE_DURATION_H

#include <stdint.h>

#include "exporter/base/textbuf.h"

/*
 * Units h, m, s, ms, us, ns, each at most once and larger ones first; at most 213 days. A bare
 * number is refused, and so is what is not a whole number of picoseconds: latencies of DIMMs have
 * fractions of a nanosecond. 0 or -EINVAL.
 */
int duration_parse_ps(const char *text, uint64_t *out_ps);

/* Nanoseconds in the largest unit that they are a whole number of. */
void duration_add(struct textbuf *buf, double ns);

#endif
