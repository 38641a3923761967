#include "tests/attribution/tape.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/source/recording/replay.h"

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "tape: %s\n", what);
    exit(2);
}

/* ---- loading ---- */

struct loader {
    struct replay *replay;
    struct source *source;
    uint64_t activity[TAPE_KEYS], core[TAPE_KEYS];
    size_t cap;
};

static void grow(struct tape *tape, struct loader *in)
{
    if (tape->n < in->cap)
        return;
    in->cap = in->cap ? 2 * in->cap : 256;
    tape->ticks = realloc(tape->ticks, in->cap * sizeof *tape->ticks);
    must(tape->ticks != NULL, "out of memory");
    for (size_t k = 0; k < tape->n_keys; k++) {
        struct tape_key *key = &tape->keys[k];
        key->read = realloc(key->read, in->cap * sizeof *key->read);
        must(key->read != NULL, "out of memory");
        for (size_t i = 0; i < key->n_rows; i++) {
            key->rows[i].ns = realloc(key->rows[i].ns, in->cap * sizeof *key->rows[i].ns);
            must(key->rows[i].ns != NULL, "out of memory");
        }
    }
}

/* tick: in which it is read for the first time. */
static void add_key(struct tape *tape, struct loader *in, enum scope_kind kind, const char *name,
                    size_t tick)
{
    const struct scope scope = {.kind = kind, .key = name, .cgroup_fd = -1, .cpu = -1};
    struct verdict why;
    must(tape->n_keys < TAPE_KEYS, "too many containers");
    struct tape_key *key = &tape->keys[tape->n_keys];
    must(strlen(name) < sizeof key->name, "a key is too long");
    snprintf(key->name, sizeof key->name, "%s", name);
    key->came = tick;
    key->went = SIZE_MAX;
    if (in->cap > 0)
        must((key->read = calloc(in->cap, sizeof *key->read)) != NULL, "out of memory");
    must(in->source->ops->open(in->source, &scope, GROUP_ACTIVITY, &in->activity[tape->n_keys],
                               &why) == 0,
         "cannot open a container");
    if (kind == SCOPE_CGROUP)
        must(in->source->ops->open(in->source, &scope, GROUP_CORE, &in->core[tape->n_keys], &why) ==
                 0,
             "cannot open a container");
    tape->n_keys++;
}

/* A CPU that it never ran on before: nothing until now. */
static struct tape_row *row_of(struct tape_key *key, int cpu, const struct loader *in)
{
    for (size_t i = 0; i < key->n_rows; i++)
        if (key->rows[i].cpu == cpu)
            return &key->rows[i];
    must(key->n_rows < TAPE_CPUS, "too many CPUs");
    struct tape_row *row = &key->rows[key->n_rows++];
    row->cpu = cpu;
    row->ns = calloc(in->cap, sizeof *row->ns);
    must(row->ns != NULL, "out of memory");
    return row;
}

/* The clocks of the container's core group where it was counted, else of its group activity. */
static bool load_group(struct tape_key *key, struct loader *in, enum group group, uint64_t handle,
                       size_t tick)
{
    static uint64_t rows[TAPE_CPUS * (sizeof(struct reading_row) / 8 + GROUP_MAX_ROLES)];
    struct reading reading = {
        .cap = TAPE_CPUS, .stride_bytes = reading_stride(group), .rows = rows};
    if (handle == 0 || in->source->ops->width(in->source, handle) > TAPE_CPUS ||
        in->source->ops->read(in->source, handle, &reading) != 0)
        return false;
    for (size_t i = 0; i < reading.n; i++) {
        const struct reading_row *from = reading_row(&reading, i);
        if (from->present)
            row_of(key, from->cpu, in)->ns[tick] = from->enabled_ns;
    }
    return true;
}

/* A container has a line when it is found, and another when it gets its names. */
static size_t find(const struct tape *tape, const char *name)
{
    size_t k = 0;
    while (k < tape->n_keys && strcmp(tape->keys[k].name, name) != 0)
        k++;
    return k;
}

