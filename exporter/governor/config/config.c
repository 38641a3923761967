#include "exporter/governor/config/config.h"

#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/governor/config/config_reader.h"
#include "exporter/json/file.h"

enum { CONFIG_VERSION = 1 };

/* ---- exporter ---- */

static void read_exporter(struct config_reader *reader, json_t *root, bool enforce)
{
    static const char *const keys[] = {"url", "socket", "uid", "stale", "dead", NULL};
    struct client_address *address = &reader->config->exporter;
    json_t *exporter = json_object_get(root, "exporter");
    char text[256] = CONFIG_EXPORTER_SOCKET;
    unsigned uid = 0;
    double stale = 3.5, dead = 10;
    const char *why;
    if (exporter)
        config_check_object(reader, exporter, "exporter", keys);
    bool url = config_read_text(reader, exporter, "exporter", "url", text, sizeof text);
    bool local = config_read_text(reader, exporter, "exporter", "socket", text, sizeof text);
    if (url && local)
        config_fail(reader, "exporter: either url or socket");
    else if (url ? client_address_of_url(text, address, &why)
                 : client_address_of_socket(text, address, &why))
        config_fail(reader, "exporter.%s: %s", url ? "url" : "socket", why);
    else if (url && enforce && reader->config->enforce)
        config_fail(reader, "exporter.url: over TCP nobody can tell who answers, so to enforce "
                            "takes exporter.socket");
    config_read_count(reader, exporter, "exporter", "uid", 1, INT_MAX, &uid);
    if (url && uid)
        config_fail(reader, "exporter.uid: is of a socket");
    address->user = uid;
    config_read_duration(reader, exporter, "exporter", "stale", 0.1, 3600, &stale);
    config_read_duration(reader, exporter, "exporter", "dead", 0.1, 3600, &dead);
    if (dead <= stale)
        config_fail(reader, "exporter.dead: must be longer than exporter.stale");
    reader->config->stale_ns = (uint64_t)(stale * 1e9);
    reader->config->dead_ns = (uint64_t)(dead * 1e9);
}

/* ---- classes ---- */

/* As of fnmatch(3), but for a bracket without an end or a backslash at the end, which it takes for
 * themselves, and nobody means. */
static bool is_pattern(const char *text)
{
    for (const char *at = text; *at; at++) {
        bool escapes = *at == '\\';
        at += escapes;
        if (!*at)
            return false;
        if (escapes || *at != '[')
            continue;
        at += at[1] == '!' || at[1] == '^';
        at = at[1] ? strchr(at + 2, ']') : NULL; /* the first one in it may be meant */
        if (!at)
            return false;
    }
    return true;
}

static void read_match(struct config_reader *reader, json_t *item, const char *where,
                       struct match *out)
{
    static const char *const keys[] = {"namespace", "pod", "container", "qos_class", NULL};
    static const char *const qos[] = {"", "guaranteed", "burstable", "besteffort", NULL};
    config_check_object(reader, item, where, keys);
    if (!config_read_text(reader, item, where, "namespace", out->namespace_,
                          sizeof out->namespace_) ||
        !config_read_text(reader, item, where, "pod", out->pod, sizeof out->pod) ||
        !config_read_text(reader, item, where, "container", out->container, sizeof out->container))
        config_fail(reader, "%s: must say namespace, pod and container", where);
    else if (!is_pattern(out->namespace_) || !is_pattern(out->pod) || !is_pattern(out->container))
        config_fail(reader, "%s: a pattern has a bracket or an escape that does not end", where);
    strcpy(out->qos_class, qos[config_read_word(reader, item, where, "qos_class", qos, 0)]);
}

static void read_matches(struct config_reader *reader, json_t *item, const char *where,
                         struct class *class)
{
    const json_t *list = json_object_get(item, "match");
    size_t n = json_array_size(list);
    if (n == 0 || n > CONFIG_MATCHES_MAX) {
        config_fail(reader, "%s.match: must be a list of 1 to %d", where, CONFIG_MATCHES_MAX);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        char inner[128];
        snprintf(inner, sizeof inner, "%s.match[%zu]", where, i);
        read_match(reader, json_array_get(list, i), inner, &class->matches[i]);
    }
    class->n_matches = n;
}

