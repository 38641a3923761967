/* The machine part of a scenario: presets and keys. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simnode/scenario/parts.h"

static const struct machine_spec presets[] = {
    /* Subramanian 2015, table 2. */
    {
        .microarchitecture = "asm",
        .sockets = 1,
        .cores_per_socket = 4,
        .core_hz = 5.3e9,
        .base_hz = 5.3e9,
        .width = 3,
        .window = 128,
        .super_queue = 32,
        .store_buffer = 48,
        .l1 = {65536, 4, 1},
        .llc = {2097152, 16, 20},
        .llc_ports = 4,
        .llc_port_cycles = 2,
        .tlb_entries = 512,
        .tlb_walk_cycles = 40,
        .prefetch_distance = 24,
        .channels = 1,
    },
    /* Shen & Li 2020, section 4: two Gold 6252 with five DIMMs and one Optane DIMM each. Cache
     * latencies add up to their 44 cycles; the ways through the mesh and over the interconnect and
     * the Optane's two latencies are chosen so that the idle latencies are those of their table 2.
     */
    {
        .microarchitecture = "clx",
        .sockets = 2,
        .cores_per_socket = 24,
        .core_hz = 2.1e9,
        .base_hz = 2.1e9,
        .width = 4,
        .window = 224,
        .super_queue = 16,
        .store_buffer = 56,
        .l1 = {32768, 8, 5},
        .l2 = {1048576, 16, 9},
        .llc = {37486592, 11, 26},
        .fill_cycles = 4,
        .llc_ports = 24,
        .llc_port_cycles = 2,
        .tlb_entries = 1536,
        .tlb_walk_cycles = 30,
        .prefetch_distance = 24,
        .channels = 5,
        .request_ns = 15.9,
        .return_ns = 15.9,
        .pmm = {.dimms = 1,
                .buffer_latency_ns = 78.5,
                .media_latency_ns = 250,
                .read_bytes_per_second = 6.6e9,
                .write_bytes_per_second = 2.3e9,
                .read_queue = 40,
                .buffer_granules = 64},
        .hop_ns = 29.0,
        .link_bytes_per_second = 62.4e9,
    },
    /* An EPYC 9004 of 96 cores: twelve complexes of eight cores, each with an L3 of 32 MiB and a
     * way of its own to twelve channels of DDR5-4800, which are two channels of 32 bits each. L1,
     * L2 and L3 are hit in 4, 14 and 50 cycles; 24 misses of the L1 in flight, as published for Zen
     * 3 and 4 (Zen 5: 124). The ways to the controllers are chosen: idle memory takes some 115 ns.
     */
    {
        .microarchitecture = "zen4",
        .sockets = 1,
        .cores_per_socket = 96,
        .core_hz = 3.7e9,
        .base_hz = 2.4e9,
        .width = 6,
        .window = 320,
        .super_queue = 64,
        .store_buffer = 64,
        .l1 = {32768, 8, 4},
        .l2 = {1048576, 8, 10},
        .llc = {33554432, 16, 36},
        .llc_cores = 8,
        .llc_ports = 8,
        .llc_port_cycles = 2,
        .tlb_entries = 3072,
        .tlb_walk_cycles = 30,
        .prefetch_distance = 24,
        .channels = 24,
        .request_ns = 31,
        .return_ns = 31,
        .mabs = 24,
        .complex_bytes_per_second = 57.6e9,
    },
    /* Sixteen Neoverse V3 on a mesh that gives them 2 MiB of its cache each, and four channels of
     * DDR5-4800; no product's sizes. L1, L2 and the mesh's cache are hit in 4, 11 and 60 cycles. */
    {
        .microarchitecture = "neoverse-v3",
        .sockets = 1,
        .cores_per_socket = 16,
        .core_hz = 3.3e9,
        .base_hz = 1e9,
        .width = 10,
        .window = 320,
        .super_queue = 96,
        .store_buffer = 64,
        .l1 = {65536, 4, 4},
        .l2 = {2097152, 8, 7},
        .llc = {33554432, 16, 49},
        .llc_ports = 16,
        .llc_port_cycles = 2,
        .tlb_entries = 2048,
        .tlb_walk_cycles = 30,
        .prefetch_distance = 24,
        .channels = 8,
        .request_ns = 26,
        .return_ns = 26,
    },
    /* Serrano 2011, table 1: two boards of two nodes, cores in order, no shared cache (one line of
     * it stands for none). The ways are chosen so that a read takes 100 cycles in the own memory,
     * 142 in that of the board's other node, 410 in another board's.
     */
    {
        .microarchitecture = "serrano",
        .sockets = 4,
        .cores_per_socket = 1,
        .core_hz = 1e9,
        .base_hz = 1e9,
        .width = 1,
        .window = 1,
        .super_queue = 8,
        .store_buffer = 8,
        .l1 = {65536, 2, 3},
        .l2 = {1048576, 16, 6},
        .llc = {64, 1, 0},
        .llc_ports = 1,
        .llc_port_cycles = 1,
        .tlb_entries = 512,
        .tlb_walk_cycles = 40,
        .prefetch_distance = 24,
        .channels = 1,
        .request_ns = 39,
        .return_ns = 39,
        .hop_ns = 21,
        .board_sockets = 2,
        .board_hop_ns = 155,
    },
};
static const char *const preset_drams[] = {"ddr3-1333", "ddr4-2933", "ddr5-4800", "ddr5-4800",
                                           "constant"};

