#include "tests/simnode/control/actuate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/governor/act/actuators/resctrl_text.h"

/* What a file would say of each container. */
struct knob_text {
    char text[CLAIM_TEXT_MAX];
};

/* One kind of knob, which an actuator's self is. */
struct node_knob {
    struct simnode *node;
    const struct scenario *scenario;
    enum knob knob;
    struct knob_text *of; /* by container */
};

struct node_knobs {
    struct node_knob cpu, ways, mba;
};

/* As resctrl's files say of real hardware. */
enum { MBA_STEP = 10 };

/* --- what a text says --- */

static uint32_t all_ways(const struct scenario *scenario)
{
    return (uint32_t)((UINT64_C(1) << scenario->machine.llc.ways) - 1);
}

static uint32_t mask_of(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 16);
}

/* "max": no quota. */
static double cores_of(const char *text)
{
    return strcmp(text, "max") == 0 ? INFINITY : strtod(text, NULL);
}

static double value_of(const struct node_knob *knob, size_t container, const char *text)
{
    if (knob->knob == KNOB_CPU)
        return fmin(cores_of(text), (double)knob->scenario->containers[container].n_cpus);
    if (knob->knob == KNOB_WAYS)
        return __builtin_popcount(mask_of(text));
    return strtod(text, NULL);
}

/* --- life --- */

/* As they are while nobody has turned any. */
static int init(struct node_knob *knob, struct simnode *node, const struct scenario *scenario,
                enum knob which, const char *text)
{
    *knob = (struct node_knob){.node = node, .scenario = scenario, .knob = which};
    knob->of = calloc(scenario->n_containers, sizeof(*knob->of));
    for (size_t i = 0; knob->of && i < scenario->n_containers; i++)
        snprintf(knob->of[i].text, sizeof(knob->of[i].text), "%s", text);
    return knob->of ? 0 : -ENOMEM;
}

int node_knobs_new(struct simnode *node, const struct scenario *scenario, struct node_knobs **out)
{
    struct node_knobs *knobs = calloc(1, sizeof(*knobs));
    char ways[CLAIM_TEXT_MAX];

    if (!knobs)
        return -ENOMEM;
    snprintf(ways, sizeof(ways), "%x", all_ways(scenario));
    if (init(&knobs->cpu, node, scenario, KNOB_CPU, "max") ||
        init(&knobs->ways, node, scenario, KNOB_WAYS, ways) ||
        init(&knobs->mba, node, scenario, KNOB_MBA, "100")) {
        node_knobs_free(knobs);
        return -ENOMEM;
    }
    *out = knobs;
    return 0;
}

void node_knobs_free(struct node_knobs *knobs)
{
    if (!knobs)
        return;
    free(knobs->cpu.of);
    free(knobs->ways.of);
    free(knobs->mba.of);
    free(knobs);
}

static const struct node_knob *knob_of(const struct node_knobs *knobs, enum knob knob)
{
    if (knob == KNOB_CPU)
        return &knobs->cpu;
    return knob == KNOB_WAYS ? &knobs->ways : &knobs->mba;
}

double node_knobs_value(const struct node_knobs *knobs, enum knob which, size_t container)
{
    const struct node_knob *knob = knob_of(knobs, which);

    return value_of(knob, container, knob->of[container].text);
}

/* --- the actuator's functions --- */

/* -ENOENT: there is no such container, or it does not run. */
static int find(const struct node_knob *knob, const struct claim *claim, size_t *index)
{
    for (size_t i = 0; i < knob->scenario->n_containers; i++) {
        if (claim->path[0] != '/' || strcmp(claim->path + 1, knob->scenario->containers[i].key))
            continue;
        *index = i;
        return simnode_container_runs(knob->node, i) ? 0 : -ENOENT;
    }
    return -ENOENT;
}

int node_knob_open(const struct actuator_env *env, void **self, struct verdict *why)
{
    verdict_set(why, REASON_NO_DEVICE, "a simulated node's knobs are opened with the node");
    return -ENODEV;
}

void node_knob_close(void *self)
{
}

static int knob_limit(void *self, double floor, struct claim *claim)
{
    const struct node_knob *knob = self;
    size_t index;
    int err = find(knob, claim, &index);

    if (err)
        return err;
    claim->step = knob->knob == KNOB_MBA ? MBA_STEP : knob->knob == KNOB_WAYS;
    claim->least = claim->step > 0 ? fmax(ceil(floor / claim->step), 1) * claim->step : floor;
    claim->most = value_of(knob, index, claim->original);
    return claim->least < claim->most ? 0 : -ERANGE;
}

