#include "exporter/http/web_config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/http/web_config/passwords.h"
#include "exporter/http/web_config/yaml.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const char *const client_auth_types[] = {
    [WEB_CLIENT_NONE] = "NoClientCert",
    [WEB_CLIENT_REQUESTED] = "RequestClientCert",
    [WEB_CLIENT_REQUIRED] = "RequireAnyClientCert",
    [WEB_CLIENT_VERIFIED_IF_GIVEN] = "VerifyClientCertIfGiven",
    [WEB_CLIENT_VERIFIED] = "RequireAndVerifyClientCert",
};

static const struct {
    const char *name;
    const char *values[2]; /* none: any */
} header_rules[WEB_HEADERS] = {
    [WEB_STRICT_TRANSPORT_SECURITY] = {"Strict-Transport-Security", {NULL}},
    [WEB_X_CONTENT_TYPE_OPTIONS] = {"X-Content-Type-Options", {"nosniff", NULL}},
    [WEB_X_FRAME_OPTIONS] = {"X-Frame-Options", {"deny", "sameorigin"}},
    [WEB_X_XSS_PROTECTION] = {"X-XSS-Protection", {NULL}},
    [WEB_CONTENT_SECURITY_POLICY] = {"Content-Security-Policy", {NULL}},
};

const char *web_header_name(enum web_header header)
{
    return header_rules[header].name;
}

/* ---- tls_server_config ---- */

static int take_strings(struct web_yaml *yaml, const yaml_node_t *node, void *member)
{
    struct web_strings *list = member;
    if (node->type != YAML_SEQUENCE_NODE)
        return web_yaml_fail(yaml, node, "a list belongs here");
    size_t n = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
    if (n > WEB_LIST_MAX)
        return web_yaml_fail(yaml, node, "more than %d entries", WEB_LIST_MAX);
    list->at = calloc(n + 1, sizeof *list->at);
    if (!list->at)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const yaml_node_t *item = web_yaml_node(yaml, node->data.sequence.items.start[i]);
        int err = web_yaml_string(yaml, item, &list->at[list->n]);
        if (err)
            return err;
        list->n += list->at[list->n] != NULL; /* an empty name is nobody's */
    }
    return 0;
}

static int take_sans(struct web_yaml *yaml, const yaml_node_t *node, void *member)
{
    struct web_tls *tls = member;
    tls->sans_given = true;
    return take_strings(yaml, node, &tls->sans);
}

static const char *suite_name(size_t i)
{
    return web_suites[i].name;
}

static const char *curve_name(size_t i)
{
    return web_curves[i].name;
}

static const char *version_name(size_t i)
{
    return web_versions[i].name;
}

/* The index of a name among n; what: "cipher suite", ... */
static int take_name(struct web_yaml *yaml, const yaml_node_t *node, const char *(*name)(size_t),
                     size_t n, const char *what, size_t *out)
{
    char quoted[WEB_QUOTED_SIZE];
    const char *text;
    int err = web_yaml_text(yaml, node, &text);
    if (err)
        return err;
    for (size_t i = 0; i < n; i++)
        if (strcmp(name(i), text) == 0) {
            *out = i;
            return 0;
        }
    return web_yaml_fail(yaml, node, "unknown %s %s", what, web_yaml_quote(text, quoted));
}

/* Each once, in the order of the list. */
static int take_names(struct web_yaml *yaml, const yaml_node_t *node, const char *(*name)(size_t),
                      size_t cap, const char *what, unsigned char *list, size_t *n)
{
    if (node->type != YAML_SEQUENCE_NODE)
        return web_yaml_fail(yaml, node, "a list belongs here");
    for (const int *item = node->data.sequence.items.start; item < node->data.sequence.items.top;
         item++) {
        size_t i;
        int err = take_name(yaml, web_yaml_node(yaml, *item), name, cap, what, &i);
        if (err)
            return err;
        if (!memchr(list, (int)i, *n))
            list[(*n)++] = (unsigned char)i;
    }
    return 0;
}

static int take_suites(struct web_yaml *yaml, const yaml_node_t *node, void *member)
{
    struct web_tls *tls = member;
    return take_names(yaml, node, suite_name, WEB_SUITES, "cipher suite", tls->suites,
                      &tls->n_suites);
}

