#include <stdio.h>
#include <string.h>

#include "exporter/governor/config/config_reader.h"
#include "exporter/governor/terms/cpus.h"

/* ---- classes ---- */

/* The class's index, or CLASS_NONE. */
static int find_class(const struct config *config, const char *name)
{
    for (size_t i = 0; name && i < config->n_classes; i++)
        if (strcmp(config->classes[i].name, name) == 0)
            return (int)i;
    return CLASS_NONE;
}

/* One knob of one class belongs to one policy. */
static void own(struct config_reader *reader, int class, enum knob knob, enum policy_kind policy)
{
    struct config *config = reader->config;
    enum policy_kind owner = config->owners[class][knob];
    if (owner != POLICY_NONE && owner != policy)
        config_fail(reader, "policies.%s.classes: the %s of \"%.64s\" belongs to policies.%s",
                    policy_kind_names[policy], knob_name(knob), config->classes[class].name,
                    policy_kind_names[owner]);
    config->owners[class][knob] = policy;
}

/* Those of the policy, whose knobs are from now on its own. 'knobs': one bit for each. */
static void read_policy_classes(struct config_reader *reader, const json_t *object,
                                enum policy_kind policy, unsigned knobs)
{
    const struct config *config = reader->config;
    const char *where = policy_kind_names[policy];
    const json_t *list = json_object_get(object, "classes");
    if (json_array_size(list) == 0)
        config_fail(reader, "policies.%s.classes: must name a class", where);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        int class = find_class(config, name);
        if (class == CLASS_NONE)
            config_fail(reader, "policies.%s.classes: there is no class \"%.64s\"", where,
                        name ? name : "");
        else if (config->classes[class].role != CLASS_BEST_EFFORT)
            config_fail(reader, "policies.%s.classes: \"%.64s\" is protected", where, name);
        for (int knob = 0; knob < KNOB_COUNT && !reader->err; knob++)
            if (knobs >> knob & 1)
                own(reader, class, (enum knob)knob, policy);
    }
}

/* What all policies have: NULL where this one is not given. What is not enabled owns nothing, but
 * must be right. */
static json_t *read_policy(struct config_reader *reader, json_t *policies, enum policy_kind policy,
                           const char *const *keys, unsigned knobs)
{
    char where[64];
    bool *enabled = &reader->config->enabled[policy];
    json_t *object = json_object_get(policies, policy_kind_names[policy]);
    *enabled = object != NULL;
    if (!object)
        return NULL;
    snprintf(where, sizeof where, "policies.%s", policy_kind_names[policy]);
    config_check_object(reader, object, where, keys);
    config_read_bool(reader, object, where, "enabled", enabled);
    if (*enabled && knobs)
        read_policy_classes(reader, object, policy, knobs);
    return object;
}

/* ---- threshold ---- */

/* [2,3] */
static void read_confirm(struct config_reader *reader, const json_t *policy,
                         struct control_safe_config *control)
{
    const json_t *list = json_object_get(policy, "confirm");
    json_int_t need = json_integer_value(json_array_get(list, 0));
    json_int_t of = json_integer_value(json_array_get(list, 1));
    if (!list)
        return;
    if (json_array_size(list) != 2 || need < 1 || of < need || of > 32) {
        config_fail(reader, "policies.threshold.confirm: must be [n, of], 1 <= n <= of <= 32");
        return;
    }
    control->confirm = (unsigned)need;
    control->confirm_of = (unsigned)of;
}

