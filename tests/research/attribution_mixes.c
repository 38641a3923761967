/* Mixes of containers, drawn from a seed. What may be drawn was written before any result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/research/attribution.h"
#include "tests/simnode/model/rng.h"

const char *const attr_kind_names[ATTR_KINDS] = {
    [ATTR_STREAM] = "stream", [ATTR_PREFETCHED] = "prefetched stream",
    [ATTR_RANDOM] = "random", [ATTR_CHASE] = "chase",
    [ATTR_WRITER] = "writer", [ATTR_LOOP] = "loop",
    [ATTR_HOT] = "hot set",   [ATTR_LIGHT] = "light",
    [ATTR_PAST] = "NT writer"};

const char *const attr_family_names[ATTR_FAMILIES] = {
    [ATTR_READERS] = "readers",       [ATTR_PREFETCH] = "prefetched streams",
    [ATTR_WRITERS] = "writers",       [ATTR_CACHE] = "cache",
    [ATTR_SOCKETS] = "two sockets",   [ATTR_ANY] = "any",
    [ATTR_STORES_PAST] = "NT writers"};

enum { CORES_PER_SOCKET = ATTR_MEMBERS };

static uint64_t pick(struct rng *rng, uint64_t n)
{
    return rng_below(rng, n);
}

static int one_of(struct rng *rng, const int *values, uint64_t n)
{
    return values[pick(rng, n)];
}

#define ONE_OF(rng, ...)                                                                           \
    one_of(rng, (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static void draw_workload(struct rng *rng, struct attr_member *m)
{
    char *out = m->workload;
    size_t size = sizeof(m->workload);

    switch (m->kind) {
    case ATTR_STREAM:
    case ATTR_PREFETCHED:
        snprintf(out, size, "\"kind\":\"stream\",\"streams\":%d,\"instructions_per_access\":%d",
                 ONE_OF(rng, 1, 4), ONE_OF(rng, 20, 40, 80));
        break;
    case ATTR_RANDOM:
        snprintf(out, size,
                 "\"kind\":\"random\",\"dependence\":0.%d,\"instructions_per_access\":%d",
                 ONE_OF(rng, 0, 3), ONE_OF(rng, 20, 40, 80));
        break;
    case ATTR_CHASE:
        snprintf(out, size, "\"kind\":\"chase\",\"instructions_per_access\":%d",
                 ONE_OF(rng, 10, 40));
        break;
    case ATTR_WRITER:
        snprintf(out, size, "\"kind\":\"%s\",\"store_share\":%s,\"instructions_per_access\":%d",
                 pick(rng, 2) ? "random" : "stream", pick(rng, 2) ? "1" : "0.5",
                 ONE_OF(rng, 30, 60));
        break;
    case ATTR_LOOP:
        snprintf(out, size,
                 "\"kind\":\"loop\",\"bytes\":%d,\"store_share\":0.%d,"
                 "\"instructions_per_access\":%d",
                 ONE_OF(rng, 786432, 1572864), ONE_OF(rng, 0, 3), ONE_OF(rng, 20, 40));
        break;
    case ATTR_HOT:
        snprintf(out, size,
                 "\"kind\":\"random\",\"bytes\":16777216,\"hot_bytes\":%d,\"hot_share\":0.9,"
                 "\"instructions_per_access\":%d",
                 ONE_OF(rng, 524288, 1048576), ONE_OF(rng, 20, 40));
        break;
    case ATTR_PAST:
        snprintf(out, size,
                 "\"kind\":\"stream\",\"store_share\":1,\"nt_share\":1,"
                 "\"instructions_per_access\":%d",
                 ONE_OF(rng, 200, 400));
        break;
    default:
        if (pick(rng, 2))
            snprintf(out, size, "\"kind\":\"compute\"");
        else
            snprintf(out, size, "\"kind\":\"random\",\"instructions_per_access\":1500");
        break;
    }
}

#define KINDS(...)                                                                                 \
    {                                                                                              \
        {__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int)                            \
    }

/* First the victim, then the first two co-runners, then the rest. */
static const struct {
    struct {
        int kinds[ATTR_KINDS];
        size_t n;
    } victim, first, second, rest;
} choices[ATTR_FAMILIES] = {
    [ATTR_READERS] = {KINDS(ATTR_CHASE, ATTR_RANDOM, ATTR_STREAM), KINDS(ATTR_STREAM, ATTR_RANDOM),
                      KINDS(ATTR_STREAM, ATTR_RANDOM, ATTR_CHASE, ATTR_LIGHT),
                      KINDS(ATTR_STREAM, ATTR_RANDOM, ATTR_CHASE, ATTR_LIGHT)},
    [ATTR_PREFETCH] = {KINDS(ATTR_CHASE, ATTR_RANDOM), KINDS(ATTR_PREFETCHED),
                       KINDS(ATTR_PREFETCHED, ATTR_RANDOM, ATTR_LIGHT),
                       KINDS(ATTR_STREAM, ATTR_RANDOM, ATTR_LIGHT)},
    [ATTR_WRITERS] = {KINDS(ATTR_CHASE, ATTR_RANDOM), KINDS(ATTR_WRITER),
                      KINDS(ATTR_WRITER, ATTR_STREAM, ATTR_RANDOM),
                      KINDS(ATTR_STREAM, ATTR_RANDOM, ATTR_LIGHT)},
    [ATTR_CACHE] = {KINDS(ATTR_HOT), KINDS(ATTR_LOOP, ATTR_HOT),
                    KINDS(ATTR_PREFETCHED, ATTR_WRITER, ATTR_STREAM),
                    KINDS(ATTR_LOOP, ATTR_HOT, ATTR_STREAM, ATTR_RANDOM)},
    [ATTR_SOCKETS] = {KINDS(ATTR_CHASE, ATTR_RANDOM), KINDS(ATTR_STREAM, ATTR_RANDOM, ATTR_WRITER),
                      KINDS(ATTR_STREAM, ATTR_PREFETCHED, ATTR_RANDOM, ATTR_WRITER),
                      KINDS(ATTR_STREAM, ATTR_PREFETCHED, ATTR_RANDOM, ATTR_LIGHT)},
    [ATTR_ANY] = {KINDS(ATTR_CHASE, ATTR_RANDOM, ATTR_HOT, ATTR_STREAM),
                  KINDS(ATTR_STREAM, ATTR_PREFETCHED, ATTR_RANDOM, ATTR_CHASE, ATTR_WRITER,
                        ATTR_LOOP, ATTR_HOT, ATTR_LIGHT),
                  KINDS(ATTR_STREAM, ATTR_PREFETCHED, ATTR_RANDOM, ATTR_CHASE, ATTR_WRITER,
                        ATTR_LOOP, ATTR_HOT, ATTR_LIGHT),
                  KINDS(ATTR_STREAM, ATTR_PREFETCHED, ATTR_RANDOM, ATTR_CHASE, ATTR_WRITER,
                        ATTR_LOOP, ATTR_HOT, ATTR_LIGHT)},
    [ATTR_STORES_PAST] = {KINDS(ATTR_CHASE, ATTR_RANDOM), KINDS(ATTR_PAST),
                          KINDS(ATTR_STREAM, ATTR_RANDOM), KINDS(ATTR_WRITER, ATTR_LIGHT)},
};