static int take_curves(struct web_yaml *yaml, const yaml_node_t *node, void *member)
{
    struct web_tls *tls = member;
    return take_names(yaml, node, curve_name, WEB_CURVES, "curve", tls->curves, &tls->n_curves);
}

static int take_version(struct web_yaml *yaml, const yaml_node_t *node, void *member)
{
    size_t i;
    int err = take_name(yaml, node, version_name, WEB_VERSIONS, "TLS version", &i);
    if (!err)
        *(enum web_tls_version *)member = (enum web_tls_version)i;
    return err;
}

static int take_tls(struct web_yaml *yaml, const yaml_node_t *node, void *member)
{
#define FIELD(name)                                                                                \
    {                                                                                              \
#name, web_yaml_string, offsetof(struct web_tls, name)                                     \
    }
    static const struct web_yaml_field fields[] = {
        FIELD(cert),
        FIELD(key),
        FIELD(client_ca),
        FIELD(cert_file),
        FIELD(key_file),
        FIELD(client_ca_file),
        FIELD(client_auth_type),
        {"client_allowed_sans", take_sans, 0},
        {"cipher_suites", take_suites, 0},
        {"curve_preferences", take_curves, 0},
        {"min_version", take_version, offsetof(struct web_tls, min_version)},
        {"max_version", take_version, offsetof(struct web_tls, max_version)},
        {"prefer_server_cipher_suites", web_yaml_bool, offsetof(struct web_tls, prefer_server)},
    };
#undef FIELD
    return web_yaml_struct(yaml, node, fields, COUNT(fields), member);
}

bool web_tls_wanted(const struct web_tls *tls)
{
    return tls->cert || tls->cert_file || tls->key || tls->key_file || tls->client_ca ||
           tls->client_ca_file || tls->client_auth_type;
}

static const char *tls_problem(const struct web_tls *tls)
{
    bool ca = tls->client_ca || tls->client_ca_file;
    if (!tls->cert && !tls->cert_file)
        return "missing one of cert or cert_file";
    if (!tls->key && !tls->key_file)
        return "missing one of key or key_file";
    if (ca && tls->client_auth == WEB_CLIENT_NONE)
        return "a client_ca without a client_auth_type that asks for certificates";
    if (tls->sans_given && tls->client_auth == WEB_CLIENT_NONE)
        return "client_allowed_sans without a client_auth_type that asks for certificates";
    if (tls->min_version > tls->max_version)
        return "min_version is above max_version";
    return NULL;
}

int web_tls_check(const struct web_tls *tls, char *error, size_t error_size)
{
    const char *problem = tls_problem(tls);
    if (!problem)
        return 0;
    snprintf(error, error_size, "tls_server_config: %s", problem);
    return -EINVAL;
}

/* ---- http_server_config ---- */

/* Nothing that could end a header's line. */
static bool fit_for_a_header(const char *value)
{
    for (; *value; value++)
        if ((unsigned char)*value < ' ' || *value == 0x7f)
            return false;
    return true;
}

static int check_header(struct web_yaml *yaml, const yaml_node_t *node, enum web_header header,
                        const char *value)
{
    const char *const *allowed = header_rules[header].values;
    char quoted[WEB_QUOTED_SIZE];
    if (!fit_for_a_header(value))
        return web_yaml_fail(yaml, node, "%s contains a control character",
                             web_header_name(header));
    if (!allowed[0])
        return 0;
    for (size_t i = 0; i < COUNT(header_rules[header].values) && allowed[i]; i++)
        if (strcmp(allowed[i], value) == 0)
            return 0;
    return web_yaml_fail(yaml, node, "%s can be %s%s%s, but is %s", web_header_name(header),
                         allowed[0], allowed[1] ? " or " : "", allowed[1] ? allowed[1] : "",
                         web_yaml_quote(value, quoted));
}

