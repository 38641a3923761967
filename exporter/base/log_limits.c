#include "exporter/base/log_limits.h"

#include <string.h>

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

void log_limits_drop(struct log_limits *limits, enum log_drop why)
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
