/*
 * A process that only keeps another one running: what it hears of its children.
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