static void read_threshold(struct config_reader *reader, json_t *policies)
{
    static const char *const keys[] = {"enabled", "classes",       "mode", "calibrate",  "window",
                                       "factor",  "confirm",       "calm", "over_share", "hold",
                                       "futile",  "culprit_share", "sure", "experiment", NULL};
    static const char *const calibrate[] = {
        [CALIBRATE_BASELINE] = "baseline", [CALIBRATE_THROTTLE] = "throttle", NULL};
    static const char *const modes[] = {[CONTROL_SAFE] = "safe", [CONTROL_PAPER] = "paper", NULL};
    static const char where[] = "policies.threshold";
    struct threshold_config *threshold = &reader->config->threshold;
    struct control_safe_config *safe = &threshold->safe;
    json_t *policy = read_policy(reader, policies, POLICY_THRESHOLD, keys, 1u << KNOB_CPU);
    control_safe_defaults(safe);
    threshold->window_seconds = 1;
    threshold->factor = 1.25;
    threshold->culprit_share = 0.6;
    threshold->sure = 0.95;
    threshold->futile_seconds = 10;
    if (!policy)
        return;
    threshold->mode =
        (enum control_mode)config_read_word(reader, policy, where, "mode", modes, CONTROL_SAFE);
    threshold->calibrate = (enum calibrate)config_read_word(reader, policy, where, "calibrate",
                                                            calibrate, CALIBRATE_BASELINE);
    config_read_duration(reader, policy, where, "window", 0.001, 60, &threshold->window_seconds);
    config_read_number(reader, policy, where, "factor", 1, 10, &threshold->factor);
    config_read_number(reader, policy, where, "culprit_share", 0, 1, &threshold->culprit_share);
    config_read_number(reader, policy, where, "sure", 0, 1, &threshold->sure);
    config_read_bool(reader, policy, where, "experiment", &threshold->experiment);
    if (threshold->experiment && threshold->sure <= 0.5)
        config_fail(reader, "%s.experiment: with a \"sure\" of %g nobody is left to be confirmed",
                    where, threshold->sure);
    read_confirm(reader, policy, safe);
    config_read_count(reader, policy, where, "calm", 1, 1000, &safe->calm);
    config_read_number(reader, policy, where, "over_share", 0, 1, &safe->over_share);
    config_read_duration(reader, policy, where, "hold", 0, 3600, &safe->hold_seconds);
    config_read_duration(reader, policy, where, "futile", 1, 86400, &threshold->futile_seconds);
    safe->hold_max_seconds = 30 * safe->hold_seconds;
}

/* ---- by slowdown ---- */

static enum view_model read_model(struct config_reader *reader, json_t *policy, const char *where)
{
    static const char *const models[] = {
        [VIEW_PASSIVE] = "passive", [VIEW_SHADOW] = "shadow", NULL};
    return (enum view_model)config_read_word(reader, policy, where, "model", models, VIEW_PASSIVE);
}

/* Who is to keep a bound must have one. */
static void need_bound(struct config_reader *reader, const char *where)
{
    const struct config *config = reader->config;
    for (size_t i = 0; i < config->n_classes; i++)
        if (config->classes[i].slowdown_bound > 0)
            return;
    config_fail(reader, "%s: no protected class has a slowdown_bound", where);
}

static void read_ways(struct config_reader *reader, json_t *policies)
{
    static const char *const keys[] = {"enabled", "classes", "mode", "step", "model", NULL};
    static const char *const modes[] = {"bound", NULL};
    static const char where[] = "policies.ways";
    struct ways_config *ways = &reader->config->ways;
    ways->step_seconds = 10;
    json_t *policy = read_policy(reader, policies, POLICY_WAYS, keys, 1u << KNOB_WAYS);
    if (!policy)
        return;
    const char *mode = json_string_value(json_object_get(policy, "mode"));
    if (mode && strcmp(mode, "fair") == 0)
        config_fail(reader, "%s.mode: there is no \"fair\" any more: it helped nobody", where);
    (void)config_read_word(reader, policy, where, "mode", modes, 0);
    config_read_duration(reader, policy, where, "step", 0.001, 3600, &ways->step_seconds);
    ways->model = read_model(reader, policy, where);
    if (reader->config->enabled[POLICY_WAYS])
        need_bound(reader, where);
}

static void read_mba(struct config_reader *reader, json_t *policies)
{
    static const char *const keys[] = {"enabled", "classes",       "mode", "step",
                                       "model",   "culprit_share", NULL};
    static const char *const modes[] = {"bound", "fair", NULL};
    static const char where[] = "policies.mba";
    struct mba_config *mba = &reader->config->mba;
    mba->step_seconds = 10;
    mba->culprit_share = 0.6;
    json_t *policy = read_policy(reader, policies, POLICY_MBA, keys, 1u << KNOB_MBA);
    if (!policy)
        return;
    mba->mode = (enum mba_mode)config_read_word(reader, policy, where, "mode", modes, MBA_BOUND);
    config_read_duration(reader, policy, where, "step", 0.001, 3600, &mba->step_seconds);
    config_read_number(reader, policy, where, "culprit_share", 0, 1, &mba->culprit_share);
    mba->model = read_model(reader, policy, where);
    if (reader->config->enabled[POLICY_MBA] && mba->mode == MBA_BOUND)
        need_bound(reader, where);
}

/* ---- epochs ---- */

/* What is measured is how slow somebody is without best effort, not without some of it. */
static void need_all_best_effort(struct config_reader *reader)
{
    const struct config *config = reader->config;
    for (size_t i = 0; i < config->n_classes; i++)
        if (config->classes[i].role == CLASS_BEST_EFFORT &&
            config->owners[i][KNOB_WAYS] != POLICY_EPOCHS)
            config_fail(reader,
                        "policies.epochs.classes: \"%.64s\" is missing: all best effort is "
                        "held, or there is nothing to compare with",
                        config->classes[i].name);
}

