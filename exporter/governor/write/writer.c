#include "exporter/governor/write/writer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/governor/write/writer_internal.h"

/* ---- claims ---- */

/* NULL: it is not open. */
static struct claim *find(const struct writer *writer, uint64_t id)
{
    for (size_t i = 0; i < writer->open.n; i++)
        if (writer->open.claims[i].id == id)
            return &writer->open.claims[i];
    return NULL;
}

/* Of the same knob. */
static struct claim *find_same(const struct writer *writer, const struct claim *asked)
{
    for (size_t i = 0; i < writer->open.n; i++) {
        struct claim *claim = &writer->open.claims[i];
        if (claim->knob == asked->knob && claim->dev == asked->dev && claim->ino == asked->ino &&
            claim->tid == asked->tid && claim->tid_start == asked->tid_start)
            return claim;
    }
    return NULL;
}

/* What a text of ways or bandwidth is worth, and its bits; false: it is none. */
static bool read_share(const struct claim *claim, const char *text, double *worth, uint64_t *bits)
{
    bool ways = claim->knob == KNOB_WAYS;
    if (!rules_number(text, ways ? 16 : 10, UINT32_MAX, bits))
        return false;
    *worth = ways ? __builtin_popcount((unsigned)*bits) : (double)*bits;
    return true;
}

/* What it is said to have had before is what there is. */
static int check_original(const struct writer *writer, struct claim *claim)
{
    uint64_t bits;
    double worth;
    int directory = look_open(writer, claim), err = 0;
    if (directory < 0)
        return directory;
    if (claim->knob == KNOB_CPU)
        err = quota_check(writer, claim, directory);
    else if (claim->knob == KNOB_AFFINITY)
        err = thread_check(writer, claim);
    else if (!read_share(claim, claim->original, &worth, &bits) || claim->most > worth)
        err = ORDER_REFUSED;
    close(directory);
    return err;
}

static bool is_claim(const struct writer *writer, const struct claim *claim)
{
    const struct writer_bounds *bounds = writer->config.bounds;
    return claim->id > writer->open.last_id && claim->id <= INT64_MAX &&
           (unsigned)claim->knob < KNOB_COUNT && isfinite(claim->least) && isfinite(claim->most) &&
           claim->least <= claim->most && claim->least >= bounds->least[claim->knob] - 1e-9 &&
           claim->most <= CPU_SETSIZE && (claim->knob == KNOB_AFFINITY) == (claim->tid != 0) &&
           rules_text(claim->original, sizeof claim->original) && claim->original[0] &&
           rules_text(claim->container, sizeof claim->container) &&
           rules_text(claim->container_id, sizeof claim->container_id) &&
           rules_text(claim->path, sizeof claim->path) && claim_path_is_safe(claim->path) &&
           (bounds->any_path || rules_path(claim->path, bounds->names, bounds->n_names)) &&
           (claim->dev | claim->ino | claim->root_dev | claim->root_ino | claim->tid_start |
            claim->tid_claimed) <= INT64_MAX;
}

/* Groups have their claims in their names, and go with the last one. */
static bool is_held(const struct writer *writer, const struct claim *claim)
{
    int directory = claim->set[0] ? look_open(writer, claim) : -1;
    if (directory < 0)
        return false;
    bool held = (claim->knob == KNOB_CPU && quota_is_held(writer, claim, directory)) ||
                (claim->knob == KNOB_AFFINITY && thread_is_held(writer, claim));
    close(directory);
    return held;
}

static void forget(struct writer *writer, struct claim *claim)
{
    size_t at = (size_t)(claim - writer->open.claims);
    memmove(claim, claim + 1, (--writer->open.n - at) * sizeof *claim);
}

static int take_claim(struct writer *writer, const struct order *order)
{
    struct claim asked = order->of.claim, *before;
    if (writer->open.n == CLAIMS_MAX || !is_claim(writer, &asked))
        return ORDER_REFUSED;
    before = find_same(writer, &asked);
    if (before && is_held(writer, before)) /* what was set is nobody's new original */
        return ORDER_REFUSED;
    int err = check_original(writer, &asked);
    if (err)
        return err;
    asked.from[0] = asked.set[0] = '\0';
    asked.given_back = false;
    writer->open.last_id = asked.id;
    err = journal_file_claim(&writer->file, &asked, before ? before->id : 0);
    if (err)
        return err;
    if (before)
        forget(writer, before);
    writer->open.claims[writer->open.n++] = asked;
    return 0;
}

