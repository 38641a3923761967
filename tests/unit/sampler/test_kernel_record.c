/* perf's ring buffer records, byte by byte as the kernel lays them out. */
#include <linux/perf_event.h>
#include <sys/mman.h>

#include "exporter/source/sampler/record.h"
#include "tests/unit/support/unit.h"

/* A record being written. */
struct writer {
    uint8_t bytes[512];
    size_t len;
};

static void put(struct writer *w, const void *bytes, size_t n)
{
    assert_true(w->len + n <= sizeof w->bytes);
    memcpy(w->bytes + w->len, bytes, n);
    w->len += n;
}

static void put32(struct writer *w, uint32_t value)
{
    put(w, &value, sizeof value);
}

static void put64(struct writer *w, uint64_t value)
{
    put(w, &value, sizeof value);
}

static void begin(struct writer *w, uint32_t type, uint16_t misc)
{
    const struct perf_event_header header = {.type = type, .misc = misc};
    w->len = 0;
    put(w, &header, sizeof header);
}

/* The trailer of sample_id_all (pid, tid, time), and the size in the header. */
static void end(struct writer *w)
{
    uint16_t size;
    struct perf_event_header header;
    memcpy(&header, w->bytes, sizeof header);
    if (header.type != PERF_RECORD_SAMPLE) {
        put32(w, 70);
        put32(w, 71);
        put64(w, 1234567890123);
    }
    size = (uint16_t)w->len;
    memcpy(w->bytes + offsetof(struct perf_event_header, size), &size, sizeof size);
}

#define BASE KERNEL_RECORD_SAMPLE_TYPE

/* Parses, and sees that no shorter piece of it is a record. */
static struct kernel_record parse(const struct writer *w, uint64_t type)
{
    struct kernel_record record;
    size_t size = 0;
    assert_int_equal(kernel_record_parse(w->bytes, sizeof w->bytes, type, &record, &size), 0);
    assert_int_equal(size, w->len);
    for (size_t len = 0; len < w->len; len++) {
        struct kernel_record none = {.pid = 9999};
        assert_int_equal(kernel_record_parse(w->bytes, len, type, &none, &size), -EINVAL);
        assert_int_equal(none.pid, 9999);
    }
    assert_int_equal(size, w->len);
    return record;
}

/* The same record with a header that says less is broken. */
static void cannot_be_shorter(struct writer *w, uint64_t type, size_t minimum)
{
    struct kernel_record record;
    size_t size;
    for (uint16_t less = 0; less < minimum; less++) {
        memcpy(w->bytes + offsetof(struct perf_event_header, size), &less, sizeof less);
        assert_int_equal(kernel_record_parse(w->bytes, sizeof w->bytes, type, &record, &size),
                         -EINVAL);
    }
}

