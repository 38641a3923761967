/* One process's mappings, sorted by address. For address_spaces.c; nothing here reads files. */
#ifndef IE_SOURCE_ACCESSES_ADDRESS_SPACE_H
#define IE_SOURCE_ACCESSES_ADDRESS_SPACE_H

#include "exporter/source/accesses/medium.h"

struct mapping {
    uint64_t start, end;
    uint64_t since_ns; /* mapped at this time; 0: was there when the process was loaded */
    uint64_t offset, inode;
    uint32_t major, minor;
    uint32_t path; /* offset in the space's paths */
    uint16_t path_len;
    bool readable, writable, executable, shared;
    bool resolved[ACCESS_KINDS];
    uint8_t medium[ACCESS_KINDS]; /* enum medium, where resolved */
};

/* All zero is empty. */
struct address_space {
    struct mapping *at;
    size_t n, cap;
    char *paths;
    size_t paths_len, paths_cap;
};

void address_space_release(struct address_space *space);
void address_space_clear(struct address_space *space);

/* Puts a mapping in the place of whatever was there. 0, -ENOMEM, or -E2BIG for more mappings or
 * longer paths than any sane process has; the space is unchanged then. */
int address_space_put(struct address_space *space, const struct maps_line *line, uint64_t since_ns);

/* Into an empty one. 0 or -ENOMEM; it stays empty then. */
int address_space_copy(struct address_space *to, const struct address_space *from);

/* NULL when nothing is mapped there. */
struct mapping *address_space_find(const struct address_space *space, uint64_t address);

/* As the kernel would write it; borrows the path. */
struct maps_line address_space_line(const struct address_space *space,
                                    const struct mapping *mapping);

#endif
