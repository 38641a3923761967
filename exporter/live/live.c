#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"
#include "exporter/base/textbuf.h"
#include "exporter/live/internal.h"
#include "exporter/live/words.h"

int live_new(struct live **out)
{
    struct live *live = calloc(1, sizeof *live);
    if (!live)
        return -ENOMEM;
    pthread_mutex_init(&live->lock, NULL);
    *out = live;
    return 0;
}

void live_free(struct live *live)
{
    if (!live)
        return;
    for (size_t i = 0; i < live->n_domains; i++)
        free(live->domains[i]);
    free(live->paths);
    live_view_release(&live->shown);
    pthread_mutex_destroy(&live->lock);
    free(live->rows);
    free(live->kept);
    free(live);
}

/* ---- what collectors say ---- */

static void forget(struct row *row)
{
    for (int i = 0; i < LIVE_NUMBERS; i++)
        row->number[i] = NAN;
    row->socket_known = false;
    for (int t = 0; t < LIVE_TARGETS; t++)
        row->elsewhere[t].ratio = NAN;
    row->suspicion = LIVE_UNSUSPECTED;
    row->caused_numa_node = -1;
    row->probability = NAN;
    row->normal_basis = row->why_no_normal = row->why_no_slowdown = NULL;
    row->lost = (struct live_lost){.told = false};
}

/* One that comes is there for the first time, or waited before. */
static void remember(struct live *live, struct row *row, const struct container *container)
{
    for (size_t i = 0; i < live->n_kept; i++) {
        struct kept_wait *kept = &live->kept[i];
        if (kept->cgroup_id != container->cgroup_id || strcmp(kept->id, container->short_id) != 0)
            continue;
        row->waits = true;
        row->waits_since_mono_ns = kept->since_mono_ns;
        row->waited_mono_ns = live->kept_mono_ns;
        *kept = live->kept[--live->n_kept];
        return;
    }
}

/* NULL: there is no room, and so nothing to show. */
static struct row *row_of(struct live *live, const struct container *container)
{
    if (!live || container->slot >= live->n_rows)
        return NULL;
    struct row *row = &live->rows[container->slot];
    uint64_t tag = container_tag(container->slot, container->gen);
    if (row->tag != tag) {
        *row = (struct row){.tag = tag};
        forget(row);
        remember(live, row, container);
    }
    return row;
}

void live_put(struct live *live, const struct container *container, enum live_number which,
              double value)
{
    struct row *row = row_of(live, container);
    if (row && isfinite(value))
        row->number[which] = value;
}

void live_sockets(struct live *live, const struct container *container,
                  const double share[LIVE_SOCKETS])
{
    struct row *row = row_of(live, container);
    if (!row)
        return;
    for (int i = 0; i < LIVE_SOCKETS; i++)
        row->socket_share[i] = (float)share[i];
    row->socket_known = true;
}

void live_normal_basis(struct live *live, const struct container *container, const char *basis,
                       uint64_t since_mono_ns)
{
    struct row *row = row_of(live, container);
    if (!row)
        return;
    row->normal_basis = basis;
    row->normal_since_mono_ns = since_mono_ns;
}

void live_lacks_normal(struct live *live, const struct container *container, const char *why)
{
    struct row *row = row_of(live, container);
    if (row)
        row->why_no_normal = why;
}

void live_lacks_slowdown(struct live *live, const struct container *container, const char *why)
{
    struct row *row = row_of(live, container);
    if (row)
        row->why_no_slowdown = why;
}

void live_suspect(struct live *live, const struct container *container, int numa_node,
                  enum live_suspicion suspicion, double caused_seconds, double sd_seconds,
                  double probability)
{
    struct row *row = row_of(live, container);
    if (!row || suspicion < row->suspicion ||
        (suspicion == row->suspicion && !(caused_seconds > row->number[LIVE_CAUSED_SECONDS])))
        return;
    row->suspicion = suspicion;
    row->caused_numa_node = numa_node;
    row->probability = probability;
    row->number[LIVE_CAUSED_SECONDS] = caused_seconds;
    row->number[LIVE_CAUSED_SD_SECONDS] = sd_seconds;
}

