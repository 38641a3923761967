#include "collectors/attribution/lanes/workloads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"
#include "exporter/base/hash.h"
#include "exporter/containers/workload.h"

static const char unnamed = '\x1e';

void workloads_release(struct workloads *workloads)
{
    for (size_t i = 0; i < workloads->n; i++)
        free(workloads->at[i].key);
    free(workloads->at);
    *workloads = (struct workloads){0};
}

static void key_of(const struct container *container, char out[WORKLOAD_KEY_BYTES])
{
    if (container->named)
        workload_key(container, out);
    else
        snprintf(out, WORKLOAD_KEY_BYTES, "%c%llu", unnamed,
                 (unsigned long long)container_tag(container->slot, container->gen));
}

static bool find(const struct workloads *workloads, const char *key, uint64_t hash, uint32_t *out)
{
    for (size_t i = 0; i < workloads->n; i++) {
        const struct workload *w = &workloads->at[i];
        if (!w->key || w->hash != hash || strcmp(w->key, key) != 0)
            continue;
        *out = (uint32_t)i;
        return true;
    }
    return false;
}

static int free_number(struct workloads *workloads, size_t *out)
{
    for (size_t i = 0; i < workloads->n; i++) {
        if (workloads->at[i].key)
            continue;
        *out = i;
        return 0;
    }
    if (array_reserve(&workloads->at, &workloads->cap, workloads->n + 1, sizeof *workloads->at))
        return -ENOMEM;
    workloads->at[workloads->n] = (struct workload){0};
    *out = workloads->n++;
    return 0;
}

int workloads_join(struct workloads *workloads, const struct container *container, uint32_t *out)
{
    char key[WORKLOAD_KEY_BYTES];
    key_of(container, key);
    uint64_t hash = hash_bytes(HASH_START, key, strlen(key));
    if (find(workloads, key, hash, out)) {
        struct workload *w = &workloads->at[*out];
        workloads->ended -= w->containers == 0;
        w->containers++;
        return WORKLOADS_OLD;
    }
    size_t number;
    char *copy = strdup(key);
    if (!copy || free_number(workloads, &number) != 0) {
        free(copy);
        return -ENOMEM;
    }
    workloads->at[number] = (struct workload){.key = copy, .hash = hash, .containers = 1};
    *out = (uint32_t)number;
    return WORKLOADS_NEW;
}

bool workloads_is_alone(const struct workloads *workloads, uint32_t number)
{
    return workloads->at[number].containers == 1;
}

bool workloads_has_name(const struct workloads *workloads, uint32_t number)
{
    const char *key = workloads->at[number].key;
    return key && key[0] != unnamed;
}

static void drop(struct workloads *workloads, uint32_t number)
{
    free(workloads->at[number].key);
    workloads->at[number] = (struct workload){0};
}

bool workloads_leave(struct workloads *workloads, uint32_t number, uint64_t now_ns)
{
    struct workload *w = &workloads->at[number];
    if (--w->containers > 0)
        return false;
    if (!workloads_has_name(workloads, number)) {
        drop(workloads, number);
        return true;
    }
    w->left_ns = now_ns;
    workloads->ended++;
    return false;
}

bool workloads_expire(struct workloads *workloads, uint64_t now_ns, uint32_t *out)
{
    size_t oldest = workloads->n;
    for (size_t i = 0; workloads->ended > 0 && i < workloads->n; i++) {
        const struct workload *w = &workloads->at[i];
        if (w->key && w->containers == 0 &&
            (oldest == workloads->n || w->left_ns < workloads->at[oldest].left_ns))
            oldest = i;
    }
    if (oldest == workloads->n)
        return false;
    uint64_t left_ns = workloads->at[oldest].left_ns;
    if (workloads->ended <= WORKLOADS_ENDED &&
        (now_ns < left_ns || now_ns - left_ns < WORKLOADS_LINGER_NS))
        return false;
    drop(workloads, (uint32_t)oldest);
    workloads->ended--;
    *out = (uint32_t)oldest;
    return true;
}

int workloads_name(struct workloads *workloads, const struct container *container, uint32_t number,
                   uint32_t *out)
{
    char key[WORKLOAD_KEY_BYTES];
    key_of(container, key);
    uint64_t hash = hash_bytes(HASH_START, key, strlen(key));
    if (find(workloads, key, hash, out)) {
        if (*out == number)
            return 0;
        workloads->ended -= workloads->at[*out].containers == 0;
        workloads->at[*out].containers++;
        return 0;
    }
    char *copy = strdup(key);
    if (!copy)
        return -ENOMEM;
    free(workloads->at[number].key);
    workloads->at[number].key = copy;
    workloads->at[number].hash = hash;
    *out = number;
    return 0;
}
