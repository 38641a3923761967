#include "exporter/containers/table/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/base/hash.h"
#include "exporter/containers/workload.h"

/* Continues a hash: "a","b" and "ab","" differ. */
static uint64_t hash_string(const struct siphash_key *key, uint64_t hash, const char *text)
{
    const struct siphash_key next = {key->k0 ^ hash, key->k1};
    return siphash(&next, text, strlen(text));
}

uint64_t entry_hash_labels(const struct siphash_key *key, const struct container *container)
{
    uint64_t hash = hash_string(key, 0, container->namespace_);
    hash = hash_string(key, hash, container->pod);
    hash = hash_string(key, hash, container->name);
    return hash_string(key, hash, container->short_id);
}

uint64_t entry_hash_handle(uint64_t handle)
{
    return hash_u64(handle);
}

uint64_t entry_hash_path(const struct siphash_key *key, const char *own_key, const char *path)
{
    return hash_string(key, 0, own_key && *own_key ? own_key : path);
}

/* The same at every start: it is shown. */
static uint64_t lasting_hash(const char *text)
{
    return hash_bytes(HASH_START, text, strlen(text) + 1);
}

/* ---- strings ---- */

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The first 12 digits of the runtime's id; 12 digits of the cgroup's id for a plain cgroup; under
 * replay a plain cgroup may have neither, and then its key alone tells it apart. */
static void set_short_id(struct container *container, const char *id)
{
    const uint64_t mask = UINT64_C(0xffffffffffff);
    if (id && *id)
        snprintf(container->short_id, sizeof container->short_id, "%.12s", id);
    else if (container->cgroup_id)
        snprintf(container->short_id, sizeof container->short_id, "%012" PRIx64,
                 container->cgroup_id & mask);
    else
        snprintf(container->short_id, sizeof container->short_id, "%012" PRIx64,
                 lasting_hash(*container->key ? container->key : container->path) & mask);
}

enum { N_STRINGS = 10 };

int entry_set_strings(struct container *container, const struct container_spec *spec,
                      const char *path, const char *id, char **strings)
{
    const char *name = spec->name, *pod = spec->pod ? spec->pod : "";
    if (!name || !*name)
        name = path && *last_component(path) ? last_component(path) : container->key;
    const char *const from[N_STRINGS] = {*pod ? pod : name, path,          id,
                                         spec->namespace_,  pod,           name,
                                         spec->image,       spec->pod_uid, spec->runtime,
                                         spec->qos_class};
    const char **const to[N_STRINGS] = {
        &container->workload, &container->path,      &container->id,    &container->namespace_,
        &container->pod,      &container->name,      &container->image, &container->pod_uid,
        &container->runtime,  &container->qos_class,
    };
    size_t len[N_STRINGS], total = N_STRINGS;
    for (size_t i = 0; i < N_STRINGS; i++) {
        len[i] = from[i] ? strlen(from[i]) : 0;
        if (to[i] == &container->workload)
            len[i] = workload_owner_len(pod, name);
        total += len[i];
    }
    char *block = malloc(total);
    if (!block)
        return -ENOMEM;
    bool same_id = container->id && strcmp(container->id, id ? id : "") == 0;
    char *at = block;
    for (size_t i = 0; i < N_STRINGS; i++) {
        if (len[i] > 0)
            memcpy(at, from[i], len[i]);
        at[len[i]] = '\0';
        *to[i] = at;
        at += len[i] + 1;
    }
    if (!same_id)
        set_short_id(container, id);
    *strings = block;
    return 0;
}

bool entry_same_labels(const struct container *a, const struct container *b)
{
    return strcmp(a->short_id, b->short_id) == 0 && strcmp(a->name, b->name) == 0 &&
           strcmp(a->pod, b->pod) == 0 && strcmp(a->namespace_, b->namespace_) == 0;
}

bool entry_same_strings(const struct container *a, const struct container *b)
{
    return entry_same_labels(a, b) && strcmp(a->image, b->image) == 0 &&
           strcmp(a->pod_uid, b->pod_uid) == 0 && strcmp(a->runtime, b->runtime) == 0 &&
           strcmp(a->qos_class, b->qos_class) == 0;
}

