/*
 * Stores known numbers of bytes with known instructions, each to a page that was not touched
 * before: so each is a page fault. Takes commands on standard input, one a line, and answers each
 * with a line of JSON that says what was stored:
 *
 *     forms FILE COUNT        each form that this CPU has, COUNT times
 *     jit FILE COUNT BYTES    by code of 1, 2, 4 or 8 bytes' stores, written to one address
 *     fork FILE COUNT N       N children one after the other, each of which stores COUNT times a
 *                             byte and ends
 *     stay FILE COUNT N       the same at once; they stay until the next command
 *     exec FILE COUNT N       as stay, but each child first runs this program anew
 *     remap FILE OTHER COUNT  COUNT times a byte to FILE; then OTHER is mapped in its place
 *     leave FILE COUNT PROGRAM  a child stores COUNT times a byte, then runs PROGRAM
 *     end
 *
 * FILE "-" is anonymous memory. With the argument "headless" another thread does all that, and the
 * first one ends.
 */
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)

enum need { ALWAYS, CX16, SSE4, AVX, AVX2, AVX512, MOVBE, MOVDIRI, MOVDIR64B, FXSR, NEEDS };

/* Each is called with the place in %rdi; the store is at its symbol 'at_NAME'. The place is aligned
 * to a cache line. %rdx, %rcx, %rax and vector registers are free. */
