#include "exporter/source/accesses/address_spaces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"

enum { MAX_MAPPINGS = 1 << 16, MAX_PATHS = 1 << 22 };

void address_space_release(struct address_space *space)
{
    free(space->at);
    free(space->paths);
    *space = (struct address_space){0};
}

void address_space_clear(struct address_space *space)
{
    space->n = space->paths_len = 0;
}

/* The first mapping that ends behind the address. */
static size_t first_behind(const struct address_space *space, uint64_t address)
{
    size_t low = 0, high = space->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (space->at[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct mapping *address_space_find(const struct address_space *space, uint64_t address)
{
    size_t i = first_behind(space, address);
    return i < space->n && space->at[i].start <= address ? &space->at[i] : NULL;
}

struct maps_line address_space_line(const struct address_space *space,
                                    const struct mapping *mapping)
{
    return (struct maps_line){.start = mapping->start,
                              .end = mapping->end,
                              .offset = mapping->offset,
                              .readable = mapping->readable,
                              .writable = mapping->writable,
                              .executable = mapping->executable,
                              .shared = mapping->shared,
                              .major = mapping->major,
                              .minor = mapping->minor,
                              .inode = mapping->inode,
                              .path = space->paths ? space->paths + mapping->path : "",
                              .path_len = mapping->path_len};
}

static int reserve_mappings(struct address_space *space, size_t need)
{
    return need > MAX_MAPPINGS + 1
               ? -E2BIG
               : array_reserve(&space->at, &space->cap, need, sizeof *space->at);
}

static int reserve_paths(struct address_space *space, size_t need)
{
    return need > MAX_PATHS ? -E2BIG : array_reserve(&space->paths, &space->paths_cap, need, 1);
}

/* Files have several mappings in a row: their path is kept once. */
static int keep_path(struct address_space *space, const struct maps_line *line,
                     const struct mapping *neighbour, uint32_t *out)
{
    *out = 0;
    if (line->path_len == 0)
        return 0;
    if (neighbour && neighbour->path_len == line->path_len &&
        memcmp(space->paths + neighbour->path, line->path, line->path_len) == 0) {
        *out = neighbour->path;
        return 0;
    }
    int err = reserve_paths(space, space->paths_len + line->path_len);
    if (err)
        return err;
    memcpy(space->paths + space->paths_len, line->path, line->path_len);
    *out = (uint32_t)space->paths_len;
    space->paths_len += line->path_len;
    return 0;
}

/* Memory without a file needs no name, and neighbours of it are one. */
static bool extends(const struct address_space *space, size_t i, const struct maps_line *line,
                    uint64_t since_ns)
{
    return line->inode == 0 && i == space->n && i > 0 && space->at[i - 1].inode == 0 &&
           space->at[i - 1].end == line->start && space->at[i - 1].since_ns == since_ns;
}

int address_space_put(struct address_space *space, const struct maps_line *line, uint64_t since_ns)
{
    struct mapping left, right,
        middle = {.start = line->start,
                  .end = line->end,
                  .since_ns = since_ns,
                  .offset = line->offset,
                  .inode = line->inode,
                  .major = line->major,
                  .minor = line->minor,
                  .readable = line->readable,
                  .writable = line->writable,
                  .executable = line->executable,
                  .shared = line->shared};
    size_t i = first_behind(space, line->start), j = i;
    if (extends(space, i, line, since_ns)) {
        space->at[i - 1].end = line->end;
        return 0;
    }
    while (j < space->n && space->at[j].start < line->end)
        j++;
    bool has_left = j > i && space->at[i].start < line->start;
    bool has_right = j > i && space->at[j - 1].end > line->end;
    size_t pieces = 1u + has_left + has_right;

    if (line->path_len > UINT16_MAX)
        return -E2BIG;
    int err = reserve_mappings(space, space->n + 2);
    if (!err && line->inode != 0) {
        middle.path_len = (uint16_t)line->path_len;
        err = keep_path(space, line, i > 0 ? &space->at[i - 1] : NULL, &middle.path);
    }
    if (err)
        return err;
    if (has_left) {
        left = space->at[i];
        left.end = line->start;
    }
    if (has_right) {
        right = space->at[j - 1];
        right.offset += line->end - right.start;
        right.start = line->end;
    }
    memmove(&space->at[i + pieces], &space->at[j], (space->n - j) * sizeof *space->at);
    space->n = space->n - (j - i) + pieces;
    if (has_left)
        space->at[i++] = left;
    space->at[i++] = middle;
    if (has_right)
        space->at[i] = right;
    return 0;
}

int address_space_copy(struct address_space *to, const struct address_space *from)
{
    int err = reserve_mappings(to, from->n);
    if (!err)
        err = reserve_paths(to, from->paths_len);
    if (err)
        return err;
    if (from->n > 0)
        memcpy(to->at, from->at, from->n * sizeof *to->at);
    if (from->paths_len > 0)
        memcpy(to->paths, from->paths, from->paths_len);
    to->n = from->n;
    to->paths_len = from->paths_len;
    return 0;
}
