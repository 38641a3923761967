/*
 * Who makes it wait: which containers the latency of a NUMA node's memory follows, in nanoseconds,
 * with an uncertainty, or that it is not known (ATTRIBUTION.md). Latency from the memory probe,
 * activity from CPU time, for which no counters are needed, or from traffic.
 *
 * The probe's latency also where those of the containers are counted, and section 6 would take
 * these: a container's latency follows its own traffic as well, for which it would be named, and
 * the mean over them steps when one comes, goes or gets another baseline. The probe has hardly
 * any traffic of its own. Theirs are shared out instead, see attribution/lanes/victims.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "collectors/attribution/lanes/elsewhere.h"
#include "collectors/attribution/lanes/moved.h"
#include "collectors/attribution/lanes/rates.h"
#include "collectors/attribution/lanes/total.h"
#include "collectors/attribution/lanes/victims.h"
#include "collectors/attribution/page/list.h"
#include "collectors/parts/probe_latency.h"
#include "collectors/table.h"

/* What is not there for so long does not come. */
enum { SILENT_TICKS = 60 };

/* What the flags say. */
struct attribution_flags {
    bool traffic;
    const char *prior_file;
};

_Static_assert(sizeof(struct attribution_flags) <= COLLECTOR_CONFIG_BYTES, "the flags fill it");

static const struct option_flag options[] = {
    {.name = "collector.attribution.traffic",
     .type = FLAG_BOOL,
     .offset = offsetof(struct attribution_flags, traffic),
     .help = "Find who makes memory slow by the memory traffic of each container instead of its "
             "CPU time, where the CPU can count it. Containers that compute are then told from "
             "those that use memory at the same times. Needs two of a core's general counters, so "
             "that the counters of core_latency take turns with them and lose precision, and three "
             "file descriptors per container and CPU."},
    {.name = "collector.attribution.prior.file",
     .type = FLAG_TEXT,
     .offset = offsetof(struct attribution_flags, prior_file),
     .unit = "FILE",
     .help = "What other nodes found of each workload, as Prometheus answers the query that "
             "collectors/README.md has: how likely it is to make memory slow. It is a beginning; "
             "nobody is named by it who has not begun here. Looked at every ten minutes."},
    {.name = NULL},
};

struct attribution {
    struct attribution_context in;
    struct lanes lanes;
    struct attribution_clock machine; /* CPU time of all that runs; may not be open */
    struct traffic_total total;       /* the traffic of all that runs; where activity is traffic */
    struct moved moved;               /* the same by monitoring groups */
    struct double_buffer *lists;
    struct verdict verdict; /* as at the start */
    int wanted[ATTRIBUTION_NODES];
    size_t n_wanted; /* nodes that gave a reading and have no domain yet */
    struct elsewhere_file elsewhere;
    uint64_t ticks_without_latency, ticks_without_activity;
    bool silent;
};

/* Bit i: clock i; none: why not the last of them, which needs the least. */
static uint32_t count_clocks(struct source_set *sources, struct verdict *why)
{
    uint32_t counted = 0;
    for (int i = 0; i < ATTRIBUTION_TRAFFIC; i++) {
        /* A group that is checked may take its place in the kernel: not for what others tell. */
        if (attribution_clock_group[i] == GROUP_CPI && counted)
            continue;
        if (source_set_check(sources, SCOPE_CGROUP, attribution_clock_group[i], why))
            counted |= 1u << i;
    }
    if (counted)
        verdict_clear(why);
    return counted;
}

static bool attribution_probe(const struct collector_env *env, struct verdict *why)
{
    if (env->facts->probe.reason != REASON_OK) {
        verdict_set(why, env->facts->probe.reason, "the memory probe is needed: %s",
                    env->facts->probe.words);
        return false;
    }
    return count_clocks(env->sources, why) != 0;
}

/* ---- nodes ---- */

static size_t find_node(const struct attribution *self, int number)
{
    size_t i = 0;
    while (i < self->in.nodes.n && self->in.nodes.at[i].numa_node != number)
        i++;
    return i;
}

