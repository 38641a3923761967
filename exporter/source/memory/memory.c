#include "exporter/source/memory/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "exporter/base/kernel_text.h"
#include "exporter/source/cgroup_file.h"

/* ---- numa_stat ---- */

static bool add_node(struct numa_stat *stat, uint64_t node, uint64_t count, uint64_t unit)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(count, unit, &bytes))
        return false;
    if (node >= NUMA_STAT_NODES)
        return true;
    stat->nodes |= UINT64_C(1) << node;
    return !__builtin_add_overflow(stat->bytes[node], bytes, &stat->bytes[node]);
}

/* " N0=123 N1=456", up to the end of the line. */
static bool add_nodes(struct kernel_text *line, uint64_t unit, struct numa_stat *stat)
{
    uint64_t node, count;
    while (line->at < line->end) {
        if (!kernel_text_word(line, " N") || !kernel_text_number(line, &node) ||
            !kernel_text_word(line, "=") || !kernel_text_number(line, &count) ||
            !add_node(stat, node, count, unit))
            return false;
    }
    return true;
}

/* The sum of the named lines of the file. 0, -ENODATA, -EINVAL. */
static int add_lines(struct kernel_text in, const char *const *names, uint64_t unit,
                     struct numa_stat *stat)
{
    struct kernel_text line;
    bool found = false;
    *stat = (struct numa_stat){0};
    while (kernel_text_line(&in, &line)) {
        for (size_t i = 0; names[i]; i++) {
            struct kernel_text rest = line;
            uint64_t total;
            if (!kernel_text_word(&rest, names[i]))
                continue;
            if (kernel_text_word(&rest, "=") ? !kernel_text_number(&rest, &total)
                                             : rest.at == rest.end || *rest.at != ' ')
                continue;
            if (!add_nodes(&rest, unit, stat))
                return -EINVAL;
            found = true;
        }
    }
    return found ? 0 : -ENODATA;
}

/* v1 writes the sum of the nodes behind each name: "anon=7 N0=7". */
static bool is_v1(struct kernel_text in)
{
    return kernel_text_word(&in, "total=");
}

int numa_stat_parse(const char *text, size_t len, uint64_t page_bytes, struct numa_stat *out)
{
    static const char *const addressed[] = {"anon", "file_mapped", NULL};
    static const char *const sums[] = {"hierarchical_anon", NULL}, *const own[] = {"anon", NULL};
    const struct kernel_text in = {text, text + len};
    struct numa_stat stat;
    bool v1 = is_v1(in);
    int err = add_lines(in, v1 ? sums : addressed, v1 ? page_bytes : 1, &stat);
    if (v1 && err == -ENODATA)
        err = add_lines(in, own, page_bytes, &stat);
    if (!err)
        *out = stat;
    return err;
}

enum { TEXT_BYTES = 64 << 10 }; /* some 40 lines of 64 nodes; those asked for stand in front */

struct memory_handle {
    struct memory_handle *next, **link;
    int fd;          /* -1: called in */
    unsigned turn;   /* which second of each period is its own */
    uint64_t due_ns; /* not before this */
    size_t rows;     /* NUMA nodes of the file */
};

struct memory_source {
    struct source source; /* first */
    struct memory_config config;
    struct memory_handle *first;
    struct descriptor_pool own_pool; /* where none was given */
    struct descriptor_turn next;
    uint64_t now_ns;
    unsigned opened; /* ever */
    uint64_t page_bytes;
    char text[TEXT_BYTES];
};

static struct memory_source *self_of(struct source *source)
{
    return (struct memory_source *)source;
}

static struct memory_handle *handle_of(uint64_t handle)
{
    return (struct memory_handle *)(uintptr_t)handle;
}

/* ---- files ---- */

static int read_file(struct memory_source *self, int fd, struct numa_stat *out)
{
    size_t len;
    int err = cgroup_file_read(fd, self->text, sizeof self->text, &len);
    return err ? err : numa_stat_parse(self->text, len, self->page_bytes, out);
}

/* The first that says something; *out is what. */
static int open_file(struct memory_source *self, const struct scope *scope, struct numa_stat *out)
{
    const char *const mounts[] = {self->config.memory, self->config.unified};
    int fd = openat(scope->cgroup_fd, "memory.numa_stat", O_RDONLY | O_CLOEXEC);
    for (size_t i = 0;; i++) {
        int err = fd < 0 ? fd : read_file(self, fd, out);
        if (!err)
            return fd;
        if (fd >= 0)
            close(fd);
        if (i == sizeof mounts / sizeof *mounts)
            return fd == -EMFILE || fd == -ENFILE ? fd : -ENOENT;
        fd = cgroup_file_open(mounts[i], scope->cgroup_path, "memory.numa_stat");
    }
}

static void close_file(struct memory_source *self, struct memory_handle *handle)
{
    if (handle->fd < 0)
        return;
    close(handle->fd);
    handle->fd = -1;
    self->config.pool->lent--;
}

/* The newest first, as everybody who borrows. */
static void call_in(void *borrower, size_t n)
{
    struct memory_source *self = borrower;
    size_t before = self->config.pool->lent;
    for (struct memory_handle *handle = self->first; handle; handle = handle->next) {
        if (before - self->config.pool->lent >= n)
            return;
        close_file(self, handle);
    }
    size_t given = before - self->config.pool->lent;
    if (given < n && self->next.call_in)
        self->next.call_in(self->next.borrower, n - given);
}

/* ---- ops ---- */

