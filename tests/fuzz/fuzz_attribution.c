/*
 * Ticks from bytes: the first says how many slots; then eight bytes a number (latency, host, each
 * container), of any value. Whatever they are, parts are no NaN, not negative, and add up.
 */
#include <math.h>

#include "collectors/attribution/regression/estimator.h"
#include "tests/fuzz/fuzz.h"

enum { CONTAINERS = 12 };

/* The bytes as they are, or as small numbers that are likely to be taken. */
static double take(const uint8_t **data, size_t *size, bool raw)
{
    double value = 0;
    if (*size < sizeof value)
        return 0;
    memcpy(&value, *data, sizeof value);
    if (!raw)
        value = **data / 64.0;
    *data += raw ? sizeof value : 1;
    *size -= raw ? sizeof value : 1;
    return value;
}

static void check_domain(const struct attribution_domain *d)
{
    double sum = d->rest_caused_ns;
    for (unsigned i = 0; i < d->config.slots; i++) {
        const struct attribution_slot *s = &d->slots[i];
        if (!s->ticket)
            continue;
        check(s->caused_ns >= 0 && isfinite(s->sd_ns) && s->se > 0 && isfinite(s->score));
        check(d->beta[i] >= 0 && d->variance[i] > 0 && s->support >= 0);
        sum += s->caused_ns;
    }
    check(fabs(sum - d->latency_ns * -expm1(-d->effect)) <= 1e-9 * d->latency_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct attribution_domain domain;
    static struct attribution_scratch scratch;
    struct attribution_member members[CONTAINERS] = {0};
    struct attribution_config config = attribution_config_cpu_time();
    if (size == 0)
        return 0;
    config.slots = 1 + data[0] % 8;
    bool raw = data[0] & 0x80;
    data++, size--;
    check(attribution_init(&domain, &config) == 0);
    while (size >= sizeof(double)) {
        if (attribution_begin(&domain, take(&data, &size, raw)) != 0)
            continue;
        attribution_rest(&domain, take(&data, &size, raw));
        for (unsigned i = 0; i < CONTAINERS; i++)
            attribution_add(&domain, &members[i], take(&data, &size, raw));
        attribution_end(&domain, &scratch);
        check_domain(&domain);
        unsigned leaves = size > 0 ? data[0] : CONTAINERS;
        if (leaves < CONTAINERS)
            attribution_forget(&domain, &members[leaves]);
    }
    return 0;
}