/* An object of what is taken from best effort; NULL: the class has none. */
static json_t *read_taken(struct config_reader *reader, json_t *item, const struct class *class,
                          const char *inner, const char *key, const char *const *keys)
{
    json_t *taken = json_object_get(item, key);
    if (!taken)
        return NULL;
    config_check_object(reader, taken, inner, keys);
    if (class->role == CLASS_PROTECTED)
        config_fail(reader, "%s: nothing is taken from a protected class", inner);
    return taken;
}

static void read_knobs(struct config_reader *reader, json_t *item, const char *where,
                       struct class *class)
{
    static const char *const cpu_keys[] = {"base_cores", "step_cores", NULL};
    static const char *const llc_keys[] = {"floor_ways", NULL};
    static const char *const mba_keys[] = {"floor_percent", NULL};
    char inner[128];
    class->base_cores = 1;
    class->step_cores = 0.5;
    class->floor_ways = 2;
    class->floor_percent = 20;
    snprintf(inner, sizeof inner, "%s.cpu", where);
    json_t *cpu = read_taken(reader, item, class, inner, "cpu", cpu_keys);
    config_read_number(reader, cpu, inner, "base_cores", 0.01, 4096, &class->base_cores);
    config_read_number(reader, cpu, inner, "step_cores", 0.01, 4096, &class->step_cores);
    snprintf(inner, sizeof inner, "%s.llc", where);
    json_t *llc = read_taken(reader, item, class, inner, "llc", llc_keys);
    config_read_count(reader, llc, inner, "floor_ways", 1, 32, &class->floor_ways);
    snprintf(inner, sizeof inner, "%s.mba", where);
    json_t *mba = read_taken(reader, item, class, inner, "mba", mba_keys);
    config_read_count(reader, mba, inner, "floor_percent", 1, 100, &class->floor_percent);
}

static void read_protected(struct config_reader *reader, json_t *item, const char *where,
                           struct class *class)
{
    config_read_number(reader, item, where, "slowdown_bound", 1.01, 100, &class->slowdown_bound);
    if (class->slowdown_bound > 0 && class->role != CLASS_PROTECTED)
        config_fail(reader, "%s.slowdown_bound: only a protected class has one", where);
    config_read_number(reader, item, where, "cores", 0.01, 4096, &class->cores);
    if (class->cores > 0 && class->role != CLASS_PROTECTED)
        config_fail(reader, "%s.cores: only a protected class has them", where);
}

static void read_class(struct config_reader *reader, json_t *item, size_t i)
{
    static const char *const keys[] = {"name", "role", "match", "slowdown_bound", "cores", "cpu",
                                       "llc",  "mba",  NULL};
    static const char *const roles[] = {"protected", "best_effort", NULL};
    struct config *config = reader->config;
    struct class *class = &config->classes[i];
    char where[64];
    snprintf(where, sizeof where, "classes[%zu]", i);
    config_check_object(reader, item, where, keys);
    if (!config_read_text(reader, item, where, "name", class->name, sizeof class->name) ||
        !class->name[0])
        config_fail(reader, "%s.name: is missing", where);
    for (size_t j = 0; j < i; j++)
        if (strcmp(config->classes[j].name, class->name) == 0)
            config_fail(reader, "%s.name: there is another class of this name", where);
    if (!json_object_get(item, "role"))
        config_fail(reader, "%s.role: is missing", where);
    class->role = (enum class_role)config_read_word(reader, item, where, "role", roles, 0);
    read_matches(reader, item, where, class);
    read_protected(reader, item, where, class);
    read_knobs(reader, item, where, class);
}

