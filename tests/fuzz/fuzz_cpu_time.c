/* cpu.stat, cpuacct.usage, cpuacct.usage_percpu and /proc/stat: in a container's namespaces other
 * programs may stand in for the kernel (lxcfs does). */
#include "exporter/source/activity/file.h"
#include "tests/fuzz/fuzz.h"

enum { ROOM = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    uint64_t ns = 1, numbers[ROOM + 1];
    struct cpu_time times[ROOM + 1];
    size_t n = SIZE_MAX;
    if (cpu_stat_parse(text, size, &ns) == 0)
        check(ns % 1000 == 0);
    if (cpuacct_usage_parse(text, size, &ns) == 0) { /* then it is also a list of one */
        check(cpuacct_percpu_parse(text, size, numbers, ROOM, &n) == 0 && n == 1);
        check(numbers[0] == ns);
    }
    numbers[ROOM] = 42;
    if (cpuacct_percpu_parse(text, size, numbers, ROOM, &n) == 0)
        check(n > 0 && n <= size && numbers[ROOM] == 42);
    times[ROOM].cpu = 42;
    if (proc_stat_parse(text, size, 100, times, ROOM, &n) == 0) {
        check(n > 0 && n <= size && times[ROOM].cpu == 42);
        for (size_t i = 0; i < n && i < ROOM; i++)
            check(times[i].cpu >= 0 && times[i].cpu <= 65535 && times[i].ns % 10000000 == 0);
    }
    return 0;
}
