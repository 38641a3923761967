/* What comes out of the ring is what went in, window by window, for as long as it is to be held. */
#include "exporter/blackbox/pack.h"
#include "exporter/blackbox/ring.h"
#include "tests/unit/support/unit.h"

static const uint64_t second_ns = 1000000000;

enum { CONTAINERS = 6, CPUS = 3, TICKS_MAX = 2000 };
static const enum group groups[] = {GROUP_CORE, GROUP_ACTIVITY, GROUP_WAITS, GROUP_BOUNDS,
                                    GROUP_PAGES};
enum { GROUPS = sizeof groups / sizeof *groups };

/* What was read of a row, by tick; 0 ticks: not read. */
struct truth {
    struct recording_read now;
    uint64_t value[TICKS_MAX + 1], enabled[TICKS_MAX + 1];
    bool read[TICKS_MAX + 1];
    /* as it came out */
    uint64_t seen, seen_enabled;
    bool begun;
};

struct world {
    struct ring *ring;
    struct truth rows[CONTAINERS][GROUPS][CPUS];
    uint64_t tick, random, resumed; /* the first tick of a ring that has none before; 0: all have */
    char keys[CONTAINERS][RECORDING_MAX_KEY + 1];
    /* what comes out */
    uint64_t out_tick, out_first, out_reads, out_ticks, out_marks;
    char out_learned[128];
    bool out_known[CONTAINERS];
};

static uint64_t draw(struct world *world, uint64_t below)
{
    world->random = world->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (world->random >> 33) % below;
}

static void world_begin(struct world *world, uint64_t span_ns, size_t max_bytes)
{
    const struct ring_limits limits = {.span_ns = span_ns, .max_bytes = max_bytes};
    struct recording_line line = {.kind = RECORDING_HEADER, .header = {.interval_ns = second_ns}};
    assert_int_equal(ring_new(&limits, &world->ring), 0);
    ring_take(world->ring, &line);
    line = (struct recording_line){.kind = RECORDING_UNIT, .unit = {.key = "imc0", .kind = "imc"}};
    ring_take(world->ring, &line);
}

static struct world *world_new(uint64_t span_ns, size_t max_bytes)
{
    struct world *world = calloc(1, sizeof *world);
    world_begin(world, span_ns, max_bytes);
    for (int c = 0; c < CONTAINERS; c++)
        snprintf(world->keys[c], sizeof world->keys[c], "c%d", c);
    return world;
}

static void world_free(struct world *world)
{
    ring_free(world->ring);
    free(world);
}

static bool is_level(enum group group)
{
    return group == GROUP_BOUNDS || group == GROUP_PAGES;
}

static void read_row(struct world *world, int c, int g, int cpu)
{
    struct truth *row = &world->rows[c][g][cpu];
    struct recording_line line;
    struct recording_read *now = &row->now;
    now->key = world->keys[c];
    now->group = groups[g];
    now->cpu = groups[g] == GROUP_WAITS || groups[g] == GROUP_BOUNDS ? -1 : cpu;
    now->present = 1;
    if (groups[g] != GROUP_ACTIVITY && groups[g] != GROUP_PAGES) {
        now->enabled_ns += draw(world, 2 * second_ns);
        now->running_ns = now->enabled_ns / 2;
    }
    now->values[0] = is_level(groups[g]) ? draw(world, 1u << 30) << draw(world, 34)
                                         : now->values[0] + draw(world, UINT64_C(4) << 30);
    row->value[world->tick] = now->values[0];
    row->enabled[world->tick] = now->enabled_ns;
    row->read[world->tick] = true;
    line.kind = RECORDING_READ;
    line.read = *now;
    ring_take(world->ring, &line);
}

static void take_container(struct world *world, int c)
{
    const struct recording_line line = {.kind = RECORDING_CONTAINER,
                                        .container = {.key = world->keys[c],
                                                      .cgroup = "/kubepods/\"\\\n\x01",
                                                      .id = "0123",
                                                      .namespace_ = "shop",
                                                      .pod = "cart",
                                                      .container = "",
                                                      .image = "",
                                                      .pod_uid = "",
                                                      .runtime = "",
                                                      .qos_class = "",
                                                      .found_mono_ns = 1}};
    ring_take(world->ring, &line);
}

