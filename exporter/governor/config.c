#include "exporter/governor/config.h"

#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/duration.h"
#include "exporter/json/file.h"

enum { CONFIG_VERSION = 1 };

/* Reading in progress: the first error stays. */
struct reader {
    struct config *config;
    char *error;
    size_t error_size;
    int err;
};

static void fail(struct reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void fail(struct reader *reader, const char *format, ...)
{
    va_list args;
    if (reader->err)
        return;
    va_start(args, format);
    vsnprintf(reader->error, reader->error_size, format, args);
    va_end(args);
    reader->err = -EINVAL;
}

/* ---- values; each leaves *out alone where the key is absent ---- */

/* An object with no other keys than these, ended by NULL. */
static void check_object(struct reader *reader, json_t *object, const char *where,
                         const char *const *keys)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object)) {
        fail(reader, "%s: must be an object", where);
        return;
    }
    json_object_foreach(object, key, value)
    {
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], key) != 0)
            i++;
        if (!keys[i])
            fail(reader, "%s: unknown key \"%.64s\"", where, key);
    }
}

static void read_number(struct reader *reader, const json_t *object, const char *where,
                        const char *key, double min, double max, double *out)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        return;
    double number = json_number_value(value);
    if (!json_is_number(value) || !(number >= min && number <= max))
        fail(reader, "%s.%s: must be a number between %g and %g", where, key, min, max);
    else
        *out = number;
}

static void read_count(struct reader *reader, const json_t *object, const char *where,
                       const char *key, unsigned min, unsigned max, unsigned *out)
{
    double number = *out;
    read_number(reader, object, where, key, min, max, &number);
    if (floor(number) != number)
        fail(reader, "%s.%s: must be a whole number", where, key);
    else
        *out = (unsigned)number;
}

static void read_duration(struct reader *reader, const json_t *object, const char *where,
                          const char *key, double min, double max, double *out_seconds)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    uint64_t ps;
    if (!value)
        return;
    if (!text || duration_parse_ps(text, &ps))
        fail(reader, "%s.%s: must be a duration such as \"10s\"", where, key);
    else if ((double)ps / 1e12 < min || (double)ps / 1e12 > max)
        fail(reader, "%s.%s: must be between %gs and %gs", where, key, min, max);
    else
        *out_seconds = (double)ps / 1e12;
}

static bool read_text(struct reader *reader, const json_t *object, const char *where,
                      const char *key, char *out, size_t size)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    if (!value)
        return false;
    if (!text || json_string_length(value) >= size || strlen(text) != json_string_length(value)) {
        fail(reader, "%s.%s: must be a text of less than %zu bytes", where, key, size);
        return false;
    }
    strcpy(out, text);
    return true;
}

/* The index of the word, of those ended by NULL. */
static int read_word(struct reader *reader, const json_t *object, const char *where,
                     const char *key, const char *const *words, int fallback)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    if (!value)
        return fallback;
    for (int i = 0; text && words[i]; i++)
        if (strcmp(words[i], text) == 0)
            return i;
    fail(reader, "%s.%s: must be \"%s\" or \"%s\"", where, key, words[0], words[1]);
    return fallback;
}

/* ---- exporter ---- */

static void read_exporter(struct reader *reader, json_t *root)
{
    static const char *const keys[] = {"url", "socket", "stale", "dead", NULL};
    json_t *exporter = json_object_get(root, "exporter");
    char text[256] = "http://127.0.0.1:10066";
    double stale = 3.5, dead = 10;
    const char *why;
    if (exporter)
        check_object(reader, exporter, "exporter", keys);
    bool url = read_text(reader, exporter, "exporter", "url", text, sizeof text);
    bool local = read_text(reader, exporter, "exporter", "socket", text, sizeof text);
    if (url && local)
        fail(reader, "exporter: either url or socket");
    else if (local ? client_address_of_socket(text, &reader->config->exporter, &why)
                   : client_address_of_url(text, &reader->config->exporter, &why))
        fail(reader, "exporter.%s: %s", local ? "socket" : "url", why);
    read_duration(reader, exporter, "exporter", "stale", 0.1, 3600, &stale);
    read_duration(reader, exporter, "exporter", "dead", 0.1, 3600, &dead);
    if (dead <= stale)
        fail(reader, "exporter.dead: must be longer than exporter.stale");
    reader->config->stale_ns = (uint64_t)(stale * 1e9);
    reader->config->dead_ns = (uint64_t)(dead * 1e9);
}

/* ---- classes ---- */

static void read_match(struct reader *reader, json_t *item, const char *where, struct match *out)
{
    static const char *const keys[] = {"namespace", "pod", "container", NULL};
    check_object(reader, item, where, keys);
    if (!read_text(reader, item, where, "namespace", out->namespace_, sizeof out->namespace_) ||
        !read_text(reader, item, where, "pod", out->pod, sizeof out->pod) ||
        !read_text(reader, item, where, "container", out->container, sizeof out->container))
        fail(reader, "%s: must say namespace, pod and container", where);
}

