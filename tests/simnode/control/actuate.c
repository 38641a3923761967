#include "tests/simnode/control/actuate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a file would say; "max": no quota. */
struct knob_text {
    char cores[CLAIM_TEXT_MAX];
};

struct node_knobs {
    struct simnode *node;
    const struct scenario *scenario;
    struct knob_text *of; /* by container */
};

int node_knobs_new(struct simnode *node, const struct scenario *scenario, struct node_knobs **out)
{
    struct node_knobs *knobs = calloc(1, sizeof(*knobs));

    if (!knobs)
        return -ENOMEM;
    knobs->node = node;
    knobs->scenario = scenario;
    knobs->of = calloc(scenario->n_containers, sizeof(*knobs->of));
    if (!knobs->of) {
        free(knobs);
        return -ENOMEM;
    }
    for (size_t i = 0; i < scenario->n_containers; i++)
        strcpy(knobs->of[i].cores, "max");
    *out = knobs;
    return 0;
}

void node_knobs_free(struct node_knobs *knobs)
{
    if (!knobs)
        return;
    free(knobs->of);
    free(knobs);
}

/* -ENOENT: there is no such container, or it does not run. */
static int find(const struct node_knobs *knobs, const struct claim *claim, size_t *index)
{
    for (size_t i = 0; i < knobs->scenario->n_containers; i++) {
        if (claim->path[0] != '/' || strcmp(claim->path + 1, knobs->scenario->containers[i].key))
            continue;
        *index = i;
        return simnode_container_runs(knobs->node, i) ? 0 : -ENOENT;
    }
    return -ENOENT;
}

static double cores_of(const char *text)
{
    return strcmp(text, "max") == 0 ? INFINITY : strtod(text, NULL);
}

double node_knobs_cores(const struct node_knobs *knobs, size_t container)
{
    return fmin(cores_of(knobs->of[container].cores),
                (double)knobs->scenario->containers[container].n_cpus);
}

static int cores_open(const struct actuator_env *env, void **self, struct verdict *why)
{
    (void)env;
    (void)self;
    verdict_set(why, REASON_NO_DEVICE, "a simulated node's knobs are opened with the node");
    return -ENODEV;
}

static void cores_close(void *self)
{
    (void)self;
}

static int cores_limit(void *self, double floor, struct claim *claim)
{
    const struct node_knobs *knobs = self;
    size_t index;
    int err = find(knobs, claim, &index);

    if (err)
        return err;
    claim->least = floor;
    claim->most =
        fmin(cores_of(claim->original), (double)knobs->scenario->containers[index].n_cpus);
    return claim->least < claim->most ? 0 : -ERANGE;
}

static int cores_claim(void *self, double floor, struct claim *claim)
{
    const struct node_knobs *knobs = self;
    size_t index;
    int err = find(knobs, claim, &index);

    if (err)
        return err;
    memcpy(claim->original, knobs->of[index].cores, sizeof(claim->original));
    err = cores_limit(self, floor, claim);
    if (err)
        return err;
    claim->dev = 1;
    claim->ino = index + 1;
    claim->value = claim->most;
    claim->from[0] = claim->set[0] = '\0';
    return 0;
}

static int cores_check(void *self, const struct claim *claim, enum claim_state *state,
                       char now[CLAIM_TEXT_MAX])
{
    const struct node_knobs *knobs = self;
    size_t index;

    now[0] = '\0';
    if (find(knobs, claim, &index)) {
        *state = CLAIM_GONE;
        return 0;
    }
    memcpy(now, knobs->of[index].cores, CLAIM_TEXT_MAX);
    if (strcmp(now, claim->set[0] ? claim->set : claim->original) == 0)
        *state = CLAIM_OURS;
    else
        *state = strcmp(now, claim->original) == 0 ? CLAIM_RESET : CLAIM_CHANGED;
    return 0;
}

static void cores_format(void *self, const struct claim *claim, double value,
                         char out[CLAIM_TEXT_MAX])
{
    (void)self;
    if (value >= claim->most)
        memcpy(out, claim->original, CLAIM_TEXT_MAX);
    else
        snprintf(out, CLAIM_TEXT_MAX, "%.5g", value);
}

static int set_cores(struct node_knobs *knobs, size_t index, const char *text)
{
    int err = simnode_set_quota(knobs->node, index, cores_of(text));

    if (!err)
        snprintf(knobs->of[index].cores, sizeof(knobs->of[index].cores), "%s", text);
    return err;
}

static int cores_apply(void *self, const struct claim *claim)
{
    struct node_knobs *knobs = self;
    size_t index;

    if (find(knobs, claim, &index))
        return -ENODEV;
    return strcmp(knobs->of[index].cores, claim->from) == 0 ? set_cores(knobs, index, claim->set)
                                                            : -ESTALE;
}

static int cores_release(void *self, const struct claim *claim, enum claim_restored *out)
{
    struct node_knobs *knobs = self;
    const char *now;
    size_t index;

    *out = RESTORED_GONE;
    if (find(knobs, claim, &index))
        return 0;
    now = knobs->of[index].cores;
    *out = RESTORED_ALREADY;
    if (strcmp(now, claim->original) == 0)
        return 0;
    *out = RESTORED_FOREIGN;
    if (strcmp(now, claim->set) != 0 && strcmp(now, claim->from) != 0)
        return 0;
    *out = RESTORED;
    return set_cores(knobs, index, claim->original);
}

static const struct actuator_ops cores_ops = {
    .name = "cpu",
    .knob = KNOB_CPU,
    .open = cores_open,
    .close = cores_close,
    .claim = cores_claim,
    .check = cores_check,
    .limit = cores_limit,
    .format = cores_format,
    .apply = cores_apply,
    .release = cores_release,
};

void node_knobs_actuators(struct node_knobs *knobs, struct actuators *out)
{
    *out = (struct actuators){0};
    out->of[KNOB_CPU] = (struct actuator){.ops = &cores_ops, .self = knobs};
}
