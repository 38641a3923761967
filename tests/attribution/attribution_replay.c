/*
 * Plays a recording, as it is or changed, through the collector `attribution`; tells each tick.
 *
 *   attribution_replay RECORDING [CHANGE ...]
 *     latency-of FILE         the latency of another recording
 *     shift TICKS             everybody's activity comes later, in a circle
 *     shift-latency TICKS     the latency does; for recordings in which containers come and go
 *     put-in CONTAINER SHARE  latency grows by this share for each CPU that it uses
 *     unseen SHARE SEED       a neighbour that is not monitored makes latency higher, on and off
 *
 * A line of JSON per tick: its number, seconds since the first one, the domain as on the
 * collector's page, and of every container the activity and the score. The page has scores of those
 * only who are named or suspected: these come from an estimator of our own, fed beside it.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/attribution/regression/estimator.h"
#include "collectors/parts/probe_latency.h"
#include "collectors/table.h"
#include "exporter/daemon/feed.h"
#include "tests/attribution/tape_source.h"
#include "tests/unit/support/collector_rig.h"

/* The default of --containers.linger. */
#define LINGER_NS UINT64_C(120000000000)

struct player {
    struct tape tape;
    struct tape_source source;
    struct rig rig;
    struct container_table *table; /* as the exporter has it: containers come, linger, and go */
    struct feed *feed;
    struct attribution_domain domain;
    struct attribution_scratch scratch;
    struct attribution_member members[TAPE_KEYS];
};

static void fail(const char *what)
{
    fprintf(stderr, "attribution_replay: %s\n", what);
    exit(2);
}

/* ---- the collector ---- */

/* Containers' lines up to here, as the exporter takes them. */
static void take_events(struct player *player, size_t from, size_t to, uint64_t now_ns)
{
    struct container_diff diff;
    if (feed_events(player->feed, player->tape.events.at + from, to - from, player->table, now_ns))
        fail("out of memory");
    container_table_advance(player->table, now_ns);
    container_table_take_diff(player->table, &diff);
    rig_reconcile(&player->rig, &diff);
}

static void tell_table(struct player *player)
{
    size_t cursor = 0;
    struct container *container;
    while ((container = container_table_next(player->table, &cursor)))
        container_table_read(player->table, container);
}

static void start_containers(struct player *player)
{
    const struct container_limits limits = {
        .max = TAPE_KEYS, .linger_ns = LINGER_NS, .linger_max = TAPE_KEYS};
    char error[128] = "out of memory";
    if (container_table_new(&limits, &player->rig.log, &player->table, error, sizeof error) != 0)
        fail(error);
    if (feed_new(&player->feed) != 0)
        fail("out of memory");
    take_events(player, 0, player->tape.start_events, 0);
}

static void start(struct player *player)
{
    struct rig *rig = &player->rig;
    const struct tape *tape = &player->tape;
    rig_init(rig, &attribution_collector);
    rig->facts.machine = tape->machine;
    tape_source_init(&player->source, tape);
    for (int kind = 0; kind < SCOPE_KINDS; kind++)
        for (int group = 0; group < GROUP_COUNT; group++)
            if (source_set_route(rig->sources, (enum scope_kind)kind, (enum group)group,
                                 &player->source.source) != 0)
                fail("out of memory");
    if (source_set_route_probes(rig->sources, &player->source.source) != 0 ||
        inventory_add_thread(&rig->inventory, &tape->thread) != 0)
        fail("out of memory");
    rig->tick.interval_ns = tape->interval_ns;
    rig->tick.mono_ns = tape->ticks[0].tick.mono_ns;
    rig_start(rig);
    start_containers(player);
}

/* The rig's ticks are one second after the last. */
static void collect(struct player *player, size_t t)
{
    struct tick *tick = &player->rig.tick;
    const struct tape *tape = &player->tape;
    *tick = tape->ticks[t].tick;
    take_events(player, t > 0 ? tape->ticks[t - 1].end_events : tape->start_events,
                tape->ticks[t].end_events, tick->mono_ns);
    tick->interval_ns = player->tape.interval_ns;
    tick->number--;
    tick->mono_ns -= 1000000000u;
    tick->wall_ns -= 1000000000u;
    tape_source_at(&player->source, t);
    if (rig_tick(&player->rig) != 0)
        fail("the collector failed");
    tell_table(player);
}

static json_t *page(struct player *player)
{
    struct textbuf text;
    textbuf_init(&text);
    if (player->rig.ops->page->render(player->rig.collector, "replay", &text) != 0)
        fail("no page");
    json_t *root = json_loadb(text.data, text.len, 0, NULL);
    textbuf_release(&text);
    json_t *domain = json_incref(json_array_get(json_object_get(root, "domains"), 0));
    json_decref(root);
    return domain ? domain : json_null();
}

