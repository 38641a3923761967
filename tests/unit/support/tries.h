/* What a confined process may not do; each tries it, and returns -1 where it is refused. */
#ifndef IE_TESTS_TRIES_H
#define IE_TESTS_TRIES_H

int try_exec(void);
int try_socket(void);
int try_fork(void);
/* The parent is sent a signal that is none. */
int try_kill(void);
int try_thread_kill(void);
/* A filter of system calls that allows less. */
int try_filter(void);

#endif
