/* The processes that look into others: they see what this process would, and may do nothing else;
 * one that hangs or dies is replaced. */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/inspect/inspector.h"
#include "exporter/inspect/question.h"
#include "exporter/inspect/warden.h"
#include "exporter/service/confine.h"
#include "exporter/source/accesses/own_reader.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/tries.h"
#include "tests/unit/support/unit.h"

/* ---- what a worker of the test does ---- */

static int try_write(void)
{
    return open("/tmp/ie-inspect-test", O_WRONLY | O_CREAT, 0600);
}

static int try_truncate(void)
{
    return open("/proc/self/comm", O_RDONLY | O_TRUNC);
}

static int try_memory(void)
{
    return open("/proc/self/mem", O_RDWR);
}

static int try_poke(void)
{
    char byte = 0, other = 0;
    struct iovec here = {&byte, 1}, there = {&other, 1};
    return (int)process_vm_writev(getpid(), &here, 1, &there, 1, 0);
}

static int try_pair(void)
{
    int ends[2];
    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

static int try_trace(void)
{
    return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static int try_unlink(void)
{
    return unlink("/tmp/ie-inspect-none") != 0 && errno == ENOENT ? 0 : -1;
}

static int try_read(void)
{
    return open("/proc/self/maps", O_RDONLY) >= 0 ? -1 : 0; /* this one must not be refused */
}

/* As the partitions of disks are told from whole ones; nor must this one be refused. */
static int try_access(void)
{
    return access("/proc/self/maps", F_OK) == 0 ? -1 : 0;
}

static const struct {
    const char *what;
    int (*attempt)(void);
} tries[] = {
    {"not look for a file", try_access},
    {"not read", try_read},
    {"write a file", try_write},
    {"empty a file", try_truncate},
    {"write memory as a file", try_memory},
    {"write memory", try_poke},
    {"run a program", try_exec},
    {"make a socket", try_socket},
    {"make a pair of sockets", try_pair},
    {"make a process", try_fork},
    {"send a signal", try_kill},
    {"signal a thread", try_thread_kill},
    {"trace", try_trace},
    {"remove a file", try_unlink},
    {"filter more", try_filter},
};

/* By the mapping's device: tries something, never answers, computes for longer than it has, or
 * answers by the path. */
enum { HANGS = 7, TRIES = 8, COMPUTES = 9 };

static void compute(unsigned ms)
{
    const uint64_t end = clock_mono_ns() + ms * UINT64_C(1000000);
    while (clock_mono_ns() < end)
        ;
}

static enum medium answer(struct medium_rule *rule, pid_t pid, const struct maps_line *line,
                          enum access access)
{
    (void)rule;
    (void)pid;
    if (line->major == HANGS)
        for (;;)
            poll(NULL, 0, 1000);
    if (line->major == COMPUTES)
        compute(2 * INSPECT_DEADLINE_MS);
    if (line->major == TRIES)
        return tries[line->minor].attempt() < 0 ? MEDIUM_OTHER : MEDIUM_NVMM;
    return line->path_len == 5 && memcmp(line->path, "/nvmm", 5) == 0 && access == ACCESS_LOAD &&
                   line->shared && !line->writable && line->start == 4096 && line->inode == 12
               ? MEDIUM_NVMM
               : MEDIUM_OTHER;
}

static struct medium_rule rule = {.mapping = answer};

/* ---- the rig ---- */

struct rig {
    struct fsroot fs;
    struct log log;
    struct inspector *inspector;
    struct process_reader *reader, *own;
};

static int setup(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    int status;
    assert_int_equal(fsroot_init(&rig->fs, NULL, NULL, NULL, NULL), 0);
    rig->log = (struct log){.fd = -1, .level = LOG_LEVEL_INFO};
    int err = inspector_fork(&rig->fs, &rule, &rig->log, &rig->inspector, &status);
    if (err > 0)
        _exit(status);
    assert_int_equal(err, 0);
    assert_int_equal(own_reader_new(&rig->fs, &rig->own), 0);
    rig->reader = inspector_reader(rig->inspector);
    *state = rig;
    return 0;
}

static int teardown(void **state)
{
    struct rig *rig = *state;
    inspector_free(rig->inspector);
    own_reader_free(rig->own);
    fsroot_release(&rig->fs);
    free(rig);
    return 0;
}

static void wait_ready(struct rig *rig)
{
    for (int i = 0; i < 20000 && !process_reader_is_ready(rig->reader); i++)
        poll(NULL, 0, 1);
    assert_true(process_reader_is_ready(rig->reader));
}

static enum medium ask(struct rig *rig, uint32_t major, uint32_t minor)
{
    const struct maps_line line = {.start = 4096,
                                   .end = 8192,
                                   .shared = true,
                                   .inode = 12,
                                   .major = major,
                                   .minor = minor,
                                   .path = "/nvmm",
                                   .path_len = 5};
    struct medium_rule *remote = inspector_rule(rig->inspector);
    return remote->mapping(remote, getpid(), &line, ACCESS_LOAD);
}

static pid_t child_of(pid_t pid)
{
    char path[64];
    int child = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%d", &child) != 1)
        child = 0;
    if (file)
        fclose(file);
    return child;
}

/* ---- tests ---- */

struct text {
    char at[1 << 20];
    size_t len;
    unsigned pieces;
};

static int read_maps(struct process_reader *reader, uint32_t number, struct text *out)
{
    const char *piece;
    size_t len;
    int more, err = reader->ops->open_maps(reader, number);
    out->len = out->pieces = 0;
    if (err)
        return err;
    while ((more = reader->ops->next_maps(reader, &piece, &len)) > 0) {
        assert_true(out->len + len < sizeof out->at);
        assert_true(len > 0 && piece[len - 1] == '\n');
        memcpy(out->at + out->len, piece, len);
        out->len += len;
        out->pieces++;
    }
    reader->ops->close_maps(reader);
    return more;
}

/* Of a process that does not change, with more text than fits into one answer. */
static void sees_what_we_see(void **state)
{
    enum { MAPPINGS = 4000 };
    struct rig *rig = *state;
    static struct text here, there;
    uint8_t code[ACCESS_CODE_BYTES], remote[ACCESS_CODE_BYTES];
    long page = sysconf(_SC_PAGESIZE);
    char *at = mmap(NULL, (size_t)page * MAPPINGS, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    for (int i = 0; i < MAPPINGS; i += 2)
        assert_int_equal(mprotect(at + i * page, (size_t)page, PROT_NONE), 0);
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    wait_ready(rig);
    assert_int_equal(read_maps(rig->own, (uint32_t)child, &here), 0);
    assert_int_equal(read_maps(rig->reader, (uint32_t)child, &there), 0);
    assert_true(there.pieces > 1);
    assert_int_equal(here.len, there.len);
    assert_memory_equal(here.at, there.at, here.len);
    /* Left in the middle, the next one begins at its start. */
    assert_int_equal(rig->reader->ops->open_maps(rig->reader, (uint32_t)child), 0);
    rig->reader->ops->close_maps(rig->reader);
    assert_int_equal(read_maps(rig->reader, (uint32_t)child, &there), 0);
    assert_int_equal(here.len, there.len);

    uint64_t ip = (uintptr_t)&sees_what_we_see;
    int n = rig->own->ops->code(rig->own, (uint32_t)child, ip, code);
    assert_int_equal(rig->reader->ops->code(rig->reader, (uint32_t)child, ip, remote), n);
    if (n > 0) /* not where the program lies on a file system that is not local */
        assert_memory_equal(code, remote, (size_t)n);
    /* Only what is to be run: not the data of others. */
    assert_int_equal(
        rig->reader->ops->code(rig->reader, (uint32_t)child, (uintptr_t)&rig->log, remote),
        -EACCES);
    bool wide = false;
    assert_int_equal(rig->reader->ops->is_wide(rig->reader, (uint32_t)child, &wide), 0);
    assert_int_equal(wide, sizeof(void *) == 8);
    assert_int_equal(ask(rig, 1, 2), MEDIUM_NVMM);

    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    munmap(at, (size_t)page * MAPPINGS);
    assert_int_equal(rig->reader->ops->open_maps(rig->reader, (uint32_t)child), -ENOENT);
    assert_int_equal(rig->reader->ops->code(rig->reader, (uint32_t)child, ip, remote), -ENOENT);
    assert_int_equal(rig->reader->ops->is_wide(rig->reader, (uint32_t)child, &wide), -ENOENT);
    uint64_t hung;
    assert_int_equal(process_reader_unanswered(rig->reader, &hung), 0);
    assert_true(process_reader_cpu_ns(rig->reader) > 0);
}

/* It takes the deadline, once; then another one answers. */
static void one_that_hangs_is_left_alone(void **state)
{
    struct rig *rig = *state;
    uint64_t hung;
    for (uint64_t i = 1; i <= 3; i++) {
        wait_ready(rig);
        uint64_t start = clock_mono_ns(), cpu = process_reader_cpu_ns(rig->reader);
        assert_int_equal(ask(rig, HANGS, 0), MEDIUM_UNKNOWN);
        assert_true(clock_mono_ns() - start >= INSPECT_DEADLINE_MS * UINT64_C(1000000));
        assert_int_equal(process_reader_unanswered(rig->reader, &hung), i);
        assert_int_equal(hung, i);
        wait_ready(rig);
        assert_int_equal(ask(rig, 1, 2), MEDIUM_NVMM);
        assert_true(process_reader_cpu_ns(rig->reader) >= cpu); /* that of all of them */
    }
    /* Nobody is left behind that could be ended. */
    for (int i = 0; i < 20000 && child_of(child_of(getpid())) == 0; i++)
        poll(NULL, 0, 1);
    pid_t worker = child_of(child_of(getpid()));
    assert_true(worker > 0);
}

/* The kernel calls it running, as it does one that waits for a CPU. */
static void one_that_could_run_is_waited_for(void **state)
{
    struct rig *rig = *state;
    uint64_t hung, given_up = 0, start;
    enum medium medium;
    do { /* a machine that gives it no CPU for so long takes all the patience */
        wait_ready(rig);
        start = clock_mono_ns();
        medium = ask(rig, COMPUTES, 0);
    } while (medium == MEDIUM_UNKNOWN &&
             clock_mono_ns() - start >= INSPECT_PATIENCE_MS * UINT64_C(1000000) && ++given_up < 5);
    assert_int_equal(medium, MEDIUM_NVMM);
    assert_int_equal(process_reader_unanswered(rig->reader, &hung), given_up);
}

static void one_that_dies_is_replaced(void **state)
{
    struct rig *rig = *state;
    pid_t warden = child_of(getpid());
    uint64_t hung;
    for (uint64_t i = 1; i <= 3; i++) {
        wait_ready(rig);
        assert_int_equal(kill(child_of(warden), SIGKILL), 0);
        /* The question that meets it gets no answer, the same asked later does. */
        bool wide;
        for (int k = 0;
             k < 20000 && rig->reader->ops->is_wide(rig->reader, (uint32_t)getpid(), &wide) == 0;
             k++)
            poll(NULL, 0, 1);
        assert_int_equal(process_reader_unanswered(rig->reader, &hung), i);
        assert_int_equal(hung, 0);
        wait_ready(rig);
        assert_int_equal(ask(rig, 1, 2), MEDIUM_NVMM);
    }
    assert_false(inspector_is_lost(rig->inspector));
}

static void the_warden_dies(void **state)
{
    struct rig *rig = *state;
    wait_ready(rig);
    pid_t warden = child_of(getpid()), worker = child_of(warden);
    assert_false(inspector_is_lost(rig->inspector));
    assert_int_equal(kill(warden, SIGKILL), 0);
    for (int i = 0; i < 20000 && !inspector_is_lost(rig->inspector); i++)
        poll(NULL, 0, 1);
    assert_true(inspector_is_lost(rig->inspector));
    for (int i = 0; i < 20000 && kill(worker, 0) == 0; i++)
        poll(NULL, 0, 1);
    assert_int_equal(kill(worker, 0), -1);
    assert_int_equal(ask(rig, 1, 2), MEDIUM_UNKNOWN);
    assert_false(process_reader_is_ready(rig->reader));
}

static void what_it_may_not(void **state)
{
    struct rig *rig = *state;
    if (!confine_supported())
        skip();
    for (uint32_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        wait_ready(rig);
        if (ask(rig, TRIES, i) != MEDIUM_OTHER)
            fail_msg("a worker can %s", tries[i].what);
    }
    uint64_t hung;
    assert_int_equal(process_reader_unanswered(rig->reader, &hung), 0);
}

/* With the real rule: a file that a process of another user has mapped is identified. */
static void files_of_other_users(void **state)
{
    static const char name[] = "/dev/shm/ie-inspect-XXXXXX";
    char path[sizeof name], relative[32];
    struct inspector *inspector = NULL;
    struct fsroot fs;
    struct log log = {.fd = -1};
    int status;
    if (getuid() != 0)
        skip();
    assert_int_equal(fsroot_init(&fs, NULL, NULL, NULL, NULL), 0);
    int err = inspector_fork(&fs, NULL, &log, &inspector, &status);
    if (err > 0)
        _exit(status);
    assert_int_equal(err, 0);
    memcpy(path, name, sizeof name);
    int fd = mkstemp(path);
    assert_true(fd >= 0 && ftruncate(fd, 4096) == 0);
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pid_t child = fork();
    /* As after exec, which a change of the user alone does not do. */
    if (child == 0 && setresuid(CONFINE_USER, CONFINE_USER, CONFINE_USER) == 0 &&
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0)
        for (;;)
            pause();
    struct rig rig = {.reader = inspector_reader(inspector)};
    wait_ready(&rig);
    /* Its directory is its own as soon as it is another user. */
    struct stat st = {0};
    snprintf(relative, sizeof relative, "/proc/%d/maps", (int)child);
    for (int i = 0; i < 20000 && (stat(relative, &st) != 0 || st.st_uid != CONFINE_USER); i++)
        poll(NULL, 0, 1);
    assert_int_equal(st.st_uid, CONFINE_USER);
    static struct text text;
    struct maps_line line = {0};
    assert_int_equal(read_maps(rig.reader, (uint32_t)child, &text), 0);
    const char *next = text.at;
    while (maps_next(&next, &text.len, &line) == 1 && line.start != (uintptr_t)at)
        ;
    assert_int_equal(line.start, (uintptr_t)at);
    struct medium_rule *remote = inspector_rule(inspector);
    enum medium medium = remote->mapping(remote, child, &line, ACCESS_LOAD);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    unlink(path);
    close(fd);
    munmap(at, 4096);
    inspector_free(inspector);
    fsroot_release(&fs);
    assert_int_equal(medium, MEDIUM_OTHER);
}

/* ---- datagrams ---- */

static void questions(void **state)
{
    static uint8_t bytes[QUESTION_BYTES + 1];
    static char path[QUESTION_PATH_BYTES + 1];
    struct question read, question = {.kind = QUESTION_MEDIUM,
                                      .number = 12,
                                      .address = 77,
                                      .access = ACCESS_LOAD,
                                      .line = {.start = 1,
                                               .end = 2,
                                               .offset = 3,
                                               .readable = true,
                                               .executable = true,
                                               .major = 4,
                                               .minor = 5,
                                               .inode = 6,
                                               .path = path,
                                               .path_len = QUESTION_PATH_BYTES}};
    memset(path, 'p', sizeof path);
    int len = question_write(&question, bytes);
    assert_true(len > QUESTION_PATH_BYTES && len <= QUESTION_BYTES);
    assert_int_equal(question_read(bytes, (size_t)len, &read), 0);
    assert_int_equal(read.number, 12);
    assert_int_equal(read.address, 77);
    assert_true(read.line.readable && !read.line.writable && read.line.executable &&
                !read.line.shared);
    assert_true(read.line.start == 1 && read.line.end == 2 && read.line.offset == 3 &&
                read.line.major == 4 && read.line.minor == 5 && read.line.inode == 6);
    assert_int_equal(read.line.path_len, QUESTION_PATH_BYTES);
    assert_memory_equal(read.line.path, path, QUESTION_PATH_BYTES);
    question.line.path_len++;
    assert_int_equal(question_write(&question, bytes), -E2BIG);

    assert_int_equal(question_read(bytes, (size_t)len + 1, &read), -EINVAL);
    assert_int_equal(question_read(bytes, 8, &read), -EINVAL);
    assert_int_equal(question_read(bytes, 0, &read), -EINVAL);
    for (size_t word = 0; word < 4; word++) { /* kind, number, access, flags */
        uint8_t before[4], wrong[4] = {0xff, 0xff, 0xff, 0xff};
        memcpy(before, bytes + word * 4, 4);
        memcpy(bytes + word * 4, wrong, 4);
        assert_int_equal(question_read(bytes, (size_t)len, &read), -EINVAL);
        memcpy(bytes + word * 4, before, 4);
    }
    assert_int_equal(question_read(bytes, (size_t)len, &read), 0);
}

static void answers(void **state)
{
    static uint8_t bytes[ANSWER_BYTES + 1];
    struct answer read, answered = {.result = -EFBIG, .cpu_ns = 99, .len = ANSWER_TEXT_BYTES};
    size_t len = answer_write(&answered, bytes);
    assert_int_equal(answer_read(bytes, len, &read), 0);
    assert_true(read.result == -EFBIG && read.cpu_ns == 99 && read.len == ANSWER_TEXT_BYTES &&
                read.bytes == bytes + ANSWER_HEAD);
    assert_int_equal(answer_read(bytes, len + 1, &read), -EINVAL);
    assert_int_equal(answer_read(bytes, ANSWER_HEAD - 1, &read), -EINVAL);
    assert_int_equal(answer_read(bytes, ANSWER_HEAD, &read), 0);
    assert_int_equal(read.len, 0);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    /* A worker that has no CPU for two seconds is given up. Without the right, it is as it was. */
    setpriority(PRIO_PROCESS, 0, -15);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions),
        cmocka_unit_test(answers),
        T(sees_what_we_see),
        T(one_that_hangs_is_left_alone),
        T(one_that_dies_is_replaced),
        T(the_warden_dies),
        T(what_it_may_not),
        T(one_that_could_run_is_waited_for),
        cmocka_unit_test(files_of_other_users),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
