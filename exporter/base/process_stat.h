/*
 * The text of /proc/PID/stat. Pure.
 */
#ifndef IE_BASE_PROCESS_STAT_H
#define IE_BASE_PROCESS_STAT_H

#include <stdint.h>

/* Holds the text of any process. */
enum { PROCESS_STAT_BYTES = 1024 };

/* When the process began, in clock ticks since boot. 0 or -EINVAL. */
int process_start_ticks(const char *text, uint64_t *out);

/* Its state, as a letter of proc(5): 'R' runs or waits for a CPU. 0 or -EINVAL. */
int process_state(const char *text, char *out);

#endif