static void read_matches(struct reader *reader, json_t *item, const char *where,
                         struct class *class)
{
    const json_t *list = json_object_get(item, "match");
    size_t n = json_array_size(list);
    if (n == 0 || n > CONFIG_MATCHES_MAX) {
        fail(reader, "%s.match: must be a list of 1 to %d", where, CONFIG_MATCHES_MAX);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        char place[128];
        snprintf(place, sizeof place, "%s.match[%zu]", where, i);
        read_match(reader, json_array_get(list, i), place, &class->matches[i]);
    }
    class->n_matches = n;
}

static void read_cpu(struct reader *reader, json_t *item, const char *where, struct class *class)
{
    static const char *const keys[] = {"base_cores", "step_cores", NULL};
    json_t *cpu = json_object_get(item, "cpu");
    char place[128];
    class->base_cores = 1;
    class->step_cores = 0.5;
    if (!cpu)
        return;
    snprintf(place, sizeof place, "%s.cpu", where);
    check_object(reader, cpu, place, keys);
    if (class->role == ROLE_PROTECTED)
        fail(reader, "%s: nothing is taken from a protected class", place);
    read_number(reader, cpu, place, "base_cores", 0.01, 4096, &class->base_cores);
    read_number(reader, cpu, place, "step_cores", 0.01, 4096, &class->step_cores);
}

static void read_class(struct reader *reader, json_t *item, size_t i)
{
    static const char *const keys[] = {"name", "role", "match", "cpu", NULL};
    static const char *const roles[] = {"protected", "best_effort", NULL};
    struct config *config = reader->config;
    struct class *class = &config->classes[i];
    char where[64];
    snprintf(where, sizeof where, "classes[%zu]", i);
    check_object(reader, item, where, keys);
    if (!read_text(reader, item, where, "name", class->name, sizeof class->name) || !class->name[0])
        fail(reader, "%s.name: is missing", where);
    for (size_t j = 0; j < i; j++)
        if (strcmp(config->classes[j].name, class->name) == 0)
            fail(reader, "%s.name: there is another class of this name", where);
    if (!json_object_get(item, "role"))
        fail(reader, "%s.role: is missing", where);
    class->role = (enum role)read_word(reader, item, where, "role", roles, 0);
    read_matches(reader, item, where, class);
    read_cpu(reader, item, where, class);
}

static void read_classes(struct reader *reader, const json_t *root)
{
    const json_t *list = json_object_get(root, "classes");
    size_t n = json_array_size(list);
    if (!json_is_array(list) || n > CONFIG_CLASSES_MAX) {
        fail(reader, "classes: must be a list of up to %d", CONFIG_CLASSES_MAX);
        return;
    }
    reader->config->n_classes = n;
    for (size_t i = 0; i < n; i++)
        read_class(reader, json_array_get(list, i), i);
}

/* ---- policies ---- */

static void read_policy_classes(struct reader *reader, const json_t *policy, const char *where,
                                bool classes[CONFIG_CLASSES_MAX])
{
    const struct config *config = reader->config;
    const json_t *list = json_object_get(policy, "classes");
    if (json_array_size(list) == 0)
        fail(reader, "%s.classes: must name a class", where);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        size_t j = 0;
        while (name && j < config->n_classes && strcmp(config->classes[j].name, name) != 0)
            j++;
        if (!name || j == config->n_classes)
            fail(reader, "%s.classes: there is no class \"%.64s\"", where, name ? name : "");
        else if (config->classes[j].role != ROLE_BEST_EFFORT)
            fail(reader, "%s.classes: \"%.64s\" is protected", where, name);
        else
            classes[j] = true;
    }
}

/* [2,3] */
static void read_confirm(struct reader *reader, const json_t *policy,
                         struct control_threshold_config *control)
{
    const json_t *list = json_object_get(policy, "confirm");
    json_int_t need = json_integer_value(json_array_get(list, 0));
    json_int_t of = json_integer_value(json_array_get(list, 1));
    if (!list)
        return;
    if (json_array_size(list) != 2 || need < 1 || of < need || of > 32) {
        fail(reader, "policies.threshold.confirm: must be [n, of], 1 <= n <= of <= 32");
        return;
    }
    control->confirm = (unsigned)need;
    control->confirm_of = (unsigned)of;
}

