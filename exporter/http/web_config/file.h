/* Files that may change at any time, as secrets that are mounted into a container do. */
#ifndef IE_HTTP_WEB_CONFIG_FILE_H
#define IE_HTTP_WEB_CONFIG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

/* Which content was read. */
struct web_stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified, changed;
    /* False while the file's clock could not yet tell another change from the last one. */
    bool settled;
};

struct web_text {
    char *bytes; /* ended by a NUL that len does not count */
    size_t len;
};

/* A regular file of at most WEB_FILE_MAX_BYTES: 0 or -errno (-EFBIG, -EINVAL for what is no regular
 * file). */
int web_file_read(const char *path, struct web_text *out, struct web_stamp *stamp);
/* Overwrites it. */
void web_text_release(struct web_text *text);
/* Whether the file surely holds what it held then. */
bool web_file_unchanged(const char *path, const struct web_stamp *stamp);

#endif