/* In the tick of its last line a container is read for the last time. */
static void load_events(struct tape *tape, struct loader *in, size_t tick, uint64_t mono_ns)
{
    size_t n;
    const struct replay_container_event *events = replay_container_events(in->replay, &n);
    for (size_t i = 0; i < n; i++) {
        const struct recording_container *container = &events[i].container;
        size_t k = find(tape, container->key);
        if (events[i].gone) {
            must(k < tape->n_keys, "gone: no such container");
            tape->keys[k].went = tick;
            must(replay_events_add_gone(&tape->events, container->key) == 0, "out of memory");
            continue;
        }
        if (k == tape->n_keys) {
            add_key(tape, in, SCOPE_CGROUP, container->key, tick);
            tape->keys[k].found_mono_ns =
                container->found_mono_ns ? container->found_mono_ns : mono_ns;
        }
        must(tape->keys[k].went == SIZE_MAX, "a container comes again");
        must(replay_events_add(&tape->events, container) == 0, "out of memory");
    }
}

static void load_tick(struct tape *tape, struct loader *in, const struct tick *tick)
{
    grow(tape, in);
    size_t t = tape->n++;
    struct tape_tick *to = &tape->ticks[t];
    load_events(tape, in, t, tick->mono_ns);
    *to = (struct tape_tick){.tick = *tick, .end_events = tape->events.n};
    must(in->source->ops->probes(in->source, to->bursts, TAPE_BURSTS, &to->n_bursts) == 0,
         "cannot read the probe");
    for (size_t k = 0; k < tape->n_keys; k++) {
        struct tape_key *key = &tape->keys[k];
        for (size_t i = 0; i < key->n_rows; i++)
            key->rows[i].ns[t] = t > 0 ? key->rows[i].ns[t - 1] : 0;
        key->read[t] =
            tape_is_there(tape, k, t) && (load_group(key, in, GROUP_CORE, in->core[k], t) ||
                                          load_group(key, in, GROUP_ACTIVITY, in->activity[k], t));
    }
}

static void load_start(struct tape *tape, struct loader *in)
{
    size_t n;
    const struct source_thread *threads = replay_threads(in->replay, &n);
    must(n > 0, "the recording has no probe");
    tape->thread = threads[0];
    tape->machine = *replay_machine(in->replay);
    tape->interval_ns = replay_interval_ns(in->replay);
    add_key(tape, in, SCOPE_MACHINE, "host", 0);
    load_events(tape, in, 0, 0);
    tape->start_events = tape->events.n;
}

void tape_load(struct tape *tape, const char *path)
{
    char error[512] = "out of memory";
    struct loader in = {0};
    struct tick tick;
    memset(tape, 0, sizeof *tape);
    must(replay_open(path, &in.replay, error, sizeof error) == 0, error);
    must(replay_source_new(in.replay, &in.source) == 0, "out of memory");
    load_start(tape, &in);
    int more;
    while ((more = replay_next(in.replay, &tick, error, sizeof error)) > 0)
        load_tick(tape, &in, &tick);
    must(more == 0, error);
    for (size_t k = 0; k < tape->n_keys; k++) {
        in.source->ops->close(in.source, in.activity[k]);
        if (in.core[k])
            in.source->ops->close(in.source, in.core[k]);
    }
    in.source->ops->free(in.source);
    replay_free(in.replay);
}

void tape_release(struct tape *tape)
{
    for (size_t k = 0; k < tape->n_keys; k++) {
        for (size_t i = 0; i < tape->keys[k].n_rows; i++)
            free(tape->keys[k].rows[i].ns);
        free(tape->keys[k].read);
    }
    free(tape->ticks);
    replay_events_release(&tape->events);
}

/* ---- what it says ---- */

size_t tape_find(const struct tape *tape, const char *name)
{
    size_t k = find(tape, name);
    must(k < tape->n_keys, "no such container");
    return k;
}

bool tape_is_there(const struct tape *tape, size_t k, size_t t)
{
    return t >= tape->keys[k].came && t <= tape->keys[k].went;
}

