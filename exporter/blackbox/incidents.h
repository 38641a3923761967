/*
 * What is going on, and what of it has just begun.
 *
 * A thing goes on until it was not seen for a quarter of a minute, and counts as an incident for
 * half an hour: what stays for longer is how things are. What began once does not ask for a file
 * again within an hour, or one that comes and goes all night would push all other files out. Pure
 * but for its own memory; one thread.
 */
#ifndef IE_BLACKBOX_INCIDENTS_H
#define IE_BLACKBOX_INCIDENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of more, the one that was seen longest ago is forgotten; but none that goes on, or each would
 * begin again and again: what comes then has not begun before one of them is over. */
enum { INCIDENTS_MAX = 512 };

struct incidents {
    struct incident {
        unsigned why;
        uint64_t id;
        uint64_t began_ns, seen_ns, opened_ns; /* opened: asked for a file; 0: never */
    } at[INCIDENTS_MAX];
    size_t n;
};

/* A condition holds at this time. Says whether it begins, and whether it asks for a file. */
bool incidents_see(struct incidents *incidents, unsigned why, uint64_t id, uint64_t now_ns,
                   bool *opens);
/* Whether anything is going on. */
bool incidents_go_on(const struct incidents *incidents, uint64_t now_ns);

#endif