static void read_classes(struct config_reader *reader, const json_t *root)
{
    const json_t *list = json_object_get(root, "classes");
    size_t n = json_array_size(list);
    if (!json_is_array(list) || n > CONFIG_CLASSES_MAX) {
        config_fail(reader, "classes: must be a list of up to %d", CONFIG_CLASSES_MAX);
        return;
    }
    reader->config->n_classes = n;
    for (size_t i = 0; i < n; i++)
        read_class(reader, json_array_get(list, i), i);
}

static bool is_any(const char pattern[CONFIG_PATTERN_MAX])
{
    return pattern[0] == '*' && !pattern[1];
}

static bool is_everybody(const struct match *match)
{
    return is_any(match->namespace_) && is_any(match->pod) && is_any(match->container) &&
           !match->qos_class[0];
}

/* Who protects everybody has no best effort, and who protects nobody has nobody to act for. */
static void refuse_what_does_nothing(struct config_reader *reader)
{
    const struct config *config = reader->config;
    bool any = false;
    for (size_t i = 0; i < config->n_classes; i++) {
        const struct class *class = &config->classes[i];
        any |= class->role == CLASS_PROTECTED;
        for (size_t j = 0; class->role == CLASS_PROTECTED && j < class->n_matches; j++)
            if (is_everybody(&class->matches[j]))
                config_fail(reader,
                            "classes[%zu].match[%zu]: protects everybody, so that nobody is left "
                            "to restrict",
                            i, j);
    }
    if (config->enabled[POLICY_THRESHOLD] && !any)
        config_fail(reader,
                    "policies.threshold: no class is protected, so that it would never act");
}

static void read_limits(struct config_reader *reader, json_t *root)
{
    static const char *const keys[] = {"claims", "writes_per_second", "cuts_per_10m",
                                       "quota_period_ms", NULL};
    struct guard_limits *limits = &reader->config->limits;
    json_t *object = json_object_get(root, "limits");
    unsigned claims = 64;
    *limits = (struct guard_limits){.writes_per_second = 50, .cuts_per_10m = 20};
    if (object)
        config_check_object(reader, object, "limits", keys);
    config_read_count(reader, object, "limits", "claims", 1, CLAIMS_MAX, &claims);
    config_read_number(reader, object, "limits", "writes_per_second", 0.1, 1000,
                       &limits->writes_per_second);
    config_read_count(reader, object, "limits", "cuts_per_10m", 1, GUARD_CUTS_MAX - 1,
                      &limits->cuts_per_10m);
    limits->claims = claims;
    config_read_count(reader, object, "limits", "quota_period_ms", CONFIG_PERIOD_LEAST_MS, 1000,
                      &reader->config->quota_period_ms);
}

/* ---- the whole ---- */

/* There is one before, which the file may name as well, but no other. */
static void read_state_directory(struct config_reader *reader, json_t *root)
{
    char *directory = reader->config->state_directory;
    char given[sizeof reader->config->state_directory];
    strcpy(given, directory);
    if (!given[0])
        strcpy(directory, CONFIG_STATE_DIRECTORY);
    config_read_text(reader, root, "the document", "state_directory", directory, sizeof given);
    if (directory[0] != '/')
        config_fail(reader, "state_directory: must be an absolute path");
    if (given[0] && strcmp(given, directory) != 0)
        config_fail(reader, "state_directory: --state-directory says another one, \"%.200s\"",
                    given);
}

static void read_root(struct config_reader *reader, json_t *root, bool enforce)
{
    static const char *const keys[] = {"governor", "mode",     "exporter", "state_directory",
                                       "classes",  "policies", "limits",   NULL};
    static const char *const modes[] = {"observe", "enforce", NULL};
    struct config *config = reader->config;
    config_check_object(reader, root, "the document", keys);
    if (json_integer_value(json_object_get(root, "governor")) != CONFIG_VERSION)
        config_fail(reader, "governor: must be %d, the version of this format", CONFIG_VERSION);
    config->enforce = config_read_word(reader, root, "the document", "mode", modes, 0) == 1;
    read_state_directory(reader, root);
    read_exporter(reader, root, enforce);
    read_classes(reader, root);
    config_read_policies(reader, root);
    refuse_what_does_nothing(reader);
    read_limits(reader, root);
}

