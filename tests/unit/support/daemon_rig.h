/* A whole exporter in this process, on a recording, with its server. */
#ifndef IE_TESTS_DAEMON_RIG_H
#define IE_TESTS_DAEMON_RIG_H

#include <pthread.h>

#include "exporter/daemon/exporter.h"

struct daemon_rig {
    char recording[64], flag[96];
    struct options options;
    struct plan plan;
    struct log log;
    struct exporter *exporter;
    pthread_t thread;
    int result;
    char error[512];
};

/* A recording of one container "web" of a pod that reads 'reads' times a tick; 'path' is set. */
void daemon_recording(char path[64], const char *pod, unsigned ticks, unsigned reads);

/* Replays such a recording at full speed; 'flag' (may be NULL) is one more flag. */
void daemon_start(struct daemon_rig *d, const char *pod, unsigned ticks, unsigned reads,
                  const char *flag);
/* Replays one of pod "one" with 1000 reads a tick at its own speed, but for the beginning that
 * 'skip' (--source.replay.skip=...) hurries through. */
void daemon_start_skipping(struct daemon_rig *d, unsigned ticks, const char *skip);
void daemon_stop(struct daemon_rig *d);

/* The answer to one request, headers included. Freed by the caller. */
char *daemon_fetch(const struct daemon_rig *d, const char *path, const char *headers);
/* Fails unless the answer has this piece. */
void daemon_expect(const struct daemon_rig *d, const char *path, const char *piece);
/* Waits until /metrics has this piece. */
void daemon_wait_for(const struct daemon_rig *d, const char *piece);

#endif
