/*
 * Misses of the L1 in flight, as AMD's cores have and count them: each has a miss address buffer
 * from the moment the L1 missed until the L1 is filled, whether the L2, the last-level cache or
 * memory serves it, and whether a load, a store or a prefetch into the L1 made it.
 *
 * What the L2 serves is never scheduled: it is counted, but does not wait for a buffer.
 */
#include "tests/simnode/model/sim.h"

static uint64_t l2_cycles(const struct core *core)
{
    return core->private_cycles - core->l1_cycles;
}

/* Of a miss that the L2 serves. */
static uint64_t least_cycles(const struct core *core)
{
    return l2_cycles(core) - (uint64_t)core->node->machine->mab_delay_cycles;
}

void mab_l2_hit(struct core *core)
{
    if (!core->node->machine->mabs || !core->running)
        return;
    core->l1d_miss_cycles += least_cycles(core);
    core->l1d_fills[L1D_FROM_L2]++;
}

static bool joins(const struct request *request)
{
    return request->kind == REQUEST_PREFETCH && !request->into_l1;
}

/* Its look into the L2 is over at 'enter_cycle'. */
void mab_schedule(struct core *core, struct request *request, uint64_t enter_cycle)
{
    request->asked_mab = true;
    sim_schedule(core->node, simclock_fs(&core->clock, enter_cycle - least_cycles(core)), EVENT_MAB,
                 request);
}

void mab_join(struct core *core, struct request *request, uint64_t enter_cycle)
{
    if (!core->node->machine->mabs || request->asked_mab)
        return;
    request->pending_merges++;
    mab_schedule(core, request, enter_cycle);
}

/* ---- the queue for a buffer ---- */

static void append_waiting(struct request_list *list, struct request *request)
{
    request->mab_next = NULL;
    if (list->tail)
        list->tail->mab_next = request;
    else
        list->head = request;
    list->tail = request;
}

static void remove_waiting(struct request_list *list, struct request *request)
{
    struct request *before = NULL;

    for (struct request *r = list->head; r != request; r = r->mab_next)
        before = r;
    if (before)
        before->mab_next = request->mab_next;
    else
        list->head = request->mab_next;
    if (list->tail == request)
        list->tail = before;
    request->mab_next = NULL;
}

/* ---- buffers ---- */

static bool full(const struct core *core)
{
    return core->node->scenario->effects.mabs && core->mabs >= core->node->machine->mabs;
}

static void take(struct core *core, struct request *request)
{
    struct simnode *node = core->node;

    core->mabs++;
    request->has_mab = true;
    request->mab_fs = node->now_fs;
    integral_add(&core->l1d_misses_out, node->now_fs, 1);
    if (!joins(request))
        sim_schedule(node, node->now_fs + least_cycles(core) * core->clock.period_fs, EVENT_ENTER,
                     request);
}

void mab_ask(struct simnode *node, struct request *request)
{
    struct core *core = request->core;

    if (joins(request)) {
        request->pending_merges--;
        if (request->done) {
            mab_l2_hit(core);
            if (request->pending_merges == 0)
                sim_free_request(node, request);
            return;
        }
    }
    if (!full(core)) {
        take(core, request);
    } else if (request->kind == REQUEST_PREFETCH && request->into_l1 && !request->loads &&
               !request->stored) {
        private_forget(core, request);
        sim_free_request(node, request);
    } else {
        request->waits_for_mab = true;
        append_waiting(&core->waiting_for_mab, request);
    }
}

static enum l1d_source source_of(const struct core *core, const struct request *request)
{
    if (joins(request) && core->node->machine->late_prefetch_from_l2)
        return L1D_FROM_L2;
    return request->hit ? L1D_FROM_LLC : L1D_FROM_BEYOND;
}

static void pass_on(struct core *core)
{
    struct request *next = core->waiting_for_mab.head;

    if (!next)
        return;
    remove_waiting(&core->waiting_for_mab, next);
    next->waits_for_mab = false;
    take(core, next);
}

void mab_done(struct core *core, struct request *request)
{
    uint64_t now_fs = core->node->now_fs;

    if (request->waits_for_mab) {
        remove_waiting(&core->waiting_for_mab, request);
        mab_l2_hit(core);
        return;
    }
    if (!request->has_mab)
        return;

    uint64_t least_fs = least_cycles(core) * core->clock.period_fs;
    bool late = now_fs - request->mab_fs < least_fs; /* in the L2 before the look into it is over */

    core->mabs--;
    integral_add(&core->l1d_misses_out, now_fs, -1);
    if (late)
        core->l1d_misses_out.sum_fs += least_fs - (now_fs - request->mab_fs);
    if (core->running)
        core->l1d_fills[late ? L1D_FROM_L2 : source_of(core, request)]++;
    pass_on(core);
}
