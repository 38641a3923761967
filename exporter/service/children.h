/*
 * For a process that only keeps others running: how it hears that a child has ended.
 */
#ifndef IE_SERVICE_CHILDREN_H
#define IE_SERVICE_CHILDREN_H

/*
 * A descriptor that can be read when a child has ended (signalfd, never blocks), or -1 with errno.
 * What the parent's signals mean is the parent's business: this process ignores those of a terminal
 * and of service managers from now on, and of a closed pipe. Before threads start.
 */
int children_watch(void);

#endif
