#include "exporter/source/recording/format.h"

#include <inttypes.h>
#include <math.h>

#include "exporter/source/recording/fields.h"

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

static void add_header(struct textbuf *out, const struct recording_line *line)
{
    const struct machine *machine = &line->header.machine;
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
    if (machine->guest)
        textbuf_str(out, ",\"guest\":true");
    textbuf_printf(out, ",\"sockets\":%d,\"numa_nodes\":%d,\"cpus\":%d", machine->sockets,
                   machine->numa_nodes, machine->cpus);
    if (machine->pmem_dimms > 0)
        textbuf_printf(out, ",\"pmem_dimms\":%d", machine->pmem_dimms);
    topology_write(out, machine);
    textbuf_printf(out, "},\"interval_ns\":%" PRIu64 "}\n", line->header.interval_ns);
}

static void add_unit(struct textbuf *out, const struct source_unit *unit)
{
    textbuf_str(out, "{\"unit\":{\"key\":");
    textbuf_quoted(out, unit->key);
    add_member(out, "kind", unit->kind);
    textbuf_printf(out, ",\"socket\":%d,\"imc\":%d", unit->socket, unit->imc);
    if (unit->cache_bytes)
        add_whole(out, "cache_bytes", unit->cache_bytes);
    textbuf_str(out, "}}\n");
}

static void add_nodes(struct textbuf *out, int initiator, int target)
{
    textbuf_printf(out, "\"initiator_numa_node\":%d,\"target_numa_node\":%d", initiator, target);
}

/* -1: not known. */
static void add_cpu(struct textbuf *out, int cpu)
{
    if (cpu >= 0)
        add_whole(out, "cpu", (uint64_t)cpu);
}

static void add_thread(struct textbuf *out, const struct source_thread *thread)
{
    textbuf_str(out, "{\"thread\":{\"key\":");
    textbuf_quoted(out, thread->key);
    add_member(out, "kind", thread->kind);
    textbuf_char(out, ',');
    add_nodes(out, thread->initiator_numa_node, thread->target_numa_node);
    add_cpu(out, thread->cpu);
    textbuf_str(out, "}}\n");
}

static void add_container(struct textbuf *out, const struct recording_container *container)
{
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
        add_whole(out, "found_mono_ns", container->found_mono_ns);
    textbuf_str(out, "}}\n");
}

static void add_read(struct textbuf *out, const struct recording_read *read)
{
    const struct group_desc *desc = &group_descs[read->group];
    bool first = true;
    textbuf_str(out, "{\"read\":");
    textbuf_quoted(out, read->key);
    textbuf_str(out, ",\"group\":\"");
    textbuf_str(out, desc->name);
    textbuf_char(out, '"');
    add_cpu(out, read->cpu);
    add_whole(out, "enabled_ns", read->enabled_ns);
    add_whole(out, "running_ns", read->running_ns);
    textbuf_str(out, ",\"values\":{");
    for (size_t i = 0; i < desc->n; i++) {
        if (!(read->present >> i & 1) || read->values[i] > INT64_MAX)
            continue;
        textbuf_str(out, first ? "\"" : ",\"");
        textbuf_str(out, role_name(desc->roles[i]));
        textbuf_str(out, "\":");
        textbuf_u64(out, read->values[i]);
        first = false;
    }
    textbuf_str(out, "}}\n");
}

static void add_activity(struct textbuf *out, const struct recording_read *read)
{
    if (read->values[0] > INT64_MAX)
        return;
    textbuf_str(out, "{\"activity\":");
    textbuf_quoted(out, read->key);
    add_cpu(out, read->cpu);
    add_whole(out, "cpu_time_ns", read->values[0]);
    textbuf_str(out, "}\n");
}

static void add_pages(struct textbuf *out, const struct recording_read *read)
{
    if (read->cpu < 0 || read->values[0] > INT64_MAX)
        return;
    textbuf_str(out, "{\"pages\":");
    textbuf_quoted(out, read->key);
    add_whole(out, "numa_node", (uint64_t)read->cpu);
    add_whole(out, "bytes", read->values[0]);
    textbuf_str(out, "}\n");
}

static void add_probe(struct textbuf *out, const struct probe_reading *probe)
{
    if (!isfinite(probe->latency_ns) || !(probe->latency_ns > 0))
        return;
    textbuf_str(out, "{\"probe\":{");
    add_nodes(out, probe->initiator_numa_node, probe->target_numa_node);
    textbuf_printf(out, ",\"latency_ns\":%.17g", probe->latency_ns);
    if (probe->llc_hit_ns > 0)
        textbuf_printf(out, ",\"llc_hit_ns\":%.17g", probe->llc_hit_ns);
    if (probe->l2_hit_ns > 0)
        textbuf_printf(out, ",\"l2_hit_ns\":%.17g", probe->l2_hit_ns);
    add_cpu(out, probe->cpu);
    textbuf_str(out, "}}\n");
}

static void add_known(struct textbuf *out, const char *name, uint64_t value)
{
    if (value > 0 && value <= INT64_MAX)
        add_whole(out, name, value);
}

static void add_sample(struct textbuf *out, const char *key, const struct access_sample *sample)
{
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

static void add_lost(struct textbuf *out, const struct recording_lost *lost)
{
    textbuf_printf(out, "{\"lost\":%" PRIu64, lost->count);
    add_member(out, "access", access_name(lost->access));
    add_known(out, "throttles", lost->throttles);
    add_known(out, "period", lost->period);
    add_whole(out, "settled_ns", lost->settled_ns);
    textbuf_str(out, "}\n");
}

void recording_line_text(const struct recording_line *line, struct textbuf *out)
{
    switch (line->kind) {
    case RECORDING_HEADER:
        add_header(out, line);
        break;
    case RECORDING_CONTAINER:
        add_container(out, &line->container);
        break;
    case RECORDING_UNIT:
        add_unit(out, &line->unit);
        break;
    case RECORDING_THREAD:
        add_thread(out, &line->thread);
        break;
    case RECORDING_TICK:
        textbuf_printf(out,
                       "{\"tick\":%" PRIu64 ",\"mono_ns\":%" PRIu64 ",\"wall_ns\":%" PRIu64 "}\n",
                       line->tick.number, line->tick.mono_ns, line->tick.wall_ns);
        break;
    case RECORDING_READ:
        if (line->read.group == GROUP_ACTIVITY)
            add_activity(out, &line->read);
        else if (line->read.group == GROUP_PAGES)
            add_pages(out, &line->read);
        else
            add_read(out, &line->read);
        break;
    case RECORDING_SAMPLE:
        add_sample(out, line->sample.key, &line->sample.sample);
        break;
    case RECORDING_LOST:
        add_lost(out, &line->lost);
        break;
    case RECORDING_PROBE:
        add_probe(out, &line->probe);
        break;
    case RECORDING_GONE:
        textbuf_str(out, "{\"gone\":");
        textbuf_quoted(out, line->gone.key);
        textbuf_str(out, "}\n");
        break;
    case RECORDING_MARK:
        textbuf_str(out, "{\"mark\":");
        textbuf_quoted(out, line->mark.why);
        add_member(out, "key", line->mark.key);
        textbuf_str(out, "}\n");
        break;
    case RECORDING_LEARNED: /* long, and without anything to escape */
        textbuf_str(out, "{\"learned\":\"");
        textbuf_str(out, line->learned.hex);
        textbuf_str(out, "\"}\n");
        break;
    case RECORDING_TRUTH: /* tests write them */
    case RECORDING_UNKNOWN:
        break;
    }
}