/* Pages are read twice a minute; the last CPU of each is idle but for once. */
static void advance(struct world *world, unsigned ticks)
{
    for (unsigned t = 0; t < ticks; t++) {
        world->tick++;
        const struct recording_line line = {.kind = RECORDING_TICK,
                                            .tick = {world->tick, world->tick * second_ns, 1}};
        ring_take(world->ring, &line);
        for (int c = 0; c < CONTAINERS; c++) {
            if (world->tick == 1)
                take_container(world, c);
            for (int g = 0; g < GROUPS; g++)
                for (int cpu = 0; cpu < CPUS; cpu++)
                    if ((groups[g] != GROUP_PAGES || world->tick % 30 == (uint64_t)c) &&
                        (cpu < CPUS - 1 || world->tick == 3) &&
                        ((groups[g] != GROUP_WAITS && groups[g] != GROUP_BOUNDS) || cpu == 0))
                        read_row(world, c, g, cpu);
        }
        ring_flush(world->ring);
    }
}

static int number_of(const char *key)
{
    return atoi(key + 1);
}

static void see_reading(struct world *world, const struct recording_read *read)
{
    int g = 0, c = number_of(read->key);
    while (groups[g] != read->group)
        g++;
    struct truth *row = &world->rows[c][g][read->cpu < 0 ? 0 : read->cpu];
    uint64_t tick = world->out_tick, before = tick - 1;
    assert_true(world->out_known[c]);
    world->out_reads++;
    if (is_level(groups[g])) {
        while (!row->read[tick]) /* in the first tick what was read before holds */
            tick--;
        assert_true(tick == world->out_tick || tick < world->out_first + 1);
        assert_int_equal(read->values[0], row->value[tick]);
        return;
    }
    assert_true(row->read[tick]);
    while (before > 0 && !row->read[before])
        before--;
    if (tick == world->resumed)
        before = tick;
    assert_int_equal(read->values[0] - row->seen, row->value[tick] - row->value[before]);
    if (groups[g] != GROUP_ACTIVITY)
        assert_int_equal(read->enabled_ns - row->seen_enabled,
                         row->enabled[tick] - row->enabled[before]);
    row->seen = read->values[0];
    row->seen_enabled = read->enabled_ns;
}

static void see(void *context, const struct recording_line *line)
{
    struct world *world = context;
    if (line->kind == RECORDING_TICK) {
        assert_true(world->out_tick == 0 || line->tick.number == world->out_tick + 1);
        world->out_tick = line->tick.number;
        if (world->out_first == 0)
            world->out_first = world->out_tick;
    } else if (line->kind == RECORDING_CONTAINER) {
        assert_string_equal(line->container.cgroup, "/kubepods/\"\\\n\x01");
        assert_string_equal(line->container.pod, "cart");
        world->out_known[number_of(line->container.key)] = true;
    } else if (line->kind == RECORDING_LEARNED) {
        assert_int_equal(world->out_tick, 0);
        strncat(world->out_learned, line->learned.hex,
                sizeof world->out_learned - strlen(world->out_learned) - 1);
    } else if (line->kind == RECORDING_MARK) {
        world->out_marks++;
    } else if (line->kind == RECORDING_READ) {
        see_reading(world, &line->read);
    }
}

static bool see_flush(void *context)
{
    struct world *world = context;
    world->out_ticks++;
    return true;
}

struct outlet {
    struct recorder_sink sink;
    struct recorder *recorder;
    struct ring_player *player;
};

static void outlet_open(struct world *world, struct outlet *outlet)
{
    static const struct machine machine;
    outlet->sink = (struct recorder_sink){see, see_flush, world};
    assert_int_equal(recorder_new(NULL, &machine, second_ns, NULL, &outlet->recorder), 0);
    recorder_tee(outlet->recorder, &outlet->sink);
    assert_int_equal(ring_player_new(world->ring, outlet->recorder, &outlet->player), 0);
    assert_int_equal(ring_player_run(outlet->player), 0);
}

