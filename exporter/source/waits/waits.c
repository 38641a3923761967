#include "exporter/source/waits/waits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/base/array.h"
#include "exporter/base/clock.h"
#include "exporter/source/cgroup_file.h"
#include "exporter/source/waits/files.h"
#include "exporter/source/waits/levels.h"
#include "exporter/source/waits/parse.h"

/* /proc/stat has the CPUs in front, memory.stat what is asked for within its first pages. */
enum { TEXT_BYTES = 256 << 10 };

struct waits_handle {
    struct waits_handle *next, **link;
    char *path; /* owned */
    enum group group;
    unsigned turn;              /* which second of each minute is its own */
    unsigned refreshed;         /* how often; 2: more than once */
    uint64_t refresh_ns;        /* levels are read when this has come */
    struct waits_levels levels; /* of waits, only the CPUs */
    struct waits_files files;   /* of waits */
    bool called_in;
    uint64_t opened_ns;
    uint64_t base[TOTALS];        /* as the kernel counted then */
    uint32_t has_base;            /* bits */
    uint64_t steal_ns, steal_set; /* as the machine counted last, and of which CPUs */
    uint64_t stolen_ns;           /* since the first reading */
    struct entitled entitled;     /* of bounds */
};

enum machine_file { MACHINE_STAT, MACHINE_MEMORY, MACHINE_VMSTAT, MACHINE_FILES };

/* What the whole machine waits for; read once a tick, when the first container is. */
struct waits_machine {
    int fd[MACHINE_FILES]; /* -1: cannot be read */
    unsigned ticks;        /* a second, of /proc/stat */
    bool read;             /* in this tick */
    bool has_steal, has_memory, has_reclaimed;
    struct steal_totals steal;
    uint64_t memory_some_ns, reclaimed;
};

struct waits_source {
    struct source source; /* first */
    struct waits_config config;
    struct waits_handle *first;
    struct waits_machine machine;
    struct descriptor_pool own_pool; /* where none was given */
    struct descriptor_turn next;
    /* Bounds, by their paths. */
    struct entitled **sorted;
    size_t n_sorted, sorted_cap;
    bool stale;      /* shares are to be made anew */
    uint64_t now_ns; /* of the tick */
    unsigned opened; /* ever */
    char text[TEXT_BYTES];
};

static struct waits_source *self_of(struct source *source)
{
    return (struct waits_source *)source;
}

static struct waits_handle *handle_of(uint64_t handle)
{
    return (struct waits_handle *)(uintptr_t)handle;
}

/* ---- the machine ---- */

static void machine_init(struct waits_machine *machine, const struct fsroot *fs)
{
    static const char *const paths[MACHINE_FILES] = {
        [MACHINE_STAT] = "stat",
        [MACHINE_MEMORY] = "pressure/memory",
        [MACHINE_VMSTAT] = "vmstat",
    };
    long ticks = sysconf(_SC_CLK_TCK);
    *machine = (struct waits_machine){.ticks = ticks > 0 ? (unsigned)ticks : 100};
    for (int i = 0; i < MACHINE_FILES; i++) {
        int fd = fsroot_open(fs, FSROOT_PROC, paths[i], O_RDONLY);
        machine->fd[i] = fd < 0 ? -1 : fd;
    }
}

static void machine_release(struct waits_machine *machine)
{
    for (int i = 0; i < MACHINE_FILES; i++)
        if (machine->fd[i] >= 0)
            close(machine->fd[i]);
}

/* By whomever: what a cgroup's own limit makes it look at is not in it. */
static bool take_reclaimed(const char *text, size_t len, uint64_t *out)
{
    uint64_t daemon, direct;
    if (flat_parse(text, len, "pgscan_kswapd", &daemon) != 0 ||
        flat_parse(text, len, "pgscan_direct", &direct) != 0)
        return false;
    *out = daemon + direct;
    return true;
}

/* Unless that was done in this tick. */
static void machine_read(struct waits_machine *machine, char *text, size_t size)
{
    struct pressure_totals pressure;
    size_t len;
    if (machine->read)
        return;
    machine->read = true;
    machine->has_steal = cgroup_file_read(machine->fd[MACHINE_STAT], text, size, &len) == 0 &&
                         steal_parse(text, len, machine->ticks, &machine->steal) == 0;
    machine->has_memory = cgroup_file_read(machine->fd[MACHINE_MEMORY], text, size, &len) == 0 &&
                          pressure_totals_parse(text, len, &pressure) == 0;
    if (machine->has_memory)
        machine->memory_some_ns = pressure.some_ns;
    machine->has_reclaimed = cgroup_file_read(machine->fd[MACHINE_VMSTAT], text, size, &len) == 0 &&
                             take_reclaimed(text, len, &machine->reclaimed);
}

