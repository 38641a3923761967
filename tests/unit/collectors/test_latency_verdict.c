/* What is said while latencies cannot be computed, or not as they should be. */
#include "collectors/contract/latency_verdict.h"
#include "tests/unit/support/unit.h"

enum { MINUTE = 60 };

static void judged(const struct facts *facts, enum reason reason, const char *words)
{
    struct verdict verdict = {.reason = REASON_OK};
    latency_verdict_refine(facts, &verdict);
    assert_int_equal(verdict.reason, reason);
    if (!strstr(verdict.words, words) || (!words[0] && verdict.words[0]))
        fail_msg("\"%s\" does not say \"%s\"", verdict.words, words);
}

static struct facts machine(double cache_cycles)
{
    return (struct facts){.machine = {.base_frequency_hz = 2e9, .cache_cycles = cache_cycles}};
}

TEST(under_way)
{
    struct facts facts = machine(0);
    judged(&facts, REASON_OK, "waits for the probe's calibration");
    facts.calibrating_ns = UINT64_C(9) * MINUTE * 1000000000;
    judged(&facts, REASON_OK, "waits for the probe's calibration");
    facts.calibrating_ns = UINT64_C(10) * MINUTE * 1000000000;
    judged(&facts, REASON_NOT_CALIBRATED, "; no latency");
    facts.calibration_refused = true;
    judged(&facts, REASON_NOT_CALIBRATED, "explain less than 40 %");
    facts.machine.cache_cycles = 44;
    judged(&facts, REASON_NOT_CALIBRATED, "documented constant");
    facts.cache_cycles_final = true;
    judged(&facts, REASON_OK, "");
}

TEST(impossible)
{
    struct facts facts = machine(0);
    verdict_set(&facts.probe, REASON_DISABLED, "switched off by a flag");
    judged(&facts, REASON_NOT_CALIBRATED, "switched off by a flag");
    facts.machine.cache_cycles = 44; /* documented for this CPU */
    judged(&facts, REASON_OK, "");

    facts = machine(0);
    verdict_set(&facts.calibration_blocked, REASON_NO_PERMISSION, "not allowed");
    judged(&facts, REASON_NOT_CALIBRATED, "not allowed");
    facts.machine.base_frequency_hz = 0;
    judged(&facts, REASON_UNSUPPORTED_CPU, "base frequency");
}

/* It costs slowdown its counters, not latency. */
TEST(the_watchdog_is_no_obstacle)
{
    struct facts facts = machine(44);
    struct verdict verdict;
    facts.cache_cycles_final = true;
    verdict_set(&verdict, REASON_NMI_WATCHDOG, "slowdown is off");
    latency_verdict_refine(&facts, &verdict);
    assert_int_equal(verdict.reason, REASON_OK);
    assert_string_equal(verdict.words, "slowdown is off");
}

/* A guest whose TSC says 2.0 GHz on a host that counts at 2.1. */
TEST(a_base_frequency_that_is_exceeded)
{
    struct facts facts = machine(44);
    const uint64_t second = 1000000000;
    facts.cache_cycles_final = true;
    for (int i = 0; i < 100; i++) {
        assert_false(base_frequency_check(&facts, 2100000000, 1000000)); /* too short to say */
        assert_false(base_frequency_check(&facts, 2030000000, second));
        assert_false(base_frequency_check(&facts, 1500000000, second)); /* stolen time */
    }
    judged(&facts, REASON_OK, "");
    for (int i = 0; i < 9; i++)
        assert_false(base_frequency_check(&facts, 2100000000, second));
    judged(&facts, REASON_OK, "");
    assert_true(base_frequency_check(&facts, 2100000000, second));
    assert_false(base_frequency_check(&facts, 2100000000, second)); /* said once */
    judged(&facts, REASON_OK, "2.100 GHz or more, the TSC is taken to run at 2.000 GHz");
}
