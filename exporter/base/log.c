#include "exporter/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exporter/base/textbuf.h"

static const char *const level_names[] = {"debug", "info", "warn", "error"};

void log_write(const struct log *log, enum log_level level, const char *module, const char *format,
               ...)
{
    if (!log || log->fd < 0 || level < log->level)
        return;

    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);

    struct timespec now;
    struct tm utc;
    char when[40];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(when + n, sizeof when - n, ".%03ldZ", now.tv_nsec / 1000000);

    char line[2560];
    struct textbuf out;
    textbuf_init_fixed(&out, line, sizeof line);
    if (log->format == LOG_FORMAT_JSON) {
        textbuf_printf(&out, "{\"ts\":\"%s\",\"level\":\"%s\",\"module\":\"%s\",\"msg\":", when,
                       level_names[level], module);
        textbuf_quoted(&out, message);
        textbuf_str(&out, "}\n");
    } else {
        textbuf_printf(&out, "ts=%s level=%s module=%s msg=", when, level_names[level], module);
        textbuf_quoted(&out, message);
        textbuf_str(&out, "\n");
    }
    if (textbuf_finish(&out) == 0) {
        ssize_t written;
        do
            written = write(log->fd, out.data, out.len);
        while (written < 0 && errno == EINTR);
    }
}
