#include "tests/unit/support/tries.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exporter/service/confine.h"

int try_exec(void)
{
    char *const argv[] = {"true", NULL};
    return execv("/bin/true", argv);
}

int try_socket(void)
{
    return socket(AF_INET, SOCK_STREAM, 0);
}

int try_fork(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return pid;
}

int try_kill(void)
{
    return kill(getppid(), 0);
}

int try_thread_kill(void)
{
    return (int)syscall(SYS_tgkill, getppid(), getppid(), 0);
}

int try_filter(void)
{
    return confine_calls("exit_group") & CONFINED_CALLS ? 0 : -1;
}
