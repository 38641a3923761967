#include "exporter/governor/act/enforcer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exporter/governor/act/enforcer_internal.h"

#define JOURNAL_PATIENCE_NS UINT64_C(60000000000)
/* Who was cut reads little, and so is no culprit at once. */
#define CULPRIT_FOR_NS UINT64_C(60000000000)

static void journal_worked(struct enforcer *enforcer, int err)
{
    if (!err)
        enforcer->failing_since_ns = 0;
    else if (!enforcer->failing_since_ns)
        enforcer->failing_since_ns = enforcer->now_ns;
    if (err)
        log_error(enforcer->config.log, "journal", "cannot be written, so nothing is changed: %s",
                  strerror(-err));
}

/* While it cannot be written nothing is changed, and after a minute all is let go. */
static bool journal_is_well(struct enforcer *enforcer)
{
    if (!enforcer->failing_since_ns)
        return true;
    journal_worked(enforcer, journal_compact(enforcer->journal));
    if (!enforcer->failing_since_ns)
        return true;
    if (enforcer->now_ns - enforcer->failing_since_ns >= JOURNAL_PATIENCE_NS)
        enforcer_release_all(enforcer, RELEASE_JOURNAL, enforcer->now_ns, enforcer->wall_ns);
    return false;
}

static void spell(const struct enforcer *enforcer, const struct holding *holding, double value,
                  char out[CLAIM_TEXT_MAX])
{
    const struct actuator *actuator = holding_actuator(enforcer, holding);
    actuator->ops->format(actuator->self, &holding->claim, value, out);
}

/* It is of that one alone: the others go on. */
static void bear_refusal(struct enforcer *enforcer, struct holding *holding, enum error_op op,
                         int err)
{
    enforcer_warn(enforcer, holding, op, err);
    guard_failed(&holding->memory.retry, enforcer->now_ns);
}

static void add_intent(struct enforcer *enforcer, struct holding *holding, double value)
{
    struct change *change = &enforcer->changes[enforcer->n_changes];
    if (!holding->claim.id) {
        int err = journal_claim(enforcer->journal, &holding->claim);
        if (journal_is_refused(enforcer->journal, err)) {
            bear_refusal(enforcer, holding, ERROR_CLAIM, err);
            return;
        }
        journal_worked(enforcer, err);
        if (err)
            return;
    }
    *change = (struct change){holding, {.claim = holding->claim.id}, value};
    holding_text(enforcer, holding, change->intent.from);
    spell(enforcer, holding, value, change->intent.to);
    enforcer->n_changes++;
}

static enum action action_to(const struct holding *holding, double value)
{
    return value < holding->claim.value ? ACTION_CUT : ACTION_RAISE;
}

static enum guard_verdict ask_guard(struct enforcer *enforcer, struct holding *holding,
                                    double *value)
{
    const struct claim *claim = &holding->claim;
    size_t n_open = enforcer_open(enforcer);
    if (enforcer->config.dry && holding_is_held(enforcer, holding))
        n_open--; /* it has no number by which the guard would know it */
    return guard_check(&enforcer->guard, &holding->memory, claim, holding->wanted,
                       (uint64_t)(holding->because.period_seconds * 1e9), n_open, enforcer->tick,
                       enforcer->now_ns, value);
}

/* ---- who gives way at the limit of claims ---- */

static bool is_wished(const struct holding *holding)
{
    return holding->known && !isnan(holding->wanted);
}

static void remember_culprits(struct enforcer *enforcer)
{
    for (size_t i = 0; i < enforcer->n; i++) {
        struct holding *holding = &enforcer->holdings[i];
        if (is_wished(holding) && holding->because.culprit)
            holding->culprit_until_ns = enforcer->now_ns + CULPRIT_FOR_NS;
    }
}

/* Of the same policy, which knows what it means, the one that is nearest its most. NULL: none. */
static struct holding *find_spare(const struct enforcer *enforcer, const struct holding *culprit)
{
    struct holding *spare = NULL;
    for (size_t i = 0; i < enforcer->n; i++) {
        struct holding *holding = &enforcer->holdings[i];
        const struct claim *claim = &holding->claim;
        if (claim->knob != culprit->claim.knob || holding->policy != culprit->policy ||
            !holding_is_held(enforcer, holding) || enforcer->now_ns < holding->culprit_until_ns ||
            !guard_may_give_way(&enforcer->guard, &holding->memory, claim, enforcer->tick,
                                enforcer->now_ns))
            continue;
        if (!spare || claim->value / claim->most > spare->claim.value / spare->claim.most)
            spare = holding;
    }
    return spare;
}

