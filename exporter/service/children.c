#include "exporter/service/children.h"

#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>

int children_watch(void)
{
    sigset_t children;
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR2, SIG_IGN); /* it asks the exporter for a file, but may reach all processes */
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_SETMASK, &children, NULL);
    return signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}
