/* The keeper and the server, as they run in their processes; for front.c. */
#ifndef IE_FRONT_KEEPER_H
#define IE_FRONT_KEEPER_H

#include "exporter/base/log.h"
#include "exporter/front/tally.h"

struct keeper_config {
    int control; /* from the reader: the start; at its end all is over */
    int desk;    /* for the server */
    struct tally *tally;
    const char *web_config_file; /* NULL: none; borrowed */
    const struct log *log;
};

/* What the keeper gives up before anything else, and the server on top of it as soon as it serves.
 * For good. With a web config they keep their user, whose files it names, and read its directories.
 * Bits of enum confined. */
unsigned keeper_confine(const char *web_config_file);
unsigned server_confine(const char *web_config_file);

/* Until the reader is gone; in a server that it forked, until that has ended. Returns the process's
 * status; descriptors are left to its end. */
int keeper_run(const struct keeper_config *config);

#endif
