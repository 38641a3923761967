/* What is kept across a restart, as bytes: written, read, refused. */
#include "exporter/state/state.h"
#include "tests/unit/support/unit.h"

static const uint64_t hour_ns = 3600ull * 1000000000;
static const uint64_t written_ns = 100 * 3600ull * 1000000000;

static const struct state_identity here = {.boot_id = "b7a0c1de-0000-4000-8000-000000000001",
                                           .microarchitecture = "clx",
                                           .base_frequency_hz = 2.1e9,
                                           .cpus = 48,
                                           .sockets = 2,
                                           .numa_nodes = 2,
                                           .events = 7};

struct learned {
    uint32_t windows;
    double seconds;
    uint16_t count[3];
};

static void walk(struct learned *learned, struct state_fields *fields)
{
    state_u32(fields, &learned->windows, 3600);
    state_double(fields, &learned->seconds, 0, 1);
    state_u16s(fields, learned->count, 3);
}

/* Two containers and the node, of two owners. */
static size_t write_some(uint8_t *room, size_t size)
{
    struct state_writer writer;
    struct learned a = {12, 0.1, {1, 2, 65535}}, b = {3600, 1, {0}}, node = {0};
    state_write_begin(&writer, room, size, &here, written_ns);
    state_entry_begin(&writer, "first", "0123 /a");
    walk(&a, &writer.fields);
    state_entry_end(&writer);
    state_entry_begin(&writer, "first", "4567 /b");
    walk(&b, &writer.fields);
    state_entry_end(&writer);
    state_entry_begin(&writer, "second", "");
    walk(&node, &writer.fields);
    state_entry_end(&writer);
    return state_write_end(&writer);
}

/* From malloc, since whoever parses takes it over, and so that each byte too far is seen. */
static uint8_t *some(size_t *len)
{
    *len = write_some(NULL, 0);
    uint8_t *bytes = malloc(*len);
    assert_int_equal(write_some(bytes, *len), *len);
    state_seal(bytes, *len);
    return bytes;
}

static void expect_refused(uint8_t *bytes, size_t len, const struct state_identity *identity,
                           uint64_t now_ns, const char *reason)
{
    struct state *state = NULL;
    char why[128] = "";
    assert_int_equal(state_parse(bytes, len, identity, now_ns, &state, why, sizeof why), -EINVAL);
    assert_null(state);
    if (reason)
        assert_string_equal(why, reason);
    assert_true(why[0] != '\0');
}

static struct state *parse(uint8_t *bytes, size_t len)
{
    struct state *state = NULL;
    char why[128] = "";
    int err = state_parse(bytes, len, &here, written_ns, &state, why, sizeof why);
    if (err)
        print_message("%s\n", why);
    assert_int_equal(err, 0);
    return state;
}

TEST(what_is_written_is_read)
{
    size_t len;
    uint8_t *bytes = some(&len);
    struct state *kept = parse(bytes, len);
    struct state_fields fields;
    struct learned read = {0};
    assert_int_equal(state_entries(kept), 3);
    assert_int_equal(state_mono_ns(kept), written_ns);
    assert_true(state_claim(kept, "first", "0123 /a", &fields));
    walk(&read, &fields);
    assert_true(state_fits(&fields));
    assert_int_equal(read.windows, 12);
    assert_true(read.seconds == 0.1);
    assert_int_equal(read.count[2], 65535);
    assert_false(state_claim(kept, "first", "0123 /a", &fields)); /* it has its reader */
    assert_false(state_claim(kept, "second", "0123 /a", &fields));
    assert_false(state_claim(kept, "first", "", &fields));
    assert_true(state_claim(kept, "second", "", &fields));
    assert_false(state_claim(NULL, "second", "", &fields));
    state_free(kept);
    state_free(NULL);
}

TEST(an_empty_one_is_whole)
{
    struct state_writer writer;
    uint8_t *bytes = malloc(1000);
    state_write_begin(&writer, bytes, 1000, &here, written_ns);
    size_t len = state_write_end(&writer);
    state_seal(bytes, len);
    struct state *kept = parse(bytes, len);
    struct state_fields fields;
    assert_int_equal(state_entries(kept), 0);
    assert_false(state_claim(kept, "first", "", &fields));
    state_free(kept);
}

TEST(each_refusal_has_its_reason)
{
    size_t len;
    uint8_t *bytes = some(&len);
    struct state_identity other = here;
    strcpy(other.boot_id, "b7a0c1de-0000-4000-8000-000000000002");
    expect_refused(bytes, len, &other, written_ns, "it is of another boot");
    other.boot_id[0] = '\0';
    expect_refused(bytes, len, &other, written_ns, "this boot has no id to compare with");
    other = here;
    strcpy(other.microarchitecture, "icx");
    expect_refused(bytes, len, &other, written_ns, "it is of another microarchitecture");
    other = here;
    other.base_frequency_hz = 2.2e9;
    expect_refused(bytes, len, &other, written_ns, "it is of another base frequency");
    other = here;
    other.cpus = 24;
    expect_refused(bytes, len, &other, written_ns, "it is of another number of CPUs");
    other = here;
    other.sockets = 1;
    expect_refused(bytes, len, &other, written_ns,
                   "it is of another number of sockets or NUMA nodes");
    other = here;
    other.events = 8;
    expect_refused(bytes, len, &other, written_ns, "other events were counted");
    expect_refused(bytes, len, &here, written_ns - 1, "it is of the future");
    expect_refused(bytes, len, &here, written_ns + 24 * hour_ns + 1, "it is more than a day old");

    expect_refused(bytes, 0, &here, written_ns, "it is empty");
    expect_refused(bytes, 20, &here, written_ns, "it is cut off");
    expect_refused(bytes, len - 1, &here, written_ns, "it is cut off");
    bytes[len - 1] ^= 1;
    expect_refused(bytes, len, &here, written_ns, "its checksum is wrong");
    bytes[len - 1] ^= 1;
    bytes[8]++;
    expect_refused(bytes, len, &here, written_ns,
                   "its format is that of another version of the exporter");
    bytes[8]--;
    bytes[0]++;
    expect_refused(bytes, len, &here, written_ns, "it is not a state file");
    bytes[0]--;
    expect_refused(bytes, (size_t)STATE_MAX_BYTES + 1, &here, written_ns, "it is too large");
    state_free(parse(bytes, len));
}