static int add_node(struct attribution *self, int number, int probe_cpu)
{
    size_t i = find_node(self, number);
    if (i < self->in.nodes.n || i == ATTRIBUTION_NODES)
        return 0;
    int err = attribution_node_new(number, self->in.traffic, &self->in.families, self->in.env.state,
                                   &self->in.node[i]);
    if (err)
        return err;
    self->in.nodes.at[i].numa_node = number;
    self->in.nodes.at[i].probe_cpu = probe_cpu;
    self->in.nodes.n++;
    return 0;
}

/* Bursts to the own memory: on which CPU the node's probe is, and which nodes are new. */
static void meet_probes(struct attribution *self, const struct probe_reading *bursts, size_t n)
{
    self->n_wanted = 0;
    for (size_t k = 0; k < n; k++) {
        int number = bursts[k].initiator_numa_node;
        size_t i = find_node(self, number);
        if (bursts[k].target_numa_node != number)
            continue;
        if (i < self->in.nodes.n) {
            if (bursts[k].cpu >= 0)
                self->in.nodes.at[i].probe_cpu = bursts[k].cpu;
            continue;
        }
        if (i < ATTRIBUTION_NODES && self->n_wanted < ATTRIBUTION_NODES) {
            self->wanted[self->n_wanted++] = number;
            self->in.status->wants_reconcile = true;
        }
    }
}

/* ---- containers ---- */

static void make_series(struct attribution *self, struct attribution_node *node)
{
    for (size_t i = 0; i < node->n_seats && i < self->lanes.n; i++) {
        struct attribution_seat *seat = &node->seats[i];
        const struct attribution_lane *lane = lanes_at(&self->lanes, i);
        if (!seat->suspected || seat->series[0] || !lane)
            continue;
        struct labelset *labels = container_labels_get(self->in.env.labels, lane->container);
        int err = labels ? attribution_container_set_make(seat->series, &self->in.families, labels,
                                                          node->number)
                         : 0;
        if (err)
            log_warn(self->in.env.log, "attribution", "no series for %s: error %d",
                     lane->container->path, -err);
    }
}

/* Who has just come, or has just got names, may have been here before a restart, or is known
 * elsewhere. */
static void recall(struct attribution *self, struct attribution_node *node)
{
    for (uint32_t w = 0; w < self->in.workloads.n && w < node->n_columns; w++) {
        if (!workloads_has_name(&self->in.workloads, w))
            continue;
        const char *key = self->in.workloads.at[w].key;
        attribution_node_recall(node, w, key);
        attribution_node_expect(node, w, elsewhere_find(&self->elsewhere.found, key));
    }
}

/* Monitoring groups came, or are gone: what was learned of the other activity says nothing of this
 * one, and every node begins anew, but for what is calm, and what this activity was before a
 * restart. */
static void change_activity(struct attribution *self)
{
    struct attribution_context *in = &self->in;
    size_t n = in->nodes.n;
    if (!self->moved.in || self->moved.wanted == in->by_groups)
        return;
    in->traffic = in->by_groups = self->moved.wanted;
    log_info(in->env.log, "attribution", "by %s from now on",
             in->by_groups ? "what monitoring groups say that containers move" : "CPU time");
    for (in->nodes.n = 0; in->nodes.n < n; in->nodes.n++) {
        struct attribution_node **node = &in->node[in->nodes.n];
        int number = (*node)->number;
        if (attribution_node_renew(node, in->traffic, &in->families, in->env.state) != 0) {
            log_error(in->env.log, "attribution", "out of memory: NUMA node %d is not watched",
                      number);
            break;
        }
    }
    for (size_t i = in->nodes.n; i < n; i++)
        attribution_node_free(in->node[i]);
}