#define FORM(name, before, store, after)                                                           \
    void form_##name(char *place);                                                                 \
    extern char at_##name[];                                                                       \
    __asm__(".text\n.globl form_" #name "\n.type form_" #name ",@function\nform_" #name ":\n"      \
            " " before "\n.globl at_" #name "\nat_" #name ": " store "\n " after                   \
            "\n ret\n.size form_" #name ",.-form_" #name "\n");

#define PUSHED "mov %rsp,%rdx\n lea 8(%rdi),%rsp"
#define POPPED "mov %rdx,%rsp"
#define ALL_ONES "mov $-1,%ecx\n kmovd %ecx,%k1"

FORM(mov8, "", "mov %al,(%rdi)", "")
FORM(mov16, "", "mov %ax,(%rdi)", "")
FORM(mov32, "", "mov %eax,(%rdi)", "")
FORM(mov64, "", "mov %rax,(%rdi)", "")
FORM(movb_imm, "", "movb $1,(%rdi)", "")
FORM(movq_imm, "", "movq $1,(%rdi)", "")
FORM(mov_segment, "", "mov %ds,(%rdi)", "")
FORM(movbe64, "", "movbe %rax,(%rdi)", "")
FORM(movnti32, "", "movnti %eax,(%rdi)", "")
FORM(movnti64, "", "movnti %rax,(%rdi)", "")
FORM(movntq, "", "movntq %mm0,(%rdi)", "emms")
FORM(movntps, "", "movntps %xmm0,(%rdi)", "")
FORM(movntdq, "", "movntdq %xmm0,(%rdi)", "")
FORM(vmovntdq256, "", "vmovntdq %ymm0,(%rdi)", "vzeroupper")
FORM(vmovntdq512, "", "vmovntdq %zmm0,(%rdi)", "vzeroupper")
FORM(movss, "", "movss %xmm0,(%rdi)", "")
FORM(movsd, "", "movsd %xmm0,(%rdi)", "")
FORM(movups, "", "movups %xmm0,(%rdi)", "")
FORM(pextrb, "", "pextrb $1,%xmm0,(%rdi)", "")
FORM(vmovups256, "", "vmovups %ymm0,(%rdi)", "vzeroupper")
FORM(vextract128, "", "vextracti128 $1,%ymm0,(%rdi)", "vzeroupper")
FORM(vmovups512, "", "vmovups %zmm0,(%rdi)", "vzeroupper")
FORM(vpmovdb, "", "vpmovdb %zmm0,(%rdi)", "vzeroupper")
FORM(kmovw, "", "kmovw %k0,(%rdi)", "")
FORM(masked512, ALL_ONES, "vmovups %zmm0,(%rdi){%k1}", "vzeroupper")
FORM(vmaskmov, "vpcmpeqd %ymm1,%ymm1,%ymm1", "vmaskmovps %ymm0,%ymm1,(%rdi)", "vzeroupper")
FORM(maskmovdqu, "pcmpeqd %xmm1,%xmm1", "maskmovdqu %xmm1,%xmm0", "")
FORM(scatter, ALL_ONES "\n vpxord %zmm1,%zmm1,%zmm1", "vpscatterdd %zmm0,(%rdi,%zmm1){%k1}",
     "vzeroupper")
FORM(push64, PUSHED, "push %rax", POPPED)
FORM(push16, "mov %rsp,%rdx\n lea 2(%rdi),%rsp", "pushw %ax", POPPED)
FORM(push_imm, PUSHED, "pushq $1", POPPED)
FORM(pushfq, PUSHED, "pushfq", POPPED)
FORM(call, PUSHED, "call 1f", "1: mov %rdx,%rsp")
FORM(call_register, PUSHED "\n lea 2f(%rip),%rcx", "call *%rcx", "2: mov %rdx,%rsp")
FORM(enter, "mov %rsp,%rdx\n mov %rbp,%rcx\n lea 8(%rdi),%rsp", "enter $0,$0",
     "mov %rdx,%rsp\n mov %rcx,%rbp")
FORM(stosb, "", "stosb", "")
FORM(stosq, "", "stosq", "")
FORM(movsq, "lea at_movsq(%rip),%rsi", "movsq", "")
FORM(rep_stosb, "mov $64,%ecx", "rep stosb", "")
FORM(rep_stosq, "mov $8,%ecx", "rep stosq", "")
FORM(rep_movsb, "lea at_rep_movsb(%rip),%rsi\n mov $64,%ecx", "rep movsb", "")
FORM(xchg32, "", "xchg %eax,(%rdi)", "")
FORM(xadd64, "", "lock xadd %rax,(%rdi)", "")
FORM(cmpxchg8, "", "lock cmpxchg %cl,(%rdi)", "")
FORM(cmpxchg8b, "push %rbx", "lock cmpxchg8b (%rdi)", "pop %rbx")
FORM(cmpxchg16b, "push %rbx", "lock cmpxchg16b (%rdi)", "pop %rbx")
FORM(lock_inc32, "", "lock incl (%rdi)", "")
FORM(setcc, "", "setz (%rdi)", "")
FORM(movdiri64, "", "movdiri %rax,(%rdi)", "")
FORM(movdir64b, "lea form_mov8(%rip),%rsi", "movdir64b (%rsi),%rdi", "")
FORM(fxsave, "", "fxsave (%rdi)", "")
FORM(fstp80, "fldz", "fstpt (%rdi)", "")
FORM(fnstcw, "", "fnstcw (%rdi)", "")

static const struct form {
    const char *name;
    void (*store)(char *place);
    const char *at;
    enum need need;
    uint32_t bytes; /* 0: cannot be told from the instruction */
    const char *why;
} forms[] = {
#define KNOWN(name, need, bytes)                                                                   \
    {                                                                                              \
#name, form_##name, at_##name, need, bytes, "known"                                        \
    }
#define UNKNOWN(name, need, why)                                                                   \
    {                                                                                              \
#name, form_##name, at_##name, need, 0, why                                                \
    }
    KNOWN(mov8, ALWAYS, 1),
    KNOWN(mov16, ALWAYS, 2),
    KNOWN(mov32, ALWAYS, 4),
    KNOWN(mov64, ALWAYS, 8),
    KNOWN(movb_imm, ALWAYS, 1),
    KNOWN(movq_imm, ALWAYS, 8),
    KNOWN(mov_segment, ALWAYS, 2),
    KNOWN(movbe64, MOVBE, 8),
    KNOWN(movnti32, ALWAYS, 4),
    KNOWN(movnti64, ALWAYS, 8),
    KNOWN(movntq, ALWAYS, 8),
    KNOWN(movntps, ALWAYS, 16),
    KNOWN(movntdq, ALWAYS, 16),
    KNOWN(vmovntdq256, AVX, 32),
    KNOWN(vmovntdq512, AVX512, 64),
    KNOWN(movss, ALWAYS, 4),
    KNOWN(movsd, ALWAYS, 8),
    KNOWN(movups, ALWAYS, 16),
    KNOWN(pextrb, SSE4, 1),
    KNOWN(vmovups256, AVX, 32),
    KNOWN(vextract128, AVX2, 16),
    KNOWN(vmovups512, AVX512, 64),
    KNOWN(vpmovdb, AVX512, 16),
    KNOWN(kmovw, AVX512, 2),
    UNKNOWN(masked512, AVX512, "masked"),
    UNKNOWN(vmaskmov, AVX2, "masked"),
    UNKNOWN(maskmovdqu, ALWAYS, "masked"),
    UNKNOWN(scatter, AVX512, "masked"),
    KNOWN(push64, ALWAYS, 8),
    KNOWN(push16, ALWAYS, 2),
    KNOWN(push_imm, ALWAYS, 8),
    KNOWN(pushfq, ALWAYS, 8),
    KNOWN(call, ALWAYS, 8),
    KNOWN(call_register, ALWAYS, 8),
    KNOWN(enter, ALWAYS, 8),
    KNOWN(stosb, ALWAYS, 1),
    KNOWN(stosq, ALWAYS, 8),
    KNOWN(movsq, ALWAYS, 8),
    UNKNOWN(rep_stosb, ALWAYS, "repeated"),
    UNKNOWN(rep_stosq, ALWAYS, "repeated"),
    UNKNOWN(rep_movsb, ALWAYS, "repeated"),
    KNOWN(xchg32, ALWAYS, 4),
    KNOWN(xadd64, ALWAYS, 8),
    KNOWN(cmpxchg8, ALWAYS, 1),
    KNOWN(cmpxchg8b, ALWAYS, 8),
    KNOWN(cmpxchg16b, CX16, 16),
    KNOWN(lock_inc32, ALWAYS, 4),
    KNOWN(setcc, ALWAYS, 1),
    KNOWN(movdiri64, MOVDIRI, 8),
    KNOWN(movdir64b, MOVDIR64B, 64),
    UNKNOWN(fxsave, ALWAYS, "variable"),
    KNOWN(fstp80, ALWAYS, 10),
    KNOWN(fnstcw, ALWAYS, 2),
};

static bool has(enum need need)
{
    unsigned a, b, c, d;
    switch (need) {
    case CX16:
        return __get_cpuid(1, &a, &b, &c, &d) && c & bit_CMPXCHG16B;
    case MOVBE:
        return __get_cpuid(1, &a, &b, &c, &d) && c & bit_MOVBE;
    case SSE4:
        return __builtin_cpu_supports("sse4.1") != 0;
    case AVX:
        return __builtin_cpu_supports("avx") != 0;
    case AVX2:
        return __builtin_cpu_supports("avx2") != 0;
    case AVX512:
        return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0;
    case MOVDIRI:
        return __get_cpuid_count(7, 0, &a, &b, &c, &d) && c & 1u << 27;
    case MOVDIR64B:
        return __get_cpuid_count(7, 0, &a, &b, &c, &d) && c & 1u << 28;
    default:
        return true;
    }
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "store_forms: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* That many untouched pages; of a file, behind what it has. */
static char *fresh_pages(const char *path, size_t count)
{
    size_t size = count * page_size();
    int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    off_t at = 0;
    if (strcmp(path, "-") != 0) {
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        at = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
        if (at < 0 || ftruncate(fd, at + (off_t)size) != 0)
            die(path);
        flags = MAP_SHARED;
    }
    char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, at);
    if (pages == MAP_FAILED)
        die("mmap");
    madvise(pages, size, MADV_NOHUGEPAGE);
    if (fd >= 0)
        close(fd);
    return pages;
}

static void answer(const char *what, const void *at, unsigned long count, const char *why,
                   uint32_t bytes, const char *end)
{
    printf("{\"form\":\"%s\",\"pid\":%d,\"ip\":%" PRIuPTR ",\"count\":%lu,\"size\":\"%s\","
           "\"bytes\":%" PRIu32 "}%s",
           what, (int)getpid(), (uintptr_t)at, count, why, bytes, end);
}

/* Each store at another line of its page. */
static void store_all(char *pages, unsigned long count, void (*store)(char *))
{
    for (unsigned long i = 0; i < count; i++)
        store(pages + i * page_size() + 64 * (1 + i % 32));
}

static void all_forms(const char *path, unsigned long count)
{
    const char *separator = "[";
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (!has(forms[i].need))
            continue;
        store_all(fresh_pages(path, count), count, forms[i].store);
        fputs(separator, stdout);
        answer(forms[i].name, forms[i].at, count, forms[i].why, forms[i].bytes, "");
        separator = ",";
    }
    puts("]");
}

