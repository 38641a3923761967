/*
 * Maps a file and, when told to, makes one access to each of its first pages by one instruction.
 * Every page is a page fault, taken at that instruction and at that address.
 *
 *     store_pages PATH shared|private|readonly PAGES INSTRUCTION
 *     store_pages anonymous ...
 *
 * Prints "PID ADDRESS OFFSET" of the mapping and of the access in page 1 (page I is accessed at
 * I * OFFSET), reads a line from stdin, makes the accesses, prints "done", ends with its stdin.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Each makes its access at *at, which is a multiple of 64 bytes. */
#define INSTRUCTION(name, code)                                                                    \
    void name(char *at);                                                                           \
    __asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ":\n" code                \
            "\n ret\n.size " #name ",.-" #name "\n")

INSTRUCTION(mov1, "movb $1,(%rdi)");
INSTRUCTION(mov2, "movw $1,(%rdi)");
INSTRUCTION(mov4, "movl $1,(%rdi)");
INSTRUCTION(mov8, "movq $1,(%rdi)");
INSTRUCTION(movnti8, "movnti %rax,(%rdi)");
INSTRUCTION(movaps16, "movaps %xmm0,(%rdi)");
INSTRUCTION(movntdq16, "movntdq %xmm0,(%rdi)");
INSTRUCTION(vmovdqu32, "vmovdqu %ymm0,(%rdi)");
INSTRUCTION(push8, "leaq 8(%rdi),%rdx\n xchgq %rsp,%rdx\n pushq %rax\n movq %rdx,%rsp");
INSTRUCTION(call8, "leaq 8(%rdi),%rdx\n xchgq %rsp,%rdx\n call 1f\n1: movq %rdx,%rsp");
INSTRUCTION(add4, "lock addl $1,(%rdi)");
INSTRUCTION(cmpxchg16, "pushq %rbx\n xorl %eax,%eax\n xorl %edx,%edx\n xorl %ebx,%ebx\n"
                       " xorl %ecx,%ecx\n lock cmpxchg16b (%rdi)\n popq %rbx");
INSTRUCTION(masked, "vpcmpeqd %ymm1,%ymm1,%ymm1\n vpmaskmovd %ymm0,%ymm1,(%rdi)");
INSTRUCTION(repeated, "movl $64,%ecx\n movb $1,%al\n rep stosb");
INSTRUCTION(load8, "movq (%rdi),%rax");

static const struct {
    const char *name;
    void (*run)(char *at);
} instructions[] = {
    {"mov1", mov1},           {"mov2", mov2},           {"mov4", mov4},
    {"mov8", mov8},           {"movnti8", movnti8},     {"movaps16", movaps16},
    {"movntdq16", movntdq16}, {"vmovdqu32", vmovdqu32}, {"push8", push8},
    {"call8", call8},         {"add4", add4},           {"cmpxchg16", cmpxchg16},
    {"masked", masked},       {"repeated", repeated},   {"load8", load8},
};

static char *map(const char *path, const char *how, size_t size)
{
    int protection = strcmp(how, "readonly") == 0 ? PROT_READ : PROT_READ | PROT_WRITE;
    int flags = strcmp(how, "private") == 0 ? MAP_PRIVATE : MAP_SHARED, fd = -1;
    if (strcmp(path, "anonymous") == 0) {
        flags |= MAP_ANONYMOUS;
    } else {
        fd = open(path, protection & PROT_WRITE ? O_RDWR : O_RDONLY);
        if (fd < 0) {
            perror(path);
            return NULL;
        }
    }
    char *at = mmap(NULL, size, protection, flags, fd, 0);
    if (fd >= 0)
        close(fd);
    if (at == MAP_FAILED || madvise(at, size, MADV_NOHUGEPAGE) < 0) {
        perror("mmap");
        return NULL;
    }
    return at;
}

int main(int argc, char **argv)
{
    enum { PAGE = 4096, OFFSET = PAGE + 64 };
    void (*run)(char *) = NULL;
    char line[16];
    for (size_t i = 0; argc == 5 && i < sizeof instructions / sizeof *instructions; i++)
        if (strcmp(argv[4], instructions[i].name) == 0)
            run = instructions[i].run;
    size_t pages = argc == 5 ? strtoul(argv[3], NULL, 10) : 0;
    if (!run || pages == 0 || pages > PAGE / 64) {
        fprintf(stderr, "store_pages PATH shared|private|readonly PAGES INSTRUCTION\n");
        return 2;
    }
    char *at = map(argv[1], argv[2], pages * PAGE);
    if (!at)
        return 1;
    printf("%d %lx %d\n", (int)getpid(), (unsigned long)at, OFFSET);
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        return 1;
    for (size_t i = 0; i < pages; i++)
        run(at + i * OFFSET);
    printf("done\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin))
        ;
    return 0;
}
