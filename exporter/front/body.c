#include "exporter/front/body.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "exporter/base/sealed_file.h"

struct body {
    struct body *next;
    struct body_cache *cache;
    ino_t inode; /* one file system holds all memory files */
    void *bytes;
    size_t len;
    unsigned users;
};

struct body_cache {
    pthread_mutex_t lock;
    struct body *first;
};

int body_cache_new(struct body_cache **out)
{
    struct body_cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return -ENOMEM;
    pthread_mutex_init(&cache->lock, NULL);
    *out = cache;
    return 0;
}

void body_cache_free(struct body_cache *cache)
{
    if (!cache)
        return;
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

static int map_new(struct body_cache *cache, int fd, const struct stat *st, struct body **out)
{
    struct body *body = malloc(sizeof *body);
    if (!body)
        return -ENOMEM;
    *body = (struct body){.next = cache->first,
                          .cache = cache,
                          .inode = st->st_ino,
                          .len = (size_t)st->st_size,
                          .users = 1};
    body->bytes = mmap(NULL, body->len, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (body->bytes == MAP_FAILED) {
        int err = -errno;
        free(body);
        return err;
    }
    cache->first = body;
    *out = body;
    return 0;
}

int body_map(struct body_cache *cache, int fd, size_t len, struct body **out)
{
    struct stat st;
    if (len == 0 || !sealed_file_is(fd, len) || fstat(fd, &st) != 0)
        return -EBADMSG;
    int err = 0;
    pthread_mutex_lock(&cache->lock);
    struct body *body = cache->first;
    while (body && (body->inode != st.st_ino || body->len != len))
        body = body->next;
    if (body)
        body->users++;
    else
        err = map_new(cache, fd, &st, &body);
    pthread_mutex_unlock(&cache->lock);
    if (!err)
        *out = body;
    return err;
}

const void *body_bytes(const struct body *body)
{
    return body->bytes;
}

void body_release(void *context)
{
    struct body *body = context;
    struct body_cache *cache = body->cache;
    pthread_mutex_lock(&cache->lock);
    bool last = --body->users == 0;
    struct body **at = &cache->first;
    while (last && *at != body)
        at = &(*at)->next;
    if (last)
        *at = body->next;
    pthread_mutex_unlock(&cache->lock);
    if (!last)
        return;
    munmap(body->bytes, body->len);
    free(body);
}
