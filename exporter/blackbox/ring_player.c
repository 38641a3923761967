#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/blackbox/ring_internal.h"

/* A row as it comes out. */
struct played {
    uint64_t number;
    struct recording_read last;                               /* absolute, as it was live */
    uint64_t enabled_ns, running_ns, values[GROUP_MAX_ROLES]; /* where the recording begins */
    bool due;  /* a level of which the first tick has no reading yet */
    bool gone; /* its owner is: this tick's readings are the last */
    char key[RECORDING_MAX_KEY + 1];
};

struct ring_player {
    struct ring *ring;
    struct recorder *recorder;
    uint64_t serial;                     /* of the chunk that is being read */
    size_t at[RING_COLUMNS];             /* in it */
    struct unpack columns[RING_COLUMNS]; /* of it, from there on */
    uint64_t bits;                       /* the next ones, of which there are fewer than 8 */
    unsigned n_bits;
    uint64_t number; /* the last reading's row */
    bool begun;      /* the first tick is over */
    bool some_gone;
    uint64_t before_mono_ns;
    struct hash_table rows;
};

static uint64_t hash_of(uint64_t number)
{
    return number * UINT64_C(0x9e3779b97f4a7c15);
}

static struct played *find_row(const struct ring_player *player, uint64_t number)
{
    struct played *row;
    size_t at = 0;
    do
        row = hash_table_next(&player->rows, hash_of(number), &at);
    while (row && row->number != number);
    return row;
}

void ring_player_free(struct ring_player *player)
{
    if (!player)
        return;
    for (size_t i = 0; i < player->rows.cap; i++)
        free(player->rows.slots[i].value);
    hash_table_release(&player->rows);
    free(player);
}

/* ---- what a chunk says ---- */

static uint64_t take_byte(struct unpack *in)
{
    if (in->at < in->end)
        return *in->at++;
    in->failed = true;
    return 0;
}

static uint64_t take_bits(struct ring_player *player, unsigned n)
{
    uint64_t bits = 0;
    for (unsigned got = 0, some; got < n; got += some) {
        if (player->n_bits == 0) {
            player->bits = take_byte(&player->columns[RING_BITS]);
            player->n_bits = 8;
        }
        some = n - got < player->n_bits ? n - got : player->n_bits;
        bits |= (player->bits & ((1u << some) - 1)) << got;
        player->bits >>= some;
        player->n_bits -= some;
    }
    return bits;
}

/* Wrong bytes are a failure of the ops. */
static uint64_t take_value(struct ring_player *player, enum ring_column column)
{
    struct unpack *columns = player->columns;
    uint8_t byte = (uint8_t)take_byte(&columns[column]), n = byte & ~RING_MINUS;
    if (n > 64) {
        columns[RING_OPS].failed = true;
        return 0;
    }
    uint64_t size = n < 2 ? n : UINT64_C(1) << (n - 1) | take_bits(player, n - 1u);
    columns[RING_OPS].failed |= columns[column].failed || columns[RING_BITS].failed;
    return byte & RING_MINUS ? 0 - size : size;
}

static int take_row(struct ring_player *player, struct unpack *in)
{
    struct played row = {.number = unpack_u64(in)};
    strncpy(row.key, unpack_text(in), sizeof row.key - 1);
    uint64_t group = unpack_u64(in);
    if (in->failed || group >= GROUP_COUNT)
        return -EBADMSG;
    row.last.group = (enum group)group;
    row.last.cpu = (int)unpack_signed(unpack_u64(in));
    row.last.present = (uint32_t)unpack_u64(in);
    row.last.enabled_ns = take_value(player, RING_ENABLED);
    row.last.running_ns = take_value(player, RING_RUNNING);
    for (size_t i = 0; i < group_descs[group].n; i++)
        row.last.values[i] = take_value(player, RING_VALUES + i);
    if (in->failed || find_row(player, row.number))
        return in->failed ? -EBADMSG : 0;
    if (ring_is_level(row.last.group)) {
        row.due = !player->begun && row.last.present != 0;
    } else {
        row.enabled_ns = row.last.enabled_ns;
        row.running_ns = row.last.running_ns;
        memcpy(row.values, row.last.values, sizeof row.values);
    }
    struct played *made = malloc(sizeof *made);
    if (!made || hash_table_reserve(&player->rows, player->rows.n + 1)) {
        free(made);
        return -ENOMEM;
    }
    *made = row;
    hash_table_insert(&player->rows, hash_of(row.number), made);
    return 0;
}

