#include "exporter/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/base/textbuf.h"

const char *log_drop_name(enum log_drop why)
{
    static const char *const names[LOG_DROPS] = {
        [LOG_DROPPED_RATE] = "rate",
        [LOG_DROPPED_BLOCKED] = "blocked",
    };
    return names[why];
}

int log_limits_init(struct log_limits *limits)
{
    *limits = (struct log_limits){0};
    return -pthread_mutex_init(&limits->lock, NULL);
}

void log_limits_release(struct log_limits *limits)
{
    pthread_mutex_destroy(&limits->lock);
}

/* Formats are constants, so that equal pointers are the same message; it does no harm if two equal
 * messages are taken for different ones. */
static struct log_message *find(struct log_limits *limits, const char *module, const char *format,
                                uint64_t now_ns)
{
    struct log_message *message = limits->messages;
    const struct log_message *last = message + LOG_MESSAGES; /* shared by those that are too many */
    while (message < last && message->format &&
           (message->format != format || message->module != module))
        message++;
    if (!message->format)
        *message = (struct log_message){module, format, LOG_BURST, now_ns, 0};
    return message;
}

void log_limits_share(struct log_limits *limits, _Atomic uint64_t *shared)
{
    pthread_mutex_lock(&limits->lock);
    limits->shared = shared;
    pthread_mutex_unlock(&limits->lock);
}

static void log_limits_drop(struct log_limits *limits, enum log_drop why)
{
    limits->dropped[why]++;
    if (limits->shared)
        atomic_fetch_add_explicit(&limits->shared[why], 1, memory_order_relaxed);
}

bool log_limits_take(struct log_limits *limits, const char *module, const char *format,
                     uint64_t now_ns, uint64_t *dropped_before)
{
    struct log_message *message = find(limits, module, format, now_ns);
    uint64_t more = (now_ns - message->since_ns) / LOG_REFILL_NS;
    message->since_ns += more * LOG_REFILL_NS;
    if (more > LOG_BURST - message->tokens)
        more = LOG_BURST - message->tokens;
    message->tokens += (unsigned)more;
    if (message->tokens == 0) {
        message->dropped++;
        log_limits_drop(limits, LOG_DROPPED_RATE);
        return false;
    }
    message->tokens--;
    *dropped_before = message->dropped;
    message->dropped = 0;
    return true;
}

void log_limits_read(struct log_limits *limits, uint64_t dropped[LOG_DROPS])
{
    memset(dropped, 0, LOG_DROPS * sizeof *dropped);
    if (!limits)
        return;
    pthread_mutex_lock(&limits->lock);
    memcpy(dropped, limits->dropped, sizeof limits->dropped);
    pthread_mutex_unlock(&limits->lock);
}

static const char *const level_names[] = {"debug", "info", "warn", "error"};

enum { LINE_SIZE = 2560 };
_Static_assert(LINE_SIZE <= PIPE_BUF, "a pipe with room takes a line whole, without blocking");

static void add_time(struct textbuf *out)
{
    struct timespec now;
    struct tm utc;
    char when[40];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(when + n, sizeof when - n, ".%03ldZ", now.tv_nsec / 1000000);
    textbuf_str(out, when);
}

static void add_line(struct textbuf *out, enum log_format format, enum log_level level,
                     const char *module, const char *message)
{
    bool json = format == LOG_FORMAT_JSON;
    textbuf_str(out, json ? "{\"ts\":\"" : "ts=");
    add_time(out);
    textbuf_printf(
        out, json ? "\",\"level\":\"%s\",\"module\":\"%s\",\"msg\":" : " level=%s module=%s msg=",
        level_names[level], module);
    textbuf_quoted(out, message);
    textbuf_str(out, json ? "}\n" : "\n");
}

/* Never waits: whoever takes the lines may have stopped, with a full pipe or socket. Sockets
 * (systemd's journal) say so themselves; what other files do about room, poll() knows. */
static bool write_now(int fd, const char *line, size_t len)
{
    ssize_t written = send(fd, line, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (written < 0 && errno == ENOTSOCK) {
        struct pollfd room = {.fd = fd, .events = POLLOUT};
        if (poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT))
            return false;
        do
            written = write(fd, line, len);
        while (written < 0 && errno == EINTR);
    }
    return written == (ssize_t)len;
}

static bool write_message(const struct log *log, enum log_level level, const char *module,
                          const char *message)
{
    char line[LINE_SIZE];
    struct textbuf out;
    textbuf_init_fixed(&out, line, sizeof line);
    add_line(&out, log->format, level, module, message);
    return textbuf_finish(&out) == 0 && write_now(log->fd, out.data, out.len);
}

void log_write(const struct log *log, enum log_level level, const char *module, const char *format,
               ...)
{
    if (!log || log->fd < 0 || level < log->level)
        return;
    struct log_limits *limits = log->limits;
    char message[1024];
    uint64_t left_out = 0;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (limits)
        pthread_mutex_lock(&limits->lock);
    if (!limits || log_limits_take(limits, module, format, clock_mono_ns(), &left_out)) {
        size_t len = n > 0 && (size_t)n < sizeof message ? (size_t)n : strlen(message);
        if (left_out > 0)
            snprintf(message + len, sizeof message - len,
                     " [%" PRIu64 " more of these messages were left out]", left_out);
        if (!write_message(log, level, module, message) && limits)
            log_limits_drop(limits, LOG_DROPPED_BLOCKED);
    }
    if (limits)
        pthread_mutex_unlock(&limits->lock);
}