/* One page of code for ever, as a compiler at run time has. */
static void by_new_code(const char *path, unsigned long count, unsigned long bytes)
{
    static char *code;
    static const struct {
        unsigned long bytes;
        const char *code;
        size_t len;
    } stores[] = {{1, "\x88\x07\xc3", 3},
                  {2, "\x66\x89\x07\xc3", 4},
                  {4, "\x89\x07\xc3", 3},
                  {8, "\x48\x89\x07\xc3", 4}};
    if (!code)
        code = mmap(NULL, page_size(), PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        die("mmap of code");
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++)
        if (stores[i].bytes == bytes)
            memcpy(code, stores[i].code, stores[i].len);
    __builtin___clear_cache(code, code + page_size());
    void (*store)(char *);
    memcpy(&store, &code, sizeof store);
    store_all(fresh_pages(path, count), count, store);
    fputs("[", stdout);
    answer("jit", code, count, "known", (uint32_t)bytes, "]\n");
}

static pid_t *staying;
static size_t n_staying;

static void end_staying(void)
{
    for (size_t i = 0; i < n_staying; i++) {
        kill(staying[i], SIGKILL);
        waitpid(staying[i], NULL, 0);
    }
    n_staying = 0;
}

/* The pages are there before the children are: they only store. */
static void by_children(const char *path, unsigned long count, unsigned long n, bool stay)
{
    fputs("[", stdout);
    staying = realloc(staying, n * sizeof *staying);
    for (unsigned long i = 0; i < n; i++) {
        char *pages = fresh_pages(path, count);
        int done[2], status = 0;
        char c;
        if (pipe(done) != 0)
            die("pipe");
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            store_all(pages, count, form_mov8);
            if (write(done[1], "x", 1) != 1)
                _exit(1);
            while (stay)
                pause();
            _exit(0);
        }
        close(done[1]);
        if (pid < 0 || read(done[0], &c, 1) != 1)
            die("fork");
        close(done[0]);
        if (stay)
            staying[n_staying++] = pid;
        else if (waitpid(pid, &status, 0) != pid || status != 0)
            die("a child");
        munmap(pages, count * page_size());
        printf("%s{\"form\":\"mov8\",\"pid\":%d,\"ip\":%" PRIuPTR
               ",\"count\":%lu,\"size\":\"known\",\"bytes\":1}",
               i ? "," : "", (int)pid, (uintptr_t)at_mov8, count);
    }
    puts("]");
}

