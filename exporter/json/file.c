#include "exporter/json/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/base/whole.h"

int json_file_parse(const char *text, size_t len, json_t **out, char *error, size_t error_size)
{
    json_error_t where;
    if (len > JSON_FILE_MAX_BYTES) {
        snprintf(error, error_size, "larger than 1 MiB");
        return -EINVAL;
    }
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &where);
    if (!root) {
        /* jansson quotes the text at which it stopped, newlines included. */
        where.text[strcspn(where.text, "\r\n")] = '\0';
        snprintf(error, error_size, "line %d: %s", where.line, where.text);
        return -EINVAL;
    }
    *out = root;
    return 0;
}

size_t json_file_line(const char *text, size_t len, const char *key)
{
    size_t n = strlen(key), line = 1;
    for (size_t i = 0; i + n + 2 <= len; i++) {
        const char *p = text + i;
        if (*p == '\n')
            line++;
        if (*p == '"' && p[n + 1] == '"' && memcmp(p + 1, key, n) == 0)
            return line;
    }
    return 0;
}

/* Until the end of the file or of the buffer. */
static int read_up_to(const char *path, char *text, size_t size, size_t *len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    int err = read_whole(fd, text, size, len);
    close(fd);
    return err;
}

/* jansson leaves out characters when it has no room for them, and the file then looks wrong. One
 * that is wrong is wrong twice, in the same words. */
static int read_twice(json_file_reader *reader, void *out, const char *text, size_t len, char *why,
                      size_t why_size)
{
    char first[256];
    int err = reader(out, text, len, why, why_size);
    if (!err || err == -ENOMEM)
        return err;
    snprintf(first, sizeof first, "%s", why);
    err = reader(out, text, len, why, why_size);
    if (!err || strcmp(first, why) == 0)
        return err;
    snprintf(why, why_size, "out of memory");
    return -ENOMEM;
}

int json_file_load(const char *path, json_file_reader *reader, void *out, char *error,
                   size_t error_size)
{
    const size_t size = JSON_FILE_MAX_BYTES + 1;
    char why[256];
    size_t len = 0;
    char *text = malloc(size);
    if (!text) {
        snprintf(error, error_size, "%s: out of memory", path);
        return -ENOMEM;
    }
    int err = read_up_to(path, text, size, &len);
    if (err)
        snprintf(why, sizeof why, "%s", strerror(-err));
    else
        err = read_twice(reader, out, text, len, why, sizeof why);
    if (err)
        snprintf(error, error_size, "%s: %s", path, why);
    free(text);
    return err;
}
