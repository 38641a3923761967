#include "exporter/base/process_stat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int process_start_ticks(const char *text, uint64_t *out)
{
    /* The 22nd field as proc(5) numbers them; the name, the second, may hold anything. */
    static const char format[] = ") %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                                 "%*s %*s %*s %*s %" SCNu64;
    const char *behind = strrchr(text, ')');
    uint64_t ticks;
    if (!behind || sscanf(behind, format, &ticks) != 1)
        return -EINVAL;
    *out = ticks;
    return 0;
}

int process_state(const char *text, char *out)
{
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ' || at[2] < 'A' || at[2] > 'z')
        return -EINVAL;
    *out = at[2];
    return 0;
}