/* The code that stored is gone, and other code may stand where it stood. */
static void then_leave(const char *path, unsigned long count, const char *program)
{
    char *pages = fresh_pages(path, count);
    int gone[2];
    char c;
    if (pipe2(gone, O_CLOEXEC) != 0)
        die("pipe");
    fflush(stdout);
    staying = realloc(staying, sizeof *staying);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        store_all(pages, count, form_mov8);
        execl(program, program, (char *)NULL);
        _exit(1);
    }
    close(gone[1]);
    if (pid < 0 || read(gone[0], &c, 1) != 0) /* its end closed by exec */
        die("leaving");
    close(gone[0]);
    staying[n_staying++] = pid;
    munmap(pages, count * page_size());
    printf("[{\"form\":\"mov8\",\"pid\":%d,\"ip\":%" PRIuPTR
           ",\"count\":%lu,\"size\":\"known\",\"bytes\":1}]\n",
           (int)pid, (uintptr_t)at_mov8, count);
}

/* Another program in the same process: this one anew, at other addresses. */
static void by_exec(const char *path, const char *count, unsigned long n)
{
    const char *separator = "[";
    staying = realloc(staying, n * sizeof *staying);
    for (unsigned long i = 0; i < n; i++) {
        int answers[2], keep[2];
        char line[512];
        if (pipe(answers) != 0 || pipe(keep) != 0)
            die("pipe");
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            dup2(keep[0], 0);
            dup2(answers[1], 1);
            close(keep[1]);
            close(answers[0]);
            execl("/proc/self/exe", "store_forms", path, count, (char *)NULL);
            _exit(1);
        }
        close(answers[1]);
        close(keep[0]);
        FILE *from = fdopen(answers[0], "r");
        if (pid < 0 || !from || !fgets(line, sizeof line, from))
            die("exec");
        fclose(from);
        staying[n_staying++] = pid; /* keep[1] stays open until our end */
        line[strcspn(line, "\n")] = '\0';
        printf("%s%s", separator, line);
        separator = ",";
    }
    puts("]");
}

