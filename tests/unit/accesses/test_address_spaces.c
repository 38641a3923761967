/* What processes have mapped, according to the records: never another mapping's medium. */
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/source/accesses/address_spaces.h"
#include "exporter/source/accesses/own_reader.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

/* ---- one address space against the simplest one: an entry for every page ---- */

enum { PAGES = 64, PAGE = 4096, MAX_BYTES = 1 << 20 };

static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * UINT64_C(2685821657736338717) >> 32;
}

static void same_as_pages(const struct address_space *space, const uint64_t *inode,
                          const uint64_t *since)
{
    for (size_t i = 0; i < space->n; i++) {
        assert_true(space->at[i].start < space->at[i].end);
        assert_true(i == 0 || space->at[i - 1].end <= space->at[i].start);
    }
    for (uint64_t page = 0; page < PAGES; page++) {
        const struct mapping *m = address_space_find(space, page * PAGE + 17);
        if (since[page] == UINT64_MAX) {
            assert_null(m);
            continue;
        }
        assert_non_null(m);
        assert_true(m->inode == inode[page] && m->since_ns == since[page]);
        struct maps_line line = address_space_line(space, m);
        char path[32];
        int n = m->inode ? snprintf(path, sizeof path, "/file%" PRIu64, inode[page]) : 0;
        assert_int_equal(line.path_len, n);
        assert_memory_equal(line.path, path, (size_t)n);
        /* Each file is mapped so that a page's offset is its address. */
        if (m->inode)
            assert_true(m->offset == m->start);
    }
}

TEST(one_space_against_pages)
{
    uint64_t seed = 42, inode[PAGES], since[PAGES];
    for (int round = 0; round < 50; round++) {
        struct address_space space = {0};
        memset(since, 0xff, sizeof since);
        for (uint64_t step = 0; step < 60; step++) {
            char path[32];
            uint64_t first = next(&seed) % PAGES, n = 1 + next(&seed) % 9;
            uint64_t file = next(&seed) % 4, time = step / 2;
            if (first + n > PAGES)
                n = PAGES - first;
            struct maps_line line = {.start = first * PAGE,
                                     .end = (first + n) * PAGE,
                                     .offset = first * PAGE,
                                     .inode = file,
                                     .path = path};
            line.path_len = (size_t)snprintf(path, sizeof path, "/file%" PRIu64, file);
            assert_int_equal(address_space_put(&space, &line, time), 0);
            for (uint64_t page = first; page < first + n; page++) {
                inode[page] = file;
                since[page] = time;
            }
            same_as_pages(&space, inode, since);
        }
        address_space_release(&space);
    }
}

/* ---- many, from a made-up /proc ---- */

struct rig {
    struct medium_rule rule; /* first: files below /nvmm are */
    struct fixture f;
    uint64_t now, cpu, load_costs;
    int asked;
    pid_t asked_pid;
    struct process_reader *reader;
    struct address_spaces *spaces;
};

static enum medium rig_mapping(struct medium_rule *rule, pid_t pid, const struct maps_line *line,
                               enum access access)
{
    struct rig *rig = (struct rig *)rule;
    rig->asked_pid = pid;
    rig->asked++;
    return line->path_len > 6 && memcmp(line->path, "/nvmm/", 6) == 0 ? MEDIUM_NVMM : MEDIUM_OTHER;
}

static uint64_t rig_now(void *context)
{
    const struct rig *rig = context;
    return rig->now;
}

/* Each question and each loading costs the same here: it is asked before and after. */
static uint64_t rig_cpu(void *context)
{
    struct rig *rig = context;
    return rig->cpu += rig->load_costs;
}

static void rig_init(struct rig *rig, size_t processes)
{
    *rig = (struct rig){.rule.mapping = rig_mapping, .now = 1000};
    fixture_init(&rig->f);
    assert_int_equal(own_reader_new(&rig->f.fs, &rig->reader), 0);
    const struct address_spaces_config config = {.reader = rig->reader,
                                                 .rule = &rig->rule,
                                                 .now_ns = rig_now,
                                                 .cpu_ns = rig_cpu,
                                                 .context = rig,
                                                 .max_processes = processes,
                                                 .max_bytes = MAX_BYTES,
                                                 .max_age_ns = 1000000};
    assert_int_equal(address_spaces_new(&config, &rig->spaces), 0);
}

