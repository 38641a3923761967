/* Switches between tasks in the same cgroup, which are passed over; tasks that are moved meanwhile.
 */
#include <bpf/btf.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exporter/source/bpf/task.h"
#include "tests/unit/support/bpf_rig.h"
#include "tests/unit/support/unit.h"
#include <bpf/btf.h>

enum { TURNS = 400, ROUNDS = 1000, ENOUGH = 3, MOVES = 5, MOVES_S = 20 };

/* Another process on the same CPU: answers each byte, after BPF_RIG_FAULTS page faults if it is
 * told so, and after 'next', if there is one, has answered. */
struct peer {
    pid_t pid;
    int fd;
};

static void ask(const struct peer *peer, char word)
{
    assert_int_equal(write(peer->fd, &word, 1), 1);
    assert_int_equal(read(peer->fd, &word, 1), 1);
}

static void answer(const struct bpf_rig *rig, int fd, const struct peer *next)
{
    char word;
    while (read(fd, &word, 1) == 1) {
        if (word == 'f')
            bpf_rig_fault(rig);
        if (next)
            ask(next, '.');
        if (write(fd, &word, 1) != 1)
            break;
    }
}

/* Elsewhere: moves 'who' there and back. */
static void move_about(const struct bpf_rig *rig, int fd, pid_t who)
{
    char word;
    cpu_set_t other;
    CPU_ZERO(&other);
    CPU_SET((size_t)rig->fake.elsewhere, &other);
    bool moved = sched_setaffinity(0, sizeof other, &other) == 0;
    while (moved && read(fd, &word, 1) == 1)
        moved = bpf_rig_move(rig, who, word == 't') && write(fd, &word, 1) == 1;
    if (!moved)
        _exit(1);
}

enum duty { ANSWERS, MOVES_IT };

static struct peer beget(const struct bpf_rig *rig, enum duty duty, const struct peer *next)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pid_t parent = getpid(), pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        if (getppid() != parent)
            _exit(1);
        if (duty == MOVES_IT)
            move_about(rig, ends[1], parent);
        else
            answer(rig, ends[1], next);
        _exit(0);
    }
    close(ends[1]);
    return (struct peer){.pid = pid, .fd = ends[0]};
}

/* What was begotten later holds an end of it, too: the last is to be ended first. */
static void end(const struct peer *peer)
{
    int status;
    close(peer->fd);
    assert_int_equal(waitpid(peer->pid, &status, 0), peer->pid);
    assert_int_equal(status, 0);
}

/* ---- switches that are passed over ---- */

/* How many of so many turns of two tasks had the events read, as the clock tells, which in a
 * guest may stand for a while. */
static int turns_read(const struct bpf_rig *rig, const struct peer *peer)
{
    uint64_t before_ns, now_ns, running_ns;
    int n = 0;
    bpf_set_clocks(rig->counter->set, rig->cpu, &before_ns, &running_ns);
    for (int i = 0; i < TURNS; i++) {
        ask(peer, '.');
        bpf_set_clocks(rig->counter->set, rig->cpu, &now_ns, &running_ns);
        n += now_ns != before_ns;
        before_ns = now_ns;
    }
    return n;
}

/* Passed over are most at some time: others may come between, of whom a machine may have many for
 * a while. */
static void assert_turns(const struct bpf_rig *rig, const struct peer *peer, bool passed_over)
{
    int n, rounds = 0;
    do
        n = turns_read(rig, peer);
    while ((n > TURNS / 2) == passed_over && ++rounds < ROUNDS);
    assert_in_range(n, passed_over ? 0 : TURNS / 2 + 1, passed_over ? TURNS / 2 : TURNS);
}