static int take_header(struct web_yaml *yaml, const yaml_node_pair_t *pair, char **headers,
                       bool *seen)
{
    const yaml_node_t *key = web_yaml_node(yaml, pair->key);
    const yaml_node_t *value = web_yaml_node(yaml, pair->value);
    char quoted[WEB_QUOTED_SIZE];
    const char *name, *text;
    int header = 0;
    int err = web_yaml_text(yaml, key, &name);
    if (!err)
        err = web_yaml_text(yaml, value, &text);
    if (err)
        return err;
    while (header < WEB_HEADERS && strcmp(web_header_name((enum web_header)header), name) != 0)
        header++;
    if (header == WEB_HEADERS)
        return web_yaml_fail(yaml, key, "the HTTP header %s cannot be configured",
                             web_yaml_quote(name, quoted));
    if (seen[header])
        return web_yaml_fail(yaml, key, "%s is there twice", name);
    seen[header] = true;
    err = check_header(yaml, value, (enum web_header)header, text);
    return err ? err : web_yaml_string(yaml, value, &headers[header]);
}

static int take_headers(struct web_yaml *yaml, const yaml_node_t *node, void *member)
{
    struct web_config *config = member;
    bool seen[WEB_HEADERS] = {false};
    int err = 0;
    if (node->type != YAML_MAPPING_NODE)
        return web_yaml_fail(yaml, node, "a mapping of names to values belongs here");
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top && !err; pair++)
        err = take_header(yaml, pair, config->headers, seen);
    return err;
}

static int take_http(struct web_yaml *yaml, const yaml_node_t *node, void *member)
{
    static const struct web_yaml_field fields[] = {
        {"http2", web_yaml_bool, offsetof(struct web_config, http2)},
        {"headers", take_headers, 0},
    };
    return web_yaml_struct(yaml, node, fields, COUNT(fields), member);
}

/* ---- basic_auth_users, rate_limit ---- */

static int take_user(struct web_yaml *yaml, const yaml_node_pair_t *pair, struct web_config *config)
{
    const yaml_node_t *key = web_yaml_node(yaml, pair->key);
    const yaml_node_t *value = web_yaml_node(yaml, pair->value);
    char quoted[WEB_QUOTED_SIZE];
    const char *name, *hash;
    int err = web_yaml_text(yaml, key, &name);
    if (!err)
        err = web_yaml_text(yaml, value, &hash);
    if (err)
        return err;
    for (size_t i = 0; i < config->n_users; i++)
        if (strcmp(config->users[i].name, name) == 0)
            return web_yaml_fail(yaml, key, "the user %s is there twice",
                                 web_yaml_quote(name, quoted));
    struct web_user *user = &config->users[config->n_users++]; /* half-built, to be released */
    user->name = strdup(name);
    user->hash = strdup(hash);
    return user->name && user->hash ? 0 : -ENOMEM;
}

static int take_users(struct web_yaml *yaml, const yaml_node_t *node, void *member)
{
    struct web_config *config = member;
    int err = 0;
    if (node->type != YAML_MAPPING_NODE)
        return web_yaml_fail(yaml, node, "a mapping of users to hashes belongs here");
    size_t n = (size_t)(node->data.mapping.pairs.top - node->data.mapping.pairs.start);
    if (n > WEB_LIST_MAX)
        return web_yaml_fail(yaml, node, "more than %d users", WEB_LIST_MAX);
    config->users = calloc(n + 1, sizeof *config->users);
    if (!config->users)
        return -ENOMEM;
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top && !err; pair++)
        err = take_user(yaml, pair, config);
    return err;
}

int web_users_check(const struct web_config *config, char *error, size_t error_size)
{
    char quoted[WEB_QUOTED_SIZE];
    for (size_t i = 0; i < config->n_users; i++)
        if (!bcrypt_valid(config->users[i].hash)) {
            snprintf(error, error_size,
                     "basic_auth_users: the hash of %s is not one of bcrypt "
                     "($2a$, $2b$ or $2y$)",
                     web_yaml_quote(config->users[i].name, quoted));
            return -EINVAL;
        }
    return 0;
}

static int take_interval(struct web_yaml *yaml, const yaml_node_t *node, void *member)
{
    const char *text;
    char quoted[WEB_QUOTED_SIZE];
    uint64_t ps = 0;
    int err = web_yaml_text(yaml, node, &text);
    if (err)
        return err;
    if (strcmp(text, "0") != 0 && (duration_parse_ps(text, &ps) || ps % 1000 != 0))
        return web_yaml_fail(yaml, node, "%s is not a duration such as 100ms or 1s",
                             web_yaml_quote(text, quoted));
    *(uint64_t *)member = ps / 1000;
    return 0;
}

