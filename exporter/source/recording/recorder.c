#include "exporter/source/recording/recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"
#include "exporter/base/textbuf.h"
#include "exporter/source/recording/file/output.h"
#include "exporter/source/recording/format.h"

/* Lines are gathered up to this size, so that a tick of many containers does not grow the buffer.
 */
enum { FLUSH_BYTES = 256 << 10, BUFFER_BYTES = FLUSH_BYTES + (16 << 10) };

enum recorder_state {
    STATE_START,   /* before the first tick */
    STATE_TICK,    /* between recorder_tick and recorder_flush */
    STATE_BETWEEN, /* ticks: container lines wait for the next one */
};

/* The key of an owner: of the scopes that are open with it, in whichever source. Samples carry an
 * owner, lines a key. */
struct owner {
    uint64_t owner;
    unsigned refs; /* open groups */
    char key[RECORDING_MAX_KEY + 1];
};

struct recorder {
    struct output output;
    int err; /* the first; then nothing more is written */
    enum recorder_state state;
    const struct log *log;
    char *path;
    struct textbuf lines;
    struct textbuf waiting;
    struct owner *owners; /* ascending */
    size_t n_owners, cap_owners;
    const struct recorder_sink *sink; /* NULL: nobody else takes it */
    unsigned repeats;
};

static void stop(struct recorder *recorder, int err)
{
    bool full = err == -EFBIG && recorder->output.max_bytes > 0;
    recorder->err = err;
    log_error(recorder->log, "record", "the recording %s stops here: %s", recorder->path,
              full ? "it has reached its limit of bytes" : strerror(-err));
    err = output_cut(&recorder->output);
    if (err)
        log_error(recorder->log, "record", "the end of %s is not whole: %s", recorder->path,
                  strerror(-err));
}

static void write_out(struct recorder *recorder)
{
    int err = textbuf_finish(&recorder->lines);
    if (recorder->err)
        return;
    if (!err)
        err = output_write(&recorder->output, recorder->lines.data, recorder->lines.len);
    textbuf_clear(&recorder->lines);
    if (err)
        stop(recorder, err);
}

/* Where the next line goes; NULL when nothing is recorded any more. */
static struct textbuf *line_begin(struct recorder *recorder)
{
    if (recorder->err)
        return NULL;
    if (recorder->lines.len >= FLUSH_BYTES)
        write_out(recorder);
    return recorder->err ? NULL : &recorder->lines;
}

/* As line_begin, for lines that wait for the next tick when there is none now. */
static struct textbuf *event_begin(struct recorder *recorder)
{
    if (recorder->state != STATE_BETWEEN)
        return line_begin(recorder);
    return recorder->err ? NULL : &recorder->waiting;
}

/* Without a file from the start, it is as if writing it had failed. */
static int open_file(struct recorder *recorder, const char *path)
{
    recorder->path = strdup(path);
    if (!recorder->path || textbuf_reserve(&recorder->lines, BUFFER_BYTES))
        return -ENOMEM;
    return output_open(&recorder->output, path);
}

static int write_header(struct recorder *recorder, const struct recording_line *header)
{
    recording_line_text(header, &recorder->lines);
    write_out(recorder);
    return recorder->err ? recorder->err : output_mark(&recorder->output);
}

int recorder_new(const char *path, const struct machine *machine, uint64_t interval_ns,
                 const struct log *log, struct recorder **out)
{
    const struct recording_line header = {
        .kind = RECORDING_HEADER, .header = {.machine = *machine, .interval_ns = interval_ns}};
    struct recorder *recorder = calloc(1, sizeof *recorder);
    if (!recorder)
        return -ENOMEM;
    recorder->output.fd = -1;
    int err = path ? open_file(recorder, path) : 0;
    if (!err && path)
        err = write_header(recorder, &header);
    recorder->err = path ? err : -ENOENT;
    if (err) {
        recorder_free(recorder);
        return err;
    }
    recorder->log = log; /* until here the caller logs failures */
    *out = recorder;
    return 0;
}

const char *recorder_why(int err)
{
    return output_why(err);
}

int recorder_free(struct recorder *recorder)
{
    if (!recorder)
        return 0;
    if (!recorder->err)
        write_out(recorder);
    int err = recorder->path ? recorder->err : 0, closed = output_close(&recorder->output);
    err = err ? err : closed;
    textbuf_release(&recorder->lines);
    textbuf_release(&recorder->waiting);
    free(recorder->owners);
    free(recorder->path);
    free(recorder);
    return err;
}

/* ---- owners ---- */

