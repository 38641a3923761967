/* What a container waits for: in its namespaces other programs may stand in for the kernel. The
 * first byte says which file it is. */
#include "exporter/source/waits/parse.h"
#include "tests/fuzz/fuzz.h"

static void steal(const char *text, size_t len)
{
    struct steal_totals out;
    unsigned cpus = 0;
    if (steal_parse(text, len, 100, &out) != 0)
        return;
    for (int i = 0; i < CPU_BITS; i++) {
        check(out.cpus[i] > 0 || out.ns[i] == 0);
        cpus += out.cpus[i];
    }
    check(cpus > 0);
}

static void cpu_set(const char *text, size_t len)
{
    uint64_t set;
    size_t cpus;
    if (cpu_set_parse(text, len, &set, &cpus) == 0)
        check(set != 0 && set >> CPU_BITS == 0 && cpus > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keys[] = {"usage_usec", "nr_periods", "high", "pgscan_direct"};
    const char *text = (const char *)data + 1;
    struct pressure_totals pressure;
    uint64_t value = 77;
    if (size == 0)
        return 0;
    size_t len = size - 1;
    switch (data[0] % 6) {
    case 0:
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            (void)flat_parse(text, len, keys[i], &value);
        break;
    case 1:
        if (pressure_totals_parse(text, len, &pressure) == 0)
            check(pressure.has_full || pressure.full_ns == 0);
        break;
    case 2:
        check(cpu_max_parse(text, len, &value) == 0 || value == 77);
        check(single_parse(text, len, &value) == 0 || value != 78);
        break;
    case 3:
        steal(text, len);
        break;
    case 4:
        cpu_set(text, len);
        break;
    default:
        check(schedstat_parse(text, len, &value) == 0 || value == 77);
        break;
    }
    return 0;
}