/* Its index; LIVE_TARGETS: there is no room for more. */
static int target_of(struct live *live, const char *name)
{
    int t = 0;
    while (t < LIVE_TARGETS && live->target[t][0] && strcmp(live->target[t], name) != 0)
        t++;
    if (t < LIVE_TARGETS)
        clip_text(live->target[t], sizeof live->target[t], name);
    return t;
}

void live_set_elsewhere(struct live *live, const struct container *container, const char *target,
                        const struct live_elsewhere *elsewhere)
{
    struct row *row = row_of(live, container);
    int t = row && isfinite(elsewhere->ratio) ? target_of(live, target) : LIVE_TARGETS;
    if (t < LIVE_TARGETS)
        row->elsewhere[t] = *elsewhere;
}

void live_lost(struct live *live, const struct container *container, const struct live_lost *lost)
{
    struct row *row = row_of(live, container);
    if (row)
        row->lost = *lost;
}

struct domain_history *live_domain_of(struct live *live, int numa_node)
{
    if (!live)
        return NULL;
    for (size_t i = 0; i < live->n_domains; i++)
        if (live->domains[i]->numa_node == numa_node)
            return live->domains[i];
    struct domain_history *domain =
        live->n_domains < LIVE_DOMAINS ? calloc(1, sizeof *domain) : NULL;
    if (!domain)
        return NULL;
    domain->numa_node = numa_node;
    domain->latency_seconds = domain->usual_seconds = domain->host_seconds = NAN;
    domain->steps_per_hour = domain->outside_seconds = NAN;
    for (int i = 0; i < LIVE_HISTORY; i++)
        domain->ring[i] = NAN;
    size_t at = live->n_domains++;
    for (; at > 0 && live->domains[at - 1]->numa_node > numa_node; at--)
        live->domains[at] = live->domains[at - 1];
    return live->domains[at] = domain;
}

/* Seconds that were passed over have none. */
static void ring_advance(struct domain_history *domain, uint64_t second)
{
    uint64_t gap = second - domain->second;
    for (uint64_t i = 1; i <= gap && i <= LIVE_HISTORY; i++)
        domain->ring[(domain->second + i) % LIVE_HISTORY] = NAN;
    domain->second = second;
}

/* By initiator, then target. NULL: there is no room. */
static struct path *path_between(struct live *live, int initiator, int target)
{
    size_t at = 0;
    if (!live->paths && !(live->paths = calloc(LIVE_PATHS, sizeof *live->paths)))
        return NULL;
    for (; at < live->n_paths; at++) {
        const struct path *path = &live->paths[at];
        if (path->initiator == initiator && path->target == target)
            return &live->paths[at];
        if (path->initiator > initiator || (path->initiator == initiator && path->target > target))
            break;
    }
    if (live->n_paths == LIVE_PATHS)
        return NULL;
    struct path *path = &live->paths[at];
    memmove(path + 1, path, (live->n_paths++ - at) * sizeof *path);
    *path = (struct path){.initiator = initiator, .target = target};
    return path;
}

static void take_own_latency(struct domain_history *domain, const struct tick *tick, double seconds)
{
    uint64_t second = tick->mono_ns / 1000000000;
    if (second > domain->second)
        ring_advance(domain, second);
    domain->ring[second % LIVE_HISTORY] = (float)seconds;
    domain->latency_seconds = seconds;
    domain->latency_mono_ns = tick->mono_ns;
}

void live_latency(struct live *live, int initiator, int target, const struct tick *tick,
                  double seconds)
{
    struct path *path = live && isfinite(seconds) ? path_between(live, initiator, target) : NULL;
    if (path) {
        path->latency_seconds = seconds;
        path->latency_mono_ns = tick->mono_ns;
    }
    struct domain_history *domain =
        initiator == target && isfinite(seconds) ? live_domain_of(live, target) : NULL;
    if (domain)
        take_own_latency(domain, tick, seconds);
}