/* A kernel tells the frequency in rounded terms. */
TEST(a_frequency_is_the_same_within_its_rounding)
{
    size_t len;
    uint8_t *bytes = some(&len);
    struct state_identity rounded = here;
    rounded.base_frequency_hz *= 1 + 1e-6;
    struct state *kept = NULL;
    char why[128];
    assert_int_equal(state_parse(bytes, len, &rounded, written_ns, &kept, why, sizeof why), 0);
    state_free(kept);
}

TEST(no_damaged_byte_is_believed)
{
    size_t len;
    uint8_t *bytes = some(&len);
    for (size_t i = 0; i < len; i++) {
        for (unsigned damage = 1; damage < 256; damage += damage) {
            bytes[i] ^= (uint8_t)damage;
            expect_refused(bytes, len, &here, written_ns, NULL);
            bytes[i] ^= (uint8_t)damage;
        }
    }
    for (size_t shorter = 0; shorter < len; shorter++)
        expect_refused(bytes, shorter, &here, written_ns, NULL);
    free(bytes);
}

/* Whoever made the checksum right again: nothing outside the block is read (under the address
 * sanitizer), and what is read is within its range. */
TEST(no_value_is_believed_for_its_checksum)
{
    size_t len, believed = 0;
    uint8_t *bytes = some(&len);
    for (size_t i = 8; i < len; i++) {
        for (unsigned damage = 1; damage < 256; damage += damage) {
            uint8_t *copy = malloc(len);
            memcpy(copy, bytes, len);
            copy[i] ^= (uint8_t)damage;
            state_seal(copy, len);
            struct state *kept = NULL;
            struct state_fields fields;
            char why[128];
            if (state_parse(copy, len, &here, written_ns, &kept, why, sizeof why) != 0) {
                free(copy);
                continue;
            }
            if (state_claim(kept, "first", "0123 /a", &fields)) {
                struct learned read = {0};
                walk(&read, &fields);
                assert_true(read.windows <= 3600);
                assert_true(read.seconds >= 0 && read.seconds <= 1);
                believed += state_fits(&fields);
            }
            state_free(kept);
        }
    }
    assert_true(believed > 0);
    free(bytes);
}

TEST(not_a_number_is_out_of_range)
{
    static const uint8_t nan[] = {0, 0, 0, 0, 0, 0, 0xf8, 0x7f};
    struct state_fields fields = {.from = nan, .size = sizeof nan};
    double value = 1;
    state_double(&fields, &value, 0, 1);
    assert_false(state_fits(&fields));
    assert_true(value == 0);
    float small = 1;
    fields = (struct state_fields){.from = nan + 4, .size = 4};
    state_float(&fields, &small, 0, 1);
    assert_false(state_fits(&fields));
}

TEST(a_short_entry_fails_and_so_does_a_long_one)
{
    uint8_t bytes[32] = {0};
    struct learned read;
    for (size_t size = 0; size < sizeof bytes; size++) {
        struct state_fields fields = {.from = bytes, .size = size};
        memset(&read, 0xff, sizeof read);
        walk(&read, &fields);
        assert_int_equal(state_fits(&fields), size == 4 + 8 + 6);
        if (size == 0)
            assert_int_equal(read.count[0], 0);
    }
}

static size_t carried(struct state *state, uint64_t now_ns)
{
    struct state_writer writer;
    uint8_t *bytes = malloc(1000);
    char why[128];
    struct state *copy;
    state_write_begin(&writer, bytes, 1000, &here, now_ns);
    state_carry(&writer, state);
    size_t len = state_write_end(&writer), n;
    state_seal(bytes, len);
    assert_int_equal(state_parse(bytes, len, &here, now_ns, &copy, why, sizeof why), 0);
    n = state_entries(copy);
    if (n > 0)
        assert_int_equal(carried(copy, now_ns + 6 * hour_ns), 0); /* still as old as it was */
    state_free(copy);
    return n;
}

/* The container may be found later, and the exporter may be restarted before that. */
TEST(what_nobody_claimed_is_carried_for_six_hours)
{
    size_t len;
    uint8_t *bytes = some(&len);
    struct state *kept = parse(bytes, len);
    struct state_fields fields;
    assert_int_equal(carried(kept, written_ns + STATE_UNCLAIMED_NS), 3);
    assert_true(state_claim(kept, "first", "4567 /b", &fields));
    assert_int_equal(carried(kept, written_ns + 1), 2);
    assert_int_equal(carried(kept, written_ns + STATE_UNCLAIMED_NS + 1), 0);
    assert_int_equal(carried(NULL, written_ns), 0);
    state_free(kept);
}

TEST(a_small_room_is_not_exceeded)
{
    size_t len = write_some(NULL, 0);
    for (size_t size = 0; size < len; size++) {
        uint8_t *room = malloc(size + 1);
        assert_int_equal(write_some(room, size), len);
        free(room);
    }
}
