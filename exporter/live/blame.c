#include "exporter/live/blame.h"

#include <math.h>

#include "exporter/live/words.h"

/* Of those that use less, slow memory is not worth a word. */
static const double some_cpus = 0.05;
/* Less than this share is not listed. */
static const double worth_a_word = 0.005;

_Static_assert((int)LOSS_OWN_QUOTA == 0 && (int)LOSS_DISK == BLAME_DISK - BLAME_OWN_QUOTA,
               "what is lost and who is to blame come in one order");

/* LOSSES: nothing. */
static enum loss loss_of(enum blame blame)
{
    if (blame < BLAME_OWN_QUOTA)
        return LOSSES;
    return blame <= BLAME_DISK ? (enum loss)(blame - BLAME_OWN_QUOTA) : LOSS_MEMORY_SLOW;
}

const char *blame_name(enum blame blame)
{
    static const char *const names[BLAMES] = {
        [BLAME_NOTHING] = "nothing",
        [BLAME_MEMORY_NEIGHBOUR] = "memory_neighbour",
        [BLAME_MEMORY_ITSELF] = "memory_itself",
        [BLAME_MEMORY_OUTSIDE] = "hypervisor",
        [BLAME_MEMORY_UNKNOWN] = "memory_unknown",
    };
    return loss_of(blame) < LOSS_MEMORY_SLOW ? loss_name(loss_of(blame)) : names[blame];
}

/* ---- slow memory ---- */

static bool is_slow(const struct live_domain *domain)
{
    return domain->cause >= LIVE_CAUSE_UNKNOWN;
}

/* By its own reads; where these are not counted, by the node's, which are as slow for it as for the
 * probe. Of several nodes it is not known which are its own. */
static bool has_slow_memory(const struct live_view *view, const struct live_container *c)
{
    if (c->waits)
        return true;
    return isnan(c->number[LIVE_READS_PER_SECOND]) && c->number[LIVE_CPUS] >= some_cpus &&
           view->n_domains == 1 && is_slow(&view->domains[0]);
}

/* Most of what is above usual came in steps at which nobody here began to do more. */
static bool is_from_outside(const struct live_domain *domain)
{
    static const double most = 0.5;
    return domain->cause == LIVE_CAUSE_UNKNOWN && domain->outside_seconds > 0 &&
           domain->outside_seconds >= most * (domain->latency_seconds - domain->usual_seconds);
}

/* Of whatever node it is whose memory is slow. */
static bool comes_from_outside(const struct live_view *view)
{
    size_t slow = 0, outside = 0;
    for (size_t i = 0; i < view->n_domains; i++) {
        slow += is_slow(&view->domains[i]);
        outside += is_from_outside(&view->domains[i]);
    }
    return outside > 0 && outside == slow;
}

static bool is_named(const struct live_container *c)
{
    return c->suspicion == LIVE_NAMED;
}

static const struct live_container *other_named(const struct live_view *view,
                                                const struct live_container *c)
{
    const struct live_container *first = view->named[0];
    return first && first->tag == c->tag ? view->named[1] : first;
}

static enum blame blame_memory(const struct live_view *view, const struct live_container *c)
{
    if (other_named(view, c))
        return BLAME_MEMORY_NEIGHBOUR;
    if (is_named(c))
        return BLAME_MEMORY_ITSELF;
    return comes_from_outside(view) ? BLAME_MEMORY_OUTSIDE : BLAME_MEMORY_UNKNOWN;
}

/* ---- which ---- */

enum blame live_blame(const struct live_view *view, const struct live_container *c)
{
    const struct live_lost *lost = &c->lost;
    bool slow = has_slow_memory(view, c);
    bool caused = lost->told && lost->judged && lost->cause != LOSSES;
    /* What slow memory costs is not known without counters: then what is known comes first. */
    if (caused && !(slow && lost->per_second[LOSS_MEMORY_SLOW] > lost->per_second[lost->cause]))
        return lost->cause == LOSS_MEMORY_SLOW ? blame_memory(view, c)
                                               : (enum blame)(BLAME_OWN_QUOTA + (int)lost->cause);
    if (slow)
        return blame_memory(view, c);
    return lost->told && lost->judged ? BLAME_NOTHING : BLAME_UNKNOWN;
}