#define M(member) offsetof(struct machine_spec, member)
#define CACHE_FIELDS(prefix, latency_key)                                                          \
    {                                                                                              \
        {"bytes", FIELD_INT, M(prefix.bytes), 0, 1LL << 32},                                       \
            {"ways", FIELD_INT, M(prefix.ways), 1, 32},                                            \
            {latency_key, FIELD_INT, M(prefix.latency_cycles), 0, 10000},                          \
    }

static const struct field l1_fields[] = CACHE_FIELDS(l1, "latency_cycles");
static const struct field l2_fields[] = CACHE_FIELDS(l2, "latency_cycles");
static const struct field llc_fields[] = {
    {"bytes", FIELD_INT, M(llc.bytes), 64, 1LL << 32},
    {"ways", FIELD_INT, M(llc.ways), 1, 32},
    {"lookup_cycles", FIELD_INT, M(llc.latency_cycles), 0, 10000},
    {"clock_hz", FIELD_REAL, M(llc_hz), 1e6, 1e11},
    {"fill_cycles", FIELD_INT, M(fill_cycles), 0, 10000},
    {"cores", FIELD_INT, M(llc_cores), 0, 256},
    {"ports", FIELD_INT, M(llc_ports), 1, 1024},
    {"port_cycles", FIELD_INT, M(llc_port_cycles), 1, 10000},
};
static const struct field core_fields[] = {
    {"width", FIELD_INT, M(width), 1, 16},
    {"window", FIELD_INT, M(window), 1, 4096},
    {"super_queue", FIELD_INT, M(super_queue), 1, 4096},
    {"store_buffer", FIELD_INT, M(store_buffer), 1, 4096},
    {"mabs", FIELD_INT, M(mabs), 0, 4096},
    {"mab_delay_cycles", FIELD_INT, M(mab_delay_cycles), 0, 10000},
    {"late_prefetch_from_l2", FIELD_BOOL, M(late_prefetch_from_l2), 0, 0},
};
static const struct field tlb_fields[] = {
    {"entries", FIELD_INT, M(tlb_entries), 4, 1 << 20},
    {"walk_cycles", FIELD_INT, M(tlb_walk_cycles), 0, 100000},
};
static const struct field prefetcher_fields[] = {
    {"degree", FIELD_INT, M(prefetch_degree), 0, 64},
    {"distance", FIELD_INT, M(prefetch_distance), 1, 256},
    {"into_l1", FIELD_BOOL, M(prefetch_into_l1), 0, 0},
};
static const struct field memory_fields[] = {
    {"preset", FIELD_OTHER, 0, 0, 0},
    {"timing", FIELD_OTHER, 0, 0, 0},
    {"channels", FIELD_INT, M(channels), 1, 64},
    {"clock_hz", FIELD_REAL, M(dram.clock_hz), 1e6, 1e11},
    {"request_ns", FIELD_REAL, M(request_ns), 0, 1e6},
    {"return_ns", FIELD_REAL, M(return_ns), 0, 1e6},
    {"banks", FIELD_INT, M(dram.banks), 1, 1024},
    {"row_bytes", FIELD_INT, M(dram.row_bytes), 64, 1 << 20},
    {"read_queue", FIELD_INT, M(dram.read_queue), 1, 4096},
    {"write_queue", FIELD_INT, M(dram.write_queue), 1, 4096},
    {"write_high", FIELD_INT, M(dram.write_high), 1, 4096},
    {"write_low", FIELD_INT, M(dram.write_low), 0, 4096},
    {"batch_cap", FIELD_INT, M(dram.batch_cap), 0, 1000},
    {"page_idle_clocks", FIELD_INT, M(dram.page_idle_clocks), 0, 1e9},
    {"priority_exclusive", FIELD_BOOL, M(dram.priority_exclusive), 0, 0},
    {"priority_after_rows", FIELD_BOOL, M(dram.priority_after_rows), 0, 0},
    {"bank_hash", FIELD_BOOL, M(dram.bank_hash), 0, 0},
};
#define T(member)                                                                                  \
    {                                                                                              \
#member, FIELD_INT, M(dram.timing.member), 0, 1000000                                      \
    }
