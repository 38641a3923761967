/* Code of other processes: compiled at run time, at the end of a mapping, of processes that end. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/source/accesses/own_reader.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

/* movdir64b (%rsi),%rdi */
static const uint8_t instruction[] = {0x66, 0x0f, 0x38, 0xf8, 0x3e};

/* Two pages of a child that its parent does not have: it fills them after the fork. */
static pid_t start_child(uint8_t *pages, size_t page)
{
    int ready[2];
    char c;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when the test fails */
        memcpy(pages + 100, instruction, sizeof instruction);
        memcpy(pages + page - 3, instruction, sizeof instruction);
        memcpy(pages + 2 * page - sizeof instruction, instruction, sizeof instruction);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

TEST(code_of_a_child)
{
    struct fsroot fs;
    struct process_code *reader;
    assert_int_equal(fsroot_init(&fs, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(process_code_new(&fs, &reader), 0);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t code[ACCESS_CODE_BYTES];
    uint32_t bytes = 0;
    /* No process can read the third page. */
    uint8_t *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE | PROT_EXEC,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(munmap(pages + 2 * page, page), 0);
    pid_t pid = start_child(pages, page);

    assert_int_equal(process_code_read(reader, pid, (uintptr_t)pages + 100, 1, code),
                     ACCESS_CODE_BYTES);
    assert_memory_equal(code, instruction, sizeof instruction);
    assert_int_equal(access_size(code, sizeof code, true, ACCESS_STORE, &bytes), ACCESS_SIZE_KNOWN);
    assert_int_equal(bytes, 64);
    /* Over the border of two pages, and up to the end of the last one. */
    assert_int_equal(process_code_read(reader, pid, (uintptr_t)pages + page - 3, 1, code),
                     ACCESS_CODE_BYTES);
    assert_memory_equal(code, instruction, sizeof instruction);
    assert_int_equal(
        process_code_read(reader, pid, (uintptr_t)pages + 2 * page - sizeof instruction, 1, code),
        sizeof instruction);
    assert_memory_equal(code, instruction, sizeof instruction);
    assert_int_equal(process_code_read(reader, pid, (uintptr_t)pages + 2 * page, 1, code), -EFAULT);
    assert_int_equal(process_code_read(reader, pid, 0, 1, code), -EFAULT);
    assert_int_equal(process_code_read(reader, pid, UINT64_MAX - 3, 1, code), -EFAULT);

    kill(pid, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    int err =
        process_code_read(reader, pid, (uintptr_t)pages + 100, 1, code); /* ended, not yet buried */
    assert_true(err == -ESRCH || err == -EFAULT);
    waitpid(pid, NULL, 0);
    assert_int_equal(process_code_read(reader, pid, (uintptr_t)pages + 100, 1, code), -ENOENT);
    munmap(pages, 2 * page);
    process_code_free(reader);
    fsroot_release(&fs);
}

/* This process's own pages, as made-up mappings of every kind of device. */
/* Mounted where the first process does not see it: by the kernel's own answers. */
TEST(code_of_a_mount_of_its_own)
{
    struct fixture f;
    struct fsroot fs;
    struct process_code *reader;
    uint8_t code[ACCESS_CODE_BYTES];
    char path[300];
    int pipes[2];
    uint8_t *at = NULL;
    if (getuid() != 0)
        skip();
    fixture_init(&f);
    fixture_mkdir(&f, "mount");
    snprintf(path, sizeof path, "%s/mount", f.root);
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (unshare(CLONE_NEWNS) == 0 && mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
            mount("none", path, "tmpfs", 0, NULL) == 0) {
            strcat(path, "/code");
            int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
            if (fd >= 0 && ftruncate(fd, 4096) == 0)
                at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
        }
        if (write(pipes[1], &at, sizeof at) != sizeof at)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(pipes[0], &at, sizeof at), sizeof at);
    assert_int_equal(fsroot_init(&fs, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(process_code_new(&fs, &reader), 0);
    int got = process_code_read(reader, pid, (uintptr_t)at, 1, code);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(pipes[0]);
    close(pipes[1]);
    process_code_free(reader);
    fsroot_release(&fs);
    fixture_release(&f);
    if (!at || at == MAP_FAILED)
        skip(); /* no mount can be made here */
    assert_int_equal(got, -EACCES);
}

FIXTURE_TEST(code_of_local_files_only, f)
{
    enum { PAGES = 8 };
    static const struct {
        const char *device;
        unsigned inode;
        bool may;
    } pages[PAGES] = {
        {"00:00", 0, true},  /* memory */
        {"08:01", 7, true},  /* ext4 */
        {"00:32", 7, true},  /* an overlay of the node's */
        {"00:34", 7, false}, /* a FUSE that the node has mounted itself */
        {"00:35", 7, false}, /* mounted where the first process does not see it */
        {"00:36", 7, false}, /* a network's */
        {"07:00", 7, false}, /* a FUSE on a disk */
        {"00:35", 0, false},
    };
    struct process_code *reader;
    uint8_t code[ACCESS_CODE_BYTES];
    char text[PAGES * 80] = "";
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *at = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    memset(at, 0x90, PAGES * page);
    for (size_t i = 0; i < PAGES; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%lx-%lx r-xp 00000000 %s %u /x\n",
                 (unsigned long)(uintptr_t)(at + i * page),
                 (unsigned long)(uintptr_t)(at + (i + 1) * page), pages[i].device, pages[i].inode);
    }
    char maps[64];
    snprintf(maps, sizeof maps, "proc/%d/maps", (int)getpid());
    fixture_write(f, maps, "%s", text);
    fixture_write(f, "proc/1/mountinfo",
                  "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:50 / /c rw - overlay overlay rw\n"
                  "3 1 0:52 / /far rw - fuse.sshfs far rw\n4 1 0:54 / /n rw - nfs4 far rw\n"
                  "5 1 7:0 / /l rw - fuseblk /dev/loop0 rw\n");
    assert_int_equal(process_code_new(&f->fs, &reader), 0);
    for (size_t i = 0; i < PAGES; i++) {
        int got = process_code_read(reader, getpid(), (uintptr_t)(at + i * page), 1, code);
        if (got != (pages[i].may ? ACCESS_CODE_BYTES : -EACCES))
            fail_msg("page %zu on %s: %d", i, pages[i].device, got);
    }
    /* Not a byte of the next mapping, which may be another's. */
    assert_int_equal(process_code_read(reader, getpid(), (uintptr_t)(at + 3 * page) - 5, 1, code),
                     5);
    process_code_free(reader);

    /* Without the node's table nothing but memory. */
    fixture_write(f, "proc/1/mountinfo", "%s", "");
    assert_int_equal(process_code_new(&f->fs, &reader), 0);
    assert_int_equal(process_code_read(reader, getpid(), (uintptr_t)at, 1, code),
                     ACCESS_CODE_BYTES);
    assert_int_equal(process_code_read(reader, getpid(), (uintptr_t)(at + page), 1, code), -EACCES);
    process_code_free(reader);
    munmap(at, PAGES * page);
}

/* As dynamic compilers make it: written through one mapping, run in another. */
TEST(code_in_memory_of_a_file)
{
    struct fsroot fs;
    struct process_code *reader;
    uint8_t code[ACCESS_CODE_BYTES];
    int fd = memfd_create("compiler", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 4096), 0);
    uint8_t *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, fd, 0);
    assert_true(at != MAP_FAILED);
    memcpy(at, instruction, sizeof instruction);
    assert_int_equal(fsroot_init(&fs, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(process_code_new(&fs, &reader), 0);
    assert_int_equal(process_code_read(reader, getpid(), (uintptr_t)at, 1, code),
                     ACCESS_CODE_BYTES);
    assert_memory_equal(code, instruction, sizeof instruction);
    process_code_free(reader);
    fsroot_release(&fs);
    munmap(at, 4096);
    close(fd);
}

/* A text that other programs make long is read to a MiB, and no further. */
TEST(long_maps)
{
    enum { LINES = 20000 };
    struct fixture f;
    struct process_code *reader;
    uint8_t code[ACCESS_CODE_BYTES];
    char path[64], *text = malloc(LINES * 96), *at = text;
    assert_non_null(text);
    for (unsigned long i = 1; i <= LINES; i++)
        at += sprintf(at, "%08lx-%08lx r--p 00000000 00:35 7      /a-name-of-some-length\n",
                      i * 4096, (i + 1) * 4096);
    fixture_init(&f);
    snprintf(path, sizeof path, "proc/%d/maps", (int)getpid());
    fixture_write(&f, path, "%s", text);
    assert_int_equal(process_code_new(&f.fs, &reader), 0);
    assert_int_equal(process_code_read(reader, getpid(), 10000 * 4096, 1, code), -EACCES);
    assert_int_equal(process_code_read(reader, getpid(), 19999 * 4096, 1, code), -EFBIG);
    process_code_free(reader);
    fixture_release(&f);
    free(text);
}

TEST(kinds_of_programs)
{
    static const uint8_t wide[] = {33, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0xff, 0xf7, 0xff, 0x7f, 0, 0,
                                   6,  0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0,    0,    0,    0,    0, 0,
                                   0,  0, 0, 0, 0, 0, 0, 0, 0, 0,    0,    0,    0,    0,    0, 0};
    static const uint8_t narrow[] = {32, 0, 0,    0,    0x70, 0xc5, 0xf7, 0xf7, 33, 0, 0,
                                     0,  0, 0xc0, 0xf7, 0xf7, 6,    0,    0,    0,  0, 0x10,
                                     0,  0, 0,    0,    0,    0,    0,    0,    0,  0};
    struct fsroot fs;
    bool out = false;
    assert_int_equal(fsroot_init(&fs, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(process_code_is_wide(&fs, getpid(), &out), 0);
    assert_true(out == (sizeof(void *) == 8));
    assert_int_equal(process_code_is_wide(&fs, 0x7fffffff, &out), -ENOENT);
    fsroot_release(&fs);

    assert_int_equal(auxv_is_wide(narrow, sizeof narrow, &out), 0);
    assert_false(out);
    assert_int_equal(auxv_is_wide(wide, sizeof wide, &out), 0);
    assert_true(out);
    assert_int_equal(auxv_is_wide(wide, 0, &out), -ENOEXEC); /* a kernel thread's */
    assert_int_equal(auxv_is_wide(wide, 16, &out), -ENOEXEC);
    assert_int_equal(auxv_is_wide(wide + 1, sizeof wide - 1, &out), -ENOEXEC);
    assert_int_equal(auxv_is_wide(instruction, sizeof instruction, &out), -ENOEXEC);
    assert_true(out);
}

/* Its program's file may be anybody's: nothing but auxv is opened. */
FIXTURE_TEST(no_program_is_opened, f)
{
    bool out;
    fixture_write(f, "proc/7/exe", "\177ELF%c%15s", 2, "");
    assert_int_equal(process_code_is_wide(&f->fs, 7, &out), -ENOENT);
}
