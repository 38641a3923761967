#include "tests/unit/support/governor_document.h"

#include "tests/unit/support/unit.h"

void governor_document_begin(struct textbuf *out, const struct governor_document_tick *tick)
{
    textbuf_printf(out,
                   "{\"source\":\"%s\",\"replay_ended\":false,\"tick\":{\"number\":%llu,"
                   "\"monotonic_seconds\":%.9f,\"timestamp_seconds\":1,\"interval_seconds\":%.9f},",
                   tick->source ? tick->source : "perf", (unsigned long long)tick->number,
                   (double)tick->mono_ns * 1e-9,
                   tick->interval_ns ? (double)tick->interval_ns * 1e-9 : 1);
    if (tick->own_cgroup_id)
        textbuf_printf(out, "\"own_cgroup_id\":%llu,", (unsigned long long)tick->own_cgroup_id);
    textbuf_printf(out, "%s\"containers\":[", tick->rest ? tick->rest : "");
}

static bool has_container(const struct textbuf *out)
{
    return out->len > 0 && out->data[out->len - 1] != '[';
}

void governor_document_container(struct textbuf *out, const char *namespace_, const char *pod,
                                 const char *name, const char *path, uint64_t inode,
                                 const char *members)
{
    textbuf_printf(out,
                   "%s{\"namespace\":\"%s\",\"pod\":\"%s\",\"container\":\"%s\","
                   "\"container_id\":\"%.*s\",\"cgroup_id\":%llu,%s\"values\":{"
                   "\"interference_container_info\":[{\"labels\":{\"id\":\"%s\",\"pod_uid\":"
                   "\"" RIG_POD_UID "\"},\"value\":1}]",
                   has_container(out) ? "}}," : "", namespace_, pod, name, RIG_LABEL(path),
                   (unsigned long long)inode, members ? members : "", path);
}

void governor_document_value(struct textbuf *out, const char *family, double value)
{
    textbuf_printf(out, ",\"interference_container_%s\":%.15g", family, value);
}

void governor_document_labelled(struct textbuf *out, const char *family, const char *label,
                                const char *of, double value)
{
    textbuf_printf(out,
                   ",\"interference_container_%s\":[{\"labels\":{\"%s\":\"%s\"},\"value\":%.15g}]",
                   family, label, of, value);
}

void governor_document_latency(struct textbuf *out, double seconds, double baseline_seconds)
{
    governor_document_value(out, "memory_read_latency_seconds", seconds);
    governor_document_labelled(out, "memory_read_latency_baseline_seconds", "basis", "calm",
                               baseline_seconds);
}

void governor_document_end(struct textbuf *out)
{
    textbuf_str(out, has_container(out) ? "}}]}" : "]}");
    assert_int_equal(textbuf_finish(out), 0);
}

void governor_document_view(struct textbuf *out, struct view *view)
{
    char error[256] = "";
    governor_document_end(out);
    if (view_parse(out->data, out->len, view, error, sizeof error))
        fail_msg("%s: %s", error, out->data);
    textbuf_release(out);
}