/* ---- the estimator beside it ---- */

/* Who was not read yet, or not once more at its end, is not missed. */
static bool counts(const struct tape *tape, size_t k, size_t t)
{
    const struct tape_key *key = &tape->keys[k];
    bool edge = (key->came > 0 && t == key->came) || t == key->went;
    return tape_is_there(tape, k, t) && (key->read[t] || !edge);
}

static void estimate(struct player *player, size_t t)
{
    const struct tape *tape = &player->tape;
    const struct tape_tick *tick = &tape->ticks[t];
    int node = tape->thread.initiator_numa_node;
    double seconds, host = tape_activity(tape, 0, t);
    if (!probe_latency(tick->bursts, tick->n_bursts, node, node, &seconds) ||
        attribution_begin(&player->domain, seconds * 1e9) != 0)
        return;
    for (size_t k = 1; k < tape->n_keys; k++) {
        if (!counts(tape, k, t))
            continue;
        double activity = tape_activity(tape, k, t);
        host -= activity;
        if (!isnan(activity))
            attribution_add(&player->domain, &player->members[k], activity);
    }
    attribution_rest(&player->domain, host < 0 ? 0 : host);
    attribution_end(&player->domain, &player->scratch);
}

/* Those that were read for the last time. */
static void forget_ended(struct player *player, size_t t)
{
    for (size_t k = 1; k < player->tape.n_keys; k++)
        if (player->tape.keys[k].went == t)
            attribution_forget(&player->domain, &player->members[k]);
}

/* null: not known; 0: it is no candidate. */
static json_t *known(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *containers(const struct player *player, size_t t)
{
    json_t *all = json_object();
    for (size_t k = 1; k < player->tape.n_keys; k++) {
        if (!tape_is_there(&player->tape, k, t))
            continue;
        const struct attribution_slot *slot =
            attribution_candidate(&player->domain, &player->members[k]);
        json_object_set_new(all, player->tape.keys[k].name,
                            json_pack("{s:o, s:o, s:o}", "activity",
                                      known(tape_activity(&player->tape, k, t)), "z",
                                      known(slot ? slot->score : 0), "caused_ns",
                                      known(slot ? slot->caused_ns : 0)));
    }
    return all;
}

static void tell(struct player *player, size_t t)
{
    const struct tick *tick = &player->tape.ticks[t].tick;
    json_t *line = json_pack("{s:I, s:f, s:o, s:o}", "tick", (json_int_t)tick->number, "seconds",
                             (double)(tick->mono_ns - player->tape.ticks[0].tick.mono_ns) * 1e-9,
                             "domain", page(player), "containers", containers(player, t));
    char *text = json_dumps(line, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text)
        fail("out of memory");
    puts(text);
    free(text);
    json_decref(line);
}

/* ---- the command line ---- */

static double number(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0')
        fail("not a number");
    return value;
}

static int change(struct tape *tape, int n, char **words)
{
    if (n >= 2 && strcmp(words[0], "shift") == 0) {
        tape_shift_activity(tape, (size_t)number(words[1]));
        return 2;
    }
    if (n >= 2 && strcmp(words[0], "shift-latency") == 0) {
        tape_shift_latency(tape, (size_t)number(words[1]));
        return 2;
    }
    if (n >= 2 && strcmp(words[0], "latency-of") == 0) {
        struct tape other;
        tape_load(&other, words[1]);
        tape_take_latency(tape, &other);
        tape_release(&other);
        return 2;
    }
    if (n >= 3 && strcmp(words[0], "put-in") == 0) {
        tape_put_in(tape, tape_find(tape, words[1]), number(words[2]));
        return 3;
    }
    if (n >= 3 && strcmp(words[0], "unseen") == 0) {
        tape_add_unseen(tape, number(words[1]), (uint64_t)number(words[2]));
        return 3;
    }
    fail("unknown change");
    return 0;
}

int main(int argc, char **argv)
{
    static struct player player;
    if (argc < 2)
        fail("usage: attribution_replay RECORDING [CHANGE ...]");
    tape_load(&player.tape, argv[1]);
    for (int i = 2; i < argc;)
        i += change(&player.tape, argc - i, argv + i);
    const struct attribution_config config = attribution_config_cpu_time();
    if (player.tape.n == 0 || attribution_init(&player.domain, &config) != 0)
        fail("nothing to play");
    start(&player);
    for (size_t t = 0; t < player.tape.n; t++) {
        collect(&player, t);
        estimate(&player, t);
        tell(&player, t);
        forget_ended(&player, t);
    }
    rig_release(&player.rig);
    feed_free(player.feed);
    container_table_free(player.table);
    tape_release(&player.tape);
    return 0;
}