/* A total may have fallen since the recording's begin (a group that was opened anew); it is then
 * 0, which to who replays it is a fall, too. */
static uint64_t since(uint64_t value, uint64_t origin)
{
    return value > origin ? value - origin : 0;
}

static void give_row(const struct ring_player *player, struct played *row)
{
    struct recording_line line;
    struct recording_read *read = &line.read;
    line.kind = RECORDING_READ;
    *read = row->last;
    read->key = row->key;
    read->enabled_ns = since(read->enabled_ns, row->enabled_ns);
    read->running_ns = since(read->running_ns, row->running_ns);
    for (size_t i = 0; i < group_descs[read->group].n; i++)
        read->values[i] = since(read->values[i], row->values[i]);
    recorder_line(player->recorder, &line);
    row->due = false;
}

static int take_reading(struct ring_player *player, struct unpack *in)
{
    player->number += (uint64_t)unpack_signed(unpack_u64(in));
    struct played *row = find_row(player, player->number);
    if (in->failed || !row)
        return -EBADMSG;
    struct recording_read *read = &row->last;
    read->present = (uint32_t)unpack_u64(in);
    uint64_t enabled = take_value(player, RING_ENABLED);
    bool anew = false;
    read->enabled_ns += enabled;
    read->running_ns += enabled + take_value(player, RING_RUNNING);
    for (size_t i = 0; i < group_descs[read->group].n; i++) {
        if (!(read->present >> i & 1))
            continue;
        read->values[i] += take_value(player, RING_VALUES + i);
        anew |= read->values[i] < row->values[i];
    }
    if (in->failed)
        return -EBADMSG;
    if (anew || read->enabled_ns < row->enabled_ns) { /* opened anew: it begins again here */
        row->enabled_ns = read->enabled_ns;
        row->running_ns = read->running_ns;
        memcpy(row->values, read->values, sizeof row->values);
    }
    give_row(player, row);
    return 0;
}

static void take_kept(struct ring_player *player, struct recording_line *line)
{
    if (player->begun)
        return;
    /* Its first window begins with the tick before, where its totals do. */
    if (line->container.found_mono_ns < player->before_mono_ns)
        line->container.found_mono_ns = player->before_mono_ns;
    recorder_line(player->recorder, line);
}

static void note_gone(struct ring_player *player, const char *key)
{
    for (size_t i = 0; i < player->rows.cap; i++) {
        struct played *row = player->rows.slots[i].value;
        if (row && strcmp(row->key, key) == 0)
            row->gone = player->some_gone = true;
    }
}

/* As the ring does; for want of memory later. */
static void forget_gone(struct ring_player *player)
{
    struct hash_table left = {0};
    if (!player->some_gone || hash_table_reserve(&left, player->rows.n + 1))
        return;
    for (size_t i = 0; i < player->rows.cap; i++) {
        struct played *row = player->rows.slots[i].value;
        if (row && row->gone)
            free(row);
        else if (row)
            hash_table_insert(&left, player->rows.slots[i].hash, row);
    }
    hash_table_release(&player->rows);
    player->rows = left;
    player->some_gone = false;
}

static void give_due(const struct ring_player *player)
{
    for (size_t i = 0; i < player->rows.cap; i++) {
        struct played *row = player->rows.slots[i].value;
        if (row && row->due)
            give_row(player, row);
    }
}

static int take_op(struct ring_player *player, struct unpack *in)
{
    struct recording_line line;
    uint8_t op = *in->at++;
    switch (op) {
    case RING_ROW:
        return take_row(player, in);
    case RING_READ:
        return take_reading(player, in);
    case RING_LINE:
    case RING_KEPT:
        if (!unpack_line(in, &line))
            return -EBADMSG;
        if (op == RING_KEPT)
            take_kept(player, &line);
        else
            recorder_line(player->recorder, &line);
        if (line.kind == RECORDING_GONE)
            note_gone(player, line.gone.key);
        return 0;
    case RING_FLUSH:
        if (!player->begun)
            give_due(player);
        player->begun = true;
        player->n_bits = 0;
        forget_gone(player);
        recorder_flush(player->recorder);
        return 0;
    default:
        return -EBADMSG;
    }
}

/* ---- chunk after chunk ---- */

