#include "exporter/source/perf/ladder.h"

#include <errno.h>
#include <string.h>

#include "exporter/base/textbuf.h"
#include "exporter/source/perf/explain.h"
#include "exporter/source/perf/group.h"

enum {
    TRIAL_ROUNDS = 200,
    TRIAL_FILTERED_NS = 1000000, /* counting this long without a cycle */
    TRIAL_STARVED_NS = 20000000, /* five turns of the kernel's rotation between groups */
};

void perf_ladder_init(struct perf_ladder *ladder, struct perf_context *context,
                      const struct perf_cpus *cpus)
{
    *ladder = (struct perf_ladder){.context = context, .cpus = cpus};
}

void perf_ladder_release(struct perf_ladder *ladder)
{
    for (int role = 0; role < ROLE_COUNT; role++)
        encoded_event_release(&ladder->events[role].encoded);
}

uint32_t perf_ladder_rung(enum group group, uint32_t available, unsigned rung)
{
    const struct group_desc *desc = &group_descs[group];
    const size_t n = sizeof desc->fallback / sizeof *desc->fallback;
    uint32_t previous = 0;
    unsigned found = 0;
    for (size_t i = 0; i <= n; i++) {
        uint32_t wanted = i == 0 ? (UINT32_C(1) << desc->n) - 1 : desc->fallback[i - 1];
        uint32_t roles = wanted & available;
        if (!wanted)
            break;
        if ((roles & desc->required) != desc->required || roles == previous)
            continue;
        if (found++ == rung)
            return roles;
        previous = roles;
    }
    return 0;
}

uint32_t perf_ladder_below(const struct perf_ladder *ladder, enum group group, uint32_t roles)
{
    uint32_t available = ladder->groups[group].available, at;
    for (unsigned rung = 0; (at = perf_ladder_rung(group, available, rung)); rung++)
        if (at == roles)
            return perf_ladder_rung(group, available, rung + 1);
    return 0;
}

/* At the start: what is wrong with a role holds for every group that has it. */
static void warn_role(const struct perf_ladder *ladder, enum role role, const struct verdict *why)
{
    struct verdict line;
    verdict_set(&line, REASON_OK, "role %s is not counted: %s", role_name(role), why->words);
    if (!perf_said(ladder->context->said, line.words))
        log_warn(ladder->context->log, "perf", "%s", line.words);
}

static int prepare_role(struct perf_ladder *ladder, enum group group, enum role role,
                        struct verdict *why)
{
    struct perf_event *event = &ladder->events[role];
    const char *text = event_text(ladder->context->file, ladder->context->table, role);
    if (!text) {
        perf_explain_no_event(ladder->context->fs, ladder->context->table, group, role, why);
        return -ENOENT;
    }
    if (!event->tried) {
        event->error = encode_event(ladder->context->fs, text, &event->encoded, &event->why);
        event->tried = true;
    }
    if (event->error)
        *why = event->why;
    return event->error;
}

/* Encodes the events of a group of the cores, once. 0, or the error of a required role. */
static int prepare(struct perf_ladder *ladder, enum group group, struct verdict *why)
{
    struct perf_group *state = &ladder->groups[group];
    const struct group_desc *desc = &group_descs[group];
    for (size_t i = 0; i < desc->n && !state->prepared; i++) {
        struct verdict role_why;
        int err = prepare_role(ladder, group, desc->roles[i], &role_why);
        if (!err) {
            state->available |= UINT32_C(1) << i;
        } else if (perf_in(desc->required, i) && !state->prepare_error) {
            state->prepare_error = err;
            state->prepare_why = role_why;
        } else if (event_text(ladder->context->file, ladder->context->table, desc->roles[i])) {
            warn_role(ladder, desc->roles[i], &role_why);
        }
    }
    state->prepared = true;
    if (state->prepare_error)
        *why = state->prepare_why;
    return state->prepare_error;
}

void perf_events_of_core(const struct perf_ladder *ladder, enum group group,
                         const struct encoded_event **events)
{
    for (size_t i = 0; i < perf_n_roles(group); i++)
        events[i] = perf_in(ladder->groups[group].available, i)
                        ? &ladder->events[group_descs[group].roles[i]].encoded
                        : NULL;
}