void live_explain(struct live *live, int numa_node, enum live_cause cause, double usual_seconds,
                  double host_seconds, double steps_per_hour)
{
    struct domain_history *domain = live_domain_of(live, numa_node);
    if (!domain)
        return;
    domain->cause = cause;
    domain->usual_seconds = usual_seconds;
    domain->host_seconds = host_seconds;
    domain->steps_per_hour = steps_per_hour;
}

void live_outside(struct live *live, int numa_node, double seconds)
{
    struct domain_history *domain = live_domain_of(live, numa_node);
    if (domain)
        domain->outside_seconds = seconds;
}

/* ---- a tick ---- */

void live_host(struct live *live, const struct live_host *host)
{
    if (!live)
        return;
    live->host = *host;
    live->host_known = true;
}

int live_reserve(struct live *live, size_t n)
{
    if (!live || n <= live->n_rows)
        return 0;
    if (array_reserve(&live->rows, &live->rows_cap, n, sizeof *live->rows))
        return -ENOMEM;
    memset(live->rows + live->n_rows, 0, (n - live->n_rows) * sizeof *live->rows);
    live->n_rows = n;
    return 0;
}

void live_begin(struct live *live)
{
    for (size_t i = 0; live && i < live->n_rows; i++)
        forget(&live->rows[i]);
}

/* A limit is there in windows that may be judged; between them, and while it is below for a moment,
 * it waits on. */
static void judge(struct row *row, const struct tick *tick)
{
    double latency = row->number[LIVE_READ_SECONDS], limit = row->number[LIVE_LIMIT_SECONDS];
    if (latency > limit) {
        row->waited_mono_ns = tick->mono_ns;
        if (!row->waits)
            row->waits_since_mono_ns = tick->mono_ns;
        row->waits = true;
    } else if (row->waits &&
               tick->mono_ns - row->waited_mono_ns >= LIVE_HOLD_SECONDS * UINT64_C(1000000000)) {
        row->waits = false;
    }
}

static bool is_plain(const char *text)
{
    while (*text >= 0x20 && *text < 0x7f)
        text++;
    return *text == '\0';
}

static void show_plainly(char *to, size_t size, const char *text)
{
    char room[1024];
    struct textbuf plain;
    textbuf_init_fixed(&plain, room, sizeof room);
    textbuf_plain(&plain, text);
    clip_text(to, size, room);
}

/* As the labels have it: tenants choose names. */
static void show_name(char *to, size_t size, const char *text)
{
    if (is_plain(text))
        clip_text(to, size, text);
    else
        show_plainly(to, size, text);
}

static void show_container(struct live_container *to, const struct container *container,
                           const struct row *row)
{
    to->tag = row->tag;
    show_name(to->namespace_, sizeof to->namespace_, container->namespace_);
    show_name(to->pod, sizeof to->pod, container->pod);
    show_name(to->name, sizeof to->name, container->name);
    show_name(to->id, sizeof to->id, container->short_id);
    to->cgroup_id = container->cgroup_id;
    memcpy(to->number, row->number, sizeof to->number);
    to->socket_known = row->socket_known;
    memcpy(to->socket_share, row->socket_share, sizeof to->socket_share);
    memcpy(to->elsewhere, row->elsewhere, sizeof to->elsewhere);
    to->suspicion = row->suspicion;
    to->caused_numa_node = row->caused_numa_node;
    to->probability = row->probability;
    to->normal_basis = row->normal_basis;
    to->normal_since_mono_ns = row->normal_since_mono_ns;
    to->why_no_normal = row->why_no_normal;
    to->why_no_slowdown = row->why_no_slowdown;
    to->waits_since_mono_ns = row->waits_since_mono_ns;
    to->waits = row->waits;
    to->lost = row->lost;
    if (row->lost.told && isnan(to->number[LIVE_CPUS]))
        to->number[LIVE_CPUS] = row->lost.cpus;
}

static bool is_recent(uint64_t then_ns, const struct tick *tick)
{
    return then_ns > 0 && tick->mono_ns - then_ns <= LIVE_LATEST_SECONDS * UINT64_C(1000000000);
}