static int knob_claim(void *self, double floor, struct claim *claim)
{
    const struct node_knob *knob = self;
    size_t index;
    int err = find(knob, claim, &index);

    if (err)
        return err;
    memcpy(claim->original, knob->of[index].text, sizeof(claim->original));
    err = knob_limit(self, floor, claim);
    if (err)
        return err;
    claim->dev = 1;
    claim->ino = index + 1;
    claim->value = claim->most;
    claim->from[0] = claim->set[0] = '\0';
    return 0;
}

static int knob_check(void *self, const struct claim *claim, enum claim_state *state,
                      char now[CLAIM_TEXT_MAX])
{
    const struct node_knob *knob = self;
    size_t index;

    now[0] = '\0';
    if (find(knob, claim, &index)) {
        *state = CLAIM_GONE;
        return 0;
    }
    memcpy(now, knob->of[index].text, CLAIM_TEXT_MAX);
    if (strcmp(now, claim->set[0] ? claim->set : claim->original) == 0)
        *state = CLAIM_OURS;
    else
        *state = strcmp(now, claim->original) == 0 ? CLAIM_RESET : CLAIM_CHANGED;
    return 0;
}

static void knob_format(void *self, const struct claim *claim, double value,
                        char out[CLAIM_TEXT_MAX])
{
    const struct node_knob *knob = self;

    if (value >= claim->most)
        memcpy(out, claim->original, CLAIM_TEXT_MAX);
    else if (knob->knob == KNOB_WAYS)
        snprintf(out, CLAIM_TEXT_MAX, "%x",
                 resctrl_mask(mask_of(claim->original), (unsigned)value));
    else
        snprintf(out, CLAIM_TEXT_MAX, "%.5g", value);
}

static int set(struct node_knob *knob, size_t index, const char *text)
{
    int err;

    if (knob->knob == KNOB_CPU)
        err = simnode_set_quota(knob->node, index, cores_of(text));
    else if (knob->knob == KNOB_WAYS)
        err = simnode_set_ways(knob->node, index, mask_of(text));
    else
        err = simnode_set_mba(knob->node, index, strtod(text, NULL));
    if (!err)
        snprintf(knob->of[index].text, sizeof(knob->of[index].text), "%s", text);
    return err;
}

static int knob_apply(void *self, const struct claim *claim)
{
    struct node_knob *knob = self;
    size_t index;

    if (find(knob, claim, &index))
        return -ENODEV;
    return strcmp(knob->of[index].text, claim->from) == 0 ? set(knob, index, claim->set) : -ESTALE;
}

static int knob_release(void *self, const struct claim *claim, enum claim_restored *out)
{
    struct node_knob *knob = self;
    size_t index;

    *out = RESTORED_GONE;
    if (find(knob, claim, &index))
        return 0;
    const char *now = knob->of[index].text;
    *out = RESTORED_ALREADY;
    if (strcmp(now, claim->original) == 0)
        return 0;
    *out = RESTORED_FOREIGN;
    if (strcmp(now, claim->set) != 0 && strcmp(now, claim->from) != 0)
        return 0;
    *out = RESTORED;
    return set(knob, index, claim->original);
}

#define NODE_KNOB(called, which)                                                                   \
    {                                                                                              \
        .name = called, .knob = which, .open = node_knob_open, .close = node_knob_close,           \
        .claim = knob_claim, .check = knob_check, .limit = knob_limit, .format = knob_format,      \
        .apply = knob_apply, .release = knob_release                                               \
    }

static const struct actuator_ops cpu_ops = NODE_KNOB("cpu", KNOB_CPU),
                                 ways_ops = NODE_KNOB("ways", KNOB_WAYS),
                                 mba_ops = NODE_KNOB("mba", KNOB_MBA);

void node_knobs_actuators(struct node_knobs *knobs, struct actuators *out)
{
    *out = (struct actuators){0};
    out->of[KNOB_CPU] = (struct actuator){.ops = &cpu_ops, .self = &knobs->cpu};
    out->of[KNOB_WAYS] = (struct actuator){.ops = &ways_ops, .self = &knobs->ways};
    out->of[KNOB_MBA] = (struct actuator){.ops = &mba_ops, .self = &knobs->mba};
}
