#include "exporter/blackbox/ring.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"
#include "exporter/base/hash.h"
#include "exporter/blackbox/ring_internal.h"

/* A chunk: so long, or so large, whichever comes first. */
static const uint64_t chunk_ns = UINT64_C(60000000000);
enum { CHUNK_BYTES = 4 << 20, LEVEL = 5 };

/* A reading's row, as it was last. */
struct row {
    char key[RECORDING_MAX_KEY + 1];
    enum group group;
    int cpu;
    uint32_t present;
    uint64_t number;
    uint64_t chunk; /* the last one that has its number */
    uint64_t enabled_ns, running_ns;
    uint64_t values[]; /* of the group */
};

struct kept {
    char key[RECORDING_MAX_KEY + 1];
    struct textbuf line;
};

int ring_new(const struct ring_limits *limits, struct ring **out)
{
    struct ring *ring = calloc(1, sizeof *ring);
    if (!ring || !(ring->compressor = libdeflate_alloc_compressor(LEVEL))) {
        free(ring);
        return -ENOMEM;
    }
    ring->limits = *limits;
    *out = ring;
    return 0;
}

/* ---- what is known ---- */

static uint64_t hash_of_row(const char *key, enum group group, int cpu)
{
    return hash_text(key, ((unsigned)cpu + 2) * GROUP_COUNT + group);
}

static size_t row_bytes(enum group group)
{
    return sizeof(struct row) + group_descs[group].n * sizeof(uint64_t);
}

static struct row *row_of(struct ring *ring, const struct recording_read *read)
{
    uint64_t hash = hash_of_row(read->key, read->group, read->cpu);
    struct row *row;
    size_t at = 0;
    do
        row = hash_table_next(&ring->rows, hash, &at);
    while (row && (row->cpu != read->cpu || row->group != read->group ||
                   strcmp(row->key, read->key) != 0));
    if (row || hash_table_reserve(&ring->rows, ring->rows.n + 1) ||
        !(row = calloc(1, row_bytes(read->group))))
        return row;
    strncpy(row->key, read->key, sizeof row->key - 1);
    if (ring->resumes && !ring_is_level(read->group)) {
        row->enabled_ns = read->enabled_ns;
        row->running_ns = read->running_ns;
        memcpy(row->values, read->values, group_descs[read->group].n * sizeof *row->values);
    }
    row->group = read->group;
    row->cpu = read->cpu;
    row->number = ++ring->numbers;
    ring->known_bytes += row_bytes(row->group);
    hash_table_insert(&ring->rows, hash, row);
    return row;
}

static void forget_kept(struct ring *ring, struct kept *kept)
{
    ring->known_bytes -= sizeof *kept + kept->line.cap;
    textbuf_release(&kept->line);
    free(kept);
}

static struct kept *find_kept(const struct ring *ring, const char *key)
{
    struct kept *kept;
    size_t at = 0;
    do
        kept = hash_table_next(&ring->containers, hash_text(key, 0), &at);
    while (kept && strcmp(kept->key, key) != 0);
    return kept;
}

static void keep_container(struct ring *ring, const struct recording_line *line)
{
    const char *key = line->container.key;
    struct kept *kept = find_kept(ring, key);
    if (!kept && hash_table_reserve(&ring->containers, ring->containers.n + 1) == 0 &&
        (kept = calloc(1, sizeof *kept))) {
        strncpy(kept->key, key, sizeof kept->key - 1);
        hash_table_insert(&ring->containers, hash_text(key, 0), kept);
        ring->known_bytes += sizeof *kept;
    }
    if (!kept)
        return;
    ring->known_bytes -= kept->line.cap;
    textbuf_clear(&kept->line);
    pack_line(&kept->line, line);
    ring->known_bytes += kept->line.cap;
}

