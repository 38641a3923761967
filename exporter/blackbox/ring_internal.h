/* What ring.c puts in and ring_player.c takes out. */
#ifndef IE_BLACKBOX_RING_INTERNAL_H
#define IE_BLACKBOX_RING_INTERNAL_H

#include "exporter/base/hash_table.h"
#include "exporter/blackbox/pack.h"
#include "exporter/blackbox/ring.h"

/* What a chunk is made of; the byte before each. */
enum ring_op {
    RING_LINE,  /* pack_line() */
    RING_KEPT,  /* the same, of a container that is there as the chunk begins */
    RING_ROW,   /* a row's number, and what it is: at its first reading in a chunk */
    RING_READ,  /* a row's number, and what grew */
    RING_FLUSH, /* the tick is whole */
};

/* Ops, with numbers in groups of seven bits; and apart from them the clocks and counts of rows and
 * readings, whose last digits are random: of each its bits below the highest one, which begin with
 * a byte at each tick and are not compressed, and by field how many bits it has, which are much the
 * same from one row to the next. */
enum ring_column {
    RING_OPS,
    RING_BITS,
    RING_ENABLED,
    RING_RUNNING,
    RING_VALUES,
    RING_COLUMNS = RING_VALUES + GROUP_MAX_ROLES
};
enum { RING_MINUS = 0x80 }; /* with the number of bits */

struct ring_chunk {
    struct ring_chunk *next;
    uint64_t serial;
    struct textbuf columns[RING_COLUMNS]; /* compressed, if packed_len > 0 */
    size_t len[RING_COLUMNS];             /* as they are read */
    size_t packed_len[RING_COLUMNS];
    uint64_t bits; /* the next ones, of which there are fewer than 8 */
    unsigned n_bits;
    uint64_t number;                                     /* the last reading's row */
    size_t whole;                                        /* up to here ticks are whole: of ops */
    uint64_t before_mono_ns, begin_mono_ns, end_mono_ns; /* the tick before; first and last */
    uint64_t ticks;
    struct ring_learned {
        struct textbuf packed; /* pieces: of each its length, its compressed length, and that */
        size_t len, whole;     /* as it was; of the pieces so far, and of all */
        uint64_t chunk;        /* which begins with it; 0: the next one */
    } learned;                 /* before its first tick; len 0: there is none */
};

struct ring {
    struct ring_limits limits;
    struct ring_chunk *oldest, *newest;
    uint64_t serials, numbers; /* given so far */
    struct textbuf start;      /* packed lines: units and threads */
    struct recording_line header;
    struct ring_learned learned; /* until all its pieces are there */
    bool has_header, within_tick;
    bool resumes; /* the next tick, or this one, is the first after others that are not here */
    uint64_t last_mono_ns;
    struct hash_table rows, containers;
    size_t known_bytes; /* of both */
    char (*gone)[RECORDING_MAX_KEY + 1];
    size_t n_gone, gone_cap;
    struct libdeflate_compressor *compressor;
};

/* Levels hold from one reading to the next and are no totals. */
static inline bool ring_is_level(enum group group)
{
    return group == GROUP_PAGES || group == GROUP_BOUNDS;
}

#endif
