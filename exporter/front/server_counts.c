#include "exporter/front/server_counts.h"

#include <string.h>
#include <sys/mman.h>

static const char *const formats[] = {"text", "openmetrics", "protobuf", "json", "html"};

/* More lines than can be dropped in a century. */
static const uint64_t log_dropped_max = UINT64_C(1) << 53;

enum { FORMATS = sizeof formats / sizeof *formats, CODE_BITS = 10, FORMAT_BITS = 6 };

static size_t format_index(const char *format)
{
    size_t i = 0;
    while (i < FORMATS && strcmp(formats[i], format) != 0)
        i++;
    return i;
}

const char *server_counts_format(const char *format)
{
    size_t i = format_index(format);
    return i < FORMATS ? formats[i] : NULL;
}

struct server_counts *server_counts_new(void)
{
    void *memory = mmap(NULL, sizeof(struct server_counts), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void server_counts_free(struct server_counts *counts)
{
    if (counts)
        munmap(counts, sizeof *counts);
}

/* One more than the parts, so that no key is 0. */
static uint64_t key_of(size_t route, size_t format, int code)
{
    return (((uint64_t)route << FORMAT_BITS | format) << CODE_BITS | (uint64_t)code) + 1;
}

void server_counts_add(struct server_counts *counts, size_t route, const char *format, int code)
{
    size_t index = format_index(format);
    if (index == FORMATS || code < 0 || code >= 1 << CODE_BITS)
        return;
    const uint64_t key = key_of(route, index, code);
    for (size_t i = 0; i < SERVER_COUNTS_CELLS; i++) {
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&counts->cells[i].key, &found, key) || found == key) {
            atomic_fetch_add_explicit(&counts->cells[i].count, 1, memory_order_relaxed);
            return;
        }
    }
}

void server_counts_read(const struct server_counts *counts, size_t n_routes,
                        void (*each)(void *context, size_t route, const char *format, int code,
                                     uint64_t count),
                        void *context)
{
    for (size_t i = 0; i < SERVER_COUNTS_CELLS; i++) {
        uint64_t key = atomic_load(&counts->cells[i].key);
        if (key == 0)
            return;
        key--;
        const uint64_t code = key & ((1 << CODE_BITS) - 1);
        const uint64_t format = key >> CODE_BITS & ((1 << FORMAT_BITS) - 1);
        const uint64_t route = key >> (CODE_BITS + FORMAT_BITS);
        const uint64_t count = atomic_load(&counts->cells[i].count);
        if (route <= n_routes && format < FORMATS && code >= 100 && code < 600 && count > 0)
            each(context, (size_t)route, formats[format], (int)code, count);
    }
}

void server_counts_add_log_dropped(const struct server_counts *counts, uint64_t dropped[LOG_DROPS])
{
    for (size_t i = 0; i < LOG_DROPS; i++) {
        uint64_t count = atomic_load(&counts->log_dropped[i]);
        dropped[i] += count < log_dropped_max ? count : log_dropped_max;
    }
}