/* The first reading spans the time since it was found, if that is not longer ago than a tick: as
 * the collector has it. */
static uint64_t first_length_ns(const struct tape *tape, const struct tape_key *key, size_t t)
{
    uint64_t now = tape->ticks[t].tick.mono_ns;
    uint64_t length = now - key->found_mono_ns;
    return now <= key->found_mono_ns || length > tape->interval_ns ? tape->interval_ns : length;
}

double tape_activity(const struct tape *tape, size_t k, size_t t)
{
    const struct tape_key *key = &tape->keys[k];
    if (!key->read[t])
        return NAN;
    size_t before = t;
    while (before > key->came && !key->read[before - 1])
        before--;
    bool first = before == key->came;
    if (first && key->came == 0)
        return NAN;
    uint64_t ns = 0;
    for (size_t i = 0; i < key->n_rows; i++)
        if (key->rows[i].cpu < 0 || key->rows[i].cpu != tape->thread.cpu)
            ns += key->rows[i].ns[t] - (first ? 0 : key->rows[i].ns[before - 1]);
    uint64_t length_ns = first ? first_length_ns(tape, key, t)
                               : tape->ticks[t].tick.mono_ns - tape->ticks[before - 1].tick.mono_ns;
    return (double)ns / (double)length_ns;
}

/* ---- what is put in ---- */

static void scale(struct tape_tick *tick, double factor)
{
    for (size_t i = 0; i < tick->n_bursts; i++)
        tick->bursts[i].latency_ns *= factor;
}

void tape_put_in(struct tape *tape, size_t key, double effect)
{
    for (size_t t = 0; t < tape->n; t++) {
        double activity = tape_activity(tape, key, t);
        if (activity > 0)
            scale(&tape->ticks[t], 1 + effect * activity);
    }
}

/* Gains are shifted, and added up again. */
static void shift_row(uint64_t *ns, size_t n, size_t ticks)
{
    uint64_t *gains = calloc(n, sizeof *gains), sum = 0;
    must(gains != NULL, "out of memory");
    for (size_t t = 0; t < n; t++)
        gains[(t + ticks) % n] = t > 0 ? ns[t] - ns[t - 1] : ns[0];
    for (size_t t = 0; t < n; t++)
        ns[t] = sum += gains[t];
    free(gains);
}

void tape_shift_activity(struct tape *tape, size_t ticks)
{
    for (size_t k = 0; k < tape->n_keys; k++) {
        for (size_t i = 0; i < tape->keys[k].n_rows; i++)
            shift_row(tape->keys[k].rows[i].ns, tape->n, ticks);
        for (size_t t = 0; t < tape->n; t++)
            must(tape->keys[k].read[t], "activity with gaps cannot be shifted");
    }
}

void tape_shift_latency(struct tape *tape, size_t ticks)
{
    struct tape_tick *from = malloc(tape->n * sizeof *from);
    must(from != NULL, "out of memory");
    memcpy(from, tape->ticks, tape->n * sizeof *from);
    for (size_t t = 0; t < tape->n; t++) {
        struct tape_tick *to = &tape->ticks[(t + ticks) % tape->n];
        to->n_bursts = from[t].n_bursts;
        memcpy(to->bursts, from[t].bursts, sizeof to->bursts);
    }
    free(from);
}

void tape_take_latency(struct tape *tape, const struct tape *other)
{
    if (tape->n > other->n)
        tape->n = other->n;
    for (size_t t = 0; t < tape->n; t++) {
        tape->ticks[t].n_bursts = other->ticks[t].n_bursts;
        memcpy(tape->ticks[t].bursts, other->ticks[t].bursts, sizeof tape->ticks[t].bursts);
    }
}

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

void tape_add_unseen(struct tape *tape, double effect, uint64_t seed)
{
    bool on = false;
    size_t left = 0;
    for (size_t t = 0; t < tape->n; t++) {
        if (left == 0) {
            left = 10 + draw(&seed) % 51;
            on = !on;
        }
        left--;
        if (on)
            scale(&tape->ticks[t], 1 + effect);
    }
}