static void then_another(const char *path, const char *other, unsigned long count)
{
    char *pages = fresh_pages(path, count);
    store_all(pages, count, form_mov8);
    int fd = strcmp(other, "-") == 0 ? -1 : open(other, O_RDWR | O_CLOEXEC);
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    if (mmap(pages, count * page_size(), PROT_READ, flags | MAP_FIXED, fd, 0) == MAP_FAILED)
        die("mmap of another");
    if (fd >= 0)
        close(fd);
    fputs("[", stdout);
    answer("mov8", at_mov8, count, "known", 1, "]\n");
}

static bool obey(char *line)
{
    const char *word[4] = {NULL};
    char *rest = line;
    for (size_t i = 0; i < 4; i++)
        word[i] = strtok_r(i ? NULL : line, " \n", &rest);
    if (!word[0] || strcmp(word[0], "end") == 0)
        return false;
    if (!word[1] || !word[2])
        return false;
    unsigned long count = strtoul(word[2], NULL, 10);
    unsigned long third = word[3] ? strtoul(word[3], NULL, 10) : 0;
    end_staying();
    if (strcmp(word[0], "forms") == 0)
        all_forms(word[1], count);
    else if (strcmp(word[0], "jit") == 0)
        by_new_code(word[1], count, third);
    else if (strcmp(word[0], "fork") == 0)
        by_children(word[1], count, third, false);
    else if (strcmp(word[0], "stay") == 0)
        by_children(word[1], count, third, true);
    else if (strcmp(word[0], "exec") == 0)
        by_exec(word[1], word[2], third);
    else if (strcmp(word[0], "leave") == 0 && word[3])
        then_leave(word[1], count, word[3]);
    else if (strcmp(word[0], "remap") == 0)
        then_another(word[1], word[2], third);
    else
        return false;
    fflush(stdout);
    return true;
}

static void *obey_all(void *unused)
{
    char line[4096];
    (void)unused;
    while (fgets(line, sizeof line, stdin) && obey(line))
        ;
    end_staying();
    exit(0);
}

int main(int argc, char **argv)
{
    char line[4096];
    pthread_t thread;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc == 2 &&
        strcmp(argv[1], "headless") == 0) /* another thread goes on without the first */
        return pthread_create(&thread, NULL, obey_all, NULL) == 0 ? (pthread_exit(NULL), 0) : 1;
    if (argc == 3) { /* after exec: once, then until standard input ends */
        unsigned long count = strtoul(argv[2], NULL, 10);
        store_all(fresh_pages(argv[1], count), count, form_mov16);
        answer("mov16", at_mov16, count, "known", 2, "\n");
        fflush(stdout);
        return read(0, line, 1) < 0;
    }
    obey_all(NULL);
}

#else

int main(void)
{
    return 77;
}

#endif