/* PASS: there is a claim more for it. */
static enum guard_verdict make_room(struct enforcer *enforcer, const struct holding *culprit)
{
    struct holding *spare = culprit->because.culprit ? find_spare(enforcer, culprit) : NULL;
    if (!spare)
        return GUARD_CLAIMS;
    enum guard_verdict verdict =
        guard_give_way(&enforcer->guard, &spare->memory, enforcer->tick, enforcer->now_ns);
    if (verdict != GUARD_PASS)
        return verdict;
    spare->wanted = NAN;
    spare->because = culprit->because;
    spare->crowded_out = true;
    return holding_put_back(enforcer, spare, RELEASE_REPLACED) ? GUARD_CLAIMS : GUARD_PASS;
}

static enum guard_verdict ask_for(struct enforcer *enforcer, struct holding *holding, double *value)
{
    enum guard_verdict verdict = ask_guard(enforcer, holding, value);
    if (verdict == GUARD_CLAIMS) {
        verdict = make_room(enforcer, holding);
        if (verdict == GUARD_PASS)
            verdict = ask_guard(enforcer, holding, value);
    }
    holding->crowded_out = verdict == GUARD_CLAIMS;
    return verdict;
}

/* ---- changes ---- */

/* Nothing of it is held, so nobody has looked at it in this tick. */
static bool is_readable(struct enforcer *enforcer, struct holding *holding)
{
    if (holding_is_lazy(holding) && !holding_is_held(enforcer, holding) &&
        holding->wanted < holding->claim.most)
        holding_read(enforcer, holding);
    return holding->known;
}

/* Nobody knows what a change would be from; to give back, the journal knows both. */
static bool is_in_doubt(const struct holding *holding)
{
    return holding->unsure && holding->wanted < holding->claim.most;
}

static void plan_change(struct enforcer *enforcer, struct holding *holding)
{
    double value;
    if (!is_readable(enforcer, holding) || is_in_doubt(holding))
        return;
    char from[CLAIM_TEXT_MAX], to[CLAIM_TEXT_MAX];
    enum guard_verdict verdict = ask_for(enforcer, holding, &value);
    if (verdict == GUARD_SAME) {
        /* Somebody else has given it all that it may have. */
        if (holding->claim.id && holding->claim.value >= holding->claim.most)
            holding_put_back(enforcer, holding, RELEASE_CALM);
        return;
    }
    if (verdict != GUARD_PASS) {
        enum action action = action_to(holding, holding->wanted);
        enforcer->counts.limited[verdict]++;
        enforcer->counts.decisions[holding->policy][action][OUTCOME_LIMITED] += !holding->tried;
    } else if (value >= holding->claim.most) {
        if (holding_is_held(enforcer, holding))
            holding_put_back(enforcer, holding, RELEASE_CALM);
    } else if (enforcer->config.dry) {
        enum action action = action_to(holding, value);
        holding_text(enforcer, holding, from);
        spell(enforcer, holding, value, to);
        holding->claim.value = value;
        holding->since_wall_ns = enforcer->wall_ns;
        enforcer_tell(enforcer, holding, action, OUTCOME_DRY_RUN, from, to, "");
    } else if (!enforcer->failing_since_ns) {
        add_intent(enforcer, holding, value);
    }
}

static void plan_changes(struct enforcer *enforcer, bool culprits)
{
    for (size_t i = 0; i < enforcer->n; i++) {
        struct holding *holding = &enforcer->holdings[i];
        if (!is_wished(holding) || holding->because.culprit != culprits)
            continue;
        holding->tried &= !(holding->wanted < holding->claim.most); /* it is its policy's now */
        plan_change(enforcer, holding);
    }
}

/* What the file has now, and whether it is there, is found by the next look. */
static void fail_change(struct enforcer *enforcer, struct holding *holding, int err)
{
    const struct actuator *actuator = holding_actuator(enforcer, holding);
    holding->unsure = true;
    if (err == -ESTALE)
        return;
    enforcer_count_error(enforcer, holding, ERROR_APPLY, err);
    guard_failed(&holding->memory.retry, enforcer->now_ns);
    if (err == -EINVAL) /* what bounds it may have moved */
        actuator->ops->limit(actuator->self, holding->floor, &holding->claim);
}

