/* Switches between tasks in the same cgroup, which are passed over; tasks that are moved meanwhile.
 */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <cmocka.h>

#include "exporter/source/bpf/task.h"
#include "tests/unit/support/bpf_rig.h"

enum { TURNS = 400, ROUNDS = 1000, ENOUGH = 3, MOVES_S = 20 };

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
}

enum duty { ANSWERS, MOVES };

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
        if (duty == MOVES)
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

/* How many of so many turns of two tasks had the events read. */
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

static void check_two_in_one(struct bpf_rig *rig, bool passed_over)
{
    uint32_t slot = bpf_rig_add(rig, true);
    struct peer peer = beget(rig, ANSWERS, NULL);
    int n, rounds = 0;
    bpf_rig_start(rig);
    assert_true(bpf_set_knows_tasks(rig->counter->set) == passed_over);
    do /* others may come between, of whom a machine may have many for a while */
        n = turns_read(rig, &peer);
    while (passed_over && n > TURNS / 2 && ++rounds < ROUNDS);
    assert_in_range(n, passed_over ? 0 : TURNS, passed_over ? TURNS / 2 : TURNS);
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
    while (recv(mover->fd, &word, 1, MSG_DONTWAIT) != 1)
        ;
}

static bool is_enough(const struct bpf_rig *rig, const struct timespec *began)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return bpf_set_lost(rig->counter->set).moved >= ENOUGH || now.tv_sec - began->tv_sec > MOVES_S;
}

/* Others may come between each time, if there are many: then nothing was passed over. */
static void assert_nobodys(const struct bpf_rig *rig, uint32_t slot, uint64_t before)
{
    assert_in_range(bpf_rig_read(rig, slot).count[0] - before, 0, BPF_RIG_FAULTS / 2);
    assert_in_range(bpf_set_lost(rig->counter->set).moved, ENOUGH, UINT64_MAX);
}

/* One beside the container faults and hands over to this process, which is moved into the container
 * while it runs, and hands over to one that is there. */
static void test_moved_into_it(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    struct timespec began;
    if (rig->fake.elsewhere < 0 || !bpf_set_knows_tasks(rig->counter->set))
        skip();
    uint32_t slot = bpf_rig_add(rig, true);
    struct peer inside = beget(rig, ANSWERS, NULL);
    assert_true(bpf_rig_move(rig, 0, false));
    struct peer beside = beget(rig, ANSWERS, NULL), mover = beget(rig, MOVES, NULL);
    bpf_rig_start(rig);
    uint64_t before = bpf_rig_read(rig, slot).count[0];
    clock_gettime(CLOCK_MONOTONIC, &began);
    do {
        ask(&beside, 'f');
        be_moved(&mover, true);
        ask(&inside, '.');
        assert_true(bpf_rig_move(rig, 0, false));
    } while (!is_enough(rig, &began));
    assert_nobodys(rig, slot, before);
    end(&mover);
    end(&beside);
    end(&inside);
}

/* This process is moved out of the container while it runs, and faults, before it hands over to one
 * that is in it, which hands over to another one that is. */
static void test_moved_out_of_it(void **state)
{
    struct bpf_rig *rig = bpf_rig_of(state);
    struct timespec began;
    if (rig->fake.elsewhere < 0 || !bpf_set_knows_tasks(rig->counter->set))
        skip();
    uint32_t slot = bpf_rig_add(rig, true);
    struct peer last = beget(rig, ANSWERS, NULL), first = beget(rig, ANSWERS, &last);
    struct peer mover = beget(rig, MOVES, NULL);
    bpf_rig_start(rig);
    uint64_t before = bpf_rig_read(rig, slot).count[0];
    clock_gettime(CLOCK_MONOTONIC, &began);
    do {
        ask(&first, '.');
        be_moved(&mover, false);
        bpf_rig_fault(rig);
        ask(&first, '.');
        assert_true(bpf_rig_move(rig, 0, true));
    } while (!is_enough(rig, &began));
    assert_nobodys(rig, slot, before);
    end(&mover);
    end(&first);
    end(&last);
}

/* ---- what the kernel says of its tasks ---- */

/* A tree like /sys, with these bytes where the kernel describes its types. */
static uint32_t found_in(const void *bytes, size_t n)
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
    uint32_t found = bpf_task_css_set(&fs);
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
    uint32_t found = found_in(bytes, size);
    btf__free(btf);
    return found;
}

static void test_types(void **state)
{
    (void)state;
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
    assert_int_equal(found_in("no types", 8), 0);
    assert_int_equal(found_in("", 0), 0);

    struct fsroot none;
    assert_int_equal(fsroot_init(&none, NULL, "/nowhere", NULL, NULL), 0);
    assert_int_equal(bpf_task_css_set(&none), 0);
    fsroot_release(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_two_in_one, bpf_rig_setup, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_two_in_one_unknowing, bpf_rig_setup_unknowing,
                                        bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_two_in_two, bpf_rig_setup, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_two_in_two, bpf_rig_setup_unknowing, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_two_in_each_of_two, bpf_rig_setup, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_moved_into_it, bpf_rig_setup, bpf_rig_teardown),
        cmocka_unit_test_setup_teardown(test_moved_out_of_it, bpf_rig_setup, bpf_rig_teardown),
        cmocka_unit_test(test_types),
    };
    return cmocka_run_group_tests(tests, bpf_rig_setup_all, bpf_rig_teardown_all);
}
