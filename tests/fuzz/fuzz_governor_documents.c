/* What the governor reads: its configuration, the exporter's documents, and the answer that brings
 * them. The first byte says which. */
#include <jansson.h>
#include <math.h>

#include "exporter/governor/config/config.h"
#include "exporter/governor/see/client.h"
#include "exporter/governor/see/view.h"
#include "exporter/governor/see/writers.h"
#include "tests/fuzz/fuzz.h"

static void read_config(const char *text, size_t len)
{
    struct config *config = NULL;
    char error[256] = "";
    bool literal;
    if (config_parse(text, len, &config, error, sizeof error)) {
        check(error[0] && !config);
        return;
    }
    const struct control_safe_config *control = &config->threshold.safe;
    check(config->n_classes <= CONFIG_CLASSES_MAX && config->dead_ns > config->stale_ns);
    check(control->confirm >= 1 && control->confirm <= control->confirm_of &&
          control->confirm_of <= 32);
    check(config->threshold.factor >= 1 && config->limits.claims >= 1);
    check(config->limits.cuts_per_10m < GUARD_CUTS_MAX && config->limits.writes_per_second > 0);
    check(config->ways.step_seconds > 0 && config->mba.step_seconds > 0);
    const struct nvmm_config *nvmm = &config->nvmm;
    check(nvmm->dimms >= 1 && nvmm->expiry_seconds >= 0.2 &&
          nvmm->engage.release_writers <= nvmm->engage.engage_writers);
    check(!config->enabled[POLICY_NVMM_CORES] || CPU_COUNT(&nvmm->cpus) > 0);
    check(config->epochs.share > 0 && config->advice.ok_slowdown < config->advice.hold_slowdown);
    for (size_t i = 0; i < config->n_classes; i++) {
        const struct class *class = &config->classes[i];
        for (int knob = 0; knob < KNOB_COUNT; knob++)
            check(class->role == CLASS_BEST_EFFORT
                      ? config_floor(config, (int)i, (enum knob)knob) > 0
                      : config->owners[i][knob] == POLICY_NONE);
        check(class->n_matches >= 1 && class->name[0]);
        check(class->role == CLASS_PROTECTED || (class->step_cores > 0 && class->cores == 0));
        check(class->cores >= 0);
    }
    int found = config_class_of(config, "shop", "cart-0", "cart", "guaranteed", &literal);
    check(found >= CLASS_NONE && found < (int)config->n_classes);
    config_free(config);
}

static bool positive_or_unknown(double value)
{
    return isnan(value) || (value > 0 && isfinite(value));
}

static void compare_text(const json_t *object, const char *name, const char *text)
{
    const char *other = json_string_value(json_object_get(object, name));
    check(strcmp(other ? other : "", text) == 0);
}

/* jansson reads the same; it refuses more, for what is of no use here. */
static void compare(const char *text, size_t len, const struct view *view)
{
    json_error_t error;
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        enum json_error_code code = json_error_code(&error);
        check(code == json_error_duplicate_key || code == json_error_invalid_utf8 ||
              code == json_error_numeric_overflow || code == json_error_null_byte_in_key);
        return;
    }
    const json_t *list = json_object_get(root, "containers");
    compare_text(root, "source", view->source);
    check(json_array_size(list) == view->n);
    for (size_t i = 0; i < view->n; i++) {
        compare_text(json_array_get(list, i), "pod", view->containers[i].pod);
        compare_text(json_array_get(list, i), "namespace", view->containers[i].namespace_);
    }
    json_decref(root);
}

static void read_view(const char *text, size_t len)
{
    struct view view = {0};
    char error[256] = "";
    if (view_parse(text, len, &view, error, sizeof error)) {
        json_error_t unused;
        json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &unused);
        check(error[0]);
        /* jansson swallows a NUL behind a number. */
        check(!root || memchr(text, 0, len) ||
              !json_is_array(json_object_get(root, "containers")) || strstr(error, "too deep") ||
              strstr(error, "with an escape"));
        json_decref(root);
        view_release(&view);
        return;
    }
    compare(text, len, &view);
    check(positive_or_unknown(view.base_hz));
    check(!view.has_tick || (view.tick && view.monotonic_ns && view.interval_ns));
    for (size_t i = 0; i < view.n; i++) {
        const struct view_container *c = &view.containers[i];
        check(c->path && c->namespace_ && c->pod && c->container && c->qos_class);
        for (int j = 0; j < VIEW_MODELS; j++)
            check(!(c->losses[j].observed < 0) && !(c->losses[j].memory < 0) &&
                  !(c->losses[j].cache < 0));
        check(positive_or_unknown(c->latency_seconds) && positive_or_unknown(c->baseline_seconds) &&
              !(c->memory_reads < 0) && !(c->caused_latency_seconds < 0) &&
              !(c->caused_wait_seconds < 0));
    }
    view_release(&view);
}

static void read_writers(const char *text, size_t len)
{
    struct writers writers = {0};
    char error[256] = "";
    int err = writers_parse(text, len, &writers, error, sizeof error);
    check(err ? error[0] && writers.n == 0 : !error[0]);
    for (size_t i = 0; i < writers.n; i++) {
        const struct writer *writer = &writers.list[i];
        check(writer->tid > 0 && writer->stored_seconds_ago >= 0 && writer->container_id[0] &&
              memchr(writer->container_id, '\0', sizeof writer->container_id));
    }
    json_error_t unused;
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &unused);
    check(err || root || json_error_code(&unused) != json_error_invalid_syntax);
    json_decref(root);
    writers_release(&writers);
}

static void read_answer(const char *text, size_t len)
{
    const char *body = NULL, *why = NULL;
    size_t body_len = 0, need;
    for (int ended = 0; ended < 2; ended++) {
        int result = client_answer(text, len, ended, &body, &body_len, &need, &why);
        check(result <= 1 && (result >= 0 || why || result == -27 /* EFBIG */));
        check(result != 1 || (body >= text && body + body_len <= text + len));
        check(!ended || result != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    /* Not NUL-terminated, and its end is guarded. */
    char *text = without_nul(data + 1, size - 1);
    if (data[0] % 4 == 0)
        read_config(text, size - 1);
    else if (data[0] % 4 == 1)
        read_view(text, size - 1);
    else if (data[0] % 4 == 2)
        read_writers(text, size - 1);
    else
        read_answer(text, size - 1);
    free(text);
    return 0;
}