static void rig_release(struct rig *rig)
{
    address_spaces_free(rig->spaces);
    own_reader_free(rig->reader);
    fixture_release(&rig->f);
}

static int setup(void **state)
{
    static struct rig rig;
    rig_init(&rig, 4);
    *state = &rig;
    return 0;
}

static int teardown(void **state)
{
    rig_release(*state);
    return 0;
}

static void write_maps(struct rig *rig, unsigned pid, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "proc/%u/maps", pid);
    fixture_write(&rig->f, path, "%s", text);
}

/* The medium, or the error. */
static int ask_thread(struct rig *rig, uint32_t pid, uint32_t tid, uint64_t address, uint64_t time)
{
    enum medium medium;
    const struct access_sample access = {
        .time_ns = time, .address = address, .pid = pid, .tid = tid, .access = ACCESS_STORE};
    int err = address_spaces_find(rig->spaces, &access, &medium);
    return err ? err : (int)medium;
}

static int ask(struct rig *rig, uint32_t pid, uint64_t address, uint64_t time)
{
    return ask_thread(rig, pid, pid, address, time);
}

static void map(struct rig *rig, uint32_t pid, uint64_t time, uint64_t start, uint64_t end,
                const char *path)
{
    const struct kernel_record record = {.kind = KERNEL_RECORD_MMAP,
                                         .pid = pid,
                                         .tid = pid,
                                         .time_ns = time,
                                         .mmap = {.start = start,
                                                  .length = end - start,
                                                  .inode = path[0] ? 5 : 0,
                                                  .shared = true,
                                                  .writable = true,
                                                  .path = path,
                                                  .path_len = strlen(path)}};
    address_spaces_apply(rig->spaces, &record);
}

static void tell(struct rig *rig, enum kernel_record_kind kind, uint32_t pid, uint32_t tid,
                 uint64_t time)
{
    const struct kernel_record record = {.kind = kind, .pid = pid, .tid = tid, .time_ns = time};
    address_spaces_apply(rig->spaces, &record);
}

static const char usual[] = "1000-2000 r-xp 00000000 08:01 9 /bin/x\n"
                            "2000-3000 rw-p 00001000 08:01 9 /bin/x\n"
                            "3000-5000 rw-p 00000000 00:00 0 [heap]\n"
                            "7000-9000 rw-s 00000000 103:01 5 /nvmm/a\n";

TEST_ON(loaded_once_and_asked_once, struct rig *rig, setup, teardown)
{
    write_maps(rig, 7, usual);
    assert_int_equal(ask(rig, 7, 0x7000, 1000), MEDIUM_NVMM);
    write_maps(rig, 7, "");
    assert_int_equal(ask(rig, 7, 0x8fff, 1001), MEDIUM_NVMM);
    assert_int_equal(rig->asked, 1);
    assert_int_equal(ask(rig, 7, 0x3000, 1001), MEDIUM_OTHER);
    assert_int_equal(ask(rig, 7, 0x2fff, 1001), MEDIUM_OTHER);
    assert_int_equal(ask(rig, 7, 0x6000, 1001), -ENXIO);
    assert_int_equal(ask(rig, 7, 0x9000, 1001), -ENXIO);
    assert_int_equal(ask(rig, 7, 0, 1001), -ENXIO);
    assert_int_equal(ask(rig, 0, 0x7000, 1001), -ESRCH);
    assert_int_equal(address_spaces_size(rig->spaces).mappings, 4);
}

TEST_ON(an_access_before_the_loading_waits, struct rig *rig, setup, teardown)
{
    write_maps(rig, 7, usual);
    address_spaces_settle(rig->spaces, 800);
    assert_int_equal(ask(rig, 7, 0x7000, 900), -EAGAIN);
    assert_int_equal(ask(rig, 7, 0x3000, 900), -EAGAIN);
    /* Mapped at 950, between the access and the loading: before, something else was there. */
    map(rig, 7, 950, 0x7000, 0x8000, "/nvmm/a");
    address_spaces_settle(rig->spaces, 999);
    assert_int_equal(ask(rig, 7, 0x3000, 900), -EAGAIN);
    address_spaces_settle(rig->spaces, 1000);
    assert_int_equal(ask(rig, 7, 0x7000, 900), -ESTALE);
    assert_int_equal(ask(rig, 7, 0x8000, 900), MEDIUM_NVMM);
    assert_int_equal(ask(rig, 7, 0x3000, 900), MEDIUM_OTHER);
    assert_int_equal(ask(rig, 7, 0x7000, 960), MEDIUM_NVMM);
}

