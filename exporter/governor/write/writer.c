#include "exporter/governor/write/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/governor/terms/cpus.h"
#include "exporter/governor/write/rules.h"
#include "exporter/governor/write/writer_internal.h"

/* ---- claims ---- */

static struct claim *find(const struct writer *writer, uint64_t id)
{
    for (size_t i = 0; i < writer->n; i++)
        if (writer->claims[i].id == id)
            return &writer->claims[i];
    return NULL;
}

static int check_quota(const struct writer *writer, const struct claim *claim, int directory,
                       struct held *held)
{
    char now[CLAIM_TEXT_MAX];
    struct rules_quota original;
    int err = look_quota(writer, directory, now, &held->period_us);
    if (err)
        return err;
    if (strcmp(now, claim->original) != 0)
        return -ESTALE;
    rules_quota(writer->config.version, now, &original);
    return claim->most <= look_cores(&original, held->period_us) + 1e-6 ? 0 : ORDER_REFUSED;
}

static int check_thread(const struct writer *writer, const struct claim *claim)
{
    cpu_set_t now, original;
    if (claim->tid <= 0 || !look_is_thread(writer, claim) ||
        !look_is_member(writer, claim, claim->tid, false))
        return ORDER_REFUSED;
    int err = look_cpus(writer, claim->tid, &now);
    if (err || strcmp(claim->original, CPUS_ALL) == 0)
        return err;
    return rules_cpus(claim->original, &original) && CPU_EQUAL(&original, &now) ? 0 : -ESTALE;
}

/* What it is said to have had before is what there is. */
static int check_original(const struct writer *writer, const struct claim *claim, struct held *held)
{
    uint64_t value;
    int directory = look_open(writer, claim), err = 0;
    if (directory < 0)
        return directory;
    if (claim->knob == KNOB_CPU)
        err = check_quota(writer, claim, directory, held);
    else if (claim->knob == KNOB_AFFINITY)
        err = check_thread(writer, claim);
    else if (!rules_number(claim->original, claim->knob == KNOB_WAYS ? 16 : 10, UINT32_MAX, &value))
        err = ORDER_REFUSED;
    else if (claim->most >
             (claim->knob == KNOB_WAYS ? __builtin_popcount((unsigned)value) : (double)value))
        err = ORDER_REFUSED;
    close(directory);
    return err;
}

static bool are_limits(const struct writer *writer, const struct claim *claim)
{
    return isfinite(claim->least) && isfinite(claim->most) && claim->least <= claim->most &&
           claim->least >= writer->config.bounds->least[claim->knob] - 1e-9 &&
           claim->most <= CPU_SETSIZE && rules_text(claim->original, sizeof claim->original) &&
           claim->original[0];
}

static bool is_claim(const struct writer *writer, const struct claim *claim)
{
    const struct writer_bounds *bounds = writer->config.bounds;
    return claim->id > writer->last_id && claim->id <= INT64_MAX &&
           (unsigned)claim->knob < KNOB_COUNT && are_limits(writer, claim) &&
           (claim->knob == KNOB_AFFINITY) == (claim->tid != 0) &&
           rules_text(claim->container, sizeof claim->container) &&
           rules_text(claim->container_id, sizeof claim->container_id) &&
           rules_text(claim->path, sizeof claim->path) && claim_path_is_safe(claim->path) &&
           (bounds->any_path || rules_path(claim->path, bounds->names, bounds->n_names)) &&
           (claim->dev | claim->ino | claim->root_dev | claim->root_ino | claim->tid_start |
            claim->tid_claimed) <= INT64_MAX;
}

/* But for the burst, which others lower. */
static bool is_quota(const struct writer *writer, const struct rules_quota *found, const char *text)
{
    struct rules_quota quota;
    return rules_quota(writer->config.version, text, &quota) && quota.us == found->us &&
           quota.period_us == found->period_us && quota.unlimited == found->unlimited;
}