static void check_two_in_one(struct bpf_rig *rig, bool passed_over)
{
    uint32_t slot = bpf_rig_add(rig, true);
    struct peer peer = beget(rig, ANSWERS, NULL);
    bpf_rig_start(rig);
    assert_true(bpf_set_knows_tasks(rig->counter->set) == passed_over);
    assert_turns(rig, &peer, passed_over);
    uint64_t before = bpf_rig_read(rig, slot).count[0];
    ask(&peer, 'f');
    bpf_rig_fault(rig);
    ask(&peer, '.');
    uint64_t counted = bpf_rig_read(rig, slot).count[0] - before;
    assert_in_range(counted, 2 * BPF_RIG_FAULTS, 5 * BPF_RIG_FAULTS / 2);
    end(&peer);
}

/* Nothing is read, and nothing is lost. */
static void test_two_in_one(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    if (!bpf_set_knows_tasks(rig->counter->set))
        skip();
    check_two_in_one(rig, true);
}

static void test_two_in_one_unknowing(void **state)
{
    check_two_in_one(bpf_rig_of(state), false);
}

/* There each switch is paid for. */
static void test_two_in_the_root(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    bpf_rig_add(rig, true);
    struct peer peer = beget(rig, ANSWERS, NULL);
    bpf_rig_leave();
    assert_true(bpf_rig_leave_too(peer.pid));
    bpf_rig_start(rig);
    assert_turns(rig, &peer, false);
    end(&peer);
}

/* A kernel may refuse what is larger. */
static void test_as_many_events_as_there_can_be(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    const struct bpf_sizes sizes = {.roles = BPF_ROLES_MAX,
                                    .slots = 4,
                                    .cpus = (size_t)rig->cpu + 1,
                                    .task = *bpf_rig_task(),
                                    .delays = true};
    struct bpf_set *set;
    struct verdict why;
    if (!bpf_set_knows_tasks(rig->counter->set))
        skip();
    assert_int_equal(bpf_set_new(&sizes, &set, &why), 0);
    assert_true(bpf_set_knows_tasks(set));
    bpf_set_free(set);
}

/* Each has its own. */
static void test_two_in_two(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    uint32_t slot = bpf_rig_add(rig, true);
    struct peer peer = beget(rig, ANSWERS, NULL);
    bpf_rig_leave();
    bpf_rig_start(rig);
    uint64_t before = bpf_rig_read(rig, slot).count[0];
    for (int i = 0; i < 3; i++) {
        bpf_rig_fault(rig);
        ask(&peer, i == 1 ? 'f' : '.');
    }
    uint64_t counted = bpf_rig_read(rig, slot).count[0] - before;
    assert_in_range(counted, BPF_RIG_FAULTS, 3 * BPF_RIG_FAULTS / 2);
    end(&peer);
}

/* What was passed over in one cgroup is forgotten when another one's turn comes. */
static void test_two_in_each_of_two(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    uint32_t slot = bpf_rig_add(rig, true);
    struct peer last = beget(rig, ANSWERS, NULL), first = beget(rig, ANSWERS, &last);
    assert_true(bpf_rig_move(rig, 0, false));
    struct peer beside = beget(rig, ANSWERS, NULL);
    bpf_rig_start(rig);
    uint64_t before = bpf_rig_read(rig, slot).count[0];
    for (int i = 0; i < 4; i++) {
        ask(&beside, 'f');
        ask(&beside, '.');
        ask(&first, i % 2 ? 'f' : '.');
    }
    uint64_t counted = bpf_rig_read(rig, slot).count[0] - before;
    assert_in_range(counted, 2 * BPF_RIG_FAULTS, 5 * BPF_RIG_FAULTS / 2);
    end(&beside);
    end(&first);
    end(&last);
}

/* ---- tasks that are moved ---- */

/* This process, by the mover, while it runs: it waits without sleeping. */
static void be_moved(const struct peer *mover, bool there)
{
    char word = there ? 't' : 'b';
    assert_int_equal(write(mover->fd, &word, 1), 1);
    ssize_t n;
    do
        n = recv(mover->fd, &word, 1, MSG_DONTWAIT);
    while (n < 0 && errno == EAGAIN);
    assert_int_equal(n, 1);
}