/* The index of an owner, or where it belongs. */
static size_t place(const struct recorder *recorder, uint64_t owner)
{
    size_t low = 0, high = recorder->n_owners;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (recorder->owners[middle].owner < owner)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct owner *find(const struct recorder *recorder, uint64_t owner)
{
    size_t at = place(recorder, owner);
    bool known = at < recorder->n_owners && recorder->owners[at].owner == owner;
    return known ? &recorder->owners[at] : NULL;
}

int recorder_own(struct recorder *recorder, uint64_t owner, const char *key)
{
    struct owner *known = find(recorder, owner);
    if (known)
        known->refs++;
    if (known || owner == 0)
        return 0;
    if (array_reserve(&recorder->owners, &recorder->cap_owners, recorder->n_owners + 1,
                      sizeof *recorder->owners))
        return -ENOMEM;
    struct owner *at = &recorder->owners[place(recorder, owner)];
    memmove(at + 1, at, (size_t)(&recorder->owners[recorder->n_owners++] - at) * sizeof *at);
    *at = (struct owner){.owner = owner, .refs = 1};
    strncpy(at->key, key, RECORDING_MAX_KEY);
    return 0;
}

void recorder_disown(struct recorder *recorder, uint64_t owner)
{
    struct owner *known = find(recorder, owner);
    if (known && --known->refs == 0)
        memmove(known, known + 1,
                (size_t)(&recorder->owners[--recorder->n_owners] - known) * sizeof *known);
}

const char *recorder_key(const struct recorder *recorder, uint64_t owner)
{
    const struct owner *known = find(recorder, owner);
    return known ? known->key : NULL;
}

/* ---- lines ---- */

static void put(struct recorder *recorder, const struct recording_line *line, struct textbuf *out)
{
    if (recorder->sink)
        recorder->sink->line(recorder->sink->context, line);
    if (out)
        recording_line_text(line, out);
}

void recorder_tick(struct recorder *recorder, const struct tick *tick)
{
    const struct recording_line line = {.kind = RECORDING_TICK,
                                        .tick = {tick->number, tick->mono_ns, tick->wall_ns}};
    struct textbuf *out = line_begin(recorder);
    recorder->state = STATE_TICK;
    put(recorder, &line, out);
    if (!out)
        return;
    int err = textbuf_finish(&recorder->waiting);
    if (err) {
        stop(recorder, err);
        return;
    }
    if (recorder->waiting.len > 0)
        textbuf_add(out, recorder->waiting.data, recorder->waiting.len);
    textbuf_clear(&recorder->waiting);
}

void recorder_flush(struct recorder *recorder)
{
    if (recorder->sink && recorder->state == STATE_TICK &&
        !recorder->sink->flush(recorder->sink->context))
        recorder_repeat(recorder);
    if (recorder->state == STATE_TICK)
        recorder->state = STATE_BETWEEN;
    write_out(recorder);
    int err = recorder->err ? 0 : output_mark(&recorder->output);
    if (err)
        stop(recorder, err);
}

void recorder_line(struct recorder *recorder, const struct recording_line *line)
{
    struct textbuf *out;
    if (line->kind == RECORDING_TICK) {
        const struct tick tick = {line->tick.number, line->tick.mono_ns, line->tick.wall_ns, 0};
        recorder_tick(recorder, &tick);
        return;
    }
    if (line->kind == RECORDING_CONTAINER)
        out = event_begin(recorder);
    else if (line->kind == RECORDING_GONE && recorder->state != STATE_TICK)
        /* Never above the first tick, which has the last reads of what ended before it. */
        out = recorder->err ? NULL : &recorder->waiting;
    else
        out = line_begin(recorder);
    put(recorder, line, out);
}

void recorder_tee(struct recorder *recorder, const struct recorder_sink *sink)
{
    recorder->sink = sink;
}

void recorder_repeat(struct recorder *recorder)
{
    recorder->repeats++;
}

unsigned recorder_repeats(const struct recorder *recorder)
{
    return recorder->repeats;
}

void recorder_limit(struct recorder *recorder, uint64_t max_bytes)
{
    recorder->output.max_bytes = max_bytes;
}

bool recorder_is_active(const struct recorder *recorder)
{
    return !recorder->err;
}

uint64_t recorder_bytes(const struct recorder *recorder)
{
    return recorder->output.written;
}

bool recorder_takes_readings(const struct recorder *recorder)
{
    return (!recorder->err || recorder->sink) && recorder->state == STATE_TICK;
}

void recorder_unit(struct recorder *recorder, const struct source_unit *unit)
{
    recorder_line(recorder, &(struct recording_line){.kind = RECORDING_UNIT, .unit = *unit});
}

void recorder_thread(struct recorder *recorder, const struct source_thread *thread)
{
    recorder_line(recorder, &(struct recording_line){.kind = RECORDING_THREAD, .thread = *thread});
}

void recorder_container(struct recorder *recorder, const struct recording_container *container)
{
    recorder_line(recorder,
                  &(struct recording_line){.kind = RECORDING_CONTAINER, .container = *container});
}

void recorder_gone(struct recorder *recorder, const char *key)
{
    recorder_line(recorder, &(struct recording_line){.kind = RECORDING_GONE, .gone.key = key});
}

void recorder_row(struct recorder *recorder, const char *key, enum group group,
                  const struct reading_row *row)
{
    struct recording_line line; /* large, and a reading is little of it */
    line.kind = RECORDING_READ;
    line.read = (struct recording_read){
        .key = key, .group = group, .cpu = row->cpu, .present = row->present};
    if (recording_has_times(group)) {
        line.read.enabled_ns = row->enabled_ns;
        line.read.running_ns = row->running_ns;
    }
    memcpy(line.read.values, row->count, group_descs[group].n * sizeof *row->count);
    recorder_line(recorder, &line);
}

void recorder_probe(struct recorder *recorder, const struct probe_reading *probe)
{
    recorder_line(recorder, &(struct recording_line){.kind = RECORDING_PROBE, .probe = *probe});
}

void recorder_sample(struct recorder *recorder, const char *key, const struct access_sample *sample)
{
    recorder_line(recorder, &(struct recording_line){.kind = RECORDING_SAMPLE,
                                                     .sample = {.key = key, .sample = *sample}});
}

void recorder_sampling(struct recorder *recorder, enum access access, const struct sampling *before,
                       const struct sampling *now)
{
    const struct recording_lost lost = {
        .count = now->lost - before->lost,
        .access = access,
        .throttles = now->throttles - before->throttles,
        .period = now->period,
        .settled = true,
        .settled_ns = now->settled_ns,
    };
    recorder_line(recorder, &(struct recording_line){.kind = RECORDING_LOST, .lost = lost});
}