/* Whether what was set, or was before that, is still there, and not what it had at first. */
static bool is_ours(const struct writer *writer, const struct claim *claim, int directory)
{
    char now[CLAIM_TEXT_MAX];
    uint64_t period_us;
    struct rules_quota found;
    cpu_set_t cpus, kept;
    if (claim->knob == KNOB_AFFINITY)
        return look_is_thread(writer, claim) && look_cpus(writer, claim->tid, &cpus) == 0 &&
               ((rules_cpus(claim->set, &kept) && CPU_EQUAL(&cpus, &kept)) ||
                (strcmp(claim->from, claim->original) != 0 && rules_cpus(claim->from, &kept) &&
                 CPU_EQUAL(&cpus, &kept)));
    if (claim->knob != KNOB_CPU || look_quota(writer, directory, now, &period_us))
        return false; /* groups have their claims in their names, and go with the last one */
    rules_quota(writer->config.version, now, &found);
    return !is_quota(writer, &found, claim->original) &&
           (is_quota(writer, &found, claim->set) || is_quota(writer, &found, claim->from));
}

static bool is_held(const struct writer *writer, const struct claim *claim)
{
    if (!claim->set[0])
        return false;
    int directory = look_open(writer, claim);
    bool ours = directory >= 0 && is_ours(writer, claim, directory);
    if (directory >= 0)
        close(directory);
    return ours;
}

static bool is_claimed(const struct writer *writer, const struct claim *asked)
{
    for (size_t i = 0; i < writer->n; i++) {
        const struct claim *claim = &writer->claims[i];
        if (claim->knob == asked->knob && claim->dev == asked->dev && claim->ino == asked->ino &&
            claim->tid == asked->tid && claim->tid_start == asked->tid_start)
            return true;
    }
    return false;
}

static int take_claim(struct writer *writer, const struct claim *asked)
{
    struct claim *claim = &writer->claims[writer->n];
    struct held held = {0};
    if (writer->n == CLAIMS_MAX || !is_claim(writer, asked) || is_claimed(writer, asked))
        return ORDER_REFUSED;
    int err = check_original(writer, asked, &held);
    if (err)
        return err;
    *claim = *asked;
    claim->from[0] = claim->set[0] = '\0';
    writer->last_id = claim->id;
    err = ledger_claim(&writer->ledger, claim);
    if (err)
        return err;
    writer->held[writer->n++] = held;
    return 0;
}

static int adopt(struct writer *writer, const struct claim *asked)
{
    struct claim *claim = find(writer, asked->id), adopted;
    struct held held = {0};
    if (!claim || is_held(writer, claim)) /* what was set is nobody's new original */
        return ORDER_REFUSED;
    adopted = *claim;
    memcpy(adopted.original, asked->original, sizeof adopted.original);
    adopted.least = asked->least;
    adopted.most = asked->most;
    adopted.from[0] = adopted.set[0] = '\0';
    int err =
        are_limits(writer, &adopted) ? check_original(writer, &adopted, &held) : ORDER_REFUSED;
    if (!err)
        err = ledger_adopt(&writer->ledger, &adopted);
    if (err)
        return err;
    *claim = adopted;
    *held_of(writer, claim) = held;
    return 0;
}

/* ---- what it is to become ---- */

/* The claim's own limits may have moved since; what it had, and the least of all, have not. */
static bool may_become_quota(const struct writer *writer, const struct claim *claim, const char *to)
{
    struct rules_quota original, quota;
    double period = (double)held_of(writer, claim)->period_us;
    return rules_quota(writer->config.version, claim->original, &original) &&
           rules_quota(writer->config.version, to, &quota) && !quota.unlimited &&
           quota.period_us == original.period_us && quota.burst_us <= original.burst_us &&
           (original.unlimited || quota.us <= original.us) &&
           (double)quota.us + 1 >= writer->config.bounds->least[KNOB_CPU] * period;
}

