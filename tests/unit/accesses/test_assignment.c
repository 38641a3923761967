/* From records to samples of accesses, with everything that can happen in between. */
#include <inttypes.h>

#include "exporter/source/accesses/assignment.h"
#include "exporter/source/accesses/own_reader.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

#define S UINT64_C(1000000000)

enum { OURS = 500, ALSO_OURS = 501, FOREIGN = 502, TAG = 77, MAX = 1 << 14 };

/* Program text, a file's pages that stand for persistent memory, memory, and code made at run
 * time. */
static const char usual[] = "400000-402000 r-xp 00000000 103:01 9 /bin/x\n"
                            "7000000-7010000 rw-s 00000000 103:01 5 /nvmm/a\n"
                            "8000000-8010000 rw-p 00000000 00:00 0 \n"
                            "9000000-9001000 rwxp 00000000 00:00 0 \n";
enum { TEXT = 0x400100, NVMM = 0x7000040, DRAM = 0x8000040, JIT = 0x9000010 };

static const uint8_t store_1[] = {0x88, 0x07, 0xc3}, store_4[] = {0x89, 0x07, 0xc3},
                     store_8[] = {0x48, 0x89, 0x07, 0xc3};

struct rig {
    struct medium_rule rule; /* first: files below /nvmm are */
    struct fixture f;
    uint64_t now, last;
    uint64_t cgroup_of[100]; /* by pid; 0: it is gone */
    int cgroup_looks, refreshes;
    const uint8_t *code; /* of every process, at every address; NULL: cannot be read */
    size_t code_len;
    bool narrow;
    uint32_t headless; /* the number of a process that only its threads show */
    int reads;
    uint64_t cpu, read_costs;
    uint32_t looked_at;
    struct sample_owners owners;
    struct process_reader reader; /* its maps are those of the fixture */
    struct process_reader *own;
    uint64_t hung;
    bool hangs, unready;
    struct sample_queue *queue;
    struct assignment *a;
    struct access_sample out[MAX];
    size_t n;
};

static enum medium rig_mapping(struct medium_rule *rule, pid_t pid, const struct maps_line *line,
                               enum access access)
{
    return line->path_len > 6 && memcmp(line->path, "/nvmm/", 6) == 0 ? MEDIUM_NVMM : MEDIUM_OTHER;
}

static void rig_refresh(struct medium_rule *rule)
{
    struct rig *rig = (struct rig *)rule;
    rig->refreshes++;
}

static uint64_t rig_now(void *context)
{
    const struct rig *rig = context;
    return rig->now;
}

static uint64_t rig_owner(void *context, uint64_t cgroup_id)
{
    return cgroup_id == OURS || cgroup_id == ALSO_OURS ? TAG + cgroup_id - OURS : 0;
}

static int rig_cgroup(void *context, uint32_t pid, uint32_t tid, uint64_t time_ns,
                      uint64_t *cgroup_id)
{
    struct rig *rig = context;
    rig->cgroup_looks++;
    if (pid >= 100 || rig->cgroup_of[pid] == 0)
        return -ESRCH;
    *cgroup_id = rig->cgroup_of[pid];
    return 0;
}

static struct rig *rig_of(const struct process_reader *reader)
{
    return (struct rig *)((uintptr_t)reader - offsetof(struct rig, reader));
}

static int rig_open_maps(struct process_reader *reader, uint32_t pid)
{
    struct rig *rig = rig_of(reader);
    rig->hung += rig->hangs;
    return rig->hangs || rig->unready ? -EAGAIN : rig->own->ops->open_maps(rig->own, pid);
}

static int rig_next_maps(struct process_reader *reader, const char **text, size_t *len)
{
    struct rig *rig = rig_of(reader);
    return rig->own->ops->next_maps(rig->own, text, len);
}

static void rig_close_maps(struct process_reader *reader)
{
    struct rig *rig = rig_of(reader);
    rig->own->ops->close_maps(rig->own);
}

static bool rig_is_ready(struct process_reader *reader)
{
    return !rig_of(reader)->unready;
}