TEST_ON(remapped, struct rig *rig, setup, teardown)
{
    write_maps(rig, 7, usual);
    assert_int_equal(ask(rig, 7, 0x7000, 1001), MEDIUM_NVMM);
    /* In the middle of the file's mapping, at 1100: memory; of the heap: the file. */
    map(rig, 7, 1100, 0x7800, 0x8800, "");
    map(rig, 7, 1100, 0x4000, 0x5000, "/nvmm/b");
    address_spaces_settle(rig->spaces, 1200);
    assert_int_equal(ask(rig, 7, 0x7000, 1150), MEDIUM_NVMM);
    assert_int_equal(ask(rig, 7, 0x7800, 1150), MEDIUM_OTHER);
    assert_int_equal(ask(rig, 7, 0x8800, 1150), MEDIUM_NVMM);
    assert_int_equal(ask(rig, 7, 0x3fff, 1150), MEDIUM_OTHER);
    assert_int_equal(ask(rig, 7, 0x4000, 1150), MEDIUM_NVMM);
    /* What was there at 1050 is not known any more, and not guessed. */
    assert_int_equal(ask(rig, 7, 0x7800, 1050), -ESTALE);
    assert_int_equal(ask(rig, 7, 0x4000, 1050), -ESTALE);
    assert_int_equal(ask(rig, 7, 0x7000, 1050), MEDIUM_NVMM);
    /* A record of another process, and one of no length, change nothing. */
    map(rig, 8, 1300, 0x7000, 0x9000, "");
    map(rig, 7, 1300, 0x7000, 0x7000, "");
    assert_int_equal(ask(rig, 7, 0x7000, 1350), MEDIUM_NVMM);
}

TEST_ON(another_program, struct rig *rig, setup, teardown)
{
    write_maps(rig, 7, usual);
    assert_int_equal(ask(rig, 7, 0x7000, 1001), MEDIUM_NVMM);
    rig->now = 2100;
    write_maps(rig, 7, "7000-9000 rw-p 00000000 00:00 0\n");
    tell(rig, KERNEL_RECORD_EXEC, 7, 7, 2000);
    address_spaces_settle(rig->spaces, 2100);
    assert_int_equal(ask(rig, 7, 0x7000, 1999), -ESTALE);
    assert_int_equal(ask(rig, 7, 0x7000, 2001), MEDIUM_OTHER);
    assert_int_equal(ask(rig, 7, 0x3000, 2001), -ENXIO);
}

TEST_ON(the_same_number_for_another_process, struct rig *rig, setup, teardown)
{
    write_maps(rig, 7, usual);
    assert_int_equal(ask(rig, 7, 0x7000, 1001), MEDIUM_NVMM);
    tell(rig, KERNEL_RECORD_EXIT, 7, 9, 1100); /* a thread only */
    assert_int_equal(ask(rig, 7, 0x7000, 1150), MEDIUM_NVMM);
    tell(rig, KERNEL_RECORD_EXIT, 7, 7, 1200);
    rig->now = 3000;
    write_maps(rig, 7, "7000-9000 rw-p 00000000 00:00 0\n");
    assert_int_equal(ask(rig, 7, 0x7000, 1199), MEDIUM_NVMM); /* it still lived */
    tell(rig, KERNEL_RECORD_FORK, 7, 8, 1900);                /* a thread is no new process */
    assert_int_equal(ask(rig, 7, 0x7000, 1199), MEDIUM_NVMM);
    tell(rig, KERNEL_RECORD_FORK, 7, 7, 2000);
    address_spaces_settle(rig->spaces, 3000);
    assert_int_equal(ask(rig, 7, 0x7000, 1199), -ESTALE);
    assert_int_equal(ask(rig, 7, 0x7000, 2001), MEDIUM_OTHER);
}

static void give_birth(struct rig *rig, uint32_t parent, uint32_t child, uint64_t time)
{
    const struct kernel_record record = {.kind = KERNEL_RECORD_FORK,
                                         .pid = child,
                                         .tid = child,
                                         .time_ns = time,
                                         .fork.parent_pid = parent};
    address_spaces_apply(rig->spaces, &record);
}

