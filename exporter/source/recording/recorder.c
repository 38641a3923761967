#include "exporter/source/recording/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/textbuf.h"
#include "exporter/source/recording/output.h"
#include "exporter/source/recording/places.h"
#include "exporter/source/recording/recorder_internal.h"
#include "exporter/source/recording/recorder_owners.h"

/* Lines are gathered up to this size, so that a tick of many containers does not grow the buffer.
 */
enum { FLUSH_BYTES = 256 << 10, BUFFER_BYTES = FLUSH_BYTES + (16 << 10) };

enum recorder_state {
    STATE_START,   /* before the first tick */
    STATE_TICK,    /* between recorder_tick and recorder_flush */
    STATE_BETWEEN, /* ticks: container lines wait for the next one */
};

struct recorder {
    struct output output;
    int err; /* the first; then nothing more is written */
    enum recorder_state state;
    const struct log *log;
    char *path;
    struct textbuf lines;
    struct textbuf waiting;
    struct recorder_owners owners;
};

static void stop(struct recorder *recorder, int err)
{
    bool full = err == -EFBIG && recorder->output.max_bytes > 0;
    recorder->err = err;
    log_error(recorder->log, "record", "the recording %s stops here: %s", recorder->path,
              full ? "it has reached --source.record.max-bytes" : strerror(-err));
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

static void add_member(struct textbuf *out, const char *name, const char *text)
{
    textbuf_printf(out, ",\"%s\":", name);
    textbuf_quoted(out, text);
}

static void add_whole(struct textbuf *out, const char *name, uint64_t value)
{
    textbuf_str(out, ",\"");
    textbuf_str(out, name);
    textbuf_str(out, "\":");
    textbuf_u64(out, value);
}

static void add_fact(struct textbuf *out, const char *name, double value)
{
    if (isfinite(value) && value > 0) /* 0: not known */
        textbuf_printf(out, ",\"%s\":%.17g", name, value);
}

static void add_header(struct textbuf *out, const struct machine *machine, uint64_t interval_ns)
{
    textbuf_str(out, "{\"recording\":1,\"machine\":{\"microarchitecture\":");
    textbuf_quoted(out, machine->microarchitecture);
    add_fact(out, "base_frequency_hz", machine->base_frequency_hz);
    add_fact(out, "cache_cycles", machine->cache_cycles);
    add_fact(out, "cache_seconds", machine->cache_seconds);
    add_fact(out, "l2_fill_cycles", machine->l2_fill_cycles);
    add_fact(out, "l3_fill_cycles", machine->l3_fill_cycles);
    add_fact(out, "llc_hit_cycles", machine->llc_hit_cycles);
    add_fact(out, "cas_latency_seconds", machine->cas_latency_seconds);
    if (machine->own_events)
        textbuf_str(out, ",\"own_events\":true");
    textbuf_printf(out, ",\"sockets\":%d,\"numa_nodes\":%d,\"cpus\":%d", machine->sockets,
                   machine->numa_nodes, machine->cpus);
    if (machine->pmem_dimms > 0)
        textbuf_printf(out, ",\"pmem_dimms\":%d", machine->pmem_dimms);
    places_write(out, machine);
    textbuf_printf(out, "},\"interval_ns\":%" PRIu64 "}\n", interval_ns);
}

int recorder_new(const char *path, const struct machine *machine, uint64_t interval_ns,
                 const struct log *log, struct recorder **out)
{
    struct recorder *recorder = calloc(1, sizeof *recorder);
    int err = -ENOMEM;
    if (!recorder)
        return err;
    recorder->output.fd = -1;
    recorder->path = strdup(path);
    if (!recorder->path || textbuf_reserve(&recorder->lines, BUFFER_BYTES))
        goto fail;
    err = output_open(&recorder->output, path);
    if (err)
        goto fail;
    add_header(&recorder->lines, machine, interval_ns);
    write_out(recorder);
    err = recorder->err;
    if (err)
        goto fail;
    output_mark(&recorder->output);
    recorder->log = log; /* until here the caller logs failures */
    *out = recorder;
    return 0;
fail:
    recorder->err = err;
    recorder_free(recorder);
    return err;
}

const char *recorder_why(int err)
{
    return output_why(err);
}

int recorder_free(struct recorder *recorder)
{
    if (!recorder)
        return 0;
    write_out(recorder);
    int err = recorder->err, closed = output_close(&recorder->output);
    err = err ? err : closed;
    textbuf_release(&recorder->lines);
    textbuf_release(&recorder->waiting);
    recorder_owners_release(&recorder->owners);
    free(recorder->path);
    free(recorder);
    return err;
}

void recorder_unit(struct recorder *recorder, const struct source_unit *unit)
{
    struct textbuf *out = line_begin(recorder);
    if (!out)
        return;
    textbuf_str(out, "{\"unit\":{\"key\":");
    textbuf_quoted(out, unit->key);
    add_member(out, "kind", unit->kind);
    textbuf_printf(out, ",\"socket\":%d,\"imc\":%d", unit->socket, unit->imc);
    if (unit->cache_bytes)
        textbuf_printf(out, ",\"cache_bytes\":%" PRIu64, unit->cache_bytes);
    textbuf_str(out, "}}\n");
}

static void add_nodes(struct textbuf *out, int initiator, int target)
{
    textbuf_printf(out, "\"initiator_numa_node\":%d,\"target_numa_node\":%d", initiator, target);
}

void recorder_thread(struct recorder *recorder, const struct source_thread *thread)
{
    struct textbuf *out = line_begin(recorder);
    if (!out)
        return;
    textbuf_str(out, "{\"thread\":{\"key\":");
    textbuf_quoted(out, thread->key);
    add_member(out, "kind", thread->kind);
    textbuf_char(out, ',');
    add_nodes(out, thread->initiator_numa_node, thread->target_numa_node);
    if (thread->cpu >= 0)
        add_whole(out, "cpu", (uint64_t)thread->cpu);
    textbuf_str(out, "}}\n");
}

void recorder_container(struct recorder *recorder, const struct recording_container *container)
{
    struct textbuf *out = event_begin(recorder);
    if (!out)
        return;
    textbuf_str(out, "{\"container\":{\"key\":");
    textbuf_quoted(out, container->key);
    add_member(out, "cgroup", container->cgroup);
    add_member(out, "id", container->id);
    add_member(out, "namespace", container->namespace_);
    add_member(out, "pod", container->pod);
    add_member(out, "container", container->container);
    add_member(out, "image", container->image);
    add_member(out, "pod_uid", container->pod_uid);
    if (*container->runtime)
        add_member(out, "runtime", container->runtime);
    if (*container->qos_class)
        add_member(out, "qos_class", container->qos_class);
    if (container->pending)
        textbuf_str(out, ",\"pending\":true");
    if (container->found_mono_ns)
        textbuf_printf(out, ",\"found_mono_ns\":%" PRIu64, container->found_mono_ns);
    textbuf_str(out, "}}\n");
}

void recorder_gone(struct recorder *recorder, const char *key)
{
    /* Never above the first tick, which has the last reads of what ended before it. */
    struct textbuf *out = recorder->state == STATE_TICK ? line_begin(recorder) : &recorder->waiting;

    if (!out || recorder->err)
        return;
    textbuf_str(out, "{\"gone\":");
    textbuf_quoted(out, key);
    textbuf_str(out, "}\n");
}

void recorder_tick(struct recorder *recorder, const struct tick *tick)
{
    struct textbuf *out = line_begin(recorder);
    recorder->state = STATE_TICK;
    if (!out)
        return;
    textbuf_printf(out, "{\"tick\":%" PRIu64 ",\"mono_ns\":%" PRIu64 ",\"wall_ns\":%" PRIu64 "}\n",
                   tick->number, tick->mono_ns, tick->wall_ns);
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
    if (recorder->state == STATE_TICK)
        recorder->state = STATE_BETWEEN;
    write_out(recorder);
    if (!recorder->err)
        output_mark(&recorder->output);
}

void recorder_limit(struct recorder *recorder, uint64_t max_bytes)
{
    recorder->output.max_bytes = max_bytes;
}

bool recorder_is_active(const struct recorder *recorder)
{
    return !recorder->err;
}

bool recorder_takes_readings(const struct recorder *recorder)
{
    return !recorder->err && recorder->state == STATE_TICK;
}

void recorder_read(struct recorder *recorder, const char *key, enum group group,
                   const struct reading_row *row)
{
    const struct group_desc *desc = &group_descs[group];
    struct textbuf *out = line_begin(recorder);
    bool first = true;
    if (!out)
        return;
    textbuf_str(out, "{\"read\":");
    textbuf_quoted(out, key);
    textbuf_str(out, ",\"group\":\"");
    textbuf_str(out, desc->name);
    textbuf_char(out, '"');
    if (row->cpu >= 0)
        add_whole(out, "cpu", (uint64_t)row->cpu);
    add_whole(out, "enabled_ns", row->enabled_ns);
    add_whole(out, "running_ns", row->running_ns);
    textbuf_str(out, ",\"values\":{");
    for (size_t i = 0; i < desc->n; i++) {
        if (!(row->present >> i & 1) || row->count[i] > INT64_MAX)
            continue;
        textbuf_str(out, first ? "\"" : ",\"");
        textbuf_str(out, role_name(desc->roles[i]));
        textbuf_str(out, "\":");
        textbuf_u64(out, row->count[i]);
        first = false;
    }
    textbuf_str(out, "}}\n");
}

void recorder_activity(struct recorder *recorder, const char *key, const struct reading_row *row)
{
    struct textbuf *out = line_begin(recorder);
    if (!out || row->count[0] > INT64_MAX)
        return;
    textbuf_str(out, "{\"activity\":");
    textbuf_quoted(out, key);
    if (row->cpu >= 0)
        add_whole(out, "cpu", (uint64_t)row->cpu);
    add_whole(out, "cpu_time_ns", row->count[0]);
    textbuf_str(out, "}\n");
}

void recorder_pages(struct recorder *recorder, const char *key, const struct reading_row *row)
{
    struct textbuf *out = line_begin(recorder);
    if (!out || row->cpu < 0 || row->count[0] > INT64_MAX)
        return;
    textbuf_str(out, "{\"pages\":");
    textbuf_quoted(out, key);
    add_whole(out, "numa_node", (uint64_t)row->cpu);
    add_whole(out, "bytes", row->count[0]);
    textbuf_str(out, "}\n");
}

void recorder_probe(struct recorder *recorder, const struct probe_reading *probe)
{
    struct textbuf *out = line_begin(recorder);
    if (!out || !isfinite(probe->latency_ns) || !(probe->latency_ns > 0))
        return;
    textbuf_str(out, "{\"probe\":{");
    add_nodes(out, probe->initiator_numa_node, probe->target_numa_node);
    textbuf_printf(out, ",\"latency_ns\":%.17g", probe->latency_ns);
    if (probe->llc_hit_ns > 0)
        textbuf_printf(out, ",\"llc_hit_ns\":%.17g", probe->llc_hit_ns);
    if (probe->l2_hit_ns > 0)
        textbuf_printf(out, ",\"l2_hit_ns\":%.17g", probe->l2_hit_ns);
    if (probe->cpu >= 0)
        add_whole(out, "cpu", (uint64_t)probe->cpu);
    textbuf_str(out, "}}\n");
}

int recorder_own(struct recorder *recorder, uint64_t owner, const char *key)
{
    return recorder_owners_hold(&recorder->owners, owner, key);
}

void recorder_disown(struct recorder *recorder, uint64_t owner)
{
    recorder_owners_drop(&recorder->owners, owner);
}

const char *recorder_key(const struct recorder *recorder, uint64_t owner)
{
    return recorder_owners_key(&recorder->owners, owner);
}

static void add_known(struct textbuf *out, const char *name, uint64_t value)
{
    if (value > 0 && value <= INT64_MAX)
        add_whole(out, name, value);
}

void recorder_sample(struct recorder *recorder, const char *key, const struct access_sample *sample)
{
    struct textbuf *out = line_begin(recorder);
    if (!out)
        return;
    textbuf_str(out, "{\"sample\":");
    textbuf_quoted(out, key);
    add_member(out, "access", access_name(sample->access));
    add_whole(out, "pid", sample->pid & INT32_MAX);
    add_whole(out, "tid", sample->tid & INT32_MAX);
    add_known(out, "ip", sample->ip);
    add_known(out, "addr", sample->address);
    if (sample->bytes > 0)
        add_whole(out, "bytes", sample->bytes & INT32_MAX);
    else
        add_member(out, "size", access_size_name(sample->size));
    add_member(out, "medium", medium_name(sample->medium));
    add_whole(out, "mono_ns", sample->time_ns);
    textbuf_str(out, "}\n");
}

void recorder_sampling(struct recorder *recorder, enum access access, const struct sampling *before,
                       const struct sampling *now)
{
    struct textbuf *out = line_begin(recorder);
    if (!out)
        return;
    textbuf_printf(out, "{\"lost\":%" PRIu64, now->lost - before->lost);
    add_member(out, "access", access_name(access));
    add_known(out, "throttles", now->throttles - before->throttles);
    add_known(out, "period", now->period);
    add_whole(out, "settled_ns", now->settled_ns);
    textbuf_str(out, "}\n");
}
