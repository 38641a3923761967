#include "exporter/front/desk.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exporter/base/sealed_file.h"
#include "exporter/front/message.h"
#include "exporter/service/channel.h"

struct desk {
    struct desk_config config;
    pthread_t thread;
    atomic_bool ending;
    bool complained;
    struct request_message request;
    char bytes[MESSAGE_MAX];
};

static size_t query(const struct http_request *request, const char *name, const char **values,
                    size_t cap)
{
    const struct request_message *message = request->connection;
    size_t n = 0;
    for (size_t i = 0; i < message->n_arguments; i++) {
        if (strcmp(message->arguments[i].name, name) != 0)
            continue;
        if (n < cap)
            values[n] = message->arguments[i].value;
        n++;
    }
    return n;
}

static void handle(struct desk *desk, struct http_response *response)
{
    const struct http_route *route = &desk->config.routes[desk->request.route];
    const struct http_request request = {
        .path = route->path,
        .post = route->post,
        .accept = desk->request.accept,
        .accept_encoding = desk->request.accept_encoding,
        .local = desk->request.local,
        .known = desk->request.known,
        .query = query,
        .connection = &desk->request,
    };
    *response = (struct http_response){0};
    route->handle(desk->config.context, &request, response);
    if (response->status == 0)
        response->status = 500;
}

/* The body's own file where it has one, so that a page is copied once and not for each client. */
static int body_file(const struct http_response *response, int *fd, bool *ours)
{
    *ours = !response->file;
    return response->file ? response->file(response->release_context, fd)
                          : sealed_file_new(response->bytes, response->len, fd);
}

static int reply(struct desk *desk, const struct http_response *response)
{
    struct reply_message message = {
        .id = desk->request.id,
        .status = (uint16_t)response->status,
        .has_fd = response->len > MESSAGE_INLINE_MAX,
        .len = response->len,
        .content_type = response->content_type ? response->content_type : "text/plain",
        .content_encoding = response->content_encoding,
        .format = response->format ? response->format : "text",
        .body = response->bytes,
    };
    char bytes[2 * MESSAGE_INLINE_MAX];
    int fd = -1, err = 0;
    bool ours = false;
    if (message.has_fd)
        err = body_file(response, &fd, &ours);
    if (err)
        return err;
    int len = reply_message_write(&message, bytes, sizeof bytes);
    err = len < 0 ? len
                  : channel_send(desk->config.fd, bytes, (size_t)len, &fd, message.has_fd ? 1 : 0);
    if (ours && fd >= 0)
        close(fd);
    return err;
}

static void refuse(struct desk *desk)
{
    const struct http_response failed = {
        .status = 500, .bytes = "500 internal error\n", .len = sizeof "500 internal error\n" - 1};
    reply(desk, &failed);
}

/* The server's process is told no more than that something failed. */
static void answer(struct desk *desk, size_t len)
{
    struct http_response response;
    int err = request_message_read(desk->bytes, len, &desk->request);
    if (!err && desk->request.route >= desk->config.n_routes)
        err = -EBADMSG;
    if (err) {
        if (!desk->complained)
            log_error(desk->config.log, "front",
                      "the server's process sent what is no request (logged once)");
        desk->complained = true;
        return;
    }
    handle(desk, &response);
    err = reply(desk, &response);
    if (response.release)
        response.release(response.release_context);
    if (err && err != -EPIPE)
        refuse(desk);
}

static void *work(void *context)
{
    struct desk *desk = context;
    for (;;) {
        size_t no_fds = 0;
        int n =
            channel_receive(desk->config.fd, -1, desk->bytes, sizeof desk->bytes, NULL, &no_fds);
        if (n > 0)
            answer(desk, (size_t)n);
        else if (n == 0 || n == -ECONNRESET)
            break;
    }
    if (!atomic_load(&desk->ending) && desk->config.lost)
        desk->config.lost(desk->config.lost_context);
    return NULL;
}

int desk_new(const struct desk_config *config, struct desk **out)
{
    struct desk *desk = calloc(1, sizeof *desk);
    if (!desk)
        return -ENOMEM;
    desk->config = *config;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = -pthread_create(&desk->thread, NULL, work, desk);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err) {
        free(desk);
        return err;
    }
    *out = desk;
    return 0;
}

void desk_free(struct desk *desk)
{
    if (!desk)
        return;
    atomic_store(&desk->ending, true);
    shutdown(desk->config.fd, SHUT_RDWR);
    pthread_join(desk->thread, NULL);
    free(desk);
}