static void attribution_reconcile(void *opaque, const struct container_diff *diff)
{
    struct attribution *self = opaque;
    const struct log *log = self->in.env.log;
    attribution_lanes_fall_back(&self->in, &self->lanes);
    if (lanes_reconcile(&self->lanes, diff, self->in.status, log))
        self->in.status->verdict = self->verdict;
    attribution_lanes_nest(&self->lanes, diff);
    elsewhere_file_look(&self->elsewhere, log);
    moved_open(&self->moved, &self->lanes);
    change_activity(self);
    for (; self->n_wanted > 0; self->n_wanted--)
        if (add_node(self, self->wanted[self->n_wanted - 1], -1) != 0)
            log_error(log, "attribution", "out of memory: NUMA node %d is not watched",
                      self->wanted[self->n_wanted - 1]);
    for (size_t i = 0; i < self->in.nodes.n; i++) {
        if (attribution_node_reserve(self->in.node[i], self->lanes.n, self->in.workloads.n) != 0)
            log_error(log, "attribution", "out of memory: some containers cannot be named");
        recall(self, self->in.node[i]);
        make_series(self, self->in.node[i]);
    }
    victims_make_series(&self->in, &self->lanes);
}

/* ---- a tick ---- */

/* The first reading spans an unknown time. */
static bool read_host(struct attribution *self, const struct tick *tick,
                      double host[ATTRIBUTION_NODES])
{
    struct activity machine;
    bool first = !self->machine.read_once;
    bool read = attribution_clock_read(&self->in, &self->machine, tick, 0, &machine) == 0 && !first;
    for (size_t i = 0; i < self->in.nodes.n; i++)
        self->in.node[i]->busy_share = read ? rates_busy_share(&self->in, &machine, i) : NAN;
    return read && rates_host(&self->in, &self->lanes, &machine, host);
}

/* What waits is known each tick; what the others moved, of the last window. */
static void take_moved(struct attribution *self, const struct tick *tick, bool read)
{
    rates_reads(&self->in, tick);
    if (read)
        moved_take(&self->moved, &self->lanes);
    moved_seat(&self->moved, &self->lanes, MOVED_TICKS);
    victims_take(&self->in, &self->lanes, tick);
    for (size_t i = 0; i < self->in.nodes.n && !read; i++)
        attribution_node_miss(self->in.node[i], tick);
}

static void take_now(struct attribution *self, const struct tick *tick, const double *host,
                     const double *latency)
{
    struct attribution_context *in = &self->in;
    rates_share(in, &self->lanes);
    rates_reads(in, tick);
    if (in->traffic)
        traffic_total_measure(&self->total, in, tick);
    victims_take(in, &self->lanes, tick);
    for (size_t i = 0; i < in->nodes.n; i++) {
        if (isnan(latency[i]))
            attribution_node_miss(in->node[i], tick);
        else
            in->status->wants_reconcile |= attribution_node_take(in->node[i], tick, latency[i],
                                                                 host ? host[i] : NAN, in->scratch);
    }
}

static void take_readings(struct attribution *self, const struct tick *tick,
                          const struct probe_reading *bursts, size_t n)
{
    struct attribution_context *in = &self->in;
    double host[ATTRIBUTION_NODES], latency[ATTRIBUTION_NODES];
    bool host_known = attribution_has_clocks(in) && read_host(self, tick, host), any = false;
    for (size_t i = 0; i < ATTRIBUTION_NODES; i++) {
        latency[i] = NAN;
        if (i < in->nodes.n)
            any |= probe_latency(bursts, n, in->node[i]->number, in->node[i]->number, &latency[i]);
    }
    self->ticks_without_latency = any ? 0 : self->ticks_without_latency + 1;
    moved_note(&self->moved, &self->lanes, tick, latency);
    bool read = moved_read(&self->moved, &self->lanes);
    if (in->by_groups)
        take_moved(self, tick, read);
    else
        take_now(self, tick, host_known ? host : NULL, latency);
    if (read)
        moved_begin(&self->moved);
    if (self->moved.in && self->moved.wanted != in->by_groups)
        in->status->wants_reconcile = true;
}

static void close_ended(struct attribution *self)
{
    struct attribution_lane *lane;
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));) {
        if (!lane->ending || (!attribution_lane_is_open(lane) && !lane->moved.handle))
            continue;
        attribution_lane_close(&self->in, lane);
        moved_close(&self->moved, lane);
        attribution_lane_leave(&self->in, lane);
        lanes_closed_one(&self->lanes, self->in.status);
        for (size_t k = 0; k < self->in.nodes.n; k++)
            attribution_node_end(self->in.node[k], lane->container->slot);
    }
}

