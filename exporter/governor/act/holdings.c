#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/governor/act/enforcer_internal.h"

static enum error_reason reason_of(int err)
{
    enum error_reason reason = ERROR_OTHER;
    if (err == -EBUSY || err == -EAGAIN)
        reason = ERROR_EBUSY;
    else if (err == -ENOSPC)
        reason = ERROR_ENOSPC;
    else if (err == -EINVAL)
        reason = ERROR_EINVAL;
    else if (err == -EDOM)
        reason = ERROR_CONFLICT;
    else if (err == -ENODEV || err == -ENOENT)
        reason = ERROR_ENODEV;
    else if (err == -EPERM || err == -EACCES || err == -EROFS)
        reason = ERROR_EPERM;
    return reason;
}

void enforcer_count_error(struct enforcer *enforcer, const struct holding *holding,
                          enum error_op op, int err)
{
    enforcer->counts.errors[holding->claim.knob][op][reason_of(err)]++;
}

void enforcer_warn(struct enforcer *enforcer, const struct holding *holding, enum error_op op,
                   int err)
{
    enforcer_count_error(enforcer, holding, op, err);
    log_warn(enforcer->config.log, "enforcer", "could not %s %s of %s: %s (%s)", error_op_names[op],
             knob_name(holding->claim.knob), holding->claim.container, strerror(-err),
             error_reason_names[reason_of(err)]);
}

const struct actuator *holding_actuator(const struct enforcer *enforcer,
                                        const struct holding *holding)
{
    return &enforcer->actuators->of[holding->claim.knob];
}

void holding_text(const struct enforcer *enforcer, const struct holding *holding,
                  char out[CLAIM_TEXT_MAX])
{
    const struct actuator *actuator = holding_actuator(enforcer, holding);
    if (enforcer->config.dry)
        actuator->ops->format(actuator->self, &holding->claim, holding->claim.value, out);
    else
        memcpy(out, holding->claim.set[0] ? holding->claim.set : holding->claim.original,
               CLAIM_TEXT_MAX);
}

void enforcer_tell(struct enforcer *enforcer, const struct holding *holding, enum action action,
                   enum outcome outcome, const char *from, const char *to, const char *why)
{
    enforcer->counts.decisions[holding->policy][action][outcome] += !holding->tried;
    if (!enforcer->config.decided)
        return;
    const struct because *because = &holding->because;
    struct decision decision = {.seq = ++enforcer->seq,
                                .tick = enforcer->tick,
                                .wall_ns = enforcer->wall_ns,
                                .action = action,
                                .outcome = outcome,
                                .knob = holding->claim.knob,
                                .policy = holding->policy,
                                .chosen_by =
                                    action == ACTION_CUT ? because->chosen_by : CHOSEN_BY_NOTHING,
                                .tid = holding->claim.tid,
                                .measured = because->cause ? because->measured : NAN,
                                .limit = because->cause ? because->limit : NAN};
    snprintf(decision.cause, sizeof decision.cause, "%s", because->cause ? because->cause : "");
    snprintf(decision.container, sizeof decision.container, "%s", holding->claim.container);
    snprintf(decision.from, sizeof decision.from, "%s", from);
    snprintf(decision.to, sizeof decision.to, "%s", to);
    snprintf(decision.why, sizeof decision.why, "%s",
             why[0]         ? why
             : because->why ? because->why
                            : "");
    enforcer->config.decided(enforcer->config.context, &decision);
}

/* ---- holdings ---- */

int enforcer_new(const struct enforcer_config *config, struct journal *journal,
                 const struct actuators *actuators, struct enforcer **out)
{
    struct enforcer *enforcer = calloc(1, sizeof *enforcer);
    if (!enforcer)
        return -ENOMEM;
    enforcer->config = *config;
    enforcer->journal = journal;
    enforcer->actuators = actuators;
    enforcer->holdings = calloc(CLAIMS_MAX, sizeof *enforcer->holdings);
    enforcer->changes = calloc(CLAIMS_MAX, sizeof *enforcer->changes);
    enforcer->memories = calloc(1, sizeof *enforcer->memories);
    if (!enforcer->holdings || !enforcer->changes || !enforcer->memories) {
        enforcer_free(enforcer);
        return -ENOMEM;
    }
    guard_init(&enforcer->guard, &config->limits, 0);
    *out = enforcer;
    return 0;
}