/* Nothing of them is in /proc here, as if they had gone at once. */
TEST(children_have_what_their_parents_had)
{
    struct rig rig;
    rig_init(&rig, 8);
    write_maps(&rig, 7, usual);
    assert_int_equal(ask(&rig, 7, 0x7000, 1001), MEDIUM_NVMM);
    int asked = rig.asked;
    give_birth(&rig, 7, 20, 1100);
    give_birth(&rig, 20, 21, 1150); /* and their children */
    assert_int_equal(ask(&rig, 20, 0x7000, 1101), MEDIUM_NVMM);
    assert_int_equal(ask(&rig, 21, 0x7000, 1151), MEDIUM_NVMM);
    assert_int_equal(rig.asked, asked); /* nor is the rule asked again */
    assert_int_equal(ask(&rig, 20, 0x7000, 1099), -ESTALE);
    tell(&rig, KERNEL_RECORD_EXIT, 20, 20, 1200);
    assert_int_equal(ask(&rig, 20, 0x7000, 1199), MEDIUM_NVMM);
    /* Known as long as its parent's would be. */
    give_birth(&rig, 7, 22, 1250);
    address_spaces_settle(rig.spaces, 1000900);
    assert_int_equal(ask(&rig, 22, 0x7000, 1000950), MEDIUM_NVMM);
    address_spaces_settle(rig.spaces, 1001100);
    assert_int_equal(ask(&rig, 22, 0x7000, 1001150), -ESRCH);
    address_spaces_settle(rig.spaces, 1000);
    /* From then on each has its own. */
    tell(&rig, KERNEL_RECORD_EXEC, 7, 7, 1300);
    assert_int_equal(ask(&rig, 21, 0x7000, 1301), MEDIUM_NVMM);
    tell(&rig, KERNEL_RECORD_EXEC, 21, 21, 1400);
    rig.now = 1500;
    assert_int_equal(ask(&rig, 21, 0x7000, 1501), -ESRCH);
    rig_release(&rig);

    /* A parent whose mappings were read after the fork may have had others at the fork. */
    rig_init(&rig, 8);
    write_maps(&rig, 7, usual);
    rig.now = 1200;
    assert_int_equal(ask(&rig, 7, 0x7000, 1201), MEDIUM_NVMM);
    give_birth(&rig, 7, 20, 1100);
    assert_int_equal(ask(&rig, 20, 0x7000, 1201), -ESRCH);
    rig_release(&rig);

    /* With little room others go and move for a child: it still has its own parent's. */
    uint64_t seed = 5;
    rig_init(&rig, 5);
    for (uint32_t pid = 1; pid < 10; pid++)
        write_maps(&rig, pid, pid % 2 ? usual : "7000-9000 rw-p 00000000 00:00 0\n");
    for (uint32_t child = 100; child < 2000; child++) {
        uint32_t parent = 1 + (uint32_t)(next(&seed) % 9);
        int has = parent % 2 ? MEDIUM_NVMM : MEDIUM_OTHER;
        assert_int_equal(ask(&rig, parent, 0x7000, 1100 + child), has);
        give_birth(&rig, parent, child, 1100 + child);
        assert_true(address_spaces_size(rig.spaces).processes <= 5);
        assert_int_equal(ask(&rig, child, 0x7000, 5000), has);
    }
    rig_release(&rig);
}

TEST_ON(processes_that_are_gone, struct rig *rig, setup, teardown)
{
    /* Asked for after its end: not loaded, and not looked for with every sample. */
    address_spaces_settle(rig->spaces, 1000);
    assert_int_equal(ask(rig, 7, 0x7000, 1000), -ESRCH);
    write_maps(rig, 7, usual); /* the number is used again */
    assert_int_equal(ask(rig, 7, 0x7000, 1050), -ESRCH);
    tell(rig, KERNEL_RECORD_FORK, 7, 7, 1100);
    rig->now = 1200;
    address_spaces_settle(rig->spaces, 1200);
    assert_int_equal(ask(rig, 7, 0x7000, 1150), MEDIUM_NVMM);
    /* A kernel thread has no text, an ended process likewise. */
    write_maps(rig, 8, "");
    assert_int_equal(ask(rig, 8, 0x7000, 1200), -ESRCH);
    /* The dead are forgotten, but not at once. */
    tell(rig, KERNEL_RECORD_EXIT, 7, 7, 1300);
    address_spaces_settle(rig->spaces, 1000000000);
    assert_int_equal(address_spaces_size(rig->spaces).processes, 2);
    address_spaces_settle(rig->spaces, 1000001400);
    assert_int_equal(address_spaces_size(rig->spaces).processes, 1);
}