static bool memory_check(struct source *source, enum scope_kind kind, enum group group,
                         struct verdict *why)
{
    const struct memory_config *config = &self_of(source)->config;
    if (kind != SCOPE_CGROUP || group != GROUP_PAGES) {
        verdict_set(why, REASON_NO_DEVICE, "only the memory of containers");
        return false;
    }
    if ((config->memory && *config->memory) || (config->unified && *config->unified)) {
        verdict_clear(why);
        return true;
    }
    verdict_set(why, REASON_NO_DEVICE,
                "where the memory of containers is cannot be read: no cgroup hierarchy with "
                "memory.numa_stat is mounted where --path.cgroupfs says");
    return false;
}

static int explain(const struct scope *scope, int err, struct verdict *why)
{
    if (err == -ENOMEM) {
        verdict_set(why, REASON_NO_DEVICE, "out of memory while opening %s", scope->key);
        return err;
    }
    if (err == -EMFILE || err == -ENFILE) {
        verdict_set(why, REASON_FD_LIMIT,
                    "no file descriptors left for where the memory of containers is: counters come "
                    "first; raise LimitNOFILE= or ulimit -n, or lower --containers.max");
        return err;
    }
    if (faccessat(scope->cgroup_fd, "cgroup.procs", F_OK, 0) != 0) {
        verdict_set(why, REASON_NO_DEVICE, "cgroup %s is gone", scope->key);
        return -ESRCH;
    }
    verdict_set(why, REASON_NO_DEVICE,
                "where the memory of a container is cannot be read: its cgroup has no "
                "memory.numa_stat, since the memory controller is not enabled for it");
    return err;
}

/* The first reading is made at once, the second somewhere in the next period. */
static uint64_t wait_ns(const struct memory_handle *handle)
{
    unsigned seconds = handle->due_ns ? MEMORY_PERIOD_SECONDS : handle->turn + 1;
    return seconds * UINT64_C(1000000000);
}

static int memory_open(struct source *source, const struct scope *scope, enum group group,
                       uint64_t *out, struct verdict *why)
{
    struct memory_source *self = self_of(source);
    struct numa_stat stat;
    (void)group;
    verdict_clear(why);
    if (!descriptor_pool_lends(self->config.pool, 1))
        return explain(scope, -EMFILE, why);
    struct memory_handle *handle = calloc(1, sizeof *handle);
    if (!handle)
        return explain(scope, -ENOMEM, why);
    handle->fd = open_file(self, scope, &stat);
    if (handle->fd < 0) {
        int err = handle->fd;
        free(handle);
        return explain(scope, err, why);
    }
    handle->rows = (size_t)__builtin_popcountll(stat.nodes);
    self->config.pool->lent++;
    handle->turn = self->opened++ % MEMORY_PERIOD_SECONDS;
    handle->next = self->first;
    handle->link = &self->first;
    if (handle->next)
        handle->next->link = &handle->next;
    self->first = handle;
    *out = (uint64_t)(uintptr_t)handle;
    return 0;
}

/* Nodes that come online later would be more. */
static size_t memory_width(struct source *source, uint64_t handle)
{
    (void)source;
    return handle_of(handle)->rows;
}

static void give(const struct numa_stat *stat, struct reading *out)
{
    out->n = 0;
    for (int node = 0; node < NUMA_STAT_NODES; node++) {
        if (!(stat->nodes >> node & 1))
            continue;
        struct reading_row *row = reading_row(out, out->n++);
        *row = (struct reading_row){.cpu = node, .present = 1};
        row->count[0] = stat->bytes[node];
    }
}

static int memory_read(struct source *source, uint64_t opened, struct reading *out)
{
    struct memory_source *self = self_of(source);
    struct memory_handle *handle = handle_of(opened);
    struct numa_stat stat;
    if (handle->fd < 0)
        return -EMFILE;
    if (self->now_ns < handle->due_ns)
        return -ENODATA;
    int err = read_file(self, handle->fd, &stat);
    if (err)
        return err;
    handle->rows = (size_t)__builtin_popcountll(stat.nodes);
    if (out->cap < handle->rows)
        return -ENOSPC;
    give(&stat, out);
    handle->due_ns = self->now_ns + wait_ns(handle);
    return 0;
}

static void memory_close(struct source *source, uint64_t opened)
{
    struct memory_handle *handle = handle_of(opened);
    close_file(self_of(source), handle);
    *handle->link = handle->next;
    if (handle->next)
        handle->next->link = handle->link;
    free(handle);
}

static int memory_begin(struct source *source, const struct tick *tick)
{
    self_of(source)->now_ns = tick->mono_ns;
    return 0;
}

static size_t memory_open_counters(struct source *source)
{
    size_t n = 0;
    for (const struct memory_handle *h = self_of(source)->first; h; h = h->next)
        n += h->fd >= 0;
    return n;
}

static void memory_free(struct source *source)
{
    struct memory_source *self = self_of(source);
    while (self->first)
        memory_close(source, (uint64_t)(uintptr_t)self->first);
    descriptor_pool_leave(self->config.pool, &self->next, self);
    free(self);
}

static const struct source_ops memory_ops = {
    .name = "memory",
    .check = memory_check,
    .open = memory_open,
    .width = memory_width,
    .begin = memory_begin,
    .read = memory_read,
    .close = memory_close,
    .open_counters = memory_open_counters,
    .free = memory_free,
};

int memory_source_new(const struct memory_config *config, struct source **out)
{
    struct memory_source *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    self->source.ops = &memory_ops;
    self->config = *config;
    if (!self->config.pool)
        self->config.pool = &self->own_pool;
    descriptor_pool_borrow(self->config.pool, &self->next, call_in, self);
    long page = sysconf(_SC_PAGESIZE);
    self->page_bytes = page > 0 ? (uint64_t)page : 4096;
    *out = &self->source;
    return 0;
}