void enforcer_free(struct enforcer *enforcer)
{
    if (!enforcer)
        return;
    free(enforcer->holdings);
    free(enforcer->changes);
    free(enforcer->memories);
    free(enforcer);
}

void enforcer_count_restores(struct enforcer *enforcer, const struct restore_counts *counts)
{
    struct restore_counts *all = &enforcer->counts.restores;
    for (size_t i = 0; i < RESTORED_OUTCOMES; i++)
        all->outcomes[i] += counts->outcomes[i];
    all->failed += counts->failed;
}

void enforcer_set_limits(struct enforcer *enforcer, const struct guard_limits *limits)
{
    enforcer->guard.limits = *limits;
}

size_t enforcer_open_of(const struct enforcer *enforcer, enum knob knob)
{
    size_t n = 0;
    const struct journal_claims *open = &enforcer->journal->open;
    for (size_t i = 0; !enforcer->config.dry && i < open->n; i++)
        n += open->claims[i].knob == knob;
    for (size_t i = 0; enforcer->config.dry && i < enforcer->n; i++)
        n += enforcer->holdings[i].claim.knob == knob &&
             holding_is_held(enforcer, &enforcer->holdings[i]);
    return n;
}

size_t enforcer_open(const struct enforcer *enforcer)
{
    size_t n = 0;
    for (int knob = 0; knob < KNOB_COUNT; knob++)
        n += enforcer_open_of(enforcer, (enum knob)knob);
    return n;
}

void holding_settle(struct holding *holding, const char *now)
{
    struct claim *claim = &holding->claim;
    holding->unsure = false;
    if (strcmp(now, claim->set) == 0)
        return; /* it happened */
    memcpy(claim->set, claim->from, sizeof claim->set);
    claim->value = holding->before;
}

/* Nothing is set any more, whatever the file says. */
static void forget_change(struct holding *holding)
{
    holding->claim.id = 0;
    holding->claim.from[0] = holding->claim.set[0] = '\0';
    holding->claim.value = holding->claim.most;
    holding->unsure = holding->tried = false;
    holding->since_wall_ns = 0;
}

void holding_read(struct enforcer *enforcer, struct holding *holding)
{
    const struct actuator *actuator = holding_actuator(enforcer, holding);
    double value = holding_is_held(enforcer, holding) ? holding->claim.value : INFINITY;
    if (enforcer->now_ns < holding->memory.retry.at_ns)
        return;
    int err = actuator->ops ? actuator->ops->claim(actuator->self, holding->floor, &holding->claim)
                            : -ENODEV;
    if (!err && !holding->known)
        memories_take(enforcer->memories, &holding->claim, &holding->memory);
    holding->known = err == 0;
    holding->why = err;
    if (err == 0 && enforcer->config.dry)
        holding->claim.value = fmax(fmin(value, holding->claim.most), holding->claim.least);
    if (err && err != -ERANGE)
        guard_failed(&holding->memory.retry, enforcer->now_ns);
    if (err && err != -ERANGE && err != -ENOENT)
        enforcer_warn(enforcer, holding, ERROR_CLAIM, err);
}

/* ---- the plan ---- */

static struct holding *find(const struct enforcer *enforcer, enum knob knob, int tid,
                            const char *path)
{
    for (size_t i = 0; i < enforcer->n; i++) {
        struct holding *holding = &enforcer->holdings[i];
        if (holding->claim.knob == knob && holding->claim.tid == tid &&
            strcmp(holding->claim.path, path) == 0)
            return holding;
    }
    return NULL;
}

struct holding *enforcer_find(const struct enforcer *enforcer, enum knob knob, const char *path)
{
    struct holding *holding = find(enforcer, knob, 0, path);
    return holding && holding->seen ? holding : NULL;
}

static struct holding *add(struct enforcer *enforcer, enum knob knob, const struct subject *subject)
{
    if (enforcer->n == CLAIMS_MAX || strlen(subject->path) >= CLAIM_PATH_MAX)
        return NULL;
    struct holding *holding = &enforcer->holdings[enforcer->n++];
    *holding = (struct holding){.claim.knob = knob,
                                .claim.tid = subject->tid,
                                .policy = subject->policy,
                                .floor = subject->floor,
                                .aim = NAN,
                                .wanted = NAN};
    snprintf(holding->claim.path, sizeof holding->claim.path, "%s", subject->path);
    snprintf(holding->claim.container, sizeof holding->claim.container, "%s", subject->name);
    snprintf(holding->claim.container_id, sizeof holding->claim.container_id, "%s",
             subject->container_id);
    return holding;
}