static int parse(const char *text, size_t len, const struct config_given *given,
                 struct config **out, char *error, size_t error_size)
{
    json_t *root;
    struct config_reader reader = {
        .config = calloc(1, sizeof(struct config)), .error = error, .error_size = error_size};
    if (!reader.config) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    if (given)
        snprintf(reader.config->state_directory, sizeof reader.config->state_directory, "%s",
                 given->state_directory);
    reader.err = json_file_parse(text, len, &root, error, error_size);
    if (!reader.err) {
        read_root(&reader, root, given && given->enforce);
        json_decref(root);
    }
    if (reader.err)
        config_free(reader.config);
    else
        *out = reader.config;
    return reader.err;
}

int config_parse(const char *text, size_t len, struct config **out, char *error, size_t error_size)
{
    return parse(text, len, NULL, out, error, error_size);
}

struct loading {
    const struct config_given *given;
    struct config *config;
};

static int parse_file(void *out, const char *text, size_t len, char *error, size_t error_size)
{
    struct loading *loading = out;
    return parse(text, len, loading->given, &loading->config, error, error_size);
}

int config_load(const char *path, const struct config_given *given, struct config **out,
                char *error, size_t error_size)
{
    struct loading loading = {.given = given};
    int err = json_file_load(path, parse_file, &loading, error, error_size);
    if (!err)
        *out = loading.config;
    return err;
}

void config_free(struct config *config)
{
    free(config);
}

/* What is in no pod has no other name. */
static bool is_literal(const struct match *match, const char *namespace_, const char *pod)
{
    static const char wild[] = "*?[";
    bool in_no_pod = !namespace_[0] && !pod[0];
    return !strpbrk(match->container, wild) &&
           (in_no_pod || (!strpbrk(match->namespace_, wild) && !strpbrk(match->pod, wild)));
}

bool config_is_protected(const struct config *config, int class)
{
    return class != CLASS_NONE && config->classes[class].role == CLASS_PROTECTED;
}

double config_floor(const struct config *config, int class, enum knob knob)
{
    const struct class *of = &config->classes[class];
    const double floors[KNOB_COUNT] = {[KNOB_CPU] = of->base_cores,
                                       [KNOB_WAYS] = of->floor_ways,
                                       [KNOB_MBA] = of->floor_percent,
                                       [KNOB_AFFINITY] = 1};
    return floors[knob];
}

/* Who wrote the class guaranteed means those that have it, as who wrote their names. */
static bool names_guaranteed(const struct match *match, const char *pod)
{
    return pod[0] && strcmp(match->qos_class, "guaranteed") == 0;
}

/* *literal: whether one that fits does so by the name itself. */
static bool matches(const struct class *class, const char *namespace_, const char *pod,
                    const char *container, const char *qos_class, bool *literal)
{
    bool any = false;
    *literal = false;
    for (size_t i = 0; i < class->n_matches; i++) {
        const struct match *match = &class->matches[i];
        if (fnmatch(match->namespace_, namespace_, 0) == 0 && fnmatch(match->pod, pod, 0) == 0 &&
            fnmatch(match->container, container, 0) == 0 &&
            (!match->qos_class[0] || strcmp(match->qos_class, qos_class) == 0)) {
            any = true;
            *literal |= is_literal(match, namespace_, pod) || names_guaranteed(match, pod);
        }
    }
    return any;
}

int config_class_of(const struct config *config, const char *namespace_, const char *pod,
                    const char *container, const char *qos_class, bool *literal)
{
    int found = CLASS_NONE;
    for (size_t i = 0; i < config->n_classes; i++) {
        bool protected = config_is_protected(config, (int)i);
        if (found != CLASS_NONE && !protected)
            continue;
        bool by_name;
        if (!matches(&config->classes[i], namespace_, pod, container, qos_class, &by_name))
            continue;
        *literal = by_name;
        found = (int)i;
        if (protected)
            break;
    }
    return found;
}