/* On two sockets the first co-runner uses the victim's memory from the other one, the second is
 * beside the victim in every respect, the others are anywhere. */
static void draw_place(struct rng *rng, int i, struct attr_member *m)
{
    m->socket = i == 1 ? 1 : i > 2 ? (int)pick(rng, 2) : 0;
    m->node = i > 2 ? (int)pick(rng, 2) : 0;
}

static const struct attr_mix first_mix = {
    .family = ATTR_PREFETCH,
    .n = 4,
    .channels = 1,
    .sockets = 1,
    .members = {{ATTR_CHASE, 0, 0, "\"kind\":\"chase\",\"instructions_per_access\":10"},
                {ATTR_PREFETCHED, 0, 0, "\"kind\":\"stream\",\"instructions_per_access\":30"},
                {ATTR_RANDOM, 0, 0, "\"kind\":\"random\",\"instructions_per_access\":60"},
                {ATTR_LIGHT, 0, 0, "\"kind\":\"random\",\"instructions_per_access\":1500"}}};

struct attr_mix attr_mix_draw(unsigned seed, unsigned i)
{
    struct attr_mix mix = {.family = (enum attr_family)((i + ATTR_PREFETCH) % ATTR_FAMILIES)};
    struct rng rng;

    if (i == 0)
        return first_mix;
    rng_seed(&rng, mix64(seed) + i);
    mix.n = 4 + (int)pick(&rng, 3);
    mix.channels = 1 + (int)pick(&rng, 2);
    mix.sockets = mix.family == ATTR_SOCKETS ? 2 : 1;
    for (int m = 0; m < mix.n; m++) {
        const int *kinds = m == 0   ? choices[mix.family].victim.kinds
                           : m == 1 ? choices[mix.family].first.kinds
                           : m == 2 ? choices[mix.family].second.kinds
                                    : choices[mix.family].rest.kinds;
        size_t n = m == 0   ? choices[mix.family].victim.n
                   : m == 1 ? choices[mix.family].first.n
                   : m == 2 ? choices[mix.family].second.n
                            : choices[mix.family].rest.n;

        mix.members[m].kind = (enum attr_kind)one_of(&rng, kinds, n);
        draw_workload(&rng, &mix.members[m]);
        if (mix.sockets == 2)
            draw_place(&rng, m, &mix.members[m]);
    }
    return mix;
}

char *attr_mix_scenario(const struct attr_mix *mix, unsigned seed, uint64_t tick_cycles,
                        char *const *pauses)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    fprintf(out,
            "{\"scenario\":1,\"seed\":%u,\"tick_cycles\":%llu,\"machine\":{\"preset\":\"asm\","
            "\"sockets\":%d,\"cores_per_socket\":%d,\"prefetcher\":{\"degree\":4},"
            "\"interconnect\":{\"hop_ns\":30,\"bytes_per_second\":2e10},"
            "\"memory\":{\"channels\":%d}},\"effects\":{\"super_queue\":true},\"workloads\":{",
            seed, (unsigned long long)tick_cycles, mix->sockets, CORES_PER_SOCKET, mix->channels);
    for (int i = 0; i < mix->n; i++)
        fprintf(out, "%s\"w%d\":{%s}", i ? "," : "", i, mix->members[i].workload);
    fputs("},\"containers\":[", out);
    for (int i = 0; i < mix->n; i++) {
        const struct attr_member *m = &mix->members[i];

        fprintf(out,
                "%s{\"key\":\"c%d\",\"workload\":\"w%d\",\"cpus\":[%d],\"seed\":%u,"
                "\"memory\":[{\"node\":%d}],\"prefetch\":%s",
                i ? "," : "", i, i, m->socket * CORES_PER_SOCKET + i, seed * 16 + (unsigned)i,
                m->node, m->kind == ATTR_PREFETCHED ? "true" : "false");
        if (pauses && pauses[i])
            fprintf(out, ",\"pauses\":%s", pauses[i]);
        fputc('}', out);
    }
    fputs("]}", out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
