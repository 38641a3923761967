#include "exporter/base/process_stat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int process_start_ticks(const char *text, uint64_t *out)
{
    enum { START = 22, STATE = 3 };      /* as proc(5) numbers the fields */
    const char *at = strrchr(text, ')'); /* the name before may hold anything */
    uint64_t ticks;
    if (!at)
        return -EINVAL;
    for (int field = STATE; field <= START; field++) {
        at = strchr(at, ' ');
        if (!at)
            return -EINVAL;
        at++;
    }
    if (sscanf(at, "%" SCNu64, &ticks) != 1)
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