/* What the cell had, and how many were moved, when it began. */
struct moves {
    struct timespec began;
    uint64_t counted, moved;
    bool enough; /* intervals were nobody's, as a task was moved while it ran */
};

static struct moves begin(const struct bpf_rig *rig, uint32_t slot)
{
    struct moves moves = {.counted = bpf_rig_read(rig, slot).count[0],
                          .moved = bpf_set_lost(rig->counter->set).moved};
    clock_gettime(CLOCK_MONOTONIC, &moves.began);
    return moves;
}

/* Others may come between each time, if there are many: then nothing is passed over. */
static bool goes_on(struct moves *moves, const struct bpf_rig *rig)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    moves->enough = bpf_set_lost(rig->counter->set).moved - moves->moved >= ENOUGH;
    return !moves->enough && now.tv_sec - moves->began.tv_sec <= MOVES_S;
}

/* One beside the container faults and hands over to this process, which is moved into the container
 * while it runs, and hands over to one that is there. */
static void test_moved_into_it(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    if (rig->fake.elsewhere < 0 || !bpf_set_knows_tasks(rig->counter->set))
        skip();
    uint32_t slot = bpf_rig_add(rig, true);
    struct peer inside = beget(rig, ANSWERS, NULL);
    assert_true(bpf_rig_move(rig, 0, false));
    struct peer beside = beget(rig, ANSWERS, NULL), mover = beget(rig, MOVES_IT, NULL);
    bpf_rig_start(rig);
    struct moves moves = begin(rig, slot);
    do {
        ask(&beside, 'f');
        be_moved(&mover, true);
        ask(&inside, '.');
        assert_true(bpf_rig_move(rig, 0, false));
    } while (goes_on(&moves, rig));
    assert_in_range(bpf_rig_read(rig, slot).count[0] - moves.counted, 0, BPF_RIG_FAULTS / 2);
    end(&mover);
    end(&beside);
    end(&inside);
    if (!moves.enough)
        skip();
}

/* This process is moved out of the container while it runs, and faults, before it hands over to one
 * that is in it, which faults, too, and hands over to another one that is. */
static void test_moved_out_of_it(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    uint64_t rounds = 0;
    if (rig->fake.elsewhere < 0 || !bpf_set_knows_tasks(rig->counter->set))
        skip();
    uint32_t slot = bpf_rig_add(rig, true);
    struct peer last = beget(rig, ANSWERS, NULL), first = beget(rig, ANSWERS, &last);
    struct peer mover = beget(rig, MOVES_IT, NULL);
    bpf_rig_start(rig);
    struct moves moves = begin(rig, slot);
    do {
        ask(&first, '.');
        be_moved(&mover, false);
        bpf_rig_fault(rig);
        ask(&first, 'f');
        assert_true(bpf_rig_move(rig, 0, true));
        rounds++;
    } while (goes_on(&moves, rig));
    uint64_t counted = bpf_rig_read(rig, slot).count[0] - moves.counted;
    assert_in_range(counted, rounds * BPF_RIG_FAULTS, rounds * BPF_RIG_FAULTS * 5 / 4);
    end(&mover);
    end(&first);
    end(&last);
    if (!moves.enough)
        skip();
}

/* As before, but the events are read when this process comes, from one beside the container: what
 * the first one does after it is the container's. */
