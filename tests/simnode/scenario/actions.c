/* What a controller does while the scenario runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simnode/scenario/parts.h"

#define A(member) offsetof(struct action_spec, member)

static const struct field action_fields[] = {
    {"tick", FIELD_INT, A(tick), 1, 1e9},
    {"container", FIELD_OTHER, 0, 0, 0},
    {"llc_ways", FIELD_OTHER, 0, 0, 0},
    {"mba_percent", FIELD_REAL, A(value), 0.1, 100},
    {"quota_cores", FIELD_REAL, A(value), 1e-3, 1e6},
    {"epoch_weight", FIELD_REAL, A(value), 0, 1e9},
};

static const char *const kinds[] = {
    [ACTION_LLC_WAYS] = "llc_ways",
    [ACTION_MBA_PERCENT] = "mba_percent",
    [ACTION_QUOTA_CORES] = "quota_cores",
    [ACTION_EPOCH_WEIGHT] = "epoch_weight",
};

static int find_container(struct field_reader *reader, json_t *value,
                          const struct scenario *scenario, struct action_spec *out)
{
    const char *key = json_string_value(value);

    for (size_t i = 0; key && i < scenario->n_containers; i++) {
        if (strcmp(scenario->containers[i].key, key) != 0)
            continue;
        out->container = i;
        return 0;
    }
    return field_error(reader, "container", "there is no container \"%s\"", key ? key : "");
}

static int find_kind(struct field_reader *reader, json_t *object, struct action_spec *out)
{
    size_t n = 0;

    for (size_t i = 0; i < FIELD_COUNT(kinds); i++) {
        if (!json_object_get(object, kinds[i]))
            continue;
        out->kind = (enum action_kind)i;
        n++;
    }
    return n == 1 ? 0
                  : field_error(reader, NULL,
                                "must be one of llc_ways, mba_percent, quota_cores, epoch_weight");
}

static int read_action(struct field_reader *reader, json_t *object, const struct scenario *scenario,
                       struct action_spec *out)
{
    int err = fields_read(reader, object, action_fields, FIELD_COUNT(action_fields), out);

    if (!err && !out->tick)
        err = field_error(reader, "tick", "must be given");
    if (!err)
        err = find_container(reader, json_object_get(object, "container"), scenario, out);
    if (!err)
        err = find_kind(reader, object, out);
    if (!err)
        err = scenario_read_ways(reader, json_object_get(object, "llc_ways"), &scenario->machine,
                                 &out->ways);
    if (!err && out->kind == ACTION_QUOTA_CORES && (scenario->epoch_cycles || scenario->ats_sets))
        err = field_error(reader, "quota_cores", "is not possible with epochs or ats_sets");
    if (!err && out->kind == ACTION_EPOCH_WEIGHT && !scenario->epoch_cycles)
        err = field_error(reader, "epoch_weight", "needs epochs");
    return err;
}

int scenario_read_actions(struct field_reader *reader, json_t *array, struct scenario *out)
{
    size_t n = json_array_size(array);
    int err = 0;

    if (!array)
        return 0;
    if (!json_is_array(array))
        return field_error(reader, "actions", "must be a list");
    /* The runs of subsets are of a steady state. */
    if (out->truth_caused)
        return field_error(reader, "actions", "are not possible with truth_caused");
    out->actions = calloc(n + 1, sizeof(*out->actions));
    if (!out->actions)
        return -ENOMEM;
    field_enter(reader, "actions", 0);
    for (size_t i = 0; !err && i < n; i++) {
        field_enter(reader, NULL, i);
        err = read_action(reader, json_array_get(array, i), out, &out->actions[out->n_actions++]);
        field_leave(reader);
    }
    field_leave(reader);
    return err;
}