static bool may_become(const struct writer *writer, const struct claim *claim, const char *to)
{
    uint64_t value, original;
    cpu_set_t cpus, beyond;
    if (claim->knob == KNOB_CPU)
        return may_become_quota(writer, claim, to);
    if (claim->knob == KNOB_AFFINITY) {
        if (!rules_cpus(to, &cpus))
            return false;
        CPU_OR(&beyond, &cpus, &writer->config.bounds->cpus);
        return CPU_EQUAL(&beyond, &writer->config.bounds->cpus);
    }
    bool ways = claim->knob == KNOB_WAYS;
    if (!rules_number(to, ways ? 16 : 10, UINT32_MAX, &value) ||
        !rules_number(claim->original, ways ? 16 : 10, UINT32_MAX, &original))
        return false;
    double worth = ways ? __builtin_popcount((unsigned)value) : (double)value;
    return worth >= writer->config.bounds->least[claim->knob] &&
           (ways ? !(value & ~original) : value <= original);
}

static int intend(struct writer *writer, const struct order *order)
{
    const char *from = order->of.change.from, *to = order->of.change.to;
    struct claim *claim = find(writer, order->of.change.claim), before;
    if (!claim || !rules_text(from, CLAIM_TEXT_MAX) || !rules_text(to, CLAIM_TEXT_MAX) ||
        (strcmp(from, claim->original) != 0 && strcmp(from, claim->set) != 0 &&
         strcmp(from, claim->from) != 0) ||
        !may_become(writer, claim, to))
        return ORDER_REFUSED;
    before = *claim;
    snprintf(claim->from, sizeof claim->from, "%s", from);
    snprintf(claim->set, sizeof claim->set, "%s", to);
    /* Who announces two without a write between would have what is there taken for another's. */
    bool forgets = is_held(writer, &before) && !is_held(writer, claim);
    int err = forgets ? ORDER_REFUSED : ledger_intend(&writer->ledger, claim);
    if (err)
        *claim = before;
    return err;
}

/* ---- giving back ---- */

static int release(struct writer *writer, uint64_t id)
{
    const struct claim *claim = find(writer, id);
    if (!claim)
        return ORDER_REFUSED;
    if (!held_of(writer, claim)->given_back && is_held(writer, claim))
        return -EBUSY;
    size_t at = (size_t)(claim - writer->claims);
    int err = ledger_release(&writer->ledger, id); /* a file that is made anew has it up to then */
    writer->n--;
    memmove(&writer->claims[at], &writer->claims[at + 1], (writer->n - at) * sizeof *claim);
    memmove(&writer->held[at], &writer->held[at + 1], (writer->n - at) * sizeof *writer->held);
    return err;
}

/* ---- control files ---- */

