#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "exporter/governor/act/enforcer_internal.h"

/* Rounds within which the limits of each that is lazy are read anew, some in each: the exporter's
 * ticks may all be even. */
enum { LIMITED_WITHIN = 30 };

/* What we had set is released, by somebody else. */
static void tell_foreign(struct enforcer *enforcer, struct holding *holding, enum foreign kind,
                         const char *now)
{
    char from[CLAIM_TEXT_MAX];
    holding_text(enforcer, holding, from);
    holding->because = (struct because){0};
    enforcer->counts.foreign[holding->claim.knob][kind]++;
    enforcer_tell(enforcer, holding, ACTION_RELEASE, OUTCOME_FOREIGN, from, now,
                  foreign_names[kind]);
}

static void answer_reset(struct enforcer *enforcer, struct holding *holding, const char *now)
{
    tell_foreign(enforcer, holding, FOREIGN_RESET, now);
    if (guard_reset(&holding->memory, enforcer->now_ns) == GUARD_YIELD) {
        enforcer_let_go(enforcer, holding, RELEASE_YIELDED, NULL);
        return;
    }
    holding->claim.from[0] = holding->claim.set[0] = '\0';
    holding->claim.value = holding->claim.most;
}

static void answer_changed(struct enforcer *enforcer, struct holding *holding, const char *now)
{
    const struct actuator *actuator = holding_actuator(enforcer, holding);
    struct claim adopted = holding->claim;
    tell_foreign(enforcer, holding, FOREIGN_CHANGED, now);
    if (guard_changed(&holding->memory, enforcer->now_ns) == GUARD_YIELD) {
        enforcer_let_go(enforcer, holding, RELEASE_YIELDED, NULL);
        holding->known = holding->claim.id != 0;
        return;
    }
    snprintf(adopted.original, sizeof adopted.original, "%s", now);
    adopted.from[0] = adopted.set[0] = '\0';
    int err = actuator->ops->limit(actuator->self, holding->floor, &adopted);
    adopted.value = adopted.most;
    if (!err)
        err = journal_claim(enforcer->journal, &adopted);
    if (!err) {
        holding->claim = adopted;
        return;
    }
    enforcer_let_go(enforcer, holding, RELEASE_YIELDED, NULL); /* and it is looked at anew */
    holding->known = holding->claim.id != 0;
}

/* What is given back is what it is worth now; after a while, or never, it is claimed anew. */
static void answer_rebased(struct enforcer *enforcer, struct holding *holding, const char *now)
{
    tell_foreign(enforcer, holding, FOREIGN_CHANGED, now);
    guard_changed(&holding->memory, enforcer->now_ns);
    enforcer_let_go(enforcer, holding, RELEASE_YIELDED, NULL);
    holding->known = holding->claim.id != 0;
}

static void keep(struct enforcer *enforcer, struct holding *holding)
{
    const struct actuator *actuator = holding_actuator(enforcer, holding);
    if (!holding->claim.set[0] || !actuator->ops->keep)
        return;
    int err = actuator->ops->keep(actuator->self, &holding->claim);
    if (err)
        enforcer_warn(enforcer, holding, ERROR_APPLY, err);
}

static void look_at(struct enforcer *enforcer, struct holding *holding)
{
    const struct actuator *actuator = holding_actuator(enforcer, holding);
    enum claim_state state;
    char now[CLAIM_TEXT_MAX];
    int err = actuator->ops->check(actuator->self, &holding->claim, &state, now);
    if (err) {
        enforcer_warn(enforcer, holding, ERROR_CHECK, err);
        return;
    }
    if (holding->unsure && state != CLAIM_GONE) {
        holding_settle(holding, now);
        err = actuator->ops->check(actuator->self, &holding->claim, &state, now);
    }
    if (err)
        return;
    if (state == CLAIM_OURS) {
        keep(enforcer, holding);
    } else if (state == CLAIM_GONE) {
        enforcer_let_go(enforcer, holding, RELEASE_VANISHED, NULL);
        holding->known = holding->claim.id != 0;
    } else if (!holding->claim.id) {
        holding_read(enforcer, holding);
    } else if (state == CLAIM_REBASED) {
        answer_rebased(enforcer, holding, now);
    } else if (state == CLAIM_RESET) {
        answer_reset(enforcer, holding, now);
    } else {
        answer_changed(enforcer, holding, now);
    }
}

/* What bounds it may have moved: CPUs that went, a cpuset, a request. */
static void limit_anew(struct enforcer *enforcer, struct holding *holding)
{
    const struct actuator *actuator = holding_actuator(enforcer, holding);
    int err = actuator->ops->limit(actuator->self, holding->floor, &holding->claim);
    if (err == -ERANGE)
        enforcer_let_go(enforcer, holding, RELEASE_UNMANAGED, NULL);
    else if (err && err != -ENODEV)
        enforcer_warn(enforcer, holding, ERROR_CHECK, err);
}

void enforcer_begin(struct enforcer *enforcer, uint64_t tick, uint64_t now_ns, uint64_t wall_ns)
{
    enforcer->tick = tick;
    enforcer->rounds++;
    enforcer->left_out = 0;
    enforcer->now_ns = now_ns;
    enforcer->wall_ns = wall_ns;
    for (size_t i = 0; i < enforcer->n; i++) {
        struct holding *holding = &enforcer->holdings[i];
        holding->seen = false;
        holding->wanted = NAN;
        bool due = holding_is_lazy(holding) && (i + enforcer->rounds) % LIMITED_WITHIN == 0;
        if (holding->known && (holding_is_held(enforcer, holding) || !holding_is_lazy(holding)))
            look_at(enforcer, holding);
        if (!due || !holding->known)
            continue;
        if (holding->claim.id)
            limit_anew(enforcer, holding);
        else
            holding_read(enforcer, holding);
    }
}