static void test_moved_out_of_what_was_read(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    if (rig->fake.elsewhere < 0 || !bpf_set_knows_tasks(rig->counter->set))
        skip();
    uint32_t slot = bpf_rig_add(rig, true);
    struct peer last = beget(rig, ANSWERS, NULL), first = beget(rig, ANSWERS, &last);
    assert_true(bpf_rig_move(rig, 0, false));
    struct peer beside = beget(rig, ANSWERS, NULL), mover = beget(rig, MOVES_IT, NULL);
    bpf_rig_start(rig);
    uint64_t before = bpf_rig_read(rig, slot).count[0];
    for (int i = 0; i < MOVES; i++) {
        assert_true(bpf_rig_move(rig, 0, true));
        ask(&beside, '.');
        be_moved(&mover, false);
        bpf_rig_fault(rig);
        ask(&first, 'f');
    }
    uint64_t counted = bpf_rig_read(rig, slot).count[0] - before;
    assert_in_range(counted, MOVES * BPF_RIG_FAULTS, MOVES * BPF_RIG_FAULTS * 5 / 4);
    end(&mover);
    end(&beside);
    end(&first);
    end(&last);
}

/* ---- what the kernel says of its tasks ---- */

/* A tree like /sys, with these bytes where the kernel describes its types. */
static struct bpf_task found_in(const void *bytes, size_t n)
{
    char top[] = "/tmp/test-bpf-task-XXXXXX", path[128];
    struct fsroot fs;
    assert_non_null(mkdtemp(top));
    for (const char *const *at = (const char *const[]){"kernel", "kernel/btf", NULL}; *at; at++) {
        snprintf(path, sizeof path, "%s/%s", top, *at);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    snprintf(path, sizeof path, "%s/kernel/btf/vmlinux", top);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, bytes, n), (ssize_t)n);
    close(fd);
    assert_int_equal(fsroot_init(&fs, NULL, top, NULL, NULL), 0);
    struct bpf_task found;
    bpf_task_find(&fs, &found);
    fsroot_release(&fs);
    unlink(path);
    for (const char *const *at = (const char *const[]){"kernel/btf", "kernel", "", NULL}; *at;
         at++) {
        snprintf(path, sizeof path, "%s/%s", top, *at);
        assert_int_equal(rmdir(path), 0);
    }
    return found;
}

/* A struct with one member at a bit: a pointer, or a number. */
struct type {
    const char *name, *member;
    uint32_t bit;
    bool pointer;
};

static uint32_t found_of(const struct type *type)
{
    struct btf *btf = btf__new_empty();
    uint32_t size;
    int number = btf__add_int(btf, "long", 8, 0), pointer = btf__add_ptr(btf, number);
    assert_true(btf__add_struct(btf, type->name, 4 << 20) > 0);
    assert_int_equal(btf__add_field(btf, "flags", number, 0, 0), 0);
    assert_int_equal(
        btf__add_field(btf, type->member, type->pointer ? pointer : number, type->bit, 0), 0);
    const void *bytes = btf__raw_data(btf, &size);
    uint32_t found = found_in(bytes, size).css_set_at;
    btf__free(btf);
    return found;
}

static void test_types(void **state)
{
    enum { AT = 3200, BIT = AT * 8, FAR = 2 << 23 };
    const struct type right = {"task_struct", "cgroups", BIT, true};
    const struct type wrong[] = {
        {"task_struct", "cgroup", BIT, true},   {"task", "cgroups", BIT, true},
        {"task_struct", "cgroups", BIT, false}, {"task_struct", "cgroups", BIT + 32, true},
        {"task_struct", "cgroups", FAR, true},
    };
    assert_int_equal(found_of(&right), AT);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(found_of(&wrong[i]), 0);
    assert_int_equal(found_in("no types", 8).css_set_at, 0);
    assert_int_equal(found_in("", 0).css_set_at, 0);

    struct fsroot none;
    struct bpf_task nothing = {.css_set_at = 1, .waits_at = 1};
    assert_int_equal(fsroot_init(&none, NULL, "/nowhere", NULL, NULL), 0);
    bpf_task_find(&none, &nothing);
    assert_int_equal(nothing.css_set_at, 0);
    assert_int_equal(nothing.waits_at, 0);
    fsroot_release(&none);
}

/* A kernel, by what it has of it. */
struct kernel {
    bool waits, limits;
    uint32_t delay_at; /* in sched_info */
    char arguments[8]; /* of the tracepoint: (b)ool, (t)ask, (s)tate */
};