TEST(samples)
{
    static const uint64_t types[] = {
        BASE,
        BASE | PERF_SAMPLE_CGROUP,
        BASE | PERF_SAMPLE_WEIGHT,
        BASE | PERF_SAMPLE_DATA_SRC,
        BASE | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_CGROUP,
        BASE | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_CGROUP,
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct writer w;
        begin(&w, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP);
        put64(&w, 0x401234);
        put32(&w, 7);
        put32(&w, 8);
        put64(&w, 987654321);
        put64(&w, 0x7fff00001111);
        if (types[i] & PERF_SAMPLE_WEIGHT)
            put64(&w, 312);
        if (types[i] & PERF_SAMPLE_DATA_SRC)
            put64(&w, 0x2a68100842);
        if (types[i] & PERF_SAMPLE_CGROUP)
            put64(&w, 4711);
        end(&w);
        struct kernel_record r = parse(&w, types[i]);
        assert_int_equal(r.kind, KERNEL_RECORD_SAMPLE);
        assert_int_equal(r.sample.ip, 0x401234);
        assert_int_equal(r.pid, 7);
        assert_int_equal(r.tid, 8);
        assert_int_equal(r.time_ns, 987654321);
        assert_int_equal(r.sample.address, 0x7fff00001111);
        assert_int_equal(r.sample.weight, types[i] & PERF_SAMPLE_WEIGHT ? 312 : 0);
        assert_int_equal(r.sample.data_source, types[i] & PERF_SAMPLE_DATA_SRC ? 0x2a68100842 : 0);
        assert_int_equal(r.sample.cgroup_id, types[i] & PERF_SAMPLE_CGROUP ? 4711 : 0);
        assert_true(r.sample.user);
        cannot_be_shorter(&w, types[i], w.len);
    }
    struct writer w;
    begin(&w, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
    for (int i = 0; i < 4; i++)
        put64(&w, 1);
    put64(&w, 1);
    end(&w);
    struct kernel_record r;
    size_t size;
    assert_int_equal(kernel_record_parse(w.bytes, w.len, BASE, &r, &size), 0);
    assert_false(r.sample.user);
}

TEST(mappings)
{
    static const char path[16] = "/mnt/pmem/a b\0\0";
    struct writer w;
    begin(&w, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
    put32(&w, 7);
    put32(&w, 8);
    put64(&w, 0x7f0000000000);
    put64(&w, 0x200000);
    put64(&w, 0x1000);
    put32(&w, 259);
    put32(&w, 1);
    put64(&w, 12);
    put64(&w, 99);
    put32(&w, PROT_READ | PROT_WRITE);
    put32(&w, MAP_SHARED);
    put(&w, path, sizeof path);
    end(&w);
    struct kernel_record r = parse(&w, BASE);
    assert_int_equal(r.kind, KERNEL_RECORD_MMAP);
    assert_int_equal(r.pid, 7); /* of the mapping, not of the trailer */
    assert_int_equal(r.time_ns, 1234567890123);
    assert_true(r.mmap.start == 0x7f0000000000 && r.mmap.length == 0x200000);
    assert_int_equal(r.mmap.offset, 0x1000);
    assert_int_equal(r.mmap.major, 259);
    assert_int_equal(r.mmap.minor, 1);
    assert_int_equal(r.mmap.inode, 12);
    assert_true(r.mmap.readable && r.mmap.writable && !r.mmap.executable && r.mmap.shared);
    assert_int_equal(r.mmap.path_len, 13);
    assert_memory_equal(r.mmap.path, path, 13);

    /* A path without its end, and a mapping around the end of the address space. */
    struct kernel_record none;
    size_t size;
    struct writer bad = w;
    memset(bad.bytes + w.len - 16 - sizeof path, 'x', sizeof path);
    assert_int_equal(kernel_record_parse(bad.bytes, bad.len, BASE, &none, &size), -EINVAL);
    bad = w;
    memset(bad.bytes + 16, 0xff, 16);
    assert_int_equal(kernel_record_parse(bad.bytes, bad.len, BASE, &none, &size), -EINVAL);
}

TEST(processes)
{
    static const char comm[16] = "cat";
    struct writer w;
    begin(&w, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
    put32(&w, 7);
    put32(&w, 7);
    put(&w, comm, sizeof comm);
    end(&w);
    struct kernel_record r = parse(&w, BASE);
    assert_int_equal(r.kind, KERNEL_RECORD_EXEC);
    assert_int_equal(r.pid, 7);
    begin(&w, PERF_RECORD_COMM, 0); /* only renamed */
    put32(&w, 7);
    put32(&w, 7);
    put(&w, comm, sizeof comm);
    end(&w);
    assert_int_equal(parse(&w, BASE).kind, KERNEL_RECORD_OTHER);

    for (int i = 0; i < 2; i++) {
        begin(&w, i ? PERF_RECORD_EXIT : PERF_RECORD_FORK, 0);
        put32(&w, 7); /* pid, ppid, tid, ptid, time */
        put32(&w, 5);
        put32(&w, 8);
        put32(&w, 6);
        put64(&w, 1234567890123);
        end(&w);
        r = parse(&w, BASE);
        assert_int_equal(r.kind, i ? KERNEL_RECORD_EXIT : KERNEL_RECORD_FORK);
        assert_int_equal(r.pid, 7);
        assert_int_equal(r.tid, 8);
        assert_int_equal(r.fork.parent_pid, 5);
    }
}

TEST(losses)
{
    struct writer w;
    begin(&w, PERF_RECORD_LOST, 0);
    put64(&w, 3);
    put64(&w, 12);
    end(&w);
    struct kernel_record r = parse(&w, BASE);
    assert_int_equal(r.kind, KERNEL_RECORD_LOST);
    assert_int_equal(r.lost, 12);

    begin(&w, PERF_RECORD_LOST_SAMPLES, 0);
    put64(&w, 13);
    end(&w);
    r = parse(&w, BASE);
    assert_int_equal(r.kind, KERNEL_RECORD_LOST_SAMPLES);
    assert_int_equal(r.lost, 13);
    cannot_be_shorter(&w, BASE, w.len);

    for (int i = 0; i < 2; i++) {
        begin(&w, i ? PERF_RECORD_UNTHROTTLE : PERF_RECORD_THROTTLE, 0);
        for (int j = 0; j < 3; j++)
            put64(&w, 1);
        end(&w);
        assert_int_equal(parse(&w, BASE).kind,
                         i ? KERNEL_RECORD_UNTHROTTLE : KERNEL_RECORD_THROTTLE);
    }
}

TEST(what_is_not_known)
{
    struct writer w;
    begin(&w, 9999, 0);
    put64(&w, 1);
    end(&w);
    assert_int_equal(parse(&w, BASE).kind, KERNEL_RECORD_OTHER);
    struct kernel_record none;
    size_t size;
    assert_int_equal(
        kernel_record_parse(w.bytes, w.len, BASE | PERF_SAMPLE_CALLCHAIN, &none, &size), -ENOTSUP);
    assert_int_equal(
        kernel_record_parse(w.bytes, w.len, BASE & ~(uint64_t)PERF_SAMPLE_TIME, &none, &size),
        -ENOTSUP);
}