int entry_set_cgroup_strings(struct container *container, char **strings)
{
    const struct container_spec spec = {.qos_class = container->qos_class};
    return entry_set_strings(container, &spec, container->path, NULL, strings);
}

void entry_take_strings(struct table_entry *entry, const struct container *from, char *strings)
{
    entry->c = *from;
    entry->strings = strings;
}

/* ---- life ---- */

int entry_new(const struct container_spec *spec, uint64_t now_ns, struct table_entry **out)
{
    struct table_entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return -ENOMEM;
    struct container *c = &entry->c;
    c->state = CONTAINER_LIVE;
    c->cgroup_id = spec->cgroup_id;
    c->cgroup_fd = -1;
    c->found_mono_ns = now_ns;
    if (spec->key && *spec->key) {
        snprintf(c->key, sizeof c->key, "%s", spec->key);
        entry->own_key = true;
    }
    if (entry_set_strings(c, spec, spec->path, spec->id, &entry->strings) != 0) {
        free(entry);
        return -ENOMEM;
    }
    entry->admission = ENTRY_WAITING;
    entry->resolved = spec->resolved;
    entry->fleeting = spec->fleeting;
    entry->owner = spec->owner;
    *out = entry;
    return 0;
}

void entry_close(struct table_entry *entry)
{
    if (entry->c.cgroup_fd >= 0)
        close(entry->c.cgroup_fd);
    entry->c.cgroup_fd = -1;
}

void entry_free(struct table_entry *entry)
{
    if (!entry)
        return;
    entry_close(entry);
    free(entry->strings);
    free(entry);
}

/* ---- filters ---- */

/* Compiles "^(pattern)$". The pattern is compiled alone first: "a)|(b" must not become valid. */
static int compile(regex_t *out, const char *flag, const char *pattern, char *error,
                   size_t error_size)
{
    regex_t alone;
    int err = regcomp(&alone, pattern, REG_EXTENDED | REG_NOSUB);
    if (err) {
        char why[128];
        regerror(err, &alone, why, sizeof why);
        snprintf(error, error_size, "%s: not a regular expression: \"%s\": %s", flag, pattern, why);
        return -EINVAL;
    }
    regfree(&alone);
    char *whole;
    err = asprintf(&whole, "^(%s)$", pattern) < 0;
    if (!err) {
        err = regcomp(out, whole, REG_EXTENDED | REG_NOSUB);
        free(whole);
    }
    if (!err)
        return 0;
    snprintf(error, error_size, "%s: out of memory", flag);
    return -ENOMEM;
}

int container_filter_init(struct container_filter *filter, const char *include, const char *exclude,
                          char *error, size_t error_size)
{
    *filter = (struct container_filter){0};
    int err;
    if (include) {
        err = compile(&filter->include, "--containers.include", include, error, error_size);
        if (err)
            return err;
        filter->has_include = true;
    }
    if (exclude) {
        err = compile(&filter->exclude, "--containers.exclude", exclude, error, error_size);
        if (err) {
            container_filter_release(filter);
            return err;
        }
        filter->has_exclude = true;
    }
    return 0;
}

void container_filter_release(struct container_filter *filter)
{
    if (filter->has_include)
        regfree(&filter->include);
    if (filter->has_exclude)
        regfree(&filter->exclude);
    *filter = (struct container_filter){0};
}

bool container_filter_passes(const struct container_filter *filter, const char *namespace_,
                             const char *pod, const char *name)
{
    if (!filter->has_include && !filter->has_exclude)
        return true;
    char subject[2048];
    snprintf(subject, sizeof subject, "%s/%s/%s", namespace_, pod, name);
    if (filter->has_include && regexec(&filter->include, subject, 0, NULL, 0) != 0)
        return false;
    return !filter->has_exclude || regexec(&filter->exclude, subject, 0, NULL, 0) != 0;
}
