/* Small recordings written and read back by tests; each helper fails the running cmocka test. */
#ifndef IE_TESTS_RECORDINGS_H
#define IE_TESTS_RECORDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/source/recording/recorder.h"
#include "exporter/source/recording/replay.h"

#define HEADER "{\"recording\":1,\"machine\":{},\"interval_ns\":1000}\n"
#define CONTAINER(key) "{\"container\":{\"key\":\"" key "\"}}\n"
#define TICK(n) "{\"tick\":" #n ",\"mono_ns\":" #n "000,\"wall_ns\":1}\n"
#define READ(key, more)                                                                            \
    "{\"read\":\"" key "\",\"group\":\"core\"," more                                               \
    "\"enabled_ns\":1,\"running_ns\":1,\"values\":{\"cycles\":1}}\n"

#define ACTIVITY(key, more, time) "{\"activity\":\"" key "\"," more "\"cpu_time_ns\":" #time "}\n"
#define PAGES(key, node, bytes)                                                                    \
    "{\"pages\":\"" key "\",\"numa_node\":" #node ",\"bytes\":" #bytes "}\n"
#define MOVED(values)                                                                              \
    "{\"read\":\"host\",\"group\":\"bandwidth\",\"cpu\":2,\"enabled_ns\":5000,"                    \
    "\"running_ns\":5000,\"values\":{" values "}}\n"

/* Makes a temporary file with this text; the test unlinks it. */
void recording_write(char path[64], const char *text, size_t len);

/* An empty temporary file, which the test unlinks. */
void recording_temporary(char path[64]);
/* A recorder of recorded_machine, interval 1000 ns, without a log. */
struct recorder *recording_start(const char *path);
extern const struct machine recorded_machine;
void recording_tick(struct recorder *recorder, uint64_t number);
struct recording_container recording_named(const char *key, const char *pod);

/* The whole file; the caller frees it. */
char *recording_contents(const char *path);
size_t occurrences(const char *text, const char *what);

struct replay *recording_open(const char *path);
bool recording_next(struct replay *replay, struct tick *out);
/* That it is -EINVAL, at the start or the first tick, with these words behind the file's name. */
void recording_assert_refused(const char *text, const char *words);

#endif