/* A program that ends its first thread: the others' accesses are known all the same. */
TEST_ON(threads_without_the_first, struct rig *rig, setup, teardown)
{
    write_maps(rig, 7, usual);
    assert_int_equal(ask_thread(rig, 7, 8, 0x7000, 1001), MEDIUM_NVMM);
    tell(rig, KERNEL_RECORD_EXIT, 7, 7, 1100);
    write_maps(rig, 7, "");
    assert_int_equal(ask_thread(rig, 7, 8, 0x7000, 1150), MEDIUM_NVMM);
    assert_int_equal(ask_thread(rig, 7, 8, 0x3000, 1150), MEDIUM_OTHER);
    /* What they map counts, and what they begin has what they have. */
    map(rig, 7, 1200, 0x3000, 0x4000, "/nvmm/b");
    assert_int_equal(ask_thread(rig, 7, 8, 0x3000, 1250), MEDIUM_NVMM);
    tell(rig, KERNEL_RECORD_EXIT, 7, 9, 1300);
    give_birth(rig, 7, 20, 1350);
    assert_int_equal(ask(rig, 20, 0x3000, 1360), MEDIUM_NVMM);

    /* After a while it is read anew, through a thread that runs. */
    rig->now = 1300000;
    address_spaces_settle(rig->spaces, 1300000);
    write_maps(rig, 8, usual);
    assert_int_equal(ask_thread(rig, 7, 8, 0x3000, 1300001), MEDIUM_OTHER);
    assert_int_equal(rig->asked_pid, 8);
    /* Through another one where that has ended, but not anew for each access of one. */
    rig->now = 2500000;
    address_spaces_settle(rig->spaces, 2500000);
    write_maps(rig, 8, "");
    write_maps(rig, 9, usual);
    assert_int_equal(ask_thread(rig, 7, 8, 0x7000, 2499999), -ESRCH);
    assert_int_equal(ask_thread(rig, 7, 9, 0x7000, 2499999), -ESRCH); /* and not before it ran */
    assert_int_equal(ask_thread(rig, 7, 8, 0x7000, 2500001), -ESRCH);
    assert_int_equal(ask_thread(rig, 7, 9, 0x7000, 2500001), MEDIUM_NVMM);
    assert_int_equal(rig->asked_pid, 9);
    /* The first thread's own accesses came first. */
    write_maps(rig, 3, "");
    write_maps(rig, 4, usual);
    rig->now = 2600000;
    assert_int_equal(ask(rig, 3, 0x7000, 2500001), -EAGAIN);
    assert_int_equal(ask_thread(rig, 3, 4, 0x7000, 2500002), -EAGAIN);
    address_spaces_settle(rig->spaces, 2600000);
    assert_int_equal(ask_thread(rig, 3, 4, 0x7000, 2500002), MEDIUM_NVMM);
    /* A process of which nothing was known, and one that was forgotten. */
    write_maps(rig, 5, "");
    write_maps(rig, 6, usual);
    assert_int_equal(ask_thread(rig, 5, 6, 0x7000, 2600001), MEDIUM_NVMM);
    tell(rig, KERNEL_RECORD_EXIT, 5, 5, 2600002);
    address_spaces_settle(rig->spaces, 5000000000);
    rig->now = 5000000000;
    assert_int_equal(ask_thread(rig, 5, 6, 0x7000, 5000000000), MEDIUM_NVMM);
    /* The same number for another process. */
    write_maps(rig, 5, "7000-9000 rw-p 00000000 00:00 0\n");
    tell(rig, KERNEL_RECORD_EXIT, 5, 6, 5000000001);
    tell(rig, KERNEL_RECORD_FORK, 5, 5, 5000000002);
    rig->now = 5000000003;
    assert_int_equal(ask(rig, 5, 0x7000, 5000000004), MEDIUM_OTHER);
    assert_int_equal(rig->asked_pid, 5);
}