static void outlet_close(struct outlet *outlet)
{
    ring_player_free(outlet->player);
    assert_int_equal(recorder_free(outlet->recorder), 0);
}

TEST(test_what_went_in_comes_out)
{
    struct world *world = world_new(900 * second_ns, 64 << 20);
    struct outlet outlet;
    advance(world, 130);
    outlet_open(world, &outlet);
    assert_int_equal(world->out_first, 1);
    assert_int_equal(world->out_tick, 130);
    assert_int_equal(world->out_ticks, 130);
    assert_true(world->out_reads > 130 * CONTAINERS * 6);
    outlet_close(&outlet);
    world_free(world);
}

/* It begins between fifteen and sixteen minutes ago, and goes on. */
TEST(test_it_holds_the_last_minutes_and_goes_on)
{
    struct world *world = world_new(900 * second_ns, 64 << 20);
    struct outlet outlet;
    struct ring_figures figures;
    advance(world, 1500);
    outlet_open(world, &outlet);
    assert_in_range(world->out_first, 1500 - 960, 1500 - 899);
    assert_int_equal(world->out_tick, 1500);
    for (int i = 0; i < 400; i++) {
        advance(world, 1);
        assert_int_equal(ring_player_run(outlet.player), 0);
        assert_int_equal(world->out_tick, 1501 + i);
    }
    assert_int_equal(world->out_ticks, world->out_tick - world->out_first + 1);
    ring_figures(world->ring, &figures);
    assert_int_equal(figures.end_mono_ns, 1900 * second_ns);
    assert_in_range(figures.ticks, 900, 961);
    outlet_close(&outlet);
    world_free(world);
}

/* Less time, never more memory. */
TEST(test_memory_is_bounded)
{
    struct world *all = world_new(900 * second_ns, 64 << 20);
    struct ring_figures figures, whole;
    advance(all, 900);
    ring_figures(all->ring, &whole);
    world_free(all);
    struct world *world = world_new(900 * second_ns, whole.bytes / 2);
    for (int i = 0; i < 900; i++) {
        advance(world, 1);
        ring_figures(world->ring, &figures);
        assert_true(figures.bytes <= whole.bytes / 2 + whole.bytes / 8);
    }
    assert_in_range(figures.ticks, 120, 700);
    struct outlet outlet;
    outlet_open(world, &outlet);
    assert_int_equal(world->out_tick, 900);
    outlet_close(&outlet);
    world_free(world);
}

/* A recording begins where something had been learned, all of it, some of which may be told later,
 * and not less than fifteen minutes ago. */
static void begins_with_what_was_learned(int untold, uint64_t first)
{
    struct world *world = world_new(900 * second_ns, 64 << 20);
    struct outlet outlet;
    char hex[16], text[64], digits[16];
    for (int i = 0; i < 1700; i++) {
        const uint8_t *bytes = (const uint8_t *)text;
        if (i % 120 == 90) {
            snprintf(text, sizeof text, "%04d%040d", i, 0);
            ring_learn(world->ring, bytes, 22, 0, 44);
        }
        if (i % 120 == 110 && i - 20 != untold)
            ring_learn(world->ring, bytes + 22, 22, 22, 44);
        advance(world, 1);
    }
    outlet_open(world, &outlet);
    assert_int_equal(world->out_first, first);
    snprintf(digits, sizeof digits, "%04d", (int)first - 1);
    for (int i = 0; i < 4; i++)
        snprintf(hex + 2 * i, 3, "%02x", digits[i]);
    assert_memory_equal(world->out_learned, hex, 8);
    assert_int_equal(strlen(world->out_learned), 88);
    outlet_close(&outlet);
    world_free(world);
}

TEST(test_it_begins_with_what_was_learned)
{
    begins_with_what_was_learned(0, 691);
    begins_with_what_was_learned(690, 571);
}