void enforcer_leave_out(struct enforcer *enforcer)
{
    enforcer->left_out++;
    enforcer->counts.limited[GUARD_TABLE]++;
}

static void change_floor(struct enforcer *enforcer, struct holding *holding, double floor)
{
    const struct actuator *actuator = holding_actuator(enforcer, holding);
    holding->floor = floor;
    if (!holding->claim.id) {
        holding_read(enforcer, holding);
    } else if (actuator->ops->limit(actuator->self, floor, &holding->claim)) {
        enforcer_let_go(enforcer, holding, RELEASE_UNMANAGED, NULL);
        holding->known = holding->claim.id != 0; /* and it is looked at anew */
    }
}

struct holding *enforcer_see(struct enforcer *enforcer, enum knob knob,
                             const struct subject *subject)
{
    struct holding *holding = find(enforcer, knob, subject->tid, subject->path);
    if (!holding)
        holding = add(enforcer, knob, subject);
    if (!holding) {
        enforcer_leave_out(enforcer);
        return NULL;
    }
    holding->seen = true;
    if (holding->policy != subject->policy)
        holding->aim = NAN;
    holding->policy = subject->policy;
    if (!holding->known) {
        holding->floor = subject->floor;
        holding_read(enforcer, holding);
    } else if (holding->floor != subject->floor) {
        change_floor(enforcer, holding, subject->floor);
    }
    return holding;
}

void enforcer_want(struct holding *holding, double value, const struct because *because)
{
    holding->wanted = value;
    holding->because = *because;
}

double enforcer_cpus(const struct enforcer *enforcer, const char *path)
{
    const struct actuator *actuator = &enforcer->actuators->of[KNOB_CPU];
    struct claim claim = {.knob = KNOB_CPU};
    if (!actuator->ops || strlen(path) >= sizeof claim.path)
        return NAN;
    strcpy(claim.path, path);
    int err = actuator->ops->claim(actuator->self, 0, &claim);
    return err && err != -ERANGE ? NAN : claim.most;
}

bool enforcer_is_dry(const struct enforcer *enforcer)
{
    return enforcer->config.dry;
}

/* ---- letting go ---- */

int holding_put_back(struct enforcer *enforcer, struct holding *holding, enum release_reason reason)
{
    char from[CLAIM_TEXT_MAX], put[CLAIM_TEXT_MAX];
    struct guard_retry *retry = &holding->memory.release;
    if (reason != RELEASE_STOP && enforcer->now_ns < retry->at_ns)
        return -EAGAIN;
    holding_text(enforcer, holding, from);
    memcpy(put, holding->claim.original, sizeof put);
    int err = 0;
    if (!enforcer->config.dry)
        err = restore_claim(enforcer->journal, enforcer->actuators, holding->claim.id,
                            enforcer->config.log, &enforcer->counts.restores, put);
    if (err) {
        enforcer_count_error(enforcer, holding, ERROR_RELEASE, err);
        enforcer_tell(enforcer, holding, ACTION_RELEASE, OUTCOME_FAILED, from,
                      holding->claim.original, strerror(-err));
        guard_failed(retry, enforcer->now_ns);
        return err;
    }
    guard_succeeded(retry);
    enforcer->counts.released[reason]++;
    enforcer_tell(enforcer, holding, ACTION_RELEASE,
                  enforcer->config.dry ? OUTCOME_DRY_RUN : OUTCOME_APPLIED, from, put,
                  release_reason_names[reason]);
    forget_change(holding);
    return 0;
}

bool holding_is_lazy(const struct holding *holding)
{
    return holding->claim.knob == KNOB_CPU || holding->claim.knob == KNOB_AFFINITY;
}

bool holding_is_held(const struct enforcer *enforcer, const struct holding *holding)
{
    return enforcer->config.dry ? holding->known && holding->claim.value < holding->claim.most
                                : holding->claim.id != 0;
}