double live_blame_cost(const struct live_container *c, enum blame blame)
{
    enum loss loss = loss_of(blame);
    double cost = c->lost.told && loss != LOSSES ? c->lost.per_second[loss] : 0;
    return cost > 0 ? cost : NAN;
}

/* Who has more tasks than CPUs, or much to read from disks, wants no help. */
static bool is_wanted(enum blame blame)
{
    return blame == BLAME_ITSELF || blame == BLAME_DISK;
}

const struct live_container *live_costliest(const struct live_view *view)
{
    const struct live_container *found = NULL;
    double most = 0;
    for (size_t i = 0; i < view->n; i++) {
        const struct live_container *c = &view->containers[i];
        enum blame blame = live_blame(view, c);
        double cost = is_wanted(blame) ? NAN : live_blame_cost(c, blame);
        if (!(cost > most))
            continue;
        most = cost;
        found = c;
    }
    return found;
}

/* ---- in words ---- */

double live_lost_sum(const struct live_container *c)
{
    double sum = 0;
    for (int i = 0; i < LOSSES; i++)
        sum += c->lost.per_second[i];
    return c->lost.told ? sum : NAN;
}

void live_losses(struct textbuf *out, const struct live_container *c)
{
    static const char *const words[LOSSES] = {
        [LOSS_OWN_QUOTA] = "its own CPU limit",
        [LOSS_CPU_NEIGHBOUR] = "others on its CPUs",
        [LOSS_ITSELF] = "its own tasks",
        [LOSS_HYPERVISOR] = "the hypervisor",
        [LOSS_OWN_MEMORY_LIMIT] = "its own memory limit",
        [LOSS_MEMORY_FULL] = "the node's full memory",
        [LOSS_DISK] = "disks",
        [LOSS_MEMORY_SLOW] = "slow memory",
    };
    bool listed[LOSSES] = {false};
    for (int n = 0; n < LOSSES; n++) {
        int most = -1;
        for (int i = 0; i < LOSSES; i++)
            if (!listed[i] && c->lost.per_second[i] >= worth_a_word &&
                (most < 0 || c->lost.per_second[i] > c->lost.per_second[most]))
                most = i;
        if (most < 0)
            return;
        listed[most] = true;
        textbuf_printf(out, "%s%s %.0f %%", n > 0 ? ", " : "", words[most],
                       c->lost.per_second[most] * 100);
    }
}

static void add_share(struct textbuf *out, double cost)
{
    if (cost > 0)
        textbuf_printf(out, ", %.0f %% of the time", cost * 100);
}