/* What was counted before it began is in no window. */
TEST(test_who_begins_in_the_middle_counts_from_there)
{
    struct world *world = world_new(900 * second_ns, 64 << 20);
    struct outlet outlet;
    advance(world, 200);
    ring_free(world->ring);
    world_begin(world, 900 * second_ns, 64 << 20);
    ring_resume(world->ring);
    for (int c = 0; c < CONTAINERS; c++)
        take_container(world, c);
    world->resumed = world->tick + 1;
    advance(world, 70);
    outlet_open(world, &outlet);
    assert_int_equal(world->out_first, 201);
    assert_int_equal(world->out_tick, 270);
    outlet_close(&outlet);
    world_free(world);
}

static void see_values(void *context, const struct recording_line *line)
{
    uint64_t **out = context;
    if (line->kind != RECORDING_READ)
        return;
    memcpy(*out, line->read.values, 2 * sizeof **out);
    *out += 2;
}

static bool see_nothing(void *context)
{
    return true;
}

/* A total that falls below where the recording begins is a fall of the whole reading, as it was
 * live, and no count of it jumps. */
TEST(test_what_is_counted_anew_begins_again)
{
    static const uint64_t in[][2] = {{1000, 5000}, {1010, 5010}, {3, 5020}, {13, 5030}};
    static const uint64_t expected[][2] = {{0, 0}, {10, 10}, {0, 0}, {10, 10}};
    enum { TICKS = sizeof in / sizeof *in };
    static const struct machine machine;
    uint64_t out[TICKS][2], *end = out[0];
    const struct recorder_sink sink = {see_values, see_nothing, &end};
    struct world *world = world_new(900 * second_ns, 64 << 20);
    struct recorder *recorder;
    struct ring_player *player;
    ring_resume(world->ring);
    for (uint64_t i = 0; i < TICKS; i++) {
        struct recording_line line = {.kind = RECORDING_TICK,
                                      .tick = {i + 1, (i + 1) * second_ns, 1}};
        struct recording_read read = {.key = "c1", .group = GROUP_CORE, .present = 3};
        read.enabled_ns = read.running_ns = (i + 1) * second_ns;
        memcpy(read.values, in[i], sizeof in[i]);
        ring_take(world->ring, &line);
        line = (struct recording_line){.kind = RECORDING_READ, .read = read};
        ring_take(world->ring, &line);
        ring_flush(world->ring);
    }
    assert_int_equal(recorder_new(NULL, &machine, second_ns, NULL, &recorder), 0);
    recorder_tee(recorder, &sink);
    assert_int_equal(ring_player_new(world->ring, recorder, &player), 0);
    assert_int_equal(ring_player_run(player), 0);
    assert_ptr_equal(end, out[TICKS]);
    assert_memory_equal(out, expected, sizeof out);
    ring_player_free(player);
    assert_int_equal(recorder_free(recorder), 0);
    world_free(world);
}

TEST(test_who_is_gone_is_forgotten)
{
    struct world *world = world_new(120 * second_ns, 64 << 20);
    static const struct machine machine;
    struct ring_figures before, after;
    struct recorder *recorder;
    struct ring_player *player;
    advance(world, 300);
    ring_figures(world->ring, &before);
    assert_int_equal(recorder_new(NULL, &machine, second_ns, NULL, &recorder), 0);
    assert_int_equal(ring_player_new(world->ring, recorder, &player), 0);
    assert_int_equal(ring_player_run(player), 0);
    size_t played = ring_player_bytes(player);
    assert_true(played > CONTAINERS * sizeof(struct recording_read));
    for (uint64_t i = 0; i < 1000; i++) { /* each lives for a tick */
        char key[32];
        snprintf(key, sizeof key, "x%d", (int)i);
        world->tick++;
        struct recording_line line = {.kind = RECORDING_TICK,
                                      .tick = {world->tick, world->tick * second_ns, 1}};
        ring_take(world->ring, &line);
        line = (struct recording_line){
            .kind = RECORDING_CONTAINER,
            .container = {key, "", "", "", "", "", "", "", "", "", false, 0}};
        ring_take(world->ring, &line);
        line = (struct recording_line){.kind = RECORDING_READ,
                                       .read = {.key = key, .group = GROUP_CORE, .present = 1}};
        ring_take(world->ring, &line);
        line = (struct recording_line){.kind = RECORDING_GONE, .gone.key = key};
        ring_take(world->ring, &line);
        ring_flush(world->ring);
        assert_int_equal(ring_player_run(player), 0);
        assert_true(ring_player_bytes(player) <= 2 * played);
    }
    ring_figures(world->ring, &after);
    assert_true(after.bytes < 2 * before.bytes + 65536);
    ring_player_free(player);
    assert_int_equal(recorder_free(recorder), 0);
    world_free(world);
}