/* v1 takes no more than the parent has: that much is given back then. */
static bool is_parent_s(const struct writer *writer, int directory, double cores)
{
    char text[CLAIM_TEXT_MAX];
    uint64_t period_us;
    struct rules_quota quota;
    int parent = openat(directory, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool read = parent >= 0 && look_quota(writer, parent, text, &period_us) == 0;
    if (parent >= 0)
        close(parent);
    return writer->config.version == 1 && read && rules_quota(1, text, &quota) &&
           fabs(look_cores(&quota, period_us) - cores) < 1e-4;
}

/* What is there was there at first, or is by an order: somebody else's is never overwritten. */
static bool is_known(const struct writer *writer, const struct claim *claim, int directory)
{
    char now[CLAIM_TEXT_MAX];
    uint64_t period_us;
    struct rules_quota found;
    return look_quota(writer, directory, now, &period_us) == 0 &&
           rules_quota(writer->config.version, now, &found) &&
           (is_quota(writer, &found, claim->original) || is_quota(writer, &found, claim->set) ||
            is_quota(writer, &found, claim->from));
}

/* Of 'now' in the file: what was intended, what there was, or as much of that as the file takes. */
static bool may_be_quota(const struct writer *writer, const struct claim *claim, int directory,
                         const char *text, bool *back)
{
    struct rules_quota quota, original, set;
    int version = writer->config.version;
    if (!rules_quota(version, text, &quota) || text[quota.len] ||
        !rules_quota(version, claim->original, &original))
        return false;
    *back = strncmp(text, claim->original, original.len) == 0 && quota.len == original.len;
    if (*back || !rules_quota(version, claim->set, &set))
        return *back;
    if (strncmp(text, claim->set, set.len) == 0 && quota.len == set.len)
        return true;
    *back = !quota.unlimited && quota.us > set.us &&
            (original.unlimited || quota.us < original.us) &&
            is_parent_s(writer, directory, look_cores(&quota, held_of(writer, claim)->period_us));
    return *back;
}

static bool may_be_burst(const struct writer *writer, const struct claim *claim, int directory,
                         const char *text)
{
    struct rules_quota original, set = {0}, found;
    uint64_t burst_us, period_us;
    char now[CLAIM_TEXT_MAX];
    int version = writer->config.version;
    if (!rules_number(text, 10, UINT32_MAX, &burst_us) ||
        !rules_quota(version, claim->original, &original))
        return false;
    if (burst_us == original.burst_us ||
        (rules_quota(version, claim->set, &set) && burst_us == set.burst_us))
        return true;
    return burst_us < original.burst_us && look_quota(writer, directory, now, &period_us) == 0 &&
           rules_quota(version, now, &found) && burst_us == found.us;
}

static int write_quota(struct writer *writer, const struct claim *claim, const struct order *order)
{
    bool first = writer->config.version == 1, back = held_of(writer, claim)->given_back;
    const char *name = order->of.file.name;
    size_t len = strcspn(order->of.file.text, "\n");
    char text[CLAIM_TEXT_MAX];
    if (len >= sizeof text || strcmp(order->of.file.text + len, "\n") != 0)
        return ORDER_REFUSED;
    memcpy(text, order->of.file.text, len);
    text[len] = '\0';
    int directory = look_open(writer, claim);
    if (directory < 0)
        return directory;
    bool may = false;
    if (strcmp(name, first ? "cpu.cfs_quota_us" : "cpu.max") == 0)
        may = is_known(writer, claim, directory) &&
              may_be_quota(writer, claim, directory, text, &back);
    else if (strcmp(name, first ? "cpu.cfs_burst_us" : "cpu.max.burst") == 0)
        may = may_be_burst(writer, claim, directory, text);
    int err = may ? writer_write(writer, directory, name, order->of.file.text) : ORDER_REFUSED;
    if (!err)
        held_of(writer, claim)->given_back = back;
    close(directory);
    return err;
}

static int write_file(struct writer *writer, const struct order *order)
{
    for (size_t i = writer->n; i-- > 0;) {
        const struct claim *claim = &writer->claims[i];
        if (claim->knob == KNOB_CPU && claim->dev == order->of.file.dev &&
            claim->ino == order->of.file.ino)
            return write_quota(writer, claim, order);
    }
    return groups_obey(writer, order);
}

/* ---- orders ---- */

int writer_obey(struct writer *writer, const struct order *order)
{
    switch (order->kind) {
    case ORDER_READY:
    case ORDER_BEAT:
        return 0;
    case ORDER_CLAIM:
        return take_claim(writer, &order->of.claim);
    case ORDER_ADOPT:
        return adopt(writer, &order->of.claim);
    case ORDER_INTEND:
        return intend(writer, order);
    case ORDER_RELEASE:
        return release(writer, order->of.change.claim);
    case ORDER_COMPACT:
        return ledger_compact(&writer->ledger);
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
    return writer->n + (size_t)writer->groups;
}

int writer_new(const struct writer_config *config, struct writer **out)
{
    struct writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return -ENOMEM;
    writer->config = *config;
    writer->claims = calloc(CLAIMS_MAX, sizeof *writer->claims);
    writer->held = calloc(CLAIMS_MAX, sizeof *writer->held);
    if (!writer->claims || !writer->held) {
        writer_free(writer);
        return -ENOMEM;
    }
    writer->ledger = (struct ledger){.write = config->write,
                                     .directory = config->state,
                                     .fd = config->journal,
                                     .boot_id = config->boot_id,
                                     .claims = writer->claims,
                                     .n = &writer->n};
    *out = writer;
    return 0;
}

void writer_free(struct writer *writer)
{
    if (!writer)
        return;
    free(writer->claims);
    free(writer->held);
    free(writer);
}
