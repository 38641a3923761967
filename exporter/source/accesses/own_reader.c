#include "exporter/source/accesses/own_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "exporter/base/clock.h"
#include "exporter/source/accesses/code.h"
#include "exporter/source/accesses/proc_lines.h"

/* Text of one process. */
enum { MAX_TEXT = 8 << 20 };

struct own_reader {
    struct process_reader reader; /* first */
    const struct fsroot *fs;
    struct process_code *code;
    struct proc_lines maps;
};

static struct own_reader *self_of(struct process_reader *reader)
{
    return (struct own_reader *)reader;
}

static int open_maps(struct process_reader *reader, uint32_t number)
{
    struct own_reader *self = self_of(reader);
    char relative[32];
    snprintf(relative, sizeof relative, "%" PRIu32 "/maps", number);
    return proc_lines_open(&self->maps, self->fs, relative, MAX_TEXT);
}

static int next_maps(struct process_reader *reader, const char **text, size_t *len)
{
    return proc_lines_next(&self_of(reader)->maps, text, len);
}

static void close_maps(struct process_reader *reader)
{
    proc_lines_close(&self_of(reader)->maps);
}

static int code(struct process_reader *reader, uint32_t number, uint64_t address,
                uint8_t out[ACCESS_CODE_BYTES])
{
    return process_code_read(self_of(reader)->code, (pid_t)number, address, clock_mono_ns(), out);
}

static int is_wide(struct process_reader *reader, uint32_t number, bool *out)
{
    return process_code_is_wide(self_of(reader)->fs, (pid_t)number, out);
}

static const struct process_reader_ops ops = {
    .open_maps = open_maps,
    .next_maps = next_maps,
    .close_maps = close_maps,
    .code = code,
    .is_wide = is_wide,
};

int own_reader_new(const struct fsroot *fs, struct process_reader **out)
{
    struct own_reader *self = calloc(1, sizeof *self);
    int err = self ? process_code_new(fs, &self->code) : -ENOMEM;
    if (err) {
        free(self);
        return err;
    }
    self->reader.ops = &ops;
    self->fs = fs;
    *out = &self->reader;
    return 0;
}

void own_reader_free(struct process_reader *reader)
{
    if (!reader)
        return;
    process_code_free(self_of(reader)->code);
    free(reader);
}
