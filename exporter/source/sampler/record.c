#include "exporter/source/sampler/record.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

/* What is left of a record. */
struct cursor {
    const uint8_t *at;
    size_t left;
    bool broken; /* read beyond the end: everything since is 0 */
};

static void take(struct cursor *c, void *out, size_t n)
{
    if (c->left < n) {
        c->broken = true;
        c->left = 0;
        memset(out, 0, n);
        return;
    }
    memcpy(out, c->at, n);
    c->at += n;
    c->left -= n;
}

static uint64_t take64(struct cursor *c)
{
    uint64_t value;
    take(c, &value, sizeof value);
    return value;
}

static uint32_t take32(struct cursor *c)
{
    uint32_t value;
    take(c, &value, sizeof value);
    return value;
}

static void parse_sample(struct cursor *c, uint16_t misc, uint64_t type, struct kernel_record *out)
{
    /* In the kernel's order of fields. */
    out->kind = KERNEL_RECORD_SAMPLE;
    out->sample.ip = take64(c);
    out->pid = take32(c);
    out->tid = take32(c);
    out->time_ns = take64(c);
    out->sample.address = take64(c);
    if (type & PERF_SAMPLE_WEIGHT)
        out->sample.weight = take64(c);
    if (type & PERF_SAMPLE_DATA_SRC)
        out->sample.data_source = take64(c);
    if (type & PERF_SAMPLE_CGROUP)
        out->sample.cgroup_id = take64(c);
    out->sample.user = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
}

static void parse_mmap2(struct cursor *c, uint16_t misc, struct kernel_record *out)
{
    out->kind = KERNEL_RECORD_MMAP;
    out->pid = take32(c);
    out->tid = take32(c);
    out->mmap.start = take64(c);
    out->mmap.length = take64(c);
    out->mmap.offset = take64(c);
    out->mmap.major = take32(c);
    out->mmap.minor = take32(c);
    out->mmap.inode = take64(c);
    (void)take64(c); /* the inode's generation */
    uint32_t protection = take32(c);
    uint32_t flags = take32(c);
    if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) /* in the place of device and inode */
        out->mmap.major = out->mmap.minor = 0, out->mmap.inode = 0;
    out->mmap.readable = (protection & PROT_READ) != 0;
    out->mmap.writable = (protection & PROT_WRITE) != 0;
    out->mmap.executable = (protection & PROT_EXEC) != 0;
    out->mmap.shared = (flags & MAP_SHARED) != 0;
    const uint8_t *end = memchr(c->at, '\0', c->left);
    out->mmap.path = (const char *)c->at;
    out->mmap.path_len = end ? (size_t)(end - c->at) : 0;
    c->broken |= !end || out->mmap.start + out->mmap.length < out->mmap.start;
}

static void parse_task(struct cursor *c, enum kernel_record_kind kind, struct kernel_record *out)
{
    out->kind = kind;
    out->pid = take32(c);
    out->fork.parent_pid = take32(c);
    out->tid = take32(c);
}

/* A comm record means an exec, or only a new name. */
static void parse_comm(struct cursor *c, uint16_t misc, struct kernel_record *out)
{
    out->kind = misc & PERF_RECORD_MISC_COMM_EXEC ? KERNEL_RECORD_EXEC : KERNEL_RECORD_OTHER;
    out->pid = take32(c);
    out->tid = take32(c);
}

static void parse_body(struct cursor *c, const struct perf_event_header *header,
                       struct kernel_record *out)
{
    switch (header->type) {
    case PERF_RECORD_MMAP2:
        parse_mmap2(c, header->misc, out);
        break;
    case PERF_RECORD_COMM:
        parse_comm(c, header->misc, out);
        break;
    case PERF_RECORD_FORK:
        parse_task(c, KERNEL_RECORD_FORK, out);
        break;
    case PERF_RECORD_EXIT:
        parse_task(c, KERNEL_RECORD_EXIT, out);
        break;
    case PERF_RECORD_LOST:
        out->kind = KERNEL_RECORD_LOST;
        (void)take64(c); /* the event's id */
        out->lost = take64(c);
        break;
    case PERF_RECORD_LOST_SAMPLES:
        out->kind = KERNEL_RECORD_LOST_SAMPLES;
        out->lost = take64(c);
        break;
    case PERF_RECORD_THROTTLE:
        out->kind = KERNEL_RECORD_THROTTLE;
        break;
    case PERF_RECORD_UNTHROTTLE:
        out->kind = KERNEL_RECORD_UNTHROTTLE;
        break;
    default:
        out->kind = KERNEL_RECORD_OTHER;
    }
}

int kernel_record_parse(const uint8_t *bytes, size_t len, uint64_t sample_type,
                        struct kernel_record *out, size_t *size)
{
    enum { TRAILER = 16 }; /* pid, tid and time behind every record but samples */
    struct perf_event_header header;
    struct kernel_record record;

    if ((sample_type & ~(uint64_t)KERNEL_RECORD_OPTIONAL_FIELDS) != KERNEL_RECORD_SAMPLE_TYPE)
        return -ENOTSUP;
    if (len < sizeof header)
        return -EINVAL;
    memcpy(&header, bytes, sizeof header);
    if (header.size < sizeof header || header.size > len)
        return -EINVAL;
    memset(&record, 0, sizeof record);
    struct cursor c = {bytes + sizeof header, header.size - sizeof header, false};
    if (header.type == PERF_RECORD_SAMPLE) {
        parse_sample(&c, header.misc, sample_type, &record);
    } else {
        if (c.left < TRAILER)
            return -EINVAL;
        struct cursor trailer = {c.at + c.left - TRAILER, TRAILER, false};
        c.left -= TRAILER;
        record.pid = take32(&trailer);
        record.tid = take32(&trailer);
        record.time_ns = take64(&trailer);
        parse_body(&c, &header, &record);
    }
    if (c.broken)
        return -EINVAL;
    *out = record;
    *size = header.size;
    return 0;
}