/* Stolen from the CPUs of the set, their mean. False: not known. */
static bool machine_steal(const struct waits_machine *machine, uint64_t set, uint64_t *ns)
{
    uint64_t sum = 0;
    unsigned cpus = 0;
    for (int i = 0; i < CPU_BITS; i++) {
        if (!(set >> i & 1))
            continue;
        sum += machine->steal.ns[i];
        cpus += machine->steal.cpus[i];
    }
    if (!machine->has_steal || cpus == 0)
        return false;
    *ns = sum / cpus;
    return true;
}

/* ---- descriptors ---- */

static void close_files(struct waits_source *self, struct waits_handle *handle)
{
    if (handle->group == GROUP_WAITS)
        self->config.pool->lent -= waits_files_close(&handle->files);
}

/* The newest first, as everybody who borrows. */
static void call_in(void *borrower, size_t n)
{
    struct waits_source *self = borrower;
    size_t before = self->config.pool->lent;
    for (struct waits_handle *handle = self->first; handle; handle = handle->next) {
        if (before - self->config.pool->lent >= n)
            return;
        close_files(self, handle);
        handle->called_in |= handle->group == GROUP_WAITS;
    }
    size_t given = before - self->config.pool->lent;
    if (given < n && self->next.call_in)
        self->next.call_in(self->next.borrower, n - given);
}

/* ---- shares ---- */

