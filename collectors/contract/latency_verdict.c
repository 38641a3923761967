#include "collectors/contract/latency_verdict.h"

/* NULL: nothing is in the way. */
static const struct verdict *blocked(const struct facts *facts)
{
    if (facts->probe.reason != REASON_OK)
        return &facts->probe;
    if (facts->calibration_blocked.reason != REASON_OK)
        return &facts->calibration_blocked;
    return NULL;
}

void latency_verdict_refine(const struct facts *facts, struct verdict *verdict)
{
    const struct verdict *why = blocked(facts);
    bool constant = facts->machine.cache_cycles > 0;
    if (verdict->reason == REASON_NMI_WATCHDOG)
        verdict->reason = REASON_OK;
    if (!(facts->machine.base_frequency_hz > 0))
        verdict_set(verdict, REASON_UNSUPPORTED_CPU,
                    "no latency: the base frequency is unknown; set machine.base_frequency_hz in "
                    "--events.file");
    else if (facts->base_exceeded >= BASE_DOUBTED_WINDOWS)
        verdict_set(verdict, REASON_OK,
                    "reference cycles are counted at %.3f GHz or more, the TSC is taken to run at "
                    "%.3f GHz: latencies are off by the ratio of the two; a virtual machine that "
                    "moved to another host needs a restart of the exporter, or "
                    "machine.base_frequency_hz in --events.file",
                    facts->reference_hz * 1e-9, facts->machine.base_frequency_hz * 1e-9);
    else if (facts->cache_cycles_final || (why && constant))
        return;
    else if (facts->l1d_hit_cycles > 0 && why)
        verdict_set(
            verdict, REASON_NOT_CALIBRATED,
            "no latency: hits in this CPU's L2 and L3 must be measured by the probe or given "
            "as machine.l2_fill_cycles and l3_fill_cycles in --events.file; %.120s",
            why->words);
    else if (facts->l1d_hit_cycles > 0 && facts->calibrating_ns >= CALIBRATION_OVERDUE_NS)
        verdict_set(verdict, REASON_NOT_CALIBRATED,
                    "no latency: the probe runs, but has not measured hits in the L2 and the L3: "
                    "sysfs does not tell the caches' sizes, or its bursts are disturbed (see its "
                    "discarded windows); machine.l2_fill_cycles and l3_fill_cycles in "
                    "--events.file give them");
    else if (why)
        verdict_set(verdict, REASON_NOT_CALIBRATED,
                    "no latency: the time to look through this CPU's caches must be calibrated by "
                    "the probe or given as machine.cache_cycles in --events.file; %.120s",
                    why->words);
    else if (facts->calibrating_ns >= CALIBRATION_OVERDUE_NS)
        verdict_set(verdict, REASON_NOT_CALIBRATED,
                    "the probe runs, but has not calibrated the time to look through the caches: "
                    "%s; %s",
                    facts->calibration_refused
                        ? "its thread's counters explain less than 40 % of the latency that it "
                          "measures, or more than all: they are filtered, or not what this CPU's "
                          "table takes them for"
                        : "its thread's counters do not run, or its bursts are disturbed (see its "
                          "discarded windows)",
                    constant ? "latencies use the CPU's documented constant" : "no latency");
    else if (!constant)
        verdict_set(verdict, REASON_OK,
                    "no latency yet: waits for the probe's calibration, some minutes after the "
                    "start");
}

bool base_frequency_check(struct facts *facts, uint64_t ref_cycles, uint64_t enabled_ns)
{
    double base = facts->machine.base_frequency_hz;
    if (!(base > 0) || enabled_ns < BASE_WINDOW_NS || facts->base_exceeded >= BASE_DOUBTED_WINDOWS)
        return false;
    double hz = (double)ref_cycles / ((double)enabled_ns * 1e-9);
    if (hz <= BASE_EXCEEDED_RATIO * base) {
        facts->base_exceeded -= facts->base_exceeded > 0;
        return false;
    }
    if (hz > facts->reference_hz)
        facts->reference_hz = hz;
    return ++facts->base_exceeded == BASE_DOUBTED_WINDOWS;
}
