/*
 * CPU time borrows descriptors of the counters, and never keeps any from them: whatever is opened
 * and closed in which order, each group of counters opens exactly when it would without a borrower.
 */
#include <fcntl.h>
#include <unistd.h>

#include "exporter/source/activity/activity.h"
#include "tests/unit/support/perf_fixture.h"
#include "tests/unit/support/unit.h"

enum { CONTAINERS = 12, STEPS = 4000, CORE_NEED = 2 * CORE_ROLES };

/* Two machines with the same limit; only the first one's counters lend. */
struct pair {
    struct fixture tree;
    struct fake_pmu pmu[3];
    struct log log;
    struct descriptor_pool pool;
    struct source *counters[2], *activity;
    uint64_t core[2][CONTAINERS], time[CONTAINERS];
    bool counted[CONTAINERS], timed[CONTAINERS];
    int fds[CONTAINERS];
    char paths[CONTAINERS][8], unified[128];
};

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void start(struct pair *pair, struct events_file *file, size_t limit, uint32_t way)
{
    fixture_init(&pair->tree);
    fixture_write(&pair->tree, "sys/devices/system/cpu/online", "0-1\n");
    snprintf(pair->unified, sizeof pair->unified, "%s/v2", pair->tree.root);
    pair->log.fd = -1;
    pair->pool.limit = limit;
    for (int i = 0; i < CONTAINERS; i++) {
        char path[128];
        snprintf(pair->paths[i], sizeof pair->paths[i], "/c%d", i);
        snprintf(path, sizeof path, "v2%s/cpu.stat", pair->paths[i]);
        fixture_write(&pair->tree, path, "usage_usec 1\n");
        snprintf(path, sizeof path, "v2%s/cgroup.procs", pair->paths[i]);
        fixture_write(&pair->tree, path, "1\n");
        snprintf(path, sizeof path, "%s%s", pair->unified, pair->paths[i]);
        pair->fds[i] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(pair->fds[i] >= 0);
    }
    for (int role = 0; role < CORE_ROLES; role++)
        file->event[group_descs[GROUP_CORE].roles[role]] =
            (char *)(uintptr_t) "software:page-faults";
    struct perf_config config = {.fs = &pair->tree.fs, .log = &pair->log, .fd_limit = limit};
    for (int i = 0; i < 3; i++)
        fake_pmu_init(&pair->pmu[i]);
    struct activity_config activity = {
        .fs = &pair->tree.fs, .unified = pair->unified, .pool = &pair->pool, .ways = 1u << way};
    for (int i = 0; i < 2; i++) {
        config.kernel = &pair->pmu[i].kernel;
        config.file = file;
        config.pool = i == 0 ? &pair->pool : NULL;
        assert_int_equal(perf_source_new(&config, &pair->counters[i]), 0);
    }
    config = (struct perf_config){
        .fs = &pair->tree.fs, .log = &pair->log, .kernel = &pair->pmu[2].kernel};
    assert_int_equal(perf_source_new(&config, &activity.clocks), 0);
    assert_int_equal(activity_source_new(&activity, &pair->activity), 0);
}

static void stop(struct pair *pair)
{
    pair->activity->ops->free(pair->activity);
    for (int i = 0; i < 2; i++)
        pair->counters[i]->ops->free(pair->counters[i]);
    for (int i = 0; i < CONTAINERS; i++)
        close(pair->fds[i]);
    fixture_release(&pair->tree);
}

static struct scope scope_of(const struct pair *pair, int i)
{
    return (struct scope){.kind = SCOPE_CGROUP,
                          .key = pair->paths[i],
                          .cgroup_fd = pair->fds[i],
                          .cgroup_path = pair->paths[i]};
}

static void toggle_counters(struct pair *pair, int i)
{
    const struct scope scope = scope_of(pair, i);
    struct verdict why;
    int err[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
        struct source *source = pair->counters[k];
        if (pair->counted[i])
            source->ops->close(source, pair->core[k][i]);
        else
            err[k] = source->ops->open(source, &scope, GROUP_CORE, &pair->core[k][i], &why);
    }
    assert_int_equal(err[0], err[1]);
    assert_true(err[0] == 0 || err[0] == -EMFILE);
    pair->counted[i] = !pair->counted[i] && err[0] == 0;
}

static void toggle_time(struct pair *pair, int i)
{
    const struct scope scope = scope_of(pair, i);
    struct source *source = pair->activity;
    struct verdict why;
    if (pair->timed[i]) {
        source->ops->close(source, pair->time[i]);
        pair->timed[i] = false;
        return;
    }
    size_t used = pair->pool.counters + pair->pool.lent;
    int err = source->ops->open(source, &scope, GROUP_ACTIVITY, &pair->time[i], &why);
    pair->timed[i] = err == 0;
    if (err) {
        assert_int_equal(err, -EMFILE);
        assert_int_equal(why.reason, REASON_FD_LIMIT);
        assert_true(used + 3 > pair->pool.limit); /* refused only when there is no room */
    }
}

/* Some may have been called in: those say so, and only those. */
static size_t check_readings(struct pair *pair)
{
    uint64_t space[16];
    size_t called_in = 0;
    for (int i = 0; i < CONTAINERS; i++) {
        struct reading out = {
            .stride_bytes = reading_stride(GROUP_ACTIVITY), .rows = space, .cap = 4};
        if (!pair->timed[i])
            continue;
        int err = pair->activity->ops->read(pair->activity, pair->time[i], &out);
        assert_true(err == 0 || err == -EMFILE);
        called_in += err != 0;
    }
    return called_in;
}

static void play(uint32_t way)
{
    size_t most_lent = 0, called_in = 0, refused = 0;
    for (size_t limit = 1; limit < 220; limit += 31) {
        struct pair *pair = calloc(1, sizeof *pair);
        struct events_file file = {.base_frequency_hz = 0};
        uint64_t seed = limit;
        assert_non_null(pair);
        start(pair, &file, limit, way);
        for (int step = 0; step < STEPS / 8; step++) {
            int i = (int)(next_random(&seed) % CONTAINERS);
            bool timed = pair->timed[i];
            if (next_random(&seed) % 3)
                toggle_counters(pair, i);
            else
                toggle_time(pair, i);
            size_t counters = pair->pmu[0].open;
            for (int c = 0; c < CONTAINERS; c++)
                counters += pair->counted[c]; /* its directory */
            assert_int_equal(pair->pool.counters, counters);
            assert_true(counters + pair->pool.lent <= limit + 1);
            most_lent = pair->pool.lent > most_lent ? pair->pool.lent : most_lent;
            called_in += check_readings(pair);
            refused += !timed && !pair->timed[i];
        }
        stop(pair);
        assert_int_equal(pair->pool.lent, 0);
        free(pair);
    }
    assert_true(most_lent > 4 && called_in > 10 && refused > 10); /* all of it has happened */
}

TEST(files_never_displace_counters)
{
    play(ACTIVITY_STAT);
}

TEST(clocks_never_displace_counters)
{
    play(ACTIVITY_CLOCK);
}