static void read_threshold(struct reader *reader, json_t *policies)
{
    static const char *const keys[] = {"enabled", "classes", "mode",   "factor",        "confirm",
                                       "calm",    "hold",    "futile", "culprit_share", NULL};
    static const char *const modes[] = {[CONTROL_SAFE] = "safe", [CONTROL_PAPER] = "paper", NULL};
    static const char where[] = "policies.threshold";
    struct threshold_config *threshold = &reader->config->threshold;
    struct control_threshold_config *control = &threshold->control;
    json_t *policy = json_object_get(policies, "threshold");
    control_threshold_defaults(control);
    threshold->factor = 1.25;
    threshold->culprit_share = 0.1;
    if (!policy)
        return;
    check_object(reader, policy, where, keys);
    const json_t *enabled = json_object_get(policy, "enabled");
    if (enabled && !json_is_boolean(enabled))
        fail(reader, "%s.enabled: must be true or false", where);
    threshold->enabled = !json_is_false(enabled);
    read_policy_classes(reader, policy, where, threshold->classes);
    control->mode =
        (enum control_mode)read_word(reader, policy, where, "mode", modes, CONTROL_SAFE);
    read_number(reader, policy, where, "factor", 1, 10, &threshold->factor);
    read_number(reader, policy, where, "culprit_share", 0, 1, &threshold->culprit_share);
    read_confirm(reader, policy, control);
    read_count(reader, policy, where, "calm", 1, 1000, &control->calm);
    read_duration(reader, policy, where, "hold", 0, 3600, &control->hold_seconds);
    read_duration(reader, policy, where, "futile", 1, 86400, &control->futile_seconds);
    control->hold_max_seconds = 32 * control->hold_seconds;
}

static void read_limits(struct reader *reader, json_t *root)
{
    static const char *const keys[] = {"claims", "writes_per_second", "cuts_per_10m", NULL};
    struct guard_limits *limits = &reader->config->limits;
    json_t *object = json_object_get(root, "limits");
    unsigned claims = 64;
    *limits = (struct guard_limits){.writes_per_second = 50, .cuts_per_10m = 20};
    if (object)
        check_object(reader, object, "limits", keys);
    read_count(reader, object, "limits", "claims", 1, CLAIMS_MAX, &claims);
    read_number(reader, object, "limits", "writes_per_second", 0.1, 1000,
                &limits->writes_per_second);
    read_count(reader, object, "limits", "cuts_per_10m", 1, GUARD_CUTS_MAX - 1,
               &limits->cuts_per_10m);
    limits->claims = claims;
}

/* ---- the whole ---- */

static void read_root(struct reader *reader, json_t *root)
{
    static const char *const keys[] = {"governor", "mode",     "exporter", "state_directory",
                                       "classes",  "policies", "limits",   NULL};
    static const char *const policy_keys[] = {"threshold", NULL};
    static const char *const modes[] = {"observe", "enforce", NULL};
    struct config *config = reader->config;
    json_t *policies = json_object_get(root, "policies");
    check_object(reader, root, "the document", keys);
    if (json_integer_value(json_object_get(root, "governor")) != CONFIG_VERSION)
        fail(reader, "governor: must be %d, the version of this format", CONFIG_VERSION);
    config->enforce = read_word(reader, root, "the document", "mode", modes, 0) == 1;
    strcpy(config->state_directory, "/run/interference_governor");
    read_text(reader, root, "the document", "state_directory", config->state_directory,
              sizeof config->state_directory);
    if (config->state_directory[0] != '/')
        fail(reader, "state_directory: must be an absolute path");
    read_exporter(reader, root);
    read_classes(reader, root);
    if (policies)
        check_object(reader, policies, "policies", policy_keys);
    if (!reader->err)
        read_threshold(reader, policies);
    read_limits(reader, root);
}

int config_parse(const char *text, size_t len, struct config **out, char *error, size_t error_size)
{
    json_t *root;
    struct reader reader = {
        .config = calloc(1, sizeof(struct config)), .error = error, .error_size = error_size};
    if (!reader.config) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    reader.err = json_file_parse(text, len, &root, error, error_size);
    if (!reader.err) {
        read_root(&reader, root);
        json_decref(root);
    }
    if (reader.err)
        config_free(reader.config);
    else
        *out = reader.config;
    return reader.err;
}

static int parse_file(void *out, const char *text, size_t len, char *error, size_t error_size)
{
    return config_parse(text, len, out, error, error_size);
}

int config_load(const char *path, struct config **out, char *error, size_t error_size)
{
    return json_file_load(path, parse_file, out, error, error_size);
}

void config_free(struct config *config)
{
    free(config);
}

static bool is_literal(const struct match *match)
{
    static const char wild[] = "*?[\\";
    return !strpbrk(match->namespace_, wild) && !strpbrk(match->pod, wild) &&
           !strpbrk(match->container, wild);
}

int config_class_of(const struct config *config, const char *namespace_, const char *pod,
                    const char *container, bool *literal)
{
    for (size_t i = 0; i < config->n_classes; i++) {
        const struct class *class = &config->classes[i];
        for (size_t j = 0; j < class->n_matches; j++) {
            const struct match *match = &class->matches[j];
            if (fnmatch(match->namespace_, namespace_, 0) || fnmatch(match->pod, pod, 0) ||
                fnmatch(match->container, container, 0))
                continue;
            *literal = is_literal(match);
            return (int)i;
        }
    }
    return CLASS_NONE;
}
