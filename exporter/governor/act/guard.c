#include "exporter/governor/act/guard.h"

#include <math.h>

#define SECOND UINT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

#define SETTLE (60 * SECOND)
#define YIELD_AFTER_RESETS HOUR
#define YIELD_AFTER_CHANGES (10 * MINUTE)
#define YIELD_LONGEST HOUR
#define BASED_FIRST (5 * MINUTE)
#define BASED_LONGEST (40 * MINUTE)
#define RETRY_LONGEST (60 * SECOND)

const char *const guard_verdict_names[GUARD_VERDICTS] = {
    [GUARD_PASS] = "",           [GUARD_SAME] = "same",         [GUARD_TICK] = "tick",
    [GUARD_RATE] = "rate",       [GUARD_CLAIMS] = "claims",     [GUARD_SETTLE] = "settle",
    [GUARD_YIELDED] = "yielded", [GUARD_BACK_OFF] = "back_off", [GUARD_TABLE] = "table",
};

void guard_init(struct guard *guard, const struct guard_limits *limits, uint64_t now_ns)
{
    *guard = (struct guard){
        .limits = *limits, .tokens = fmax(limits->writes_per_second, 1), .tokens_ns = now_ns};
}

/* ---- a ring of times ---- */

static void remember(uint64_t *ring, unsigned size, unsigned *n, uint64_t now_ns)
{
    ring[(*n)++ % size] = now_ns;
}

/* How many of them are not older than 'within'. */
static unsigned count_since(const uint64_t *ring, unsigned size, unsigned n, uint64_t within,
                            uint64_t now_ns)
{
    unsigned recent = 0;
    for (unsigned i = 0; i < size && i < n; i++)
        recent += now_ns - ring[i] < within;
    return recent;
}

/* Whether it is of any use later than in its tick. */
static bool is_useful(const struct guard_memory *memory)
{
    return memory->n_cuts > 0 || memory->n_resets > 0 || memory->n_changes > 0 ||
           memory->yielded_until_ns > 0 || memory->based_until_ns > 0 || memory->retry.at_ns > 0 ||
           memory->release.at_ns > 0;
}

/* ---- wishes ---- */

double guard_writes(const struct guard *guard, uint64_t now_ns)
{
    double most = fmax(guard->limits.writes_per_second, 1);
    double gained =
        (double)(now_ns - guard->tokens_ns) / (double)SECOND * guard->limits.writes_per_second;
    return fmin(guard->tokens + gained, most);
}

static bool take_token(struct guard *guard, uint64_t now_ns)
{
    guard->tokens = guard_writes(guard, now_ns);
    guard->tokens_ns = now_ns;
    if (guard->tokens < 1)
        return false;
    guard->tokens -= 1;
    return true;
}

/* One time, and twice as long each time; again the first an hour after the last one ended. */
static uint64_t longer(uint64_t last, uint64_t ended_ns, uint64_t first, uint64_t longest,
                       uint64_t now_ns)
{
    if (!last || now_ns - ended_ns >= HOUR)
        return first;
    return 2 * last < longest ? 2 * last : longest;
}

static void count_cut(const struct guard *guard, struct guard_memory *memory, uint64_t period_ns,
                      uint64_t now_ns)
{
    uint64_t since_ns = now_ns - memory->cut_ns;
    memory->cut_ns = now_ns;
    /* A quarter early, for ticks come a little early or late. */
    if (now_ns < memory->based_until_ns || (period_ns && since_ns >= period_ns - period_ns / 4))
        return;
    remember(memory->cuts, GUARD_CUTS_MAX, &memory->n_cuts, now_ns);
    unsigned recent =
        count_since(memory->cuts, GUARD_CUTS_MAX, memory->n_cuts, 10 * MINUTE, now_ns);
    if (recent <= guard->limits.cuts_per_10m)
        return;
    memory->based_ns =
        longer(memory->based_ns, memory->based_until_ns, BASED_FIRST, BASED_LONGEST, now_ns);
    memory->based_until_ns = now_ns + memory->based_ns;
    memory->n_cuts = 0;
}

enum guard_verdict guard_would(const struct guard_memory *memory, uint64_t tick, uint64_t now_ns)
{
    if (guard_has_yielded(memory, now_ns))
        return GUARD_YIELDED;
    if (now_ns < memory->settle_until_ns)
        return GUARD_SETTLE;
    if (now_ns < memory->retry.at_ns)
        return GUARD_BACK_OFF;
    return memory->changed_tick == tick + 1 ? GUARD_TICK : GUARD_PASS;
}

static enum guard_verdict may_change(const struct guard *guard, const struct guard_memory *memory,
                                     const struct claim *claim, size_t n_open, uint64_t tick,
                                     uint64_t now_ns)
{
    enum guard_verdict verdict = guard_would(memory, tick, now_ns);
    bool full = !claim->id && n_open >= guard->limits.claims;
    return verdict == GUARD_PASS && full ? GUARD_CLAIMS : verdict;
}