static uint64_t rig_unanswered(const struct process_reader *reader, uint64_t *hung)
{
    *hung = rig_of(reader)->hung;
    return *hung;
}

static int rig_read(struct process_reader *reader, uint32_t pid, uint64_t address,
                    uint8_t out[ACCESS_CODE_BYTES])
{
    struct rig *rig = rig_of(reader);
    if (rig->headless != 0 && pid == rig->headless)
        return -ESRCH;
    rig->reads++;
    rig->looked_at = assignment_counts(rig->a).looks_at;
    rig->cpu += rig->read_costs;
    if (!rig->code)
        return -ESRCH;
    memcpy(out, rig->code, rig->code_len);
    return (int)rig->code_len;
}

static int rig_is_wide(struct process_reader *reader, uint32_t pid, bool *out)
{
    const struct rig *rig = rig_of(reader);
    *out = !rig->narrow;
    return rig->headless != 0 && pid == rig->headless ? -ESRCH : 0;
}

static const struct process_reader_ops rig_reader = {.open_maps = rig_open_maps,
                                                     .next_maps = rig_next_maps,
                                                     .close_maps = rig_close_maps,
                                                     .code = rig_read,
                                                     .is_wide = rig_is_wide,
                                                     .is_ready = rig_is_ready,
                                                     .unanswered = rig_unanswered};

static void set_code(struct rig *rig, const uint8_t *code, size_t len)
{
    rig->code = code;
    rig->code_len = len;
}

#define CODE(code) code, sizeof(code)

static void write_maps(struct rig *rig, uint32_t pid, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "proc/%" PRIu32 "/maps", pid);
    fixture_write(&rig->f, path, "%s", text);
}

static uint64_t rig_cpu(void *context)
{
    const struct rig *rig = context;
    return rig->cpu;
}

static struct rig *rig_new(size_t queue, size_t max_waiting)
{
    struct rig *rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    rig->rule = (struct medium_rule){rig_mapping, rig_refresh};
    rig->now = 10 * S;
    fixture_init(&rig->f);
    for (uint32_t pid = 1; pid < 10; pid++) {
        rig->cgroup_of[pid] = OURS;
        write_maps(rig, pid, usual);
    }
    rig->cgroup_of[9] = FOREIGN;
    set_code(rig, CODE(store_8));
    rig->owners = (struct sample_owners){rig_owner, rig_cgroup, rig};
    rig->reader.ops = &rig_reader;
    assert_int_equal(own_reader_new(&rig->f.fs, &rig->own), 0);
    assert_int_equal(sample_queue_new(queue, &rig->queue), 0);
    const struct assignment_config config = {.fs = &rig->f.fs,
                                             .rule = &rig->rule,
                                             .owners = &rig->owners,
                                             .reader = &rig->reader,
                                             .queue = rig->queue,
                                             .now_ns = rig_now,
                                             .cpu_ns = rig_cpu,
                                             .now_context = rig,
                                             .max_processes = 16,
                                             .code_entries = 64,
                                             .max_waiting = max_waiting};
    assert_int_equal(assignment_new(&config, &rig->a), 0);
    return rig;
}

static void rig_free(struct rig *rig)
{
    assignment_free(rig->a);
    own_reader_free(rig->own);
    sample_queue_free(rig->queue);
    fixture_release(&rig->f);
    free(rig);
}

static struct kernel_record record_of(uint32_t pid, uint64_t ip, uint64_t address, uint64_t time)
{
    return (struct kernel_record){.kind = KERNEL_RECORD_SAMPLE,
                                  .pid = pid,
                                  .tid = pid + 1000,
                                  .time_ns = time,
                                  .sample = {.ip = ip, .address = address, .user = true}};
}

static void store(struct rig *rig, uint32_t pid, uint64_t ip, uint64_t address, uint64_t time)
{
    const struct kernel_record record = record_of(pid, ip, address, time);
    assignment_sample(rig->a, ACCESS_STORE, &record);
}

static void task(struct rig *rig, enum kernel_record_kind kind, uint32_t pid, uint32_t parent,
                 uint64_t time)
{
    struct kernel_record record = {.kind = kind, .pid = pid, .tid = pid, .time_ns = time};
    if (kind == KERNEL_RECORD_FORK)
        record.fork.parent_pid = parent;
    assignment_event(rig->a, &record);
}