/* Of compressed bytes in 'room'; NULL: out of memory. */
static const uint8_t *inflated(const struct textbuf *packed, size_t len, struct textbuf *room)
{
    struct libdeflate_decompressor *unpack = libdeflate_alloc_decompressor();
    textbuf_clear(room);
    bool whole = unpack && textbuf_reserve(room, len) == 0 &&
                 libdeflate_deflate_decompress(unpack, packed->data, packed->len, room->data, len,
                                               NULL) == LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(unpack);
    return whole ? (const uint8_t *)room->data : NULL;
}

static int play_chunk(struct ring_player *player, const struct ring_chunk *chunk)
{
    struct textbuf rooms[RING_COLUMNS] = {0};
    const uint8_t *begin[RING_COLUMNS];
    struct unpack *in = player->columns;
    int err = 0;
    if (chunk->serial != player->serial) {
        player->serial = chunk->serial;
        player->number = 0;
        memset(player->at, 0, sizeof player->at);
    }
    if (player->at[RING_OPS] == chunk->whole)
        return 0;
    for (size_t i = 0; i < RING_COLUMNS && !err; i++) {
        const struct textbuf *bytes = &chunk->columns[i];
        bool packed = chunk->packed_len[i] > 0;
        size_t len = packed ? chunk->len[i] : bytes->len;
        begin[i] = packed ? inflated(bytes, len, &rooms[i]) : (const uint8_t *)bytes->data;
        if (begin[i])
            in[i] = (struct unpack){.at = begin[i] + player->at[i], .end = begin[i] + len};
        else if (len > 0)
            err = -ENOMEM;
        else
            in[i] = (struct unpack){0};
    }
    if (!err)
        in[RING_OPS].end = begin[RING_OPS] + chunk->whole;
    while (!err && in[RING_OPS].at < in[RING_OPS].end)
        err = take_op(player, &in[RING_OPS]);
    for (size_t i = 0; i < RING_COLUMNS; i++) {
        if (!err && begin[i])
            player->at[i] = (size_t)(in[i].at - begin[i]);
        textbuf_release(&rooms[i]);
    }
    return err;
}

int ring_player_run(struct ring_player *player)
{
    int err = 0;
    for (const struct ring_chunk *chunk = player->ring->oldest; chunk && !err; chunk = chunk->next)
        if (chunk->serial >= player->serial)
            err = play_chunk(player, chunk);
    return err;
}

size_t ring_player_bytes(const struct ring_player *player)
{
    return sizeof *player + player->rows.n * sizeof(struct played) +
           player->rows.cap * sizeof(struct hash_slot);
}

/* A line for each piece. */
static int give_learned(const struct ring_player *player, const struct ring_learned *learned)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *begin = (const uint8_t *)learned->packed.data;
    struct unpack in = {.at = begin, .end = begin + learned->packed.len};
    struct textbuf room = TEXTBUF_INIT, hex = TEXTBUF_INIT;
    int err = 0;
    while (in.at < in.end && !err) {
        size_t len = unpack_u64(&in), packed_len = unpack_u64(&in);
        const struct textbuf piece = {.data = learned->packed.data + (in.at - begin),
                                      .len = packed_len};
        const uint8_t *bytes = inflated(&piece, len, &room);
        textbuf_clear(&hex);
        for (size_t i = 0; bytes && i < len; i++) {
            textbuf_char(&hex, digits[bytes[i] >> 4]);
            textbuf_char(&hex, digits[bytes[i] & 15]);
        }
        err = bytes ? textbuf_finish(&hex) : -ENOMEM;
        if (!err)
            recorder_line(player->recorder, &(struct recording_line){.kind = RECORDING_LEARNED,
                                                                     .learned = {hex.data}});
        in.at += packed_len;
    }
    textbuf_release(&hex);
    textbuf_release(&room);
    return err;
}

int ring_player_new(struct ring *ring, struct recorder *recorder, struct ring_player **out)
{
    if (!ring->oldest || ring->oldest->ticks == 0)
        return -ENODATA;
    struct ring_player *player = calloc(1, sizeof *player);
    if (!player)
        return -ENOMEM;
    player->ring = ring;
    player->recorder = recorder;
    player->before_mono_ns = ring->oldest->before_mono_ns;
    struct unpack in = unpack_begin(&ring->start);
    struct recording_line line;
    while (in.at < in.end && unpack_line(&in, &line))
        recorder_line(recorder, &line);
    int err = ring->oldest->learned.len > 0 ? give_learned(player, &ring->oldest->learned) : 0;
    if (err)
        ring_player_free(player);
    else
        *out = player;
    return err;
}