/* What a recording has shows only as it plays; a live probe may be preempted all the time. */
static void judge(struct attribution *self)
{
    struct verdict *verdict = &self->in.status->verdict;
    bool silent =
        self->ticks_without_latency >= SILENT_TICKS || self->ticks_without_activity >= SILENT_TICKS;
    if (silent == self->silent)
        return;
    self->silent = self->in.status->unavailable = silent;
    *verdict = self->verdict;
    if (silent)
        verdict_set(verdict, REASON_NO_DEVICE,
                    self->ticks_without_latency >= SILENT_TICKS
                        ? "the probe has had no reading of a NUMA node's own memory for a minute"
                    : self->in.traffic ? "the source does not tell the containers' memory traffic"
                                       : "the source does not tell the containers' CPU time");
}

static void forget_workloads(struct attribution *self, const struct tick *tick)
{
    uint32_t number;
    while (workloads_expire(&self->in.workloads, tick->mono_ns, &number))
        for (size_t i = 0; i < self->in.nodes.n; i++)
            attribution_node_drop(self->in.node[i], number);
}

/* For who asks what containers were exposed to. */
static void tell_slow_memory(struct attribution *self, const struct tick *tick)
{
    struct facts *facts = self->in.env.facts;
    size_t known = 0, slow = 0;
    for (size_t i = 0; i < self->in.nodes.n; i++) {
        const struct attribution_node *node = self->in.node[i];
        known += node->known;
        slow += node->known && node->state != GATE_CALM && node->state != GATE_LEARNING;
    }
    if (known == 0)
        return;
    facts->slow_memory_tick = tick->number;
    facts->slow_memory_ratio = (double)slow / (double)known;
}

static int attribution_collect(void *opaque, const struct tick *tick)
{
    struct attribution *self = opaque;
    size_t n;
    self->in.now_ns = tick->mono_ns;
    const struct probe_reading *bursts = source_set_probes(self->in.env.sources, &n);
    meet_probes(self, bursts, n);
    bool silent;
    int err = attribution_lanes_read(&self->in, &self->lanes, tick, &silent);
    self->ticks_without_activity = silent ? self->ticks_without_activity + 1 : 0;
    take_readings(self, tick, bursts, n);
    self->in.status->wants_reconcile |= moved_wants(&self->moved, &self->lanes, tick);
    close_ended(self);
    forget_workloads(self, tick);
    judge(self);
    attribution_list_write(self->lists, &self->in, &self->lanes, tick);
    tell_slow_memory(self, tick);
    self->in.status->wants_reconcile |= elsewhere_file_is_due(&self->elsewhere);
    self->in.status->wants_reconcile |= attribution_clock_is_left(&self->in);
    return err;
}

/* ---- life ---- */

static void attribution_save(void *opaque, struct state_writer *out)
{
    struct attribution *self = opaque;
    for (uint32_t w = 0; w < self->in.workloads.n; w++)
        for (size_t i = 0; i < self->in.nodes.n && workloads_has_name(&self->in.workloads, w); i++)
            attribution_node_save_column(self->in.node[i], w, self->in.workloads.at[w].key, out);
    for (size_t i = 0; i < self->in.nodes.n; i++)
        attribution_node_save(self->in.node[i], out);
}

static void attribution_stop(void *opaque)
{
    struct attribution *self = opaque;
    if (!self)
        return;
    moved_release(&self->moved);
    lanes_release(&self->lanes);
    if (self->machine.handle)
        source_set_close(self->in.env.sources, self->machine.handle);
    cas_traffic_close(&self->total.cas);
    for (size_t i = 0; i < self->in.nodes.n; i++)
        attribution_node_free(self->in.node[i]);
    workloads_release(&self->in.workloads);
    elsewhere_release(&self->elsewhere.found);
    double_buffer_free(self->lists);
    free(self->in.scratch);
    free(self);
}