static void map(struct rig *rig, uint32_t pid, uint64_t start, uint64_t length, bool executable,
                uint64_t time)
{
    const struct kernel_record record = {.kind = KERNEL_RECORD_MMAP,
                                         .pid = pid,
                                         .tid = pid,
                                         .time_ns = time,
                                         .mmap = {.start = start,
                                                  .length = length,
                                                  .readable = true,
                                                  .executable = executable,
                                                  .path = ""}};
    assignment_event(rig->a, &record);
}

static void settle(struct rig *rig, uint64_t time)
{
    assignment_settle(rig->a, time);
    rig->n = sample_queue_take(rig->queue, rig->out, MAX);
}

static int setup(void **state)
{
    *state = rig_new(64, 64);
    return 0;
}

static int teardown(void **state)
{
    rig_free(*state);
    return 0;
}

#define RIG_TEST(name) TEST_ON(name, struct rig *rig, setup, teardown)

/* A store whose process and code are looked at in its own moment. */
static void store_at_once(struct rig *rig, uint32_t pid, uint64_t ip, uint64_t time)
{
    rig->now = time;
    store(rig, pid, ip, NVMM, time);
    settle(rig, time + 1);
}

/* A process with everything loaded and its code at TEXT remembered. */
static void know(struct rig *rig, uint32_t pid)
{
    store_at_once(rig, pid, TEXT, rig->now);
    assert_int_equal(rig->n, 1);
    rig->reads = rig->cgroup_looks = 0;
}

static void assert_sample(const struct access_sample *s, enum medium medium, enum access_size size,
                          uint32_t bytes)
{
    assert_int_equal(s->owner, TAG);
    assert_int_equal(s->medium, medium);
    assert_int_equal(s->size, size);
    assert_int_equal(s->bytes, bytes);
}

static void assert_only_sample(const struct rig *rig, enum medium medium, enum access_size size,
                               uint32_t bytes)
{
    assert_int_equal(rig->n, 1);
    assert_sample(&rig->out[0], medium, size, bytes);
}

/* ---- the usual ---- */

TEST(everything_is_known)
{
    struct rig *rig = rig_new(4096, 64);
    know(rig, 1);
    assert_sample(&rig->out[0], MEDIUM_NVMM, ACCESS_SIZE_KNOWN, 8);
    assert_int_equal(rig->out[0].tid, 1001);
    assert_int_equal(rig->looked_at, 1);
    assert_int_equal(assignment_counts(rig->a).looks_at, 0);
    assert_int_equal(rig->out[0].ip, TEXT);
    assert_int_equal(rig->out[0].address, NVMM);
    rig->now = 11 * S;
    for (uint64_t i = 0; i < 1000; i++)
        store(rig, 1, TEXT, i % 2 ? NVMM + i : DRAM + i, 11 * S + i);
    rig->n = sample_queue_take(rig->queue, rig->out, MAX); /* they need not wait */
    assert_int_equal(rig->n, 1000);
    for (size_t i = 0; i < rig->n; i++)
        assert_sample(&rig->out[i], i % 2 ? MEDIUM_NVMM : MEDIUM_OTHER, ACCESS_SIZE_KNOWN, 8);
    assert_int_equal(rig->reads, 0);
    assert_int_equal(rig->cgroup_looks, 0);
    assert_int_equal(assignment_counts(rig->a).code_reads, 1);
    rig_free(rig);
}

RIG_TEST(what_was_read_later_waits)
{
    rig->now = 10 * S + 50; /* of the look-up */
    store(rig, 1, TEXT, NVMM, 10 * S);
    store(rig, 1, TEXT, NVMM, 10 * S + 10);
    settle(rig, 10 * S + 49);
    assert_int_equal(rig->n, 0);
    assert_int_equal(sample_queue_settled(rig->queue), 10 * S);
    settle(rig, 10 * S + 50);
    assert_int_equal(rig->n, 2);
    assert_int_equal(sample_queue_settled(rig->queue), 10 * S + 50);
    assert_sample(&rig->out[0], MEDIUM_NVMM, ACCESS_SIZE_KNOWN, 8);
    assert_sample(&rig->out[1], MEDIUM_NVMM, ACCESS_SIZE_KNOWN, 8);
    assert_int_equal(rig->reads, 1);
}

