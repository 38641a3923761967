/* What --source=auto takes, on machines that are not at hand. */
#include "exporter/daemon/sources.h"
#include "tests/unit/support/unit.h"

enum { SECOND = 1000000000, PLENTY = 1 << 20, CORE = 7 };

TEST(test_how_many_containers)
{
    assert_int_equal(counting_containers(0, 512), 110); /* it starts before the others do */
    assert_int_equal(counting_containers(55, 512), 110);
    assert_int_equal(counting_containers(100, 512), 200);
    assert_int_equal(counting_containers(300, 512), 512);
    assert_int_equal(counting_containers(100, 20), 20);
    assert_int_equal(counting_containers(SIZE_MAX, 4096), 4096);
}

TEST(test_which)
{
    static const struct {
        struct counting_load load;
        bool bpf;
        const char *words;
    } cases[] = {
        /* 32,000 reads at 2.7 us; the descriptors would suffice. */
        {{128, 250, CORE, 0, PLENTY, SECOND},
         true,
         "would take 86.4 ms in each tick, which is more "
         "than 10.0"},
        {{128, 250, CORE, 0, 200000, SECOND},
         true,
         "250 containers on 128 CPUs would take 224250 file "
         "descriptors, of which counters may have 200000"},
        {{128, 250, CORE, 0, PLENTY, (uint64_t)10 * SECOND},
         false,
         "fit: 224250 file descriptors, and "
         "86.4 ms"},
        {{2, 250, CORE, 0, PLENTY, SECOND},
         false,
         "250 containers on 2 CPUs fit: 3750 file "
         "descriptors, and 1.4 ms"},
        {{2, 250, CORE, 0, 3750, SECOND}, false, "fit"},
        {{2, 250, CORE, 0, 3749, SECOND}, true, "would take 3750 file descriptors"},
        {{2, 4096, CORE, 0, PLENTY, SECOND}, true, "22.1 ms"},
        {{32, 110, CORE, 0, PLENTY, SECOND}, false, "9.5 ms"},
        {{34, 110, CORE, 0, PLENTY, SECOND}, true, "10.1 ms"},
        {{128, 10, CORE, 0, PLENTY, SECOND}, false, "3.5 ms"}, /* --containers.max=10 */
        {{128, 250, CORE, 0, PLENTY, SECOND / 10}, true, "more than 1.0"},
        {{128, 250, 0, 0, 100, SECOND}, false, "no counters here"},
        /* Two groups of a container take two readings, and two directories. */
        {{16, 110, CORE + 5, 1, PLENTY, SECOND}, false, "21340 file descriptors, and 9.5 ms"},
        {{18, 110, CORE + 5, 1, PLENTY, SECOND}, true, "10.7 ms"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct verdict why = {.reason = REASON_NO_DEVICE};
        assert_int_equal(counting_by_bpf(&cases[i].load, &why), cases[i].bpf);
        assert_int_equal(why.reason, REASON_OK);
        if (!strstr(why.words, cases[i].words))
            fail_msg("%s: no %s", why.words, cases[i].words);
    }
}
