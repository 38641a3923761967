#include "exporter/governor/enforcer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exporter/governor/enforcer_internal.h"

#define JOURNAL_PATIENCE_NS UINT64_C(60000000000)

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
        enforcer_release_all(enforcer, RELEASE_JOURNAL, enforcer->wall_ns);
    return false;
}

static void spell(const struct enforcer *enforcer, const struct holding *holding, double value,
                  char out[CLAIM_TEXT_MAX])
{
    const struct actuator *actuator = holding_actuator(enforcer, holding);
    struct claim claim = holding->claim;
    claim.at = holding->wanted_at;
    actuator->ops->format(actuator->self, &claim, value, out);
}

static void add_intent(struct enforcer *enforcer, struct holding *holding, double value)
{
    struct intent *intent = &enforcer->intents[enforcer->n_intents];
    if (!holding->claim.id) {
        int err = journal_claim(enforcer->journal, &holding->claim);
        journal_worked(enforcer, err);
        if (err)
            return;
    }
    intent->claim = holding->claim.id;
    holding_text(enforcer, holding, intent->from);
    spell(enforcer, holding, value, intent->to);
    enforcer->changed[enforcer->n_intents] = holding;
    enforcer->values[enforcer->n_intents++] = value;
}

static enum action action_to(const struct holding *holding, double value)
{
    if (value == holding->claim.value)
        return ACTION_SET;
    return value < holding->claim.value ? ACTION_CUT : ACTION_RAISE;
}

/* As many ways as before, but others, are a change, too. */
static enum guard_verdict ask_guard(struct enforcer *enforcer, struct holding *holding,
                                    double *value)
{
    const struct claim *claim = &holding->claim;
    size_t n_open = enforcer_open(enforcer);
    enum guard_verdict verdict =
        guard_check(&enforcer->guard, &holding->memory, claim, holding->wanted, n_open,
                    enforcer->tick, enforcer->now_ns, value);
    if (verdict != GUARD_SAME || claim->value >= claim->most || holding->wanted_at == claim->at)
        return verdict;
    *value = claim->value;
    return guard_move(&enforcer->guard, &holding->memory, claim, n_open, enforcer->tick,
                      enforcer->now_ns);
}

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
    enum guard_verdict verdict = ask_guard(enforcer, holding, &value);
    if (verdict == GUARD_SAME)
        return;
    if (verdict != GUARD_PASS) {
        enum action action = action_to(holding, holding->wanted);
        enforcer->counts.limited[verdict]++;
        enforcer->counts.decisions[holding->policy][action][OUTCOME_LIMITED]++;
    } else if (value >= holding->claim.most) {
        if (holding_is_held(enforcer, holding))
            holding_put_back(enforcer, holding, RELEASE_CALM);
    } else if (enforcer->config.dry) {
        enum action action = action_to(holding, value);
        holding_text(enforcer, holding, from);
        spell(enforcer, holding, value, to);
        holding->claim.value = value;
        holding->claim.at = holding->wanted_at;
        holding->since_wall_ns = enforcer->wall_ns;
        enforcer_tell(enforcer, holding, action, OUTCOME_DRY_RUN, from, to, "");
    } else if (!enforcer->failing_since_ns) {
        add_intent(enforcer, holding, value);
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
    guard_failed(&holding->memory, enforcer->now_ns);
    if (err == -EINVAL) /* what bounds it may have moved */
        actuator->ops->limit(actuator->self, holding->floor, &holding->claim);
}

static void make_change(struct enforcer *enforcer, size_t i)
{
    struct holding *holding = enforcer->changed[i];
    const struct intent *intent = &enforcer->intents[i];
    const struct actuator *actuator = holding_actuator(enforcer, holding);
    enum action action = action_to(holding, enforcer->values[i]);
    holding->before = holding->claim.value;
    holding->before_at = holding->claim.at;
    holding->claim.value = enforcer->values[i];
    holding->claim.at = holding->wanted_at;
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
    guard_succeeded(&holding->memory);
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
        if (!holding->claim.id)
            *holding = enforcer->holdings[--enforcer->n];
    }
}

void enforcer_commit(struct enforcer *enforcer)
{
    forget_unseen(enforcer);
    if (!journal_is_well(enforcer))
        return;
    enforcer->n_intents = 0;
    for (size_t i = 0; i < enforcer->n; i++)
        if (enforcer->holdings[i].known && !isnan(enforcer->holdings[i].wanted))
            plan_change(enforcer, &enforcer->holdings[i]);
    if (enforcer->n_intents == 0)
        return;
    int err = journal_intend(enforcer->journal, enforcer->intents, enforcer->n_intents);
    journal_worked(enforcer, err);
    for (size_t i = 0; i < enforcer->n_intents && !err; i++)
        make_change(enforcer, i);
}