/* A look-up that is never settled must not hold up what is newer. */
RIG_TEST(nothing_waits_for_ever)
{
    rig->now = 100 * S; /* of the look-ups */
    store(rig, 1, TEXT, NVMM, 10 * S);
    store(rig, 1, TEXT, NVMM, 11 * S);
    settle(rig, 12 * S);
    assert_int_equal(rig->n, 0);
    assert_int_equal(sample_queue_settled(rig->queue), 10 * S);
    settle(rig, 12 * S + 1);
    assert_only_sample(rig, MEDIUM_UNKNOWN, ACCESS_SIZE_UNREADABLE, 0);
    assert_int_equal(rig->out[0].time_ns, 10 * S);
    assert_int_equal(sample_queue_settled(rig->queue), 11 * S);
    settle(rig, 14 * S);
    assert_only_sample(rig, MEDIUM_UNKNOWN, ACCESS_SIZE_UNREADABLE, 0);
    assert_int_equal(sample_queue_settled(rig->queue), 14 * S);
}

RIG_TEST(new_code_in_a_known_process)
{
    know(rig, 1);
    rig->now = 11 * S + 50;
    store(rig, 1, TEXT + 4, NVMM, 11 * S); /* its mapping is known, its code is read just now */
    settle(rig, 11 * S + 49);
    assert_int_equal(rig->n, 0);
    settle(rig, 11 * S + 50);
    assert_only_sample(rig, MEDIUM_NVMM, ACCESS_SIZE_KNOWN, 8);
}

/* ---- changes between the access and the look-up ---- */

TEST(another_program_since)
{
    for (int known = 0; known < 2; known++) {
        struct rig *rig = rig_new(64, 64);
        if (known)
            know(rig, 1);
        rig->now = 11 * S + 50;
        store(rig, 1, TEXT + 8, NVMM, 11 * S); /* read here: the new program's */
        task(rig, KERNEL_RECORD_EXEC, 1, 0, 11 * S + 20);
        settle(rig, 11 * S + 60);
        assert_int_equal(rig->n, 1);
        /* What was known before the access was right. */
        assert_sample(&rig->out[0], known ? MEDIUM_NVMM : MEDIUM_UNKNOWN, ACCESS_SIZE_UNREADABLE,
                      0);
        /* Nor is it remembered for the new program. */
        set_code(rig, CODE(store_4));
        store_at_once(rig, 1, TEXT + 8, 12 * S);
        assert_sample(&rig->out[0], MEDIUM_NVMM, ACCESS_SIZE_KNOWN, 4);
        rig_free(rig);
    }
}

RIG_TEST(other_code_mapped_since)
{
    know(rig, 1);
    rig->now = 11 * S + 50;
    store(rig, 1, TEXT + 8, NVMM, 11 * S);
    map(rig, 1, 0x400000, 0x1000, true, 11 * S + 20);
    settle(rig, 11 * S + 60);
    assert_only_sample(rig, MEDIUM_NVMM, ACCESS_SIZE_UNREADABLE, 0);
    /* What was remembered is read anew. */
    set_code(rig, CODE(store_1));
    store_at_once(rig, 1, TEXT, 12 * S);
    assert_sample(&rig->out[0], MEDIUM_NVMM, ACCESS_SIZE_KNOWN, 1);
}

RIG_TEST(something_else_mapped_since)
{
    rig->now = 10 * S + 50;
    store(rig, 1, TEXT, NVMM, 10 * S);
    map(rig, 1, 0x7000000, 0x1000, false, 10 * S + 20);
    settle(rig, 10 * S + 60);
    assert_sample(&rig->out[0], MEDIUM_UNKNOWN, ACCESS_SIZE_KNOWN, 8);
}

