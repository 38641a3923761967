/* Code of other processes: compiled at run time, at the end of a mapping, of processes that end. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "exporter/source/accesses/code.h"
#include "tests/unit/support/fixture.h"

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

static void code_of_a_child(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t code[ACCESS_CODE_BYTES];
    uint32_t bytes = 0;
    /* No process can read the third page. */
    uint8_t *pages =
        mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(munmap(pages + 2 * page, page), 0);
    pid_t pid = start_child(pages, page);

    assert_int_equal(process_code_read(pid, (uintptr_t)pages + 100, code), ACCESS_CODE_BYTES);
    assert_memory_equal(code, instruction, sizeof instruction);
    assert_int_equal(access_size(code, sizeof code, true, ACCESS_STORE, &bytes), ACCESS_SIZE_KNOWN);
    assert_int_equal(bytes, 64);
    /* Over the border of two pages, and up to the end of the last one. */
    assert_int_equal(process_code_read(pid, (uintptr_t)pages + page - 3, code), ACCESS_CODE_BYTES);
    assert_memory_equal(code, instruction, sizeof instruction);
    assert_int_equal(process_code_read(pid, (uintptr_t)pages + 2 * page - sizeof instruction, code),
                     sizeof instruction);
    assert_memory_equal(code, instruction, sizeof instruction);
    assert_int_equal(process_code_read(pid, (uintptr_t)pages + 2 * page, code), -EFAULT);
    assert_int_equal(process_code_read(pid, 0, code), -EFAULT);
    assert_int_equal(process_code_read(pid, UINT64_MAX - 3, code), -EFAULT);

    kill(pid, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    int err = process_code_read(pid, (uintptr_t)pages + 100, code); /* ended, not yet buried */
    assert_true(err == -ESRCH || err == -EFAULT);
    waitpid(pid, NULL, 0);
    assert_int_equal(process_code_read(pid, (uintptr_t)pages + 100, code), -ESRCH);
    munmap(pages, 2 * page);
}

static void kinds_of_programs(void **state)
{
    (void)state;
    struct fsroot fs;
    struct fixture f;
    bool wide = false;
    assert_int_equal(fsroot_init(&fs, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(process_code_is_wide(&fs, getpid(), &wide), 0);
    assert_true(wide == (sizeof(void *) == 8));
    fsroot_release(&fs);

    fixture_init(&f);
    fixture_write(&f, "proc/7/exe", "\177ELF%c%15s", 1, "");
    fixture_write(&f, "proc/8/exe", "\177ELF%c%15s", 2, "");
    fixture_write(&f, "proc/9/exe", "\177ELF%c%15s", 3, "");
    fixture_write(&f, "proc/10/exe", "#!/bin/sh, but long enough\n");
    fixture_write(&f, "proc/11/exe", "\177ELF");
    assert_int_equal(process_code_is_wide(&f.fs, 7, &wide), 0);
    assert_false(wide);
    assert_int_equal(process_code_is_wide(&f.fs, 8, &wide), 0);
    assert_true(wide);
    for (pid_t pid = 9; pid <= 11; pid++)
        assert_int_equal(process_code_is_wide(&f.fs, pid, &wide), -ENOEXEC);
    assert_int_equal(process_code_is_wide(&f.fs, 12, &wide), -ENOENT);
    assert_true(wide);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_of_a_child),
        cmocka_unit_test(kinds_of_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