static void work(void)
{
    volatile uint32_t x = 0;
    for (int i = 0; i < 100000; i++)
        x = x + 1;
}

enum trial { TRIAL_RUNS, TRIAL_STARVES, TRIAL_FILTERED };

/* Watches a group on our own busy thread until it is clear whether it runs. */
static int watch(struct perf_ladder *ladder, enum group group, uint32_t mask,
                 const struct encoded_event *const *events, int leader, enum trial *out)
{
    const struct perf_kernel *kernel = ladder->context->kernel;
    uint64_t raw[3 + GROUP_MAX_ROLES];
    int cycles = group_index(group, ROLE_CYCLES);
    size_t at = 3;
    if (cycles < 0 || !perf_in(mask, (size_t)cycles) || events[cycles]->software)
        cycles = -1;
    else
        at += (size_t)__builtin_popcount(mask & ((UINT32_C(1) << cycles) - 1));

    *out = TRIAL_STARVES;
    for (int round = 0; round < TRIAL_ROUNDS; round++) {
        work();
        ssize_t got = kernel->read(kernel->context, leader, raw, sizeof raw);
        if (got < 0)
            return (int)got;
        if (got == 0) /* pinned, and no room: for good */
            return 0;
        if (got != (ssize_t)((3 + (size_t)__builtin_popcount(mask)) * sizeof *raw))
            return -EIO;
        if (raw[2] == 0 && raw[1] >= TRIAL_STARVED_NS)
            return 0;
        if (raw[2] == 0)
            continue;
        *out = TRIAL_RUNS;
        if (cycles < 0 || raw[at] > 0)
            return 0;
        *out = TRIAL_FILTERED;
        if (raw[2] >= TRIAL_FILTERED_NS)
            return 0;
    }
    return 0;
}

/* Counting others needs more privilege than counting oneself: one event on a CPU shows it. */
static int try_cpu(struct perf_ladder *ladder, enum group group, uint32_t mask,
                   const struct encoded_event *const *events, int *fds, size_t *failed)
{
    struct perf_target target = {.pid = -1, .cpu = ladder->cpus->n ? ladder->cpus->at[0] : 0};
    int err = perf_events_open(ladder->context, group, mask & -mask, events, &target, fds, failed);
    perf_events_close(ladder->context, group, fds);
    return err;
}

static int try_rung(struct perf_ladder *ladder, enum scope_kind kind, enum group group,
                    uint32_t mask, enum trial *out, size_t *failed, struct verdict *why)
{
    const struct encoded_event *events[GROUP_MAX_ROLES];
    int fds[GROUP_MAX_ROLES];
    struct perf_target target = {
        .pid = 0, .cpu = -1, .user_only = perf_user_only(kind, group), .pinned = true};
    struct scope self = {.kind = SCOPE_THREAD, .key = "self", .cgroup_fd = -1};

    perf_events_of_core(ladder, group, events);
    *out = TRIAL_RUNS;
    *failed = 0;
    int err = perf_events_open(ladder->context, group, mask, events, &target, fds, failed);
    if (!err) {
        if (!perf_events_software(group, mask, events))
            err = watch(ladder, group, mask, events, fds[__builtin_ctz(mask)], out);
        perf_events_close(ladder->context, group, fds);
    }
    if (!err && kind != SCOPE_THREAD)
        err = try_cpu(ladder, group, mask, events, fds, failed);
    if (err)
        perf_explain_open(ladder->context, &self, group, events, *failed, err, why);
    return err;
}

