#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/source/recording/recorder.h"

struct recorder_source {
    struct source source;
    struct source_ops ops; /* ours around inner's: what inner lacks is lacking here */
    struct recorder *recorder;
    struct source *inner;
    struct sampling sampling[ACCESS_KINDS]; /* as it was written last */
    bool sampling_written[ACCESS_KINDS];
};

/* An open group: inner's handle, and what of it is in the file. */
struct wrapped_group {
    uint64_t inner;
    enum group group;
    char *key;
    uint64_t owner;
    struct reading last; /* the rows as they were written last */
    unsigned repeats;    /* as they were then */
};

static struct recorder_source *self_of(struct source *source)
{
    return (struct recorder_source *)source;
}

static struct source *inner_of(struct source *source)
{
    return self_of(source)->inner;
}

static struct wrapped_group *handle_of(uint64_t handle)
{
    return (struct wrapped_group *)(uintptr_t)handle;
}

static bool wrapped_check(struct source *source, enum scope_kind kind, enum group group,
                          struct verdict *why)
{
    return inner_of(source)->ops->check(inner_of(source), kind, group, why);
}

static void handle_free(struct wrapped_group *handle)
{
    free(handle->last.rows);
    free(handle->key);
    free(handle);
}

static int wrapped_open(struct source *source, const struct scope *scope, enum group group,
                        uint64_t *out, struct verdict *why)
{
    struct recorder_source *self = self_of(source);
    struct source *inner = self->inner;
    struct wrapped_group *handle = calloc(1, sizeof *handle);
    int err = -ENOMEM;
    if (!handle)
        goto no_memory;
    handle->group = group;
    handle->last.stride_bytes = reading_stride(group);
    handle->key = strdup(scope->kind == SCOPE_MACHINE ? RECORDING_MACHINE_KEY : scope->key);
    if (!handle->key || recorder_own(self->recorder, scope->owner, scope->key)) {
        handle_free(handle);
        goto no_memory;
    }
    handle->owner = scope->owner;
    err = inner->ops->open(inner, scope, group, &handle->inner, why);
    if (err) {
        recorder_disown(self->recorder, handle->owner);
        handle_free(handle);
        return err;
    }
    *out = (uint64_t)(uintptr_t)handle;
    return 0;
no_memory:
    verdict_set(why, REASON_NO_DEVICE, "out of memory while opening %s", scope->key);
    return err;
}

static size_t wrapped_width(struct source *source, uint64_t handle)
{
    return inner_of(source)->ops->width(inner_of(source), handle_of(handle)->inner);
}

static int wrapped_begin(struct source *source, const struct tick *tick)
{
    return inner_of(source)->ops->begin(inner_of(source), tick);
}

/* Room to remember n rows; without it every row counts as changed. */
static void remember_rows(struct reading *last, size_t n)
{
    if (n > last->cap) {
        void *grown = realloc(last->rows, n * last->stride_bytes);
        if (!grown)
            return;
        last->rows = grown;
        last->cap = n;
    }
    for (; last->n < n; last->n++)
        memset(reading_row(last, last->n), 0, last->stride_bytes);
}

static void write_rows(struct recorder *recorder, struct wrapped_group *handle,
                       const struct reading *reading)
{
    struct reading *last = &handle->last;
    size_t first = reading->n, written = 0;
    if (handle->repeats != recorder_repeats(recorder))
        last->n = 0;
    handle->repeats = recorder_repeats(recorder);
    remember_rows(last, reading->n);
    for (size_t i = 0; i < reading->n; i++) {
        const struct reading_row *row = reading_row(reading, i);
        if (!row->present)
            continue;
        if (first == reading->n)
            first = i;
        if (i < last->n) {
            if (memcmp(reading_row(last, i), row, reading->stride_bytes) == 0)
                continue;
            memcpy(reading_row(last, i), row, reading->stride_bytes);
        }
        recorder_row(recorder, handle->key, handle->group, row);
        written++;
    }
    /* Nothing changed: one line still says that there was a reading. */
    if (written == 0 && first < reading->n)
        recorder_row(recorder, handle->key, handle->group, reading_row(reading, first));
}

static int wrapped_read(struct source *source, uint64_t handle, struct reading *out)
{
    struct recorder_source *self = self_of(source);
    int err = self->inner->ops->read(self->inner, handle_of(handle)->inner, out);
    if (!err && recorder_takes_readings(self->recorder))
        write_rows(self->recorder, handle_of(handle), out);
    return err;
}