enum guard_verdict guard_check(struct guard *guard, struct guard_memory *memory,
                               const struct claim *claim, double wanted, uint64_t period_ns,
                               size_t n_open, uint64_t tick, uint64_t now_ns, double *value)
{
    if (!(wanted >= claim->least)) /* NaN too */
        wanted = claim->least;
    if (wanted > claim->most)
        wanted = claim->most;
    bool is_free =
        claim->value >= claim->most && wanted >= claim->most; /* given back, and so it stays */
    if (now_ns < memory->based_until_ns && !is_free)
        wanted = claim->least;
    if (wanted == claim->value)
        return GUARD_SAME;
    enum guard_verdict verdict = may_change(guard, memory, claim, n_open, tick, now_ns);
    if (verdict == GUARD_PASS)
        verdict = guard_give_way(guard, memory, tick, now_ns);
    if (verdict != GUARD_PASS)
        return verdict;
    if (wanted < claim->value)
        count_cut(guard, memory, period_ns, now_ns);
    *value = wanted;
    return GUARD_PASS;
}

bool guard_may_give_way(const struct guard *guard, const struct guard_memory *memory,
                        const struct claim *claim, uint64_t tick, uint64_t now_ns)
{
    return now_ns >= memory->based_until_ns && now_ns >= memory->release.at_ns &&
           may_change(guard, memory, claim, 0, tick, now_ns) == GUARD_PASS;
}

enum guard_verdict guard_give_way(struct guard *guard, struct guard_memory *memory, uint64_t tick,
                                  uint64_t now_ns)
{
    if (!take_token(guard, now_ns))
        return GUARD_RATE;
    memory->changed_tick = tick + 1;
    return GUARD_PASS;
}

/* ---- others who write ---- */

enum guard_answer guard_reset(struct guard_memory *memory, uint64_t now_ns)
{
    unsigned before = count_since(memory->resets, GUARD_RESETS_MAX, memory->n_resets, HOUR, now_ns);
    remember(memory->resets, GUARD_RESETS_MAX, &memory->n_resets, now_ns);
    if (before < GUARD_RESETS_MAX)
        return GUARD_REASSERT;
    memory->yielded_until_ns = now_ns + YIELD_AFTER_RESETS;
    memory->n_resets = 0;
    return GUARD_YIELD;
}

enum guard_answer guard_changed(struct guard_memory *memory, uint64_t now_ns)
{
    remember(memory->changes, GUARD_CHANGES_MAX, &memory->n_changes, now_ns);
    if (count_since(memory->changes, GUARD_CHANGES_MAX, memory->n_changes, 10 * MINUTE, now_ns) ==
        GUARD_CHANGES_MAX) {
        memory->yielded_ns = longer(memory->yielded_ns, memory->yielded_until_ns,
                                    YIELD_AFTER_CHANGES, YIELD_LONGEST, now_ns);
        memory->yielded_until_ns = now_ns + memory->yielded_ns;
        return GUARD_YIELD;
    }
    memory->settle_until_ns = now_ns + SETTLE;
    return GUARD_ADOPT;
}

bool guard_has_yielded(const struct guard_memory *memory, uint64_t now_ns)
{
    return now_ns < memory->yielded_until_ns;
}

/* ---- failures ---- */

void guard_failed(struct guard_retry *retry, uint64_t now_ns)
{
    uint64_t longer = 2 * retry->wait_ns;
    retry->wait_ns = !retry->wait_ns ? SECOND : longer < RETRY_LONGEST ? longer : RETRY_LONGEST;
    retry->at_ns = now_ns + retry->wait_ns;
}

void guard_succeeded(struct guard_retry *retry)
{
    *retry = (struct guard_retry){0};
}

/* ---- who is missing ---- */

static struct memories_entry *find_entry(struct memories *memories, const struct claim *claim)
{
    for (size_t i = 0; i < memories->n; i++) {
        struct memories_entry *entry = &memories->list[i];
        if (entry->knob == claim->knob && entry->dev == claim->dev && entry->ino == claim->ino &&
            entry->tid == claim->tid && entry->tid_start == claim->tid_start)
            return entry;
    }
    return NULL;
}

static struct memories_entry *make_room(struct memories *memories)
{
    struct memories_entry *oldest = memories->list;
    if (memories->n < MEMORIES_MAX)
        return &memories->list[memories->n++];
    for (size_t i = 1; i < memories->n; i++)
        if (memories->list[i].left < oldest->left)
            oldest = &memories->list[i];
    return oldest;
}

void memories_keep(struct memories *memories, const struct claim *claim,
                   const struct guard_memory *memory)
{
    if (!claim->ino || !is_useful(memory) || find_entry(memories, claim))
        return;
    *make_room(memories) = (struct memories_entry){.knob = claim->knob,
                                                   .tid = claim->tid,
                                                   .dev = claim->dev,
                                                   .ino = claim->ino,
                                                   .tid_start = claim->tid_start,
                                                   .left = memories->left++,
                                                   .memory = *memory};
}

void memories_take(struct memories *memories, const struct claim *claim,
                   struct guard_memory *memory)
{
    struct memories_entry *entry = find_entry(memories, claim);
    if (!entry)
        return;
    *memory = entry->memory;
    *entry = memories->list[--memories->n];
}