static void add_bytes(struct textbuf *out, double bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (bytes /= 1024; bytes >= 1024 && unit < 3; unit++)
        bytes /= 1024;
    textbuf_printf(out, bytes < 9.95 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

static const struct live_container *by_tag(const struct live_view *view, uint64_t tag)
{
    for (size_t i = 0; i < view->n; i++)
        if (view->containers[i].tag == tag)
            return &view->containers[i];
    return NULL;
}

static void say_quota(struct textbuf *out, const struct live_lost *lost, double cost, bool all)
{
    textbuf_str(out, "It waits for its own CPU limit");
    if (all && lost->quota_cpus > 0)
        textbuf_printf(out, " of %.3g CPUs", lost->quota_cpus);
    add_share(out, cost);
    if (all && lost->throttled > 0)
        textbuf_printf(out, " (reached in %.0f %% of the limit's periods)", lost->throttled * 100);
    textbuf_str(out, ": raise the limit, or drop it; nobody else is to blame.");
}

/* Whoever has ended meanwhile is not listed. */
static void say_neighbour(struct textbuf *out, const struct live_view *view,
                          const struct live_lost *lost, double cost)
{
    size_t listed = 0;
    textbuf_str(out, "It waits for a CPU that others use");
    add_share(out, cost);
    for (size_t i = 0; i < lost->takers; i++) {
        const struct live_container *taker = by_tag(view, lost->taker[i]);
        if (!taker)
            continue;
        textbuf_str(out, listed++ > 0 ? ", " : ", mostly ");
        live_name(out, taker);
        textbuf_printf(out, " (%.0f %% of what is %s)", lost->taker_share[i] * 100,
                       lost->takers_seen ? "seen of that" : "taken beyond shares");
    }
    if (lost->takes) {
        textbuf_str(out, "; it already uses more than its own share: raise its CPU request if it "
                         "needs as much.");
        return;
    }
    if (lost->takers_seen && lost->takers == 0)
        textbuf_str(out, "; processes that are in no container have it");
    else if (listed == 0)
        textbuf_str(out, "; no container takes more than its share, so too much runs here");
    textbuf_str(out, listed > 0 ? ": move one of them, raise its CPU request, or give it CPUs of "
                                  "its own."
                                : ": move something away, or raise its CPU request.");
}

static void say_limit(struct textbuf *out, const struct live_lost *lost, double cost, bool all)
{
    textbuf_str(out, "It waits for memory because it has reached its own memory limit");
    if (all && lost->memory_limit_bytes > 0) {
        textbuf_str(out, " of ");
        add_bytes(out, lost->memory_limit_bytes);
    }
    add_share(out, cost);
    if (all && lost->refaults_per_second >= 1)
        textbuf_printf(out, " (it reads %.0f pages a second again that it had to give up)",
                       lost->refaults_per_second);
    textbuf_str(out, ": raise the limit.");
}

static void say_memory(struct textbuf *out, const struct live_view *view,
                       const struct live_container *c, enum blame blame, double cost)
{
    const struct live_container *other = other_named(view, c);
    textbuf_str(out, "Its reads of memory are slow");
    if (c->waits)
        add_share(out, cost);
    if (blame == BLAME_MEMORY_NEIGHBOUR && other) {
        textbuf_str(out, ", because of ");
        live_name(out, other);
        textbuf_str(out, ": move one of them, or limit that one.");
    } else if (blame == BLAME_MEMORY_ITSELF) {
        textbuf_str(out, ", because of itself: it needs more memory bandwidth or cache than there "
                         "is; spread it over more nodes.");
    } else if (blame == BLAME_MEMORY_OUTSIDE) {
        textbuf_str(out, ", which began when nobody on this machine did more than before: it comes "
                         "from outside of it; take another kind of instance, or a dedicated host.");
    } else {
        textbuf_str(out, "; who makes them slow is not known.");
    }
}

static void say_unknown(struct textbuf *out, const struct live_lost *lost)
{
    if (!lost->told)
        textbuf_str(out,
                    "What it waits for is not looked for: the collector of that does not run.");
    else if (lost->untold)
        textbuf_str(out, lost->untold);
    else
        textbuf_str(out, "Not known: it has been watched for too short a time, or it waits now and "
                         "then only.");
}

void live_why(struct textbuf *out, const struct live_view *view, const struct live_container *c,
              bool all)
{
    const struct live_lost *lost = &c->lost;
    enum blame blame = live_blame(view, c);
    double cost = live_blame_cost(c, blame);
    switch (blame) {
    case BLAME_NOTHING:
        textbuf_str(out, "It waits for nothing that this node can see: look at the service, its "
                         "callers, the network.");
        break;
    case BLAME_OWN_QUOTA:
        say_quota(out, lost, cost, all);
        break;
    case BLAME_CPU_NEIGHBOUR:
        say_neighbour(out, view, lost, cost);
        break;
    case BLAME_ITSELF:
        textbuf_str(out, "Its own tasks wait for each other's CPUs");
        add_share(out, cost);
        textbuf_str(out, ": give it more CPUs, or fewer threads.");
        break;
    case BLAME_HYPERVISOR:
        textbuf_str(out, "The hypervisor gives its CPUs to others");
        add_share(out, cost);
        textbuf_str(out, ": take another kind of instance, or a dedicated host.");
        break;
    case BLAME_OWN_MEMORY_LIMIT:
        say_limit(out, lost, cost, all);
        break;
    case BLAME_MEMORY_FULL:
        textbuf_str(out, "It waits for memory because the whole node's is full");
        add_share(out, cost);
        textbuf_str(out, ": evict something, or add memory.");
        break;
    case BLAME_DISK:
        textbuf_str(out, "It waits for disks");
        add_share(out, cost);
        textbuf_str(out, ": look at what it reads and writes, and at who else uses the disk.");
        break;
    case BLAME_MEMORY_NEIGHBOUR:
    case BLAME_MEMORY_ITSELF:
    case BLAME_MEMORY_OUTSIDE:
    case BLAME_MEMORY_UNKNOWN:
        say_memory(out, view, c, blame, cost);
        break;
    default:
        say_unknown(out, lost);
        break;
    }
}