/* With the next tick: its last readings may come yet. */
static void note_gone(struct ring *ring, const char *key)
{
    if (array_reserve(&ring->gone, &ring->gone_cap, ring->n_gone + 1, sizeof *ring->gone))
        return;
    strncpy(ring->gone[ring->n_gone], key, RECORDING_MAX_KEY);
    ring->gone[ring->n_gone++][RECORDING_MAX_KEY] = '\0';
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void settle_gone(struct ring *ring)
{
    struct hash_table left = {0};
    size_t n = ring->n_gone;
    ring->n_gone = 0;
    if (n == 0 || hash_table_reserve(&left, ring->rows.n + 1))
        return;
    qsort(ring->gone, n, sizeof *ring->gone, compare_keys);
    for (size_t i = 0; i < ring->rows.cap; i++) {
        struct row *row = ring->rows.slots[i].value;
        if (row && bsearch(row->key, ring->gone, n, sizeof *ring->gone, compare_keys)) {
            ring->known_bytes -= row_bytes(row->group);
            free(row);
        } else if (row) {
            hash_table_insert(&left, ring->rows.slots[i].hash, row);
        }
    }
    hash_table_release(&ring->rows);
    ring->rows = left;
    for (size_t i = 0; i < n; i++) {
        struct kept *kept = find_kept(ring, ring->gone[i]);
        if (!kept)
            continue;
        hash_table_remove(&ring->containers, hash_text(kept->key, 0), kept);
        forget_kept(ring, kept);
    }
}

/* ---- chunks ---- */

static void free_chunk(struct ring_chunk *chunk)
{
    for (size_t i = 0; i < RING_COLUMNS; i++)
        textbuf_release(&chunk->columns[i]);
    textbuf_release(&chunk->learned.packed);
    free(chunk);
}

static void drop_oldest(struct ring *ring)
{
    struct ring_chunk *chunk = ring->oldest;
    ring->oldest = chunk->next;
    if (!ring->oldest)
        ring->newest = NULL;
    free_chunk(chunk);
}

void ring_free(struct ring *ring)
{
    if (!ring)
        return;
    while (ring->oldest)
        drop_oldest(ring);
    for (size_t i = 0; i < ring->rows.cap; i++)
        free(ring->rows.slots[i].value);
    for (size_t i = 0; i < ring->containers.cap; i++)
        if (ring->containers.slots[i].value)
            forget_kept(ring, ring->containers.slots[i].value);
    hash_table_release(&ring->rows);
    hash_table_release(&ring->containers);
    textbuf_release(&ring->start);
    textbuf_release(&ring->learned.packed);
    libdeflate_free_compressor(ring->compressor);
    free(ring->gone);
    free(ring);
}

/* To what is used: it does not grow any more. */
static void shrink(struct textbuf *bytes)
{
    char *exact = realloc(bytes->data, bytes->len + 1);
    if (!exact)
        return;
    bytes->data = exact;
    bytes->cap = bytes->len + 1;
}

/* Empty: it would not become smaller. */
static struct textbuf deflated(struct ring *ring, const void *bytes, size_t len)
{
    struct textbuf packed = TEXTBUF_INIT;
    if (textbuf_reserve(&packed, len) == 0)
        packed.len =
            libdeflate_deflate_compress(ring->compressor, bytes, len, packed.data, packed.cap);
    if (packed.len == 0)
        textbuf_release(&packed);
    else
        shrink(&packed);
    return packed;
}

static void compress(struct ring *ring, struct ring_chunk *chunk)
{
    for (size_t i = 0; i < RING_COLUMNS; i++) {
        struct textbuf *column = &chunk->columns[i], packed = TEXTBUF_INIT;
        chunk->len[i] = column->len;
        if (i != RING_BITS)
            packed = deflated(ring, column->data, column->len);
        if (packed.len == 0) {
            shrink(column);
            continue;
        }
        textbuf_release(column);
        *column = packed;
        chunk->packed_len[i] = packed.len;
    }
}

static void put_bits(struct ring_chunk *chunk, uint64_t bits, unsigned n)
{
    while (n > 0) {
        unsigned room = 8 - chunk->n_bits, some = n < room ? n : room;
        chunk->bits |= (bits & ((1u << some) - 1)) << chunk->n_bits;
        bits >>= some;
        n -= some;
        chunk->n_bits += some;
        if (chunk->n_bits == 8) {
            textbuf_char(&chunk->columns[RING_BITS], (char)chunk->bits);
            chunk->bits = chunk->n_bits = 0;
        }
    }
}

static void put_value(struct ring_chunk *chunk, enum ring_column column, uint64_t value)
{
    bool minus = value >> 63;
    uint64_t size = minus ? 0 - value : value;
    unsigned n = size == 0 ? 0 : 64 - (unsigned)__builtin_clzll(size);
    textbuf_char(&chunk->columns[column], (char)(minus ? n | RING_MINUS : n));
    if (n > 1)
        put_bits(chunk, size, n - 1);
}

/* The number, what it is, and where it stood before the first reading that follows. */
static void put_row(struct ring_chunk *chunk, struct row *row)
{
    struct textbuf *out = &chunk->columns[RING_OPS];
    textbuf_char(out, RING_ROW);
    pack_u64(out, row->number);
    pack_text(out, row->key);
    pack_u64(out, row->group);
    pack_u64(out, pack_signed(row->cpu));
    pack_u64(out, row->present);
    put_value(chunk, RING_ENABLED, row->enabled_ns);
    put_value(chunk, RING_RUNNING, row->running_ns);
    for (size_t i = 0; i < group_descs[row->group].n; i++)
        put_value(chunk, RING_VALUES + i, row->values[i]);
    row->chunk = chunk->serial;
}

static void describe_start(struct ring *ring)
{
    struct textbuf *out = &ring->newest->columns[RING_OPS];
    for (size_t i = 0; i < ring->containers.cap; i++) {
        const struct kept *kept = ring->containers.slots[i].value;
        if (!kept || kept->line.error)
            continue;
        textbuf_char(out, RING_KEPT);
        textbuf_add(out, kept->line.data, kept->line.len);
    }
    for (size_t i = 0; i < ring->rows.cap; i++) {
        struct row *row = ring->rows.slots[i].value;
        if (row && ring_is_level(row->group))
            put_row(ring->newest, row);
    }
}

static void forget_learned(struct ring *ring)
{
    textbuf_release(&ring->learned.packed);
    ring->learned = (struct ring_learned){0};
}

/* To its chunk, which may have gone. */
static void settle_learned(struct ring *ring)
{
    struct ring_chunk *chunk = ring->oldest;
    if (ring->learned.len < ring->learned.whole || ring->learned.chunk == 0)
        return;
    while (chunk && chunk->serial != ring->learned.chunk)
        chunk = chunk->next;
    if (!chunk) {
        forget_learned(ring);
        return;
    }
    chunk->learned = ring->learned;
    ring->learned = (struct ring_learned){0};
}

static bool begins_with_learned(const struct ring *ring)
{
    return ring->learned.len > 0 && ring->learned.chunk == 0;
}

static int begin_chunk(struct ring *ring)
{
    struct ring_chunk *chunk = calloc(1, sizeof *chunk);
    if (!chunk)
        return -ENOMEM;
    chunk->serial = ++ring->serials;
    chunk->before_mono_ns = ring->last_mono_ns;
    if (begins_with_learned(ring))
        ring->learned.chunk = chunk->serial;
    if (ring->newest)
        compress(ring, ring->newest);
    *(ring->newest ? &ring->newest->next : &ring->oldest) = chunk;
    ring->newest = chunk;
    settle_learned(ring);
    describe_start(ring);
    return 0;
}

void ring_figures(const struct ring *ring, struct ring_figures *out)
{
    *out = (struct ring_figures){.bytes = ring->known_bytes + ring->start.cap +
                                          ring->learned.packed.cap};
    for (const struct ring_chunk *chunk = ring->oldest; chunk; chunk = chunk->next) {
        out->bytes += sizeof *chunk + chunk->learned.packed.cap;
        for (size_t i = 0; i < RING_COLUMNS; i++)
            out->bytes += chunk->columns[i].len; /* what is beyond was never touched */
        out->ticks += chunk->ticks;
        if (out->begin_mono_ns == 0)
            out->begin_mono_ns = chunk->begin_mono_ns;
        if (chunk->ticks > 0)
            out->end_mono_ns = chunk->end_mono_ns;
    }
    out->bytes += (ring->rows.cap + ring->containers.cap) * sizeof(struct hash_slot);
}

/* Where a recording may begin without the oldest chunk; NULL: nowhere. */
static const struct ring_chunk *next_begin(const struct ring *ring)
{
    const struct ring_chunk *next = ring->oldest->next;
    while (next && next->learned.len == 0)
        next = next->next;
    return next ? next : ring->oldest->next;
}

static void drop_old(struct ring *ring, uint64_t now_ns)
{
    const struct ring_chunk *next;
    struct ring_figures now;
    for (ring_figures(ring, &now);
         (next = next_begin(ring)) && (now_ns - next->begin_mono_ns >= ring->limits.span_ns ||
                                       now.bytes > ring->limits.max_bytes);
         ring_figures(ring, &now))
        while (ring->oldest != next)
            drop_oldest(ring);
}

/* ---- lines ---- */

static size_t length(const struct ring_chunk *chunk)
{
    size_t len = 0;
    for (size_t i = 0; i < RING_COLUMNS; i++)
        len += chunk->columns[i].len;
    return len;
}

static void take_tick(struct ring *ring, const struct recording_line *line)
{
    uint64_t now_ns = line->tick.mono_ns;
    struct ring_chunk *chunk = ring->newest;
    settle_gone(ring);
    if ((!chunk || begins_with_learned(ring) || now_ns - chunk->begin_mono_ns >= chunk_ns ||
         length(chunk) >= CHUNK_BYTES) &&
        begin_chunk(ring) != 0)
        return;
    chunk = ring->newest;
    if (chunk->begin_mono_ns == 0)
        chunk->begin_mono_ns = now_ns;
    drop_old(ring, now_ns);
    ring->within_tick = true;
    ring->last_mono_ns = now_ns;
    textbuf_char(&chunk->columns[RING_OPS], RING_LINE);
    pack_line(&chunk->columns[RING_OPS], line);
}

static void take_reading(struct ring *ring, const struct recording_read *read)
{
    struct row *row = row_of(ring, read);
    struct ring_chunk *chunk = ring->newest;
    struct textbuf *out = &chunk->columns[RING_OPS];
    if (!row)
        return;
    if (row->chunk != chunk->serial)
        put_row(chunk, row);
    uint64_t enabled = read->enabled_ns - row->enabled_ns;
    textbuf_char(out, RING_READ);
    pack_u64(out, pack_signed((int64_t)(row->number - chunk->number)));
    pack_u64(out, read->present);
    chunk->number = row->number;
    put_value(chunk, RING_ENABLED, enabled);
    put_value(chunk, RING_RUNNING, read->running_ns - row->running_ns - enabled);
    for (size_t i = 0; i < group_descs[row->group].n; i++) {
        if (!(read->present >> i & 1))
            continue;
        put_value(chunk, RING_VALUES + i, read->values[i] - row->values[i]);
        row->values[i] = read->values[i];
    }
    row->present |= read->present;
    row->enabled_ns = read->enabled_ns;
    row->running_ns = read->running_ns;
}

void ring_take(struct ring *ring, const struct recording_line *line)
{
    if (line->kind == RECORDING_HEADER) {
        ring->header = *line;
        ring->has_header = true;
    } else if (line->kind == RECORDING_UNIT || line->kind == RECORDING_THREAD) {
        pack_line(&ring->start, line);
    } else if (line->kind == RECORDING_TICK) {
        take_tick(ring, line);
    } else {
        if (line->kind == RECORDING_CONTAINER)
            keep_container(ring, line);
        if (line->kind == RECORDING_GONE)
            note_gone(ring, line->gone.key);
        if (!ring->within_tick)
            return;
        if (line->kind == RECORDING_READ) {
            take_reading(ring, &line->read);
        } else {
            textbuf_char(&ring->newest->columns[RING_OPS], RING_LINE);
            pack_line(&ring->newest->columns[RING_OPS], line);
        }
    }
}

void ring_flush(struct ring *ring)
{
    struct ring_chunk *chunk = ring->newest;
    if (!ring->within_tick)
        return;
    ring->within_tick = ring->resumes = false;
    textbuf_char(&chunk->columns[RING_OPS], RING_FLUSH);
    put_bits(chunk, 0, (8 - chunk->n_bits) % 8);
    int err = 0;
    for (size_t i = 0; i < RING_COLUMNS && !err; i++)
        err = textbuf_finish(&chunk->columns[i]);
    if (err) {
        while (ring->oldest)
            drop_oldest(ring);
        return;
    }
    chunk->whole = chunk->columns[RING_OPS].len;
    chunk->end_mono_ns = ring->last_mono_ns;
    chunk->ticks++;
}

void ring_learn(struct ring *ring, const uint8_t *bytes, size_t len, uint64_t at, uint64_t whole)
{
    struct ring_learned *learned = &ring->learned;
    if (whole > RECORDING_LEARNED_MAX || len > RECORDING_LEARNED_PIECE) {
        forget_learned(ring);
        return;
    }
    if (at == 0) {
        forget_learned(ring);
        learned->whole = whole;
    }
    struct textbuf packed = deflated(ring, bytes, len);
    bool follows = at == learned->len && whole == learned->whole && len <= whole - at;
    if (follows && packed.len > 0) {
        pack_u64(&learned->packed, len);
        pack_u64(&learned->packed, packed.len);
        textbuf_add(&learned->packed, packed.data, packed.len);
        learned->len += len;
    }
    if (!follows || packed.len == 0 || learned->packed.error)
        forget_learned(ring);
    else
        settle_learned(ring);
    textbuf_release(&packed);
}

void ring_resume(struct ring *ring)
{
    ring->resumes = true;
}

const struct recording_line *ring_header(const struct ring *ring)
{
    return ring->has_header ? &ring->header : NULL;
}
