/*
 * A process whose code cannot be read any more right after it has stored to a file:
 *
 *     silent_code FILE CODE_FILE FLAG    its code is CODE_FILE's, whose pages it lets go
 *     silent_code FILE userfaultfd       its code is memory whose page faults nobody serves
 *
 * Says "ready", waits for a line, makes FLAG (so that whoever serves CODE_FILE falls silent),
 * stores a byte to another page of FILE, lets its code go, and says "done". Ends with its standard
 * input.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, SECOND = 64 };

typedef void (*store_function)(char *place);

/* mov %al,(%rdi); ret */
static const uint8_t store[] = {0x88, 0x07, 0xc3};

static int complain(const char *what)
{
    perror(what);
    return 1;
}

static char *map_anonymous(void)
{
    char *code =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        return NULL;
    memcpy(code, store, sizeof store);
    memcpy(code + SECOND, store, sizeof store);
    return code;
}

static char *map_file(const char *path, int *fd)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    char *code =
        *fd < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, *fd, 0);
    return code == MAP_FAILED ? NULL : code;
}

/* Two pages; of a file that is there, and may be served by somebody, both are in memory: they are
 * to be stored to when it is silent. */
static char *map_place(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    bool is_new = fd < 0;
    if (is_new)
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || (is_new && ftruncate(fd, 2 * PAGE) != 0))
        return NULL;
    volatile char *place = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (place == MAP_FAILED)
        return NULL;
    if (!is_new)
        (void)(place[0] + place[PAGE]);
    return (char *)(uintptr_t)place;
}

/* From then on who touches a page that is not there waits for this process to serve it. */
static int watch(char *code)
{
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {.range = {.start = (uintptr_t)code, .len = PAGE},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    return fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range) ? -1 : 0;
}

static int fall_silent(char *code, const char *flag)
{
    if (!flag)
        return watch(code);
    int fd = open(flag, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd < 0 ? -1 : close(fd);
}

static int let_go(char *code, int code_fd)
{
    if (madvise(code, PAGE, MADV_DONTNEED) != 0)
        return -1;
    return code_fd < 0 ? 0 : posix_fadvise(code_fd, 0, PAGE, POSIX_FADV_DONTNEED);
}

int main(int argc, char **argv)
{
    char line[16];
    int code_fd = -1;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc < 3)
        return 2;
    const char *flag = argc > 3 ? argv[3] : NULL;
    char *place = map_place(argv[1]);
    char *code = flag ? map_file(argv[2], &code_fd) : map_anonymous();
    if (!place || !code)
        return complain("mmap");
    ((store_function)(uintptr_t)code)(place); /* so that the page of code is there */
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        return 1;
    if (fall_silent(code, flag) != 0)
        return complain("fall silent");
    ((store_function)(uintptr_t)(code + SECOND))(place + PAGE);
    if (let_go(code, code_fd) != 0)
        return complain("let go");
    puts("done");
    fflush(stdout);
    return fgets(line, sizeof line, stdin) != NULL;
}