/* What is not counted, if anything: REASON_OK, or what the watchdog takes, with words. */
static void describe(const struct perf_ladder *ladder, enum group group, struct verdict *why)
{
    const struct perf_group *state = &ladder->groups[group];
    const struct group_desc *desc = &group_descs[group];
    uint32_t dropped = state->available & ~state->roles;
    uint64_t watchdog = 0;
    char text[128];
    struct textbuf names;

    verdict_clear(why);
    if (!dropped)
        return;
    textbuf_init_fixed(&names, text, sizeof text);
    for (size_t i = 0; i < desc->n; i++) {
        if (!perf_in(dropped, i))
            continue;
        textbuf_printf(&names, "%s%s", names.len ? ", " : "", role_name(desc->roles[i]));
    }
    (void)fsroot_read_u64(ladder->context->fs, FSROOT_PROC, "sys/kernel/nmi_watchdog", &watchdog);
    bool by_watchdog = state->starved && watchdog && group == GROUP_CORE;
    const char *so = group == GROUP_CORE ? ", so slowdown is off"
                     : group == GROUP_FILLS &&
                             perf_in(dropped, (size_t)group_index(group, ROLE_L1D_MISS_OCCUPANCY))
                         ? ", so there is no latency"
                         : "";
    verdict_set(why, by_watchdog ? REASON_NMI_WATCHDOG : REASON_OK,
                "group %s counts without %s%s: %s", desc->name, text, so,
                !state->starved ? "the PMU has too few counters for all its events"
                : watchdog
                    ? "the NMI watchdog holds a counter; free it with sysctl "
                      "kernel.nmi_watchdog=0, which is noticed within minutes"
                    : "another program or the NMI watchdog holds a counter; free it (the "
                      "watchdog's with sysctl kernel.nmi_watchdog=0), which is noticed within "
                      "minutes");
}

static bool step(struct perf_ladder *ladder, enum group group, bool starved)
{
    struct perf_group *state = &ladder->groups[group];
    uint32_t roles = perf_ladder_rung(group, state->available, state->rung + 1);
    if (!roles)
        return false;
    state->rung++;
    state->roles = roles;
    state->starved = starved;
    return true;
}

/* Drops a role whose event the kernel does not know here, if the group can do without it. So
 * --events.file may name software events for some roles while the CPU's table names hardware
 * events for the rest. */
static bool drop_unknown(struct perf_ladder *ladder, enum group group, int error, size_t failed,
                         const struct verdict *why)
{
    struct perf_group *state = &ladder->groups[group];
    if ((error != -ENOENT && error != -EOPNOTSUPP) || perf_in(group_descs[group].required, failed))
        return false;
    warn_role(ladder, group_descs[group].roles[failed], why);
    state->available &= ~(UINT32_C(1) << failed);
    state->roles = perf_ladder_rung(group, state->available, state->rung);
    return true;
}

static int check(struct perf_ladder *ladder, enum scope_kind kind, enum group group,
                 struct verdict *why)
{
    struct perf_group *state = &ladder->groups[group];
    enum trial trial;
    size_t failed;
    bool again;
    int err = prepare(ladder, group, why);
    if (err)
        return err;
    if (!state->roles)
        state->roles = perf_ladder_rung(group, state->available, 0);
    do {
        err = try_rung(ladder, kind, group, state->roles, &trial, &failed, why);
        again = err && drop_unknown(ladder, group, err, failed, why);
        if (err && err != -EINVAL && !again)
            return err;
    } while (again ||
             ((err == -EINVAL || trial == TRIAL_STARVES) && step(ladder, group, err == 0)));
    if (err)
        return err;
    if (trial == TRIAL_FILTERED) {
        verdict_set(why, REASON_EVENT_FILTERED,
                    "group %s opens, but counts no cycles on a busy thread: the hypervisor filters "
                    "events; use bare metal or an instance type with a full PMU",
                    group_descs[group].name);
        return -ENOTSUP;
    }
    describe(ladder, group, why);
    return 0;
}

int perf_ladder_check(struct perf_ladder *ladder, enum scope_kind kind, enum group group,
                      struct verdict *why)
{
    struct perf_group *state = &ladder->groups[group];
    if (!state->checked[kind].done) {
        uint32_t before = state->roles;
        struct verdict *answer = &state->checked[kind].why;
        int err = check(ladder, kind, group, answer);
        state->checked[kind].error = err;
        /* A lack of memory or descriptors may pass; everything else is the machine's nature. */
        state->checked[kind].done = err != -EMFILE && err != -ENFILE && err != -ENOMEM;
        if (!err && answer->words[0] && state->roles != before &&
            !perf_said(ladder->context->said, answer->words))
            log_warn(ladder->context->log, "perf", "%s", answer->words);
    }
    *why = state->checked[kind].why;
    return state->checked[kind].error;
}