/* ---- what it is to become ---- */

/* The claim's own limits may have moved since; what it had, and the least of all, have not. */
static bool may_become(const struct writer *writer, const struct claim *claim, const char *to)
{
    double worth, worth_before;
    uint64_t bits, bits_before;
    cpu_set_t cpus;
    const struct writer_bounds *bounds = writer->config.bounds;
    if (claim->knob == KNOB_CPU)
        return quota_is_no_more(writer, claim, to);
    if (claim->knob == KNOB_AFFINITY) {
        if (!rules_cpus(to, &cpus))
            return false;
        CPU_OR(&cpus, &cpus, &bounds->cpus);
        return CPU_EQUAL(&cpus, &bounds->cpus);
    }
    return read_share(claim, to, &worth, &bits) &&
           read_share(claim, claim->original, &worth_before, &bits_before) &&
           worth >= bounds->least[claim->knob] &&
           (claim->knob == KNOB_WAYS ? !(bits & ~bits_before) : worth <= worth_before);
}

static int intend(struct writer *writer, const struct order *order)
{
    struct intent intent = order->of.change;
    struct claim *claim = find(writer, intent.claim), before;
    if (!claim || !rules_text(intent.from, CLAIM_TEXT_MAX) ||
        !rules_text(intent.to, CLAIM_TEXT_MAX) ||
        (strcmp(intent.from, claim->original) != 0 && strcmp(intent.from, claim->set) != 0 &&
         strcmp(intent.from, claim->from) != 0) ||
        !may_become(writer, claim, intent.to))
        return ORDER_REFUSED;
    before = *claim;
    memcpy(claim->from, intent.from, sizeof claim->from);
    memcpy(claim->set, intent.to, sizeof claim->set);
    /* Who announces two without a write between would have what is there taken for another's. */
    bool forgets = is_held(writer, &before) && !is_held(writer, claim);
    *claim = before;
    int err = forgets ? ORDER_REFUSED : journal_file_intend(&writer->file, &intent);
    if (err)
        return err;
    memcpy(claim->from, intent.from, sizeof claim->from);
    memcpy(claim->set, intent.to, sizeof claim->set);
    return 0;
}

/* ---- giving back ---- */

static int release(struct writer *writer, uint64_t id)
{
    struct claim *claim = find(writer, id);
    if (!claim)
        return ORDER_REFUSED;
    if (!claim->given_back && is_held(writer, claim))
        return -EBUSY;
    int err =
        journal_file_release(&writer->file, id); /* a file that is made anew has it up to then */
    forget(writer, claim);
    return err;
}

/* ---- orders ---- */

static int write_file(struct writer *writer, const struct order *order)
{
    for (size_t i = writer->open.n; i-- > 0;) {
        struct claim *claim = &writer->open.claims[i];
        if (claim->knob == KNOB_CPU && claim->dev == order->of.file.dev &&
            claim->ino == order->of.file.ino)
            return quota_write(writer, claim, order);
    }
    return groups_obey(writer, order);
}

int writer_obey(struct writer *writer, const struct order *order)
{
    switch (order->kind) {
    case ORDER_READY:
    case ORDER_BEAT:
        return 0;
    case ORDER_CLAIM:
        return take_claim(writer, order);
    case ORDER_INTEND:
        return intend(writer, order);
    case ORDER_RELEASE:
        return release(writer, order->of.change.claim);
    case ORDER_COMPACT:
        return journal_file_compact(&writer->file);
    case ORDER_THREAD:
        return threads_set(writer, order->of.thread.tid, &order->of.thread.cpus);
    case ORDER_FILE:
    case ORDER_MAKE_GROUP:
    case ORDER_REMOVE_GROUP:
        if (!rules_text(order->of.file.name, ORDER_NAME_MAX) ||
            strnlen(order->of.file.text, ORDER_TEXT_MAX) == ORDER_TEXT_MAX)
            return ORDER_REFUSED;
        return order->kind == ORDER_FILE ? write_file(writer, order) : groups_obey(writer, order);
    default:
        return ORDER_REFUSED;
    }
}

size_t writer_open(const struct writer *writer)
{
    return writer->open.n + (size_t)writer->groups;
}

int writer_new(const struct writer_config *config, struct writer **out)
{
    struct writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return -ENOMEM;
    writer->config = *config;
    writer->file = config->file;
    writer->file.open = &writer->open;
    writer->open.claims = writer->claims;
    *out = writer;
    return 0;
}

void writer_free(struct writer *writer)
{
    free(writer);
}
