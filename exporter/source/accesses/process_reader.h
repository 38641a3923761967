/*
 * Reading other processes' mappings and code, as an interface: own_reader.h does it here and now;
 * exporter/inspect/ has another process do it, which can be left alone when a read does not end.
 *
 * Threads are processes, too: a number is a process's or a thread's. One thread calls.
 */
#ifndef IE_SOURCE_ACCESSES_PROCESS_READER_H
#define IE_SOURCE_ACCESSES_PROCESS_READER_H

#include <stdbool.h>

#include "exporter/source/accesses/instruction.h"

struct process_reader {
    const struct process_reader_ops *ops;
};

struct process_reader_ops {
    /* The text of its maps, in pieces of whole lines: 0 or -errno; then 1 with a piece, valid until
     * the next call, 0 at the end, -EFBIG for more than 8 MiB, or -errno. */
    int (*open_maps)(struct process_reader *reader, uint32_t number);
    int (*next_maps)(struct process_reader *reader, const char **text, size_t *len);
    void (*close_maps)(struct process_reader *reader);
    /* As process_code_read and process_code_is_wide of own_reader.h. */
    int (*code)(struct process_reader *reader, uint32_t number, uint64_t address,
                uint8_t out[ACCESS_CODE_BYTES]);
    int (*is_wide)(struct process_reader *reader, uint32_t number, bool *out);

    /* ---- where another process reads; NULL: here ---- */

    /* Whether it has a capability (CAP_... of linux/capability.h). */
    bool (*may)(const struct process_reader *reader, int capability);
    /* Whether there is somebody to ask now. If not, all of the above is -EAGAIN. */
    bool (*is_ready)(struct process_reader *reader);
    /* How many questions got no answer so far: all of the above was -EAGAIN then. 'hung': because
     * the read did not end; the others because the process that reads ended. */
    uint64_t (*unanswered)(const struct process_reader *reader, uint64_t *hung);
    /* The CPU time that it took, besides the caller's. */
    uint64_t (*cpu_ns)(const struct process_reader *reader);
};

static inline bool process_reader_is_ready(struct process_reader *reader)
{
    return !reader->ops->is_ready || reader->ops->is_ready(reader);
}

static inline uint64_t process_reader_unanswered(const struct process_reader *reader,
                                                 uint64_t *hung)
{
    *hung = 0;
    return reader->ops->unanswered ? reader->ops->unanswered(reader, hung) : 0;
}

static inline uint64_t process_reader_cpu_ns(const struct process_reader *reader)
{
    return reader->ops->cpu_ns ? reader->ops->cpu_ns(reader) : 0;
}

#endif