TEST_ON(loaded_anew, struct rig *rig, setup, teardown)
{
    write_maps(rig, 7, usual);
    assert_int_equal(ask(rig, 7, 0x7000, 1001), MEDIUM_NVMM);
    /* mremap leaves no record: only loading shows it. */
    write_maps(rig, 7, "a000-c000 rw-s 00000000 103:01 5 /nvmm/a\n");
    assert_int_equal(ask(rig, 7, 0xa000, 1002), -ENXIO);
    rig->now = 1003000;
    address_spaces_settle(rig->spaces, 1002000);
    assert_int_equal(ask(rig, 7, 0xa000, 1003001), MEDIUM_NVMM);
    /* Records were lost: whatever is known may be wrong. */
    write_maps(rig, 7, usual);
    rig->now = 1005000;
    address_spaces_lost(rig->spaces, 1004000);
    assert_int_equal(ask(rig, 7, 0xa000, 1004000), -EAGAIN);
    address_spaces_settle(rig->spaces, 1005000);
    assert_int_equal(ask(rig, 7, 0xa000, 1004000), -ENXIO);
    assert_int_equal(ask(rig, 7, 0x7000, 1004000), MEDIUM_NVMM);
    /* Before, something else may have been there whose record is missing. */
    assert_int_equal(ask(rig, 7, 0x7000, 1003999), -ESTALE);
    write_maps(rig, 9, usual);
    assert_int_equal(ask(rig, 9, 0x7000, 1003999), -ESTALE);
    /* Of two losses the earlier one may come last. */
    address_spaces_lost(rig->spaces, 1003000);
    assert_int_equal(ask(rig, 7, 0x7000, 1003999), -ESTALE);
}

TEST(more_processes_than_fit)
{
    struct rig rig;
    rig_init(&rig, 3);
    for (unsigned pid = 1; pid <= 40; pid++)
        write_maps(&rig, pid, pid % 2 ? usual : "7000-9000 rw-p 00000000 00:00 0\n");
    for (int round = 0; round < 3; round++) {
        for (unsigned pid = 1; pid <= 40; pid++) {
            assert_int_equal(ask(&rig, pid, 0x7000, 1001), pid % 2 ? MEDIUM_NVMM : MEDIUM_OTHER);
            assert_true(address_spaces_size(rig.spaces).processes <= 3);
            /* The one asked for all the time stays. */
            assert_int_equal(ask(&rig, 1, 0x7000, 1001), MEDIUM_NVMM);
        }
        write_maps(&rig, 1, "");
    }
    rig_release(&rig);
}

/* While a process is forgotten, no record follows it: what it maps later does not answer for an
 * access from before. */
TEST(forgotten_while_an_access_waits)
{
    for (int again = 0; again < 2; again++) {
        struct rig rig;
        rig_init(&rig, 2);
        for (unsigned pid = 7; pid <= 9; pid++)
            write_maps(&rig, pid, usual);
        address_spaces_settle(rig.spaces, 800);
        assert_int_equal(ask(&rig, 7, 0x7000, 900), -EAGAIN);
        ask(&rig, 8, 0x7000, 910);
        ask(&rig, 9, 0x7000, 920); /* for which 7 goes */
        assert_int_equal(address_spaces_size(rig.spaces).processes, 2);
        write_maps(&rig, 7, "7000-9000 rw-p 00000000 00:00 0\n");
        tell(&rig, KERNEL_RECORD_EXEC, 7, 7, 950);
        rig.now = 1100;
        if (again) /* a newer access of the new program loads it */
            assert_int_equal(ask(&rig, 7, 0x7000, 1100), MEDIUM_OTHER);
        /* Some records may be newer than what is settled. */
        address_spaces_settle(rig.spaces, 940);
        assert_int_equal(ask(&rig, 7, 0x7000, 945), -ESTALE);
        address_spaces_settle(rig.spaces, 1100);
        assert_int_equal(ask(&rig, 7, 0x7000, 900), -ESTALE);
        assert_int_equal(ask(&rig, 7, 0x7000, 1101), MEDIUM_OTHER);
        /* The others are still there: for an access that cannot be answered none of them goes. */
        write_maps(&rig, 9, "");
        assert_int_equal(ask(&rig, 9, 0x7000, 1101), MEDIUM_NVMM);
        rig_release(&rig);
    }
}