static size_t position_of(const struct waits_source *self, const struct entitled *one)
{
    size_t low = 0, high = self->n_sorted;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(self->sorted[middle]->path, one->path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int sort_in(struct waits_source *self, struct entitled *one)
{
    if (array_reserve(&self->sorted, &self->sorted_cap, self->n_sorted + 1, sizeof *self->sorted))
        return -ENOMEM;
    size_t at = position_of(self, one);
    memmove(&self->sorted[at + 1], &self->sorted[at], (self->n_sorted - at) * sizeof *self->sorted);
    self->sorted[at] = one;
    self->n_sorted++;
    self->stale = true;
    return 0;
}

static void sort_out(struct waits_source *self, const struct entitled *one)
{
    size_t at = position_of(self, one);
    while (at < self->n_sorted && self->sorted[at] != one)
        at++;
    if (at == self->n_sorted)
        return;
    self->n_sorted--;
    memmove(&self->sorted[at], &self->sorted[at + 1], (self->n_sorted - at) * sizeof *self->sorted);
    self->stale = true;
}

static void refresh(struct waits_source *self, struct waits_handle *handle, uint64_t now_ns)
{
    const struct waits_mounts *mounts = &self->config.mounts;
    /* Soon after the opening what the runtime did last is there; then somewhere in the period. */
    static const unsigned soon = 2;
    unsigned seconds = handle->refreshed == 0   ? soon
                       : handle->refreshed == 1 ? handle->turn + 1
                                                : BOUNDS_PERIOD_SECONDS;
    handle->refreshed += handle->refreshed < 2;
    handle->refresh_ns = now_ns + seconds * UINT64_C(1000000000);
    if (handle->group == GROUP_WAITS) {
        if (!handle->called_in && descriptor_pool_lends(self->config.pool, WAITS_FILES))
            self->config.pool->lent +=
                waits_files_open_later(&handle->files, self->text, sizeof self->text);
        waits_levels_cpus(mounts, handle->path, self->text, sizeof self->text,
                          &handle->levels.cpu_set, &handle->levels.cpus);
        return;
    }
    waits_levels_read(mounts, handle->path, self->text, sizeof self->text, &handle->levels);
    /* Nearly always nothing has changed, and shares anew are a pass over all containers. */
    if (handle->entitled.cpu_set == handle->levels.cpu_set &&
        memcmp(handle->entitled.weight, handle->levels.weight, sizeof handle->entitled.weight) == 0)
        return;
    handle->entitled.cpu_set = handle->levels.cpu_set;
    memcpy(handle->entitled.weight, handle->levels.weight, sizeof handle->entitled.weight);
    self->stale = true;
}

/* ---- ops ---- */

static bool is_mounted(const char *mount)
{
    return *mount != '\0';
}

static bool waits_check(struct source *source, enum scope_kind kind, enum group group,
                        struct verdict *why)
{
    struct waits_source *self = self_of(source);
    const struct waits_mounts *mounts = &self->config.mounts;
    if (kind != SCOPE_CGROUP || (group != GROUP_WAITS && group != GROUP_BOUNDS)) {
        verdict_set(why, REASON_NO_DEVICE, "only what containers wait for");
        return false;
    }
    verdict_clear(why);
    if (!is_mounted(mounts->unified) && !is_mounted(mounts->cpuacct)) {
        verdict_set(why, REASON_NO_DEVICE,
                    "what containers wait for cannot be read: no cgroup hierarchy with cpu.stat "
                    "is mounted where --path.cgroupfs says");
        return false;
    }
    self->machine.read = false;
    machine_read(&self->machine, self->text, sizeof self->text);
    if (!is_mounted(mounts->unified))
        verdict_set(why, REASON_OK,
                    "of what containers wait for only their own limits of CPU time are told: the "
                    "rest is pressure, which only cgroup v2 has; mount it beside v1");
    else if (!self->machine.has_memory)
        verdict_set(why, REASON_OK,
                    "of what containers wait for only their own limits of CPU time are told: the "
                    "rest is pressure (PSI), which this kernel was built without, or booted "
                    "without; boot it with psi=1");
    return true;
}

static int explain(const struct scope *scope, int err, struct verdict *why)
{
    if (err == -ENOMEM) {
        verdict_set(why, REASON_NO_DEVICE, "out of memory while opening %s", scope->key);
    } else if (err == -EMFILE || err == -ENFILE) {
        verdict_set(why, REASON_FD_LIMIT,
                    "no file descriptors left for what containers wait for: counters come first; "
                    "raise LimitNOFILE= or ulimit -n, or lower --containers.max");
    } else if (faccessat(scope->cgroup_fd, "cgroup.procs", F_OK, 0) != 0) {
        verdict_set(why, REASON_NO_DEVICE, "cgroup %s is gone", scope->key);
        err = -ESRCH;
    } else {
        verdict_set(why, err == -EACCES ? REASON_NO_PERMISSION : REASON_NO_DEVICE,
                    "what a container waits for cannot be read: its cgroup has neither cpu.stat "
                    "with usage_usec (v2) nor cpuacct.usage (v1) that may be read");
    }
    return err;
}

static void handle_free(struct waits_handle *handle)
{
    free(handle->path);
    free(handle);
}

static int open_waits(struct waits_source *self, const struct scope *scope,
                      struct waits_handle *handle)
{
    size_t opened;
    if (!descriptor_pool_lends(self->config.pool, WAITS_FILES))
        return -EMFILE;
    int err = waits_files_open(&handle->files, &self->config, scope, handle->path, self->text,
                               sizeof self->text, &opened);
    if (err)
        return err;
    self->config.pool->lent += opened;
    handle->opened_ns = clock_mono_ns();
    handle->has_base = handle->files.present;
    memcpy(handle->base, handle->files.total, sizeof handle->base);
    return 0;
}

static int waits_open(struct source *source, const struct scope *scope, enum group group,
                      uint64_t *out, struct verdict *why)
{
    struct waits_source *self = self_of(source);
    verdict_clear(why);
    if (!scope->cgroup_path)
        return explain(scope, -ENOENT, why);
    struct waits_handle *handle = calloc(1, sizeof *handle);
    if (!handle || !(handle->path = strdup(scope->cgroup_path))) {
        free(handle);
        return explain(scope, -ENOMEM, why);
    }
    handle->group = group;
    handle->turn = self->opened++ % BOUNDS_PERIOD_SECONDS;
    handle->entitled.path = handle->path;
    int err =
        group == GROUP_WAITS ? open_waits(self, scope, handle) : sort_in(self, &handle->entitled);
    if (err) {
        handle_free(handle);
        return explain(scope, err, why);
    }
    refresh(self, handle, clock_mono_ns());
    handle->next = self->first;
    handle->link = &self->first;
    if (handle->next)
        handle->next->link = &handle->next;
    self->first = handle;
    *out = (uint64_t)(uintptr_t)handle;
    return 0;
}

static size_t waits_width(struct source *source, uint64_t handle)
{
    (void)source;
    (void)handle;
    return 1;
}

static void put(struct reading_row *row, size_t i, uint64_t value)
{
    row->count[i] = value;
    row->present |= UINT32_C(1) << i;
}

/* Of a file that came later, from its first reading on. */
static void give_total(struct waits_handle *handle, size_t i, uint64_t value,
                       struct reading_row *row)
{
    if (!(handle->has_base >> i & 1))
        handle->base[i] = value;
    handle->has_base |= UINT32_C(1) << i;
    /* A total that fell shows as one that fell: the window is discarded. */
    put(row, i, value >= handle->base[i] ? value - handle->base[i] : 0);
}

/* The mean of other CPUs is another total: over a change of the set, nothing counts as stolen. */
static uint64_t stolen_until(struct waits_handle *handle, uint64_t steal_ns)
{
    if (handle->steal_set == handle->levels.cpu_set && steal_ns > handle->steal_ns)
        handle->stolen_ns += steal_ns - handle->steal_ns;
    handle->steal_ns = steal_ns;
    handle->steal_set = handle->levels.cpu_set;
    return handle->stolen_ns;
}

static int read_waits(struct waits_source *self, struct waits_handle *handle,
                      struct reading_row *row)
{
    struct waits_machine *machine = &self->machine;
    uint64_t now_ns = clock_mono_ns(), steal;
    if (handle->called_in)
        return -EMFILE;
    int err = waits_files_read(&handle->files, now_ns, self->text, sizeof self->text);
    if (err)
        return err;
    for (size_t i = 0; i < TOTALS; i++)
        if (handle->files.present >> i & 1)
            give_total(handle, i, handle->files.total[i], row);
    machine_read(machine, self->text, sizeof self->text);
    if (machine_steal(machine, handle->levels.cpu_set, &steal))
        give_total(handle, TOTAL_STEAL, stolen_until(handle, steal), row);
    if (machine->has_memory)
        give_total(handle, TOTAL_NODE_MEMORY, machine->memory_some_ns, row);
    if (machine->has_reclaimed)
        give_total(handle, TOTAL_NODE_RECLAIMED, machine->reclaimed, row);
    row->enabled_ns = row->running_ns = now_ns - handle->opened_ns;
    return 0;
}

/* In the order of the group's roles. */
static void read_bounds(struct waits_source *self, struct waits_handle *handle,
                        struct reading_row *row)
{
    enum { ENTITLED, QUOTA, CPUS, MEMORY, MEMORY_LIMIT };
    const struct waits_levels *levels = &handle->levels;
    if (self->stale)
        entitle(self->sorted, self->n_sorted);
    self->stale = false;
    if (levels->has_weights && levels->cpus > 0 && handle->entitled.share > 0) {
        uint64_t ns = (uint64_t)(handle->entitled.share * (double)levels->cpus * 1e9);
        put(row, ENTITLED, levels->quota_ns > 0 && levels->quota_ns < ns ? levels->quota_ns : ns);
    }
    if (levels->quota_ns > 0)
        put(row, QUOTA, levels->quota_ns);
    put(row, CPUS, levels->cpu_set);
    if (levels->memory_bytes > 0)
        put(row, MEMORY, levels->memory_bytes);
    if (levels->memory_limit_bytes > 0)
        put(row, MEMORY_LIMIT, levels->memory_limit_bytes);
}

static int waits_read(struct source *source, uint64_t opened, struct reading *out)
{
    struct waits_source *self = self_of(source);
    struct waits_handle *handle = handle_of(opened);
    if (out->cap < 1)
        return -ENOSPC;
    struct reading_row *row = reading_row(out, 0);
    memset(row, 0, out->stride_bytes);
    row->cpu = -1;
    if (self->now_ns >= handle->refresh_ns)
        refresh(self, handle, self->now_ns);
    int err = handle->group == GROUP_WAITS ? read_waits(self, handle, row) : 0;
    if (handle->group == GROUP_BOUNDS)
        read_bounds(self, handle, row);
    if (!err)
        out->n = 1;
    return err;
}

static void waits_close(struct source *source, uint64_t opened)
{
    struct waits_source *self = self_of(source);
    struct waits_handle *handle = handle_of(opened);
    close_files(self, handle);
    if (handle->group == GROUP_BOUNDS)
        sort_out(self, &handle->entitled);
    *handle->link = handle->next;
    if (handle->next)
        handle->next->link = handle->link;
    handle_free(handle);
}

static int waits_begin(struct source *source, const struct tick *tick)
{
    struct waits_source *self = self_of(source);
    self->now_ns = tick->mono_ns;
    self->machine.read = false;
    return 0;
}

static size_t waits_open_counters(struct source *source)
{
    size_t n = 0;
    for (const struct waits_handle *h = self_of(source)->first; h; h = h->next)
        for (int i = 0; i < WAITS_FILES && h->group == GROUP_WAITS; i++)
            n += h->files.fd[i] >= 0;
    return n;
}

static void waits_free(struct source *source)
{
    struct waits_source *self = self_of(source);
    while (self->first)
        waits_close(source, (uint64_t)(uintptr_t)self->first);
    descriptor_pool_leave(self->config.pool, &self->next, self);
    machine_release(&self->machine);
    free(self->sorted);
    free(self);
}

static const struct source_ops waits_ops = {
    .name = "waits",
    .check = waits_check,
    .open = waits_open,
    .width = waits_width,
    .begin = waits_begin,
    .read = waits_read,
    .close = waits_close,
    .open_counters = waits_open_counters,
    .free = waits_free,
};

int waits_source_new(const struct waits_config *config, struct source **out)
{
    struct waits_source *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    self->source.ops = &waits_ops;
    self->config = *config;
    if (!self->config.pool)
        self->config.pool = &self->own_pool;
    descriptor_pool_borrow(self->config.pool, &self->next, call_in, self);
    machine_init(&self->machine, config->fs);
    *out = &self->source;
    return 0;
}