static int take_limit(struct web_yaml *yaml, const yaml_node_t *node, void *member)
{
    static const struct web_yaml_field fields[] = {
        {"interval", take_interval, offsetof(struct web_config, limit_interval_ns)},
        {"burst", web_yaml_count, offsetof(struct web_config, limit_burst)},
    };
    struct web_config *config = member;
    int err = web_yaml_struct(yaml, node, fields, COUNT(fields), member);
    if (!err && config->limit_interval_ns && !config->limit_burst)
        return web_yaml_fail(yaml, node,
                             "rate_limit without a burst of at least 1: every request "
                             "would be refused");
    return err;
}

/* ---- the file ---- */

static int take_root(struct web_yaml *yaml, const yaml_node_t *node, void *out)
{
    static const struct web_yaml_field fields[] = {
        {"tls_server_config", take_tls, offsetof(struct web_config, tls)},
        {"http_server_config", take_http, 0},
        {"rate_limit", take_limit, 0},
        {"basic_auth_users", take_users, 0},
    };
    return web_yaml_struct(yaml, node, fields, COUNT(fields), out);
}

/* A client_auth_type that nobody knows is a mistake of the handshake to the toolkit; here it is one
 * of the file. */
static int find_client_auth(struct web_tls *tls, char *error, size_t error_size)
{
    char quoted[WEB_QUOTED_SIZE];
    const char *type = tls->client_auth_type;
    if (!type)
        return 0;
    if (strcmp(type, "RequireClientCert") == 0) /* the name of before */
        type = client_auth_types[WEB_CLIENT_REQUIRED];
    for (size_t i = 0; i < COUNT(client_auth_types); i++)
        if (strcmp(client_auth_types[i], type) == 0) {
            tls->client_auth = (enum web_client_auth)i;
            return 0;
        }
    snprintf(error, error_size, "unknown client_auth_type %s", web_yaml_quote(type, quoted));
    return -EINVAL;
}

/* Certificates are verified by the system's authorities, if the file names none, as by the toolkit:
 * where distributions keep them. Without any, no certificate is good. */
static int take_system_authorities(struct web_tls *tls)
{
    static const char *const files[] = {
        "/etc/ssl/certs/ca-certificates.crt", /* Debian, Alpine */
        "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, RHEL */
        "/etc/ssl/ca-bundle.pem",             /* SUSE */
        "/etc/ssl/cert.pem",
    };
    if (tls->client_auth < WEB_CLIENT_VERIFIED_IF_GIVEN || tls->client_ca || tls->client_ca_file)
        return 0;
    tls->system_ca = true;
    for (size_t i = 0; i < COUNT(files); i++) {
        int fd = open(files[i], O_RDONLY | O_CLOEXEC); /* access() knows nothing of Landlock */
        if (fd < 0)
            continue;
        close(fd);
        tls->client_ca_file = strdup(files[i]);
        return tls->client_ca_file ? 0 : -ENOMEM;
    }
    return 0;
}

int web_config_parse(const char *text, size_t len, struct web_config *out, char *error,
                     size_t error_size)
{
    struct web_config config = {
        .tls = {.min_version = WEB_TLS12, .max_version = WEB_TLS13, .prefer_server = true},
        .http2 = true,
    };
    if (len > WEB_FILE_MAX_BYTES) {
        snprintf(error, error_size, "larger than 1 MiB");
        return -EINVAL;
    }
    int err = web_yaml_read(text, len, take_root, &config, error, error_size);
    if (!err)
        err = find_client_auth(&config.tls, error, error_size);
    if (!err)
        err = take_system_authorities(&config.tls);
    if (err)
        web_config_release(&config);
    else
        *out = config;
    return err;
}

static void free_secret(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void web_config_release(struct web_config *config)
{
    struct web_tls *tls = &config->tls;
    free_secret(tls->key);
    free(tls->cert);
    free(tls->client_ca);
    free(tls->cert_file);
    free(tls->key_file);
    free(tls->client_ca_file);
    free(tls->client_auth_type);
    for (size_t i = 0; i < tls->sans.n; i++)
        free(tls->sans.at[i]);
    free(tls->sans.at);
    for (size_t i = 0; i < WEB_HEADERS; i++)
        free(config->headers[i]);
    for (size_t i = 0; i < config->n_users; i++) {
        free(config->users[i].name);
        free_secret(config->users[i].hash);
    }
    free(config->users);
    *config = (struct web_config){0};
}