TEST(test_every_kind_of_line_is_packed_and_read)
{
    const struct recording_line lines[] = {
        {.kind = RECORDING_TICK, .tick = {1, UINT64_MAX, 2}},
        {.kind = RECORDING_GONE, .gone.key = "c1"},
        {.kind = RECORDING_MARK, .mark = {"waits", ""}},
        {.kind = RECORDING_PROBE, .probe = {.latency_ns = 88.8, .cpu = -1}},
        {.kind = RECORDING_LOST, .lost = {.count = 3}},
        {.kind = RECORDING_SAMPLE, .sample = {.key = "c1", .sample = {.address = 7}}},
        {.kind = RECORDING_THREAD, .thread = {.key = "p0", .kind = "probe", .cpu = 3}},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct textbuf bytes = TEXTBUF_INIT, again = TEXTBUF_INIT;
        struct recording_line out;
        pack_line(&bytes, &lines[i]);
        for (size_t len = 0; len <= bytes.len; len++) {
            uint8_t *exact = malloc(len + 1); /* so that a sanitizer sees what is read beyond */
            memcpy(exact, bytes.data, len);
            struct unpack in = {exact, exact + len, false};
            assert_int_equal(unpack_line(&in, &out), len == bytes.len);
            if (len == bytes.len) {
                pack_line(&again, &out);
                assert_memory_equal(again.data, bytes.data, bytes.len);
            }
            free(exact);
        }
        textbuf_release(&bytes);
        textbuf_release(&again);
    }
}

/* Who sends it may be in the hands of another: none of these can have been a line. */
TEST(test_what_is_no_line_is_refused)
{
    struct recording_line lines[] = {
        {.kind = RECORDING_HEADER},
        {.kind = RECORDING_UNIT},
        {.kind = RECORDING_THREAD},
        {.kind = RECORDING_SAMPLE, .sample = {.key = "c1", .sample = {.access = ACCESS_KINDS}}},
        {.kind = RECORDING_SAMPLE, .sample = {.key = "c1", .sample = {.medium = MEDIA}}},
        {.kind = RECORDING_SAMPLE, .sample = {.key = "c1", .sample = {.size = ACCESS_SIZES}}},
        {.kind = RECORDING_LOST, .lost = {.access = ACCESS_KINDS}},
        {.kind = RECORDING_MARK, .mark = {"../x", ""}},
        {.kind = RECORDING_MARK, .mark = {"", ""}},
        {.kind = RECORDING_MARK, .mark = {"waits", "a key that is longer than any of them"}},
    };
    memset(&lines[0].header.machine.guest, 2, 1);
    memset(lines[1].unit.key, 'k', sizeof lines[1].unit.key);
    memset(lines[2].thread.kind, 'k', sizeof lines[2].thread.kind);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct textbuf bytes = TEXTBUF_INIT;
        struct recording_line out;
        pack_line(&bytes, &lines[i]);
        struct unpack in = {(uint8_t *)bytes.data, (uint8_t *)bytes.data + bytes.len, false};
        assert_false(unpack_line(&in, &out));
        textbuf_release(&bytes);
    }
}

TEST(test_more_than_can_be_learned_is_not_kept)
{
    static const uint8_t bytes[64];
    struct ring_figures before, after;
    struct world *world = world_new(900 * second_ns, 64 << 20);
    ring_figures(world->ring, &before);
    ring_learn(world->ring, bytes, sizeof bytes, 0, RECORDING_LEARNED_MAX + 1);
    ring_figures(world->ring, &after);
    assert_int_equal(after.bytes, before.bytes);
    ring_learn(world->ring, bytes, sizeof bytes, 0, RECORDING_LEARNED_MAX);
    ring_figures(world->ring, &after);
    assert_true(after.bytes > before.bytes);
    world_free(world);
}
