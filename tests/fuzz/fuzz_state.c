/* --state.file: whatever it holds, and however right its checksum is, what comes of it is possible.
 * The first byte says whether the checksum is made right. */
#include <math.h>

#include "collectors/attribution/ledger/readings.h"
#include "collectors/learned/serialise.h"
#include "exporter/state/state.h"
#include "tests/fuzz/fuzz.h"

static const struct state_identity here = {.boot_id = "boot", .microarchitecture = "clx"};
enum { NOW_NS = 2000000000 };

static void use_normal(struct normal *normal)
{
    enum basis basis = BASES;
    double seconds = 0;
    const struct normal_window window = {.mono_ns = 3 * (uint64_t)NOW_NS,
                                         .length_seconds = 1,
                                         .latency_seconds = 80e-9,
                                         .corunners_known = true,
                                         .corunner_rate = 1e6,
                                         .own_rate = 1e6};
    for (int i = 0; i < 2; i++) {
        if (normal_find(normal, NAN, NAN, &basis, &seconds))
            check(basis < BASES && seconds > 0 && seconds < 1);
        normal_learn(normal, &window);
    }
}

static void use_ledger(struct ledger *ledger)
{
    for (int i = 0; i < 30; i++) {
        ledger_set(ledger, LEDGER_HOST, 0.1);
        ledger_set(ledger, LEDGER_FIRST, i < 10 ? 0 : 2);
        ledger_take(ledger, i < 12 ? 5 : 5.2);
        const struct ledger_workload *w = &ledger->at[LEDGER_FIRST];
        check(w->probability >= 0 && w->probability <= 1 && isfinite(w->effect));
        check(isfinite(ledger_lambda(ledger)) && isfinite(ledger->sigma));
    }
}

static void read_ledger(struct state *state)
{
    struct ledger ledger;
    struct state_fields fields;
    ledger_init(&ledger, 0.15, true);
    check(ledger_reserve(&ledger, LEDGER_FIRST + 1) == 0);
    bool fits = true;
    if (state_claim(state, "ledger", "", &fields)) {
        ledger_serialise(&ledger, &fields);
        fits = state_fits(&fields);
    }
    if (fits && state_claim(state, "workload", "", &fields)) {
        ledger_workload_serialise(&ledger, LEDGER_FIRST, &fields);
        fits = state_fits(&fields);
    }
    if (fits)
        use_ledger(&ledger);
    ledger_release(&ledger);
}

static void use(struct state *state)
{
    struct state_fields fields;
    struct normal normal = {0};
    struct unloaded unloaded = {0};
    struct rate_peak peak = {0};
    if (state_claim(state, "normal", "", &fields)) {
        normal_serialise(&normal, &fields);
        if (state_fits(&fields))
            use_normal(&normal);
    }
    if (state_claim(state, "unloaded", "", &fields)) {
        unloaded_serialise(&unloaded, &fields);
        if (state_fits(&fields))
            check(!(unloaded_latency_seconds(&unloaded) > 1));
    }
    if (state_claim(state, "peak", "", &fields)) {
        rate_peak_serialise(&peak, &fields);
        check(isfinite(rate_peak_find(&peak)));
    }
    read_ledger(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    bool seal = data[0] & 1;
    size_t len = size - 1;
    uint8_t *bytes = malloc(len + !len);
    char why[128] = "";
    struct state *state = NULL;
    memcpy(bytes, data + 1, len);
    if (seal && len >= STATE_HEADER_BYTES)
        state_seal(bytes, len);
    if (state_parse(bytes, len, &here, NOW_NS, &state, why, sizeof why) != 0) {
        check(why[0] && !state);
        free(bytes);
        return 0;
    }
    use(state);
    struct state_writer writer;
    state_write_begin(&writer, NULL, 0, &here, NOW_NS);
    state_carry(&writer, state);
    check(state_write_end(&writer) <= len);
    state_free(state);
    return 0;
}