void enforcer_let_go(struct enforcer *enforcer, struct holding *holding, enum release_reason reason,
                     const struct because *because)
{
    holding->wanted = NAN;
    holding->because = because ? *because : (struct because){0};
    if (holding_is_held(enforcer, holding))
        holding_put_back(enforcer, holding, reason);
}

int enforcer_end_tries(struct enforcer *enforcer, uint64_t now_ns, uint64_t wall_ns)
{
    int result = 0;
    enforcer->now_ns = now_ns;
    enforcer->wall_ns = wall_ns;
    for (size_t i = 0; i < enforcer->n; i++) {
        struct holding *holding = &enforcer->holdings[i];
        if (!holding->tried)
            continue;
        enforcer_let_go(enforcer, holding, RELEASE_EXPERIMENT, NULL);
        if (holding->tried)
            result = -EAGAIN;
    }
    return result;
}

int enforcer_release_all(struct enforcer *enforcer, enum release_reason reason, uint64_t now_ns,
                         uint64_t wall_ns)
{
    int result = 0;
    enforcer->now_ns = now_ns;
    enforcer->wall_ns = wall_ns;
    for (size_t i = enforcer->n; i-- > 0;) {
        struct holding *holding = &enforcer->holdings[i];
        holding->because = (struct because){0};
        holding->wanted = NAN;
        if (holding_is_held(enforcer, holding) && holding_put_back(enforcer, holding, reason))
            result = -EAGAIN;
    }
    if (!enforcer->config.dry)
        actuators_tidy(enforcer->actuators);
    /* A release that could not be written: the next governor would put back once more. */
    if (enforcer->journal->dirty)
        journal_compact(enforcer->journal);
    return result;
}

/* ---- looking ---- */

const struct enforcer_counts *enforcer_counts(const struct enforcer *enforcer)
{
    return &enforcer->counts;
}

const struct holding *enforcer_holdings(const struct enforcer *enforcer, size_t *n)
{
    *n = enforcer->n;
    return enforcer->holdings;
}

/* ---- what could be changed ---- */

enum guard_verdict enforcer_would(const struct enforcer *enforcer, const struct holding *holding)
{
    if (holding->unsure)
        return GUARD_BACK_OFF;
    return guard_would(&holding->memory, enforcer->tick, enforcer->now_ns);
}

struct room enforcer_room(const struct enforcer *enforcer)
{
    const struct guard_limits *limits = &enforcer->guard.limits;
    size_t open = enforcer_open(enforcer);
    double writes = guard_writes(&enforcer->guard, enforcer->now_ns);
    for (size_t i = 0; i < enforcer->n; i++)
        writes -= !isnan(enforcer->holdings[i].wanted) &&
                  enforcer->holdings[i].wanted != enforcer->holdings[i].claim.value;
    return (struct room){.claims = limits->claims > open ? limits->claims - open : 0,
                         .writes = writes >= 1 ? (size_t)writes : 0,
                         .most_writes = (size_t)fmax(limits->writes_per_second, 1)};
}

/* ---- what may be held by nobody ---- */

enum { NAMED = 8 }; /* in the line; the others are counted */

bool enforcer_may_be_left(const struct holding *holding)
{
    const struct claim *claim = &holding->claim;
    bool has_quota = claim->original[0] >= '0' && claim->original[0] <= '9'; /* not "max", "-1" */
    return claim->knob == KNOB_CPU && !claim->id && holding->why == -ERANGE && has_quota &&
           fabs(claim->most - holding->floor) < 1e-6;
}

void enforcer_tell_left(const struct enforcer *enforcer, const struct log *log)
{
    size_t n, found = 0, at = 0;
    char names[NAMED * 64] = "";
    const struct holding *holdings = enforcer_holdings(enforcer, &n);
    for (size_t i = 0; i < n; i++) {
        if (!enforcer_may_be_left(&holdings[i]))
            continue;
        if (found++ < NAMED && at < sizeof names)
            at +=
                (size_t)snprintf(names + at, sizeof names - at, " %s", holdings[i].claim.container);
    }
    if (found > 0)
        log_warn(
            log, "enforcer",
            "%zu containers have exactly their class's base as their quota, and no journal says "
            "that it was set here:%s%s. Unless that is their own limit, an earlier governor's "
            "journal was lost: give it back by hand",
            found, names, found > NAMED ? " ..." : "");
}
