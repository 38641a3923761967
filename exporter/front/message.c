#include "exporter/front/message.h"

#include <errno.h>
#include <string.h>

/* ---- writing: an overflow sticks ---- */

struct writer {
    char *at;
    size_t left;
    bool overflow;
};

static void put(struct writer *out, const void *bytes, size_t len)
{
    if (len > out->left)
        out->overflow = true;
    if (out->overflow || len == 0)
        return;
    memcpy(out->at, bytes, len);
    out->at += len;
    out->left -= len;
}

static void put_number(struct writer *out, uint64_t value)
{
    put(out, &value, sizeof value);
}

/* A byte says whether there is one. */
static void put_text(struct writer *out, const char *text)
{
    const char present = text != NULL;
    put(out, &present, 1);
    if (text)
        put(out, text, strlen(text) + 1);
}

static int written(const struct writer *out, size_t size)
{
    return out->overflow ? -EMSGSIZE : (int)(size - out->left);
}

static struct writer writer(void *bytes, size_t size)
{
    return (struct writer){.at = bytes, .left = size < MESSAGE_MAX ? size : MESSAGE_MAX};
}

/* ---- reading: so does an error ---- */

struct reader {
    const char *at;
    size_t left;
    bool bad;
};

static uint64_t take_number(struct reader *in, uint64_t most)
{
    uint64_t value = 0;
    if (in->left < sizeof value)
        in->bad = true;
    if (in->bad)
        return 0;
    memcpy(&value, in->at, sizeof value);
    in->at += sizeof value;
    in->left -= sizeof value;
    if (value <= most)
        return value;
    in->bad = true;
    return 0;
}

static const char *take_text(struct reader *in, bool may_be_absent)
{
    if (in->left < 1 || (unsigned char)*in->at > 1)
        in->bad = true;
    if (in->bad)
        return NULL;
    bool present = *in->at == 1;
    in->at++;
    in->left--;
    if (!present) {
        in->bad |= !may_be_absent;
        return NULL;
    }
    const char *text = in->at, *end = memchr(text, '\0', in->left);
    if (!end) {
        in->bad = true;
        return NULL;
    }
    in->left -= (size_t)(end - text) + 1;
    in->at = end + 1;
    return text;
}

static int finished(const struct reader *in)
{
    return in->bad || in->left > 0 ? -EBADMSG : 0;
}

/* ---- requests ---- */

int request_message_write(const struct request_message *message, void *bytes, size_t size)
{
    struct writer out = writer(bytes, size);
    const size_t room = out.left;
    if (message->n_arguments > MESSAGE_ARGUMENTS_MAX)
        return -EMSGSIZE;
    put_number(&out, message->id);
    put_number(&out, message->route);
    put_text(&out, message->accept);
    put_text(&out, message->accept_encoding);
    put_number(&out, message->local);
    put_number(&out, message->known);
    put_number(&out, message->n_arguments);
    for (size_t i = 0; i < message->n_arguments; i++) {
        put_text(&out, message->arguments[i].name);
        put_text(&out, message->arguments[i].value);
    }
    return written(&out, room);
}

int request_message_read(const void *bytes, size_t len, struct request_message *out)
{
    struct reader in = {.at = bytes, .left = len};
    out->id = take_number(&in, UINT64_MAX);
    out->route = (uint16_t)take_number(&in, MESSAGE_ROUTES_MAX - 1);
    out->accept = take_text(&in, true);
    out->accept_encoding = take_text(&in, true);
    out->local = take_number(&in, 1) == 1;
    out->known = take_number(&in, 1) == 1;
    out->n_arguments = (size_t)take_number(&in, MESSAGE_ARGUMENTS_MAX);
    for (size_t i = 0; i < out->n_arguments && !in.bad; i++) {
        out->arguments[i].name = take_text(&in, false);
        out->arguments[i].value = take_text(&in, false);
    }
    return finished(&in);
}

/* ---- replies ---- */

int reply_message_write(const struct reply_message *message, void *bytes, size_t size)
{
    struct writer out = writer(bytes, size);
    const size_t room = out.left;
    put_number(&out, message->id);
    put_number(&out, message->status);
    put_number(&out, message->has_fd);
    put_number(&out, message->len);
    put_text(&out, message->content_type);
    put_text(&out, message->content_encoding);
    put_text(&out, message->format);
    if (!message->has_fd)
        put(&out, message->body, (size_t)message->len);
    return written(&out, room);
}

int reply_message_read(const void *bytes, size_t len, struct reply_message *out)
{
    struct reader in = {.at = bytes, .left = len};
    out->id = take_number(&in, UINT64_MAX);
    out->status = (uint16_t)take_number(&in, 599);
    out->has_fd = take_number(&in, 1) == 1;
    out->len = take_number(&in, SIZE_MAX / 2);
    out->content_type = take_text(&in, false);
    out->content_encoding = take_text(&in, true);
    out->format = take_text(&in, false);
    out->body = NULL;
    if (in.bad || out->status < 100)
        return -EBADMSG;
    if (out->has_fd)
        return finished(&in);
    if (in.left != out->len)
        return -EBADMSG;
    out->body = in.at;
    return 0;
}

/* ---- the start ---- */

int start_message_write(const struct start_message *message, void *bytes, size_t size)
{
    struct writer out = writer(bytes, size);
    const size_t room = out.left;
    if (message->n_routes > MESSAGE_ROUTES_MAX)
        return -EMSGSIZE;
    put_number(&out, message->max_requests);
    put_number(&out, message->max_connections);
    put_number(&out, message->timeout_seconds);
    put_number(&out, message->n_routes);
    for (size_t i = 0; i < message->n_routes; i++) {
        put_text(&out, message->routes[i].path);
        put_text(&out, message->routes[i].handler);
        put_number(&out, message->routes[i].limited);
        put_number(&out, message->routes[i].post);
    }
    return written(&out, room);
}

int start_message_read(const void *bytes, size_t len, struct start_message *out)
{
    struct reader in = {.at = bytes, .left = len};
    out->max_requests = (uint32_t)take_number(&in, UINT32_MAX);
    out->max_connections = (uint32_t)take_number(&in, UINT32_MAX);
    out->timeout_seconds = (uint32_t)take_number(&in, UINT32_MAX);
    out->n_routes = (size_t)take_number(&in, MESSAGE_ROUTES_MAX);
    for (size_t i = 0; i < out->n_routes && !in.bad; i++) {
        out->routes[i].path = take_text(&in, false);
        out->routes[i].handler = take_text(&in, false);
        out->routes[i].limited = take_number(&in, 1) == 1;
        out->routes[i].post = take_number(&in, 1) == 1;
    }
    return finished(&in);
}
