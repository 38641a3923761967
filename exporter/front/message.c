#include "exporter/front/message.h"

#include <errno.h>
#include <string.h>

/* One walk, which writes a message or reads one; what is wrong sticks. */
struct walk {
    char *at;
    size_t left;
    bool writes, bad;
};

static void step(struct walk *walk, size_t len)
{
    walk->at += len;
    walk->left -= len;
}

static uint64_t walk_number(struct walk *walk, uint64_t value, uint64_t most)
{
    walk->bad |= walk->left < sizeof value;
    if (walk->bad)
        return 0;
    if (walk->writes)
        memcpy(walk->at, &value, sizeof value);
    else
        memcpy(&value, walk->at, sizeof value);
    step(walk, sizeof value);
    walk->bad |= value > most;
    return walk->bad ? 0 : value;
}

/* A byte says whether there is one. */
static const char *walk_text(struct walk *walk, const char *text, bool may_be_absent)
{
    walk->bad |= walk->left < 1;
    if (walk->bad)
        return NULL;
    if (walk->writes)
        *walk->at = text != NULL;
    const unsigned char present = (unsigned char)*walk->at;
    step(walk, 1);
    walk->bad |= present > 1 || (!present && !may_be_absent);
    if (walk->bad || !present)
        return NULL;
    size_t len = 1 + (walk->writes ? strlen(text) : strnlen(walk->at, walk->left));
    walk->bad |= len > walk->left;
    if (walk->bad)
        return NULL;
    if (walk->writes)
        memcpy(walk->at, text, len);
    else
        text = walk->at;
    step(walk, len);
    return text;
}

static struct walk writing(void *bytes, size_t size)
{
    return (struct walk){
        .at = bytes, .left = size < MESSAGE_MAX ? size : MESSAGE_MAX, .writes = true};
}

static int written(const struct walk *walk, const void *bytes)
{
    return walk->bad ? -EMSGSIZE : (int)(walk->at - (const char *)bytes);
}

static struct walk reading(const void *bytes, size_t len)
{
    return (struct walk){.at = (char *)(uintptr_t)bytes, .left = len};
}

static int finished(const struct walk *walk)
{
    return walk->bad || walk->left > 0 ? -EBADMSG : 0;
}

/* ---- requests ---- */

static void walk_request(struct walk *walk, struct request_message *m)
{
    m->id = walk_number(walk, m->id, UINT64_MAX);
    m->route = (uint16_t)walk_number(walk, m->route, MESSAGE_ROUTES_MAX - 1);
    m->accept = walk_text(walk, m->accept, true);
    m->accept_encoding = walk_text(walk, m->accept_encoding, true);
    m->local = walk_number(walk, m->local, 1);
    m->known = walk_number(walk, m->known, 1);
    m->n_arguments = (size_t)walk_number(walk, m->n_arguments, MESSAGE_ARGUMENTS_MAX);
    for (size_t i = 0; i < m->n_arguments && !walk->bad; i++) {
        m->arguments[i].name = walk_text(walk, m->arguments[i].name, false);
        m->arguments[i].value = walk_text(walk, m->arguments[i].value, false);
    }
}

int request_message_write(const struct request_message *message, void *bytes, size_t size)
{
    struct walk walk = writing(bytes, size);
    struct request_message copy = *message;
    walk_request(&walk, &copy);
    return written(&walk, bytes);
}

int request_message_read(const void *bytes, size_t len, struct request_message *out)
{
    struct walk walk = reading(bytes, len);
    *out = (struct request_message){0};
    walk_request(&walk, out);
    return finished(&walk);
}

/* ---- replies ---- */

static void walk_reply(struct walk *walk, struct reply_message *m)
{
    m->id = walk_number(walk, m->id, UINT64_MAX);
    m->status = (uint16_t)walk_number(walk, m->status, 599);
    m->has_fd = walk_number(walk, m->has_fd, 1);
    m->len = walk_number(walk, m->len, SIZE_MAX / 2);
    m->content_type = walk_text(walk, m->content_type, false);
    m->content_encoding = walk_text(walk, m->content_encoding, true);
    m->format = walk_text(walk, m->format, false);
    if (m->has_fd)
        return;
    walk->bad |= walk->writes ? walk->left < m->len : walk->left != m->len;
    if (walk->bad)
        return;
    if (!walk->writes)
        m->body = walk->at;
    else if (m->len > 0)
        memcpy(walk->at, m->body, (size_t)m->len);
    step(walk, (size_t)m->len);
}

int reply_message_write(const struct reply_message *message, void *bytes, size_t size)
{
    struct walk walk = writing(bytes, size);
    struct reply_message copy = *message;
    walk_reply(&walk, &copy);
    return written(&walk, bytes);
}

int reply_message_read(const void *bytes, size_t len, struct reply_message *out)
{
    struct walk walk = reading(bytes, len);
    *out = (struct reply_message){0};
    walk_reply(&walk, out);
    return out->status < 100 ? -EBADMSG : finished(&walk);
}

/* ---- the start ---- */

static void walk_start(struct walk *walk, struct start_message *m)
{
    m->max_requests = (uint32_t)walk_number(walk, m->max_requests, UINT32_MAX);
    m->max_connections = (uint32_t)walk_number(walk, m->max_connections, UINT32_MAX);
    m->timeout_seconds = (uint32_t)walk_number(walk, m->timeout_seconds, UINT32_MAX);
    m->n_routes = (size_t)walk_number(walk, m->n_routes, MESSAGE_ROUTES_MAX);
    for (size_t i = 0; i < m->n_routes && !walk->bad; i++) {
        m->routes[i].path = walk_text(walk, m->routes[i].path, false);
        m->routes[i].handler = walk_text(walk, m->routes[i].handler, false);
        m->routes[i].limited = walk_number(walk, m->routes[i].limited, 1);
        m->routes[i].post = walk_number(walk, m->routes[i].post, 1);
    }
}

int start_message_write(const struct start_message *message, void *bytes, size_t size)
{
    struct walk walk = writing(bytes, size);
    struct start_message copy = *message;
    walk_start(&walk, &copy);
    return written(&walk, bytes);
}

int start_message_read(const void *bytes, size_t len, struct start_message *out)
{
    struct walk walk = reading(bytes, len);
    *out = (struct start_message){0};
    walk_start(&walk, out);
    return finished(&walk);
}