static int render(void *opaque, const char *source, struct textbuf *out)
{
    const struct attribution *self = opaque;
    return attribution_page_render(self ? self->lists : NULL, source, out);
}

static void headline(void *opaque, struct textbuf *out)
{
    const struct attribution *self = opaque;
    attribution_headline(self->lists, out);
}

static const struct collector_page page = {
    .path = "/api/v1/interference",
    .handler = "interference",
    .title = "Who makes memory slow",
    .render = render,
    .headline = headline,
};

static int attribution_start(const struct collector_env *env, struct collector_status *status,
                             void **out);

static uint32_t attribution_groups(const void *config)
{
    const struct attribution_flags *flags = config;
    return flags->traffic ? UINT32_C(1) << GROUP_TRAFFIC : 0;
}

const struct collector_ops attribution_collector = {
    .name = "attribution",
    .summary = "which containers make memory slow for the others, or that it is not known",
    .default_on = COLLECTOR_ON,
    .options = options,
    .metrics = attribution_metrics,
    .page = &page,
    .more_groups = attribution_groups,
    .probe = attribution_probe,
    .start = attribution_start,
    .reconcile = attribution_reconcile,
    .collect = attribution_collect,
    .save = attribution_save,
    .stop = attribution_stop,
};

/* Without it nothing is known of the host's own processes. */
static void open_machine(struct attribution *self)
{
    const struct scope scope = {.kind = SCOPE_MACHINE, .key = "host", .cgroup_fd = -1};
    struct verdict why;
    if (source_set_open(self->in.env.sources, &scope, GROUP_ACTIVITY, &self->machine.handle,
                        &why) != 0)
        log_info(self->in.env.log, "attribution", "the host's own part is not known: %s",
                 why.words);
}

/* Nodes that show up later get their domain with their first reading. */
static int add_known_nodes(struct attribution *self)
{
    const struct inventory *inventory = self->in.env.inventory;
    int err = 0;
    for (size_t i = 0; i < inventory->n_threads && !err; i++)
        err = add_node(self, inventory->threads[i].initiator_numa_node, inventory->threads[i].cpu);
    return err;
}

static void choose_activity(struct attribution *self)
{
    const struct attribution_flags *flags = self->in.env.config;
    struct verdict why;
    self->in.traffic =
        flags->traffic && source_set_check(self->in.env.sources, SCOPE_CGROUP, GROUP_TRAFFIC, &why);
    self->in.env.facts->reads.wanted = true;
    if (self->in.traffic)
        self->in.counted = 1u << ATTRIBUTION_TRAFFIC;
    else
        self->in.counted = count_clocks(self->in.env.sources, &why);
    if (!self->in.traffic)
        moved_init(&self->moved, &self->in);
    self->in.by_groups = self->moved.wanted;
    self->in.traffic |= self->in.by_groups;
    if (flags->traffic && !self->in.traffic)
        log_warn(self->in.env.log, "attribution", "by CPU time, since traffic is not counted: %s",
                 why.words);
}

static int attribution_start(const struct collector_env *env, struct collector_status *status,
                             void **out)
{
    struct attribution *self = calloc(1, sizeof *self);
    int err = -ENOMEM;
    if (!self)
        return err;
    self->in.env = *env;
    self->in.status = status;
    self->in.nodes.machine = &env->facts->machine;
    self->elsewhere.path = ((const struct attribution_flags *)env->config)->prior_file;
    choose_activity(self);
    lanes_init(&self->lanes, &attribution_lane_ops, &self->in);
    self->in.scratch = malloc(sizeof *self->in.scratch);
    if (self->in.scratch)
        err = double_buffer_new(sizeof(struct attribution_list), &self->lists);
    if (!err)
        err = attribution_families_register(&self->in.families, env->store,
                                            attribution_collector.name);
    if (!err)
        err = add_known_nodes(self);
    if (err) {
        attribution_stop(self);
        return err;
    }
    if (attribution_has_clocks(&self->in))
        open_machine(self);
    else
        traffic_total_open(&self->total, env);
    *out = self;
    return 0;
}