RIG_TEST(ended_since)
{
    rig->code = NULL;
    fixture_write(&rig->f, "proc/1/maps", "%s", ""); /* as that of a process that is ending */
    rig->now = 10 * S + 50;
    store(rig, 1, TEXT, NVMM, 10 * S);
    task(rig, KERNEL_RECORD_EXIT, 1, 0, 10 * S + 20);
    settle(rig, 10 * S + 60);
    assert_only_sample(rig, MEDIUM_UNKNOWN, ACCESS_SIZE_UNREADABLE, 0);
    /* Another process with its number. */
    set_code(rig, CODE(store_4));
    write_maps(rig, 1, usual);
    task(rig, KERNEL_RECORD_FORK, 1, 2, 11 * S);
    store_at_once(rig, 1, TEXT, 12 * S);
    assert_sample(&rig->out[0], MEDIUM_NVMM, ACCESS_SIZE_KNOWN, 4);
}

/* What its other threads access is known by theirs. */
RIG_TEST(the_first_thread_has_ended)
{
    write_maps(rig, 1, "");
    write_maps(rig, 1001, usual);
    rig->headless = 1;
    set_code(rig, CODE(store_4));
    for (uint64_t i = 0; i < 10; i++) {
        rig->now = (10 + i) * S + 50;
        store(rig, 1, TEXT, NVMM, (10 + i) * S);
        if (i == 5)
            task(rig, KERNEL_RECORD_EXIT, 1, 0, (10 + i) * S + 20);
        settle(rig, (10 + i) * S + 60);
        assert_only_sample(rig, MEDIUM_NVMM, ACCESS_SIZE_KNOWN, 4);
    }
}

/* Whose process it was is let be for a while, then for longer; neighbours are looked into. */
RIG_TEST(reads_that_do_not_end)
{
    rig->cgroup_of[2] = ALSO_OURS;
    rig->hangs = true;
    rig->now = 10 * S + 50;
    store(rig, 1, TEXT, NVMM, 10 * S);
    rig->hangs = false;
    store(rig, 1, TEXT + 8, NVMM, 10 * S + 10); /* not asked any more */
    store(rig, 2, TEXT, NVMM, 10 * S + 20);
    settle(rig, 10 * S + 60);
    assert_int_equal(rig->n, 3);
    assert_int_equal(rig->hung, 1);
    for (size_t i = 0; i < 3; i++) {
        bool neighbour = rig->out[i].pid == 2;
        assert_int_equal(rig->out[i].medium, neighbour ? MEDIUM_NVMM : MEDIUM_UNKNOWN);
        assert_int_equal(rig->out[i].bytes, neighbour ? 8 : 0);
    }
    struct assignment_counts counts = assignment_counts(rig->a);
    assert_true(counts.hung == 1 && counts.hung_at == 1 && counts.refused == 1);

    /* Ten seconds later it is tried again, and then not for twenty. */
    rig->now = 21 * S;
    rig->hangs = true;
    store(rig, 1, TEXT, NVMM, 21 * S);
    settle(rig, 21 * S + 1);
    assert_only_sample(rig, MEDIUM_UNKNOWN, ACCESS_SIZE_UNREADABLE, 0);
    assert_int_equal(rig->hung, 2);
    rig->hangs = false;
    store_at_once(rig, 1, TEXT, 40 * S);
    assert_sample(&rig->out[0], MEDIUM_UNKNOWN, ACCESS_SIZE_UNREADABLE, 0);
    store_at_once(rig, 1, TEXT, 42 * S);
    assert_sample(&rig->out[0], MEDIUM_NVMM, ACCESS_SIZE_KNOWN, 8);
    counts = assignment_counts(rig->a);
    assert_true(counts.hung == 2 && counts.refused == 0);
}