static const struct field timing_fields[] = {T(cl),  T(cwl), T(rcd), T(rp),    T(ras),
                                             T(rrd), T(faw), T(ccd), T(burst), T(wr),
                                             T(wtr), T(rtp), T(rfc), T(refi)};
static const struct field pmm_fields[] = {
    {"dimms", FIELD_INT, M(pmm.dimms), 0, 64},
    {"buffer_latency_ns", FIELD_REAL, M(pmm.buffer_latency_ns), 0, 1e6},
    {"media_latency_ns", FIELD_REAL, M(pmm.media_latency_ns), 0, 1e6},
    {"read_bytes_per_second", FIELD_REAL, M(pmm.read_bytes_per_second), 1e6, 1e13},
    {"write_bytes_per_second", FIELD_REAL, M(pmm.write_bytes_per_second), 1e6, 1e13},
    {"read_queue", FIELD_INT, M(pmm.read_queue), 1, 4096},
    {"buffer_granules", FIELD_INT, M(pmm.buffer_granules), 1, 4096},
};
static const struct field interconnect_fields[] = {
    {"hop_ns", FIELD_REAL, M(hop_ns), 0, 1e6},
    {"bytes_per_second", FIELD_REAL, M(link_bytes_per_second), 1e6, 1e14},
    {"board_sockets", FIELD_INT, M(board_sockets), 0, 8},
    {"board_hop_ns", FIELD_REAL, M(board_hop_ns), 0, 1e6},
    {"complex_bytes_per_second", FIELD_REAL, M(complex_bytes_per_second), 0, 1e14},
};
static const struct field machine_fields[] = {
    {"preset", FIELD_OTHER, 0, 0, 0},
    {"microarchitecture", FIELD_TEXT, M(microarchitecture), 0, 0},
    {"sockets", FIELD_INT, M(sockets), 1, 8},
    {"cores_per_socket", FIELD_INT, M(cores_per_socket), 1, 256},
    {"core_frequency_hz", FIELD_REAL, M(core_hz), 1e6, 1e11},
    {"base_frequency_hz", FIELD_REAL, M(base_hz), 1e6, 1e11},
    {"occupancy_from_entry", FIELD_BOOL, M(occupancy_from_entry), 0, 0},
    {"core", FIELD_OTHER, 0, 0, 0},
    {"l1", FIELD_OTHER, 0, 0, 0},
    {"l2", FIELD_OTHER, 0, 0, 0},
    {"llc", FIELD_OTHER, 0, 0, 0},
    {"tlb", FIELD_OTHER, 0, 0, 0},
    {"prefetcher", FIELD_OTHER, 0, 0, 0},
    {"memory", FIELD_OTHER, 0, 0, 0},
    {"pmm", FIELD_OTHER, 0, 0, 0},
    {"interconnect", FIELD_OTHER, 0, 0, 0},
};

static const struct {
    const char *key;
    const struct field *fields;
    size_t n;
} parts[] = {
    {"core", core_fields, FIELD_COUNT(core_fields)},
    {"l1", l1_fields, FIELD_COUNT(l1_fields)},
    {"l2", l2_fields, FIELD_COUNT(l2_fields)},
    {"llc", llc_fields, FIELD_COUNT(llc_fields)},
    {"tlb", tlb_fields, FIELD_COUNT(tlb_fields)},
    {"prefetcher", prefetcher_fields, FIELD_COUNT(prefetcher_fields)},
    {"memory", memory_fields, FIELD_COUNT(memory_fields)},
    {"pmm", pmm_fields, FIELD_COUNT(pmm_fields)},
    {"interconnect", interconnect_fields, FIELD_COUNT(interconnect_fields)},
};

