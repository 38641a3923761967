#include "collectors/parts/node_traffic.h"

#include <string.h>

#include "collectors/learned/serialise.h"

/* Reads, or lines, per second that a socket serves without anyone noticing: 320 MB/s of the 100
 * GB/s and more that it can do. Without a floor a node on which nobody reads much is never calm. */
static const double unnoticed_rate = 5e6;

/* For so long the controllers may be silent before something else is measured: what was learned of
 * one measure says nothing of the other. */
static const uint64_t patience_ns = 60ull * 1000000000ull;

void node_traffic_open(struct node_traffic *traffic, const struct collector_env *env,
                       const char *collector)
{
    struct verdict why = {0};
    if (!cas_traffic_open(&traffic->cas, env, &why))
        log_info(env->log, collector,
                 "which windows are calm is told by the monitored containers' reads, not by the "
                 "memory controllers: %s",
                 why.words);
}

void node_traffic_close(struct node_traffic *traffic)
{
    cas_traffic_close(&traffic->cas);
}

void node_traffic_begin(struct node_traffic *traffic, const struct facts *facts)
{
    memset(traffic->rate, 0, sizeof traffic->rate);
    traffic->blind = facts->containers_unseen > 0;
}

void node_traffic_add(struct node_traffic *traffic, const double reads_per_second[SOCKETS_AND_ALL],
                      bool placed)
{
    for (int socket = 0; socket < SOCKETS_AND_ALL; socket++)
        traffic->rate[socket] += reads_per_second[socket];
    traffic->unplaced |= !placed && reads_per_second[SOCKETS_ALL] > 0;
}

void node_traffic_miss(struct node_traffic *traffic)
{
    traffic->blind = true;
}

static void choose_measure(struct node_traffic *traffic, const struct tick *tick)
{
    bool by_lines = traffic->by_lines;
    if (by_lines && traffic->lines_ns == 0) /* before a restart */
        traffic->lines_ns = tick->mono_ns;
    if (traffic->cas.known) {
        traffic->lines_ns = tick->mono_ns;
        by_lines = true;
    } else if (tick->mono_ns - traffic->lines_ns > patience_ns) {
        by_lines = false;
    }
    if (by_lines != traffic->by_lines)
        memset(traffic->peak, 0, sizeof traffic->peak);
    traffic->by_lines = by_lines;
    traffic->known = by_lines ? traffic->cas.known : !traffic->blind;
}

static void learn_peak(struct node_traffic *traffic, const struct tick *tick, int socket,
                       int sockets)
{
    struct rate_peak *peak = &traffic->peak[socket];
    if (!traffic->by_lines || traffic->known)
        rate_peak_add(peak, tick->mono_ns, traffic->rate[socket]);
    double high = rate_peak_find(peak), floor = 10 * unnoticed_rate * sockets;
    traffic->high_rate[socket] = high > floor ? high : floor;
}

void node_traffic_end(struct node_traffic *traffic, const struct tick *tick,
                      const struct facts *facts)
{
    const struct machine *machine = &facts->machine;
    cas_traffic_read(&traffic->cas);
    choose_measure(traffic, tick);
    for (int socket = 0; socket < SOCKETS_AND_ALL && traffic->by_lines; socket++)
        if (traffic->rate[socket] < traffic->cas.rate[socket])
            traffic->rate[socket] = traffic->cas.rate[socket];
    traffic->by_socket = sockets_are_apart(machine) && !traffic->unplaced;
    for (int socket = 0; socket < MACHINE_SOCKETS && traffic->by_socket; socket++)
        learn_peak(traffic, tick, socket, 1);
    learn_peak(traffic, tick, SOCKETS_ALL, machine->sockets > 0 ? machine->sockets : 1);
}

static void walk(struct node_traffic *traffic, struct state_fields *fields)
{
    state_bool(fields, &traffic->by_lines);
    state_bool(fields, &traffic->unplaced);
    for (int socket = 0; socket < SOCKETS_AND_ALL; socket++) {
        struct rate_peak *peak = &traffic->peak[socket];
        bool used = peak->slices.newest > 0;
        state_bool(fields, &used);
        if (used)
            rate_peak_serialise(peak, fields);
    }
}

void node_traffic_save(struct node_traffic *traffic, const char *owner, struct state_writer *out)
{
    state_entry_begin(out, owner, "");
    walk(traffic, &out->fields);
    state_entry_end(out);
}

void node_traffic_restore(struct node_traffic *traffic, const char *owner, struct state *state)
{
    struct state_fields fields;
    if (!state_claim(state, owner, "", &fields))
        return;
    walk(traffic, &fields);
    if (state_fits(&fields))
        return;
    traffic->by_lines = traffic->unplaced = false;
    memset(traffic->peak, 0, sizeof traffic->peak);
}
