/*
 * The text of /proc/PID/stat. Pure.
 */
#ifndef IE_BASE_PROCESS_STAT_H
#define IE_BASE_PROCESS_STAT_H

#include <stdint.h>

/* When the process began, in clock ticks since boot. 0 or -EINVAL. */
int process_start_ticks(const char *text, uint64_t *out);

#endif
