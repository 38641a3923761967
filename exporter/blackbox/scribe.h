/*
 * The process that holds the ring and writes it: it may change nothing but the files of its
 * directory, and nobody waits for it. For blackbox.c.
 */
#ifndef IE_BLACKBOX_SCRIBE_H
#define IE_BLACKBOX_SCRIBE_H

#include <sys/types.h>

#include "exporter/blackbox/blackbox.h"
#include "exporter/blackbox/chute.h"

/* What a message begins with. */
enum scribe_message {
    SCRIBE_START = 's', /* header, units and threads */
    SCRIBE_TICK = 't',  /* going on (0 or 1), whether to open a file (0 or 1), then the tick's lines
                         */
};

struct scribe_config {
    pid_t reader;
    int channel; /* to the reader: reports; at its end all is over */
    int wake;    /* an eventfd: there is a message */
    struct chute *chute;
    const struct blackbox_config *blackbox;
};

/* Until the reader is gone. Returns the process's status. */
int scribe_run(const struct scribe_config *config);

#endif