/* It comes back within the time that a sample waits, or does not. */
RIG_TEST(nobody_reads_for_a_while)
{
    rig->unready = true;
    rig->now = 10 * S + 50;
    store(rig, 1, TEXT, NVMM, 10 * S);
    settle(rig, 10 * S + 60);
    assert_int_equal(rig->n, 0);
    rig->unready = false;
    rig->now = 10 * S + 70;
    settle(rig, 10 * S + 80);
    assert_only_sample(rig, MEDIUM_NVMM, ACCESS_SIZE_UNREADABLE, 0);
    rig->unready = true;
    rig->now = 10 * S + 100;
    store(rig, 2, TEXT, NVMM, 10 * S + 100);
    settle(rig, 11 * S);
    assert_int_equal(rig->n, 0);
    settle(rig, 12 * S + 200);
    assert_only_sample(rig, MEDIUM_UNKNOWN, ACCESS_SIZE_UNREADABLE, 0);
    assert_int_equal(assignment_counts(rig->a).refused, 0);
}

RIG_TEST(records_were_lost)
{
    know(rig, 1);
    rig->now = 11 * S + 50;
    store(rig, 1, TEXT + 8, NVMM, 11 * S);  /* its mapping was known, its code not */
    store(rig, 2, TEXT, NVMM, 11 * S + 10); /* nothing of it was known */
    const struct kernel_record lost = {
        .kind = KERNEL_RECORD_LOST, .time_ns = 11 * S + 20, .lost = 3};
    assignment_event(rig->a, &lost);
    settle(rig, 11 * S + 60);
    assert_int_equal(rig->n, 2);
    assert_sample(&rig->out[0], MEDIUM_NVMM, ACCESS_SIZE_UNREADABLE, 0);
    assert_sample(&rig->out[1], MEDIUM_UNKNOWN, ACCESS_SIZE_UNREADABLE, 0);
    /* And from here on everything is found out anew. */
    set_code(rig, CODE(store_4));
    rig->cgroup_looks = 0;
    store_at_once(rig, 1, TEXT, 12 * S);
    assert_sample(&rig->out[0], MEDIUM_NVMM, ACCESS_SIZE_KNOWN, 4);
    assert_int_equal(rig->cgroup_looks, 1);
}

/* ---- code ---- */

/* A compiler may put other code there at any time: good for samples from before the reading. */
RIG_TEST(code_made_at_run_time)
{
    know(rig, 1);
    rig->now = 11 * S + 50;
    for (uint64_t i = 0; i < 5; i++)
        store(rig, 1, JIT, NVMM, 11 * S + 10 * i);
    assert_int_equal(rig->reads, 1);
    set_code(rig, CODE(store_4));
    rig->now = 11 * S + 100;
    store(rig, 1, JIT, NVMM, 11 * S + 60);
    assert_int_equal(rig->reads, 2);
    settle(rig, 11 * S + 100);
    assert_int_equal(rig->n, 6);
    for (size_t i = 0; i < 6; i++)
        assert_sample(&rig->out[i], MEDIUM_NVMM, ACCESS_SIZE_KNOWN, i < 5 ? 8 : 4);
}

RIG_TEST(each_process_has_its_own_code)
{
    know(rig, 1);
    set_code(rig, CODE(store_4));
    rig->now = 11 * S;
    know(rig, 2);
    assert_sample(&rig->out[0], MEDIUM_NVMM, ACCESS_SIZE_KNOWN, 4);
    const struct kernel_record load = record_of(1, TEXT, NVMM, rig->now);
    assignment_sample(rig->a, ACCESS_LOAD, &load); /* nor is a load's size that of a store */
    settle(rig, rig->now + 1);
    assert_int_equal(rig->out[0].access, ACCESS_LOAD);
    assert_sample(&rig->out[0], MEDIUM_NVMM, ACCESS_SIZE_NO_ACCESS, 0);
}

RIG_TEST(narrow_processes)
{
    rig->narrow = true;
    know(rig, 1); /* 0x48 is an instruction of its own there, without memory */
    assert_sample(&rig->out[0], MEDIUM_NVMM, ACCESS_SIZE_NO_ACCESS, 0);
    store(rig, 1, UINT64_C(0x7f0000000000), NVMM, rig->now + 2); /* no 32-bit code lies there */
    settle(rig, rig->now + 3);
    assert_sample(&rig->out[0], MEDIUM_NVMM, ACCESS_SIZE_KNOWN, 8);
}

