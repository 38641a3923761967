#include "exporter/source/recording/replay.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"
#include "exporter/source/recording/replay_internal.h"

/* "FILE:LINE: ..." for the line read last. Returns 'err', for the caller to return. */
static int broken(struct replay *replay, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int broken(struct replay *replay, int err, const char *format, ...)
{
    va_list args;
    int n = snprintf(replay->error, replay->error_size, "%s:%llu: ", replay->path,
                     (unsigned long long)replay->lines.number);
    if (n < 0 || (size_t)n >= replay->error_size)
        return err;
    va_start(args, format);
    vsnprintf(replay->error + n, replay->error_size - (size_t)n, format, args);
    va_end(args);
    return err;
}

static int no_memory(struct replay *replay)
{
    return broken(replay, -ENOMEM, "out of memory");
}

/* ---- one line of each kind ---- */

static int take_header(struct replay *replay, const struct recording_line *line)
{
    if (replay->lines.number != 1)
        return broken(replay, -EINVAL, "a second header");
    replay->machine = line->header.machine;
    replay->interval_ns = line->header.interval_ns;
    return 0;
}

static int take_container(struct replay *replay, const struct recording_line *line)
{
    const char *key = line->container.key;
    struct replay_key *known = replay_keys_find(&replay->keys, key);
    if (known && known->kind != SCOPE_CGROUP)
        return broken(replay, -EINVAL, "container: \"%s\" is the key of a unit or thread", key);
    if (known && known->gone)
        return broken(replay, -EINVAL, "container: \"%s\" is gone in this same tick", key);
    if (!known && replay_keys_add(&replay->keys, key, SCOPE_CGROUP))
        return no_memory(replay);
    return replay_events_add(&replay->events, &line->container) ? no_memory(replay) : 0;
}

static int take_gone(struct replay *replay, const struct recording_line *line)
{
    struct replay_key *known = replay_keys_find(&replay->keys, line->gone.key);

    if (!known || known->kind != SCOPE_CGROUP)
        return broken(replay, -EINVAL, "gone: no container line has the key \"%s\"",
                      line->gone.key);
    if (known->gone)
        return broken(replay, -EINVAL, "gone: \"%s\" is gone already", line->gone.key);
    replay_keys_gone(&replay->keys, known);
    return replay_events_add_gone(&replay->events, line->gone.key) ? no_memory(replay) : 0;
}

/* Units and threads: what a new one is, before it is added. */
static int check_fixed(struct replay *replay, const char *what, const char *key)
{
    if (replay->turn > 0)
        return broken(replay, -EINVAL, "%s: allowed only before the first tick", what);
    if (replay_keys_find(&replay->keys, key))
        return broken(replay, -EINVAL, "%s: the key \"%s\" is in use", what, key);
    return 0;
}

static int take_unit(struct replay *replay, const struct recording_line *line)
{
    int err = check_fixed(replay, "unit", line->unit.key);
    if (err)
        return err;
    struct source_unit *grown = realloc(replay->units, (replay->n_units + 1) * sizeof *grown);
    if (!grown)
        return no_memory(replay);
    replay->units = grown;
    replay->units[replay->n_units++] = line->unit;
    return replay_keys_add(&replay->keys, line->unit.key, SCOPE_UNIT) ? no_memory(replay) : 0;
}

static int take_thread(struct replay *replay, const struct recording_line *line)
{
    int err = check_fixed(replay, "thread", line->thread.key);
    if (err)
        return err;
    struct source_thread *grown = realloc(replay->threads, (replay->n_threads + 1) * sizeof *grown);
    if (!grown)
        return no_memory(replay);
    replay->threads = grown;
    replay->threads[replay->n_threads++] = line->thread;
    return replay_keys_add(&replay->keys, line->thread.key, SCOPE_THREAD) ? no_memory(replay) : 0;
}

/* For lines that only make sense within a tick and of a known key; 'machine': or of the machine. */
static int check_key(struct replay *replay, const char *what, const char *key, bool machine,
                     struct replay_key **out)
{
    if (replay->turn == 0)
        return broken(replay, -EINVAL, "%s: before the first tick", what);
    if (machine && strcmp(key, RECORDING_MACHINE_KEY) == 0) {
        *out = replay_keys_machine(&replay->keys);
        return *out ? 0 : no_memory(replay);
    }
    *out = replay_keys_find(&replay->keys, key);
    if (!*out)
        return broken(replay, -EINVAL, "%s: no container, unit or thread line has the key \"%s\"",
                      what, key);
    return 0;
}

static int take_reading(struct replay *replay, const struct recording_line *line)
{
    struct recording_read read = line->read;
    struct replay_key *key;
    const char *name = group_descs[read.group].name;
    const char *what = recording_has_times(read.group) ? "read" : name;
    bool any = read.group == GROUP_ACTIVITY || read.group == GROUP_BANDWIDTH;
    int err = check_key(replay, what, read.key, any, &key);
    if (err)
        return err;
    if (read.group == GROUP_ACTIVITY)
        read.enabled_ns = read.running_ns = read.values[0];
    struct replay_group *group = replay_key_group(key, read.group);
    if (!group)
        return no_memory(replay);
    err = replay_group_put(group, &read, replay->turn);
    if (err == -EEXIST)
        return broken(replay, -EINVAL, "%s: a second reading of \"%s\" %s in this tick", what,
                      read.key, name);
    if (err == -EINVAL)
        return broken(replay, err, "%s: \"%s\" %s comes both with and without \"cpu\"", what,
                      read.key, name);
    return err ? no_memory(replay) : 0;
}

static int take_sample(struct replay *replay, const struct recording_line *line)
{
    struct replay_key *key;
    int err = check_key(replay, "sample", line->sample.key, false, &key);
    if (err)
        return err;
    return replay_samples_put(&replay->samples, &line->sample, key) ? no_memory(replay) : 0;
}

static int take_probe(struct replay *replay, const struct recording_line *line)
{
    if (replay->turn == 0)
        return broken(replay, -EINVAL, "probe: before the first tick");
    if (array_reserve(&replay->probes, &replay->cap_probes, replay->n_probes + 1,
                      sizeof *replay->probes))
        return no_memory(replay);
    replay->probes[replay->n_probes++] = line->probe;
    return 0;
}

static uint8_t nibble(char digit)
{
    return (uint8_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

static int take_learned(struct replay *replay, const struct recording_line *line)
{
    if (replay->turn > 0)
        return broken(replay, -EINVAL, "learned: allowed only before the first tick");
    for (const char *hex = line->learned.hex; *hex; hex += 2)
        textbuf_char(&replay->learned, (char)(nibble(hex[0]) << 4 | nibble(hex[1])));
    if (replay->learned.len > RECORDING_LEARNED_MAX)
        return broken(replay, -EINVAL, "learned: more than %d bytes", RECORDING_LEARNED_MAX);
    return replay->learned.error ? no_memory(replay) : 0;
}

/* The next tick's line: kept for the next call. */
static int take_tick(struct replay *replay, const struct recording_line *line)
{
    const struct tick *last = &replay->ahead;
    if (replay->turn > 0 && line->tick.number <= last->number)
        return broken(replay, -EINVAL, "tick: %llu after %llu",
                      (unsigned long long)line->tick.number, (unsigned long long)last->number);
    if (replay->turn > 0 && line->tick.mono_ns <= last->mono_ns)
        return broken(replay, -EINVAL, "tick: \"mono_ns\" does not grow (%llu after %llu)",
                      (unsigned long long)line->tick.mono_ns, (unsigned long long)last->mono_ns);
    replay->ahead = (struct tick){.number = line->tick.number,
                                  .mono_ns = line->tick.mono_ns,
                                  .wall_ns = line->tick.wall_ns,
                                  .interval_ns = replay->interval_ns};
    replay->have_ahead = true;
    return 0;
}

static int take_line(struct replay *replay, const struct recording_line *line)
{
    if (replay->lines.number == 1 && line->kind != RECORDING_HEADER)
        return broken(replay, -EINVAL, "the first line must be the header, {\"recording\":1,...}");
    switch (line->kind) {
    case RECORDING_HEADER:
        return take_header(replay, line);
    case RECORDING_CONTAINER:
        return take_container(replay, line);
    case RECORDING_GONE:
        return take_gone(replay, line);
    case RECORDING_UNIT:
        return take_unit(replay, line);
    case RECORDING_THREAD:
        return take_thread(replay, line);
    case RECORDING_TICK:
        return take_tick(replay, line);
    case RECORDING_READ:
        return take_reading(replay, line);
    case RECORDING_SAMPLE:
        return take_sample(replay, line);
    case RECORDING_PROBE:
        return take_probe(replay, line);
    case RECORDING_LOST:
        replay_samples_lost(&replay->samples, &line->lost);
        break;
    case RECORDING_MARK:
        if (replay->n_marks < REPLAY_MARKS_MAX) {
            struct replay_mark *mark = &replay->marks[replay->n_marks++];
            snprintf(mark->why, sizeof mark->why, "%s", line->mark.why);
            snprintf(mark->key, sizeof mark->key, "%s", line->mark.key);
        }
        break;
    case RECORDING_LEARNED:
        return take_learned(replay, line);
    case RECORDING_TRUTH:
    case RECORDING_UNKNOWN:
        break;
    }
    return 0;
}

/* ---- the cursor ---- */

/* jansson leaves out characters when it has no room for them, and the line then looks wrong. One
 * that is wrong is wrong twice, in the same words. */
static int parse_twice(struct replay *replay, const char *text, size_t len,
                       struct recording_line *line)
{
    char first[256], what[256];
    if (!recording_parse_line(text, len, line, first, sizeof first) ||
        !recording_parse_line(text, len, line, what, sizeof what))
        return 0;
    return strcmp(first, what) == 0 ? broken(replay, -EINVAL, "%s", what) : no_memory(replay);
}

/* Reads lines up to and with the next tick line, or to the end of the file. */
static int read_to_tick(struct replay *replay)
{
    replay->have_ahead = false;
    while (!replay->have_ahead) {
        struct recording_line line;
        const char *text;
        size_t len;
        int got = lines_next(&replay->lines, &text, &len);
        if (got == 0)
            return 0;
        if (got == -EMSGSIZE)
            return broken(replay, -EINVAL, "longer than %d bytes", RECORDING_MAX_LINE);
        if (got == -EBADMSG)
            return broken(replay, -EINVAL,
                          "what follows is damaged, or another program compressed it: take it "
                          "apart first (gzip -d)");
        if (got < 0) {
            replay->lines.number++; /* the line that could not be read */
            return broken(replay, got, "%s", strerror(-got));
        }
        int err = parse_twice(replay, text, len, &line);
        if (err == -EINVAL && replay->lines.torn && replay->lines.number > 1)
            return 0; /* who recorded had no time to finish the line */
        if (err)
            return err;
        err = take_line(replay, &line);
        recording_line_release(&line);
        if (err)
            return err;
    }
    return 0;
}

int replay_open(const char *path, struct replay **out, char *error, size_t error_size)
{
    struct replay *replay = calloc(1, sizeof *replay);
    int err = -ENOMEM;
    if (replay)
        replay->path = strdup(path);
    if (!replay || !replay->path) {
        free(replay);
        snprintf(error, error_size, "%s: out of memory", path);
        return err;
    }
    replay->error = error;
    replay->error_size = error_size;
    err = lines_init(&replay->lines, path, RECORDING_MAX_LINE);
    if (err) {
        snprintf(error, error_size, "%s: %s", path, strerror(-err));
    } else {
        err = read_to_tick(replay);
        if (!err && replay->lines.number == 0) {
            snprintf(error, error_size, "%s: empty, not a recording", path);
            err = -EINVAL;
        }
    }
    if (err) {
        replay_free(replay);
        return err;
    }
    *out = replay;
    return 0;
}

void replay_free(struct replay *replay)
{
    if (!replay)
        return;
    lines_release(&replay->lines);
    replay_keys_release(&replay->keys);
    replay_events_release(&replay->events);
    free(replay->probes);
    replay_samples_release(&replay->samples);
    textbuf_release(&replay->learned);
    free(replay->units);
    free(replay->threads);
    free(replay->path);
    free(replay);
}

uint64_t replay_begin_ns(const struct replay *replay)
{
    return replay->ahead.mono_ns;
}

int replay_next(struct replay *replay, struct tick *out, char *error, size_t error_size)
{
    replay_events_clear(&replay->events);
    replay_samples_begin(&replay->samples, replay->have_ahead ? &replay->ahead : NULL);
    replay_keys_settle(&replay->keys);
    replay->n_probes = 0;
    replay->n_marks = 0;
    replay->turn++; /* at the end too: no reading is handed out twice */
    if (!replay->have_ahead)
        return 0;
    struct tick tick = replay->ahead;
    replay->error = error;
    replay->error_size = error_size;
    int err = read_to_tick(replay);
    if (err) {
        replay->have_ahead = false;
        replay->n_probes = 0;
        replay_samples_begin(&replay->samples, NULL);
        replay->turn++;
        replay_events_clear(&replay->events);
        return err;
    }
    *out = tick;
    return 1;
}

const struct replay_mark *replay_marks(const struct replay *replay, size_t *n)
{
    *n = replay->n_marks;
    return replay->marks;
}

const uint8_t *replay_learned(const struct replay *replay, size_t *len)
{
    *len = replay->learned.len;
    return (const uint8_t *)replay->learned.data;
}

const struct machine *replay_machine(const struct replay *replay)
{
    return &replay->machine;
}

uint64_t replay_interval_ns(const struct replay *replay)
{
    return replay->interval_ns;
}

const struct source_unit *replay_units(const struct replay *replay, size_t *n)
{
    *n = replay->n_units;
    return replay->units;
}

const struct source_thread *replay_threads(const struct replay *replay, size_t *n)
{
    *n = replay->n_threads;
    return replay->threads;
}

const struct replay_container_event *replay_container_events(const struct replay *replay, size_t *n)
{
    *n = replay->events.n;
    return replay->events.at;
}
