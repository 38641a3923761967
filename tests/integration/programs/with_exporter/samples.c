/*
 * The exporter's own sampling of stores, without the rest of it: what arrives where the collector
 * would take it.
 *
 *     samples DIRECTORY FIELD PERIOD EVENTS_FILE CGROUP...
 *
 * What lies in DIRECTORY stands for persistent memory. FIELD says how a sample's cgroup is found:
 * "cgroup" (sampled) or "pid". Cgroups are directories; those with the same first word before "="
 * belong to one owner, whose number in the answers is that of its first: a=PATH a=PATH/child b=...
 *
 * Says "ready" or, if sampling cannot work here, why. Then answers each line on standard input with
 * a line of JSON: all that was sampled since the last one, up to now.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/base/hash.h"
#include "exporter/containers/container.h"
#include "exporter/daemon/sources.h"
#include "exporter/source/accesses/accesses.h"
#include "tests/integration/programs/with_exporter/directory_rule.h"

enum { MAX_LINES = 1 << 16, BATCH = 1024 };

/* ---- what arrived ---- */

struct line {
    struct access_sample key; /* without time, address and thread */
    uint64_t n;
};

static struct line lines[MAX_LINES];

static bool same(const struct access_sample *a, const struct access_sample *b)
{
    return a->owner == b->owner && a->pid == b->pid && a->ip == b->ip && a->medium == b->medium &&
           a->size == b->size && a->bytes == b->bytes && a->access == b->access;
}

static void add(const struct access_sample *sample)
{
    uint64_t hash = hash_u64(sample->ip ^ (uint64_t)sample->pid << 32);
    for (size_t i = hash >> 48;; i++) {
        struct line *line = &lines[i % MAX_LINES];
        if (line->n == 0)
            line->key = *sample;
        if (line->n == 0 || same(&line->key, sample)) {
            line->n++;
            return;
        }
    }
}

static void take_all(struct source *source)
{
    static struct access_sample batch[BATCH];
    uint64_t until = clock_mono_ns();
    struct sampling stores, loads;
    size_t n;
    do {
        usleep(1000);
        source->ops->sampling(source, ACCESS_STORE, &stores);
        source->ops->sampling(source, ACCESS_LOAD, &loads);
        while ((n = source->ops->drain(source, batch, BATCH)) > 0)
            for (size_t i = 0; i < n; i++)
                if (batch[i].address != batch[i].ip) /* else the code was not there: no store */
                    add(&batch[i]);
    } while (stores.settled_ns < until);
    printf("{\"lost\":%" PRIu64 ",\"throttles\":%" PRIu64 ",\"period\":%" PRIu64 ",\"samples\":[",
           stores.lost + loads.lost + perf_samples_lost_mappings(source), stores.throttles,
           stores.period);
}

static void answer(void)
{
    static const char *const media[MEDIA] = {"nvmm", "other", "unknown"};
    static const char *const sizes[ACCESS_SIZES] = {
        [ACCESS_SIZE_KNOWN] = "known",         [ACCESS_SIZE_REPEATED] = "repeated",
        [ACCESS_SIZE_MASKED] = "masked",       [ACCESS_SIZE_VARIABLE] = "variable",
        [ACCESS_SIZE_NO_ACCESS] = "no_access", [ACCESS_SIZE_INVALID] = "invalid",
        [ACCESS_SIZE_TRUNCATED] = "truncated", [ACCESS_SIZE_UNREADABLE] = "unreadable",
    };
    const char *separator = "";
    for (size_t i = 0; i < MAX_LINES; i++) {
        const struct line *line = &lines[i];
        if (line->n == 0)
            continue;
        printf("%s{\"owner\":%u,\"pid\":%" PRIu32 ",\"ip\":%" PRIu64 ",\"access\":\"%s\","
               "\"medium\":\"%s\",\"size\":\"%s\",\"bytes\":%" PRIu32 ",\"count\":%" PRIu64 "}",
               separator, (unsigned)(line->key.owner & UINT32_MAX), line->key.pid, line->key.ip,
               access_name(line->key.access), media[line->key.medium], sizes[line->key.size],
               line->key.bytes, line->n);
        separator = ",";
    }
    puts("]}");
    fflush(stdout);
    memset(lines, 0, sizeof lines);
}

/* ---- whose ---- */

static int add_cgroups(struct cgroup_map *map, char **words, int n)
{
    for (int i = 0; i < n; i++) {
        const char *path = strchr(words[i], '=');
        size_t len = path ? (size_t)(path - words[i]) : 0;
        uint32_t slot = (uint32_t)i;
        struct stat st;
        if (!path || stat(path + 1, &st) != 0)
            return -1;
        for (int j = 0; j < i; j++)
            if (strncmp(words[j], words[i], len + 1) == 0) {
                slot = (uint32_t)j;
                break;
            }
        if (cgroup_map_set(map, st.st_ino, slot, 1) != 0)
            return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct fsroot fs;
    struct cgroup_map *map;
    struct container_owners owners;
    struct events_file events;
    struct source *source;
    struct verdict why = {0};
    char error[512], line[64];
    if (argc < 6 || fsroot_init(&fs, NULL, NULL, NULL, NULL) != 0 || cgroup_map_new(&map) != 0)
        return 2;
    struct directory_rule rule = {.rule.mapping = in_directory, .path = argv[1]};
    if (add_cgroups(map, argv + 5, argc - 5) != 0 ||
        container_owners_init(&owners, &fs, map, error, sizeof error) != 0 ||
        events_file_load(argv[4], &events, error, sizeof error) != 0)
        return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const struct log log = {.fd = STDERR_FILENO};
    const struct perf_samples_config config = {
        .fs = &fs,
        .log = &log,
        .kernel = &perf_kernel_linux,
        .file = &events,
        .rule = &rule.rule,
        .owners = &owners.owners,
        .period = strtoull(argv[3], NULL, 10),
        .loads = events.event[ROLE_LOADS] != NULL,
        .no_cgroups = strcmp(argv[2], "pid") == 0,
    };
    if (perf_samples_new(&config, &source) != 0)
        return 1;
    if (source->ops->samples(source, ACCESS_STORE, &why)) {
        puts("ready");
        fflush(stdout);
        while (fgets(line, sizeof line, stdin)) {
            take_all(source);
            answer();
        }
    } else {
        puts(why.words);
    }
    source->ops->free(source);
    events_file_release(&events);
    cgroup_map_free(map);
    fsroot_release(&fs);
    return 0;
}