RIG_TEST(the_kernels_instructions)
{
    know(rig, 1);
    struct kernel_record record = record_of(1, TEXT, NVMM, rig->now + 5);
    record.sample.user = false;
    assignment_sample(rig->a, ACCESS_STORE, &record);
    settle(rig, rig->now + 6);
    assert_sample(&rig->out[0], MEDIUM_NVMM, ACCESS_SIZE_UNREADABLE, 0);
}

/* ---- whose ---- */

RIG_TEST(foreign_ones_cost_little)
{
    rig->now = 11 * S;
    for (uint64_t i = 0; i < 100; i++)
        store(rig, 9, TEXT + i, NVMM, 11 * S + i);
    store(rig, 0, TEXT, NVMM, 11 * S + 200);
    store(rig, UINT32_MAX, TEXT, NVMM, 11 * S + 201);
    settle(rig, 12 * S);
    assert_int_equal(rig->n, 0);
    assert_int_equal(rig->reads, 0);
    assert_int_equal(rig->cgroup_looks, 1);
    assert_int_equal(assignment_counts(rig->a).foreign, 102);
    assert_int_equal(assignment_counts(rig->a).unseen, 2);
    assert_int_equal(assignment_size(rig->a).processes, 0);
}

RIG_TEST(samples_with_a_cgroup)
{
    struct kernel_record record = record_of(9, TEXT, NVMM, 10 * S);
    record.sample.cgroup_id = ALSO_OURS; /* the moment's truth, whatever is known of the process */
    assignment_sample(rig->a, ACCESS_STORE, &record);
    record = record_of(1, TEXT, NVMM, 10 * S);
    record.sample.cgroup_id = FOREIGN;
    assignment_sample(rig->a, ACCESS_STORE, &record);
    settle(rig, 10 * S + 1);
    assert_int_equal(rig->n, 1);
    assert_int_equal(rig->out[0].owner, TAG + 1);
    assert_int_equal(rig->cgroup_looks, 0);
}

RIG_TEST(children_begin_where_their_parents_are)
{
    know(rig, 1);
    for (uint32_t pid = 20; pid < 24; pid++) /* each the child of the one before; all gone by now */
        task(rig, KERNEL_RECORD_FORK, pid, pid == 20 ? 1 : pid - 1, 11 * S + pid);
    for (uint32_t pid = 20; pid < 24; pid++)
        task(rig, KERNEL_RECORD_EXIT, pid, 0, 11 * S + 100 + pid);
    rig->now = 11 * S + 200;
    store(rig, 23, TEXT, NVMM, 11 * S + 50);
    settle(rig, 11 * S + 300);
    assert_int_equal(rig->n, 1);
    assert_int_equal(rig->out[0].owner, TAG);
    assert_int_equal(rig->cgroup_looks, 0);
    /* A parent that is not known is looked at when it has a child. */
    task(rig, KERNEL_RECORD_FORK, 30, 2, 12 * S);
    assert_int_equal(rig->cgroup_looks, 1);
    store_at_once(rig, 30, TEXT, 12 * S);
    assert_int_equal(rig->n, 1);
    /* And the child itself, where the parent is gone as well. */
    task(rig, KERNEL_RECORD_FORK, 5, 31, 13 * S);
    store_at_once(rig, 5, TEXT, 13 * S);
    assert_int_equal(rig->n, 1);
}

/* A runtime forks, moves the child into a container's cgroup, and runs the payload. */
RIG_TEST(a_child_that_was_moved)
{
    store(rig, 9, TEXT, NVMM, rig->now);
    task(rig, KERNEL_RECORD_FORK, 5, 9, 11 * S);
    rig->now = 11 * S + 10;
    store(rig, 5, TEXT, NVMM, 11 * S + 5);
    settle(rig, 11 * S + 11);
    assert_int_equal(rig->n, 0);
    task(rig, KERNEL_RECORD_EXEC, 5, 0, 11 * S + 20);
    rig->now = 11 * S + 30;
    store(rig, 5, TEXT, NVMM, 11 * S + 30);
    settle(rig, 11 * S + 31);
    assert_int_equal(rig->n, 1);
    /* Moved without anything else: found out after a while. */
    rig->cgroup_of[5] = ALSO_OURS;
    store_at_once(rig, 5, TEXT, 15 * S);
    assert_int_equal(rig->n, 1);
    assert_int_equal(rig->out[0].owner, TAG + 1);
}

