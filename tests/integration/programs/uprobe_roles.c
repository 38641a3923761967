/*
 * Calls functions named after the exporter's roles a known number of times, on given CPUs.
 *
 *     uprobe_roles CPU:ROLE=COUNT[,ROLE=COUNT...] ...
 *
 * With a uprobe on each function the kernel counts exactly these calls. Arguments are worked off in
 * order; each moves the process to its CPU first. Among the terms may stand "stop", at which the
 * process stops itself, and "fork", after which a child works off the rest of the terms, too, and
 * is waited for; and "spin": from then on the process leaves its CPU to nobody, and when all is
 * called it goes on for 0.9 s, a little less than the kernel lets a realtime process have at once.
 * "repeat" works the argument off again every 10 ms until SIGUSR1 comes, which leads on to the
 * next.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Calls stay calls: gcc's noipa also forbids clones, which clang does not make. */
#if __has_attribute(noipa)
#define NOT_INLINED __attribute__((noipa))
#else
#define NOT_INLINED __attribute__((noinline))
#endif

/* The text differs, so that the compiler cannot fold two of them into one. */
#define ROLE(name)                                                                                 \
    static NOT_INLINED void role_##name(void)                                                      \
    {                                                                                              \
        __asm__ volatile("# " #name ::: "memory");                                                 \
    }

ROLE(cycles)
ROLE(ref_cycles)
ROLE(instructions)
ROLE(l3_miss_reads)
ROLE(l3_miss_read_occupancy)
ROLE(llc_reads)
ROLE(l3_miss_read_active)
ROLE(l1d_miss_occupancy)
ROLE(l1d_fills_l2)
ROLE(l1d_fills_l3)
ROLE(l1d_fills_memory)

static const struct {
    const char *name;
    void (*call)(void);
} roles[] = {
    {"cycles", role_cycles},
    {"ref_cycles", role_ref_cycles},
    {"instructions", role_instructions},
    {"l3_miss_reads", role_l3_miss_reads},
    {"l3_miss_read_occupancy", role_l3_miss_read_occupancy},
    {"llc_reads", role_llc_reads},
    {"l3_miss_read_active", role_l3_miss_read_active},
    {"l1d_miss_occupancy", role_l1d_miss_occupancy},
    {"l1d_fills_l2", role_l1d_fills_l2},
    {"l1d_fills_l3", role_l1d_fills_l3},
    {"l1d_fills_memory", role_l1d_fills_memory},
};

static void spin(void)
{
    struct timespec now, end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += 900000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

enum { REPEAT_NS = 10000000 };

static int spinning, repeating;
static pid_t child = -1;
static volatile sig_atomic_t led_on;

static void lead_on(int number)
{
    (void)number;
    led_on = 1;
}

static int special(const char *term)
{
    const struct sched_param first = {.sched_priority = 1};
    if (strcmp(term, "stop") == 0)
        return raise(SIGSTOP);
    if (strcmp(term, "fork") == 0) {
        child = fork();
        return child < 0;
    }
    if (strcmp(term, "spin") == 0) {
        spinning = 1;
        return sched_setscheduler(0, SCHED_FIFO, &first);
    }
    if (strcmp(term, "repeat") == 0) {
        repeating = 1;
        return 0;
    }
    return -1;
}

static int work(const char *term)
{
    size_t length = strcspn(term, "=");
    if (term[length] != '=') {
        return special(term);
    }
    long count = strtol(term + length + 1, NULL, 10);
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (strlen(roles[i].name) == length && strncmp(roles[i].name, term, length) == 0) {
            while (count-- > 0) {
                roles[i].call();
            }
            return 0;
        }
    }
    return -1;
}

static int work_off(char *terms)
{
    for (char *term = strtok(terms, ","); term; term = strtok(NULL, ",")) {
        if (work(term)) {
            fprintf(stderr, "not understood: %s\n", term);
            return -1;
        }
    }
    return 0;
}

/* Once, or again and again. */
static int work_on(const char *terms)
{
    const struct timespec pause = {.tv_nsec = REPEAT_NS};
    int failed = 0;
    led_on = repeating = 0;
    do {
        char *copy = strdup(terms);
        failed = copy ? work_off(copy) : -1;
        free(copy);
        if (repeating)
            nanosleep(&pause, NULL);
    } while (!failed && repeating && !led_on);
    return failed;
}

int main(int argc, char **argv)
{
    signal(SIGUSR1, lead_on);
    for (int i = 1; i < argc; i++) {
        char *terms = NULL;
        cpu_set_t cpu;
        CPU_ZERO(&cpu);
        CPU_SET(strtoul(argv[i], &terms, 10), &cpu);
        if (*terms != ':' || sched_setaffinity(0, sizeof(cpu), &cpu)) {
            perror(argv[i]);
            return 1;
        }
        if (work_on(terms + 1))
            return 1;
    }
    if (spinning)
        spin();
    if (child > 0 && waitpid(child, NULL, 0) != child)
        return 1;
    return 0;
}