static int apply_preset(struct field_reader *reader, json_t *object, struct machine_spec *machine)
{
    json_t *value = json_object_get(object, "preset");
    const char *name = value ? json_string_value(value) : "asm";

    for (size_t i = 0; name && i < FIELD_COUNT(presets); i++) {
        if (strcmp(name, presets[i].microarchitecture) != 0)
            continue;

        char *copy = strdup(name);

        if (!copy)
            return -ENOMEM;
        *machine = presets[i];
        machine->microarchitecture = copy;
        return dram_preset(preset_drams[i], &machine->dram);
    }
    return field_error(reader, "preset", "must be \"asm\", \"clx\", \"zen4\" or \"serrano\"");
}

static int read_memory_parts(struct field_reader *reader, json_t *memory,
                             struct machine_spec *machine)
{
    json_t *preset = json_object_get(memory, "preset"), *timing = json_object_get(memory, "timing");
    int err = 0;

    field_enter(reader, "memory", 0);
    if (preset &&
        (!json_is_string(preset) || dram_preset(json_string_value(preset), &machine->dram) != 0))
        err = field_error(reader, "preset",
                          "must be \"ddr3-1333\", \"ddr4-2933\", \"ddr5-4800\" or \"constant\"");
    if (!err && timing) {
        field_enter(reader, "timing", 0);
        err = fields_read(reader, timing, timing_fields, FIELD_COUNT(timing_fields), machine);
        field_leave(reader);
    }
    field_leave(reader);
    return err;
}

static int check_cache(struct field_reader *reader, const char *key, const struct cache_spec *cache)
{
    if (cache->bytes && (cache->ways < 1 || cache->bytes % (64 * cache->ways) != 0))
        return field_error(reader, key, "bytes must be a multiple of 64 x ways");
    return 0;
}

static int check_machine(struct field_reader *reader, const struct machine_spec *machine)
{
    const struct dram_config *dram = &machine->dram;
    const struct dram_timing *t = &dram->timing;

    if (machine->window < machine->width)
        return field_error(reader, "core", "the window must hold at least 'width' instructions");
    if (machine->l1.bytes == 0)
        return field_error(reader, "l1", "there must be a first-level cache");
    if (check_cache(reader, "l1", &machine->l1) || check_cache(reader, "l2", &machine->l2) ||
        check_cache(reader, "llc", &machine->llc))
        return -EINVAL;
    if (machine->llc_cores && machine->cores_per_socket % machine->llc_cores != 0)
        return field_error(reader, "llc", "cores_per_socket must be a multiple of cores");
    if (machine->mab_delay_cycles > (machine->l2.bytes ? machine->l2.latency_cycles : 0))
        return field_error(reader, "core", "mab_delay_cycles is longer than a look into the L2");
    if (dram->write_low >= dram->write_high || dram->write_high > dram->write_queue)
        return field_error(reader, "memory", "write_low < write_high <= write_queue must hold");
    if (t->burst < 1 || t->cl + t->burst + 2 < t->cwl)
        return field_error(reader, "memory", "timing needs burst >= 1 and cwl <= cl + burst + 2");
    if (t->refi && t->rfc >= t->refi)
        return field_error(reader, "memory", "timing needs rfc < refi");
    if (machine->complex_bytes_per_second > 0 && machine->complex_bytes_per_second < 1e6)
        return field_error(reader, "interconnect", "complex_bytes_per_second: 0, or 1e6 and more");
    if (machine->pmm.dimms > machine->channels)
        return field_error(reader, "pmm", "more dimms than the socket has channels");
    if (machine->pmm.dimms && (machine->pmm.media_latency_ns < machine->pmm.buffer_latency_ns ||
                               machine->pmm.buffer_granules < 1))
        return field_error(reader, "pmm", "media_latency_ns >= buffer_latency_ns must hold");
    return 0;
}

int scenario_read_machine(struct field_reader *reader, json_t *object, struct machine_spec *out)
{
    int err;

    field_enter(reader, "machine", 0);
    if (!json_is_object(object)) {
        err = field_error(reader, NULL, "must be an object");
        goto out;
    }
    err = apply_preset(reader, object, out);
    if (!err)
        err = fields_read(reader, object, machine_fields, FIELD_COUNT(machine_fields), out);
    for (size_t i = 0; !err && i < FIELD_COUNT(parts); i++) {
        json_t *part = json_object_get(object, parts[i].key);

        if (!part)
            continue;
        if (strcmp(parts[i].key, "memory") == 0)
            err = read_memory_parts(reader, part, out);
        field_enter(reader, parts[i].key, 0);
        if (!err)
            err = fields_read(reader, part, parts[i].fields, parts[i].n, out);
        field_leave(reader);
    }
    if (!err)
        err = check_machine(reader, out);
out:
    field_leave(reader);
    return err;
}
