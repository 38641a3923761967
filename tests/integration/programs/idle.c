/*
 * Sleeps until a signal ends it; the process of containers in tests.
 *
 *     idle [SECONDS]
 *
 * As the first process of a PID namespace it gets only signals that it handles.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void end(int number)
{
    (void)number;
    _exit(0);
}

int main(int argc, char **argv)
{
    signal(SIGTERM, end);
    signal(SIGINT, end);
    if (argc > 1) {
        sleep((unsigned)strtoul(argv[1], NULL, 10));
        return 0;
    }
    for (;;) {
        pause();
    }
}