static void make_change(struct enforcer *enforcer, const struct change *change)
{
    struct holding *holding = change->holding;
    const struct intent *intent = &change->intent;
    const struct actuator *actuator = holding_actuator(enforcer, holding);
    enum action action = action_to(holding, change->value);
    holding->before = holding->claim.value;
    holding->claim.value = change->value;
    memcpy(holding->claim.from, intent->from, sizeof intent->from);
    memcpy(holding->claim.set, intent->to, sizeof intent->to);
    int err = actuator->ops->apply(actuator->self, &holding->claim);
    enum outcome outcome = err == -ESTALE ? OUTCOME_FOREIGN : OUTCOME_FAILED;
    enforcer_tell(enforcer, holding, action, err ? outcome : OUTCOME_APPLIED, intent->from,
                  intent->to, err ? strerror(-err) : "");
    if (err) {
        fail_change(enforcer, holding, err);
        return;
    }
    guard_succeeded(&holding->memory.retry);
    holding->since_wall_ns = enforcer->wall_ns;
}

/* Those that were not seen are let go, and forgotten when nothing of them is open. */
static void forget_unseen(struct enforcer *enforcer)
{
    for (size_t i = enforcer->n; i-- > 0;) {
        struct holding *holding = &enforcer->holdings[i];
        if (holding->seen)
            continue;
        enforcer_let_go(enforcer, holding, RELEASE_VANISHED, NULL);
        if (holding->claim.id)
            continue;
        memories_keep(enforcer->memories, &holding->claim, &holding->memory);
        *holding = enforcer->holdings[--enforcer->n];
    }
}

struct holding *enforcer_unseen(struct enforcer *enforcer, const struct holding *last)
{
    for (size_t i = last ? (size_t)(last - enforcer->holdings) + 1 : 0; i < enforcer->n; i++)
        if (!enforcer->holdings[i].seen)
            return &enforcer->holdings[i];
    return NULL;
}

static void tell_left_out(struct enforcer *enforcer)
{
    bool any = enforcer->left_out > 0;
    if (any && !enforcer->said_left_out)
        log_warn(
            enforcer->config.log, "enforcer",
            "there are more containers or threads than there is room for: %zu are not governed",
            enforcer->left_out);
    if (!any && enforcer->said_left_out)
        log_info(enforcer->config.log, "enforcer",
                 "there is room for all containers and threads again");
    enforcer->said_left_out = any;
}

static void make_changes(struct enforcer *enforcer)
{
    for (size_t i = 0; i < enforcer->n_changes; i++) {
        const struct change *change = &enforcer->changes[i];
        int err = journal_intend(enforcer->journal, &change->intent);
        if (journal_is_refused(enforcer->journal, err)) {
            bear_refusal(enforcer, change->holding, ERROR_APPLY, err);
            continue;
        }
        journal_worked(enforcer, err);
        if (err)
            return;
        make_change(enforcer, change);
    }
}

void enforcer_commit(struct enforcer *enforcer)
{
    tell_left_out(enforcer);
    forget_unseen(enforcer);
    if (!journal_is_well(enforcer))
        return;
    enforcer->n_changes = 0;
    remember_culprits(enforcer);
    plan_changes(enforcer, true); /* before others have used up what may be written */
    plan_changes(enforcer, false);
    make_changes(enforcer);
}

bool enforcer_try(struct enforcer *enforcer, struct holding *holding, uint64_t now_ns,
                  uint64_t wall_ns)
{
    static const struct because because = {.why = "experiment", .period_seconds = 1};
    enforcer->now_ns = now_ns;
    enforcer->wall_ns = wall_ns;
    enforcer->n_changes = 0;
    enforcer_want(holding, holding->claim.least, &because);
    holding->tried = true;
    if (journal_is_well(enforcer))
        plan_change(enforcer, holding);
    make_changes(enforcer);
    holding->wanted = NAN;
    holding->tried = holding->claim.id != 0;
    return holding->tried && !holding->unsure && holding->claim.value <= holding->claim.least;
}