/* Not recorded: who took what is made out again from CPU time when a recording is replayed. */
static size_t wrapped_takings(struct source *source, struct cpu_taking *out, size_t cap)
{
    return inner_of(source)->ops->takings(inner_of(source), out, cap);
}

static int wrapped_probes(struct source *source, struct probe_reading *out, size_t cap, size_t *n)
{
    struct recorder_source *self = self_of(source);
    int err = self->inner->ops->probes(self->inner, out, cap, n);
    if (!err && recorder_takes_readings(self->recorder))
        for (size_t i = 0; i < *n; i++)
            recorder_probe(self->recorder, &out[i]);
    return err;
}

/* Not recorded: a recording has the readings that counted. */
static void wrapped_probe_discards(struct source *source, uint64_t discarded[PROBE_DISCARDS])
{
    inner_of(source)->ops->probe_discards(inner_of(source), discarded);
}

/* ---- samples ---- */

static bool wrapped_samples(struct source *source, enum access access, struct verdict *why)
{
    return inner_of(source)->ops->samples(inner_of(source), access, why);
}

static size_t wrapped_drain(struct source *source, struct access_sample *out, size_t cap)
{
    struct recorder_source *self = self_of(source);
    size_t n = self->inner->ops->drain(self->inner, out, cap);
    if (!recorder_takes_readings(self->recorder))
        return n;
    for (size_t i = 0; i < n; i++) {
        const char *key = recorder_key(self->recorder, out[i].owner);
        if (key)
            recorder_sample(self->recorder, key, &out[i]);
    }
    return n;
}

/* Samples lost before the first tick are written in it. */
static void wrapped_sampling(struct source *source, enum access access, struct sampling *out)
{
    struct recorder_source *self = self_of(source);
    struct sampling *last = &self->sampling[access];
    self->inner->ops->sampling(self->inner, access, out);
    if (!recorder_takes_readings(self->recorder) ||
        (self->sampling_written[access] && memcmp(last, out, sizeof *last) == 0))
        return;
    recorder_sampling(self->recorder, access, last, out);
    self->sampling_written[access] = true;
    *last = *out;
}

static void wrapped_close(struct source *source, uint64_t handle)
{
    inner_of(source)->ops->close(inner_of(source), handle_of(handle)->inner);
    recorder_disown(self_of(source)->recorder, handle_of(handle)->owner);
    handle_free(handle_of(handle));
}

static size_t wrapped_open_counters(struct source *source)
{
    return inner_of(source)->ops->open_counters(inner_of(source));
}

static uint64_t wrapped_unread(struct source *source)
{
    return inner_of(source)->ops->unread(inner_of(source));
}

static int wrapped_end(struct source *source)
{
    return inner_of(source)->ops->end(inner_of(source));
}

static void wrapped_free(struct source *source)
{
    inner_of(source)->ops->free(inner_of(source));
    free(source);
}

int recorder_wrap(struct recorder *recorder, struct source *inner, struct source **out)
{
    struct recorder_source *self = calloc(1, sizeof *self);
    if (!self) {
        inner->ops->free(inner);
        return -ENOMEM;
    }
    self->ops = (struct source_ops){
        .name = inner->ops->name,
        .check = inner->ops->check ? wrapped_check : NULL,
        .open = inner->ops->open ? wrapped_open : NULL,
        .width = inner->ops->width ? wrapped_width : NULL,
        .begin = inner->ops->begin ? wrapped_begin : NULL,
        .read = inner->ops->read ? wrapped_read : NULL,
        .takings = inner->ops->takings ? wrapped_takings : NULL,
        .probes = inner->ops->probes ? wrapped_probes : NULL,
        .probe_discards = inner->ops->probe_discards ? wrapped_probe_discards : NULL,
        .samples = inner->ops->samples ? wrapped_samples : NULL,
        .drain = inner->ops->drain ? wrapped_drain : NULL,
        .sampling = inner->ops->sampling ? wrapped_sampling : NULL,
        .close = inner->ops->close ? wrapped_close : NULL,
        .open_counters = inner->ops->open_counters ? wrapped_open_counters : NULL,
        .unread = inner->ops->unread ? wrapped_unread : NULL,
        .end = inner->ops->end ? wrapped_end : NULL,
        .free = wrapped_free,
    };
    self->source.ops = &self->ops;
    self->recorder = recorder;
    self->inner = inner;
    *out = &self->source;
    return 0;
}