/* ---- bounds ---- */

TEST(no_room_to_wait)
{
    struct rig *rig = rig_new(64, 4);
    know(rig, 1);
    rig->now = 11 * S + 50;
    for (uint64_t i = 0; i < 6; i++)
        store(rig, 2, TEXT + 8, NVMM, 11 * S + i);
    rig->n = sample_queue_take(rig->queue, rig->out, MAX);
    assert_int_equal(rig->n, 2); /* what is not sure of them is not known */
    for (size_t i = 0; i < rig->n; i++)
        assert_sample(&rig->out[i], MEDIUM_UNKNOWN, ACCESS_SIZE_UNREADABLE, 0);
    store(rig, 1, TEXT, NVMM, 11 * S + 10); /* others pass */
    rig->n = sample_queue_take(rig->queue, rig->out, MAX);
    assert_int_equal(rig->n, 1);
    settle(rig, 11 * S + 60);
    assert_int_equal(rig->n, 4);
    rig_free(rig);
}

TEST(no_room_in_the_queue)
{
    struct rig *rig = rig_new(4, 64);
    know(rig, 1);
    for (uint64_t i = 0; i < 10; i++)
        store(rig, 1, TEXT, NVMM, 11 * S + i);
    struct assignment_counts counts = assignment_counts(rig->a);
    assert_int_equal(counts.dropped[ACCESS_STORE], 6);
    assert_int_equal(counts.dropped[ACCESS_LOAD], 0);
    rig_free(rig);
}

RIG_TEST(latency_is_handed_on)
{
    rig->now = 10 * S + 50;
    struct kernel_record record = record_of(1, TEXT, NVMM, 10 * S);
    assignment_sample(rig->a, ACCESS_LOAD, &record);
    record.sample.weight = 312;
    assignment_sample(rig->a, ACCESS_LOAD, &record);
    settle(rig, 10 * S + 60);
    assert_int_equal(rig->n, 2);
    assert_int_equal(rig->out[0].latency_cycles, 0);
    assert_int_equal(rig->out[1].latency_cycles, 312);
}

/* Whoever makes reading expensive gets no sizes. */
TEST(reading_has_a_budget)
{
    const uint64_t ms = S / 1000;
    struct rig *rig = rig_new(4096, 1024);
    know(rig, 1);
    rig->read_costs = 10 * ms;
    rig->now = 11 * S;
    for (uint64_t i = 1; i <= 100; i++)
        store(rig, 1, TEXT + 4 * i, NVMM, 11 * S);
    assert_int_equal(rig->reads, 6); /* 50 ms were saved, and the last is on credit */
    settle(rig, 11 * S + 1);
    assert_int_equal(rig->n, 100);
    /* Those that were read had to wait. */
    for (size_t i = 0; i < 100; i++)
        assert_sample(&rig->out[i], MEDIUM_NVMM,
                      i < 94 ? ACCESS_SIZE_UNREADABLE : ACCESS_SIZE_KNOWN, i < 94 ? 0 : 8);
    /* What is known costs nothing. */
    store(rig, 1, TEXT + 4, NVMM, 11 * S + 2);
    settle(rig, 11 * S + 3);
    assert_sample(&rig->out[0], MEDIUM_NVMM, ACCESS_SIZE_KNOWN, 8);
    /* Ten milliseconds are earned in two hundred. */
    rig->now = 11 * S + 199 * ms;
    store(rig, 1, TEXT + 400, NVMM, rig->now);
    assert_int_equal(rig->reads, 6);
    rig->now = 11 * S + 200 * ms;
    store(rig, 1, TEXT + 400, NVMM, rig->now);
    store(rig, 1, TEXT + 404, NVMM, rig->now);
    assert_int_equal(rig->reads, 7);
    rig_free(rig);
}

RIG_TEST(the_rule_looks_again)
{
    for (uint64_t t = 100; t <= 300; t++)
        settle(rig, t * S);
    assert_in_range(rig->refreshes, 3, 4);
}
