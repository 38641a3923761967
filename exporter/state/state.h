/*
 * What an exporter learned, as one block of bytes that outlives it: --state.file.
 *
 *     offset  0  "IESTATE\n"
 *             8  u32  STATE_VERSION
 *            12  u32  CRC-32 of everything behind this number
 *            16  u64  length of everything behind this number
 *            24  the identity: which boot of which machine, counting what; when it was written
 *           ...  entries, until the end: u32 length of the rest of the entry, u64 when it was last
 *                true (CLOCK_MONOTONIC), u8 length of the owner's name, the name, u16 length of the
 *                key, the key, the owner's bytes
 *
 * Times in it are of CLOCK_MONOTONIC, which begins anew with each boot: a state is of use to the
 * boot that wrote it only. The owner is a collector's name; the key says which container, and is
 * empty for what it knows of the node. What the owner's bytes are, only the owner knows.
 *
 * Pure, but for memory. Loop thread.
 */
#ifndef IE_STATE_STATE_H
#define IE_STATE_STATE_H

#include "exporter/state/fields.h"

/* To be raised with any change of what some owner writes. */
enum { STATE_VERSION = 4 };
enum { STATE_MAX_BYTES = 256 << 20 };
enum { STATE_MAX_KEY = 4096 + 128, STATE_MAX_OWNER = 64 };

/* Younger than this, or it is of no use: the longest memory of a collector is a day's. */
#define STATE_MAX_AGE_NS (24 * 3600 * UINT64_C(1000000000))
/* An entry that nobody asked for in this time is of a container that is gone, or of a workload
 * that does not come back. */
#define STATE_UNCLAIMED_NS (6 * 3600 * UINT64_C(1000000000))

struct state_identity {
    char boot_id[40]; /* as the kernel tells it, without the newline */
    char microarchitecture[16];
    double base_frequency_hz;
    uint32_t cpus, sockets, numa_nodes;
    uint32_t events; /* differs where other events are counted */
};

/* ---- reading ---- */

struct state;

/*
 * What these bytes hold, if they are whole and written by 'here' within STATE_MAX_AGE_NS before
 * 'now_ns'. 0; otherwise -EINVAL with the reason, a sentence without an end, in 'why', or -ENOMEM.
 * Takes over 'bytes' (from malloc) if it returns 0.
 */
int state_parse(uint8_t *bytes, size_t len, const struct state_identity *here, uint64_t now_ns,
                struct state **out, char *why, size_t why_size);
/* Accepts NULL. */
void state_free(struct state *state);

/* Gives its memory back; there are no entries any more. Accepts NULL. */
void state_forget(struct state *state);

/* Before the first claim: a key becomes what 'other' makes of it (from malloc; NULL: it stays).
 * 0 or -ENOMEM, with some of them as they were. */
int state_rename(struct state *state, char *(*other)(void *context, const char *key),
                 void *context);

size_t state_entries(const struct state *state);
uint64_t state_mono_ns(const struct state *state);

/*
 * The walk over the bytes of this owner's entry, which is from now on no longer carried along:
 * whoever asks is there to write it. False if there is none, or 'state' is NULL.
 */
bool state_claim(struct state *state, const char *owner, const char *key,
                 struct state_fields *fields);

/* ---- writing ---- */

/* A block being written. */
struct state_writer {
    struct state_fields fields;
    size_t entry; /* where the entry in progress began */
};

/* 'room' may be NULL with size 0, to learn how much is needed. */
void state_write_begin(struct state_writer *writer, uint8_t *room, size_t size,
                       const struct state_identity *here, uint64_t now_ns);
/* Between the two: a walk over what the owner keeps under this key, by writer->fields. */
void state_entry_begin(struct state_writer *writer, const char *owner, const char *key);
void state_entry_end(struct state_writer *writer);
/* Entries that nobody has claimed yet, if they are not too old. 'state' may be NULL. */
void state_carry(struct state_writer *writer, const struct state *state);
/* How much is needed, in bytes; the block is whole if that is not more than there was room. */
size_t state_write_end(struct state_writer *writer);

/* Continues a digest over some bytes; 0 before the first. */
uint32_t state_digest(uint32_t digest, const void *bytes, size_t len);

/* Writes length and checksum into a block of at least STATE_HEADER_BYTES. Slow for large ones. */
enum { STATE_HEADER_BYTES = 24 };
void state_seal(uint8_t *bytes, size_t len);

#endif
