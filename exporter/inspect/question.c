#include "exporter/inspect/question.h"

#include <errno.h>
#include <string.h>

enum { READABLE = 1, WRITABLE = 2, EXECUTABLE = 4, SHARED = 8, FLAGS = 15 };

struct question_bytes {
    uint32_t kind, number, access, flags;
    uint64_t address, start, end, offset, inode;
    uint32_t major, minor;
};

struct answer_bytes {
    int32_t result;
    uint32_t unused;
    uint64_t cpu_ns;
};

_Static_assert(sizeof(struct question_bytes) + QUESTION_PATH_BYTES <= QUESTION_BYTES, "fits");
_Static_assert(sizeof(struct answer_bytes) == ANSWER_HEAD, "fits");

static uint32_t flags_of(const struct maps_line *line)
{
    return (line->readable ? READABLE : 0) | (line->writable ? WRITABLE : 0) |
           (line->executable ? EXECUTABLE : 0) | (line->shared ? SHARED : 0);
}

int question_write(const struct question *question, uint8_t out[QUESTION_BYTES])
{
    const struct maps_line *line = &question->line;
    const struct question_bytes bytes = {.kind = question->kind,
                                         .number = question->number,
                                         .access = question->access,
                                         .flags = flags_of(line),
                                         .address = question->address,
                                         .start = line->start,
                                         .end = line->end,
                                         .offset = line->offset,
                                         .inode = line->inode,
                                         .major = line->major,
                                         .minor = line->minor};
    if (line->path_len > QUESTION_PATH_BYTES)
        return -E2BIG;
    memcpy(out, &bytes, sizeof bytes);
    if (line->path_len > 0)
        memcpy(out + sizeof bytes, line->path, line->path_len);
    return (int)(sizeof bytes + line->path_len);
}

int question_read(const uint8_t *bytes, size_t len, struct question *out)
{
    struct question_bytes from;
    if (len < sizeof from || len > sizeof from + QUESTION_PATH_BYTES)
        return -EINVAL;
    memcpy(&from, bytes, sizeof from);
    if (from.kind > QUESTION_REFRESH || from.number > INT32_MAX || from.access >= ACCESS_KINDS ||
        from.flags > FLAGS)
        return -EINVAL;
    *out = (struct question){.kind = (enum question_kind)from.kind,
                             .number = from.number,
                             .address = from.address,
                             .access = (enum access)from.access,
                             .line = {.start = from.start,
                                      .end = from.end,
                                      .offset = from.offset,
                                      .readable = (from.flags & READABLE) != 0,
                                      .writable = (from.flags & WRITABLE) != 0,
                                      .executable = (from.flags & EXECUTABLE) != 0,
                                      .shared = (from.flags & SHARED) != 0,
                                      .major = from.major,
                                      .minor = from.minor,
                                      .inode = from.inode,
                                      .path = (const char *)bytes + sizeof from,
                                      .path_len = len - sizeof from}};
    return 0;
}

size_t answer_write(const struct answer *answer, uint8_t out[ANSWER_BYTES])
{
    const struct answer_bytes head = {.result = answer->result, .cpu_ns = answer->cpu_ns};
    memcpy(out, &head, sizeof head);
    return sizeof head + answer->len;
}

int answer_read(const uint8_t *bytes, size_t len, struct answer *out)
{
    struct answer_bytes head;
    if (len < sizeof head || len > sizeof head + ANSWER_TEXT_BYTES)
        return -EINVAL;
    memcpy(&head, bytes, sizeof head);
    *out = (struct answer){.result = head.result,
                           .cpu_ns = head.cpu_ns,
                           .bytes = bytes + sizeof head,
                           .len = len - sizeof head};
    return 0;
}