static void show_domain(struct live_domain *to, const struct domain_history *domain,
                        const struct tick *tick)
{
    uint64_t now = tick->mono_ns / 1000000000;
    to->numa_node = domain->numa_node;
    to->latency_seconds = is_recent(domain->latency_mono_ns, tick) ? domain->latency_seconds : NAN;
    to->usual_seconds = domain->usual_seconds;
    to->host_seconds = domain->host_seconds;
    to->steps_per_hour = domain->steps_per_hour;
    to->outside_seconds = domain->outside_seconds;
    to->cause = domain->cause;
    for (uint64_t age = 0; age < LIVE_HISTORY; age++) {
        bool known = now >= age && now - age <= domain->second &&
                     domain->second - (now - age) < LIVE_HISTORY;
        to->history[LIVE_HISTORY - 1 - age] =
            known ? domain->ring[(now - age) % LIVE_HISTORY] : NAN;
    }
}

static void show_domains(struct live *live, const struct tick *tick)
{
    struct live_view *shown = &live->shown;
    shown->n_domains = 0;
    if (array_reserve(&shown->domains, &live->domains_cap, live->n_domains,
                      sizeof *shown->domains) != 0)
        return;
    for (size_t i = 0; i < live->n_domains; i++)
        show_domain(&shown->domains[shown->n_domains++], live->domains[i], tick);
}

static void show_paths(struct live *live, const struct tick *tick)
{
    struct live_view *shown = &live->shown;
    shown->n_paths = 0;
    if (array_reserve(&shown->paths, &live->paths_cap, live->n_paths, sizeof *shown->paths) != 0)
        return;
    for (size_t i = 0; i < live->n_paths; i++) {
        const struct path *path = &live->paths[i];
        shown->paths[shown->n_paths++] = (struct live_path){
            path->initiator, path->target,
            is_recent(path->latency_mono_ns, tick) ? path->latency_seconds : NAN};
    }
}

void live_show(struct live *live, const struct tick *tick,
               const struct container *(*next)(void *context), void *context)
{
    if (!live)
        return;
    bool free_to_write = pthread_mutex_trylock(&live->lock) == 0;
    struct live_view *shown = &live->shown;
    size_t n = 0;
    if (free_to_write && array_reserve(&shown->containers, &live->shown_cap, live->n_rows + 1,
                                       sizeof *shown->containers) != 0)
        live->shown_cap = 0;
    for (const struct container *c; (c = next(context));) {
        struct row *row = row_of(live, c);
        if (!row || c->state != CONTAINER_LIVE || !c->named)
            continue;
        judge(row, tick);
        if (free_to_write && n < live->shown_cap)
            show_container(&shown->containers[n++], c, row);
    }
    if (!free_to_write)
        return;
    shown->n = n;
    shown->tick = *tick;
    memcpy(shown->target, live->target, sizeof shown->target);
    show_domains(live, tick);
    show_paths(live, tick);
    shown->host = live->host;
    shown->host_known = live->host_known;
    pthread_mutex_unlock(&live->lock);
}

/* ---- readers ---- */

static void *copy_of(const void *bytes, size_t n, size_t size)
{
    void *copy = malloc(n * size + 1);
    if (copy && n > 0)
        memcpy(copy, bytes, n * size);
    return copy;
}

int live_copy(struct live *live, struct live_view *out)
{
    pthread_mutex_lock(&live->lock);
    struct live_view copy = live->shown;
    copy.containers = copy_of(live->shown.containers, copy.n, sizeof *copy.containers);
    copy.domains = copy_of(live->shown.domains, copy.n_domains, sizeof *copy.domains);
    copy.paths = copy_of(live->shown.paths, copy.n_paths, sizeof *copy.paths);
    pthread_mutex_unlock(&live->lock);
    bool whole = copy.containers && copy.domains && copy.paths;
    int err = !whole ? -ENOMEM : copy.tick.number == 0 ? -ENODATA : 0;
    if (err)
        live_view_release(&copy);
    else
        *out = copy;
    return err;
}

void live_view_release(struct live_view *view)
{
    free(view->containers);
    free(view->domains);
    free(view->paths);
    *view = (struct live_view){.n = 0};
}
