#include "exporter/base/reason.h"

#include <stdarg.h>
#include <stdio.h>

const char *reason_name(enum reason reason)
{
    static const char *const names[REASON_COUNT] = {
        [REASON_OK] = "ok",
        [REASON_DISABLED] = "disabled",
        [REASON_NO_PMU] = "no_pmu",
        [REASON_NO_PERMISSION] = "no_permission",
        [REASON_EVENT_FILTERED] = "event_filtered",
        [REASON_UNSUPPORTED_CPU] = "unsupported_cpu",
        [REASON_FD_LIMIT] = "fd_limit",
        [REASON_NO_DEVICE] = "no_device",
        [REASON_NMI_WATCHDOG] = "nmi_watchdog",
        [REASON_NOT_CALIBRATED] = "not_calibrated",
        [REASON_NO_GROUPS] = "no_groups",
    };
    return names[reason];
}

void verdict_clear(struct verdict *verdict)
{
    *verdict = (struct verdict){.reason = REASON_OK};
}

void verdict_set(struct verdict *verdict, enum reason reason, const char *format, ...)
{
    va_list args;
    verdict->reason = reason;
    va_start(args, format);
    vsnprintf(verdict->words, sizeof verdict->words, format, args);
    va_end(args);
}
