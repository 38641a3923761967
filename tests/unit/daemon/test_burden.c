/* What --source=auto takes: machines of many CPUs and containers, made of files. */
#include "exporter/daemon/sources.h"
#include "exporter/options/options.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

enum { PLENTY = 1 << 20 };

struct rig {
    struct fixture tree;
    struct options options;
    struct plan plan;
    struct facts facts;
    struct events_file file;
    struct perf_config perf;
    struct cgroup_hierarchy hierarchy;
    struct sources_config config;
};

static int setup(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    fixture_init(&rig->tree);
    fixture_write(&rig->tree, "cgroup/cgroup.controllers", "cpu\n");
    rig->options.interval_ns = 1000000000;
    rig->plan.options = &rig->options;
    for (size_t i = 0; i < group_descs[GROUP_CORE].n; i++)
        rig->file.event[group_descs[GROUP_CORE].roles[i]] =
            (char *)(uintptr_t) "software:page-faults";
    rig->perf = (struct perf_config){.fs = &rig->tree.fs, .file = &rig->file};
    rig->hierarchy = (struct cgroup_hierarchy){.version = 2, .cgroups = SIZE_MAX};
    snprintf(rig->hierarchy.path, sizeof rig->hierarchy.path, "%s/cgroup", rig->tree.root);
    rig->config = (struct sources_config){.plan = &rig->plan,
                                          .facts = &rig->facts,
                                          .counters_max = PLENTY,
                                          .containers_max_eventless = 4096};
    *state = rig;
    return 0;
}

static int teardown(void **state)
{
    struct rig *rig = *state;
    fixture_release(&rig->tree);
    free(rig);
    return 0;
}

/* Each in a pod of its own, and so many other cgroups. */
static void run(struct rig *rig, int containers, int others)
{
    char path[192];
    for (int i = 0; i < containers; i++) {
        snprintf(path, sizeof path, "cgroup/kubepods/pod%08x-0000-0000-0000-000000000000/%064x", i,
                 i + 1);
        fixture_mkdir(&rig->tree, path);
    }
    for (int i = 0; i < others; i++) {
        snprintf(path, sizeof path, "cgroup/system.slice/unit-%d.service", i);
        fixture_mkdir(&rig->tree, path);
    }
}

static void assert_by_bpf(struct rig *rig, bool bpf, const char *words)
{
    struct verdict why = {0};
    assert_int_equal(burden_is_for_bpf(&rig->config, &rig->perf, &rig->hierarchy, &why), bpf);
    if (!strstr(why.words, words))
        fail_msg("%s: no %s", why.words, words);
}

/* A kubelet's default number of pods would take too long: nobody looks how many there are. */
TEST_ON(test_by_cpus_alone, struct rig *rig, setup, teardown)
{
    rig->facts.machine.cpus = 34;
    rig->hierarchy.path[0] = '\0';
    assert_by_bpf(rig, true,
                  "cgroup events of 110 containers on 34 CPUs would take 10.1 ms in each tick");
}

TEST_ON(test_by_containers, struct rig *rig, setup, teardown)
{
    rig->facts.machine.cpus = 24;
    run(rig, 80, 40);
    assert_by_bpf(rig, true, "cgroup events of 160 containers on 24 CPUs would take 10.4 ms");
}

/* Other cgroups than containers are many, and none of the burden. */
TEST_ON(test_other_cgroups_are_none, struct rig *rig, setup, teardown)
{
    rig->facts.machine.cpus = 24;
    run(rig, 60, 100);
    assert_by_bpf(rig, false, "cgroup events of 120 containers on 24 CPUs fit");
}

/* A hierarchy that has too few cgroups is not walked. */
TEST_ON(test_too_few_cgroups, struct rig *rig, setup, teardown)
{
    rig->facts.machine.cpus = 24;
    run(rig, 80, 0);
    rig->hierarchy.cgroups = 60;
    assert_by_bpf(rig, false, "cgroup events of 120 containers on 24 CPUs fit");
}

TEST_ON(test_no_more_than_are_counted, struct rig *rig, setup, teardown)
{
    rig->facts.machine.cpus = 24;
    rig->config.containers_max_eventless = 120;
    run(rig, 80, 0);
    assert_by_bpf(rig, false, "cgroup events of 120 containers on 24 CPUs fit");
}

TEST_ON(test_by_descriptors, struct rig *rig, setup, teardown)
{
    rig->facts.machine.cpus = 2;
    rig->config.counters_max = 2000;
    run(rig, 80, 0);
    assert_by_bpf(
        rig, true,
        "160 containers on 2 CPUs would take 2400 file descriptors, of which counters may "
        "have 2000");
}

static void want(struct rig *rig, const char *name)
{
    for (size_t i = 0; collector_table[i]; i++)
        rig->plan.wanted[i] |= strcmp(collector_table[i]->name, name) == 0;
}

/* A collector that opens a second group of each container makes another reading. */
TEST_ON(test_more_groups, struct rig *rig, setup, teardown)
{
    const struct group_desc *sources = &group_descs[GROUP_SOURCES];
    rig->facts.machine.cpus = 18;
    want(rig, "core_latency");
    assert_by_bpf(rig, false, "5.3 ms in each tick");
    want(rig, "fill_sources"); /* has no events yet */
    assert_by_bpf(rig, false, "5.3 ms in each tick");
    for (size_t i = 0; i < sources->n; i++)
        rig->file.event[sources->roles[i]] = (char *)(uintptr_t) "software:page-faults";
    assert_by_bpf(rig, true, "110 containers on 18 CPUs would take 10.7 ms");
}

/* As their flags say. */
TEST_WITH(test_groups_by_flags, setup, teardown)
{
    char *flags[] = {(char *)(uintptr_t) "exporter",
                     (char *)(uintptr_t) "--collector.attribution.traffic",
                     (char *)(uintptr_t) "--collector.placement.loads"};
    for (int n = 1; n <= 3; n += 2) {
        struct options options;
        char error[256];
        uint32_t more = 0;
        assert_int_equal(options_parse(&options, n, flags, error, sizeof error), 0);
        for (size_t i = 0; collector_table[i]; i++)
            if (collector_table[i]->more_groups)
                more |= collector_table[i]->more_groups(&options.config[i]);
        assert_int_equal(more, 1u << GROUP_SOURCES |
                                   (n > 1 ? 1u << GROUP_TRAFFIC | 1u << GROUP_STALLS : 0));
    }
}

TEST_ON(test_nothing_to_count, struct rig *rig, setup, teardown)
{
    rig->facts.machine.cpus = 128;
    rig->perf.file = NULL;
    assert_by_bpf(rig, false, "containers have no counters here");
}
