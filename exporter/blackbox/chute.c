#include "exporter/blackbox/chute.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What both have. Both count all bytes there ever were. */
struct shared {
    _Atomic uint64_t put, taken;
    char bytes[];
};

/* Each has its own: how long it is, is not the other's to say. */
struct chute {
    size_t size;
    struct shared *shared;
};

static size_t mapped(size_t size)
{
    return sizeof(struct shared) + size;
}

struct chute *chute_new(size_t size)
{
    struct chute *chute = malloc(sizeof *chute);
    void *memory =
        mmap(NULL, mapped(size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!chute || memory == MAP_FAILED) {
        if (memory != MAP_FAILED)
            munmap(memory, mapped(size));
        free(chute);
        return NULL;
    }
    *chute = (struct chute){size, memory};
    return chute;
}

void chute_free(struct chute *chute)
{
    if (chute)
        munmap(chute->shared, mapped(chute->size));
    free(chute);
}

static void copy_in(struct chute *chute, uint64_t at, const char *bytes, size_t n)
{
    size_t to = at % chute->size, first = n < chute->size - to ? n : chute->size - to;
    memcpy(chute->shared->bytes + to, bytes, first);
    memcpy(chute->shared->bytes, bytes + first, n - first);
}

static void copy_out(const struct chute *chute, uint64_t at, char *bytes, size_t n)
{
    size_t from = at % chute->size, first = n < chute->size - from ? n : chute->size - from;
    memcpy(bytes, chute->shared->bytes + from, first);
    memcpy(bytes + first, chute->shared->bytes, n - first);
}

bool chute_put(struct chute *chute, const struct textbuf *const *parts, size_t n)
{
    uint64_t at = atomic_load_explicit(&chute->shared->put, memory_order_relaxed), len = 0;
    size_t used = (size_t)(at - atomic_load_explicit(&chute->shared->taken, memory_order_acquire));
    for (size_t i = 0; i < n; i++)
        len += parts[i]->len;
    if (used > chute->size || len + sizeof len > chute->size - used)
        return false;
    copy_in(chute, at, (const char *)&len, sizeof len);
    at += sizeof len;
    for (size_t i = 0; i < n; i++) {
        if (parts[i]->len > 0)
            copy_in(chute, at, parts[i]->data, parts[i]->len);
        at += parts[i]->len;
    }
    atomic_store_explicit(&chute->shared->put, at, memory_order_release);
    return true;
}

int chute_take(struct chute *chute, struct textbuf *out)
{
    uint64_t put = atomic_load_explicit(&chute->shared->put, memory_order_acquire);
    uint64_t at = atomic_load_explicit(&chute->shared->taken, memory_order_relaxed);
    uint64_t len = UINT64_MAX;
    int err = 1;
    if (at == put)
        return 0;
    textbuf_clear(out);
    if (put - at >= sizeof len && put - at <= chute->size) {
        copy_out(chute, at, (char *)&len, sizeof len);
        at += sizeof len;
    }
    if (len > put - at) {
        at = put;
        err = -EBADMSG;
    } else if (textbuf_reserve(out, (size_t)len)) {
        at += len;
        err = -ENOMEM;
    } else {
        copy_out(chute, at, out->data, (size_t)len);
        out->len = (size_t)len;
        at += len;
    }
    atomic_store_explicit(&chute->shared->taken, at, memory_order_release);
    return err;
}
