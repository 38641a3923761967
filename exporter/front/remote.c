#include "exporter/front/remote.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/base/whole.h"
#include "exporter/service/channel.h"

/* ---- bodies ---- */

struct body {
    struct body *next;
    struct body_cache *cache;
    ino_t inode; /* one file system holds all memory files */
    void *bytes;
    size_t len;
    unsigned users;
};

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

struct remote {
    int fd;
    struct server_counts *counts;
    struct body_cache cache;
    size_t n_routes;
    struct http_route routes[MESSAGE_ROUTES_MAX];
    pthread_mutex_t lock; /* one request at a time; guards the rest */
    uint64_t last_id;
    char bytes[MESSAGE_MAX];
};

/* ---- out ---- */

static size_t route_index(const struct remote *remote, const struct http_request *request)
{
    size_t i = 0;
    while (i < remote->n_routes && (remote->routes[i].post != request->post ||
                                    strcmp(remote->routes[i].path, request->path) != 0))
        i++;
    return i;
}

/* With the lock held. */
static int send_request(struct remote *remote, const struct http_request *request)
{
    struct request_message message = {
        .id = ++remote->last_id,
        .route = (uint16_t)route_index(remote, request),
        .accept = request->accept,
        .accept_encoding = request->accept_encoding,
        .local = request->local,
        .known = request->known,
    };
    const char *names[MESSAGE_ARGUMENTS_MAX], *values[MESSAGE_ARGUMENTS_MAX];
    message.n_arguments = request->arguments(request, names, values, MESSAGE_ARGUMENTS_MAX);
    if (message.n_arguments > MESSAGE_ARGUMENTS_MAX)
        return -E2BIG;
    for (size_t i = 0; i < message.n_arguments; i++) {
        message.arguments[i].name = names[i];
        message.arguments[i].value = values[i];
    }
    int len = request_message_write(&message, remote->bytes, sizeof remote->bytes);
    return len < 0 ? len : channel_send(remote->fd, remote->bytes, (size_t)len, NULL, 0);
}

/* ---- back ---- */

/* What came too late for an earlier request is passed over. With the lock held. */
static int receive_reply(struct remote *remote, struct reply_message *reply, int *fd)
{
    const uint64_t until_ns = clock_mono_ns() + (uint64_t)REMOTE_TIMEOUT_MS * 1000000;
    for (;;) {
        uint64_t now_ns = clock_mono_ns();
        size_t n_fds = 1;
        *fd = -1;
        if (now_ns >= until_ns)
            return -ETIMEDOUT;
        int n = channel_receive(remote->fd, (int)((until_ns - now_ns) / 1000000) + 1, remote->bytes,
                                sizeof remote->bytes, fd, &n_fds);
        int err = n > 0 ? reply_message_read(remote->bytes, (size_t)n, reply) : n;
        if (n > 0 && !err && reply->id == remote->last_id && reply->has_fd == (n_fds == 1))
            return 0;
        if (n_fds == 1)
            close(*fd);
        if (n <= 0)
            return n ? n : -EPIPE;
    }
}

/* What a response points to: the next message overwrites the one it came in. */
struct answer {
    struct body *body; /* NULL: the bytes are here, after the type */
    char type[];
};

static void release_answer(void *context)
{
    struct answer *answer = context;
    if (answer->body)
        body_release(answer->body);
    free(answer);
}

static int take_reply(struct remote *remote, const struct reply_message *reply, int fd,
                      struct http_response *response)
{
    const size_t type_size = strlen(reply->content_type) + 1;
    const size_t inside = reply->has_fd ? 0 : (size_t)reply->len;
    struct answer *answer = malloc(sizeof *answer + type_size + inside);
    if (!answer)
        return -ENOMEM;
    answer->body = NULL;
    memcpy(answer->type, reply->content_type, type_size);
    if (inside > 0)
        memcpy(answer->type + type_size, reply->body, inside);
    int err = reply->has_fd ? body_map(&remote->cache, fd, (size_t)reply->len, &answer->body) : 0;
    if (err) {
        free(answer);
        return err;
    }
    bool gzip = reply->content_encoding && strcmp(reply->content_encoding, "gzip") == 0;
    *response = (struct http_response){
        .status = reply->status,
        .content_type = answer->type,
        .content_encoding = gzip ? "gzip" : NULL,
        .bytes = answer->body ? body_bytes(answer->body) : answer->type + type_size,
        .len = (size_t)reply->len,
        .release = release_answer,
        .release_context = answer,
        .format = server_counts_format(reply->format),
    };
    return 0;
}

/* ---- the handler ---- */

static void refuse(struct http_response *response, int status, const char *text)
{
    *response = (struct http_response){.status = status,
                                       .content_type = "text/plain; charset=utf-8",
                                       .bytes = text,
                                       .len = strlen(text),
                                       .format = "text"};
}

static void handle(void *context, const struct http_request *request,
                   struct http_response *response)
{
    struct remote *remote = context;
    struct reply_message reply;
    int fd = -1;
    pthread_mutex_lock(&remote->lock);
    int err = send_request(remote, request);
    if (!err)
        err = receive_reply(remote, &reply, &fd);
    if (!err)
        err = take_reply(remote, &reply, fd, response);
    pthread_mutex_unlock(&remote->lock);
    if (fd >= 0)
        close(fd);
    if (err == -E2BIG)
        refuse(response, 414, "414 too many arguments\n");
    else if (err)
        refuse(response, 503, "503 the exporter does not answer, try again\n");
}

int remote_new(int fd, const struct start_message *start, struct server_counts *counts,
               struct remote **out)
{
    struct remote *remote = calloc(1, sizeof *remote);
    if (!remote)
        return -ENOMEM;
    remote->fd = fd;
    remote->counts = counts;
    remote->n_routes = start->n_routes;
    /* What is on its way to a predecessor has smaller numbers. */
    remote->last_id = clock_mono_ns();
    for (size_t i = 0; i < start->n_routes; i++)
        remote->routes[i] = (struct http_route){.path = start->routes[i].path,
                                                .handler = start->routes[i].handler,
                                                .limited = start->routes[i].limited,
                                                .post = start->routes[i].post,
                                                .handle = handle};
    pthread_mutex_init(&remote->lock, NULL);
    pthread_mutex_init(&remote->cache.lock, NULL);
    *out = remote;
    return 0;
}

void remote_free(struct remote *remote)
{
    if (!remote)
        return;
    pthread_mutex_destroy(&remote->cache.lock);
    pthread_mutex_destroy(&remote->lock);
    free(remote);
}

const struct http_route *remote_routes(const struct remote *remote, size_t *n)
{
    *n = remote->n_routes;
    return remote->routes;
}

void remote_answered(void *context, const char *handler, const char *format, int code)
{
    struct remote *remote = context;
    size_t i = 0;
    while (i < remote->n_routes && strcmp(remote->routes[i].handler, handler) != 0)
        i++;
    server_counts_add(remote->counts, i, format, code);
}
