/*
 * The process that holds the ring and writes it: it may change nothing but the files of its
 * directory, and nobody waits for it. When it is killed another one begins, which knows nothing of
 * what was read before. For blackbox.c.
 */
#ifndef IE_BLACKBOX_SCRIBE_H
#define IE_BLACKBOX_SCRIBE_H

#include <sys/types.h>

#include "exporter/blackbox/blackbox.h"
#include "exporter/blackbox/chute.h"

/* What a message begins with. */
enum scribe_message {
    SCRIBE_START = 's',   /* header, units and threads: what came before is not for this process */
    SCRIBE_LEARNED = 'l', /* of what collectors know: where it begins, of how many, and bytes */
    SCRIBE_TICK = 't', /* going on (0 or 1), whether to open a file (0 or 1), then the tick's lines
                         */
};

struct scribe_config {
    int channel;     /* to the reader: reports; at its end all is over */
    int wake;        /* an eventfd: there is a message */
    int directory;   /* that of the files, locked */
    unsigned starts; /* how many of them there were, this one included */
    struct chute *chute;
    const struct blackbox_config *blackbox;
};

/* Until the reader is gone. Returns the process's status. */
int scribe_run(const struct scribe_config *config);

#endif
