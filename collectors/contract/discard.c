#include "collectors/contract/discard.h"

const char *discard_name(enum discard_reason reason)
{
    static const char *const names[DISCARD_COUNT] = {
        [DISCARD_STARVED] = "starved",       [DISCARD_RESET] = "reset",
        [DISCARD_READ_ERROR] = "read_error", [DISCARD_IMPLAUSIBLE] = "implausible",
        [DISCARD_PREEMPTED] = "preempted",   [DISCARD_MIGRATED] = "migrated",
        [DISCARD_STOLEN] = "stolen",         [DISCARD_LEARNING] = "learning",
        [DISCARD_NEVER_CALM] = "never_calm", [DISCARD_NO_EPOCH] = "no_epoch",
        [DISCARD_NO_MISSES] = "no_misses",   [DISCARD_DENOMINATOR] = "denominator",
        [DISCARD_NO_TARGET] = "no_target",
    };
    return names[reason];
}