static void read_epochs(struct config_reader *reader, json_t *policies)
{
    static const char *const keys[] = {"enabled", "classes", "share", NULL};
    struct epochs_config *epochs = &reader->config->epochs;
    epochs->share = 0.005;
    json_t *policy =
        read_policy(reader, policies, POLICY_EPOCHS, keys, 1u << KNOB_WAYS | 1u << KNOB_MBA);
    if (!policy)
        return;
    config_read_number(reader, policy, "policies.epochs", "share", 0.0001, 0.02, &epochs->share);
    if (reader->config->enabled[POLICY_EPOCHS])
        need_all_best_effort(reader);
}

/* ---- writers to persistent memory ---- */

static void read_cpus(struct config_reader *reader, const json_t *policy, struct nvmm_config *nvmm)
{
    char text[256] = "";
    bool given = config_read_text(reader, policy, "policies.nvmm_cores", "cpus", text, sizeof text);
    if (given && cpus_parse(text, &nvmm->cpus))
        config_fail(reader, "policies.nvmm_cores.cpus: must be a list of CPUs such as \"13-15\"");
    else if (!given && reader->config->enabled[POLICY_NVMM_CORES])
        config_fail(reader, "policies.nvmm_cores.cpus: is missing");
}

static void read_nvmm(struct config_reader *reader, json_t *policies)
{
    static const char *const keys[] = {"enabled", "classes", "cpus",         "dimms",
                                       "engage",  "release", "engage_after", "release_after",
                                       "expiry",  NULL};
    static const char where[] = "policies.nvmm_cores";
    struct nvmm_config *nvmm = &reader->config->nvmm;
    struct control_nvmm_engage_config *engage = &nvmm->engage;
    control_nvmm_engage_defaults(engage);
    nvmm->dimms = 1;
    nvmm->expiry_seconds = 0.2;
    json_t *policy = read_policy(reader, policies, POLICY_NVMM_CORES, keys, 1u << KNOB_AFFINITY);
    if (!policy)
        return;
    read_cpus(reader, policy, nvmm);
    config_read_count(reader, policy, where, "dimms", 1, 64, &nvmm->dimms);
    config_read_number(reader, policy, where, "engage", 0, 10000, &engage->engage_writers);
    engage->release_writers = engage->engage_writers / 2;
    config_read_number(reader, policy, where, "release", 0, 10000, &engage->release_writers);
    if (engage->release_writers > engage->engage_writers)
        config_fail(reader, "%s.release: must not be more than engage", where);
    config_read_duration(reader, policy, where, "engage_after", 0, 3600, &engage->engage_seconds);
    config_read_duration(reader, policy, where, "release_after", 0, 3600, &engage->release_seconds);
    config_read_duration(reader, policy, where, "expiry", 0.2, 60, &nvmm->expiry_seconds);
}

/* ---- advice ---- */

static void read_advice(struct config_reader *reader, json_t *policies)
{
    static const char *const keys[] = {"enabled", "hold_slowdown", "ok_slowdown", "model", NULL};
    static const char where[] = "policies.advice";
    struct advice_config *advice = &reader->config->advice;
    advice->hold_slowdown = 2;
    advice->ok_slowdown = 1.5;
    json_t *policy = read_policy(reader, policies, POLICY_ADVICE, keys, 0);
    if (!policy)
        return;
    config_read_number(reader, policy, where, "hold_slowdown", 1.01, 100, &advice->hold_slowdown);
    config_read_number(reader, policy, where, "ok_slowdown", 1, 100, &advice->ok_slowdown);
    if (advice->ok_slowdown >= advice->hold_slowdown)
        config_fail(reader, "%s.ok_slowdown: must be less than hold_slowdown", where);
    advice->model = read_model(reader, policy, where);
}

void config_read_policies(struct config_reader *reader, json_t *root)
{
    const char *keys[POLICY_KINDS + 1] = {NULL};
    json_t *policies = json_object_get(root, "policies");
    for (int i = 0; i < POLICY_KINDS; i++)
        keys[i] = policy_kind_names[i];
    for (size_t i = 0; i < CONFIG_CLASSES_MAX; i++)
        for (int knob = 0; knob < KNOB_COUNT; knob++)
            reader->config->owners[i][knob] = POLICY_NONE;
    if (policies)
        config_check_object(reader, policies, "policies", keys);
    if (reader->err)
        return;
    read_threshold(reader, policies);
    read_ways(reader, policies);
    read_mba(reader, policies);
    read_epochs(reader, policies);
    read_nvmm(reader, policies);
    read_advice(reader, policies);
}