static void add_tracepoint(struct btf *btf, const char *arguments, int number, int pointer)
{
    int proto = btf__add_func_proto(btf, 0);
    assert_true(proto > 0);
    assert_int_equal(btf__add_func_param(btf, "data", pointer), 0);
    for (; *arguments; arguments++)
        assert_int_equal(btf__add_func_param(btf, "a", *arguments == 't' ? pointer : number), 0);
    assert_true(btf__add_typedef(btf, "btf_trace_sched_switch", btf__add_ptr(btf, proto)) > 0);
}

static struct bpf_task task_of(const struct kernel *kernel)
{
    struct btf *btf = btf__new_empty();
    uint32_t size;
    int word = btf__add_int(btf, "int", 4, 0), number = btf__add_int(btf, "long", 8, 0);
    int pointer = btf__add_ptr(btf, number);
    int info = btf__add_struct(btf, "sched_info", 64);
    assert_int_equal(btf__add_field(btf, "pcount", number, 0, 0), 0);
    assert_int_equal(btf__add_field(btf, "run_delay", number, kernel->delay_at * 8, 0), 0);
    int entity = btf__add_struct(btf, "sched_entity", 64);
    assert_int_equal(btf__add_field(btf, "cfs_rq", pointer, 24 * 8, 0), 0);
    assert_true(btf__add_struct(btf, "cfs_rq", 64) > 0);
    if (kernel->limits)
        assert_int_equal(btf__add_field(btf, "throttle_count", word, 12 * 8, 0), 0);
    assert_true(btf__add_struct(btf, "task_struct", 1024) > 0);
    assert_int_equal(btf__add_field(btf, "__state", word, 28 * 8, 0), 0);
    assert_int_equal(btf__add_field(btf, "se", entity, 128 * 8, 0), 0);
    if (kernel->waits)
        assert_int_equal(btf__add_field(btf, "sched_info", info, 512 * 8, 0), 0);
    add_tracepoint(btf, kernel->arguments, number, pointer);
    const void *bytes = btf__raw_data(btf, &size);
    struct bpf_task found = found_in(bytes, size);
    btf__free(btf);
    return found;
}

static void test_kernels(void **state)
{
    static const struct {
        struct kernel kernel;
        struct bpf_task has;
    } cases[] = {
        /* 5.18, 5.14; the first releases of 5.18; what a kernel may be built without. */
        {{true, true, 8, "btts"}, {0, 512, 28, 1, 152, 12}},
        {{true, true, 8, "btt"}, {0, 512, 28, 0, 152, 12}},
        {{true, true, 8, "bstt"}, {0, 512, 28, 0, 152, 12}},
        {{false, true, 8, "btts"}, {0, 0, 28, 1, 152, 12}},
        {{true, false, 8, "btts"}, {0, 512, 28, 1, 0, 0}},
        /* What the program reads at once is apart. */
        {{true, true, 16, "btts"}, {0, 0, 28, 1, 152, 12}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bpf_task found = task_of(&cases[i].kernel);
        assert_memory_equal(&found, &cases[i].has, sizeof found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_two_in_one, bpf_rig_setup, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_two_in_one_unknowing, bpf_rig_setup_unknowing,
                                        bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_two_in_the_root, bpf_rig_setup, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_as_many_events_as_there_can_be, bpf_rig_setup,
                                        bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_two_in_two, bpf_rig_setup, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_two_in_two, bpf_rig_setup_unknowing, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_two_in_each_of_two, bpf_rig_setup, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_moved_into_it, bpf_rig_setup, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_moved_out_of_it, bpf_rig_setup, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_moved_out_of_what_was_read, bpf_rig_setup,
                                        bpf_rig_teardown),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_kernels),
    };
    return cmocka_run_group_tests(tests, bpf_rig_setup_all, bpf_rig_teardown_all);
}