/* Nor do the mappings of few processes grow without end. */
TEST(more_mappings_than_fit)
{
    enum { LINES = 2000, LINE = 64 };
    struct rig rig;
    char *text = malloc(LINES * LINE);
    size_t len = 0, most = 0;
    assert_non_null(text);
    for (size_t i = 0; i < LINES; i++)
        len += (size_t)snprintf(text + len, LINE, "%zx-%zx rw-s 00000000 103:01 5 /n\n", 0x1000 * i,
                                0x1000 * (i + 1));
    rig_init(&rig, 64);
    for (unsigned pid = 1; pid <= 40; pid++) {
        char path[128];
        write_maps(&rig, pid, "");
        snprintf(path, sizeof path, "%s/proc/%u/maps", rig.f.root, pid);
        FILE *file = fopen(path, "we"); /* more than a fixture's text may be */
        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, len, file), len);
        assert_int_equal(fclose(file), 0);
    }
    size_t empty = address_spaces_size(rig.spaces).bytes;
    for (unsigned pid = 1; pid <= 40; pid++) {
        assert_int_equal(ask(&rig, pid, 0x7000, 1001), MEDIUM_OTHER);
        struct address_spaces_size size = address_spaces_size(rig.spaces);
        assert_true(size.bytes >= empty + size.mappings * sizeof(struct mapping));
        if (size.bytes > most)
            most = size.bytes;
    }
    /* One more than the limit allows is let in before others go. */
    assert_in_range(most, MAX_BYTES / 2, empty + MAX_BYTES + 2 * LINES * sizeof(struct mapping));
    assert_int_equal(ask(&rig, 40, 0x7000, 1001), MEDIUM_OTHER);
    free(text);
    rig_release(&rig);
}

/* A table that removes must still find all others. */
TEST(many_come_and_go)
{
    enum { PIDS = 64 };
    struct rig rig;
    uint64_t seed = 7, time = 1001, end[PIDS + 1] = {0};
    rig_init(&rig, PIDS);
    for (unsigned pid = 1; pid <= PIDS; pid++)
        write_maps(&rig, pid, usual);
    for (int step = 0; step < 4000; step++) {
        unsigned pid = 1 + (unsigned)(next(&seed) % PIDS);
        time += 50000000;
        rig.now = time;
        address_spaces_settle(rig.spaces, time);
        if (next(&seed) % 3 == 0) {
            (void)ask(&rig, pid, 0x7000, time); /* known or not: from here on it has ended */
            tell(&rig, KERNEL_RECORD_EXIT, pid, pid, time);
            end[pid] = time;
        } else if (end[pid] && time - end[pid] < 900000000) {
            assert_int_equal(ask(&rig, pid, 0x7000, time), MEDIUM_NVMM); /* or not */
            end[pid] = 0;
        } else if (end[pid] == 0) {
            assert_int_equal(ask(&rig, pid, 0x7000, time), MEDIUM_NVMM);
        }
    }
    rig_release(&rig);
}

/* ---- a real process ---- */

static uint64_t monotonic(void *context)
{
    return clock_mono_ns();
}

TEST(this_process_and_a_child)
{
    struct rig rig;
    struct fsroot fs;
    enum medium medium;
    rig_init(&rig, 4);
    assert_int_equal(fsroot_init(&fs, NULL, NULL, NULL, NULL), 0);
    struct address_spaces *spaces;
    struct process_reader *reader;
    assert_int_equal(own_reader_new(&fs, &reader), 0);
    const struct address_spaces_config config = {.reader = reader,
                                                 .rule = &rig.rule,
                                                 .now_ns = monotonic,
                                                 .max_processes = 4,
                                                 .max_age_ns = UINT64_C(1) << 40};
    assert_int_equal(address_spaces_new(&config, &spaces), 0);
    struct access_sample access = {.time_ns = monotonic(NULL),
                                   .address = (uintptr_t)&rig,
                                   .pid = (uint32_t)getpid(),
                                   .tid = (uint32_t)getpid(),
                                   .access = ACCESS_STORE};
    assert_int_equal(address_spaces_find(spaces, &access, &medium), -EAGAIN);
    address_spaces_settle(spaces, monotonic(NULL));
    assert_int_equal(address_spaces_find(spaces, &access, &medium), 0);
    assert_int_equal(medium, MEDIUM_OTHER);
    access.address = 64;
    assert_int_equal(address_spaces_find(spaces, &access, &medium), -ENXIO);

    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when the test fails */
        for (;;)
            pause();
    }
    access.pid = access.tid = (uint32_t)child;
    access.address = (uintptr_t)&rig;
    access.time_ns = UINT64_MAX;
    assert_int_equal(address_spaces_find(spaces, &access, &medium), 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    address_spaces_lost(spaces, 0);
    assert_int_equal(address_spaces_find(spaces, &access, &medium), -ESRCH);
    address_spaces_free(spaces);
    own_reader_free(reader);
    fsroot_release(&fs);
    rig_release(&rig);
}

