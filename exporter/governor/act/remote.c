#include "exporter/governor/act/remote.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "exporter/governor/write/order.h"
#include "exporter/service/channel.h"

static int give(struct remote *remote, const struct order *order)
{
    struct answer answer;
    size_t no_fds = 0;
    if (remote->lost)
        return -EPIPE;
    int err = channel_send(remote->channel, order, sizeof *order, NULL, 0);
    if (!err) {
        int n = channel_receive(remote->channel, ORDER_PATIENCE_MS, &answer, sizeof answer, NULL,
                                &no_fds);
        err = n == (int)sizeof answer && answer.err <= 0 ? 0 : -EPIPE;
    }
    remote->lost = err != 0; /* an answer that comes later would be taken for another one's */
    return err ? -EPIPE : answer.err;
}

int remote_beat(struct remote *remote, bool ready)
{
    const struct order order = {.kind = ready ? ORDER_READY : ORDER_BEAT};
    return give(remote, &order);
}

/* ---- the journal ---- */

static int claim(void *context, const struct claim *claim)
{
    const struct order order = {.kind = ORDER_CLAIM, .of.claim = *claim};
    return give(context, &order);
}

static int intend(void *context, const struct intent *intent)
{
    const struct order order = {.kind = ORDER_INTEND, .of.change = *intent};
    return give(context, &order);
}

static int release(void *context, uint64_t claim)
{
    const struct order order = {.kind = ORDER_RELEASE, .of.change.claim = claim};
    return give(context, &order);
}

static int compact(void *context)
{
    const struct order order = {.kind = ORDER_COMPACT};
    return give(context, &order);
}

/* ---- control files, groups, threads ---- */

static int give_file(struct remote *remote, enum order_kind kind, int directory, const char *name,
                     const char *text, size_t len)
{
    struct order order = {.kind = kind};
    struct stat st;
    if (fstat(directory, &st))
        return -errno;
    if (strlen(name) >= ORDER_NAME_MAX || len >= ORDER_TEXT_MAX)
        return -EMSGSIZE;
    order.of.file.dev = st.st_dev;
    order.of.file.ino = st.st_ino;
    memcpy(order.of.file.name, name, strlen(name));
    memcpy(order.of.file.text, text, len);
    return give(remote, &order);
}

static int write_at(void *context, int directory, const char *name, const char *text, size_t len)
{
    return give_file(context, ORDER_FILE, directory, name, text, len);
}

static int make_dir(void *context, int directory, const char *name)
{
    return give_file(context, ORDER_MAKE_GROUP, directory, name, "", 0);
}

static int remove_dir(void *context, int directory, const char *name)
{
    return give_file(context, ORDER_REMOVE_GROUP, directory, name, "", 0);
}

static int set_affinity(void *context, int tid, const cpu_set_t *cpus)
{
    const struct order order = {.kind = ORDER_THREAD, .of.thread = {.tid = tid, .cpus = *cpus}};
    return give(context, &order);
}

static int may_set_affinity(void *context)
{
    return ((struct remote *)context)->may_set_affinity ? 0 : -EPERM;
}

void remote_init(struct remote *remote, int channel, bool may)
{
    *remote = (struct remote){.channel = channel, .may_set_affinity = may};
    remote->write = (struct fswrite){.context = remote,
                                     .write_at = write_at,
                                     .make_dir = make_dir,
                                     .remove_dir = remove_dir,
                                     .get_affinity = fswrite_real.get_affinity,
                                     .set_affinity = set_affinity,
                                     .may_set_affinity = may_set_affinity};
    remote->writer = (struct journal_writer){.context = remote,
                                             .claim = claim,
                                             .intend = intend,
                                             .release = release,
                                             .compact = compact};
}