void perf_ladder_account(struct perf_group *state, uint64_t enabled_ns, uint64_t running_ns)
{
    if (enabled_ns == 0)
        return;
    state->active_rows++;
    if (running_ns == 0) {
        state->starved_rows++;
        state->starved_ns += enabled_ns;
    }
}

/* True when the ticks so far show that the group cannot run. */
static bool starves(struct perf_group *state)
{
    if (state->active_rows > 0 && state->starved_rows == state->active_rows) {
        state->streak++;
        state->streak_ns += state->starved_ns;
    } else if (state->active_rows > 0) {
        state->streak = 0;
        state->streak_ns = 0;
    }
    state->active_rows = state->starved_rows = 0;
    state->starved_ns = 0;
    return state->streak >= PERF_STARVED_TICKS && state->streak_ns >= PERF_STARVED_NS;
}

/* What check() answers from now on. */
static void answer_anew(struct perf_ladder *ladder, enum group group, struct verdict *why)
{
    struct perf_group *state = &ladder->groups[group];
    describe(ladder, group, why);
    for (int kind = 0; kind < SCOPE_KINDS; kind++)
        if (state->checked[kind].done && !state->checked[kind].error)
            state->checked[kind].why = *why;
}

bool perf_ladder_tick(struct perf_ladder *ladder, enum group group)
{
    struct perf_group *state = &ladder->groups[group];
    struct verdict why;
    if (!starves(state))
        return false;
    state->streak = 0;
    state->streak_ns = 0;
    if (!step(ladder, group, true)) {
        if (!state->reported)
            log_warn(ladder->context->log, "perf",
                     "group %s never runs: other programs hold the counters that it needs",
                     group_descs[group].name);
        state->reported = true;
        return false;
    }
    if (state->climbed && state->climb_wait_ns < PERF_CLIMB_LONGEST_NS)
        state->climb_wait_ns *= 2;
    state->climb_at_ns = 0;
    answer_anew(ladder, group, &why);
    log_warn(ladder->context->log, "perf", "%s", why.words);
    return true;
}

/* The highest rung that runs, of those above the one in force. */
static bool find_higher(struct perf_ladder *ladder, enum group group, unsigned *out)
{
    const struct perf_group *state = &ladder->groups[group];
    for (unsigned rung = 0; rung < state->rung; rung++) {
        uint32_t roles = perf_ladder_rung(group, state->available, rung);
        enum trial trial;
        struct verdict why;
        size_t failed;
        if (try_rung(ladder, SCOPE_THREAD, group, roles, &trial, &failed, &why) == 0 &&
            trial == TRIAL_RUNS) {
            *out = rung;
            return true;
        }
    }
    return false;
}

bool perf_ladder_climb(struct perf_ladder *ladder, enum group group, uint64_t mono_ns)
{
    struct perf_group *state = &ladder->groups[group];
    struct verdict why;
    unsigned rung;
    if (!state->starved || state->rung == 0)
        return false;
    if (state->climb_wait_ns == 0)
        state->climb_wait_ns = PERF_CLIMB_NS;
    if (state->climb_at_ns == 0)
        state->climb_at_ns = mono_ns + state->climb_wait_ns;
    if (mono_ns < state->climb_at_ns)
        return false;
    state->climb_at_ns = mono_ns + state->climb_wait_ns;
    if (!find_higher(ladder, group, &rung))
        return false;
    state->rung = rung;
    state->roles = perf_ladder_rung(group, state->available, rung);
    state->climbed = true;
    state->reported = false;
    answer_anew(ladder, group, &why);
    if (why.words[0])
        log_info(ladder->context->log, "perf", "%s", why.words);
    else
        log_info(ladder->context->log, "perf", "group %s counts all its events again",
                 group_descs[group].name);
    return true;
}