/* ---- what others make large or many ---- */

TEST(too_large_is_let_be)
{
    enum { MAPPINGS = 65536 };
    struct rig rig;
    const uint64_t age = 1000000;
    char *text = malloc((MAPPINGS + 1) * 64), *at = text;
    assert_non_null(text);
    for (unsigned long i = 1; i <= MAPPINGS; i++)
        at += sprintf(at, "%09lx-%09lx r--p 00000000 08:01 %lu /x\n", i * 8192, i * 8192 + 4096, i);
    rig_init(&rig, 4);
    write_maps(&rig, 7, text); /* just not */
    assert_int_equal(ask(&rig, 7, 8192, 2000), MEDIUM_OTHER);
    assert_int_equal(ask(&rig, 7, 8192ul * MAPPINGS, 2000), MEDIUM_OTHER);

    sprintf(at, "7000000000-7000001000 r--p 00000000 08:01 1 /nvmm/x\n");
    write_maps(&rig, 8, text);
    rig.now = 4000;
    address_spaces_settle(rig.spaces, 5000);
    assert_int_equal(ask(&rig, 8, 8192, 5000), -ESRCH);
    /* It is small again, which is found out only after a while, that doubles. */
    uint64_t now = rig.now;
    for (uint64_t pause = age; pause <= 4 * age; pause *= 2) {
        rig.now = now + pause;
        address_spaces_settle(rig.spaces, rig.now);
        write_maps(&rig, 8, "1000-2000 rw-s 00000000 08:01 1 /nvmm/x\n");
        assert_int_equal(ask(&rig, 8, 0x1000, rig.now), -ESRCH);
        write_maps(&rig, 8, text);
        rig.now++;
        address_spaces_settle(rig.spaces, rig.now);
        assert_int_equal(ask(&rig, 8, 0x1000, rig.now), -ESRCH); /* read, and too large */
        now = rig.now;
    }
    write_maps(&rig, 8, "1000-2000 rw-s 00000000 08:01 1 /nvmm/x\n");
    rig.now = now + 8 * age + 1;
    address_spaces_settle(rig.spaces, rig.now);
    assert_int_equal(ask(&rig, 8, 0x1000, rig.now), MEDIUM_NVMM);
    rig_release(&rig);
    free(text);
}

TEST(loading_has_a_budget)
{
    const uint64_t ms = 1000000;
    struct rig rig;
    uint32_t pid;
    rig_init(&rig, 1000);
    rig.load_costs = 10 * ms;
    rig.now = 1000 * ms;
    address_spaces_settle(rig.spaces, 1000 * ms);
    for (pid = 1; pid <= 100; pid++)
        write_maps(&rig, pid, "1000-2000 rw-s 00000000 08:01 1 /nvmm/x\n");
    int known = 0, later = 0;
    for (pid = 1; pid <= 100; pid++) {
        int got = ask(&rig, pid, 0x1000, 1000 * ms);
        known += got == MEDIUM_NVMM;
        later += got == -EAGAIN;
    }
    /* Six times ten milliseconds: each process takes two, to load and to ask. */
    assert_int_equal(known, 3);
    assert_int_equal(later, 97);
    assert_int_equal(ask(&rig, 1, 0x1000, 1000 * ms), MEDIUM_NVMM); /* what is known is free */
    rig.now += 200 * ms - 1;
    assert_int_equal(ask(&rig, 50, 0x1000, 1000 * ms), -EAGAIN);
    assert_int_equal(rig.asked, 3);
    rig.now += 1;
    address_spaces_settle(rig.spaces, rig.now);
    assert_int_equal(ask(&rig, 50, 0x1000, rig.now), -EAGAIN); /* loaded, but not asked yet */
    rig.now += 200 * ms;
    assert_int_equal(ask(&rig, 50, 0x1000, rig.now), MEDIUM_NVMM);
    rig_release(&rig);
}
